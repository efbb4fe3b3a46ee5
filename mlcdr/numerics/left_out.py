"""Linear regression without some rows, computed from all rows: those left out are predicted without a fit to the
others.

With H the hat matrix of [1, X] over all rows (of a ridge regression too, the intercept free), N = I − H, R = NY and T
the m rows held out, the regression on the other rows has residuals B on T and, on the other rows themselves, residual
scatter E:

    N_TT B = R_T,    E = YᵀNY − R_TᵀB,    so ZᵀHZ of the training rows is ZᵀZ − E

(`left_out`). Where n > d, N_TT = I − Q_TQ_Tᵀ, with Q (n×(d+1)) made once for the data set. A split costs m²d + m³/3,
and nothing of the size of its training set or of d×d.

Where d ≥ n, N itself (n×n) is made once. The training rows often have a smaller rank then: N_TT is singular, and many
B solve the first equation. The shortest coefficients, the limit for a ridge α → 0, have the one for which in addition

    UᵀGB = UᵀGY,    the columns of U (n×z, 0 outside T) a basis of N_TT's null space, G = (XXᵀ)⁺, X centred.

For with a ridge N becomes N + αG − α²G² + …, and of N_TT B = R_T the order 1 and, along U, the order α must hold. A
split costs 9m³.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.linalg import Cholesky, IllConditioned, PivotedCholesky, random_signs
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.row_axes import svd_of_rows, thin_svd
from mlcdr.numerics.sums import centred_blocks, dense

Array = NDArray[np.float64]

# Q or N of more entries than this is not kept: a split's training rows are fitted then.
_ENTRIES = 2e7
# With N_TT nearer to singular than this, the training rows may have lost a dimension.
_LOST = 1e-6
# They have, by as many as N_TT has eigenvalues that are 0 but for rounding; where one lies between, they are fitted.
_NOTHING = 1e-10
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
    """The regression on all rows.

    Attributes
    ----------
    basis : array of shape (n, d + 1) or None
        Q with H = QQᵀ, where n > d.
    residual_maker : array of shape (n, n) or None
        N = I − H, where d ≥ n.
    inverse : array of shape (n, n) or None
        G = (XXᵀ)⁺, where d ≥ n and α = 0.
    inverse_labels : array of shape (n, K) or None
        GY.
    inverse_size : float
        ‖G‖; 0 without it.
    residuals : array of shape (n, K)
        R = NY.
    unexplained : array of shape (K, K)
        YᵀNY.
    """

    basis: Array | None
    residual_maker: Array | None
    inverse: Array | None
    inverse_labels: Array | None
    inverse_size: float
    residuals: Array
    unexplained: Array

    @classmethod
    def of_basis(cls, basis: Array, labels: Array) -> _Whole:
        """From Q and Y (n×K)."""
        residuals = labels - basis @ (basis.T @ labels)
        return cls(basis, None, None, None, 0.0, residuals, _symmetric(labels.T @ residuals))

    @classmethod
    def of_residual_maker(cls, residual_maker: Array, inverse: Array | None, size: float, labels: Array) -> _Whole:
        """From N, G and its size, and Y (n×K)."""
        residuals = residual_maker @ labels
        inverse_labels = None if inverse is None else inverse @ labels
        return cls(None, residual_maker, inverse, inverse_labels, size, residuals, _symmetric(labels.T @ residuals))

    def among(self, left: NDArray[np.intp]) -> Array:
        """N_TT (m×m), its lower triangle."""
        if self.residual_maker is not None:
            return np.asfortranarray(self.residual_maker[np.ix_(left, left)])
        assert self.basis is not None
        rest = blas.dsyrk(-1.0, self.basis[left].T, trans=1, lower=1)
        rest[np.diag_indices_from(rest)] += 1.0
        return rest


def left_out(moments: Moments, ridge: float = 0.0) -> LeftOut | None:
    """The regression on the rows of `moments`, for those that `Moments.without` took away: see the module.

    None where a fit to the training rows is less work, or must decide: more rows are left out than there are features,
    or than a quarter of all rows where d ≥ n; Q or N would be too large; the whole set has no clear rank; or it is
    not clear whether the training rows have it, too (for least squares; a leverage of nearly 1).
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
    most, entries = (d - 1, n * (d + whole.n_labels)) if d < n else (n // 4, n * n)
    if len(left) > most or entries > _ENTRIES:
        return None
    of_all: _Whole | None = whole.memo.get(("hat matrix", ridge), lambda: _fit_all(whole, ridge))
    if of_all is None:
        return None
    found = _solve(of_all, left)
    if found is None:
        return None
    missed, gone = found
    explained = moments.yy - of_all.unexplained + gone
    deviations = dense(whole.rows()[1][left]) - missed - moments.mean_y
    constant = np.diag(moments.yy) == 0
    deviations[:, constant] = explained[:, constant] = explained[constant] = 0.0
    return LeftOut(deviations, explained)


def _solve(of_all: _Whole, left: NDArray[np.intp]) -> tuple[Array, Array] | None:
    """B (m×K) and R_TᵀB (K×K); None where it is not clear whether the training rows lose a dimension."""
    rest, residuals = of_all.among(left), of_all.residuals[left]
    lower, info = lapack.dpotrf(rest, lower=1, clean=0)
    # the 1-norm of N_TT is given as 1, which it exceeds by √m at most
    if not info and lapack.dpocon(lower, 1.0, uplo="L")[0] >= _LOST:
        half = blas.dtrsm(1.0, lower, residuals, lower=1)
        return blas.dtrsm(1.0, lower, half, lower=1, trans_a=1), half.T @ half
    if of_all.inverse is None or of_all.inverse_labels is None:
        return None
    values, vectors = scipy.linalg.eigh(rest, check_finite=False)
    lost = int(np.searchsorted(values, _NOTHING))
    if lost == 0 or (lost < len(values) and values[lost] < _LOST):
        return None
    null, range_ = vectors[:, :lost], vectors[:, lost:]
    along = range_.T @ residuals
    shrunk = along / values[lost:, None]
    missed = range_ @ shrunk
    inner = of_all.inverse[np.ix_(left, left)]
    wanted = null.T @ (of_all.inverse_labels[left] - inner @ missed)
    core = null.T @ inner @ null
    # a direction far larger than the least one is lost: of G's entries nothing but rounding is left along it
    if scipy.linalg.eigvalsh(core, check_finite=False)[0] < _LOST * of_all.inverse_size:
        return None
    missed += null @ scipy.linalg.solve(core, wanted, assume_a="pos", check_finite=False)
    return missed, along.T @ shrunk


def _fit_all(whole: Moments, ridge: float) -> _Whole | None:
    if not whole.spread().any():  # a fit gives exact zeros
        return None
    labels = dense(whole.rows()[1])
    if whole.n_features >= whole.n:
        return _fit_wide(whole, ridge, labels)
    try:
        found = factor(whole, ridge)
    except IllConditioned:
        return None
    if not isinstance(found, Cholesky | PivotedCholesky):
        return None
    basis = _basis(whole, found, ridge)
    return None if basis is None else _Whole.of_basis(basis, labels)


def _fit_wide(whole: Moments, ridge: float, labels: Array) -> _Whole:
    # from the rows themselves, as long as they may be made dense: XXᵀ squares the condition number
    found = svd_of_rows(whole) if whole.n * whole.n_features <= _ENTRIES else thin_svd(whole)
    left, squares = found.left, found.singular_values**2
    residual_maker = np.eye(whole.n) - (left * (squares / (squares + ridge))) @ left.T - 1 / whole.n
    if ridge > 0:
        return _Whole.of_residual_maker(residual_maker, None, 0.0, labels)
    return _Whole.of_residual_maker(residual_maker, (left / squares) @ left.T, 1 / squares.min(), labels)


def _basis(whole: Moments, found: Cholesky | PivotedCholesky, ridge: float) -> Array | None:
    """Q (n×(d+1), without columns that are 0); None where it is not orthonormal, and cannot be made so."""
    basis = np.zeros((0, 0))
    start = 0
    # Qᵀ is what a factorisation makes of Xᵀ, as it makes QᵀZ of XᵀZ
    for block in centred_blocks(whole.rows()[0], whole.mean_x):
        part = found.whiten(block.T, None).T
        if not len(basis):
            basis = np.empty((whole.n, part.shape[1] + 1))
            basis[:, -1] = whole.n**-0.5
        basis[start : start + len(part), :-1] = part
        start += len(part)
    live = basis.any(axis=0)  # not those of constant features
    if not live.all():
        basis = np.ascontiguousarray(basis[:, live])
    if ridge == 0:
        inner = basis[:, :-1]
        orthonormal = _orthonormal(inner)
        if orthonormal is None:
            return None
        if orthonormal is not inner:
            inner[:] = orthonormal
    return basis


def _symmetric(square: Array) -> Array:
    """What rounding has left unsymmetric, made symmetric."""
    return (square + square.T) / 2


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
