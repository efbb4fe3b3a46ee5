"""Linear regression without some rows, computed from all rows: those left out are predicted without a fit to the
others.

With H the hat matrix of [1, X] over all rows (of a ridge regression too, the intercept free), R = Y − HY
and T the rows held out, the regression on the other rows has residuals B on T and, on the other rows themselves,
residual scatter E:

    B = (I − H_TT)⁻¹R_T,    E = Yᵀ(I − H)Y − R_TᵀB,    so ZᵀHZ of the training rows is ZᵀZ − E

(`left_out`). H_TT = Q_TQ_Tᵀ, with Q (n×(d+1)) made once for the data set. A split costs |T|²d + |T|³/3, and nothing of
the size of its training set or of d×d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.linalg import Cholesky, IllConditioned, PivotedCholesky, random_signs
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import centred_blocks, dense

Array = NDArray[np.float64]

# Q of more entries than this is not kept: a split's training rows are fitted then.
_ENTRIES = 2e7
# With I − H_TT nearer to singular than this, the training rows may have lost a dimension, and are fitted.
_LOST = 1e-6
_ORTHONORMAL = 1e-12


@dataclass(frozen=True)
class LeftOut:
    """The linear regression on the training rows, for m rows left out.

    Attributes
    ----------
    deviations : array of shape (m, K)
        f(x) − ȳ for the rows left out, in the order in which they were named; ȳ the mean labels of the training rows.
    explained : array of shape (K, K)
        ZᵀHZ of the training rows, Z = Y − ȳ.
    """

    deviations: Array
    explained: Array


@dataclass(frozen=True)
class _Whole:
    """The regression on all rows: Q (n×(d+1)) with H = QQᵀ, R = Y − HY (n×K), and Yᵀ(I − H)Y (K×K)."""

    basis: Array
    residuals: Array
    unexplained: Array


def left_out(moments: Moments, ridge: float = 0.0) -> LeftOut | None:
    """The regression on the rows of `moments`, for those that `Moments.without` took away: see the module.

    None where a fit to the training rows is less work, or must decide: more rows are left out than there are features,
    Q would be too large, the whole set has no more rows than features or no clear rank, or the training rows have not
    the rank of all rows (for least squares; a leverage of 1).
    """
    if moments.labels is not moments:
        return None
    found: LeftOut | None = moments.once(("left out", ridge), lambda: _leave_out(moments, ridge))
    return found


def predict_left_out(moments: Moments, ridge: float = 0.0) -> Array | None:
    """What the regression predicts for the rows that were left out (m×q), of labels or codes; None as in `left_out`."""
    labels, matrix = moments.source()
    found = left_out(labels, ridge)
    if found is None:
        return None
    return moments.mean_y + (found.deviations if matrix is None else found.deviations @ matrix)


def _leave_out(moments: Moments, ridge: float) -> LeftOut | None:
    whole, left = moments.part_of, moments.left
    if whole is None or left is None or whole.part_of is not None:
        return None
    n, d = whole.n, whole.n_features
    if not len(left) < d < n or n * (d + whole.n_labels) > _ENTRIES:
        return None
    of_all: _Whole | None = whole.memo.get(("hat matrix", ridge), lambda: _fit_all(whole, ridge))
    if of_all is None:
        return None
    basis, residuals = of_all.basis[left], of_all.residuals[left]
    rest = blas.dsyrk(-1.0, basis.T, trans=1, lower=1)
    rest[np.diag_indices_from(rest)] += 1.0
    lower, info = lapack.dpotrf(rest, lower=1, overwrite_a=1, clean=0)
    # the 1-norm of I − H_TT is given as 1, which it exceeds by √m at most
    if info or lapack.dpocon(lower, 1.0, uplo="L")[0] < _LOST:
        return None
    half = blas.dtrsm(1.0, lower, residuals, lower=1)
    missed = blas.dtrsm(1.0, lower, half, lower=1, trans_a=1)
    explained = moments.yy - of_all.unexplained + half.T @ half
    deviations = dense(whole.rows()[1][left]) - missed - moments.mean_y
    constant = np.diag(moments.yy) == 0
    deviations[:, constant] = explained[:, constant] = explained[constant] = 0.0
    return LeftOut(deviations, explained)


def _fit_all(whole: Moments, ridge: float) -> _Whole | None:
    try:
        found = factor(whole, ridge)
    except IllConditioned:
        return None
    if not isinstance(found, Cholesky | PivotedCholesky):
        return None
    X, Y = whole.rows()
    # Qᵀ is what a factorisation makes of Xᵀ, as it makes QᵀZ of XᵀZ
    inner = np.vstack([found.whiten(block.T, None).T for block in centred_blocks(X, whole.mean_x)])
    live = inner.any(axis=0)  # not those of constant features
    inner = inner if live.all() else np.ascontiguousarray(inner[:, live])
    if ridge == 0:
        orthonormal = _orthonormal(inner)
        if orthonormal is None:
            return None
        inner = orthonormal
    basis = np.column_stack([inner, np.full(whole.n, whole.n**-0.5)])
    labels = dense(Y)
    residuals = labels - basis @ (basis.T @ labels)
    unexplained = labels.T @ residuals
    return _Whole(basis, residuals, (unexplained + unexplained.T) / 2)


def _orthonormal(basis: Array) -> Array | None:
    """A basis with the same range, orthonormal to rounding: Q of an ill-conditioned X is not (Yamamoto et al. 2015).

    None where the columns of the first one are dependent to rounding.
    """
    probe = random_signs(basis.shape[1])
    if np.abs(basis.T @ (basis @ probe) - probe).max() <= _ORTHONORMAL * len(probe):
        return basis
    lower, info = lapack.dpotrf(blas.dsyrk(1.0, basis.T, lower=1), lower=1, overwrite_a=1)
    if info:
        return None
    return np.ascontiguousarray(blas.dtrsm(1.0, lower, basis.T, lower=1).T)
