"""Factorisations behind the moment methods: pseudo-inverse least squares from a Gram matrix, and leading eigenvectors.

The papers write W = X⁺Z, with the Moore-Penrose inverse: for rank-deficient X that is the *minimum-norm* solution, and
it decides the predictions on new instances. Each factorisation here stands for the centred X (n×d, S = XᵀX, C = XᵀZ,
Z of shape n×q) and computes two things:

`whiten`        B (r×q) with BᵀB = ZᵀHZ, H = XX⁺ the hat matrix: B = QᵀZ for an orthonormal basis Q of the range of X
                (or HZ itself, n×q);
`coefficients`  W (d×q) = X⁺Z = S⁺C, from that B.

A Gram matrix squares the condition number: the residual of a feature given the others appears there squared, and is
lost in rounding if it is below a millionth. So those that start from one raise `IllConditioned` when they cannot tell
the rank, and give a `probe` by which the rank can be checked on the rows X; if the check fails, the caller uses
`Spectral`, which starts from X itself. Costs are in flops for K codes, and do not include S.
"""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

Array = NDArray[np.float64]

# A pivot of the equilibrated Gram matrix is the share of a feature's variance that the features before it leave
# unexplained. Rounding leaves about 1e-14 of a feature that is an exact combination; a genuine feature of real data
# leaves far more. Between the two the Gram matrix cannot tell, and no guess is made.
DEPENDENT = 1e-11
INDEPENDENT = 1e-8
SINGULAR = 1e-9
# Against the rows themselves nothing is squared: to ten digits a combination is one.
_CONFIRMED = 1e-10
_PROBES = 4
# Of the largest: a singular value below this has lost too many of its digits in a decomposition by orthogonal matrices.
GRADED = 1e-6


def rounding_of_unit_columns(n: int, d: int) -> float:
    """What counts as 0 among singular values of n×d rows with columns of unit length: max(n, d)·√d·ε.

    This is the rule of rank, for every method: NumPy's, with ‖X‖_F = √d for the largest singular value, but with each
    column at unit length. So no unit of measurement makes a feature count for nothing, and none makes rounding count.
    The length is that before the mean is taken off, since what centring leaves of rounding is relative to it.

    Where S tells the rank as clearly (also at unit length; see `DEPENDENT` and `INDEPENDENT`), the rows are not
    decomposed, but they must confirm it: to ten digits a combination is one. `factorisation.rank` applies the rule to
    moments, `Spectral.of_rows` to rows, `principal.cross_rank` to C, and `scatter_rank` to the labels' T.
    """
    return max(n, d) * math.sqrt(d) * float(np.finfo(float).eps)


def graded_svd(matrix: Array) -> tuple[Array, Array, Array]:
    """U (m×n), s (descending) and V (n×n) of A (m×n, m ≥ n): each singular value to its own rounding, if A = D₁BD₂ with
    B well conditioned, however different the entries of the diagonal D₁ and D₂.

    An SVD by orthogonal transformations knows all of them to the rounding of the largest. Where they differ by more
    than a million, a Jacobi method is used: Drmač & Veselić 2008, LAPACK's `dgejsv`, at a few times the cost.

    Raises
    ------
    numpy.linalg.LinAlgError
        When it does not converge.
    """
    if not matrix.size:
        return np.zeros(matrix.shape), np.zeros(matrix.shape[1]), np.eye(matrix.shape[1])
    left, sizes, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    if sizes[-1] > GRADED * sizes[0]:
        return left, sizes, right.T
    # joba=2: D₁ and D₂, both; jobu=0, jobv=0: U (m×n) and V; jobr=0: no singular value is too small; jobt=0: as it is
    sizes, left, right, work, _, info = lapack.dgejsv(matrix, joba=2, jobu=0, jobv=0, jobr=0, jobt=0, jobp=1)
    if info != 0:
        raise np.linalg.LinAlgError("the Jacobi method for singular values does not converge")
    order = np.argsort(-sizes, kind="stable")
    return left[:, order], sizes[order] * (work[0] / work[1]), right[:, order]


