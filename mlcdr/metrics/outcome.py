"""The input of a metric: one prediction for one test set, counted and sorted once for all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mlcdr.lazy_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Index: TypeAlias = "NDArray[np.intp]"

Needs = Literal["labels", "scores", "top", "probabilities", "any", "bound", "timing", "memory", "features"]
"""What a metric is computed from: label sets; all scores; the highest scores of each instance; probabilities; label
sets, and all scores if there are any; the terms of the bound; times; memory; facts of the fitted method.
"""


class Counts:
    """Counts of predicted label sets, each computed once and on demand.

    Parameters
    ----------
    truth, predicted : array of shape (n, K)
        Label matrices of {0, 1}, dense.
    """

    def __init__(self, truth: NDArray[Any], predicted: NDArray[Any]):
        if truth.shape != predicted.shape:
            raise ValueError(f"the true labels have shape {truth.shape}, the predicted ones {predicted.shape}")
        self.truth = truth.astype(bool, copy=False)
        self.predicted = predicted.astype(bool, copy=False)
        self.n_instances, self.n_labels = truth.shape

    @cached_property
    def wrong(self) -> int:
        """Number of cells in which the two matrices differ."""
        return int(np.count_nonzero(self.truth != self.predicted))

    @cached_property
    def exact(self) -> int:
        """Number of instances whose label set is predicted exactly."""
        return int((self.truth == self.predicted).all(axis=1).sum())

    @cached_property
    def _hits(self) -> NDArray[np.bool_]:
        return self.truth & self.predicted

    @cached_property
    def of_instances(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """|Y_i ∩ P_i|, |P_i|, |Y_i|, each of shape (n,)."""
        return tuple(np.count_nonzero(a, axis=1) for a in (self._hits, self.predicted, self.truth))

    @cached_property
    def of_labels(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """TP, |P|, |Y| for each label, each of shape (K,)."""
        return tuple(np.count_nonzero(a, axis=0) for a in (self._hits, self.predicted, self.truth))


@dataclass(frozen=True)
class Ranks:
    """The ranks of the relevant entries in m lists of scores, each list ranked by itself.

    Attributes
    ----------
    of, entry : arrays of int of shape (P,)
        The list, ascending, and the place in it of each relevant entry, in the order they were given.
    above, at_least : arrays of int of shape (P,)
        How many scores of the list are higher; how many are as high or higher (the entry itself is one).
    relevant_above, relevant_at_least : arrays of int of shape (P,)
        Of these, the relevant ones.
    place : array of int of shape (P,)
        How many entries come before it if ties go to the first of the list.
    n_relevant : array of int of shape (m,)
    length : int
        Entries of a list.
    """

    of: Index
    entry: Index
    above: Index
    at_least: Index
    relevant_above: Index
    relevant_at_least: Index
    place: Index
    n_relevant: Index
    length: int

    @classmethod
    def of_lists(cls, scores: Array, relevant: NDArray[np.bool_], places: bool = True) -> Ranks:
        """From scores (m×L) and a mask of the relevant ones (m×L). Cost: m L log L for sorting, P L for the places of
        ties.

        `places`: whether `place` is wanted; else it is `above`.
        """
        of, entry = np.nonzero(relevant)
        n_relevant = np.bincount(of, minlength=len(scores))
        own, length = scores[of, entry], scores.shape[1]
        found = np.empty((4, len(of)), dtype=np.intp)
        ends = np.cumsum(n_relevant)
        # negated, so that "above" is "before"
        for i, ranked in enumerate(np.sort(-scores, axis=1)):
            here = slice(ends[i] - n_relevant[i], ends[i])
            if n_relevant[i]:
                wanted = -own[here]
                for k, among in enumerate((ranked, np.sort(wanted))):
                    found[2 * k, here] = np.searchsorted(among, wanted, "left")
                    found[2 * k + 1, here] = np.searchsorted(among, wanted, "right")
        place = found[0].copy()
        tied = np.flatnonzero(found[1] - found[0] > 1) if places else np.empty(0, dtype=np.intp)
        step = max(1, 2**22 // length)
        for some in (tied[k : k + step] for k in range(0, len(tied), step)):
            equal = scores[of[some]] == own[some, None]
            place[some] += np.count_nonzero(equal & (np.arange(length) < entry[some, None]), axis=1)
        above, at_least, relevant_above, relevant_at_least = found
        return cls(of, entry, above, at_least, relevant_above, relevant_at_least, place, n_relevant, length)

    def sums(self, values: NDArray[Any]) -> Array:
        """The sum of values (P,) over the relevant entries of each list (m,)."""
        return np.bincount(self.of, weights=values, minlength=len(self.n_relevant)).astype(np.float64)

    def discounted(self, discounts: Array, ties: str) -> Array:
        """What each relevant entry (P,) gets if the one at place p gets `discounts[p]`, and 0 beyond these.

        `ties`: "first", by `place`; or "mean", over all orders of equal scores.
        """
        if ties == "first":
            return np.append(discounts, 0.0)[np.minimum(self.place, len(discounts))]
        total = np.concatenate([[0.0], np.cumsum(discounts)])
        upto, before = (total[np.minimum(each, len(discounts))] for each in (self.at_least, self.above))
        return (upto - before) / (self.at_least - self.above)


class Scores:
    """Real scores of the labels, sorted once and on demand for all metrics.

    Parameters
    ----------
    truth : array of shape (n, K)
        True labels of {0, 1}.
    values : array of shape (n, K)
        The higher, the more likely is the label; comparable between labels for what ranks the labels of an instance.
    keep_top : int or None
        Only this number of highest scores of each instance is kept (ties: the first); metrics that need others are
        undefined.

    Raises
    ------
    ValueError
        When a score is NaN, or the shapes differ.
    """

    def __init__(self, truth: NDArray[Any], values: NDArray[Any], keep_top: int | None = None):
        if truth.shape != values.shape:
            raise ValueError(f"the true labels have shape {truth.shape}, the scores {values.shape}")
        if np.isnan(values).any():
            raise ValueError("a score of a test row is no number (NaN)")
        self.truth = truth.astype(bool, copy=False)
        self.n_labels = truth.shape[1]
        self.whole = keep_top is None or keep_top >= self.n_labels
        self.top = self.n_labels if keep_top is None else min(keep_top, self.n_labels)
        self.values = np.asarray(values, dtype=np.float64)
        if not self.whole:
            self.labels, self.values = highest(self.values, self.top)

    @cached_property
    def by_instance(self) -> Ranks:
        """The labels of each instance, ranked."""
        if self.whole:
            return Ranks.of_lists(self.values, self.truth)
        relevant = np.take_along_axis(self.truth, self.labels, axis=1)
        of, place = np.nonzero(relevant)
        n_relevant = np.count_nonzero(self.truth, axis=1)
        # of equal scores some may be left out, so nothing but the place is known
        return Ranks(of, self.labels[of, place], place, place, place, place, place, n_relevant, self.n_labels)

    @cached_property
    def by_label(self) -> Ranks:
        """The instances, ranked for each label."""
        return Ranks.of_lists(np.ascontiguousarray(self.values.T), np.ascontiguousarray(self.truth.T), places=False)

    @cached_property
    def overall(self) -> Ranks:
        """All cells in one list."""
        return Ranks.of_lists(self.values.reshape(1, -1), self.truth.reshape(1, -1), places=False)


def highest(scores: Array, n: int) -> tuple[Index, Array]:
    """The labels (m×n) of the n highest scores of each row (m×K), highest first (ties: the first label), and these
    scores.
    """
    labels = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return labels, np.take_along_axis(scores, labels, axis=1)


@dataclass(frozen=True)
class Outcome:
    """The input of a metric: one prediction for one test set.

    Attributes
    ----------
    counts : Counts
    scores : Scores or None
        Of the labels, before any threshold; None where the method gives none, or no metric asks for them.
    probabilities : array of shape (n, K) or None
        Of the labels; None likewise.
    n_training, label_counts : int, array of shape (K,) or None
        The training rows that have labels, and how many of them have each label.
    encoding_error, prediction_error : float or None
        The two terms of the bound (1) of Chen & Lin 2012 on the test set, *per instance*; None where the method has no
        linear code.
    fit_seconds, predict_seconds : float
        Wall time. Work shared by several methods counts in full for each of them. If one fit serves several code sizes,
        each of them gets the time of that fit.
    fit_memory : float
        How far fitting raises the resident memory of the process, in bytes; NaN where it was not measured.
    n_dimensions, eigenvalue_share : float or None
        The number of dimensions that the last step of the feature space keeps, and their share of the sum of its
        positive eigenvalues; None without a feature space, or if it does not provide them.
    objective : float or None
        Final value of the objective that the last step of the feature space minimises iteratively; None likewise.
    cluster_instances, cluster_labels : array or None
        Per cluster of an instance space, the number of training instances and of their labels; None without clusters.
    """

    counts: Counts
    scores: Scores | None = None
    probabilities: Array | None = None
    n_training: int = 0
    label_counts: Array | None = None
    encoding_error: float | None = None
    prediction_error: float | None = None
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    fit_memory: float = float("nan")
    n_dimensions: float | None = None
    eigenvalue_share: float | None = None
    objective: float | None = None
    cluster_instances: NDArray[Any] | None = None
    cluster_labels: NDArray[Any] | None = None

    def gives(self, needs: Needs) -> bool:
        """Whether there are the scores or probabilities that a metric needs."""
        if needs == "probabilities":
            return self.probabilities is not None
        if needs in ("scores", "top"):
            return self.scores is not None and (self.scores.whole or needs == "top")
        return True
