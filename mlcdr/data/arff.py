"""A strict, linear-time, streaming reader of ARFF files (dense and sparse, numeric and nominal).

`read_arff` gives the file's own content: numbers as numbers, nominal values as their position in the declaration. What
the values mean (YES = 1, one-hot columns, labels) is decided in `mlcdr.data.encoding`.

Every row is checked in full. Blocks of regular lines are checked and converted at once by `mlcdr.data.arff_blocks`; a
block with anything unusual in it (quotes, comments, blanks, missing values, mistakes) is read line by line here, which
is also where every message comes from. Where other readers guess, this one refuses: `nan`, `inf`, `1e999`, `1_000`,
a repeated sparse index, a value that was not declared.

Format: Weka's ARFF (stable version), https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy import sparse

from mlcdr.data.arff_blocks import Columns, dense_block, sparse_block
from mlcdr.errors import DataError

# 64 KB of text is some 10,000 numbers: large enough for array operations, small beside any parsed matrix.
BLOCK_BYTES = 1 << 16

_BLANKS = " \t\r\n"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INDEX = re.compile(r"[0-9]{1,9}")
_QUOTED = {"'": re.compile(r"'((?:[^'\\]|\\.)*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"')}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))")
_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "b": "\b",
    "f": "\f",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "%": "%",
    "}": "}",
    "{": "{",
    ",": ",",
}
_KEYWORD = re.compile(r"@([A-Za-z]+)(?=[ \t\r\n{'\"%]|$)")


@dataclass(frozen=True)
class Attribute:
    """One `@attribute` declaration.

    `values` are the nominal values in declared order, None for a numeric attribute; `integer` marks `integer`.
    """

    name: str
    values: tuple[str, ...] | None
    integer: bool
    line: int


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


def fail(path: Path | str, line: int | None, message: str) -> NoReturn:
    """Raise DataError with the message behind `file:line:` (or `file:` where no line can be named)."""
    place = f"{path}:" if line is None else f"{path}:{line}:"
    raise DataError(f"{place} {message}")


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
            relation, attributes, line = _read_header(path, file)
            return _read_rows(path, file, relation, attributes, line)
    except OSError as error:
        fail(path, None, f"cannot be read: {error.strerror or error}")


# --- the header -------------------------------------------------------------------------------------------------------


def _decode(path: Path, line: int, raw: bytes) -> str:
    """Decode one line: UTF-8 only, because a wrong guess would give label names that match no XML."""
    if b"\0" in raw:
        fail(path, line, "a NUL byte; an ARFF file is text in UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        fail(path, line, f"byte 0x{raw[error.start]:02X} is not UTF-8; convert the file (iconv -f latin1 -t utf-8)")


def _short(text: str) -> str:
    """A piece of the file for a message: quoted, and cut where long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _unescape(text: str) -> str:
    """Undo the backslashes of a quoted token; an escape the format does not know stays as written."""
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        code, octal, char = match.groups()
        if octal:
            return chr(int(octal, 8))
        return chr(int(code, 16)) if code else _ESCAPES.get(char, match.group(0))

    return _ESCAPE.sub(plain, text)


def _quoted(path: Path, line: int, text: str, start: int) -> tuple[str, int]:
    """The quoted token that begins at `start`, unescaped, and the position behind its closing quote."""
    match = _QUOTED[text[start]].match(text, start)
    if match is None:
        fail(path, line, f"the quote opened by {_short(text[start:].rstrip(_BLANKS))} is never closed")
    return _unescape(match.group(1)), match.end()


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start] in _BLANKS:
        start += 1
    return start


