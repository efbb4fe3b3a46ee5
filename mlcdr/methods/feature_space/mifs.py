"""The feature step `mifs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, SIZE, parameter
from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

_DENSE = 3000  # rows up to which the graph's eigenvectors are computed


class MIFS(RowSparseSelector):
    """Multi-label informed feature selection (MIFS): a row-sparse regression on a latent space of the labels.

    Source: Jian, Li, Shu & Liu 2016 (IJCAI); Sun 2017 (thesis), equation (6.49).

    Scores ‖W_j‖₂ of min ‖XW − V‖² + α‖W‖₂,₁ + β‖Y − VPᵀ‖² + γTr(VᵀL_xV) over W (d×k), V (n×k) and P (K×k).

    L_x is the Laplacian of the graph of neighbours of the labelled rows X (n×d, not centred). W, V and P are solved for
    in turn, each exactly: V's equations V + γL_xV + βVPᵀP = XW + βYP part into one sparse system for each eigenvector
    of PᵀP. The objective, with Σ√(‖·‖² + ε) for the norm, does not rise (`numerics.row_sparse`). But it has no minimum
    worth having: with V shrinking to 0 and P growing all terms but the third go to 0, so that what is found depends on
    the start, the k leading singular vectors of Y, V = U_k S_k, and on `tol`. (The papers descend along gradients, from
    a random start.) Cost of an iteration: min(n, d)³/3, a scatter, and 4n²k after the eigenvectors of L_x (9n³, once
    for a training set); above 3,000 rows k sparse factorisations.

    Parameters
    ----------
    alpha, beta, gamma : float
        α > 0, β > 0 and γ ≥ 0.
    n_components : int, float or None
        k: an int, a fraction of the labels (max(1, ⌊pK⌋)), or None for as many as labels; no more than the rank of Y.
    n_neighbors : int
        Neighbours in the graph (all others, where there are fewer).
    sigma : float
        σ of its weights exp(−d²/σ²).
    """

    sizes_of_labels: ClassVar[tuple[str, ...]] = ("n_components",)  # parameters that count dimensions of label sets

    beta: float = parameter(1.0, POSITIVE)
    gamma: float = parameter(1.0, NOT_NEGATIVE)
    n_components: float | int | None = parameter(0.3, SIZE)
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    sigma: float = parameter(1.0, POSITIVE)

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        X, Y = moments.rows()[0], label_sets(moments)
        n, d = X.shape
        graph = moments.once(
            ("graph of labelled rows", self.n_neighbors, self.sigma),
            lambda: graphs.heat_graph(X, self.n_neighbors, self.sigma),
        )
        laplacian = graphs.laplacian(graph)
        solve = moments.once(
            ("solver of the graph of labelled rows", self.n_neighbors, self.sigma),
            lambda: _solver_of_codes(laplacian),
        )
        V = _leading_codes(Y, n_kept(self.n_components, moments.n_labels))
        W = np.zeros((d, V.shape[1]))
        h, penalty = np.ones(n), np.full(d, self.alpha)

        def step() -> float:
            nonlocal V, W, penalty
            P = scipy.linalg.lstsq(V, Y)[0].T
            W = row_sparse.penalised(X, h, penalty, V)
            V = self._codes(X @ W, Y, P, solve)
            penalty = self.alpha * row_sparse.weights(W)
            value = np.sum((X @ W - V) ** 2) + self.beta * np.sum((Y - V @ P.T) ** 2)
            smoothness = self.gamma * np.sum(V * (laplacian @ V))
            return float(value + smoothness) + self.alpha * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective

    def _codes(self, image: Array, Y: Array, P: Array, solve: Callable[[Array, float, Array], Array]) -> Array:
        """V (n×k) that is best for XW = `image` (n×k) and P (K×k)."""
        values, vectors = scipy.linalg.eigh(P.T @ P)
        right = (image + self.beta * Y @ P) @ vectors
        return solve(1 + self.beta * np.maximum(values, 0.0), self.gamma, right) @ vectors.T


def _solver_of_codes(laplacian: Any) -> Callable[[Array, float, Array], Array]:
    """(c, γ, B) ↦ the columns (c_i I + γL)⁻¹b_i, for c > 0 (k,) and B (n×k), with L a sparse Laplacian (n×n).

    Up to 3,000 rows from L = QΛQᵀ, once: Q((QᵀB)_ji / (γλ_j + c_i)), which costs 4n²k; else k sparse factorisations.
    """
    n = laplacian.shape[0]
    if n > _DENSE:

        def solve(c: Array, weight: float, B: Array) -> Array:
            solvers = (row_sparse.graph_solver(np.full(n, shift), weight * laplacian) for shift in c)
            return np.column_stack([solver(b) for solver, b in zip(solvers, B.T, strict=True)])

        return solve
    values, vectors = scipy.linalg.eigh(laplacian.toarray(), overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0.0)[:, None]
    return lambda c, weight, B: vectors @ ((vectors.T @ B) / (weight * values + c))


def _leading_codes(Y: Array, k: int) -> Array:
    """U_k S_k (n×k) of Y = U S Vᵀ, up to the rank of Y (1 at least)."""
    left, sizes, _ = scipy.linalg.svd(Y, full_matrices=False)
    rank = int(np.count_nonzero(sizes > 1e-10 * max(float(sizes[0]), 1.0)))
    kept = max(1, min(k, rank))
    return left[:, :kept] * sizes[:kept]