def random_signs(n: int) -> Array:
    """Fixed ±1 vectors (n×4): an error in any of n places shows in most random sums over them."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(n, _PROBES))


def confirmed(residual: Array, size: float) -> bool:
    """Whether a residual is only rounding error relative to `size`."""
    return bool(np.linalg.norm(residual) <= _CONFIRMED * size)


def inverse_root(squares: Array, rounding: float = 0.0) -> Array:
    """1/√s of each, and 0 where s is no more than `rounding`."""
    return np.divide(1.0, np.sqrt(np.maximum(squares, 0.0)), out=np.zeros(len(squares)), where=squares > rounding)


class IllConditioned(ValueError):
    """The Gram matrix does not determine the numerical rank; an orthogonal factorisation of the rows must decide."""


class Factor(Protocol):
    """A factorisation of a centred feature matrix X (n×d) of numerical rank `rank`."""

    @property
    def rank(self) -> int:
        """Numerical rank of X."""

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = QᵀZ (r×q) or HZ, from C = XᵀZ (d×q) or Z (a function that returns the n×q rows), whichever it needs."""

    def coefficients(self, whitened: Array) -> Array:
        """W (d×q): the minimum-norm least-squares coefficients, from B."""


def _equilibrate(lower: Array, ridge: float) -> tuple[Array, Array]:
    """D⁻¹(S + αI)D⁻¹ with unit diagonal (lower triangle, a new array) and 1/D; constant features get unit vectors."""
    inverse = inverse_root(np.diag(lower) + ridge)
    scaled = np.multiply(lower, inverse, order="F")
    scaled *= inverse[:, None]
    np.fill_diagonal(scaled, 1.0)
    return scaled, inverse