def _read_header(path: Path, file: BinaryIO) -> tuple[str, tuple[Attribute, ...], int]:
    """Read up to and including `@data`; returns the relation, the attributes and the number of lines read."""
    relation: str | None = None
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    kinds: dict[str, tuple[tuple[str, ...] | None, bool]] = {}  # most declarations end alike: parse each ending once
    line = 0
    for raw in file:
        line += 1
        if line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        text = _decode(path, line, raw).strip(_BLANKS)
        if not text or text[0] == "%":
            continue
        keyword = _KEYWORD.match(text)
        word = keyword.group(1).lower() if keyword else ""
        rest = text[keyword.end() :].strip(_BLANKS) if keyword else ""
        if word == "relation":
            if relation is not None:
                fail(path, line, "a second @relation; a file holds one")
            relation = _relation(path, line, rest)
        elif word == "attribute":
            if relation is None:
                fail(path, line, "@attribute before @relation; the file must begin with @relation NAME")
            name, kind_at = _attribute_name(path, line, rest)
            kind = rest[kind_at:]
            if kind not in kinds:
                kinds[kind] = _attribute_kind(path, line, name, kind)
            if name in seen:
                fail(path, line, f"attribute {_short(name)} is declared twice (first on line {seen[name]})")
            seen[name] = line
            attributes.append(Attribute(name, *kinds[kind], line))
        elif word == "data":
            if rest and rest[0] != "%":
                fail(path, line, f"unexpected {_short(rest)} after @data; rows begin on the next line")
            if relation is None:
                fail(path, line, "@data before @relation; the file must begin with @relation NAME")
            if not attributes:
                fail(path, line, "@data but no @attribute before it")
            return relation, tuple(attributes), line
        elif text[0] == "@":
            fail(path, line, f"unknown declaration {_short(text)}; expected @relation, @attribute or @data")
        else:
            fail(
                path,
                line,
                f"unexpected {_short(text)} in the header; expected @relation, @attribute, @data or a % comment",
            )
    fail(path, max(line, 1), "the file ends without @data")


def _relation(path: Path, line: int, rest: str) -> str:
    if not rest:
        fail(path, line, "@relation without a name")
    if rest[0] not in "'\"":
        return rest  # MEKA writes options behind the name, so blanks belong to it
    name, end = _quoted(path, line, rest, 0)
    _expect_end(path, line, rest, end, "the relation's name")
    return name


def _expect_end(path: Path, line: int, text: str, start: int, what: str) -> None:
    start = _skip_blanks(text, start)
    if start < len(text) and text[start] != "%":
        fail(path, line, f"unexpected {_short(text[start:])} after {what}")


def _attribute_name(path: Path, line: int, rest: str) -> tuple[str, int]:
    """The name and the position where the type begins."""
    if not rest:
        fail(path, line, "@attribute without a name and a type")
    if rest[0] in "'\"":
        name, end = _quoted(path, line, rest, 0)
        if end < len(rest) and rest[end] not in " \t{":
            fail(path, line, f"unexpected {_short(rest[end:])} after the attribute's name; a blank must follow it")
    else:
        # Backslashes and quotes inside an unquoted name are literal: delicious has TAG_dise\~no and TAG_m\'usica.
        end = next((i for i, char in enumerate(rest) if char in " \t{"), len(rest))
        name = rest[:end]
        if not name or "," in name or "}" in name or name[0] == "%":
            fail(
                path,
                line,
                f"bad attribute name {_short(name or rest)}; a name with , {{ }} or a leading % must be quoted",
            )
    start = _skip_blanks(rest, end)
    if start == len(rest):
        fail(path, line, f"attribute {_short(name)} has no type; expected numeric, real, integer or {{value, ...}}")
    return name, start


def _attribute_kind(path: Path, line: int, name: str, kind: str) -> tuple[tuple[str, ...] | None, bool]:
    """Parse a declaration's type: the nominal values (None where numeric) and whether only integers are allowed."""
    if kind[0] == "{":
        return _nominal_values(path, line, name, kind), False
    word = kind.split(None, 1)[0]
    lower = word.lower()
    if lower in ("numeric", "real", "integer"):
        _expect_end(path, line, kind, len(word), f"the type of attribute {_short(name)}")
        return None, lower == "integer"
    if lower in ("string", "date", "relational"):
        fail(
            path,
            line,
            f"attribute {_short(name)} is of type {lower}; only numeric, real, integer and nominal can be read",
        )
    fail(
        path,
        line,
        f"attribute {_short(name)} has the unknown type {_short(word)}; "
        "expected numeric, real, integer or {value, ...}",
    )


