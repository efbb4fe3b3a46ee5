"""The learner `lift`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from mlcdr.methods.chains.links import Link
from mlcdr.methods.constraints import COUNT, FRACTION, SEED, parameter
from mlcdr.methods.multilabel import Array, MetaClassifier
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import less, less_offsets, total, with_short_indices


class LIFT(MetaClassifier):
    """LIFT: label-specific features, the distances to clusters of a label's positive and negative instances.

    Source: Zhang & Wu 2015, "LIFT: multi-label learning with label-specific features".

    φ_k(x) = [d(x, p_1), …, d(x, p_m), d(x, n_1), …, d(x, n_m)] for label k, and a model of the label on φ_k(x).

    p_1, …, p_m are the centres of m clusters of the label's positive instances P, n_1, …, n_m those of its negative
    ones N, by k-means, one run of each, and m = ⌈r min(|P|, |N|)⌉. d is the Euclidean distance. A label that is
    constant in the training set is predicted with that value. Cost: 2K runs of k-means, and nd·2m for the distances of
    a label; its centres are kept (2m×d).

    Parameters
    ----------
    estimator : estimator or None
        The model of a label: a regressor, which decides at ½, or a binary classifier (the paper's is a linear SVM).
        None: least squares.
    ratio : float
        r.
    max_iter : int
        Steps of k-means at most.
    random_state : int, RandomState instance or None
        Draws the first centres.

    Attributes
    ----------
    centres_ : list of arrays
        For each label its 2m centres (2m×d); none where the label is constant.
    links_ : list of Link
        The models.
    n_iter_ : int
        The most steps that a run of k-means took.
    """

    ratio: float = parameter(0.1, FRACTION)
    max_iter: int = parameter(100, COUNT)
    random_state: Any = parameter(None, SEED)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        estimator = self._own_estimator()
        rng = check_random_state(self.random_state)
        self.centres_, self.links_, self.n_iter_ = [], [], 0
        # distances are found from squares, in which a large offset would hide them
        X, self._origin = less_offsets(X, total(X) / X.shape[0])
        X = with_short_indices(X)
        for y in Y.T:
            positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y <= 0)
            fewer = min(len(positive), len(negative))
            if fewer == 0:
                self.centres_.append(np.zeros((0, X.shape[1])))
                self.links_.append(Link.of_constant_label(estimator, y[0]))
                continue
            m = n_kept(float(self.ratio), fewer, "ceiling")
            centres = np.vstack([self._centres(X[rows], m, rng) for rows in (positive, negative)])
            distances = euclidean_distances(X, centres)
            self.centres_.append(centres + self._origin)
            self.links_.append(Link.fitted(estimator, Moments.from_arrays(distances, y[:, None]), 0))

    def _centres(self, X: Any, m: int, rng: np.random.RandomState) -> Array:
        """The centres (m×d) of m clusters of the rows."""
        seed = rng.randint(np.iinfo(np.int32).max)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters: equal centres
            found = KMeans(m, init="random", n_init=1, max_iter=self.max_iter, random_state=seed).fit(X)
        self.n_iter_ = max(self.n_iter_, found.n_iter_)
        return np.asarray(found.cluster_centers_, dtype=np.float64)

    def _scores(self, X: Any) -> Array:
        X = with_short_indices(less(X, self._origin))
        columns = [
            link.score(euclidean_distances(X, centres - self._origin) if len(centres) else X)
            for centres, link in zip(self.centres_, self.links_, strict=True)
        ]
        return np.column_stack(columns)
