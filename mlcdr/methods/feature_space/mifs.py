"""The feature step `mifs`."""

from __future__ import annotations

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
from mlcdr.numerics.operators import conjugate_gradients


class MIFS(RowSparseSelector):
    """Multi-label informed feature selection (MIFS): a row-sparse regression on a latent space of the labels.

    Source: Jian, Li, Shu & Liu 2016 (IJCAI); Sun 2017 (thesis), equation (6.49).

    Scores ‖W_j‖₂ of min ‖XW − V‖² + α‖W‖₂,₁ + β‖Y − VPᵀ‖² + γTr(VᵀL_xV) over W (d×k), V (n×k) and P (K×k).

    L_x is the Laplacian of the graph of neighbours of the labelled rows X (n×d, not centred). W, V and P are solved for
    in turn: V's equations V + γL_xV + βVPᵀP = XW + βYP decompose into one sparse system for each eigenvector of PᵀP.
    The objective, with Σ√(‖·‖² + ε) for the norm, does not rise (`numerics.row_sparse`). But it has no useful minimum:
    as V shrinks to 0 and P grows, all terms but the third go to 0. So the result depends on the start, the k leading
    singular vectors of Y, V = U_k S_k, and on `tol`. (The papers use gradient descent from a random start.) Cost of an
    iteration: min(n, d)³/3, a scatter where n < d, and some ten to a hundred products of L_x with V, for V by conjugate
    gradients (to 1e-10).

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
        V = _leading_codes(Y, n_kept(self.n_components, moments.n_labels))
        W = np.zeros((d, V.shape[1]))
        ones, penalty = np.ones(n), np.full(d, self.alpha)
        scatter = (
            moments.once("scatter of raw features", lambda: row_sparse.weighted_scatter(X, ones)) if n >= d else None
        )

        def step() -> float:
            nonlocal V, W, penalty
            P = scipy.linalg.lstsq(V, Y)[0].T
            if scatter is None:
                W = row_sparse.penalised(X, ones, penalty, V)
            else:
                W = row_sparse.positive_solver(scatter + np.diag(penalty))(X.T @ V)
            V = self._codes(X @ W, Y, P, laplacian)
            penalty = self.alpha * row_sparse.weights(W)
            value = np.sum((X @ W - V) ** 2) + self.beta * np.sum((Y - V @ P.T) ** 2)
            smoothness = self.gamma * np.sum(V * (laplacian @ V))
            return float(value + smoothness) + self.alpha * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective

    def _codes(self, image: Array, Y: Array, P: Array, laplacian: Any) -> Array:
        """V (n×k) that is best for XW = `image` (n×k) and P (K×k)."""
        values, vectors = scipy.linalg.eigh(P.T @ P)
        own = 1 + self.beta * np.maximum(values, 0.0)
        right = (image + self.beta * Y @ P) @ vectors

        def times(codes: Array) -> Array:
            codes = codes.reshape(right.shape)
            return (own * codes + self.gamma * (laplacian @ codes)).reshape(-1, 1)

        diagonal = own + self.gamma * laplacian.diagonal()[:, None]
        codes = conjugate_gradients(times, diagonal.ravel(), right.reshape(-1, 1), 1e-10)
        return codes.reshape(right.shape) @ vectors.T


def _leading_codes(Y: Array, k: int) -> Array:
    """U_k S_k (n×k) of Y = U S Vᵀ, up to the rank of Y (1 at least)."""
    left, sizes, _ = scipy.linalg.svd(Y, full_matrices=False)
    rank = int(np.count_nonzero(sizes > 1e-10 * max(float(sizes[0]), 1.0)))
    kept = max(1, min(k, rank))
    return left[:, :kept] * sizes[:kept]
