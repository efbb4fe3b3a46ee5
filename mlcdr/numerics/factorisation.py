"""The factorisation of S + αI that fits the shape and rank of the data; chosen here and nowhere else.

S itself is factorised where d ≤ n, the n×n side where d > n, and the rows themselves where rounding hides the rank in
either. By the rule of R's `lm` (`in_file_order`) features that depend on those before them are left out instead.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import file_order, linalg, sums
from mlcdr.numerics.memo import Memo

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Scatter(Protocol):
    """What there is to factorise: `mlcdr.numerics.moments.Moments`, which says what each of these is."""

    @property
    def n(self) -> int:
        """Rows."""

    @property
    def n_features(self) -> int:
        """D."""

    @property
    def mean_x(self) -> Array:
        """X̄ (d,)."""

    @property
    def centred(self) -> bool:
        """Whether S is about x̄, or about 0."""

    @property
    def origin(self) -> Array:
        """X̄ or 0 (d,)."""

    @property
    def xx_lower(self) -> Array:
        """S (d×d), of which only the lower triangle is defined."""

    @property
    def variances(self) -> Array | None:
        """The diagonal of S, where S is diagonal."""

    @property
    def part_of(self) -> Scatter | None:
        """The larger set of rows these were taken from."""

    @property
    def memo(self) -> Memo:
        """Where what is dear is kept."""

    @property
    def has_rows(self) -> bool:
        """Whether the rows are at hand."""

    def rows(self) -> tuple[Any, Any]:
        """The rows, X (n×d) first."""

    def svd_of_rows(self) -> linalg.Spectral:
        """That of the rows made dense, less their origin."""

    def factor(self, ridge: float = 0.0) -> linalg.Factor:
        """`factorise`, kept."""

    def basic_factor(self) -> linalg.Factor:
        """`in_file_order`, kept."""


# -------------------------------------------------------------------- minimum norm


def factorise(of: Scatter, ridge: float) -> linalg.Factor:
    """That of S + αI, whose solutions have the minimum norm.

    Raises
    ------
    linalg.IllConditioned
        When the rank cannot be told from S and the rows are not at hand.
    """
    if of.variances is not None:
        return linalg.Diagonal.of(of.variances, ridge)
    try:
        if of.n_features > of.n and of.has_rows:
            return _dual(of, ridge)
        try:
            return linalg.Cholesky.of(of.xx_lower, ridge, _dependent(of) if ridge == 0 else None)
        except linalg.IllConditioned:
            if ridge > 0:
                raise
            return _confirmed(of, linalg.PivotedCholesky.of(of.xx_lower))
    except linalg.IllConditioned:
        if not of.has_rows:
            raise
    return of.svd_of_rows().with_ridge(ridge)


def _confirmed(of: Scatter, factor: linalg.PivotedCholesky) -> linalg.PivotedCholesky:
    """The factorisation, once the rows have confirmed which features depend on others (if they are at hand)."""
    if of.has_rows and not linalg.confirmed(_residual(of, factor.probe), np.sqrt(len(factor.dependent))):
        raise linalg.IllConditioned("the rows do not confirm the rank of the Gram matrix")
    return factor


def _residual(of: Scatter, directions: Array) -> Array:
    """The rows, less their mean, in these directions (n×m)."""
    return of.rows()[0] @ directions - of.origin @ directions


def _dependent(of: Scatter) -> Index | None:
    """Features known beforehand to depend on others: those that do in the larger set these rows are a part of."""
    if of.part_of is None:
        return None
    whole = of.part_of.factor()
    if isinstance(whole, linalg.PivotedCholesky) and len(whole.dependent) < whole.rank:
        return whole.dependent
    return None


def _dual(of: Scatter, ridge: float) -> linalg.Factor:
    X, _ = of.rows()
    mean = of.origin
    outer = sums.outer(X, mean)
    raw = sums.squares(X)
    # taking the mean off XXᵀ leaves rounding of the size of the raw rows: it must be small beside what is left
    largest, raw_largest = np.max(np.diag(outer)), float((X * X).sum(axis=1).max())
    if sp.issparse(X) and largest < 1e-3 * raw_largest:
        raise linalg.IllConditioned("centring cancels too much of the matrix of inner products")

    def transpose_apply(a: Array) -> Array:
        return X.T @ a - np.outer(mean, a.sum(axis=0))

    if ridge > 0:
        spectral = of.memo.get("spectral", lambda: linalg.Spectral.of_outer(outer, transpose_apply))
        # eigenvalues of XXᵀ are known to about n·ε of the largest; the ridge must drown that
        if ridge < 1e-9 * np.max(spectral.singular_values, initial=0.0) ** 2:
            raise linalg.IllConditioned("the ridge is too small for the matrix of inner products")
        return spectral.with_ridge(ridge)
    factor = linalg.Dual.of(outer, transpose_apply)
    # each feature (but for those nearly constant), at unit size, must lie in the range that was found
    squares = raw - of.n * mean * (2 * of.mean_x - mean)
    sizes = np.sqrt(np.where((raw > 0) & (squares > 1e-10 * raw), squares, np.inf))
    probe = linalg.random_signs(of.n_features) / sizes[:, None]
    image = X @ probe - mean @ probe
    if not linalg.confirmed(image - factor.basis @ (factor.basis.T @ image), float(np.linalg.norm(image))):
        raise linalg.IllConditioned("the rows do not confirm the rank of the matrix of inner products")
    return factor


# -------------------------------------------------------------------- in file order


def in_file_order(of: Scatter) -> linalg.Factor:
    """That of S by the rule of R's `lm`: features that depend on those before them are left out.

    Where S shows clearly which do, a Cholesky factorisation of the others decides, of which that of the larger set of
    rows that these are a part of may be known beforehand; elsewhere a QR factorisation of the rows (see
    `numerics.file_order`).

    Raises
    ------
    ValueError
        When S is not centred, or the rows are needed and not at hand.
    """
    if not of.centred:
        raise ValueError("the intercept comes first: features must be centred")
    if of.variances is not None:  # uncorrelated features: only the intercept can explain one
        sizes = of.variances + of.n * of.mean_x**2
        kept = of.variances > file_order.TOLERANCE**2 * sizes
        return linalg.Diagonal.of(np.where(kept, of.variances, 0.0))
    # beyond that the Gram matrix is larger than the rows by far
    if of.n_features <= 4 * of.n or not of.has_rows:
        with contextlib.suppress(linalg.IllConditioned):
            factor = file_order.FileOrderCholesky.of(of.xx_lower, np.diag(of.xx_lower), _sizes(of), known_aliased(of))
            if not len(factor.aliased) or linalg.confirmed(_residual(of, factor.probe()), np.sqrt(len(factor.aliased))):
                return factor
    return _of_rows(of)


def _of_rows(of: Scatter) -> file_order.FileOrder:
    X = of.rows()[0]
    by_columns = sp.csc_array(X) if sp.issparse(X) else X

    def columns(start: int, stop: int) -> Array:
        block = sums.dense(by_columns[:, start:stop]) - of.mean_x[start:stop]
        return block - block.mean(axis=0)

    return file_order.FileOrder.of_columns(columns, of.n, np.sqrt(sums.squares(X)))


def _sizes(of: Scatter) -> Array:
    """Σx² of each feature."""
    return np.diag(of.xx_lower) + of.n * of.mean_x**2


def known_aliased(of: Scatter) -> Index:
    """Features known beforehand to be aliased: those that are in the larger set these rows are a part of.

    What the features before it leave of one is no larger in a part of the rows. There it was less than 1e-8 of its
    norm, so it is less than 1e-7 here, unless little of the feature itself is left.
    """
    whole = of.part_of
    if whole is None:
        return np.zeros(0, dtype=np.intp)
    known = whole.memo.get("aliased", lambda: _clearly_aliased(whole))
    return known[_sizes(of)[known] >= 0.1 * _sizes(whole)[known]]


def _clearly_aliased(of: Scatter) -> Index:
    """Features of which the intercept and those before them leave next to nothing."""
    factor = of.basic_factor()
    if isinstance(factor, file_order.FileOrder):
        return np.flatnonzero(factor.left < 1e-2 * file_order.TOLERANCE)
    if isinstance(factor, file_order.FileOrderCholesky):
        return np.union1d(known_aliased(of), factor.aliased)
    return np.zeros(0, dtype=np.intp)