def _nominal_values(path: Path, line: int, name: str, kind: str) -> tuple[str, ...]:
    values: list[str] = []
    where = 1
    while True:
        where = _skip_blanks(kind, where)
        if where < len(kind) and kind[where] in "'\"":
            value, where = _quoted(path, line, kind, where)
            where = _skip_blanks(kind, where)
        else:
            start = where
            while where < len(kind) and kind[where] not in ",}":
                where += 1
            value = kind[start:where].strip(_BLANKS)
            if not value and where < len(kind):
                what = "no values" if not values and kind[where] == "}" else "an empty value"
                fail(path, line, f"attribute {_short(name)} declares {what}; expected {{value, ...}}")
        if where >= len(kind):
            fail(path, line, f"the values of attribute {_short(name)} have no closing brace on this line")
        if kind[where] not in ",}":
            fail(
                path,
                line,
                f"unexpected {_short(kind[where:])} in the values of attribute {_short(name)}; expected , or }}",
            )
        values.append(value)
        where += 1
        if kind[where - 1] == "}":
            break
    _expect_end(path, line, kind, where, f"the values of attribute {_short(name)}")
    if len(set(values)) < len(values):
        twice = next(value for i, value in enumerate(values) if value in values[:i])
        fail(path, line, f"attribute {_short(name)} declares the value {_short(twice)} twice")
    return tuple(values)


# --- the rows ---------------------------------------------------------------------------------------------------------


def _blocks(path: Path, file: BinaryIO, line: int) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line; line ends are made LF, the last one is added."""
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
        yield line + 1, block
        line += block.count(b"\n")


def _read_rows(path: Path, file: BinaryIO, relation: str, attributes: tuple[Attribute, ...], line: int) -> ArffTable:
    columns = Columns([attribute.values for attribute in attributes], [attribute.integer for attribute in attributes])
    is_sparse: bool | None = None
    lines: list[np.ndarray] = []
    parts: list[Any] = []
    last = line
    for first, block in _blocks(path, file, line):
        last = first + block.count(b"\n") - 1
        text = block.lstrip(b"\n")  # blank lines at the ends are common, and must not cost the quick way
        start = first + len(block) - len(text)
        text = text.rstrip(b"\n") + b"\n"
        if is_sparse is None:
            is_sparse = _begins_sparse(text)
        if is_sparse is None or text == b"\n":
            continue
        rows: Any = sparse_block(text, columns) if is_sparse else dense_block(text, columns)
        if rows is None:
            read = _sparse_lines if is_sparse else _dense_lines
            numbers, rows = read(path, start, text, attributes, columns)
        else:
            numbers = np.arange(start, start + text.count(b"\n"), dtype=np.int32)
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


def _row_lines(path: Path, first: int, block: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a block that hold a row (no blanks, no comments), with their numbers."""
    for line, raw in enumerate(block.split(b"\n"), first):
        text = _decode(path, line, raw).strip(_BLANKS)
        if text and text[0] != "%":
            yield line, text


def _value(
    path: Path, line: int, attribute: Attribute, codes: dict[str, int] | None, token: str, quoted: bool
) -> float:
    """One value as a float: a number, a nominal value's position, NaN where missing."""
    if codes is not None:
        if token in codes:
            return codes[token]
        if token == "?" and not quoted:
            return math.nan
        assert attribute.values is not None
        listed = ", ".join(attribute.values[:5]) + (", ..." if len(attribute.values) > 5 else "")
        fail(
            path,
            line,
            f"attribute {_short(attribute.name)} has the value {_short(token)}, which is not among {{{listed}}}",
        )
    if token == "?" and not quoted:
        return math.nan
    number = float(token) if _NUMBER.fullmatch(token) else math.inf
    if not math.isfinite(number):
        why = "too large for a 64-bit number" if _NUMBER.fullmatch(token) else "not a number"
        fail(path, line, f"attribute {_short(attribute.name)} has the value {_short(token)}, which is {why}")
    if attribute.integer and number != math.floor(number):
        fail(path, line, f"attribute {_short(attribute.name)} is declared integer but has the value {_short(token)}")
    return number


def _split(path: Path, line: int, text: str, start: int, end: int) -> Iterator[tuple[str, bool]]:
    """The comma-separated tokens of text[start:end], each with whether it was quoted."""
    while True:
        start = _skip_blanks(text, start)
        if start < end and text[start] in "'\"":
            token, start = _quoted(path, line, text, start)
            start = _skip_blanks(text, start)
            if start < end and text[start] != ",":
                fail(path, line, f"unexpected {_short(text[start:end])} after a quoted value; expected a comma")
            stop = start
            yield token, True
        else:
            stop = text.find(",", start, end)
            stop = end if stop < 0 else stop
            yield text[start:stop].strip(_BLANKS), False
        if stop >= end:
            return
        start = stop + 1


