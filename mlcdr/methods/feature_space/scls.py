"""The feature step `scls`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import entropy, mutual_information
from mlcdr.numerics.moments import Moments


class SCLS(GreedySelector):
    """Scalable criterion for a large label set (SCLS): redundancy as a share of the relevance.

    Source: Lee & Kim 2017, *SCLS: Multi-label feature selection based on scalable criterion for large label set*
    (Pattern Recognition 66).

    Greedy: the next feature maximises R(f) − Σ_(s ∈ S) I(f; X_s)/H(f) · R(f), R(f) = Σ_j I(f; Y_j).

    S are those chosen. A constant feature has relevance 0, and no redundancy. No label enters the redundancy, so the
    cost does not grow with K there: the counts of all pairs of features, and of features and labels.
    """

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        X = self._variables(moments)[0]
        own, relevance = entropy(X), self._relevance(moments)
        per_bit = np.divide(relevance, own, out=np.zeros_like(own), where=own > 0)
        return lambda s: -mutual_information(X.take([s]), X)[0] * per_bit
