"""The learner `label_powerset`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.classifiers.multiclass import MultiClass
from mlcdr.methods.constraints import learned
from mlcdr.methods.contracts import certain_score
from mlcdr.methods.multilabel import Array, MetaClassifier


class LabelPowerset(MetaClassifier):
    """Label powerset (LP): every label set of the training data is a class of its own.

    Source: Tsoumakas & Katakis 2007, "Multi-label classification: an overview"; the thesis' MCC and LC (Sun 2017,
    2.2.1).

    ŷ = the label set c ∈ {distinct y_i} of the largest f_c(x), with f fitted to one class for each label set.

    Label sets that were never seen are never predicted. Classes are numbered in the order of the label sets read as
    binary numbers, first label first; ties go to the estimator's first class. A label's score is the largest score of
    the sets with it minus the largest of those without it, positive exactly where it is predicted (the least positive
    number in a tie). The scores of a classifier without a decision function are log probabilities. Where all sets agree
    on the label the score is ±1e300 (a regressor's: ±½). Cost: one fit of the estimator to C ≤ min(n, 2^K) classes.

    Parameters
    ----------
    estimator : estimator or None
        A classifier (a binary one: one against the rest), or a regressor, which fits the classes' indicators. None:
        least squares.

    Attributes
    ----------
    label_sets_ : array of shape (C, K)
        The distinct label sets.
    model_ : MultiClass
        The fitted estimator.
    """

    model_: Any = learned()
    label_sets_: NDArray[Any] = learned()

    def _fit_rows(self, X: Any, Y: Array) -> None:
        fit_powersets([self], X, [Y])

    def _scores(self, X: Any) -> Array:
        of_sets = self.model_.scores(X)
        scores = np.empty((X.shape[0], self.label_sets_.shape[1]))
        certain = certain_score(self._own_estimator())
        for k, there in enumerate(self.label_sets_.T.astype(bool)):
            if there.all() or not there.any():
                scores[:, k] = certain if there[0] else -certain
            else:
                scores[:, k] = of_sets[:, there].max(axis=1) - of_sets[:, ~there].max(axis=1)
        least = np.nextafter(0, 1)  # the label set of a tie is the estimator's choice
        return np.where(self._labels(X) > 0, np.maximum(scores, least), np.minimum(scores, 0))

    def _labels(self, X: Any) -> NDArray[Any]:
        return self.label_sets_[self.model_.predict(X)]


def fit_powersets(powersets: Sequence[LabelPowerset], X: Any, Ys: Sequence[Array]) -> None:
    """Fit label powersets of one estimator to the same rows X (n×d), each to label sets of its own."""
    codes = []
    for each, Y in zip(powersets, Ys, strict=True):
        each.label_sets_, numbers = np.unique(Y.astype(np.uint8), axis=0, return_inverse=True)
        codes.append(numbers.reshape(-1))
    sizes = [len(each.label_sets_) for each in powersets]
    models = MultiClass.fitted_each(powersets[0]._own_estimator(), X, codes, sizes)
    for each, model in zip(powersets, models, strict=True):
        each.model_ = model
