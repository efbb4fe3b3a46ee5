"""The feature step `csfs`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mlcdr.methods.constraints import POSITIVE, parameter
from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import row_sparse
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense, row_squares


class CSFS(RowSparseSelector):
    """Convex semi-supervised feature selection (CSFS): a row-sparse regression that fills in the labels it lacks.

    Source: Chang, Nie, Yang & Huang 2014 (AAAI); Sun 2017 (thesis), equation (6.48), which has no intercept.

    Scores ‖W_j‖₂ of the W (d×K) of min Σ_i c_i‖Wᵀx_i − ỹ_i‖² + α‖W‖₂,₁ over W and 0 ≤ ỹ_i ≤ 1.

    The sum is over labelled rows, with c_i = 1 and ỹ_i = y_i, and unlabelled ones, with c_i = s and ỹ_i free: in turn
    ỹ_i is Wᵀx_i clipped to [0, 1], and W a weighted ridge regression on X̃ (N×d, not centred). Jointly convex; the
    objective, with Σ√(‖·‖² + ε) for the norm, does not rise (`numerics.row_sparse`). The unlabelled begin at ỹ = 0.
    Cost of an iteration: d³/3 (or N³/3 if smaller) and NdK; the scatter of X̃ is made once.

    Parameters
    ----------
    unlabelled_weight : float
        s > 0.
    """

    uses_unlabelled: ClassVar[bool] = True

    unlabelled_weight: float = parameter(0.1, POSITIVE)

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        X, Y, unlabelled = moments.rows()[0], label_sets(moments), moments.unlabelled
        n, d = X.shape
        rows = X if unlabelled is None else row_sparse.stacked(X, unlabelled)
        c = np.where(np.arange(rows.shape[0]) < n, 1.0, self.unlabelled_weight)
        filled = np.vstack([Y, np.zeros((rows.shape[0] - n, Y.shape[1]))])
        scatter = row_sparse.weighted_scatter(rows, c) if rows.shape[0] >= d else None
        regression = row_sparse.Penalised(rows, scatter=scatter)
        penalty = np.full(d, self.alpha)
        W = np.zeros((0, 0))

        def step() -> float:
            nonlocal W, penalty
            W = regression.solve(c, penalty, filled)
            predicted = dense(rows @ W)
            filled[n:] = np.clip(predicted[n:], 0.0, 1.0)
            penalty = self.alpha * row_sparse.weights(W)
            return float(c @ row_squares(predicted - filled)) + self.alpha * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective
