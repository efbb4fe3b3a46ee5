"""ℓ2,1 norms by reweighted squares: the inner problems of the feature selectors with row-sparse coefficients.

‖A‖₂,₁ = Σ‖A_i‖₂ over rows. For any A₀ it is at most ½Σ(‖A_i‖²/‖A₀_i‖ + ‖A₀_i‖), with equality at A = A₀. So a step from
A₀ that decreases Σ H_ii‖A_i‖², H_ii = 1/(2‖A₀_i‖), decreases the norm. A row of zeros has no such weight; with
H_ii = ½/√(‖A₀_i‖² + ε) the same holds for Σ√(‖A_i‖² + ε), which is within √ε = 1.5e-8 a row of the norm. (The programs
of Sun 2017 do so.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from mlcdr.numerics import sums
from mlcdr.numerics.linalg import DEPENDENT, IllConditioned, inverse_root, rounding_of_unit_columns
from mlcdr.numerics.operators import Operator, lanczos

Array = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
"""ε of the weights."""
_DENSE = 500  # an operator up to this size is best made a matrix
_LARGEST = 4000  # and up to this one it may be, where Lanczos' iteration fails
_HIDDEN = 1e-8  # of the largest degree: what is below this beside it has lost half its digits
_COLUMNS = 256
_ROWS = 1024
_SPARSE = 0.03  # of entries that are there, from which on a sparse product takes longer than a dense one


def pair_of_weights(given: Any) -> tuple[float, float] | None:
    """The weights of labelled and of unlabelled rows; None unless `given` is two finite numbers."""
    numbers = list(given)
    if len(numbers) != 2 or not all(isinstance(x, Real) and not isinstance(x, bool) for x in numbers):
        return None
    pair = float(numbers[0]), float(numbers[1])
    return pair if np.isfinite(pair).all() else None


def lengths(rows: Array) -> Array:
    """‖A_i‖ of each row (n,)."""
    return np.sqrt(sums.row_squares(rows))


def norm(rows: Array) -> float:
    """‖A‖₂,₁."""
    return float(lengths(rows).sum())


def stacked(X: Any, below: Any) -> Any:
    """X with more rows below; as sparse as it came."""
    return sp.csr_array(sp.vstack([X, below])) if sp.issparse(X) else np.vstack([X, sums.dense(below)])


def weights(rows: Array, scale: Array | float = 1.0) -> Array:
    """c²H (n,), the weights of ‖A_i‖² in place of the norms ‖cA_i‖ of the rows, c = `scale`."""
    square = np.square(scale)
    return 0.5 * square / np.sqrt(square * sums.row_squares(rows) + EPSILON)


def between(X: Any, laplacian: Any) -> Array:
    """XᵀLX (d×d) of rows X (N×d, dense or CSR) and a sparse L."""
    product = X.T @ (laplacian @ X)
    return product.toarray() if sp.issparse(product) else product


def times_rows(X: Any, h: Array) -> Any:
    """diag(h) X, as sparse as X came."""
    return sp.csr_array(sp.diags_array(h) @ X) if sp.issparse(X) else h[:, None] * X


def weighted_scatter(X: Any, h: Array) -> Array:
    """Xᵀ diag(h) X (d×d), h ≥ 0, of rows X (n×d, dense or CSR); those not so sparse are made dense in blocks."""
    return sums.symmetric(_lower_scatter(X, h))


def _lower_scatter(X: Any, h: Array) -> Array:
    """The same, of which only the lower triangle is defined; in Fortran order."""
    n, d = X.shape
    if sp.issparse(X) and X.nnz < _SPARSE * n * d:
        return (X.T @ times_rows(X, h)).toarray(order="F")
    lower = np.zeros((d, d), order="F")
    for start in range(0, n, _ROWS):
        block = sums.dense(X[start : start + _ROWS]) * np.sqrt(h[start : start + _ROWS])[:, None]
        lower = blas.dsyrk(1.0, block.T, beta=1.0, c=lower, lower=1, overwrite_c=1)
    return lower


class Penalised:
    """Penalised least squares of rows X (n×d) that are solved again and again, as weights, penalty and targets change.

    `quadratic` (d×d): Q, or None for 0. `scatter` (d×d): XᵀHX, where it is known, of an H that does not change; its
    lower triangle is enough. `origin` (d,): the rows are those of X less this, so that a sparse X need not be centred.
    """

    def __init__(
        self,
        X: Any,
        quadratic: Array | None = None,
        scatter: Array | None = None,
        origin: Array | None = None,
    ):
        self._X, self._quadratic, self._scatter, self._origin = X, quadratic, scatter, origin

    def solve(self, h: Array, penalty: Array, target: Array) -> Array:
        """W (d×k) that minimises Σ h_i‖W'x_i − t_i‖² + Σ penalty_j‖W_j‖² + Tr(WᵀQW).

        (XᵀHX + diag(penalty) + Q)⁻¹XᵀHT by Cholesky; where n < d and Q = 0, from the n×n side:
        P⁻¹Xᵀ(XP⁻¹Xᵀ + H⁻¹)⁻¹T. Cost: min(n, d)³/3 and a scatter. All h and penalties must be positive. Where the sum
        has lost the penalty in rounding, W is found in the range of Xᵀ (and of Q), with X made dense, by an SVD of it,
        which serves all further W, and a QR factorisation.
        """
        X, quadratic = self._X, self._quadratic
        n, d = X.shape
        if quadratic is None and n < d:
            solve = _by_cholesky(self._outer(1 / penalty), 1 / h)
            if solve is None:
                return self._from_rows(h, penalty, target)
            return self._transposed(solve(target)) / penalty[:, None]
        matrix = self._inner(h) if self._scatter is None else self._scatter
        if quadratic is not None:
            matrix = matrix + quadratic.T  # in the same order in memory, and symmetric
        solve = _by_cholesky(matrix, penalty)
        return self._from_rows(h, penalty, target) if solve is None else solve(self._transposed(h[:, None] * target))

    def _outer(self, weights: Array) -> Array:
        """X diag(weights) Xᵀ (n×n)."""
        X, origin = self._X, self._origin
        outer = (X @ (sp.diags_array(weights) @ X.T)).toarray() if sp.issparse(X) else (X * weights) @ X.T
        if origin is not None:
            level = X @ (weights * origin)
            outer -= level[:, None] + level - weights @ origin**2
        return outer

    def _inner(self, h: Array) -> Array:
        """Xᵀ diag(h) X (d×d), of which only the lower triangle is defined."""
        found, origin = _lower_scatter(self._X, h), self._origin
        if origin is not None:
            total = self._X.T @ h
            found -= np.outer(total, origin) + np.outer(origin, total) - h.sum() * np.outer(origin, origin)
        return found

    def _transposed(self, rows: Array) -> Array:
        """XᵀA (d×k)."""
        product = self._X.T @ rows
        return product if self._origin is None else product - np.outer(self._origin, rows.sum(axis=0))

    def _from_rows(self, h: Array, penalty: Array, target: Array) -> Array:
        """As `solve`, by least squares in the row space: there rows √h(x, t) stand above those of the roots of Q and of
        the penalty, and none depends on others but by the penalty. The largest rows first, so that each keeps its
        digits.
        """
        n, space = self._X.shape[0], self._axes.weigh(penalty)
        root = np.sqrt(h)[:, None]
        left = np.vstack([root * space.rows[:n], space.rows[n:], space.lift])
        right = np.vstack([root * target, np.zeros((len(left) - n, target.shape[1]))])
        order = np.argsort(-np.abs(left).max(axis=1, initial=0.0), kind="stable")
        basis, upper, pivots = scipy.linalg.qr(left[order], mode="economic", pivoting=True, check_finite=False)
        y = np.empty((len(upper), target.shape[1]))
        y[pivots] = scipy.linalg.solve_triangular(upper, basis.T @ right[order], check_finite=False)
        return space.outward(y)

    @cached_property
    def _axes(self) -> _RowAxes:
        """Those of X and of the root of Q."""
        rows, quadratic = sums.dense(self._X), self._quadratic
        if self._origin is not None:
            rows = rows - self._origin
        if quadratic is not None:
            unit = inverse_root(np.diag(quadratic))
            rows = np.vstack([rows, _root(quadratic * unit * unit[:, None]) / np.where(unit > 0, unit, 1.0)])
        return _RowAxes.of(rows)


def _by_cholesky(matrix: Array, penalty: Array, sizes: Array | None = None) -> Operator | None:
    """B ↦ (A + diag(penalty))⁻¹B of a positive semidefinite A, by its lower triangle, at unit diagonal.

    None where rounding in A has hidden the penalty: the share of a diagonal entry that those before it leave is no
    larger than `DEPENDENT`. `sizes` (d,): what A's rounding is relative to, if A is a difference; None: its diagonal.
    """
    sizes = np.maximum(np.diag(matrix), 0.0) if sizes is None else sizes
    unit = 1 / np.sqrt(sizes + penalty)
    scaled = np.multiply(matrix, unit, order="F")
    scaled *= unit[:, None]
    scaled[np.diag_indices_from(scaled)] += penalty * unit**2
    lower, info = lapack.dpotrf(scaled, lower=1, overwrite_a=1, clean=0)
    if info != 0 or np.min(np.diag(lower), initial=1.0) ** 2 <= DEPENDENT:
        return None
    return lambda b: unit[:, None] * scipy.linalg.cho_solve((lower, True), unit[:, None] * b, check_finite=False)


def _root(matrix: Array) -> Array:
    """R (r×d) with RᵀR = A, positive semidefinite (its lower triangle), of its rank r to rounding."""
    values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
    kept = values > DEPENDENT * max(float(values[-1]), 0.0)
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T


@dataclass(frozen=True)
class _RowAxes:
    """Some rows (n×d) of rank r by the singular vectors of theirs with columns of unit length.

    Attributes
    ----------
    left : array of shape (n, r)
        The rows are these times `right`, and `unit`.
    right : array of shape (r, d)
        Orthonormal.
    unit : array of shape (d,)
        The lengths of the columns; 1 where there is none.
    """

    left: Array
    right: Array
    unit: Array

    @classmethod
    def of(cls, rows: Array) -> _RowAxes:
        """From the rows; for the rank see `linalg.rounding_of_unit_columns`."""
        square = sums.squares(rows)
        unit = np.sqrt(np.where(square > 0, square, 1.0))
        left, s, right = scipy.linalg.svd(rows / unit, full_matrices=False, check_finite=False)
        kept = s > rounding_of_unit_columns(*rows.shape)
        return cls(left[:, kept] * s[kept], right[kept], unit)

    def weigh(self, penalty: Array) -> _RowSpace:
        """What a penalty (d,) makes of them.

        The QR factorisation of √P⁻¹N has its largest rows first and columns pivoted, so that each row keeps its digits.
        """
        unit, root = self.unit, np.sqrt(penalty)
        order = np.argsort(-unit / root, kind="stable")
        basis, upper, pivots = scipy.linalg.qr(
            ((unit / root)[:, None] * self.right.T)[order], mode="economic", pivoting=True, check_finite=False
        )
        basis = basis[np.argsort(order)]
        lift = scipy.linalg.solve_triangular(upper, np.eye(len(upper)), trans="T", check_finite=False)
        return _RowSpace(self.left[:, pivots], self.right[pivots] / unit, lift, basis, root)


@dataclass(frozen=True)
class _RowSpace:
    """The w (d,) that are the shortest, √penalty·w, of all with the same products with some rows (n×d) of rank r.

    Pw is in the range of the rows' transpose then, P = diag(penalty). With a basis N (d×r) of it, w = P⁻¹NM⁻¹y for
    y = Nᵀw and M = NᵀP⁻¹N, and the square of its length is yᵀM⁻¹y. So y has what the rows tell, and the penalty decides
    among features that depend on each other, with no rounding of the one in the other.

    Attributes
    ----------
    rows : array of shape (n, r)
        The products of the rows with w are those of these with y.
    inward : array of shape (r, d)
        B = Nb for the B in the range: b from B.
    lift : array of shape (r, r)
        L, LᵀL = M⁻¹.
    """

    rows: Array
    inward: Array
    lift: Array
    basis: Array  # d×r, orthonormal: that of √P⁻¹N
    root: Array  # √penalty

    def outward(self, y: Array) -> Array:
        """The w (d×q) of y (r×q)."""
        return self.basis @ (self.lift @ y) / self.root[:, None]


def _in_row_space(matrix: Array, penalty: Array, rows: Any) -> Operator:
    """B ↦ (A + diag(penalty))⁻¹B, where A and B lie in the range of the transposed `rows` but for rounding.

    With A = NĀNᵀ and B = Nb it is w of the y with (Ā + M⁻¹)y = b: see `_RowSpace`.
    """
    space = _RowAxes.of(sums.dense(rows)).weigh(penalty)
    stacked = np.vstack([_root(space.inward @ matrix @ space.inward.T), space.lift])
    upper = scipy.linalg.qr(stacked, mode="r", check_finite=False)[0][: len(space.lift)]

    def solve(b: Array) -> Array:
        y = scipy.linalg.solve_triangular(upper, space.inward @ b, trans="T", check_finite=False)
        return space.outward(scipy.linalg.solve_triangular(upper, y, check_finite=False))

    return solve


def graph_solver(h: Array, laplacian: Any) -> Operator:
    """B ↦ (diag(h) + L)⁻¹B with L a sparse Laplacian (n×n) and h > 0, by a sparse LU factorisation, symmetric order.

    What is constant on a component of the graph meets h alone, which L hides where h is far smaller. There the level of
    each component is taken apart: its sum over the rows of the equations has no L.
    """
    degrees = laplacian.diagonal()
    hidden = h.min() < _HIDDEN * degrees.max()
    diagonal = np.maximum(h, EPSILON * degrees) if hidden else h
    matrix = sp.csc_array(laplacian + sp.diags_array(diagonal))
    factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    if not hidden:
        return factor.solve
    n_components, member = connected_components(laplacian, directed=False)
    of_component = sp.csr_array((np.ones(len(h)), (member, np.arange(len(h)))), shape=(n_components, len(h)))
    weights_of = (of_component @ h)[:, None]

    def solve(b: Array) -> Array:
        level = ((of_component @ b) / weights_of)[member]
        deviation = factor.solve(b - h[:, None] * level)
        deviation -= (of_component @ (h[:, None] * deviation) / weights_of)[member]
        return level + deviation

    return solve


def descend(step: Callable[[], float], tolerance: float, most: int) -> Array:
    """The objective after each step, until its relative change is below `tolerance`, or `most` steps are made."""
    found: list[float] = []
    for _ in range(most):
        found.append(step())
        if len(found) > 1 and abs(found[-1] - found[-2]) <= tolerance * abs(found[-2]):
            break
    return np.array(found)


def coupled_eigenvectors(
    X: Any,
    codes: Any,
    h: Array,
    penalty: Array,
    quadratic: Array | None,
    coupling: Any,
    of_features: Any,
    of_codes: Any,
    k: int,
    scaled_by: str,
) -> tuple[Array, Array, Array]:
    """The k largest eigenvalues λ of E u = λ F u, u = (w, v), descending, with W (d×k) and V (q×k).

        F = [ XᵀHX + diag(penalty) + Q    −XᵀHC     ]      E = [ GᵀG   0   ]
            [ −CᵀHX                       CᵀHC + B  ]          [  0   RᵀR  ]

    from X (n×d), H = diag(h), Q = `quadratic` (d×d) or 0, C = `codes` (n×q; None: the identity), B = `coupling` (q×q,
    positive semi-definite, sparse where C is None), G = `of_features` (N×d) and R = `of_codes` (·×q). F must be
    definite. `scaled_by`: "constraint", UᵀEU = I; "objective", UᵀFU = I. Where E has fewer than k positive eigenvalues,
    their number is the number of columns.

    These are the eigenvectors of M F⁻¹Mᵀ, M = diag(G, R), by Lanczos' iteration. Systems with F are solved by
    elimination of v. With C the identity, the Schur complement for w is Xᵀ B(H + B)⁻¹H X + …, in which nothing cancels,
    however large the entries of H are. Cost: n·d products with a factor of H + B, d³/3, and some multiple of k
    products.

    Raises
    ------
    IllConditioned
        When the iteration does not converge and the matrix is too large for another way.
    """
    q = coupling.shape[0]
    if codes is None:
        inner = graph_solver(h, coupling)

        def pull(v: Array) -> Array:
            return h[:, None] * v

        remaining = _shortened(X, h, coupling, inner)
        sizes = np.maximum(np.diag(remaining), 0.0)
    else:
        weighted = times_rows(codes, h)
        square = sums.dense(codes.T @ weighted) + sums.dense(coupling)
        least = np.full(q, EPSILON * max(float(np.trace(square)) / q, 1.0))
        inner = _by_cholesky(square, least) or _in_row_space(square, least, np.eye(q))

        def pull(v: Array) -> Array:
            return weighted @ v

        cross = sums.dense(X.T @ weighted)
        remaining = weighted_scatter(X, h)
        sizes = np.diag(remaining).copy()
        remaining -= cross @ inner(cross.T)
    remaining = (remaining + remaining.T) / 2
    if quadratic is not None:
        remaining += quadratic
        sizes = sizes + np.diag(quadratic)
    outer = _by_cholesky(remaining, penalty, sizes)
    if outer is None:
        outer = _in_row_space(remaining, penalty, stacked(X, of_features))

    def solve(r: Array, s: Array) -> tuple[Array, Array]:
        """F⁻¹(r, s)."""
        first = inner(s)
        w = outer(r + X.T @ pull(first))
        image = h[:, None] * (X @ w)
        return w, first + inner(image if codes is None else codes.T @ image)

    n_features = of_features.shape[0]
    size = n_features + of_codes.shape[0]

    def times(y: Array) -> Array:
        w, v = solve(of_features.T @ y[:n_features], of_codes.T @ y[n_features:])
        return np.vstack([of_features @ w, of_codes @ v])

    values, vectors = _leading(times, size, min(k, size))
    kept = values > 1e-14 * max(float(values[0]), 0.0)
    values, vectors = values[kept], vectors[:, kept]
    w, v = solve(of_features.T @ vectors[:n_features], of_codes.T @ vectors[n_features:])
    length = values if scaled_by == "constraint" else np.sqrt(values)
    return values, w / length, v / length


def _shortened(X: Any, h: Array, coupling: Any, inner: Operator) -> Array:
    """Xᵀ B(H + B)⁻¹H X (d×d), in blocks of columns: a sparse X is not made dense as a whole."""
    d = X.shape[1]
    result = np.empty((d, d))
    columns = sp.csc_array(X) if sp.issparse(X) else X
    for start in range(0, d, _COLUMNS):
        block = h[:, None] * sums.dense(columns[:, start : start + _COLUMNS])
        result[:, start : start + _COLUMNS] = X.T @ (coupling @ inner(block))
    return result


def _leading(times: Operator, size: int, k: int) -> tuple[Array, Array]:
    if size > _DENSE and 5 * k < size:
        try:
            return lanczos(times, size, k)
        except IllConditioned:
            if size > _LARGEST:
                raise
    matrix = times(np.eye(size))
    found = scipy.linalg.eigh((matrix + matrix.T) / 2, subset_by_index=[size - k, size - 1], check_finite=False)
    return found[0][::-1], found[1][:, ::-1]
