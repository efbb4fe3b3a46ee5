"""A strict, linear-time, streaming reader of ARFF files (dense and sparse, numeric and nominal).

`read_arff` gives the file's own content: numbers as numbers, nominal values as their position in the declaration. What
the values mean (YES = 1, one-hot columns, labels) is decided in `mlcdr.data.encoding`.

Every row is checked in full. Blocks of regular lines are checked and converted at once by `mlcdr.data.arff_blocks`; a
block with anything unusual in it (quotes, comments, blanks, missing values, mistakes) is read line by line by
`mlcdr.data.arff_lines`, which is also where every message comes from. Where other readers guess, this one refuses:
`nan`, `inf`, `1e999`, `1_000`, a repeated sparse index, a value that was not declared.

Format: Weka's ARFF (stable version), https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from mlcdr.data.arff_blocks import Columns, dense_block, sparse_block
from mlcdr.data.arff_header import Attribute, read_header
from mlcdr.data.arff_lines import dense_lines, sparse_lines
from mlcdr.data.text import fail

# 64 KB of text is some 10,000 numbers: large enough for array operations, small beside any parsed matrix.
BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file.

    Attributes
    ----------
    path : Path
        The file read, for messages.
    relation : str
        The relation's name, unquoted.
    attributes : tuple of Attribute
        The m declarations in order.
    values : ndarray or csr_array of shape (n, m), float64
        Numbers; nominal values as their position in the declaration, so that what a sparse file omits (0) is the
        *first* nominal value, as the format defines. NaN is a missing value and nothing else. CSR for a sparse file:
        int32 sorted indices, no explicit zeros.
    lines : ndarray of int
        The line of each row.
    """

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]
    values: np.ndarray | sparse.csr_array
    lines: np.ndarray

    @property
    def is_sparse(self) -> bool:
        """Whether the file's rows are sparse (`{index value, …}`)."""
        return sparse.issparse(self.values)


def read_arff(path: Path | str) -> ArffTable:
    """Read an ARFF file.

    Time is linear in the file's size; memory is the parsed matrix, twice while blocks are joined, and one block.

    Raises
    ------
    DataError
        With file and line, for anything that is not plain ARFF of numeric, real, integer and nominal attributes.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            relation, attributes, line = read_header(path, file)
            return _read_rows(path, file, relation, attributes, line)
    except OSError as error:
        fail(path, None, f"cannot be read: {error.strerror or error}")


def _blocks(path: Path, file: BinaryIO, line: int) -> Iterator[tuple[int, int, bytes]]:
    """Blocks of whole lines, with the numbers of their first and last; line ends are made LF, the last one is added."""
    while block := file.read(BLOCK_BYTES):
        if block[-1:] != b"\n":
            block += file.readline()
        if b"\0" in block:
            fail(
                path, line + 1 + block.count(b"\n", 0, block.index(b"\0")), "a NUL byte; an ARFF file is text in UTF-8"
            )
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if block[-1:] != b"\n":
            block += b"\n"
        first, line = line + 1, line + block.count(b"\n")
        yield first, line, block


def _read_rows(path: Path, file: BinaryIO, relation: str, attributes: tuple[Attribute, ...], line: int) -> ArffTable:
    columns = Columns([attribute.values for attribute in attributes], [attribute.integer for attribute in attributes])
    is_sparse: bool | None = None
    lines: list[np.ndarray] = []
    parts: list[Any] = []
    last = line
    for first, end, block in _blocks(path, file, line):
        last = end
        text = block.lstrip(b"\n")  # blank lines at the ends are common, and must not cost the quick way
        start = first + len(block) - len(text)
        if text[-2:] in (b"", b"\n\n"):
            text = text.rstrip(b"\n") + b"\n"
        if is_sparse is None:
            is_sparse = _begins_sparse(text)
        if is_sparse is None or text == b"\n":
            continue
        rows: Any = sparse_block(text, columns) if is_sparse else dense_block(text, columns)
        if rows is None:
            read = sparse_lines if is_sparse else dense_lines
            numbers, rows = read(path, start, text, attributes, columns)
        else:
            numbers = np.arange(start, start + len(rows[0] if is_sparse else rows), dtype=np.int32)
        lines.append(numbers)
        parts.append(rows)
    if not sum(map(len, lines)):
        fail(path, last, "no row after @data")
    values = _join_sparse(parts, len(attributes)) if is_sparse else _join_dense(parts)
    return ArffTable(path, relation, attributes, values, np.concatenate(lines))


def _begins_sparse(block: bytes) -> bool | None:
    """Whether the first row of a block is sparse; None if it holds no row."""
    for raw in block.split(b"\n"):
        row = raw.lstrip(b" \t\r")
        if row and row[:1] != b"%":
            return row[:1] == b"{"
    return None


def _join_dense(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _join_sparse(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], m: int) -> sparse.csr_array:
    counts = np.concatenate([part[0] for part in parts])
    indices = np.concatenate([part[1] for part in parts])
    data = np.concatenate([part[2] for part in parts])
    parts.clear()
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    values = sparse.csr_array((data, indices, indptr), shape=(len(counts), m))
    if not data.all():
        values.eliminate_zeros()  # NaN, a missing value, is not zero and stays
    values.has_sorted_indices = True
    return values
