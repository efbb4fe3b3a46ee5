"""Symmetric matrices used only through their products: eigenvectors and solutions without forming them.

Where n and d are both large, no square matrix of either size is wanted: `lanczos` and `conjugate_gradients` use S only
as v ↦ Xᵀ(Xv).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mlcdr.numerics import linalg

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]  # A (d×q) ↦ GA (d×q)
# Of the smaller side; below, a factorisation is quicker than conjugate gradients, and all methods share it.
GRADIENTS_FROM = 15000


def scatter_operator(X: Any, origin: Array) -> Operator:
    """A ↦ SA, S the scatter of the rows X (n×d, dense or sparse) about `origin`. Cost: 4ndq, or 4 nnz(X)·q."""

    def times(a: Array) -> Array:
        image = X @ a - origin @ a
        return X.T @ image - np.outer(origin, image.sum(axis=0))

    return times


@dataclass(frozen=True)
class Cross:
    """C = Σ(x−x̄)(y−ȳ)ᵀ (d×K) as an operator; sparse X and Y leave the sparse XᵀY and a product of means."""

    product: Any  # XᵀY (d×K), sparse
    means: Array  # n x̄ (d,)
    mean_y: Array

    @classmethod
    def from_rows(cls, X: Any, mean_x: Array, Y: Any, mean_y: Array) -> Cross:
        """From CSR matrices X (n×d) and Y (n×K). Cost: Σ nnz(x)·nnz(y), and as many entries at most."""
        product = sp.csr_array(X.T.astype(np.float64) @ Y.astype(np.float64))
        return cls(product, X.shape[0] * mean_x, mean_y)

    def times(self, a: Array) -> Array:
        """CA (d×q) of A (K×q)."""
        return self.product @ a - np.outer(self.means, self.mean_y @ a) if a.ndim > 1 else self.times(a[:, None])[:, 0]

    def transposed(self, a: Array) -> Array:
        """CᵀA (K×q) of A (d×q)."""
        return self.product.T @ a - np.outer(self.mean_y, self.means @ a)

    def squared_norm(self) -> float:
        """Σ C²."""
        mixed = float(self.means @ (self.product @ self.mean_y))
        return float((self.product**2).sum()) - 2 * mixed + float(self.means @ self.means * (self.mean_y @ self.mean_y))


def lanczos(times: Operator, size: int, n: int) -> tuple[Array, Array]:
    """The `n` < `size` algebraically largest eigenvalues of a symmetric operator, descending, with columns of vectors.

    To rounding, by ARPACK's implicitly restarted Lanczos iteration from a fixed start. Cost: some multiple of n
    products with the operator, and size·n² for each restart; a fraction of it more to check that none is missed.

    Raises
    ------
    linalg.IllConditioned
        When it does not converge, as with clustered eigenvalues, or misses some, as with multiple ones.
    """

    def apply(v: Array) -> Array:
        return times(v.reshape(size, -1))

    operator = LinearOperator((size, size), matvec=lambda v: apply(v)[:, 0], matmat=apply, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    try:
        values, vectors = eigsh(operator, k=n, which="LA", v0=start, ncv=min(size, max(2 * n + 1, 40)))
        missing = linalg.overlooked(times, values, vectors, float(np.abs(values).max()))
    except ArpackNoConvergence as error:
        raise linalg.IllConditioned(f"the Lanczos iteration does not converge: {error}") from error
    if missing:
        raise linalg.IllConditioned("the Lanczos iteration overlooks some of an eigenvalue that repeats: solve densely")
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def conjugate_gradients(
    times: Operator,
    diagonal: Array,
    right: Array,
    tolerance: float = 1e-14,
    most: int = 5000,
    start: Array | None = None,
) -> Array:
    """A⁻¹B (d×q) for positive definite A, given as an operator, and its diagonal, by which it is preconditioned.

    `start` (d×q; None: 0) is where the iteration begins, but for columns of B that are 0.

    A column is done when its residual is below `tolerance` of B's, in the norm of diag(A)⁻¹. Cost: products with A,
    about √κ·16 of them, κ the condition of A at unit diagonal.

    Raises
    ------
    linalg.IllConditioned
        When a column is not done after `most` rounds.
    """
    inverse = 1 / diagonal[:, None]
    goal = tolerance**2 * np.sum(right * (inverse * right), axis=0)
    solution = np.zeros_like(right) if start is None else np.where(goal > 0, start, 0.0)
    residual = right.copy() if start is None else right - times(solution)
    direction = inverse * residual
    energy = np.sum(residual * direction, axis=0)
    for _ in range(most):
        going = energy > goal
        if not going.any():
            return solution
        active = slice(None) if going.all() else np.flatnonzero(going)  # a slice copies nothing
        image = times(direction[:, active])
        step = energy[active] / np.sum(direction[:, active] * image, axis=0)
        solution[:, active] += step * direction[:, active]
        residual[:, active] -= step * image
        scaled = inverse * residual[:, active]
        after = np.sum(residual[:, active] * scaled, axis=0)
        direction[:, active] = scaled + (after / energy[active]) * direction[:, active]
        energy[active] = after
    raise linalg.IllConditioned(f"conjugate gradients do not converge in {most} rounds")