@dataclass(frozen=True)
class Cholesky:
    """S + αI = D L Lᵀ D. Cost d³/3, then d²K for B and d²K for W.

    Constant features have D = 0: they get coefficient 0, as the minimum-norm solution gives them. Features known to
    depend on the others are left out of L in the same way, and the solution is then projected on the complement of the
    null space they span: this is the fast form of `PivotedCholesky` for known dependent features.
    """

    lower: Array
    inverse_scale: Array
    null_space: Array | None
    rank: int

    @classmethod
    def factorise(cls, gram: Array, ridge: float = 0.0, dependent: NDArray[np.intp] | None = None) -> Cholesky:
        """Factorise the lower triangle of `gram` (d×d, left as it is).

        Parameters
        ----------
        dependent : array of int or None
            Features known to be linear combinations of the others (of a set of rows that includes these).

        Raises
        ------
        IllConditioned
            When the other features are not safely of full rank (a pivot below 1e-8 of its feature's variance, or an
            inverse of the equilibrated matrix of 1-norm above 1e9), or a `dependent` one is not dependent.
        """
        scaled, inverse = _equilibrate(gram, ridge)
        out = np.zeros(0, dtype=np.intp) if dependent is None else dependent[inverse[dependent] > 0]
        within = inverse.copy()
        if len(out):
            right = np.column_stack([np.append(scaled[j, :j], scaled[j:, j]) for j in out])
            right[out] = 0.0
            scaled[out, :] = 0.0
            scaled[:, out] = 0.0
            scaled[out, out] = 1.0
            within[out] = 0.0
        factor, info = lapack.dpotrf(scaled, lower=1, overwrite_a=1, clean=0)
        if info != 0 or np.min(np.diag(factor), initial=1.0) ** 2 < INDEPENDENT:
            raise IllConditioned("the Gram matrix is not of full rank")
        # with the norm given as 1, dpocon estimates 1/‖G⁻¹‖₁ of the equilibrated matrix G; of no features it cannot
        if not len(factor) or lapack.dpocon(factor, 1.0, uplo="L")[0] < SINGULAR:
            raise IllConditioned("the Gram matrix is nearly singular")
        null_space = None
        if len(out):
            t = blas.dtrsm(1.0, factor, np.asfortranarray(right), lower=1)
            if np.max(np.abs(1.0 - np.einsum("ij,ij->j", t, t))) > DEPENDENT:
                raise IllConditioned("a feature held to be dependent is not")
            t = blas.dtrsm(1.0, factor, t, lower=1, trans_a=1)
            t *= -within[:, None]
            t /= inverse[out]
            t[out, np.arange(len(out))] = 1.0
            null_space = scipy.linalg.qr(t, mode="economic", overwrite_a=True, check_finite=False)[0]
        return cls(factor, within, null_space, int(np.count_nonzero(within)))

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = L⁻¹D⁻¹C."""
        right = np.multiply(xy, self.inverse_scale[:, None], order="F")
        return blas.dtrsm(1.0, self.lower, right, lower=1, overwrite_b=1)

    def coefficients(self, whitened: Array) -> Array:
        """W = D⁻¹L⁻ᵀB, less its part in the null space."""
        w = blas.dtrsm(1.0, self.lower, whitened, lower=1, trans_a=1)
        w *= self.inverse_scale[:, None]
        if self.null_space is not None:
            w -= self.null_space @ (self.null_space.T @ w)
        return w


@dataclass(frozen=True)
class Tridiagonal:
    """S = QTQᵀ with T tridiagonal and Q orthogonal (Householder): as good as eigenvectors to solve (γS + λI)W = R by.

    Cost 4d³/3 (eigenvectors 9d³), and 2d²q to multiply q columns by Q.
    """

    diagonal: Array
    off: Array
    reflectors: Array
    factors: Array

    @classmethod
    def of(cls, s: Array) -> Tridiagonal:
        """From a symmetric matrix, by its lower triangle."""
        work = int(lapack.dsytrd_lwork(len(s), lower=1)[0])
        packed, diagonal, off, factors, _ = lapack.dsytrd(s, lower=1, lwork=work)
        return cls(diagonal, off, np.asfortranarray(packed[1:, :-1]), factors)

    def rotate(self, a: Array, back: bool = False) -> Array:
        """Qᵀa; Qa with `back`."""
        if not len(self.factors):
            return a
        a = np.array(a, order="F")
        a[1:] = lapack.dormqr("L", "N" if back else "T", self.reflectors, self.factors, a[1:], 64 * a.shape[1])[0]
        return a

    def times(self, a: Array) -> Array:
        """Ta."""
        out = self.diagonal[:, None] * a
        out[1:] += self.off[:, None] * a[:-1]
        out[:-1] += self.off[:, None] * a[1:]
        return out

    def solve(self, factors: Array, ridge: float, right: Array) -> Array:
        """The columns w_j of (γ_jT + λI)w_j = r_j, for T positive semidefinite but for rounding."""
        if not right.size:  # LAPACK takes no empty system
            return right
        rounding = len(self.diagonal) * np.finfo(float).eps * np.abs(self.diagonal).max(initial=0.0)
        off = self.off if len(self.off) else np.zeros(1)  # LAPACK's least
        columns = [
            lapack.dptsv(gamma * (self.diagonal + rounding) + ridge, gamma * off, r)[2]
            for gamma, r in zip(factors, right.T, strict=True)
        ]
        return np.column_stack(columns)


@dataclass(frozen=True)
class PivotedCholesky:
    """S of rank r < d: with pivots first, S = D[R₁ R₂]ᵀ[R₁ R₂]D. Cost dr², and 4·min(r, d−r)²d for the minimum norm.

    The pivoted columns alone give a basic solution u; every solution is [u; 0] plus a combination of N = [−T; I],
    T = D₁⁻¹R₁⁻¹R₂D₂, and the shortest one is found by projecting on the orthogonal complement of N's columns (by QR, so
    that the scale of the features does no harm): through N where d − r < r, through its complement [I; Tᵀ] otherwise.
    """

    upper: Array
    pivots: NDArray[np.intp]
    inverse_scale: Array
    basis: Array
    inner: Array | None
    dependent: NDArray[np.intp]
    probe: Array  # d×4: X @ probe is 0 if the dependent features are that; each enters at unit size
    rank: int

    @classmethod
    def factorise(cls, gram: Array) -> PivotedCholesky:
        """Factorise the lower triangle of `gram` (d×d, left as it is).

        Raises
        ------
        IllConditioned
            When there is no clear gap between the last pivot taken and what is left.
        """
        scaled, inverse = _equilibrate(gram, 0.0)
        live = np.flatnonzero(inverse)
        d = len(inverse)
        if len(live) == 0:
            empty = np.zeros((0, 0))
            return cls(empty, live, inverse, np.zeros((d, 0)), np.zeros((0, 0)), live, np.zeros((d, _PROBES)), 0)
        if len(live) < d:
            scaled = np.asfortranarray(scaled[np.ix_(live, live)])
        tolerance = np.sqrt(DEPENDENT * INDEPENDENT)
        factor, pivots, rank, _ = lapack.dpstrf(scaled, tol=tolerance, lower=1, overwrite_a=1)
        upper = np.tril(factor[:, :rank]).T  # [R₁ R₂], r×(live)
        left = 1.0 - np.einsum("ij,ij->j", upper[:, rank:], upper[:, rank:])
        if np.diag(upper)[-1] ** 2 < INDEPENDENT or np.max(np.abs(left), initial=0.0) > DEPENDENT:
            raise IllConditioned("the Gram matrix does not show a clear rank")
        first = np.asfortranarray(upper[:, :rank])
        pivots = live[pivots - 1]
        chosen, rest = pivots[:rank], pivots[rank:]
        t = scipy.linalg.solve_triangular(first, upper[:, rank:], check_finite=False)
        t *= inverse[chosen, None]
        t /= inverse[rest]
        probe = np.zeros((d, _PROBES))
        probe[rest] = random_signs(len(rest)) * inverse[rest, None]
        probe[chosen] = -t @ probe[rest]
        basis = np.zeros((d, min(rank, len(rest))))
        inner = None
        if len(rest) < rank:
            basis[chosen] = -t
            basis[rest, np.arange(len(rest))] = 1.0
            basis = scipy.linalg.qr(basis, mode="economic", overwrite_a=True, check_finite=False)[0]
        else:
            basis[chosen, np.arange(rank)] = 1.0
            basis[rest] = t.T
            basis, inner = scipy.linalg.qr(basis, mode="economic", overwrite_a=True, check_finite=False)
        return cls(first, chosen, inverse, basis, inner, rest, probe, int(rank))

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = R₁⁻ᵀ(D⁻¹C)₁."""
        right = xy[self.pivots] * self.inverse_scale[self.pivots, None]
        return scipy.linalg.solve_triangular(self.upper, right, trans="T", check_finite=False)

    def coefficients(self, whitened: Array) -> Array:
        """The shortest W with [R₁ R₂]DW = B."""
        u = scipy.linalg.solve_triangular(self.upper, whitened, check_finite=False)
        u *= self.inverse_scale[self.pivots, None]
        if self.inner is not None:  # [I; Tᵀ] = QU: W = Q U⁻ᵀ u
            return self.basis @ scipy.linalg.solve_triangular(self.inner, u, trans="T", check_finite=False)
        w = np.zeros((len(self.inverse_scale), whitened.shape[1]))
        w[self.pivots] = u
        w -= self.basis @ (self.basis.T @ w)
        return w