def _dense_lines(
    path: Path, first: int, block: bytes, attributes: tuple[Attribute, ...], columns: Columns
) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of dense rows line by line: the rows' lines and the values, n×m."""
    numbers: list[int] = []
    rows: list[np.ndarray] = []
    for line, text in _row_lines(path, first, block):
        if text[0] == "{":
            fail(path, line, "a sparse row in a file that began with dense rows")
        tokens: list[tuple[str, bool]]
        if "'" in text or '"' in text:
            tokens = list(_split(path, line, text, 0, len(text)))
        else:
            tokens = [(token.strip(_BLANKS), False) for token in text.split(",")]
        if len(tokens) != len(attributes):
            fail(path, line, f"{len(tokens)} values, but {len(attributes)} attributes are declared")
        row = np.empty(len(attributes))
        for column, (token, quoted) in enumerate(tokens):
            codes = columns.codes[column]
            known = None if codes is None else codes.get(token)
            row[column] = _value(path, line, attributes[column], codes, token, quoted) if known is None else known
        numbers.append(line)
        rows.append(row)
    matrix = np.array(rows) if rows else np.empty((0, len(attributes)))
    return np.array(numbers, dtype=np.int32), matrix


def _sparse_lines(
    path: Path, first: int, block: bytes, attributes: tuple[Attribute, ...], columns: Columns
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Read a block of sparse rows line by line: the rows' lines; each row's count, the indices and the values."""
    numbers: list[int] = []
    counts: list[int] = []
    indices: list[int] = []
    data: list[float] = []
    for line, text in _row_lines(path, first, block):
        if text[0] != "{":
            fail(path, line, "a dense row in a file that began with sparse rows")
        entries = _sparse_entries(path, line, text, attributes, columns)
        numbers.append(line)
        counts.append(len(entries))
        indices.extend(index for index, _ in entries)
        data.extend(value for _, value in entries)
    rows = (np.array(counts, dtype=np.int32), np.array(indices, dtype=np.int32), np.array(data, dtype=np.float64))
    return np.array(numbers, dtype=np.int32), rows


def _sparse_entries(
    path: Path, line: int, text: str, attributes: tuple[Attribute, ...], columns: Columns
) -> list[tuple[int, float]]:
    """The (index, value) pairs of one sparse row."""
    entries: list[tuple[int, float]] = []
    where = _skip_blanks(text, 1)
    previous = -1
    if where < len(text) and text[where] == "}":
        return _row_end(path, line, text, where, entries)
    while True:
        match = _INDEX.match(text, where)
        if match is None or match.end() == len(text) or text[match.end()] not in " \t":
            if "}" not in text[where:]:
                fail(path, line, "a sparse row without its closing brace")
            piece = text[where : min(p for p in (text.find(",", where), text.find("}", where)) if p >= 0)]
            fail(path, line, f"{_short(piece.strip(_BLANKS))} is not 'index value' (an index counts from 0)")
        index = int(match.group())
        if index >= len(attributes):
            fail(
                path, line, f"index {index}, but the last of the {len(attributes)} attributes is {len(attributes) - 1}"
            )
        if index == previous:
            fail(path, line, f"index {index} is given twice")
        if index < previous:
            fail(path, line, f"index {index} after index {previous}; the indices of a sparse row must increase")
        previous = index
        where = _skip_blanks(text, match.end())
        quoted = where < len(text) and text[where] in "'\""
        if quoted:
            token, where = _quoted(path, line, text, where)
            where = _skip_blanks(text, where)
        else:
            start = where
            while where < len(text) and text[where] not in ",}":
                where += 1
            token = text[start:where].strip(_BLANKS)
        if where >= len(text):
            fail(path, line, "a sparse row without its closing brace")
        entries.append((index, _value(path, line, attributes[index], columns.codes[index], token, quoted)))
        if text[where] == "}":
            return _row_end(path, line, text, where, entries)
        if text[where] != ",":
            fail(path, line, f"unexpected {_short(text[where:])} after the value of index {index}; expected , or }}")
        where = _skip_blanks(text, where + 1)


def _row_end(path: Path, line: int, text: str, brace: int, entries: list[tuple[int, float]]) -> list[tuple[int, float]]:
    _expect_end(path, line, text, brace + 1, "the closing brace (instance weights cannot be read)")
    return entries
