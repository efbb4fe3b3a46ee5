"""Numeric features as discrete ones: what mutual information is counted on. Rules are learned where they are used.

A sparse matrix stays sparse: its codes are numbered so that the one of 0 is 0, which changes no information.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import sums

Array = NDArray[np.float64]

_COLUMNS = 256  # of a sparse matrix, made dense at a time

RULES = ("mean_std", "published_code", "equal_frequency")


def discretised(X: Any, rule: str | None) -> Any:
    """X (n×d, dense or sparse) by a rule's name, as methods take it for a parameter.

    "mean_std": in three at x̄ ± σ, as in the text of Sun 2017 (section 4.3.1). "published_code": in three at x̄ ± σ/2,
    edges rounded to three decimals, as the author's program does. "equal_frequency": in five of about as many rows
    each. "median": in two. None: X holds discrete values already, and is returned unchanged.
    """
    if rule is None:
        return X
    if rule == "equal_frequency":
        return equal_frequency(X, 5)
    if rule == "median":
        return equal_frequency(X, 2)
    if rule == "published_code":
        return at_deviations(X, (0.5,), decimals=3)
    return at_deviations(X, (1.0,))


def at_deviations(X: Any, widths: Sequence[float] = (1.0,), decimals: int | None = None) -> Any:
    """Cut each feature at x̄ ± cσ for each c of `widths`, σ with n − 1; a value on an edge goes to the upper interval.

    Features that are discrete already stay: those of two values, or, where edges are rounded to `decimals` (the
    author's program), those of values −1, 0 and 1 only. The intervals are numbered …, −1, 0, 1, …, 0 the middle one.
    """
    n = X.shape[0]
    mean = sums.total(X) / n
    if sp.issparse(X):
        squares = np.maximum(sums.squares(X) - n * mean**2, 0.0)
    else:
        squares = np.einsum("ij,ij->j", X - mean, X - mean)
    std = np.sqrt(squares / max(n - 1, 1))
    steps = np.sort(np.concatenate([-np.asarray(widths, dtype=float), np.asarray(widths, dtype=float)]))
    edges = mean + steps[:, None] * std  # (2 widths × d)
    if decimals is not None:
        edges = np.round(edges, decimals)
        stays = _ternary(X)
    else:
        stays = _of_two_values(X)
    return _coded(X, edges, stays, len(widths))


def equal_frequency(X: Any, n_intervals: int = 5) -> Any:
    """Cut each feature at its quantiles 1/b, …, (b − 1)/b; a value on an edge goes to the lower interval.

    Equal values are never separated, so a feature with many of them has fewer intervals. Features of two values stay.
    """
    shares = np.arange(1, n_intervals) / n_intervals
    edges = _over_columns(X, lambda some: np.quantile(some, shares, axis=0, method="inverted_cdf"))
    return _coded(X, np.nextafter(edges, np.inf), _of_two_values(X), 0)


def _coded(X: Any, edges: Array, stays: NDArray[np.bool_], middle: int) -> Any:
    """The number of edges at or below each value, less `middle` (sparse: less that of 0); features in `stays` keep
    their values.
    """
    if not sp.issparse(X):
        codes = np.zeros(X.shape)
        for edge in edges:
            codes += edge <= X
        codes -= middle
        codes[:, stays] = X[:, stays]
        return codes
    coo = sp.coo_array(X)
    values, columns = coo.data, coo.col
    codes = np.zeros(len(values))
    for edge in edges:
        codes += (edge[columns] <= values) * 1.0 - (edge[columns] <= 0)
    codes[stays[columns]] = values[stays[columns]]
    coded = sp.csr_array((codes, (coo.row, columns)), shape=X.shape)
    coded.eliminate_zeros()
    return coded


def _of_two_values(X: Any) -> NDArray[np.bool_]:
    """Which features have two values or fewer."""
    if X.shape[0] == 0:
        return np.ones(X.shape[1], dtype=bool)
    return _over_columns(X, lambda some: ((some.min(axis=0) == some) | (some.max(axis=0) == some)).all(axis=0))


def _ternary(X: Any) -> NDArray[np.bool_]:
    """Which features hold nothing but −1, 0 and 1."""
    return _over_columns(X, lambda some: np.isin(some, (-1, 0, 1)).all(axis=0))


def _over_columns(X: Any, compute: Callable[[Array], Any]) -> NDArray[Any]:
    """The result of a function of each column of X (n×d); a sparse X is made dense in blocks of columns."""
    if not sp.issparse(X):
        return np.asarray(compute(X))
    columns = sp.csc_array(X)
    starts = range(0, max(X.shape[1], 1), _COLUMNS)
    return np.concatenate([compute(sums.dense(columns[:, i : i + _COLUMNS])) for i in starts], axis=-1)