@dataclass(frozen=True)
class Dual:
    """The n×n side, for d > n: XXᵀ of rank r, with pivots first, is [L₁; L₂][L₁; L₂]ᵀ. Cost n²r, and n·min(r, n−r)².

    Its range, on which H projects, is that of [I; T] with T = L₂L₁⁻¹, and [−Tᵀ; I] spans the complement: the narrower
    one is made orthonormal. B is HZ (n×K), and W = Xᵀa, where all solutions a of XXᵀa = B give the same W: the one that
    is 0 except at the pivots is used. For α = 0; `Spectral.of_outer` serves a ridge.
    """

    lower: Array
    pivots: NDArray[np.intp]
    basis: Array
    complement: bool  # whether the basis is that of the complement
    transpose_apply: Any
    rank: int

    @classmethod
    def factorise(cls, outer: Array, transpose_apply: Any) -> Dual:
        """Factorise XXᵀ (n×n, centred); `transpose_apply(A)` must return XᵀA (d×q).

        Raises
        ------
        IllConditioned
            When there is no clear gap between the last pivot taken and what is left.
        """
        largest = float(np.max(np.diag(outer), initial=0.0))
        n = len(outer)
        if largest <= 0:
            return cls(np.zeros((0, 0)), np.zeros(0, dtype=np.intp), np.zeros((n, 0)), False, transpose_apply, 0)
        scaled = np.asfortranarray(outer / largest)
        factor, order, rank, _ = lapack.dpstrf(scaled, tol=np.sqrt(DEPENDENT * INDEPENDENT), lower=1, overwrite_a=1)
        order -= 1
        first, rest = np.asfortranarray(factor[:rank, :rank]), factor[rank:, :rank]
        left = np.diag(outer)[order[rank:]] / largest - np.einsum("ij,ij->i", rest, rest)
        if np.diag(first)[-1] ** 2 < INDEPENDENT or np.max(np.abs(left), initial=0.0) > DEPENDENT:
            raise IllConditioned("the matrix of inner products does not show a clear rank")
        t = blas.dtrsm(1.0, first, rest, side=1, lower=1)
        complement = n - rank <= rank
        basis = np.empty((n, n - rank if complement else rank))
        basis[order[:rank]] = -t.T if complement else np.eye(rank)
        basis[order[rank:]] = np.eye(n - rank) if complement else t
        basis = scipy.linalg.qr(basis, mode="economic", overwrite_a=True, check_finite=False)[0]
        return cls(first * np.sqrt(largest), order[:rank], basis, complement, transpose_apply, int(rank))

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = HZ."""
        return self.project(z())

    def project(self, a: Array) -> Array:
        """HA (n×q) of A (n×q)."""
        found = self.basis @ (self.basis.T @ a)
        return a - found if self.complement else found

    def coefficients(self, whitened: Array) -> Array:
        """W = Xᵀa, with (XXᵀ)₁₁a₁ = (HB)₁ and 0 in the other places of a."""
        a = np.zeros_like(whitened)
        half = blas.dtrsm(1.0, self.lower, self.project(whitened)[self.pivots], lower=1)
        a[self.pivots] = blas.dtrsm(1.0, self.lower, half, lower=1, trans_a=1)
        return self.transpose_apply(a)


@dataclass(frozen=True)
class Spectral:
    """X = U diag(s) Vᵀ, for any ridge: B = diag(s/√(s²+α)) UᵀZ, W = V diag(1/√(s²+α)) B.

    From the rows (`of_rows`, an SVD, about 6nd·min(n, d)) it decides where a Gram matrix does not determine the rank;
    from XXᵀ (`of_outer`, about 9n³) it serves every ridge parameter of a split with d > n.
    """

    left: Array
    singular_values: Array
    apply_right: Any  # A (r×q) ↦ VA (d×q)
    ridge: float
    rank: int

    @classmethod
    def of_rows(cls, rows: Array, sizes: Array | None = None) -> Spectral:
        """From the centred rows X (n×d, dense), of the rank that `rounding_of_unit_columns` gives.

        Where the singular values themselves tell the rank, and differ by less than a million, they are those of X.
        Elsewhere those of X with columns of unit length tell it, X = Ûdiag(ŝ)V̂ᵀD, and a Jacobi method decomposes what
        is left, DV̂diag(ŝ) (`graded_svd`): each singular value of X is known to its own rounding.

        Parameters
        ----------
        sizes : array of shape (d,) or None
            The columns' lengths before they were centred, since rounding is relative to that; None: those of X.
        """
        live = rows.any(axis=0)
        if not np.any(live):
            return cls(rows[:, :0], np.zeros(0), lambda a: np.zeros((rows.shape[1], 0)) @ a, 0.0, 0)
        sizes = np.linalg.norm(rows, axis=0) if sizes is None else sizes
        units = np.where(live, sizes, sizes[live].min())
        nothing = rounding_of_unit_columns(len(rows), int(live.sum()))
        left, s, right = scipy.linalg.svd(rows, full_matrices=False, check_finite=False)
        # each is that of unit columns times something between the smallest size and the largest
        kept = s > nothing * units.max()
        rank = int(np.count_nonzero(kept))
        told = np.all(kept | (s < nothing * units.min()))
        if told and np.all(s[:rank] > GRADED * s[0]):
            right = right[:rank]
            return cls(left[:, :rank], s[:rank], lambda a: right.T @ a, 0.0, rank)
        left, s, right = scipy.linalg.svd(rows / units, full_matrices=False, check_finite=False)
        rank = int(np.count_nonzero(s > nothing))
        axes, s, inner = graded_svd(units[:, None] * right[:rank].T * s[:rank])
        return cls(left[:, :rank] @ inner, s, lambda a: axes @ a, 0.0, rank)

    @classmethod
    def of_outer(cls, outer: Array, transpose_apply: Any, clear: bool = False) -> Spectral:
        """From XXᵀ (n×n, centred), for ridges well above its rounding error; V = XᵀU diag(1/s).

        `clear`: only if the rank is clear and V is orthonormal to eight digits or more.

        Raises
        ------
        IllConditioned
            When an eigenvalue lies between a 1e-12th and a millionth of the largest, if it should be `clear`.
        """
        values, vectors = scipy.linalg.eigh(outer, check_finite=False)
        if clear:
            shares = np.abs(values) / max(values[-1], np.finfo(float).tiny)
            if np.any((shares > 1e-12) & (shares < 1e-6)):
                raise IllConditioned("the matrix of inner products does not show a clear rank")
            values = np.where(shares >= 1e-6, values, 0.0)
        keep = values > len(outer) * np.finfo(float).eps * max(values[-1], 0.0)
        left, s = vectors[:, keep], np.sqrt(values[keep])
        return cls(left, s, lambda a: transpose_apply(left @ (a / s[:, None])), 0.0, int(keep.sum()))

    def with_ridge(self, ridge: float) -> Spectral:
        """The same decomposition for another α."""
        return replace(self, ridge=ridge)

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = diag(s/√(s²+α)) UᵀZ."""
        s = self.singular_values
        return (s / np.sqrt(s**2 + self.ridge))[:, None] * (self.left.T @ z())

    def coefficients(self, whitened: Array) -> Array:
        """W = V diag(1/√(s²+α)) B."""
        return self.apply_right(whitened / np.sqrt(self.singular_values**2 + self.ridge)[:, None])


