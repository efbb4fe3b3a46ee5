"""Decompositions of the centred rows: from the rows themselves, or from their inner products (n×n)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import linalg, operators, sums
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


def svd_of_rows(moments: Moments) -> linalg.Spectral:
    """X = U diag(s) Vᵀ of the rows less their origin, made dense: the most accurate in small singular values.

    Computed once. Cost: 6nd·min(n, d).
    """

    def compute() -> linalg.Spectral:
        X, origin = moments.rows()[0], moments.origin
        rows = sums.dense(X) - origin
        if moments.centred:  # a constant feature leaves exact zeros
            rows -= rows.mean(axis=0)
        return linalg.Spectral.of_rows(rows, np.sqrt(sums.squares(X)))

    return moments.memo.get("svd of rows", compute)


def thin_svd(moments: Moments) -> linalg.Spectral:
    """The same for d > n; from XXᵀ where X is sparse and that tells the rank: n² inner products of rows and 9n³."""
    return moments.memo.get("thin svd", lambda: _thin_svd(moments))


def _thin_svd(moments: Moments) -> linalg.Spectral:
    if sp.issparse(moments.rows()[0]):
        with contextlib.suppress(linalg.IllConditioned):
            found = linalg.Spectral.of_outer(*outer_products(moments), clear=True)
            confirm_range(moments, lambda a: found.left @ (found.left.T @ a))
            return found
    return svd_of_rows(moments)


def outer_products(moments: Moments) -> tuple[Array, operators.Operator]:
    """XXᵀ (n×n) of the rows less their origin, and A (n×q) ↦ XᵀA (d×q).

    Raises
    ------
    linalg.IllConditioned
        When subtracting the origin cancels too much of a sparse matrix's products of raw rows.
    """
    X, origin = moments.rows()[0], moments.origin
    outer = sums.outer(X, origin)
    # taking the mean off XXᵀ leaves rounding of the size of the raw rows: it must be small beside what is left
    if sp.issparse(X) and np.max(np.diag(outer)) < 1e-3 * float(sums.row_squares(X).max()):
        raise linalg.IllConditioned("centring cancels too much of the matrix of inner products")

    def transpose_apply(a: Array) -> Array:
        return X.T @ a - np.outer(origin, a.sum(axis=0))

    return outer, transpose_apply


def confirm_range(moments: Moments, project: Callable[[Array], Array]) -> None:
    """Check on the rows that each feature, at unit size, lies in a range; those nearly constant are left out.

    `project(A)` must return the projection of A (n×q) on that range.

    Raises
    ------
    linalg.IllConditioned
        When one does not.
    """
    X, mean = moments.rows()[0], moments.origin
    raw = sums.squares(X)
    squares = raw - moments.n * mean * (2 * moments.mean_x - mean)
    sizes = np.sqrt(np.where((raw > 0) & (squares > 1e-10 * raw), squares, np.inf))
    probe = linalg.random_signs(moments.n_features) / sizes[:, None]
    image = X @ probe - mean @ probe
    if not linalg.confirmed(image - project(image), float(np.linalg.norm(image))):
        raise linalg.IllConditioned("the rows do not confirm the rank of the matrix of inner products")
