"""ARFF rows read line by line: whatever `mlcdr.data.arff_blocks` leaves, and the message for every mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mlcdr.data.arff_blocks import Columns
from mlcdr.data.arff_header import Attribute
from mlcdr.data.text import BLANKS, decode, expect_end, fail, listed, read_quoted, read_token, short, skip_blanks

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INDEX = re.compile(r"[0-9]{1,9}")


def _row_lines(path: Path, first: int, block: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a block that hold a row (no blanks, no comments), with their numbers."""
    for line, raw in enumerate(block.split(b"\n"), first):
        text = decode(path, line, raw).strip(BLANKS)
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
        fail(
            path,
            line,
            f"attribute {short(attribute.name)} has the value {short(token)}, "
            f"which is not among {listed(attribute.values)}",
        )
    if token == "?" and not quoted:
        return math.nan
    number = float(token) if _NUMBER.fullmatch(token) else math.inf
    if not math.isfinite(number):
        why = "too large for a 64-bit number" if _NUMBER.fullmatch(token) else "not a number"
        fail(path, line, f"attribute {short(attribute.name)} has the value {short(token)}, which is {why}")
    if attribute.integer and number != math.floor(number):
        fail(path, line, f"attribute {short(attribute.name)} is declared integer but has the value {short(token)}")
    return number


def _split(path: Path, line: int, text: str, start: int, end: int) -> Iterator[tuple[str, bool]]:
    """The comma-separated tokens of text[start:end], each with whether it was quoted."""
    while True:
        start = skip_blanks(text, start)
        if start < end and text[start] in "'\"":
            token, start = read_quoted(path, line, text, start)
            start = skip_blanks(text, start)
            if start < end and text[start] != ",":
                fail(path, line, f"unexpected {short(text[start:end])} after a quoted value; expected a comma")
            stop = start
            yield token, True
        else:
            stop = text.find(",", start, end)
            stop = end if stop < 0 else stop
            yield text[start:stop].strip(BLANKS), False
        if stop >= end:
            return
        start = stop + 1


def dense_lines(
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
            tokens = [(token.strip(BLANKS), False) for token in text.split(",")]
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


def sparse_lines(
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
    where = skip_blanks(text, 1)
    previous = -1
    if where < len(text) and text[where] == "}":
        return _row_end(path, line, text, where, entries)
    while True:
        match = _INDEX.match(text, where)
        if match is None or match.end() == len(text) or text[match.end()] not in " \t":
            if "}" not in text[where:]:
                fail(path, line, "a sparse row without its closing brace")
            piece = text[where : min(p for p in (text.find(",", where), text.find("}", where)) if p >= 0)]
            fail(path, line, f"{short(piece.strip(BLANKS))} is not 'index value' (an index counts from 0)")
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
        token, quoted, where = read_token(path, line, text, match.end())
        if where >= len(text):
            fail(path, line, "a sparse row without its closing brace")
        entries.append((index, _value(path, line, attributes[index], columns.codes[index], token, quoted)))
        if text[where] == "}":
            return _row_end(path, line, text, where, entries)
        if text[where] != ",":
            fail(path, line, f"unexpected {short(text[where:])} after the value of index {index}; expected , or }}")
        where = skip_blanks(text, where + 1)


def _row_end(path: Path, line: int, text: str, brace: int, entries: list[tuple[int, float]]) -> list[tuple[int, float]]:
    expect_end(path, line, text, brace + 1, "the closing brace (instance weights cannot be read)")
    return entries
