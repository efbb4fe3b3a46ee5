"""Blocks of regular ARFF rows, checked and converted at once with array operations.

The functions here give either the exact values of every row in the block or None: "not perfectly regular, read it line
by line". They never report a mistake and never accept one. Regular means: no blanks but the one between a sparse index
and its value, no quotes, comments, missing values; numbers in plain decimal notation; nominal values that are numerals.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

_DIGIT, _SIGN, _OPEN, _BLANK, _COMMA, _CLOSE, _END, _OTHER = range(8)

_CLASS = np.full(256, _OTHER, dtype=np.uint8)
for _chars, _class in (
    (b"0123456789", _DIGIT),
    (b"+-.eE", _SIGN),
    (b"{", _OPEN),
    (b" ", _BLANK),
    (b",", _COMMA),
    (b"}", _CLOSE),
    (b"\n", _END),
):
    for _char in _chars:
        _CLASS[_char] = _class

# Which delimiter may follow which in sparse rows, and whether a number stands between them (1) or nothing (2).
_FOLLOWS = np.zeros((8, 8), dtype=np.uint8)
_FOLLOWS[_END, _OPEN] = 2
_FOLLOWS[_OPEN, _BLANK] = 1
_FOLLOWS[_OPEN, _CLOSE] = 2
_FOLLOWS[_BLANK, _COMMA] = 1
_FOLLOWS[_BLANK, _CLOSE] = 1
_FOLLOWS[_COMMA, _BLANK] = 1
_FOLLOWS[_CLOSE, _END] = 2

_NOT_DENSE = np.zeros(8, dtype=bool)
_NOT_DENSE[[_OPEN, _BLANK, _CLOSE, _OTHER]] = True

_TO_BLANKS = bytes.maketrans(b"{},\n", b"    ")


class Columns:
    """What the readers must know of each column, as arrays.

    Parameters
    ----------
    values : sequence of (tuple of str or None)
        Each column's nominal values in declared order; None for a numeric column.
    integer : sequence of bool
        Whether only integers are allowed.
    """

    def __init__(self, values: Sequence[tuple[str, ...] | None], integer: Sequence[bool]):
        books: dict[tuple[str, ...], dict[str, int]] = {}  # thousands of columns share one declaration
        self.codes: list[dict[str, int] | None] = [
            None if v is None else books.setdefault(v, {value: code for code, value in enumerate(v)}) for v in values
        ]
        self.size = len(values)
        self.nominal = np.array([v is not None for v in values])
        self.integer = np.array(integer, dtype=bool)
        # Columns declared {0,1,...,k-1}, k <= 10: one digit, which is its own code. `limit` is k there, 0 elsewhere.
        digits = {v: len(v) if v == tuple("0123456789"[: len(v)]) else 0 for v in books}
        self.limit = np.array([0 if v is None else digits[v] for v in values])
        # The largest digit that is a value of the column as it stands, -1 where none is; and the least of these.
        self.largest_digit = np.where(self.nominal, self.limit - 1, 9)
        self.least_digit = int(self.largest_digit.min(initial=9))


def _signed(kinds: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which tokens (given by their ends) have a character that is not a digit."""
    signs = np.flatnonzero(kinds == _SIGN)
    signed = np.zeros(len(ends), dtype=bool)
    if len(signs):
        signed[np.searchsorted(ends, signs)] = True
    return signed


def _floats(block: bytes, count: int) -> np.ndarray | None:
    """The `count` numbers of a text in which every token is known to be non-empty and made of number characters.

    A token cannot give less than one number, so `count` numbers in all mean that each gave one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(block, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if len(numbers) != count or not np.isfinite(numbers).all():
        return None
    return numbers


def dense_block(block: bytes, columns: Columns) -> np.ndarray | None:
    """The values of dense rows, n×m float64, nominal ones as codes; None if any row is not regular."""
    kinds = _CLASS[np.frombuffer(block, dtype=np.uint8)]
    if _NOT_DENSE[kinds].any():
        return None
    ends = np.flatnonzero(kinds > _SIGN)
    m = columns.size
    is_end = kinds[ends] == _END
    if len(ends) % m or not is_end[m - 1 :: m].all() or is_end.sum() * m != len(ends):
        return None
    lengths = np.diff(ends, prepend=-1) - 1
    signed = _signed(kinds, ends)
    if not lengths.all():
        return None
    numbers = _floats(block.translate(_TO_BLANKS), len(ends))
    if numbers is None:
        return None
    values, lengths, signed = (a.reshape(-1, m) for a in (numbers, lengths, signed))
    if (values[:, columns.integer] % 1 != 0).any():
        return None
    digit = np.flatnonzero(columns.limit)
    if signed[:, columns.nominal].any():
        return None
    if (lengths[:, digit] != 1).any() or (values[:, digit] >= columns.limit[digit]).any():
        return None
    for column in np.flatnonzero(columns.nominal & (columns.limit == 0)):
        codes = columns.codes[column]
        assert codes is not None
        found, place = np.unique(values[:, column], return_inverse=True)
        wanted = [codes.get(f"{int(number)}") for number in found]
        # The length tells 1 from 01.
        if None in wanted or (lengths[:, column] != np.array([len(f"{int(f)}") for f in found])[place]).any():
            return None
        values[:, column] = np.array(wanted, dtype=np.float64)[place]
    return values


def sparse_block(block: bytes, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The entries of sparse rows: each row's count, indices (int32), values (float64); None if a row is not regular."""
    text = np.frombuffer(block, dtype=np.uint8)
    return _one_digit_rows(text, columns) or _number_rows(block, text, columns)


