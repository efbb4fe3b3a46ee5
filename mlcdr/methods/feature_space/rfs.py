"""The feature step `rfs`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.reader import Problem, without_embedding
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
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
        problem = Problem(moments.rows()[0], np.ones(moments.n), self.alpha)
        return without_embedding(problem, label_sets(moments), self.tol, self.max_iter)
