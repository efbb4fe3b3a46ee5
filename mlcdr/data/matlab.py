"""Reading of matrices from MATLAB files (`save -v6` or `-v7`), also as written by Octave and `scipy.io.savemat`.

Numeric and sparse matrices of MATLAB's "MAT-File Format" (level 5) are read. `scipy.io.loadmat` reads more, but crashes
the process on some damaged files; the tests compare with it. A size that a file states is checked before memory of that
size is allocated.
"""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from mlcdr.data.lines import fail, fail_unreadable, quote
from mlcdr.data.packed import most_bytes
from mlcdr.data.table import Matrix, check_indices

# The largest size of a variable: 3 MB of a compressed file can expand to 3 GB of zeros.
MOST_BYTES = 1 << 30
# A sparse matrix takes so many times the bytes that are stored: of an entry, five at least.
_TIMES_STORED = 5
_FILE_HEADER = 128  # bytes: a file's header; at most, a variable's flags, dimensions and name
_HEADER = 1 << 16
_MOST_DIMENSIONS = 32
_MATRIX = 14
_COMPRESSED = 15
_COMPLEX = 0x800
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = ["", "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16", "uint16"]
_CLASSES += ["int32", "uint32", "int64", "uint64", "function", "opaque"]
_NUMERIC = _CLASSES[5:16]


@dataclass(frozen=True)
class Variable:
    """A variable: name, dimensions, MATLAB class, its bytes in the file, and their byte order."""

    name: str
    shape: tuple[int, ...]
    kind: str
    is_complex: bool
    raw: bytes
    is_compressed: bool
    order: str


def list_variables(path: Path) -> list[Variable]:
    """List the variables of a MATLAB file, without reading their values.

    Raises
    ------
    DataError
        When it is not a MATLAB file that can be read.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        fail_unreadable(path, error)
    order = {b"\0\1IM": "<", b"\1\0MI": ">"}.get(raw[_FILE_HEADER - 4 : _FILE_HEADER])
    if order is None:
        new = b"\x89HDF" in raw[: 4 * _FILE_HEADER] or raw.startswith(b"MATLAB 7.3")
        what = "a MATLAB file of version 7.3 (HDF5)" if new else "no MATLAB file of version 6 or 7"
        fail(path, f"{what}; in MATLAB, `save -v7` writes one that is read")
    try:
        return list(_variables(raw, order))
    except (ValueError, IndexError, struct.error, zlib.error) as error:
        fail(path, f"a damaged MATLAB file ({error})")


def read_matrices(path: Path, names: Sequence[str]) -> list[Matrix]:
    """Read the variables `names` of a MATLAB file, in this order.

    Returns
    -------
    list
        An ndarray for each or, if it is stored sparse, a csr_array with sorted indices, no explicit zeros; float64.

    Raises
    ------
    DataError
        When the file cannot be read, or a variable is absent, damaged, too large or no matrix of real numbers.
    """
    there = {variable.name: variable for variable in list_variables(path)}
    found = []
    for name in names:
        if name not in there:
            fail(path, f"no variable {quote(name)}; it has {', '.join(map(quote, there)) or 'none'}")
        variable = there[name]
        shape = variable.shape
        kind = variable.kind
        is_matrix = len(shape) == 2 and min(shape) >= 0
        if not is_matrix or variable.is_complex or kind not in _NUMERIC:
            described = f"{'x'.join(map(str, shape))} {'complex ' * variable.is_complex}{kind}"
            fail(path, f"variable {quote(name)} is {described}; a matrix of real numbers is needed")
        size = sum(shape) if kind == "sparse" else math.prod(shape)
        if 8 * size > min(MOST_BYTES, most_bytes(path.stat().st_size)):
            fail(path, f"variable {quote(name)} is {shape[0]}x{shape[1]} {kind}, which is too large")
        try:
            found.append(_values(path, variable))
        except (ValueError, IndexError, struct.error, zlib.error) as error:
            fail(path, f"variable {quote(name)}: damaged ({error})")
    return found


def _elements(raw: bytes | memoryview, at: int, order: str) -> Iterator[tuple[int, int, int]]:
    """The type of each element from `at` on, and where its data begin and end; a short element has a tag of 4 bytes."""
    while at + 8 <= len(raw):
        kind, size = struct.unpack_from(f"{order}II", raw, at)
        if kind >> 16:
            yield kind & 0xFFFF, at + 4, at + 4 + min(kind >> 16, 4)
            at += 8
        else:
            yield kind, at + 8, at + 8 + size
            at += 8 + size + (-size % 8 if kind != _COMPRESSED else 0)


def _variables(file: bytes, order: str) -> Iterator[Variable]:
    for kind, start, end in _elements(file, _FILE_HEADER, order):
        if end > len(file):
            raise ValueError("it ends early")
        if kind not in (_MATRIX, _COMPRESSED):
            continue
        raw = file[start:end]
        is_compressed = kind == _COMPRESSED
        head = _content(raw, is_compressed, _HEADER)
        flags, sizes, name = (bytes(head[begin:stop]) for _, begin, stop in _first(head, order, 3))
        if len(sizes) > _MOST_DIMENSIONS * 4:
            raise ValueError("a variable of too many dimensions")
        (word,) = struct.unpack_from(f"{order}I", flags)
        yield Variable(
            name=name.decode("utf-8", "replace"),
            shape=tuple(np.frombuffer(sizes, f"{order}i4").tolist()),
            kind=_CLASSES[word & 0xFF],
            is_complex=bool(word & _COMPLEX),
            raw=raw,
            is_compressed=is_compressed,
            order=order,
        )


def _content(raw: bytes, is_compressed: bool, n: int) -> memoryview:
    """The first n bytes of a variable, decompressed."""
    if not is_compressed:
        return memoryview(raw)[:n]
    return memoryview(zlib.decompressobj().decompress(raw, n + 8))[8:]  # after the matrix's tag


def _first(raw: memoryview, order: str, n: int) -> list[tuple[int, int, int]]:
    found = list(itertools.islice(_elements(raw, 0, order), n))
    if len(found) < n or found[-1][2] > len(raw):
        raise ValueError("it ends early")
    return found


def _values(path: Path, variable: Variable) -> Matrix:
    n, m = variable.shape
    is_sparse = variable.kind == "sparse"
    most = _HEADER + 8 * n * m
    if is_sparse:
        most = min(MOST_BYTES, int(most_bytes(path.stat().st_size) / _TIMES_STORED))
    raw = _content(variable.raw, variable.is_compressed, most)
    if is_sparse and variable.is_compressed and len(raw) == most:
        fail(path, f"variable {quote(variable.name)} unpacks to more than {most / 2**20:,.0f} MiB")
    elements = _first(raw, variable.order, 6 if is_sparse else 4)
    arrays = []
    for number, start, end in elements[3:]:
        kind = np.dtype(variable.order + _TYPES.get(number, "V0"))
        arrays.append(np.frombuffer(raw[start:end], kind))  # no copy
    if not is_sparse:
        values = arrays[0].reshape((n, m), order="F")
        return np.ascontiguousarray(values, dtype=np.float64)
    rows, starts, values = arrays
    if rows.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        raise ValueError("its indices are no integers")
    n_stored = int(starts[-1])
    values = values[:n_stored].astype(np.float64)
    rows = rows[:n_stored].astype(np.int32)
    starts = starts.astype(np.int32)
    matrix = sparse.csc_array((values, rows, starts), shape=(n, m))
    check_indices(matrix)
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
