"""The factorisation of S + αI that fits the shape and rank of the data; chosen here and nowhere else.

S itself is factorised where d ≤ n, the n×n side where d > n, and the rows themselves where rounding hides the rank in
either. By the rule of R's `lm` (`basic_factor`) features that depend on those before them are left out instead.
"""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import file_order, linalg, row_axes, sums
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# -------------------------------------------------------------------- minimum norm


def factor(moments: Moments, ridge: float = 0.0) -> linalg.Factor:
    """The factorisation of S + αI with minimum-norm solutions; computed once.

    Raises
    ------
    linalg.IllConditioned
        When the rank cannot be told from S and the rows are not at hand.
    """
    return moments.memo.get(("factor", ridge), lambda: _factorise(moments, ridge))


def rank(moments: Moments) -> int:
    """The rank of the centred features, by the rule of `linalg.rounding_of_unit_columns`.

    Where S does not tell it and the rows are not at hand, what S knows: `linalg.scatter_rank`.
    """
    try:
        return factor(moments.labels).rank
    except linalg.IllConditioned:
        return linalg.scatter_rank(moments.xx_lower)


def _factorise(moments: Moments, ridge: float) -> linalg.Factor:
    if moments.variances is not None:
        return linalg.Diagonal.factorise(moments.variances, ridge)
    try:
        if moments.n_features > moments.n and moments.has_rows:
            return _dual(moments, ridge)
        try:
            return linalg.Cholesky.factorise(moments.xx_lower, ridge, _dependent(moments) if ridge == 0 else None)
        except linalg.IllConditioned:
            if ridge > 0:
                raise
            return _confirmed(moments, linalg.PivotedCholesky.factorise(moments.xx_lower))
    except linalg.IllConditioned:
        if not moments.has_rows:
            raise
    return row_axes.svd_of_rows(moments).with_ridge(ridge)


def _confirmed(moments: Moments, found: linalg.PivotedCholesky) -> linalg.PivotedCholesky:
    """The factorisation, once the rows have confirmed which features depend on others (if they are at hand)."""
    if moments.has_rows and not linalg.confirmed(_residual(moments, found.probe), np.sqrt(len(found.dependent))):
        raise linalg.IllConditioned("the rows do not confirm the rank of the Gram matrix")
    return found


def _residual(moments: Moments, directions: Array) -> Array:
    """The rows, less their mean, in these directions (n×m)."""
    return moments.rows()[0] @ directions - moments.origin @ directions


def _dependent(moments: Moments) -> Index | None:
    """Features known beforehand to depend on others: those that do in the larger set these rows are a part of."""
    if moments.part_of is None:
        return None
    whole = factor(moments.part_of)
    if isinstance(whole, linalg.PivotedCholesky) and len(whole.dependent) < whole.rank:
        return whole.dependent
    return None


def _dual(moments: Moments, ridge: float) -> linalg.Factor:
    outer, transpose_apply = row_axes.outer_products(moments)
    if ridge > 0:
        spectral = moments.memo.get("spectral", lambda: linalg.Spectral.of_outer(outer, transpose_apply))
        # eigenvalues of XXᵀ are known to about n·ε of the largest; the ridge must drown that
        if ridge < 1e-9 * np.max(spectral.singular_values, initial=0.0) ** 2:
            raise linalg.IllConditioned("the ridge is too small for the matrix of inner products")
        return spectral.with_ridge(ridge)
    found = linalg.Dual.factorise(outer, transpose_apply)
    row_axes.confirm_range(moments, found.project)
    return found


# -------------------------------------------------------------------- in file order


def basic_factor(moments: Moments) -> linalg.Factor:
    """The factorisation of S by the rule of R's `lm`: features that depend on those before them are left out; computed
    once.

    Where S shows clearly which do (those of the larger set that these rows are a part of may be known beforehand), it
    is a Cholesky factorisation for the others; elsewhere a QR factorisation of the rows (see `numerics.file_order`).

    Raises
    ------
    ValueError
        When S is not centred, or the rows are needed and not at hand.
    """
    return moments.memo.get("basic factor", lambda: _factorise_in_file_order(moments))


def _factorise_in_file_order(moments: Moments) -> linalg.Factor:
    if not moments.centred:
        raise ValueError("the intercept comes first: features must be centred")
    if moments.variances is not None:  # uncorrelated features: only the intercept can explain one
        sizes = moments.variances + moments.n * moments.mean_x**2
        kept = moments.variances > file_order.TOLERANCE**2 * sizes
        return linalg.Diagonal.factorise(np.where(kept, moments.variances, 0.0))
    # beyond that the Gram matrix is larger than the rows by far
    if moments.n_features <= 4 * moments.n or not moments.has_rows:
        with contextlib.suppress(linalg.IllConditioned):
            lower, known = moments.xx_lower, known_aliased(moments)
            found = file_order.FileOrderCholesky.factorise(lower, np.diag(lower), _sizes(moments), known)
            size = np.sqrt(len(found.aliased))
            if not size or linalg.confirmed(_residual(moments, found.probe()), size):
                return found
    return _of_rows(moments)


def _of_rows(moments: Moments) -> file_order.FileOrder:
    X = moments.rows()[0]
    by_columns = sp.csc_array(X) if sp.issparse(X) else X

    def columns(start: int, stop: int) -> Array:
        block = sums.dense(by_columns[:, start:stop]) - moments.mean_x[start:stop]
        return block - block.mean(axis=0)

    return file_order.FileOrder.of_columns(columns, moments.n, np.sqrt(sums.squares(X)))


def _sizes(moments: Moments) -> Array:
    """Σx² of each feature."""
    return np.diag(moments.xx_lower) + moments.n * moments.mean_x**2


def known_aliased(moments: Moments) -> Index:
    """Features known beforehand to be aliased: those that are in the larger set these rows are a part of.

    The residual of a feature given those before it is no larger on a part of the rows. On the larger set it was below
    1e-8 of the feature's norm, so here it is below 1e-7, unless the feature's norm is much smaller here.
    """
    whole = moments.part_of
    if whole is None:
        return np.zeros(0, dtype=np.intp)
    known = whole.memo.get("aliased", lambda: _clearly_aliased(whole))
    return known[_sizes(moments)[known] >= 0.1 * _sizes(whole)[known]]


def _clearly_aliased(moments: Moments) -> Index:
    """Features whose residual given the intercept and the features before them is next to 0."""
    found = basic_factor(moments)
    if isinstance(found, file_order.FileOrder):
        return np.flatnonzero(found.left < 1e-2 * file_order.TOLERANCE)
    if isinstance(found, file_order.FileOrderCholesky):
        return np.union1d(known_aliased(moments), found.aliased)
    return np.zeros(0, dtype=np.intp)
