"""What Y is: label sets in any form that Python has, read as one matrix of 0 and 1.

Data sets in memory and all estimators read Y here, so that a form means the same to all of them. A label is one column:
of 0 and 1 (or, in all columns, -1 and 1), of true and false, or of one of the pairs of words in `yes_no`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics.other_frames import as_pandas, is_frame
from mlcdr.numerics.yes_no import find_pair


class LabelSets(NamedTuple):
    """Label sets that have been read.

    Attributes
    ----------
    matrix : ndarray (uint8) or csr_array (int8) of shape (n, K)
        Which label each row has, of {0, 1}.
    names : list of str
        The names of the labels, where the form has names; else empty.
    values : ndarray of shape (2,)
        The numbers by which Y said that a label is absent and present; 0 and 1 where it had words.
    """

    matrix: Any
    names: list[str]
    values: NDArray[Any]


class NotALabel(ValueError):
    """A cell of Y is neither 0 nor 1.

    Attributes
    ----------
    row, column : int
        Where it is, counted from 0.
    problem : str
        What is wrong with it, without the place.
    """

    def __init__(self, row: int, column: int, problem: str, label: str = ""):
        self.row, self.column, self.problem = row, column, problem
        super().__init__(f"row {row + 1}: label {label or f'label{column + 1}'!r} {problem}")


def read_label_sets(Y: Any) -> LabelSets:
    """Read label sets in any form.

    Parameters
    ----------
    Y : array, sparse matrix, DataFrame or nested list of shape (n, K); or n lists or sets of names
        The cells of a matrix or a frame are numbers, booleans or words (`yes_no`). A frame may be one of pandas (with
        columns that are categories, nullable or sparse) or of another library (`other_frames`). The indices of a sparse
        matrix must be in range. In lists of names, the labels are all names that occur, sorted.

    Raises
    ------
    ValueError
        When it has no rows and columns, or holds anything else; with the row and the label (`NotALabel`), counted
        from 1.
    """
    if holds_names(Y):
        return _read_names(Y)
    values, names, dtype = as_numbers(Y)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"Y has the shape {values.shape}; needed are rows and columns, at least one of each")
    matrix, low = as_indicators(values, names)
    return LabelSets(matrix, names, np.array([low, 1], dtype=dtype))


class Numbers(NamedTuple):
    """A matrix or a frame as numbers.

    Attributes
    ----------
    values : ndarray or csr_array
        Words are 0 and 1, and a missing value is NaN.
    names : list of str
        The names of a frame's columns; empty where they are only numbered, and for a matrix.
    dtype : dtype
        That of the numbers that were given; of others, of whole numbers.
    """

    values: Any
    names: list[str]
    dtype: Any = np.dtype(np.int64)


def as_numbers(Y: Any) -> Numbers:
    """The numbers of any Y but lists of names; sparse stays sparse, and shapes are not checked.

    Raises
    ------
    ValueError
        When a column holds words of no pair, or the rows are of different lengths.
    """
    if is_frame(Y):
        return _of_frame(as_pandas(Y))
    if sp.issparse(Y):
        return Numbers(sp.csr_array(Y), [])
    if isinstance(Y, np.ma.MaskedArray):
        Y = np.ma.filled(Y.astype(np.float64), np.nan) if np.ma.is_masked(Y) else Y.data
    try:
        cells = np.asarray(Y)
    except ValueError:
        raise ValueError("the rows of Y are of different lengths") from None
    if cells.dtype.kind in "biuf":
        return Numbers(cells, [], cells.dtype)
    if cells.dtype.kind in "OUT" and cells.ndim == 1:
        raise ValueError("Y has one cell a row; needed is a matrix of 0 and 1, or a list of names for each row")
    if cells.dtype.kind not in "OUT" or cells.ndim != 2:
        raise ValueError(f"Y has the shape {cells.shape} and the type {cells.dtype}; needed is a matrix of 0 and 1")
    import pandas as pd

    return _of_frame(pd.DataFrame(cells.astype(object)))


def as_indicators(values: Any, names: Sequence[str] = ()) -> tuple[Any, int]:
    """A matrix of numbers (n×K, dense or CSR) as one of {0, 1}, and the number that means absence: 0 or -1.

    Raises
    ------
    NotALabel
        For the first cell, row by row, that is neither 0 nor 1, unless all are -1 and 1.
    """
    entries = values.data if sp.issparse(values) else values
    wrong = (entries != 0) & (entries != 1)  # NaN is neither
    low = 0
    if wrong.any():
        is_full = entries.size == math.prod(values.shape)
        if not is_full or not np.isin(entries, (-1, 1)).all():
            raise _first_wrong(values, wrong, names)
        values, low = values > 0, -1
    matrix = values.astype(np.int8 if sp.issparse(values) else np.uint8)
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
        matrix.eliminate_zeros()
    return matrix, low


def refuse_gaps(found: Numbers) -> None:
    """Raise NotALabel for the first missing value of a matrix, row by row."""
    values, names, _ = found
    gaps = np.isnan(values.data if sp.issparse(values) else values)
    if values.ndim == 2 and gaps.any():
        raise _first_wrong(values, gaps, names)


def _first_wrong(values: Any, wrong: NDArray[np.bool_], names: Sequence[str]) -> NotALabel:
    """The error about the first cell that `wrong` (of the entries) marks."""
    at = int(wrong.argmax())
    if sp.issparse(values):
        row = int(np.searchsorted(values.indptr, at, side="right")) - 1
        column, value = int(values.indices[at]), values.data[at]
    else:
        row, column = divmod(at, values.shape[1])
        value = values[row, column]
    label = names[column] if names else ""
    if np.isnan(value):
        return NotALabel(row, column, "has no value; missing labels cannot be filled", label)
    return NotALabel(row, column, f"has the value {value:g}; a label must be 0 or 1", label)


# -------------------------------------------------------------------- frames and words


def _of_frame(frame: Any) -> Numbers:
    """A frame of pandas as numbers (n×K), CSR if all its columns are sparse."""
    import pandas as pd

    names = list(frame.columns)
    is_numbered = names == list(range(len(names)))
    given = [] if is_numbered else list(map(str, names))
    twice = next((name for name, count in Counter(given).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"column {twice!r} is there twice")
    is_of_numbers = all(kind.kind in "biuf" for kind in frame.dtypes)
    if names and is_of_numbers and all(isinstance(kind, pd.SparseDtype) for kind in frame.dtypes):
        return Numbers(sp.csr_array(frame.astype(pd.SparseDtype(np.float64, 0.0)).sparse.to_coo()), given)
    if is_of_numbers:
        plain = frame.to_numpy()
        if plain.dtype.kind in "biuf":
            return Numbers(plain, given, plain.dtype)
        return Numbers(frame.to_numpy(np.float64, na_value=np.nan), given)
    shown = given or [f"label{k + 1}" for k in names]
    columns = [_column_as_numbers(frame.iloc[:, k], name) for k, name in enumerate(shown)]
    return Numbers(np.column_stack(columns), given)


def _column_as_numbers(column: Any, label: str) -> NDArray[np.float64]:
    """The cells of a pandas Series as numbers: 0 and 1 for a pair of words, NaN for a missing value."""
    cells = column.astype(object)
    try:
        different = cells.dropna().unique().tolist()
    except TypeError:  # lists cannot be compared
        raise ValueError(f"label {label!r} has lists in its cells; lists of names are Y by themselves") from None
    if not all(isinstance(each, Real | np.bool_) for each in different):
        present = _meaning([str(each) for each in different])
        if present is None:
            some = [str(each)[:40] for each in different[:5]]
            if len(different) > len(some):
                some.append("...")
            raise ValueError(
                f"label {label!r} has the values {{{', '.join(some)}}}; "
                "a label must be {0,1}, {NO,YES} or another such pair"
            )
        cells = cells.map(dict(zip(different, present, strict=True)))
    numbers: NDArray[np.float64] = cells.to_numpy(np.float64, na_value=np.nan)
    return numbers


def _meaning(words: Sequence[str]) -> list[float] | None:
    """What each of some different words means, 1 (yes) or 0 (no), if they are of one pair; else None."""
    folded = {word.casefold() for word in words}
    pair = find_pair(words)
    if pair is None or len(folded) < len(words):
        return None
    return [float(word.casefold() == pair[1]) for word in words]


# -------------------------------------------------------------------- lists of names


def holds_names(Y: Any) -> bool:
    """Whether Y is a list, an array or a Series whose rows are lists or sets of names.

    Lists of texts are a matrix if all are of one length, and their cells in each column are of one pair of words.
    """
    if sp.issparse(Y) or is_frame(Y) or not hasattr(Y, "__len__") or isinstance(Y, str):
        return False
    if getattr(getattr(Y, "dtype", None), "kind", "O") not in "OUT" or getattr(Y, "ndim", 1) != 1:
        return False
    rows = list(Y)
    if not rows or not all(isinstance(row, _ROWS) or hasattr(row, "to_list") for row in rows):
        return False
    if any(isinstance(row, set | frozenset) for row in rows) or not any(map(len, rows)):
        return True
    if not any(isinstance(name, str) for name in chain.from_iterable(rows)):
        return False
    if len({len(row) for row in rows}) > 1:
        return True
    return any(_meaning([str(word) for word in set(column)]) is None for column in zip(*rows, strict=True))


_ROWS = (list, tuple, set, frozenset, np.ndarray)


def _read_names(Y: Any) -> LabelSets:
    """The label sets of lists or sets of names, one for each row; CSR.

    Raises
    ------
    ValueError
        When a name is blank, no text and no whole number, or twice in a row; or there is none at all.
    """
    rows = [list(row) for row in Y]
    for number, row in enumerate(rows, 1):
        for name in row:
            if not isinstance(name, str | int | np.integer) or not str(name).strip():
                raise ValueError(f"row {number}: {name!r} where the name of a label is expected")
        if len({str(name) for name in row}) < len(row):
            raise ValueError(f"row {number}: the name of a label twice in {row!r}"[:200])
    names = sorted({str(name) for row in rows for name in row})
    if not names:
        raise ValueError("no row of Y has the name of a label")
    where = {name: k for k, name in enumerate(names)}
    columns = [where[str(name)] for row in rows for name in row]
    ends = np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_array((np.ones(len(columns), np.int8), columns, ends), shape=(len(rows), len(names)))
    matrix.sort_indices()
    return LabelSets(matrix, names, np.array([0, 1]))
