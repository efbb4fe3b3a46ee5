"""Regression on the rows outside a fold, seen from all rows: what is held out is predicted without a fit to the others.

**Linear.** With H the hat matrix of [1, X] over all rows (of a ridge regression too, the intercept free), R = Y − HY
and T the rows held out, the regression on the others misses their labels by B, and leaves E of their scatter:

    B = (I − H_TT)⁻¹R_T,    E = Yᵀ(I − H)Y − R_TᵀB,    so ZᵀHZ of the training rows is ZᵀZ − E

(`left_out`). H_TT = Q_TQ_Tᵀ, with Q (n×(d+1)) made once for the data set. A split costs |T|²d + |T|³/3, and nothing of
the size of its training set or of d×d.

**Kernels.** With K = U diag(w) Uᵀ (n×n) of all rows, δ = 1/(w + α), Q = (K + αI)⁻¹ = U diag(δ) Uᵀ and A = QY, the
regression on the rows outside a fold J misses the fold's labels by

    B = Q_JJ⁻¹ A_J,    and its coefficients are    A − Q_·J B,    which are 0 on J

(block inversion; for folds of one row the well-known leave-one-out formula). The targets of a fold are centred by its
own training rows, so a column of ones goes with Y, and the result for Y − 1ȳᵀ follows from that for [Y, 1].
Nothing of the size of a fold's training set is factorised: a fold costs n|J|(|J| + 4K) for each α. For many α the
decomposition comes first, about 9n³ once; for few, Q comes from a Cholesky factorisation, n³ for each α.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.kernels import Decomposition, KernelRegression, explained_scatter
from mlcdr.numerics.linalg import Cholesky, IllConditioned, PivotedCholesky, random_signs
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import centred_blocks, dense

Array = NDArray[np.float64]

# With an α smaller than this beside tr K ≥ ‖K‖, Q is too inaccurate: each fold's own kernel matrix is decomposed.
_SMALL = 1e-10
_FEW = 6  # up to so many values of α, inverting K + αI for each is quicker than decomposing K

# Q of more entries than this is not kept: a split's training rows are fitted then.
_ENTRIES = 2e7
# With I − H_TT nearer to singular than this, the training rows may have lost a dimension, and are fitted.
_LOST = 1e-6
_ORTHONORMAL = 1e-12


@dataclass(frozen=True)
class LeftOut:
    """The linear regression on the rows that are left to train on, of m rows left out.

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


@dataclass(frozen=True)
class HeldOut:
    """The regression on the rows outside a fold J: predictions for the rows in it, and scatters of the training rows.

    Attributes
    ----------
    alpha : float
        α.
    fold : int
        Number of the fold.
    rows : array of shape (m,)
        J.
    n_training : int
        Number of training rows.
    mean : array of shape (K,)
        ȳ, the mean labels of the training rows.
    deviations : array of shape (m, K)
        f(x) − ȳ for the rows in J: the code predicted with directions V (M×K) is `deviations @ V.T`.
    scatter : array of shape (K, K)
        ZᵀZ, Z = Y − ȳ of the training rows: PLST takes its eigenvectors.
    explained : array of shape (K, K)
        ZᵀF + FᵀZ − FᵀF, F what the regression fits of Z: kernel-CPLST takes its eigenvectors, and kernel OCCA those of
        `explained - scatter`.
    """

    alpha: float
    fold: int
    rows: NDArray[np.intp]
    n_training: int
    mean: Array
    deviations: Array
    scatter: Array
    explained: Array

    def training(self, regression: KernelRegression) -> Moments:
        """The training rows as label spaces use them: ȳ, ZᵀZ, and what `regression`, of this kernel and α, explains.

        PLST, kernel-CPLST and others that need no more can be fitted to them as in an experiment. They have no moments
        of the features: using these is a ValueError.
        """

        def refuse() -> Array:
            raise ValueError("held-out scores of a kernel have no moments of the features")

        moments = Moments(
            self.n_training, np.zeros(0), self.mean, refuse, refuse, lambda: self.scatter, memo=Memo(charged=False)
        )
        regression.keep_explained(moments, self.explained)
        return moments

    def scores(self, directions: Array) -> Iterator[Array]:
        """Scores ȳ + (f(x) − ȳ)VᵀV (m×K) with the first 1, 2, … of orthonormal directions V (M×K); copy to keep one."""
        result = np.tile(self.mean, (len(self.rows), 1))
        for code, direction in zip((self.deviations @ directions.T).T, directions, strict=True):
            result += np.outer(code, direction)
            yield result


