"""Learn from data larger than memory: row blocks from a generator, memory maps, or a Dask array.

    mlcdr example larger_than_memory
    python larger_than_memory.py X.npy Y.npy

A block is a pair (X, Y) of some rows, dense or sparse. What is kept of it is d² + dK + K² numbers, which add up: the
result is that of `Moments.from_arrays` on all rows at once but for rounding, without the rows. Whatever is computed
from moments alone can be learned from it: PCA, PLST, CPLST, MVMD, ridge regression and least squares of full rank.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import mlcdr
from mlcdr.numerics.moments import Moments

if TYPE_CHECKING:
    import dask.array
    import distributed

Array = NDArray[np.float64]
Block = tuple[Any, Any]


def row_blocks(X: Any, Y: Any, rows: int = 4096) -> Iterator[Block]:
    """Blocks of `rows` rows of X (n×d) and Y (n×K): arrays, memory maps, CSR matrices or `MappedRows`.

    Raises
    ------
    ValueError
        When X and Y differ in their number of rows.
    """
    n = X.shape[0]
    if n != Y.shape[0]:
        raise ValueError(f"X has {n} rows and Y has {Y.shape[0]}")
    for start in range(0, n, rows):
        yield tuple(a[start : start + rows] if sp.issparse(a) else _in_memory(a, start, rows) for a in (X, Y))


def _in_memory(a: Any, start: int, rows: int) -> Any:
    part = a[start : start + rows]
    return part if sp.issparse(part) else np.array(part)  # a copy, so that what it was mapped from can go


@dataclass(frozen=True)
class MappedRows:
    """A CSR matrix in three files, of which only the rows requested are ever in memory.

    Attributes
    ----------
    folder : path
        `data`, `indices`, `indptr` (raw, in the machine's byte order), and `matrix.json` with type and shape.
    shape : (n, d)
    """

    folder: Path
    shape: tuple[int, int]
    data_type: str

    @classmethod
    def write(cls, folder: Path, blocks: Iterable[Any], n_columns: int) -> MappedRows:
        """Write the rows of CSR blocks one after another; `matrix.json` last, so that an incomplete matrix is not read.

        Raises
        ------
        ValueError
            When a block has another number of columns or another type than the first.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "matrix.json").unlink(missing_ok=True)
        n = entries = 0
        data_type = None
        with (
            (folder / "data").open("wb") as data,
            (folder / "indices").open("wb") as indices,
            (folder / "indptr").open("wb") as indptr,
        ):
            np.zeros(1, dtype=np.int64).tofile(indptr)
            for each in blocks:
                block = sp.csr_array(each)
                data_type = data_type or block.dtype.str
                if block.shape[1] != n_columns or block.dtype.str != data_type:
                    raise ValueError(
                        f"rows {n} on are {block.shape[1]} columns of {block.dtype.str}, not {n_columns} of {data_type}"
                    )
                block.data.tofile(data)
                block.indices.astype(np.int32).tofile(indices)
                (block.indptr[1:].astype(np.int64) + entries).tofile(indptr)
                n, entries = n + block.shape[0], entries + block.nnz
        made = cls(folder, (n, n_columns), data_type or "<f8")
        (folder / "matrix.json").write_text(json.dumps({"shape": made.shape, "data_type": made.data_type}))
        return made

    @classmethod
    def open(cls, folder: Path) -> MappedRows:
        """The matrix that `write` left in a folder."""
        header = json.loads((folder / "matrix.json").read_text())
        return cls(folder, tuple(header["shape"]), header["data_type"])

    def __getitem__(self, rows: slice) -> sp.csr_array:
        """Rows start:stop as a CSR matrix in memory."""
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError("rows are read in their order, one after another")
        stop = max(start, stop)
        indptr = self._read("indptr", "int64", start, stop + 1)
        first, last = int(indptr[0]), int(indptr[-1])
        data, indices = self._read("data", self.data_type, first, last), self._read("indices", "int32", first, last)
        return sp.csr_array((data, indices, indptr - first), shape=(stop - start, self.shape[1]))

    def _read(self, name: str, data_type: str, start: int, stop: int) -> NDArray[Any]:
        """Part of one file: mapped, copied, and the map released: the pages read would count as memory."""
        kind = np.dtype(data_type)
        if start == stop:
            return np.zeros(0, dtype=kind)
        path = self.folder / name
        return np.array(np.memmap(path, kind, mode="r", offset=start * kind.itemsize, shape=(stop - start,)))


