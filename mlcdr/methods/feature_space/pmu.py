"""The feature step `pmu`."""

from __future__ import annotations

from mlcdr.methods.feature_space.d2f import D2F
from mlcdr.methods.feature_space.interaction import pair_interaction
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.moments import Moments


class PMU(D2F):
    """PMU: D2F less the interaction of a feature with each pair of labels.

    Source: Lee & Kim 2013, *Feature selection for multi-label classification using multivariate mutual information*
    (Pattern Recognition Letters 34).

    Greedy: D2F's score less Σ_({i,j}) I(f; Y_i; Y_j), I(f; Y_i; Y_j) = I(f; Y_i) − I(f; Y_i | Y_j).

    In the expansion of I(S; Y_1, …, Y_K) by interactions, the terms of three variables are sums over sets, so each pair
    of labels counts once; with one feature and two labels the score is I(f; Y_1, Y_2) exactly. Programs that sum over
    all (i, j), equal ones included, count each pair twice and subtract the relevance. Cost: D2F's, and K² d look-ups of
    counts, once.
    """

    def _relevance(self, moments: Moments) -> Array:
        return self._information(moments).sum(axis=1) - pair_interaction(moments, self.discretise)
