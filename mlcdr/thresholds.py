"""From label scores to label sets: `apply` gives the sets, `margin` the distance of each score from its threshold.

A threshold that has `fit(scores, Y)` is learned, from the scores of the training instances and their label sets.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

Scores = NDArray[np.float64]
Labels = NDArray[np.uint8]


class Fixed(BaseEstimator):
    """Predict a label where its score exceeds `value` (a score equal to it predicts nothing).

    Parameters
    ----------
    value : float
        The threshold.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"value": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, value: float = 0.5):
        self.value = value

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        return (scores > self.value).astype(np.uint8)

    def margin(self, scores: Scores) -> Scores:
        """How far scores (n×K) lie above the threshold."""
        return scores - self.value


class Round(BaseEstimator):
    """Round-based decoding: the nearest of 0 and 1, with ½ going to 0 (Tai & Lin 2012)."""

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        return (scores > 0.5).astype(np.uint8)

    def margin(self, scores: Scores) -> Scores:
        """How far scores (n×K) lie above ½."""
        return scores - 0.5


class Zero(BaseEstimator):
    """Predict a label where its score is positive, for scores of labels coded ±1.

    Parameters
    ----------
    fallback : {"none", "top"}
        What an instance with no positive score gets: no label, or the one with the highest score.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"fallback": [StrOptions({"none", "top"})]}

    def __init__(self, fallback: str = "none"):
        self.fallback = fallback

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        labels = (scores > 0).astype(np.uint8)
        if self.fallback == "top" and scores.shape[1]:
            empty = np.flatnonzero(~labels.any(axis=1))
            labels[empty, np.argmax(scores[empty], axis=1)] = 1
        return labels

    def margin(self, scores: Scores) -> Scores:
        """The scores (n×K) themselves (the fallback is no threshold)."""
        return scores


class Maximise(BaseEstimator):
    """For each label the threshold that serves the training instances best.

    The training scores of a label are sorted in descending order, and each place where two of them differ is tried as
    the cut, the instances above it being predicted; so are all instances, and none (Pacharawongsakda & Theeramunkong
    2012, section 3.3). Of equally good cuts the first is taken, which predicts least. A label without positives is
    never predicted. Scores that differ by less than 1e-12 of the label's largest are equal: no cut parts them, so
    rounding decides nothing. Cost: n log n for each label.

    Parameters
    ----------
    metric : {"f1", "accuracy"}
        What is maximised for each label: 2TP / (|P|+|Y|), so that the macro-averaged F1 is maximised, too; or the share
        of instances for which the label is right.
    at : {"midpoint", "score"}
        Where the threshold lies: midway between the lowest score predicted and the next; or at the lowest score
        predicted. (Predicting none, it is infinite; predicting all, it is minus infinity or the lowest score.)

    Attributes
    ----------
    values_ : array of shape (K,)
        The thresholds; a label is predicted where its score exceeds its own.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions({"f1", "accuracy"})],
        "at": [StrOptions({"midpoint", "score"})],
    }

    def __init__(self, metric: str = "f1", at: str = "midpoint"):
        self.metric = metric
        self.at = at

    def fit(self, scores: Scores, Y: Any) -> Maximise:
        """Learn from the training scores (n×K) and the label sets Y (n×K of {0, 1}, dense)."""
        n, n_labels = scores.shape
        labels = np.arange(n_labels)
        # label by label in contiguous memory; in any order within a tie, which no cut parts
        columns, truth = np.ascontiguousarray(scores.T), np.ascontiguousarray(np.asarray(Y).T)
        order = np.argsort(-columns, axis=1)
        ranked = np.take_along_axis(columns, order, axis=1)
        tolerance = 1e-12 * np.maximum(np.abs(ranked[:, 0]), np.abs(ranked[:, -1]))
        # hits[c], cuts[c]: true positives if the c highest are predicted, and whether a cut may fall there
        hits, cuts = np.zeros((n_labels, n + 1)), np.ones((n_labels, n + 1), dtype=bool)
        np.cumsum(np.take_along_axis(truth, order, axis=1), axis=1, out=hits[:, 1:])
        np.greater(ranked[:, :-1] - ranked[:, 1:], tolerance[:, None], out=cuts[:, 1:-1])
        ranked, hits, cuts = ranked.T, hits.T, cuts.T
        positives, predicted = hits[-1], np.arange(n + 1.0)[:, None]
        # accuracy: TP + TN, but for a constant
        value = 2 * hits / np.maximum(predicted + positives, 1) if self.metric == "f1" else 2 * hits - predicted
        best = np.argmax(np.where(cuts, value, -np.inf), axis=0)
        lowest, following = ranked[np.maximum(best - 1, 0), labels], ranked[np.minimum(best, n - 1), labels]
        values = lowest - tolerance if self.at == "score" else (lowest + following) / 2
        if self.at == "midpoint":
            values[best == n] = -np.inf
        values[(best == 0) | (positives == 0)] = np.inf
        self.values_ = values
        return self

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        return (scores > self.values_).astype(np.uint8)

    def margin(self, scores: Scores) -> Scores:
        """How far scores (n×K) lie above their label's threshold."""
        return scores - self.values_
