"""The learner `adaboost_mh`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, parameter
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.information import first_best


class AdaBoostMH(MultilabelClassifier):
    """AdaBoost.MH with decision stumps: boosting that reduces the Hamming loss of all labels at once.

    Source: Schapire & Singer 1999, *Improved boosting algorithms using confidence-rated predictions*, sections 4.1, 4.2
    and 7; Schapire & Singer 2000, *BoosTexter*, Figure 1 and section 4.1 (real-valued predictions).

    ŷ_l = [f_l(x) > 0], f = Σ_t h_t, where h_t(x) = c⁰ where x_m ≤ θ, else c¹ (K each): one stump for all labels.

    Weights D (n×K) begin equal and sum to 1. In each round, with W_b^jl the weight of label l, present (b = +) or
    absent (−), on the rows of side j, the stump is that with the smallest

        Z = 2 Σ_j Σ_l √(W₊^jl W₋^jl),        c^jl = ½ ln((W₊^jl + ε)/(W₋^jl + ε)),    ε = 1/(nK),

    and D is multiplied by exp(−(2y − 1)h_t(x)) and divided by its sum. The Hamming loss on the training rows is at most
    the product of the Z. Among equally good thresholds the first is taken, by feature, then ascending. A label's score
    is f_l(x). Cost of a round: 4K for each entry that is not in its feature's first bin (sparse: that is not 0), and
    10K for each threshold. Sparse rows stay sparse.

    Parameters
    ----------
    n_rounds : int
        Number of stumps.
    n_thresholds : int
        Thresholds of a feature, midpoints of neighbouring values: all if there are no more, else those that cut the
        rows into parts as equal as possible.

    Attributes
    ----------
    features_, thresholds_ : arrays of shape (n_rounds,)
        m and θ of each stump; where no feature varies, θ is infinite.
    votes_ : array of shape (n_rounds, 2, K)
        c⁰ and c¹.
    normalisers_ : array of shape (n_rounds,)
        What D was divided by.
    """

    n_rounds: int = parameter(100, COUNT)
    n_thresholds: int = parameter(64, COUNT)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        n_labels = Y.shape[1]
        bins = _Bins(X, self.n_thresholds)
        present = Y > 0
        weights = np.full(Y.shape, 1.0 / Y.size)
        smoothing = 1.0 / Y.size
        features, thresholds, votes, normalisers = [], [], [], []
        for _ in range(self.n_rounds):
            both = np.hstack([np.where(present, weights, 0.0), np.where(present, 0.0, weights)])
            left, total = bins.weights_below(both), both.sum(axis=0)
            right = np.maximum(total - left, 0.0)
            z = np.zeros(len(left))
            for side in (left, right):
                z += np.sqrt(side[:, :n_labels] * side[:, n_labels:]).sum(axis=1)
            best = first_best(-2.0 * z)
            sides = np.stack([left[best], right[best]]) + smoothing
            vote = 0.5 * np.log(sides[:, :n_labels] / sides[:, n_labels:])
            features.append(bins.features[best])
            thresholds.append(bins.thresholds[best])
            votes.append(vote)
            above = sums.dense(X[:, [features[-1]]])[:, 0] > thresholds[-1]
            weights *= np.exp(np.where(present, -1.0, 1.0) * vote[above.astype(np.intp)])
            normalisers.append(weights.sum())
            weights /= normalisers[-1]
        self.features_, self.thresholds_ = np.array(features), np.array(thresholds)
        self.votes_, self.normalisers_ = np.array(votes), np.array(normalisers)

    def _scores(self, X: Any) -> Array:
        by_column = sp.csc_array(X) if sp.issparse(X) else X
        above = sums.dense(by_column[:, self.features_]) > self.thresholds_
        return self.votes_[:, 0].sum(axis=0) + above @ (self.votes_[:, 1] - self.votes_[:, 0])


class _Bins:
    """The binned features: for each row and feature the number of thresholds below the value.

    An infinite threshold of the first feature is appended; all rows are below it.
    """

    def __init__(self, X: Any, most: int):
        """From rows X (n×d, dense or sparse). There is one bin above each threshold, and `member` holds these only."""
        n, d = X.shape
        by_column = sp.csc_array(X) if sp.issparse(X) else X
        rows, places, cuts, size = [], [], [], 0
        for m in range(d):
            column = sums.dense(by_column[:, [m]])[:, 0]
            found = _thresholds(column, most)
            code = np.searchsorted(found, column, side="left")  # how many thresholds are below
            there = np.flatnonzero(code)
            rows.append(there)
            places.append(size + code[there] - 1)
            cuts.append(found)
            size += len(found)
        index = np.concatenate(places), np.concatenate(rows)
        # of each feature and each of its bins but one the rows in it (s×n), and where each feature's bins end
        self.member = sp.csr_array((np.ones(len(index[0])), index), shape=(size, n))
        widths = np.array([len(found) for found in cuts], dtype=np.intp)
        self.ends = np.repeat(np.cumsum(widths), widths)
        self.features = np.append(np.repeat(np.arange(d), widths), 0)
        self.thresholds = np.append(np.concatenate(cuts), np.inf)

    def weights_below(self, weights: Array) -> Array:
        """The sums (s+1)×q of weights (n×q) over the rows that are not above each threshold."""
        total = weights.sum(axis=0)
        in_bin = self.member @ weights
        # above a threshold is what its bin and those after it hold: sums from each feature's end
        below_end = np.vstack([np.zeros_like(total), np.cumsum(in_bin, axis=0)])
        above = below_end[self.ends] - below_end[:-1]
        return np.vstack([np.maximum(total - above, 0.0), total])


def _thresholds(column: Array, most: int) -> Array:
    """Midpoints of neighbouring values (n,), ascending; `most` of them at most, at equal shares of the rows."""
    values, counts = np.unique(column, return_counts=True)
    middles = values[:-1] + (values[1:] - values[:-1]) / 2
    middles = np.where(middles < values[1:], middles, values[:-1])  # of neighbours that have nothing between them
    if len(middles) <= most:
        return middles
    goals = len(column) * np.arange(1, most + 1) / (most + 1)
    return middles[np.unique(np.minimum(np.searchsorted(np.cumsum(counts)[:-1], goals), len(middles) - 1))]
