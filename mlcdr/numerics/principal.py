"""Principal axes of the rows of a data set: from S (d×d), from the n×n side, or from the rows themselves.

Where few are wanted of very many, from products with the rows alone (`operators.lanczos`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import linalg, operators, sums
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RankCoordinates:
    """S (r×r), C (r×K) and the rows (n×r) in r coordinates of the features; `lift` turns directions (r×m) into d×m."""

    moments: Moments
    lift: Callable[[Array], Array]

    def rows(self) -> tuple[Any, Array]:
        """The rows (n×r) less an origin, 0 except for large offsets (see `sums.less_offsets`), and their mean."""
        X, origin = self.moments.rows_less_offsets()
        return X, self.moments.mean_x - origin


def rank_coordinates(moments: Moments) -> RankCoordinates:
    """S and C in coordinates of the features that keep them as small as possible.

    They are the features themselves where d ≤ n (or the rows are not at hand), and else the r principal axes of the
    rows, from a thin SVD of X: what a method finds in the range of Xᵀ it finds there exactly. Cost where d > n:
    about 9n³ + ndr (sparse: n² inner products of rows), or the SVD of the dense rows, 6n²d.
    """
    if moments.n_features <= moments.n or not moments.has_rows:
        return RankCoordinates(moments, lambda a: a)
    svd = thin_svd(moments.labels)
    s = svd.singular_values
    inner = Moments(
        moments.n,
        np.zeros(svd.rank),
        moments.mean_y,
        lambda: np.diag(s**2),
        lambda: s[:, None] * (svd.left.T @ moments.centred_labels()),
        lambda: moments.yy,
        lambda: (svd.left * s, moments.rows()[1]),
        lambda: s**2,
        centred=moments.centred,
    )
    return RankCoordinates(inner, svd.apply_right)


def principal_directions(moments: Moments, n: int) -> tuple[Array, Array]:
    """The `n` largest eigenvalues of S, descending, and their eigenvectors as rows; fewer if the rank of S is lower.

    Eigenvalues of a Gram matrix are accurate to about 1e-16 of the largest. Where those requested reach below 1e-10 of
    it, or d ≥ n, they come from an SVD of the centred rows (if at hand), which is accurate to the square of that. One
    decomposition serves every n, except where few of very many are wanted: these come from Lanczos iterations, for
    d ≥ n with the rows alone (about 50 products with them for one).

    Raises
    ------
    ValueError
        When S is not centred, or the labels are mapped.
    """
    values, directions = _leading(moments, n)
    return values[:n], directions[:n]


def principal_moments(moments: Moments, n: int) -> Moments:
    """The moments of the features in the `n` leading principal directions (uncentred); S is diagonal there."""
    found = _leading(moments, n)[1]
    n_found = len(found)
    values, directions = principal_directions(moments, n)

    def project(X: Any) -> Array:
        return moments.memo.get(("principal rows", n_found), lambda: sums.frozen(X @ found.T))[:, : len(values)]

    return moments.with_features(
        directions @ moments.mean_x,
        lambda: np.diag(values),
        lambda: moments.once(("principal xy", n_found), lambda: found @ moments.xy)[: len(values)],
        project,
        variances=values,
    )


def _leading(moments: Moments, n: int) -> tuple[Array, Array]:
    """`n` principal directions or more."""
    if not moments.centred or moments.labels is not moments:
        raise ValueError("principal directions are those of centred features, before the labels are mapped")
    if moments.n_features < moments.n:
        few = moments.n_features >= 1000 and 10 * n <= moments.n_features
    else:
        few = moments.n >= 500 and 20 * n <= moments.n and moments.has_rows
    size = n if few else moments.n_features
    return moments.memo.get(("principal directions", size), lambda: _decompose(moments, size))


def _decompose(moments: Moments, n: int) -> tuple[Array, Array]:
    d = moments.n_features
    if d < moments.n or not moments.has_rows:
        values, directions = linalg.leading_eigenvectors(moments.xx, n)
        if not moments.has_rows or values[0] <= 0 or values[-1] >= 1e-10 * values[0]:
            rank = np.count_nonzero(values > d * np.finfo(float).eps * values[0])
            return np.maximum(values, 0.0)[: max(rank, 1)], directions[: max(rank, 1)]
    elif n < d and moments.spread().any():
        with contextlib.suppress(linalg.IllConditioned):
            values, vectors = operators.lanczos(moments.scatter_operator(), d, n)
            if values[-1] >= 1e-10 * values[0]:
                return values, linalg.signed(vectors)
    svd = thin_svd(moments) if d > moments.n else svd_of_rows(moments)
    if svd.rank == 0:
        return np.zeros(1), np.eye(1, d)
    order = np.argsort(-svd.singular_values, kind="stable")
    return svd.singular_values[order] ** 2, linalg.signed(svd.apply_right(np.eye(svd.rank)[:, order]))


def svd_of_rows(moments: Moments) -> linalg.Spectral:
    """X = U diag(s) Vᵀ of the rows less their origin, made dense: the most accurate in small singular values.

    Computed once. Cost: 6nd·min(n, d).
    """

    def compute() -> linalg.Spectral:
        X, origin = moments.rows()[0], moments.origin
        rows = sums.dense(X) - origin
        # what rounding leaves of a dependent feature is relative to its offset, too; a constant one leaves exact zeros
        offset = float(np.sqrt(len(rows)) * np.linalg.norm(origin[rows.any(axis=0)]))
        if moments.centred:
            rows -= rows.mean(axis=0)
        return linalg.Spectral.of_rows(rows, offset)

    return moments.memo.get("svd of rows", compute)


def thin_svd(moments: Moments) -> linalg.Spectral:
    """The same for d > n; from XXᵀ where X is sparse and that tells the rank: n² inner products of rows and 9n³."""
    return moments.memo.get("thin svd", lambda: _thin_svd(moments))


def _thin_svd(moments: Moments) -> linalg.Spectral:
    if sp.issparse(moments.rows()[0]):
        with contextlib.suppress(linalg.IllConditioned):
            return linalg.Spectral.of_outer(*outer_products(moments), clear=True)
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