@dataclass(frozen=True)
class Sums:
    """The sums of a block, as plain arrays that can be sent; they add up (Chan, Golub & LeVeque 1983)."""

    n: int
    mean_x: Array
    mean_y: Array
    xx: Array  # S (d×d), the lower triangle
    xy: Array
    yy: Array

    @classmethod
    def from_rows(cls, X: Any, Y: Any) -> Sums:
        """The sums of some rows."""
        return cls._from(Moments.from_arrays(X, Y))

    @classmethod
    def _from(cls, m: Moments) -> Sums:
        return cls(m.n, m.mean_x, m.mean_y, m.xx_lower, m.xy, m.yy)

    def plus(self, other: Sums) -> Sums:
        """The sums of both blocks' rows."""
        return self._from(self.moments() + other.moments())

    def moments(self) -> Moments:
        """As `Moments`, without rows."""
        return Moments(self.n, self.mean_x, self.mean_y, lambda: self.xx, lambda: self.xy, lambda: self.yy)


def moments_of_dask(X: dask.array.Array, Y: dask.array.Array, client: distributed.Client | None = None) -> Moments:
    """Moments of Dask arrays X (n×d) and Y (n×K), whose blocks of rows may be sparse matrices, wherever these are.

    Each block is summed where it is, and the sums go pairwise up a tree of fixed shape: the same bits for any number of
    workers. Cost beside the sums: ⌈log₂ blocks⌉ rounds of d² + dK + K² numbers sent.

    Parameters
    ----------
    X, Y : dask arrays
        With the same chunks of rows, and each row in one chunk.
    client : distributed.Client or None
        Of the cluster that computes; None: Dask's default, threads of this process.

    Raises
    ------
    ValueError
        When the chunks do not fit, or there is none.
    """
    import dask

    if X.numblocks[1] != 1 or Y.numblocks[1] != 1 or X.numblocks[0] != Y.numblocks[0]:
        raise ValueError("X and Y must be divided into the same blocks of rows, and not by columns")
    known = [c for a in (X, Y) for c in a.chunks[0]]
    if not np.isnan(known).any() and X.chunks[0] != Y.chunks[0]:
        raise ValueError(f"X is divided into blocks of {X.chunks[0]} rows, Y of {Y.chunks[0]}")
    from_rows, plus = dask.delayed(Sums.from_rows, pure=False), dask.delayed(Sums.plus, pure=False)
    level = [from_rows(x, y) for x, y in zip(X.to_delayed().ravel(), Y.to_delayed().ravel(), strict=True)]
    if not level:
        raise ValueError("there is no block of rows")
    while len(level) > 1:
        pairs = [plus(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    sums = client.compute(level[0]).result() if client is not None else level[0].compute()
    return sums.moments()


def main() -> None:
    """Fit ridge regression to two arrays on disk, of which a few rows are in memory at a time."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("X", type=Path, help="features (n×d), in NumPy's format")
    options.add_argument("Y", type=Path, help="labels (n×K) of 0 and 1, in NumPy's format")
    asked = options.parse_args()
    blocks = row_blocks(np.load(asked.X, mmap_mode="r"), np.load(asked.Y, mmap_mode="r"))
    moments = Moments.from_blocks(blocks)
    fitted = mlcdr.Ridge().fit_moments(moments)
    print(f"{moments.n} rows: weights of shape {fitted.coef_.shape}")


if __name__ == "__main__":
    main()