def held_out(matrix: Array, Y: Any, folds: Sequence[NDArray[np.intp]], alphas: Sequence[float]) -> Iterator[HeldOut]:
    """Every fold left out in turn, for every α: all folds of the first α, then those of the second, …

    Parameters
    ----------
    matrix : array of shape (n, n)
        K of all rows, of which the lower triangle is read.
    Y : array or CSR of shape (n, K)
        Labels.
    folds : sequence of arrays of int
        The rows of each fold J; it is trained on all others.
    alphas : sequence of float
        α > 0.

    Raises
    ------
    ValueError
        When a fold is empty, names a row twice or leaves none to train on, or K + αI is not positive definite.
    """
    Y = dense(Y)
    n = len(Y)
    folds = [np.asarray(fold, dtype=np.intp) for fold in folds]
    for i, fold in enumerate(folds):
        if not 0 < len(fold) < n or len(np.unique(fold)) != len(fold):
            raise ValueError(f"fold {i} must hold some of the {n} rows, each once, and leave some to train on")
    if any(not alpha > 0 for alpha in alphas):
        raise ValueError(f"alpha must be positive, found {min(alphas)}")
    ones = np.column_stack([Y, np.ones(n)])
    trace = float(np.sum(np.abs(np.diag(matrix))))
    large = [alpha for alpha in alphas if alpha >= _SMALL * trace]
    whole = _Decomposed.decompose(matrix, ones, folds) if len(large) > _FEW else _Inverted(matrix, ones, folds)
    for alpha in alphas:
        if alpha < _SMALL * trace:
            for i, fold in enumerate(folds):
                yield _fit_directly(matrix, Y, fold, alpha, i)
            continue
        for i, (fold, (missed, coefficients)) in enumerate(zip(folds, whole.by_fold(alpha), strict=True)):
            mean, scatter = _centre(Y, fold)
            own = coefficients[:, :-1] - np.outer(coefficients[:, -1], mean)
            deviations = Y[fold] - missed[:, :-1] - np.outer(1 - missed[:, -1], mean)
            # Z − F is α times the coefficients: what is not explained
            found = scatter - alpha**2 * (own.T @ own)
            yield HeldOut(alpha, i, fold, n - len(fold), mean, deviations, scatter, found)


@dataclass(frozen=True)
class _Decomposed:
    """Q by the eigendecomposition of K: for each α, the diagonal of Q in the basis U, and nothing more."""

    whole: Decomposition
    targets: Array  # Uᵀ[Y, 1]
    parts: list[Array]  # the rows of U that are a fold's

    @classmethod
    def decompose(cls, matrix: Array, ones: Array, folds: Sequence[NDArray[np.intp]]) -> _Decomposed:
        whole = Decomposition.decompose(np.array(matrix, order="F"))
        return cls(whole, whole.vectors.T @ ones, [whole.vectors[fold] for fold in folds])

    def by_fold(self, alpha: float) -> Iterator[tuple[Array, Array]]:
        """B, and the coefficients in the basis U, where their inner products are the same."""
        delta = self.whole.inverse(alpha)
        for part in self.parts:
            root = part * np.sqrt(delta)
            missed = _solve(root @ root.T, part @ (delta[:, None] * self.targets), alpha)
            yield missed, delta[:, None] * (self.targets - part.T @ missed)


@dataclass(frozen=True)
class _Inverted:
    """Q by a Cholesky factorisation and inversion of K + αI for each α."""

    matrix: Array
    ones: Array
    folds: list[NDArray[np.intp]]

    def by_fold(self, alpha: float) -> Iterator[tuple[Array, Array]]:
        """B, and the coefficients."""
        inverse = np.array(self.matrix, order="F")
        inverse[np.diag_indices_from(inverse)] += alpha
        inverse, info = lapack.dpotrf(inverse, lower=1, overwrite_a=1)
        if not info:
            inverse, info = lapack.dpotri(inverse, lower=1, overwrite_c=1)
        if info:
            raise ValueError(f"K + αI is not positive definite for alpha = {alpha:.3g}: take a larger alpha")
        diagonal = np.diag(inverse).copy()
        inverse += inverse.T  # the upper triangle was 0
        np.fill_diagonal(inverse, diagonal)
        coefficients = inverse @ self.ones
        for fold in self.folds:
            missed = _solve(inverse[np.ix_(fold, fold)], coefficients[fold], alpha)
            yield missed, coefficients - inverse[:, fold] @ missed


def _solve(matrix: Array, right: Array, alpha: float) -> Array:
    """B = Q_JJ⁻¹A_J."""
    _, solution, info = lapack.dposv(matrix, right, lower=1)
    if info:
        raise ValueError(f"K + αI is not positive definite beyond rounding for alpha = {alpha:.3g}")
    return solution


def _centre(Y: Array, fold: NDArray[np.intp]) -> tuple[Array, Array]:
    """ȳ and ZᵀZ of the rows outside a fold."""
    kept = np.delete(Y, fold, axis=0)
    mean = kept.mean(axis=0)
    return mean, (kept - mean).T @ (kept - mean)


def _fit_directly(matrix: Array, Y: Array, fold: NDArray[np.intp], alpha: float, number: int) -> HeldOut:
    """One fold by the decomposition of its training rows' kernel matrix, which makes out the limit of small α."""
    kept = np.delete(np.arange(len(Y)), fold)
    lower = np.tril(matrix) + np.tril(matrix, -1).T
    values, vectors, _ = own = Decomposition.decompose(np.array(lower[np.ix_(kept, kept)], order="F"))
    mean, scatter = _centre(Y, fold)
    Z = Y[kept] - mean
    scaled = own.inverse(alpha)[:, None] * (vectors.T @ Z)
    deviations = lower[np.ix_(fold, kept)] @ (vectors @ scaled)
    found = explained_scatter(Z, vectors @ (values[:, None] * scaled))
    return HeldOut(alpha, number, fold, len(kept), mean, deviations, scatter, found)