def scatter_rank(lower: Array) -> int:
    """The rank of a scatter matrix (its lower triangle), where nothing but it is known: at unit diagonal, the number of
    eigenvalues above `DEPENDENT`. The labels' T is decided so: its sums are of whole numbers.
    """
    scaled, inverse = _equilibrate(lower, 0.0)
    live = np.flatnonzero(inverse)
    if not len(live):
        return 0
    return int(np.count_nonzero(scipy.linalg.eigvalsh(scaled[np.ix_(live, live)], check_finite=False) > DEPENDENT))


@dataclass(frozen=True)
class ScatterAxes:
    """X = U diag(s) Vᵀ from S alone: U is known by UᵀZ only, where C is (`whiten`).

    S is scaled to unit diagonal first, and what is left of its rank is decomposed as in `Spectral.of_rows`. Below a
    share `DEPENDENT` of a feature's variance S knows of nothing. Cost: 9d³ and a Jacobi method.
    """

    singular_values: Array
    axes: Array  # V (d×r)
    to_left: Array  # r×d: UᵀZ of C
    rank: int

    @classmethod
    def of_scatter(cls, lower: Array) -> ScatterAxes:
        """From the lower triangle of S (d×d)."""
        scaled, inverse = _equilibrate(lower, 0.0)
        live = np.flatnonzero(inverse)
        values, vectors = np.zeros(0), np.zeros((0, 0))
        if len(live):
            values, vectors = scipy.linalg.eigh(scaled[np.ix_(live, live)], check_finite=False)
        kept = values > DEPENDENT  # as in `scatter_rank`
        values, vectors = values[kept], vectors[:, kept]
        found, s, inner = graded_svd(vectors * np.sqrt(values) / inverse[live, None])
        axes, to_left = np.zeros((len(inverse), len(s))), np.zeros((len(s), len(inverse)))
        axes[live] = found
        to_left[:, live] = inner.T @ (vectors / np.sqrt(values)).T * inverse[live]
        return cls(s, axes, to_left, len(s))

    def apply_right(self, a: Array) -> Array:
        """VA (d×q) of A (r×q)."""
        return self.axes @ a

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = UᵀZ."""
        return self.to_left @ xy

    def coefficients(self, whitened: Array) -> Array:
        """W = V diag(1/s) B."""
        return self.axes @ (whitened / self.singular_values[:, None])


@dataclass(frozen=True)
class Diagonal:
    """S + αI, diagonal: of uncorrelated features. Cost dK.

    A feature without variance gets coefficient 0, as in the minimum-norm solution.
    """

    inverse_scale: Array  # 1/√(s + α); 0 where that is 0
    rank: int

    @classmethod
    def factorise(cls, variances: Array, ridge: float = 0.0) -> Diagonal:
        """From the diagonal of S (d,)."""
        inverse = inverse_root(variances + ridge)
        return cls(inverse, int(np.count_nonzero(inverse)))

    def whiten(self, xy: Array, z: Any) -> Array:
        """B = C/√(s + α)."""
        return xy * self.inverse_scale[:, None]

    def coefficients(self, whitened: Array) -> Array:
        """W = B/√(s + α)."""
        return whitened * self.inverse_scale[:, None]


def leading_eigenvectors(matrix: Array, n: int) -> tuple[Array, Array]:
    """The `n` algebraically largest eigenvalues of a symmetric matrix, descending, and their eigenvectors as *rows*.

    The sign of each vector makes its (first) entry of largest magnitude positive. Where few of many are wanted
    (size ≥ 1000, n ≤ size/10), Lanczos' iteration with a fixed start is used; if it does not converge soon, or misses
    some (clustered or multiple eigenvalues), LAPACK's solver for a part of the spectrum.

    Returns
    -------
    values : array of shape (n,)
    vectors : array of shape (n, size)
    """
    size = len(matrix)
    found = None
    if size >= 1000 and 10 * n <= size and matrix.any():
        start = np.random.default_rng(0).standard_normal(size)
        with contextlib.suppress(ArpackError):
            values, vectors = eigsh(matrix, k=n, which="LA", v0=start, maxiter=20)
            if not overlooked(lambda a: matrix @ a, values, vectors, float(np.abs(matrix).max())):
                found = values, vectors
    if found is None:
        found = scipy.linalg.eigh(
            matrix, subset_by_index=[size - n, size - 1] if n < size else None, check_finite=False
        )
        if len(found[0]) < n:  # LAPACK's partial solver may leave some out where one wanted equals many that are not
            found = scipy.linalg.eigh(matrix, check_finite=False)
    values, vectors = found
    order = np.argsort(-values, kind="stable")[:n]
    return values[order], signed(vectors[:, order])


def overlooked(times: Callable[[Array], Array], values: Array, vectors: Array, scale: float) -> bool:
    """Whether a symmetric operator has an eigenvalue above the least of `values`, the largest found, that is not among
    them.

    A Krylov space contains one direction of each eigenspace; others enter only by rounding. So Lanczos' iteration may
    converge and yet miss copies of a multiple eigenvalue. A second one, from another start and with the pairs found
    shifted below the others, finds the missed ones first. `scale` is the operator's size; what differs by 1e-10 of it
    is equal. Cost: as for one more eigenvalue.

    Raises
    ------
    ArpackError
        When it does not converge.
    """
    size, n = vectors.shape
    least = float(values.min())
    moved = vectors * (values - least + scale)

    def apply(v: Array) -> Array:
        return np.ravel(times(v.reshape(size, 1))) - moved @ (vectors.T @ v.ravel())

    start = np.random.default_rng(1).standard_normal(size)
    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    ncv = min(size, max(2 * n + 1, 40))
    largest = eigsh(operator, k=1, which="LA", v0=start, ncv=ncv, tol=1e-8, return_eigenvectors=False)
    return bool(largest[0] > least + 1e-10 * scale)


def signed(vectors: Array) -> Array:
    """The columns of `vectors` as rows, signed so that the (first) entry of largest magnitude is positive."""
    if not vectors.size:
        return np.ascontiguousarray(vectors.T)
    peak = np.argmax(np.abs(vectors), axis=0)
    signs = np.where(vectors[peak, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return np.ascontiguousarray((vectors * signs).T)


def n_kept(n_components: float | int | None, size: int, rounding: str = "floor", name: str = "n_components") -> int:
    """How many dimensions `n_components` means: None all, an int itself, a fraction p about p·size, but 1 at least.

    `rounding` says which of the whole numbers about p·size: "floor", as the tables of Chen & Lin 2012 show (20 % of
    yeast's 14 labels are 2); "nearest", a half going to the even number, as in Pacharawongsakda & Theeramunkong 2012
    (20 % of 14 are 3); or "ceiling". p·size is first rounded to nine digits: 0.6 · 5 = 3 in spite of binary fractions.
    `name`: the parameter's name in errors.

    Raises
    ------
    ValueError
        When an int exceeds `size`.

    Examples
    --------
    >>> n_kept(0.2, 14), n_kept(0.2, 14, "nearest"), n_kept(0.2, 14, "ceiling")
    (2, 3, 3)
    >>> n_kept(1.0, 14), n_kept(1, 14), n_kept(0.01, 14)  # all of them, one of them, and one at least
    (14, 1, 1)
    """
    if n_components is None:
        return size
    if isinstance(n_components, numbers.Integral):
        if n_components > size:
            raise ValueError(f"{name}={n_components} is more than the {size} there are")
        return int(n_components)
    if rounding == "nearest":
        return max(1, round(round(n_components * size, 9)))
    if rounding == "ceiling":
        return max(1, math.ceil(n_components * size - 1e-9))
    return max(1, math.floor(n_components * size + 1e-9))
