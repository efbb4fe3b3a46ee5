"""The feature step `mdfs`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, parameter
from mlcdr.methods.feature_space.linear import eigen, label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import conjugate_gradients


class MDFS(RowSparseSelector):
    """Manifold regularised discriminative feature selection (MDFS): labels smoothed over near rows and near labels.

    Source: Zhang, Luo, Li, Zhou & Li 2019, *Manifold regularized discriminative feature selection for multi-label
    learning* (Pattern Recognition 95), with the graphs of the authors' program.

    Scores ‖W_j‖₂ of min Tr(FᵀLF) + α‖H(XW − F)‖² + α‖F − Y‖² + βTr(FL₀Fᵀ) + γ‖W‖₂,₁ over W (d×K) and F (n×K).

    L (n×n) is the Laplacian of the graph of nearest rows of X (n×d), L₀ (K×K) that of nearest labels (columns of Y, of
    {0, 1}), with weights as in `numerics.graphs.neighbour_graph`; H = I − 11ᵀ/n stands for an intercept, so that
    constants in X do not count. Jointly convex: F and W are solved for in turn, and the objective, with Σ√(‖·‖² + ε)
    for the norm, does not rise (`numerics.row_sparse`). With L₀ = VΣVᵀ, the equations of F,
    (L + αH + αI)F + βFL₀ = αHXW + αY, are one sparse system for each column of FV.

    With labels of ±1, as the authors' program may have them, W is twice that of γ/2 here. Much of the objective depends
    on no W, so that the ranking needs a small `tol`. A constant label is kept, since the graph of labels moves its
    column of F; a constant feature has score 0. Cost: n²d for the graph; of an iteration min(n, d)³/3, and some ten to
    a hundred products of L with F, for F by conjugate gradients (to 1e-12); S is shared.

    Parameters
    ----------
    alpha, beta, gamma : float
        α > 0, β ≥ 0 and γ > 0.
    n_neighbors : int
        Neighbours of a row (all others, where there are fewer). The authors' program has K − 1.
    n_label_neighbors : int or None
        Neighbours of a label; None: all others, as in the authors' program.
    """

    beta: float = parameter(1.0, NOT_NEGATIVE)
    gamma: float = parameter(1.0, POSITIVE)
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    n_label_neighbors: int | None = parameter(None, [*COUNT, None], at_most="labels")
    tol: float = parameter(1e-7, NOT_NEGATIVE, last=True)

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        Y = label_sets(moments)
        n, d = moments.n, moments.n_features
        laplacian = graphs.laplacian(self._row_graph(moments))
        of_labels = graphs.laplacian(self._label_graph(Y)).toarray()
        values, V = eigen(of_labels)
        smoothing = self.beta * np.maximum(values, 0.0)

        X, moved = moments.rows_less_offsets()
        origin = moments.mean_x - moved
        regression = row_sparse.Penalised(X, scatter=moments.xx_lower if n >= d else None, origin=origin)
        ones, penalty = np.ones(n), np.full(d, self.gamma / self.alpha)
        W, F = np.zeros((d, moments.n_labels)), Y
        image = X @ W - origin @ W  # HXW

        def step() -> float:
            nonlocal W, F, image, penalty
            F = self._smooth(self.alpha * (image + Y) @ V, smoothing, laplacian, F @ V) @ V.T
            W = regression.solve(ones, penalty, F)
            image = X @ W - origin @ W
            penalty = self.gamma / self.alpha * row_sparse.weights(W)
            fit = np.sum((image - (F - F.mean(axis=0))) ** 2) + np.sum((F - Y) ** 2)
            smoothness = np.sum(F * (laplacian @ F)) + self.beta * np.sum((F @ of_labels) * F)
            return float(self.alpha * fit + smoothness) + self.gamma * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective

    def _row_graph(self, moments: Moments) -> sp.csr_array:
        """That of L (n×n)."""
        k = self.n_neighbors
        return moments.once(("neighbour graph", k), lambda: graphs.neighbour_graph(moments.rows()[0], k))

    def _label_graph(self, Y: Array) -> sp.csr_array:
        """That of L₀ (K×K)."""
        k = Y.shape[1] if self.n_label_neighbors is None else self.n_label_neighbors
        return graphs.neighbour_graph(np.ascontiguousarray(Y.T), k)

    def _smooth(self, right: Array, smoothing: Array, laplacian: Any, near: Array) -> Array:
        """F (n×K) that solves (L + αH + αI)F + F diag(`smoothing`) = `right`, from an F that is near.

        On what has mean 0 αH is αI, which conjugate gradients use for all; the means, where L and αH are 0, are put
        right in the end.
        """
        with_centring = 2.0 * self.alpha + smoothing

        def times(flat: Array) -> Array:
            F = flat.reshape(right.shape)
            return (with_centring * F + laplacian @ F).reshape(-1, 1)

        diagonal = with_centring + laplacian.diagonal()[:, None]
        start = near.reshape(-1, 1)
        found = conjugate_gradients(times, diagonal.ravel(), right.reshape(-1, 1), 1e-12, start=start)
        return found.reshape(right.shape) + right.mean(axis=0) * (1.0 / (self.alpha + smoothing) - 1.0 / with_centring)
