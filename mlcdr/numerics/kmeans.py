"""The clusterer `k_means`."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mlcdr.numerics.entry import checked
from mlcdr.numerics.sums import dense, row_squares

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_ROUNDING = 1e-13  # of the squared lengths, and of lengths
_BLOCK = 512  # rows
_APART = 64  # rows compared with centres by differences at a time


class SingleStartKMeans(ClusterMixin, BaseEstimator):
    """K-means with a single start, as in the programs of Sun 2017: fast, and as good as its first centres.

    Each row to the nearest centre, each centre to its rows' mean, until no row moves or `max_iter` times.

    A cluster left empty takes the row farthest from its own centre (ties: the first), but not a row that is alone in
    its cluster. Ties between centres (up to rounding) go to the first. Cost of an iteration: nKd, or K·nnz(X).

    Parameters
    ----------
    n_clusters : int
        K; with fewer rows, as many as there are.
    init : "random", or array of shape (K, d)
        The first centres: K rows drawn without replacement, or given.
    max_iter : int
        The most iterations.
    random_state : int, RandomState or None
        Seed of the draw of the first centres.

    Attributes
    ----------
    cluster_centers_ : array of shape (K, d)
    labels_ : array of int of shape (n,)
        The cluster of each training row.
    n_iter_ : int
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_clusters: int = 8, init: Any = "random", max_iter: int = 20, random_state: Any = None):
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SingleStartKMeans:
        """Find the clusters of X (n×d, dense or CSR)."""
        self._validate_params()
        return self.fit_valid(checked(self, X))

    def fit_valid(self, X: Any) -> SingleStartKMeans:
        """`fit` to rows of float64 that have been checked already, without checks of the parameters."""
        self.n_features_in_ = X.shape[1]
        centres = self._start(X)
        labels = np.full(X.shape[0], -1)
        for iteration in range(1, self.max_iter + 1):
            nearest = without_empty(*_nearest(X, centres), len(centres))
            self.n_iter_ = iteration
            if np.array_equal(nearest, labels):
                break
            labels, centres = nearest, means_of(X, nearest, len(centres))
        self.labels_, self.cluster_centers_ = labels, centres
        return self

    def _start(self, X: Any) -> Array:
        if isinstance(self.init, str):
            n_clusters = min(self.n_clusters, X.shape[0])
            chosen = X[check_random_state(self.random_state).choice(X.shape[0], n_clusters, replace=False)]
            return np.asarray(chosen.toarray() if sp.issparse(chosen) else chosen)
        given = np.asarray(self.init, dtype=np.float64)
        if given.shape != (self.n_clusters, X.shape[1]) or len(given) > X.shape[0]:
            raise ValueError(
                f"init must hold n_clusters={self.n_clusters} centres of {X.shape[1]} features, for as many rows at "
                f"least, found shape {given.shape} and {X.shape[0]} rows"
            )
        return given

    def predict(self, X: Any) -> Index:
        """The cluster (n,) of each row of X (n×d)."""
        check_is_fitted(self)
        return nearest_centre(checked(self, X, reset=False), self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def nearest_centre(X: Any, centres: Array) -> Index:
    """The first of the nearest centres (n,), for rows X (n×d, dense or CSR)."""
    return _nearest(X, centres)[0]


def means_of(X: Any, labels: Index, n_clusters: int) -> Array:
    """The mean (K×d) of each cluster's rows; none may be empty."""
    member = sp.csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=(len(labels), n_clusters))
    totals = member.T @ X
    totals = totals.toarray() if sp.issparse(totals) else totals
    return totals / np.bincount(labels, minlength=n_clusters)[:, None]


def _nearest(X: Any, centres: Array) -> tuple[Index, Array]:
    """The first of the nearest centres (n,), and the squared distances (n,) to them."""
    rows, ends, turned = row_squares(X), row_squares(centres), np.ascontiguousarray(-2.0 * centres.T)
    found, least = np.empty(X.shape[0], dtype=np.intp), np.empty(X.shape[0])
    rounding = _ROUNDING * (rows + ends.max(initial=0.0))
    for start in range(0, X.shape[0], _BLOCK):  # a block's distances stay in the cache
        block = slice(start, start + _BLOCK)
        distances = X[block] @ turned
        distances += ends
        distances.min(axis=1, out=least[block])
        near = distances <= (least[block] + rounding[block])[:, None]
        found[block] = np.argmax(near, axis=1)
        if np.count_nonzero(near) == len(near):
            continue
        several = np.flatnonzero(np.count_nonzero(near, axis=1) > 1)
        for part in np.split(several, range(_APART, len(several), _APART)):
            at = start + part
            found[at], squares = _nearest_of(dense(X[at]), centres, near[part], np.sqrt(ends.max()))
            least[at] = squares - rows[at]
    return found, rows + least


def _nearest_of(rows: Array, centres: Array, near: NDArray[np.bool_], size: float) -> tuple[Index, Array]:
    """As `_nearest`, of the centres that are `near` (n×K), by differences: in ‖x‖² − 2xc + ‖c‖² a large offset of the
    features hides them. `size`: of the largest centre, to whose rounding equal distances are equal.
    """
    distances = np.full(near.shape, np.inf)
    for k in np.flatnonzero(near.any(axis=0)):
        distances[near[:, k], k] = np.linalg.norm(rows[near[:, k]] - centres[k], axis=1)
    least = distances.min(axis=1)
    # duplicated rows make equal centres; which of them is nearer must not be for rounding to say
    return np.argmax(distances <= (least + _ROUNDING * (least + size))[:, None], axis=1), least**2


def without_empty(labels: Index, distances: Array, n_clusters: int) -> Index:
    """The clusters (n,); each empty one takes the row farthest from its own centre, but none alone in its cluster."""
    counts = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0).tolist()
    if empty:
        for row in np.argsort(-distances, kind="stable").tolist():
            if counts[labels[row]] > 1:
                counts[labels[row]] -= 1
                labels[row] = empty.pop(0)
            if not empty:
                break
    return labels
