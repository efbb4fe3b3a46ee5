"""What a user holds as label sets, as an n×K matrix of numbers: the one place that decides what Y is.

Y may be an array, a sparse matrix, or lists of numbers; a DataFrame of pandas, polars or another library, with columns
of numbers, of true and false, of yes and no (or another such pair), also nullable, categorical or sparse; an array of
such words; or the names of each row's labels: a list of lists, tuples or sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics.yes_no import find_pair

_SHOWN = 5  # words in a message
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


class LabelSets(NamedTuple):
    """Label sets as a matrix of numbers (n×K; n, if they were a vector), and the names of the labels, if there are any.

    Whether the numbers are 0 and 1 is not checked.
    """

    matrix: Any
    names: tuple[str, ...] | None


def read_label_sets(Y: Any, name: str = "y") -> LabelSets:
    """Label sets in any form.

    A vector (one label) stays as it is: whoever is fitted to it may know its words.

    Raises
    ------
    ValueError
        When a column has words of no such pair, or no value in some row; the message begins with `name`.
    """
    if sp.issparse(Y) or Y is None:
        return LabelSets(Y, None)
    if is_frame(Y):
        return _read_frame(Y, name)
    if _lists_names(Y):
        return _mark_names(Y)
    if getattr(Y, "ndim", 2) == 2 and _may_hold_words(Y):
        words = _as_array(Y)
        if words.ndim == 2 and words.dtype.kind in "OUST":
            columns = [_read_column(words[:, k], f"{name}: column {k}") for k in range(words.shape[1])]
            return LabelSets(np.column_stack(columns), None)
    return LabelSets(Y, None)


def is_frame(values: Any) -> bool:
    """Whether something is a DataFrame, of any library."""
    return hasattr(values, "columns") and hasattr(values, "shape") and not isinstance(values, type)


def _as_array(Y: Any) -> NDArray[Any]:
    """An array; an empty one of rows of different lengths, which whoever checks the shape refuses."""
    try:
        return np.asarray(Y)
    except ValueError:
        return np.empty(0)


def _may_hold_words(Y: Any) -> bool:
    return getattr(getattr(Y, "dtype", None), "kind", "O") in "OUST"


def _read_frame(frame: Any, name: str) -> LabelSets:
    names = tuple(map(str, frame.columns))
    kinds = list(getattr(frame, "dtypes", ()))
    if hasattr(frame, "sparse") and all(getattr(kind, "fill_value", None) == 0 for kind in kinds):
        return LabelSets(sp.csr_array(frame.sparse.to_coo()), names)
    columns = []
    for key, shown in zip(frame.columns, names, strict=True):
        columns.append(_read_column(frame[key].to_numpy(), f"{name}: column {shown!r}"))
    return LabelSets(np.column_stack(columns), names)


def _read_column(values: NDArray[Any], where: str) -> NDArray[Any]:
    """The values of a label (n): numbers as they are, words of a pair as 0 and 1."""
    if values.dtype.kind in "biu":
        return values
    is_missing = [value is None or value != value or type(value).__name__ == "NAType" for value in values.tolist()]
    if any(is_missing):
        raise ValueError(f"{where} has no value in row {is_missing.index(True) + 1}; missing labels cannot be filled")
    if values.dtype.kind == "f":
        return values
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        numbers = values.astype(np.float64)
        whole = numbers.astype(np.int64)
        return whole if np.array_equal(whole, numbers) else numbers
    words = np.array([str(value) for value in values])
    pair = find_pair(words)
    if pair is None:
        different = ", ".join(sorted(set(words.tolist()))[:_SHOWN])
        right = "a label must be 0 and 1, no and yes, or another such pair"
        raise ValueError(f"{where} has the values {different}; {right}")
    return np.array([word.casefold() == pair[1] for word in words.tolist()], dtype=np.uint8)


def _lists_names(Y: Any) -> bool:
    """Whether Y has, for each row, a collection of the names of its labels."""
    is_vector = isinstance(Y, list | tuple) or (getattr(Y, "ndim", 0) == 1 and _may_hold_words(Y))
    if not is_vector:
        return False
    rows = list(Y)
    first = next((row for row in rows if isinstance(row, _COLLECTIONS) and len(row)), ())
    if not isinstance(next(iter(first), None), str):
        return False
    words: list[Any] = []
    for row in rows:
        if not isinstance(row, _COLLECTIONS):
            return False
        words += row
    return all(isinstance(word, str) for word in words) and not _is_matrix_of_pairs(rows, words)


def _is_matrix_of_pairs(rows: Iterable[Any], words: Collection[str]) -> bool:
    """Whether lists of words are a matrix of yes and no."""
    lengths = {len(row) for row in rows}
    return len(lengths) == 1 and find_pair(words) is not None


def _mark_names(Y: Iterable[Collection[str]]) -> LabelSets:
    """Which of the different names, sorted, each row has."""
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer()
    matrix = binarizer.fit_transform(Y)
    return LabelSets(matrix.astype(np.uint8), tuple(map(str, binarizer.classes_)))
