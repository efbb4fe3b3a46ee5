"""The feature step `rfs`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import row_sparse
from mlcdr.numerics.moments import Moments


class RFS(RowSparseSelector):
    """Robust feature selection (RFS): a row-sparse regression on the labels that outliers pull less.

    Source: Nie, Huang, Cai & Ding 2010; Sun 2017 (thesis), equation (6.47).

    Scores ‖W_j‖₂ of the W (d×K) that minimises ‖XW − Y‖₂,₁ + α‖W‖₂,₁ (X n×d, Y n×K, neither centred).

    Convex, by reweighted least squares (`numerics.row_sparse`): the objective, with Σ√(‖·‖² + ε) for the norms, does
    not rise. It is READER without embedding (γ = 0) and manifold term (β = 0). Cost of an iteration: min(n, d)³/3 and a
    scatter.
    """

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        X, Y = moments.rows()[0], label_sets(moments)
        h, penalty = np.ones(X.shape[0]), np.full(X.shape[1], self.alpha**2)
        W = np.zeros((0, 0))

        def step() -> float:
            nonlocal W, h, penalty
            W = row_sparse.penalised(X, h, penalty, Y)
            residual = X @ W - Y
            h, penalty = row_sparse.weights(residual), row_sparse.weights(W, self.alpha)
            return row_sparse.norm(residual) + self.alpha * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective
