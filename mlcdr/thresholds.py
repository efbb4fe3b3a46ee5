"""From label scores to label sets: `apply` gives the sets, `margin` the distance of each score from its threshold."""

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
