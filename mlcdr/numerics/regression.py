"""Linear regression from moments: least squares of minimum norm, by the rule of R's `lm`, and ridge regression.

Each result is computed once for the labels of a training set and shared by all methods. Codes are linear in the labels,
so those of codes are products with the codes' matrix (`Moments.source`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.numerics import linalg, operators
from mlcdr.numerics.factorisation import basic_factor, factor
from mlcdr.numerics.left_out import left_out
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


def coefficients(moments: Moments, ridge: float = 0.0) -> Array:
    """W (d×K): coefficients of the centred labels on the features, least squares of minimum norm, or ridge.

    A ridge regression on many features (from 15,000) with even more rows is solved by conjugate gradients, which form
    no d×d matrix; if they converge.

    Raises
    ------
    linalg.IllConditioned
        When the rank cannot be told from S and the rows are not at hand.
    """

    def compute(labels: Moments) -> Array:
        if ridge > 0 and labels.both_large and labels.variances is None:
            with contextlib.suppress(linalg.IllConditioned):
                return solve_by_gradients(labels, labels.xy, ridge)
        return factor(labels, ridge).coefficients(whiten(labels, ridge))

    return _of_codes(moments, ("coefficients", ridge), compute)


def whiten(moments: Moments, ridge: float = 0.0) -> Array:
    """B (r×K) with BᵀB = ZᵀHZ, the labels' scatter that a (ridge) regression on the features explains."""
    return _of_codes(
        moments, ("whitened", ridge), lambda labels: factor(labels, ridge).whiten(labels.xy, labels.centred_labels)
    )


def explained_scatter(moments: Moments, ridge: float = 0.0) -> Array:
    """ZᵀHZ (K×K), H = X(XᵀX + αI)⁺Xᵀ the hat matrix."""

    def compute() -> Array:
        found = left_out(moments, ridge)
        if found is not None:
            return found.explained
        b = whiten(moments, ridge)
        return b.T @ b

    return moments.once(("explained", ridge), compute)


def basic_coefficients(moments: Moments) -> Array:
    """W (d×K): least squares by the rule of R's `lm`: features that depend on those before them get 0.

    For how these are found see `factorisation.basic_factor`.

    Raises
    ------
    ValueError
        When the rows are needed and not at hand.
    """
    return _of_codes(
        moments, "basic coefficients", lambda labels: basic_factor(labels).coefficients(whiten_basic(labels))
    )


def whiten_basic(moments: Moments) -> Array:
    """B (r×K) with BᵀB the labels' scatter that the features kept by the rule of R's `lm` explain."""
    return _of_codes(
        moments, "basic whitened", lambda labels: basic_factor(labels).whiten(labels.xy, labels.centred_labels)
    )


def constant_coefficients(moments: Moments, ridge: float = 0.0) -> Array:
    """W (d,): coefficients of the constant target 1 on the features (0 where these are centred).

    With it, targets that are not centred can be regressed on features that are not: W + w ȳᵀ.
    """
    found = factor(moments, ridge)
    product = moments.n * (moments.mean_x - moments.origin)
    return found.coefficients(found.whiten(product[:, None], lambda: np.ones((moments.n, 1))))[:, 0]


def solve_by_gradients(moments: Moments, right: Array, ridge: float, tolerance: float = 1e-14) -> Array:
    """(S + αI)⁻¹B (d×q) for B (d×q) and α > 0, by conjugate gradients on the rows: S is not formed.

    Raises
    ------
    linalg.IllConditioned
        When they do not converge.
    """
    times = moments.scatter_operator()
    return operators.conjugate_gradients(
        lambda a: times(a) + ridge * a, moments.spread() + ridge, right, tolerance=tolerance
    )


def _of_codes(moments: Moments, key: Any, compute: Callable[[Moments], Array]) -> Array:
    """A result linear in the labels: computed once for these, and multiplied by the codes' matrix for codes."""
    labels, matrix = moments.source()
    return moments.once(key, lambda: compute(moments)) if matrix is None else _of_codes(labels, key, compute) @ matrix
