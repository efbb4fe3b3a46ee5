"""The feature step `relieff`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import manhattan_distances

from mlcdr.methods.constraints import COUNT, parameter
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.neighbours import mark_nearest
from mlcdr.numerics.sums import dense, inverse_ranges, with_short_indices

_DISTANCES = 2**21  # at a time
_DIFFERENCES = 2**22


class ReliefF(FeatureSelector):
    """ReliefF: features that differ between near instances with and without a label, and not among those with it.

    Source: Kononenko 1994; Spolaôr, Cherman, Monard & Lee 2013 (labels one by one, scores averaged).

    Scores 1/K Σ_j 1/n Σ_i ( mean_(r ∈ M_ij) δ_m(i, r) − mean_(r ∈ H_ij) δ_m(i, r) ) of the features m.

    H_ij and M_ij are the k nearest of the other instances that agree and that disagree with i on label j (fewer, if
    there are not so many), by Σ_m δ_m, with δ_m(i, r) = |x_im − x_rm| / (max x_m − min x_m), 0 for a constant feature.
    Of instances equally near, the first in the data set are taken. With two classes this is Kononenko's ReliefF with
    all instances as the sample. A label that is constant does not count. Cost: n²d for the distances, n²K to select,
    and 2nkKd; no n×n matrix is kept.

    Parameters
    ----------
    n_neighbors : int
        k (all others, where there are fewer).
    """

    n_neighbors: int = parameter(10, COUNT, at_most="rows")

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        X, Y = moments.rows()
        labels = dense(Y) > 0
        labels = labels[:, labels.any(axis=0) & ~labels.all(axis=0)]
        unit = inverse_ranges(X)
        scaled = sp.csr_array(X @ sp.diags_array(unit)) if sp.issparse(X) else (X - X.min(axis=0)) * unit
        scaled = with_short_indices(scaled)
        scores = np.zeros(X.shape[1])
        step = max(1, _DISTANCES // X.shape[0])
        for start in range(0, X.shape[0], step):
            block = np.arange(start, min(start + step, X.shape[0]))
            distances = manhattan_distances(scaled[block], scaled)
            distances = np.round(distances, 9)
            distances[np.arange(len(block)), block] = np.inf
            weights = np.zeros_like(distances)
            for label in labels.T:
                agrees = label[block][:, None] == label
                for among, sign in ((agrees, -1.0), (~agrees, 1.0)):
                    self._weigh(weights, np.where(among, distances, np.inf), sign)
            scores += _weighted_differences(scaled, block, weights)
        return scores / (X.shape[0] * max(labels.shape[1], 1)), {}

    def _weigh(self, weights: Array, distances: Array, sign: float) -> None:
        """Add ±1/k at the k nearest of each row that are at a finite distance."""
        chosen = mark_nearest(distances, min(self.n_neighbors, distances.shape[1])) & np.isfinite(distances)
        found = chosen.sum(axis=1, keepdims=True)
        weights += sign * chosen / np.maximum(found, 1)


def _weighted_differences(X: Any, block: Any, weights: Array) -> Array:
    """Σ w_ir |x_i − x_r| (d,) over the rows i of a block and all rows r."""
    i, r = np.nonzero(weights)
    total = np.zeros(X.shape[1])
    step = max(1, _DIFFERENCES // X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        apart = abs(X[block[i[part]]] - X[r[part]])
        total += apart.T @ weights[i[part], r[part]]
    return total
