"""The feature step `pmu`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.feature_space.d2f import D2F
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import conditional_on
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
        X, Y = self._variables(moments)
        informative = self._information(moments)
        interaction = np.zeros(len(X))
        for j in range(1, len(Y)):
            interaction += (informative[:, :j] - conditional_on(X, Y.take(np.arange(j)), Y.take([j]))).sum(axis=1)
        return informative.sum(axis=1) - interaction