def _one_digit_rows(text: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """`sparse_block` for rows whose values are single digits, as in nearly every sparse file; None for all others."""
    digits = text - np.uint8(ord("0"))  # anything below 0 wraps round to more than 9
    marks = np.flatnonzero(digits > 9)
    kinds = _CLASS.take(text.take(marks))
    follows = _FOLLOWS.take((kinds[:-1] << 3) | kinds[1:])
    if kinds[0] != _OPEN or marks[0] != 0 or not follows.all():
        return None
    blanks = np.flatnonzero(kinds == _BLANK)
    blank = marks.take(blanks)
    size = blank - marks.take(blanks - 1) - 1
    places = int(size.max(initial=1))
    # A value of one digit ends two characters behind its blank, and `{`, `}`, line end stand side by side; then every
    # character has been looked at, as digits + marks are all there are.
    if places > 9 or size.min(initial=1) < 1 or (marks.take(blanks + 1) - blank != 2).any():
        return None
    if len(marks) + int(size.sum()) + len(blanks) != len(text):
        return None
    values = digits.take(blank + 1)
    indices = digits.take(blank - 1).astype(np.int32)
    for place in range(2, places + 1):
        # Before the first entry of a block there may be fewer characters than places: those wrap round, and weigh 0.
        indices += digits.take(blank - place, mode="wrap") * (size >= place) * np.int32(10 ** (place - 1))
    if len(indices) and int(indices.max()) >= columns.size:
        return None
    if int(values.max(initial=0)) > columns.least_digit and (values > columns.largest_digit[indices]).any():
        return None
    ends = np.flatnonzero(kinds == _END)
    before = np.searchsorted(blanks, ends)  # entries up to the end of each row
    rises = indices[1:] > indices[:-1]
    rises[before[(before > 0) & (before < len(indices))] - 1] = True
    if not rises.all():
        return None
    return np.diff(before, prepend=0).astype(np.int32), indices, values.astype(np.float64)


def _number_rows(block: bytes, text: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """`sparse_block` for rows of any numbers."""
    kinds = _CLASS[text]
    marks = np.flatnonzero(kinds > _SIGN)
    delimiters = kinds[marks]
    before = np.concatenate(([_END], delimiters[:-1])).astype(np.uint8)
    between = np.diff(marks, prepend=-1) - 1
    follows = _FOLLOWS[before, delimiters]
    if (follows == 0).any() or ((follows == 1) != (between > 0)).any():
        return None
    ends = marks[follows == 1]
    lengths = between[follows == 1]
    signed = _signed(kinds, ends)
    if signed[::2].any():
        return None
    numbers = _floats(block.translate(_TO_BLANKS), len(ends))
    if numbers is None or (lengths[::2] > 9).any():
        return None
    indices = numbers[::2].astype(np.int64)
    values = numbers[1::2].copy()
    if (indices >= columns.size).any():
        return None
    nominal = columns.nominal[indices]
    if nominal.any():
        limit = columns.limit[indices]
        if ((values >= limit) | (lengths[1::2] != 1) | signed[1::2])[nominal].any():
            return None
    if columns.integer.any() and (values[columns.integer[indices]] % 1 != 0).any():
        return None
    counts = _row_counts(delimiters)
    rises = np.diff(indices) > 0
    firsts = np.cumsum(counts)[:-1]
    rises[firsts[(firsts > 0) & (firsts < len(indices))] - 1] = True
    if not rises.all():
        return None
    return counts, indices.astype(np.int32), values


def _row_counts(delimiters: np.ndarray) -> np.ndarray:
    """The number of entries (blanks between index and value) in each row."""
    blanks = np.cumsum(delimiters == _BLANK)
    return np.diff(blanks[delimiters == _END], prepend=0).astype(np.int32)
