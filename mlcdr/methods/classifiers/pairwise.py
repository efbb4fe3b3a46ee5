"""The learner `pairwise`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.chains.links import Link
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.multilabel import Array, MetaClassifier
from mlcdr.numerics.moments import Moments


class CalibratedLabelRanking(MetaClassifier):
    """Calibrated label ranking (CLR): every pair of labels by itself, and a virtual label between relevant and
    irrelevant.

    Source: Fürnkranz, Hüllermeier, Loza Mencía & Brinker 2008, "Multilabel classification via calibrated label
    ranking".

    ŷ_k = 1 where label k gets more votes than the virtual label 0, with a vote for the winner of each pair.

    The model of the pair j < k is fitted to the instances that have just one of the two; it votes for j or for k. The
    model of the pair (k, 0) is binary relevance's model of k, on all instances. A pair without such instances gives
    half a vote to each. A label with as many votes as the virtual label is not predicted. A score is the difference of
    the votes, divided by K. Cost: K(K + 1)/2 fits of the estimator, to Σ_i |y_i|(K − |y_i|) + nK rows together.

    Parameters
    ----------
    estimator : estimator or None
        The model of a pair: a regressor, which decides at ½, or a binary classifier. None: least squares.

    Attributes
    ----------
    links_ : list of Link
        Binary relevance's models.
    pairs_ : dict
        (j, k) with j < k: the pair's model, positive where j is preferred.
    """

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set, with its rows."""
        self._begin(moments)
        estimator = self._own_estimator()
        self.n_labels_ = moments.n_labels
        self.links_ = [Link.fitted(estimator, moments, k) for k in range(self.n_labels_)]
        self.pairs_ = {}
        X, Y = moments.rows()
        Y = as_dense(Y).astype(np.float64)
        for j in range(self.n_labels_):
            for k in range(j + 1, self.n_labels_):
                rows = np.flatnonzero(Y[:, j] != Y[:, k])
                if len(rows):
                    self.pairs_[j, k] = Link.fitted(estimator, Moments.from_arrays(X[rows], Y[rows, j : j + 1]), 0)
        return self

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes (n×(K + 1)) of checked rows X (n×d); the last column is the virtual label's."""
        total = np.zeros((X.shape[0], self.n_labels_ + 1))
        for k, link in enumerate(self.links_):
            there = link.score(X) > 0
            total[:, k] += there
            total[:, -1] += ~there
        for j in range(self.n_labels_):
            for k in range(j + 1, self.n_labels_):
                first = self.pairs_[j, k].score(X) > 0 if (j, k) in self.pairs_ else 0.5
                total[:, j] += first
                total[:, k] += 1.0 - first
        return total

    def _scores(self, X: Any) -> Array:
        votes = self.votes(X)
        return (votes[:, :-1] - votes[:, -1:]) / self.n_labels_
