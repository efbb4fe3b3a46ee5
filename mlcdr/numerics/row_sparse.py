"""ℓ2,1 norms by reweighted squares: the inner problems of the feature selectors with row-sparse coefficients.

‖A‖₂,₁ = Σ‖A_i‖₂ over rows. For any A₀ it is at most ½Σ(‖A_i‖²/‖A₀_i‖ + ‖A₀_i‖), with equality at A = A₀. So a step from
A₀ that decreases Σ H_ii‖A_i‖², H_ii = 1/(2‖A₀_i‖), decreases the norm. A row of zeros has no such weight; with
H_ii = ½/√(‖A₀_i‖² + ε) the same holds for Σ√(‖A_i‖² + ε), which is within √ε = 1.5e-8 a row of the norm. (The programs
of Sun 2017 do so.)
"""

from __future__ import annotations

from collections.abc import Callable
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
from mlcdr.numerics.linalg import DEPENDENT, IllConditioned
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


def penalised(X: Any, h: Array, penalty: Array, target: Array, quadratic: Array | None = None) -> Array:
    """W (d×k) that minimises Σ h_i‖W'x_i − t_i‖² + Σ penalty_j‖W_j‖² + Tr(WᵀQW), Q = `quadratic` (d×d) or 0.

    (XᵀHX + diag(penalty) + Q)⁻¹XᵀHT by Cholesky; where n < d and Q = 0, from the n×n side:
    P⁻¹Xᵀ(XP⁻¹Xᵀ + H⁻¹)⁻¹T. Cost: min(n, d)³/3 and a scatter. All h and penalties must be positive.
    """
    n, d = X.shape
    if quadratic is None and n < d:
        inner = (X @ (sp.diags_array(1 / penalty) @ X.T)).toarray() if sp.issparse(X) else (X / penalty) @ X.T
        return (X.T @ positive_solver(inner, 1 / h)(target)) / penalty[:, None]
    matrix = _lower_scatter(X, h)
    if quadratic is not None:
        matrix += quadratic.T  # in the same order in memory, and symmetric
    return positive_solver(matrix, penalty)(X.T @ (h[:, None] * target))


def positive_solver(matrix: Array, penalty: Array, sizes: Array | None = None) -> Operator:
    """B ↦ (A + diag(penalty))⁻¹B of a positive semidefinite A (d×d) and a penalty > 0; equilibrated, since weights
    differ widely.

    Only A's lower triangle is read. Where columns of A depend on others and the penalty is nothing beside them, a sum
    of the two has lost it, and a Cholesky factorisation fails or solves with rounding in its place. Then the solution
    is that of least squares with a root of A, of its rank, above one of the penalty: by QR. Cost: d³/3; there 13d³.

    Parameters
    ----------
    sizes : array of shape (d,) or None
        What the rounding in A's rows is relative to, where A is a difference: the diagonal before. None: A's own.
    """
    d = len(matrix)
    sizes = np.maximum(np.diag(matrix), 0.0) if sizes is None else sizes
    unit = 1 / np.sqrt(sizes + penalty)
    scaled = np.multiply(matrix, unit, order="F")
    scaled *= unit[:, None]
    shares = penalty * unit**2
    total = np.array(scaled, order="F")
    total[np.diag_indices(d)] += shares
    lower, info = lapack.dpotrf(total, lower=1, overwrite_a=1, clean=0)
    if info == 0 and np.min(np.diag(lower), initial=1.0) ** 2 > DEPENDENT:
        return lambda b: unit[:, None] * scipy.linalg.cho_solve((lower, True), unit[:, None] * b, check_finite=False)
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    kept = values > DEPENDENT * max(1.0, float(np.max(values)))
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    upper = scipy.linalg.qr(np.vstack([root, np.diag(np.sqrt(shares))]), mode="r", check_finite=False)[0][:d]

    def solve(b: Array) -> Array:
        half = scipy.linalg.solve_triangular(upper, unit[:, None] * b, trans="T", check_finite=False)
        return unit[:, None] * scipy.linalg.solve_triangular(upper, half, check_finite=False)

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
        inner = positive_solver(square, np.full(q, EPSILON * max(float(np.trace(square)) / q, 1.0)))

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
    outer = positive_solver(remaining, penalty, sizes)

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
