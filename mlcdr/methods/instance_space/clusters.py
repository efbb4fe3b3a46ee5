"""The base of the decompositions by clusters of instances: clusters, a classifier for each, and the nearest centre."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods

from mlcdr.methods.chains.binary_relevance import of_label_sets
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.constraints import COUNT, ESTIMATOR, SEED, parameter
from mlcdr.methods.contracts import as_dense, fit_label_sets
from mlcdr.methods.multilabel import Array, MultilabelClassifier, answer, seeded, with_part
from mlcdr.numerics.kmeans import SingleStartKMeans, means_of, nearest_centre
from mlcdr.numerics.moments import Moments

Index = NDArray[np.intp]

_ABSENT = -0.5  # the score of a label that no row of the cluster has


class ClusteredClassifier(MultilabelClassifier):
    """Base of the methods that give each cluster of instances a classifier of its own.

    A new instance goes to the cluster with the nearest mean (Euclidean distance), whatever made the clusters. A label
    that no row of a cluster has is never predicted there, and the cluster's classifier does not see it. Training rows
    without labels have no part in the clusters; those nearest to a cluster's mean go to its classifier, for the parts
    that learn from such rows.

    Parameters
    ----------
    classifier : estimator or None
        The multi-label classifier of a cluster; in a config, what the other keys of the method make. Binary relevance
        is made of a regressor or a binary classifier. None: a classifier chain in random order, of ridge regressions
        with α = 0.1 and a penalised intercept.
    n_clusters : int
        K; where there are fewer rows, as many as rows.
    clusterer : estimator or None
        Any clusterer of scikit-learn's contract; its own `n_clusters` is set to K, if it has one. Rows that it leaves
        out (label −1) join the nearest mean. None: k-means with one start (`numerics.kmeans`).
    random_state : int, RandomState or None
        Seed of the clusters and of the classifiers.

    Attributes
    ----------
    cluster_centers_ : array of shape (K, m)
        The clusters' means.
    cluster_of_row_ : array of int of shape (n,)
    models_ : list of K (array of int, estimator or None)
        The labels that a cluster's classifier was fitted to, and the classifier; None where there is no label.
    cluster_sizes_, cluster_n_labels_ : arrays of int of shape (K,)
        N^c and L^c: the rows of each cluster, and the labels that they have.
    """

    decomposes_instances: ClassVar[bool] = True
    hands_on_unlabelled: ClassVar[bool] = True
    classifier: Any = parameter(None, ESTIMATOR, family="learner")
    n_clusters: int = parameter(20, COUNT, at_most="rows")
    clusterer: Any = parameter(None, [HasMethods(["fit_predict"]), None], last=True, family="clusterer")
    random_state: Any = parameter(None, SEED, last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set, which must have its rows."""
        self._begin(moments)
        rng = check_random_state(self.random_state)
        rows = self._learn_encoding(moments)
        Y = as_dense(moments.rows()[1]).astype(np.float64)
        self.cluster_of_row_ = clusters_of(rows, self._clusterer(rows.shape[0], rng))
        n_clusters = int(self.cluster_of_row_.max()) + 1
        self.cluster_centers_ = means_of(rows, self.cluster_of_row_, n_clusters)
        self._n_labels = Y.shape[1]
        self.models_: list[tuple[Index, Any]] = []
        prototype = self._local()
        loose = None if moments.unlabelled is None else self._encode(moments.unlabelled)
        joins = None if loose is None else nearest_centre(loose, self.cluster_centers_)
        for cluster in range(n_clusters):
            members = np.flatnonzero(self.cluster_of_row_ == cluster)
            own = Y[members]
            present = np.flatnonzero(own.any(axis=0))
            model = seeded(clone(prototype), rng)
            if len(present):
                part = Moments.from_arrays(rows[members], own[:, present])
                model = fit_label_sets(model, with_part(part, loose, joins == cluster))
            self.models_.append((present, model if len(present) else None))
        self.cluster_sizes_ = np.bincount(self.cluster_of_row_, minlength=n_clusters)
        self.cluster_n_labels_ = np.array([len(present) for present, _ in self.models_])
        return self

    def _clusterer(self, n_rows: int, rng: Any) -> Any:
        clusterer = seeded(SingleStartKMeans() if self.clusterer is None else clone(self.clusterer), rng)
        if "n_clusters" in clusterer.get_params():
            clusterer.set_params(n_clusters=min(self.n_clusters, n_rows))
        return clusterer

    def _learn_encoding(self, moments: Moments) -> Any:
        """The training rows (n×m) as they are clustered and classified."""
        return moments.rows()[0]

    def _encode(self, X: Any) -> Any:
        """New rows likewise."""
        return X

    def _local(self) -> Any:
        """An unfitted classifier for a cluster."""
        if self.classifier is None:
            return ClassifierChain.of_ridge()
        return of_label_sets(self.classifier)

    def _answer(self, X: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Scores and label sets (n×K)."""
        rows = self._encode(X)
        nearest = nearest_centre(rows, self.cluster_centers_)
        scores = np.full((X.shape[0], self._n_labels), _ABSENT)
        labels = np.zeros(scores.shape, dtype=bool)
        for cluster in np.unique(nearest).tolist():
            present, model = self.models_[cluster]
            if model is not None:
                here = np.flatnonzero(nearest == cluster)
                place = np.ix_(here, present)
                scores[place], labels[place] = answer(model, rows[here], len(present))
        return scores, labels


def clusters_of(rows: Any, clusterer: Any) -> Index:
    """Each row's cluster (n,), numbered 0, 1, … without a gap; a row left out by the clusterer joins the nearest mean.

    A clusterer that leaves out all rows finds one cluster.
    """
    labels = np.asarray(clusterer.fit_predict(rows))
    kept = labels >= 0
    if not kept.any():
        return np.zeros(len(labels), dtype=np.intp)
    _, found = np.unique(labels[kept], return_inverse=True)
    result = np.empty(len(labels), dtype=np.intp)
    result[kept] = found
    if not kept.all():
        centres = means_of(rows[kept], result[kept], int(found.max()) + 1)
        result[~kept] = nearest_centre(rows[~kept], centres)
    return result
