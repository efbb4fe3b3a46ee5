"""A strict, linear-time reader of ARFF files (dense and sparse, numeric and nominal).

`read_arff` returns the content as written: numbers as numbers, nominal values as their positions in the declaration.
The meaning of the values (YES = 1, one-hot columns, labels) is decided in `mlcdr.data.encoding`.

Some input that other readers accept is an error here: `nan`, `inf`, `1e999`, `1_000`, a repeated sparse index, a value
that was not declared.

Format: Weka's ARFF (stable version), https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy import sparse

from mlcdr.csv_files import NUMBER
from mlcdr.data.arff_header import Attribute, read_header
from mlcdr.data.lines import BLANKS, IN_ROW, Line, list_values, quote
from mlcdr.data.packed import open_data
from mlcdr.data.table import Origin, Origins, Table

_INDEX = re.compile(r"[ \t\r\n]*([0-9]{1,9})[ \t]")
_SPARSE_ROW = "a sparse row is {index value, ...}, with indices from 0"
_EMPTY = re.compile(r"\{[ \t\r\n]*\}")
# ASCII without quotes and underscores: of it, `float` accepts what ARFF allows, and also `nan`, `inf`, `infinity`.
_ORDINARY = re.compile(r"[\t !#-&(-^`-~]*")

# 64 KB of text is about 10,000 numbers: enough for fast array operations, and little compared with a parsed matrix.
BLOCK_BYTES = 1 << 16


def read_arff(path: Path | str) -> Table:
    """Read an ARFF file.

    A value that a sparse row omits is 0: of a nominal attribute the *first* value, as the format defines. Time is
    linear in the file's size; memory is at most three times the parsed matrix.

    Raises
    ------
    DataError
        With file and line, for anything that is not plain ARFF of numeric, real, integer and nominal attributes.
    """
    path = Path(path)
    with open_data(path, plain=False) as file:
        relation, attributes, number = read_header(path, file)
        rows, lines = _read_rows(path, file, attributes, number)
    origin = Origin(path, len(lines), line_of=lines.__getitem__, n_bytes=path.stat().st_size)
    return Table(attributes, rows.matrix(), Origins(origin), relation)


def _read_rows(
    path: Path, file: BinaryIO, attributes: Sequence[Attribute], number: int
) -> tuple[_DenseRows | _SparseRows, array[int]]:
    """Read the rows after line `number`, and the line of each; the first row decides whether they are sparse."""
    rows: _DenseRows | _SparseRows | None = None
    lines = array("i")
    while block := file.read(BLOCK_BYTES):
        block = (block + file.readline()).replace(b"\r\n", b"\n")
        if not block.endswith(b"\n"):
            block += b"\n"
        if rows is None and block.startswith(b"{"):
            rows = _SparseRows(attributes)
        count = rows.add_block(block) if isinstance(rows, _SparseRows) else 0
        if count:
            lines.extend(range(number + 1, number + count + 1))
            number += count
            continue
        for number, raw in enumerate(BytesIO(block), number + 1):  # noqa: B020 (the number of the last line read)
            line = Line(path, number)
            text = line.decode(raw)
            if not text or text[0] == "%":
                continue
            if rows is None:
                rows = _SparseRows(attributes) if text[0] == "{" else _DenseRows(attributes)
            rows.add(line, text)
            lines.append(number)
    if rows is None:
        Line(path, number).fail("no row after @data")
    return rows, lines


def _converter(attribute: Attribute) -> Callable[[str], float]:
    """The function that converts an ordinary token of a column; KeyError or ValueError for any other."""
    if attribute.codes is not None:
        return attribute.codes.__getitem__
    return _to_integer if attribute.integer else float


class _DenseRows:
    """The dense rows of a file."""

    def __init__(self, attributes: Sequence[Attribute]):
        self.attributes = attributes
        self.converters = [_converter(attribute) for attribute in attributes]
        self.values = array("d")

    def add(self, line: Line, text: str) -> None:
        """Append a row. An ordinary row (nearly every one) is converted at once, any other token by token."""
        if text[0] == "{":
            line.fail("a sparse row in a file that began with dense rows")
        row = self._convert(text)
        if row is None:
            tokens = list(_split(line, text))
            if len(tokens) != len(self.attributes):
                line.fail(f"{len(tokens)} values, but {len(self.attributes)} attributes are declared")
            row = [_value(line, each, *token) for each, token in zip(self.attributes, tokens, strict=True)]
        self.values.extend(row)

    def _convert(self, text: str) -> list[float] | None:
        """The values of an ordinary row: no quotes, no missing values, no mistakes. None for any other."""
        tokens = text.split(",")
        if len(tokens) != len(self.attributes) or not _ORDINARY.fullmatch(text):
            return None
        if " " in text:
            tokens = [token.strip(BLANKS) for token in tokens]
        try:
            row = [convert(token) for convert, token in zip(self.converters, tokens, strict=True)]
        except (KeyError, ValueError):
            return None
        return row if math.isfinite(sum(row)) else None

    def matrix(self) -> np.ndarray:
        """All rows, n×m float64."""
        return np.array(self.values).reshape(-1, len(self.attributes))


class _SparseRows:
    """The sparse rows of a file."""

    def __init__(self, attributes: Sequence[Attribute]):
        self.attributes = attributes
        self.values = array("d")
        self.indices = array("i")
        self.indptr = array("i", [0])
        self.largest_digit = np.array([_largest_digit(attribute) for attribute in attributes], dtype=np.int8)

    def add_block(self, block: bytes) -> int:
        """Append rows whose values are all single digits, as in nearly every sparse file; return their number.

        If the block has anything else, append nothing and return 0; the caller then reads its lines one by one.
        """
        text = np.frombuffer(block, dtype=np.uint8)
        digits = text - np.uint8(ord("0"))  # characters below "0" wrap round to more than 9
        marks = np.flatnonzero(digits > 9)
        kinds = text.take(marks)
        order = kinds.tobytes()
        *rows, rest = order.replace(b", ", b"").split(b"\n")
        if rest or not set(rows) <= {b"{ }", b"{}"} or order.count(b" ,") != order.count(b","):
            return 0
        blanks = np.flatnonzero(kinds == ord(" "))
        ends = marks.take(blanks)  # where the indices end
        sizes = ends - marks.take(blanks - 1) - 1
        if sizes.min(initial=1) < 1 or sizes.max(initial=1) > 9:
            return 0
        if (marks.take(blanks + 1) - ends != 2).any():  # not one digit
            return 0
        if len(marks) + sizes.sum() + len(blanks) != len(text):
            return 0  # digits in a wrong place
        values = digits.take(ends + 1)
        indices = digits.take(ends - 1).astype(np.int32)
        for place in range(2, int(sizes.max(initial=1)) + 1):
            digit = digits.take(ends - place, mode="wrap") * (sizes >= place)
            indices += digit * np.int32(10 ** (place - 1))
        stops = np.searchsorted(blanks, np.flatnonzero(kinds == ord("\n")))  # entries up to each row's end
        rises = indices[1:] > indices[:-1]
        rises[stops[(stops > 0) & (stops < len(indices))] - 1] = True
        if not rises.all() or indices.max(initial=0) >= len(self.attributes):
            return 0
        if (values.view(np.int8) > self.largest_digit.take(indices)).any():
            return 0
        stops += len(self.indices)
        self.indptr.frombytes(stops.astype(np.int32).tobytes())
        self.indices.frombytes(indices.tobytes())
        self.values.frombytes(values.astype(np.float64).tobytes())
        return len(rows)

    def add(self, line: Line, text: str) -> None:
        """Append a row, entry by entry."""
        if text[0] != "{":
            line.fail("a dense row in a file that began with sparse rows")
        for index, value in self._parse(line, text):
            self.indices.append(index)
            self.values.append(value)
        self.indptr.append(len(self.indices))

    def _parse(self, line: Line, text: str) -> Iterator[tuple[int, float]]:
        """The entries of any row."""
        m = len(self.attributes)
        previous = -1
        empty = _EMPTY.match(text)
        end = empty.end() - 1 if empty else 0
        while text[end] != "}":
            match = _INDEX.match(text, end + 1)
            if match is None:
                line.fail(f"{quote(text[end + 1 :].strip(BLANKS))} is not 'index value'; {_SPARSE_ROW}")
            index = int(match[1])
            if index >= m:
                line.fail(f"index {index}, but the last of the {m} attributes is {m - 1}")
            if index <= previous:
                line.fail(f"index {index} after index {previous}; the indices of a sparse row must increase")
            previous = index
            token, quoted, end = line.read_token(text, match.end())
            if text[end : end + 1] not in (",", "}"):
                line.fail(f"{quote(text[end:])} after the value of index {index}; {_SPARSE_ROW}")
            yield index, _value(line, self.attributes[index], token, quoted)
        line.expect_end(text, end + 1, "the closing brace (instance weights cannot be read)")

    def matrix(self) -> sparse.csr_array:
        """All rows, n×m float64, without explicit zeros; NaN (a missing value) stays."""
        parts = [np.array(part) for part in (self.values, self.indices, self.indptr)]
        n = len(self.indptr) - 1
        matrix = sparse.csr_array(tuple(parts), shape=(n, len(self.attributes)))
        matrix.eliminate_zeros()
        matrix.has_sorted_indices = True
        return matrix


def _largest_digit(attribute: Attribute) -> int:
    """The largest digit that is a value and its own code: 9 for numbers, d for the nominal {0, ..., d}, else -1."""
    if attribute.codes is None:
        return 9
    values = list(attribute.codes)
    return len(values) - 1 if values == list("0123456789"[: len(values)]) else -1


def _to_integer(text: str) -> float:
    number = float(text)
    if number % 1 != 0:  # also true for infinity: `inf % 1` is NaN
        raise ValueError(text)
    return number


def _value(line: Line, attribute: Attribute, token: str, quoted: bool) -> float:
    """One value as a float: a number, a nominal value's position, NaN where missing."""
    codes = attribute.codes
    if codes is not None and token in codes:
        return codes[token]
    if token == "?" and not quoted:
        return math.nan
    what = f"attribute {quote(attribute.name)} has the value {quote(token)}, which is not"
    if codes is not None:
        line.fail(f"{what} among {list_values(codes)}")
    number = float(token) if NUMBER.fullmatch(token) else math.nan
    if not math.isfinite(number):
        line.fail(f"{what} a number, or too large for one of 64 bits")
    if attribute.integer and number % 1 != 0:
        line.fail(f"{what} an integer, as it is declared")
    return number


def _split(line: Line, text: str) -> Iterator[tuple[str, bool]]:
    """The comma-separated tokens of a dense row, each with whether it was quoted."""
    end = -1
    while end < len(text):
        token, quoted, end = line.read_token(text, end + 1, IN_ROW)
        if end < len(text) and text[end] != ",":
            line.fail(f"unexpected {quote(text[end:])} after a quoted value; expected a comma")
        yield token, quoted
