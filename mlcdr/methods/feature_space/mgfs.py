"""The feature step `mgfs`."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils._param_validation import Interval

from mlcdr.methods.constraints import parameter
from mlcdr.methods.feature_space.linear import dependence
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import conjugate_gradients


class MGFS(FeatureSelector):
    """Multi-label graph-based feature selection (MGFS): PageRank of features in a graph of how unlike they are.

    Source: Hashemi, Dowlatshahi & Nezamabadi-pour 2020, *MGFS: A multi-label graph-based feature selection algorithm
    via PageRank centrality* (Expert Systems with Applications 142); PageRank is of Brin & Page 1998.

    Scores π (d,), π = δPᵀπ + (1 − δ)/d, P_ij = E_ij/Σ_l E_il, E_ij = ‖R_i − R_j‖, R_jk = 1 − ρ(X_j, Y_k) (d×K).

    ρ is the correlation of a feature and a label, to 12 digits. A feature whose correlations are unlike those of the
    others ranks high, whatever their size. A constant feature or label has correlation 0 here (the authors' program
    puts R = 0 there, as for a feature that is the label itself). Where no two features differ, all scores are 1/d. They
    are rounded to 12 digits of 1/d, so that copies of a feature are equal.

    With π = Dx, D the diagonal of E's row sums, (D − δE)x = (1 − δ)/d is symmetric and positive definite. Cost: that of
    C, d²K, and some tens of products with E (d×d).

    Parameters
    ----------
    damping : float
        δ, 0 ≤ δ < 1: how often the walk follows an edge.
    """

    damping: float = parameter(0.85, [Interval(Real, 0, 1, closed="left")])

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        features, labels = inverse_root(moments.spread()), inverse_root(moments.label_spread())
        correlation = np.round(features[:, None] * dependence(moments) * labels, 12)  # copies have distance 0
        unlike = cdist(correlation, correlation)
        return pagerank(unlike, self.damping), {}


def pagerank(weights: Array, damping: float) -> Array:
    """The stationary probabilities (d,) of a walk on an undirected graph of these weights (d×d), rounded; sum 1."""
    d = len(weights)
    degrees = weights.sum(axis=1)
    if not degrees.any():
        return np.full(d, 1.0 / d)

    def times(x: Array) -> Array:
        return degrees[:, None] * x - damping * (weights @ x)

    x = conjugate_gradients(times, degrees, np.full((d, 1), 1.0 - damping))
    return np.round(degrees * x[:, 0], 12) / d
