"""Inputs in the form that all later code expects: checked, in doubles, dense or CSR.

scikit-learn's checks accept every sparse class. A `csr_matrix` multiplies differently from a `csr_array` (`X * X` is a
matrix product), the squares of duplicate entries are wrong, and with an index out of range compiled loops read and
write outside the array. So all input is converted to one class, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from mlcdr.numerics.label_forms import as_numbers, holds_names, read_label_sets, refuse_gaps

LARGEST = 1e70
"""The largest feature: methods square sums of squares, and LIBLINEAR does not end where one of them is infinite."""


def checked(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """scikit-learn's `validate_data`: X (n×d) in doubles, dense or a `csr_array`; and y, where it is given.

    Raises
    ------
    ValueError
        When X or y is not what `options` allow, is not finite, or is a sparse matrix with indices out of range; when X
        has values whose products overflow, or a feature whose products vanish (`check_magnitude`); or when both are
        frames whose rows have other names (`check_index`).
    """
    check_index(X, y)
    valid = validate_data(estimator, as_csr(X), as_csr(y), accept_sparse="csr", dtype=np.float64, **options)
    check_magnitude(valid[0] if isinstance(valid, tuple) else valid, training=options.get("reset", True))
    return valid


def check_magnitude(X: Any, training: bool = True) -> None:
    """Refuse features (n×d, dense or CSR) whose products are no numbers: they would be wrong in every sum, silently.

    Products of four are finite up to 1e70, whatever the number of rows. In training rows, those of a feature all of
    whose values are smaller than 1e-70, and not all 0, are 0 or have lost their digits.

    Raises
    ------
    ValueError
    """
    if not X.size:
        return
    largest = _largest_magnitudes(X)
    j = int(np.nanargmax(largest)) if not np.isnan(largest).all() else 0
    if largest[j] > LARGEST:
        raise ValueError(
            f"X has values as large as {largest[j]:.3g} (feature {j}); their products overflow: "
            f"scale the features to {LARGEST:g} at most"
        )
    vanishing = np.flatnonzero((largest > 0) & (largest < 1 / LARGEST))
    if training and len(vanishing):
        j = int(vanishing[0])
        raise ValueError(
            f"the values of feature {j} of X are no larger than {largest[j]:.3g}; their products vanish: "
            f"scale the feature to {1 / LARGEST:g} at least"
        )


def _largest_magnitudes(X: Any) -> NDArray[np.float64]:
    """The largest |x| of each column (d,) of X (n×d, dense or CSR), missing ones left out; NaN where all are."""
    if not sp.issparse(X):
        with np.errstate(invalid="ignore"):
            return np.maximum(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, X.indices, np.abs(X.data))
    return largest


def as_csr(a: Any) -> Any:
    """A sparse matrix of any class as a `csr_array` with sorted rows, without duplicates or stored zeros; else `a`
    itself, with NaN where a masked array is masked.

    Raises
    ------
    ValueError
        When an index is out of range.
    """
    if isinstance(a, np.ma.MaskedArray):
        return np.ma.filled(a.astype(np.float64), np.nan) if np.ma.is_masked(a) else a.data
    if not sp.issparse(a):
        return a
    if hasattr(a, "check_format"):  # of compressed formats; the others are checked when they are made
        try:
            a.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"a sparse matrix is damaged: {error}") from None
    rows = a if isinstance(a, sp.csr_array) else sp.csr_array(a)
    if not rows.has_canonical_format or not np.all(rows.data):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def as_texts(X: Any) -> NDArray[np.object_]:
    """Texts (n, or n×1) as an array (n×1) of strings.

    Raises
    ------
    ValueError
        When X has another shape, or values that are not texts.
    """
    texts = np.asarray(X, dtype=object)
    if texts.ndim == 1:
        texts = texts[:, None]
    if texts.ndim != 2 or texts.shape[1] != 1:
        raise ValueError(f"X has the shape {texts.shape}; a vectorizer takes one column of texts")
    for row, text in enumerate(texts[:, 0]):
        if not isinstance(text, str):
            raise ValueError(f"row {row} of X is {type(text).__name__}, not a text")
    return texts


def as_label_matrix(Y: Any, n: int) -> Any:
    """Y as an n×K matrix of numbers (a vector becomes one column); sparse stays CSR, and words become 0 and 1.

    Raises
    ------
    ValueError
        When Y is None, has words of no pair, holds NaN or infinity, or has not `n` rows.
    """
    Y = _given(Y)
    if not is_vector(Y):
        Y = _named(_without_gaps, Y)
    Y = check_array(Y, accept_sparse="csr", ensure_2d=False, dtype="numeric", input_name="y")
    if Y.ndim == 1:
        Y = Y[:, None]
    _check_rows(Y, n)
    return Y


def as_binary(y: Any, n: int) -> tuple[Any, NDArray[Any], bool]:
    """Label sets as an n×K matrix of {0, 1} (sparse stays CSR), the two values y had, and whether it was a vector.

    A vector may hold any two values, of which the larger means that the one label is present.

    Raises
    ------
    ValueError
        When y is None, is no label sets (`read_label_sets`), or has not `n` rows.
    """
    y = _given(y)
    if not is_vector(y):
        found = _named(read_label_sets, y)
        _check_rows(found.matrix, n)
        return found.matrix, found.values, False
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"{error} Label sets are an n×K matrix of 0 and 1.") from None
    values, codes = np.unique(y, return_inverse=True)
    _check_rows(y, n)
    if len(values) > 2:
        raise ValueError(
            f"Only binary classification is supported for each label: y must hold 0 and 1, found {len(values)} values"
        )
    if set(values.tolist()) <= {0, 1}:  # all labels absent, or all present, mean just that
        values, codes = np.array([0, 1], dtype=y.dtype), np.asarray(y)
    return codes.reshape(-1, 1).astype(np.uint8), values, True


def is_vector(y: Any) -> bool:
    """Whether y has one value for each row: a classifier that is fitted to it knows two classes."""
    if hasattr(y, "shape"):
        return len(y.shape) == 1
    if hasattr(y, "__len__"):
        return all(np.ndim(value) == 0 for value in y)
    return np.asarray(y).ndim == 1


def _given(y: Any) -> Any:
    """Labels that are there, sparse ones as CSR, and lists of names as their dense matrix.

    Raises
    ------
    ValueError
        When y is None.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return _named(read_label_sets, y).matrix.toarray() if holds_names(y) else as_csr(y)


def _without_gaps(y: Any) -> Any:
    """The numbers of y; ValueError with the place of the first missing one."""
    found = as_numbers(y)
    refuse_gaps(found)
    return found.values


def _named(read: Callable[[Any], Any], y: Any) -> Any:
    """What `read` makes of y; ValueError with the name of y."""
    try:
        return read(y)
    except ValueError as error:
        raise ValueError(f"y: {error}") from None


def _check_rows(y: Any, n: int) -> None:
    """Raise ValueError unless y has as many rows as X."""
    if y.shape[0] != n:
        raise ValueError(f"X has {n} rows and y has {y.shape[0]}")


def check_index(X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> None:
    """Refuse a DataFrame X and a y with other row names: their rows would be paired by position.

    Raises
    ------
    ValueError
        With the `names` of the two.
    """
    if hasattr(X, "iloc") and hasattr(y, "iloc") and len(X) == len(y) and not X.index.equals(y.index):
        first, second = names
        raise ValueError(
            f"{first} and {second} have different indexes, and rows are paired by their position; if that is right, "
            f"give both the same index: {second}.set_axis({first}.index)"
        )
