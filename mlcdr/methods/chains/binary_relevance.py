"""The learner `binary_relevance`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from mlcdr.methods import contracts
from mlcdr.methods.chains.linear import LinearLinks
from mlcdr.methods.chains.links import Array, Link, LinkedClassifier, Of
from mlcdr.numerics.moments import Moments


class BinaryRelevance(LinkedClassifier):
    """Binary relevance (BR): every label by itself.

    h_k(x) for each label k = 1, …, K, fitted to the features alone (Tsoumakas, Katakis & Vlahavas 2010).

    Cost: K fits of the estimator; with least squares, or ridge, one fit for all labels.

    Attributes
    ----------
    links_ : list of Link
        The models, by label.
    """

    def _fit_links(self, estimator: Any, moments: Moments) -> None:
        labels = range(moments.n_labels)
        self._linear = LinearLinks.alone(estimator, moments) if self.features is None else None
        if self._linear is not None:
            self.links_ = [self._linear.link(estimator, k) for k in labels]
        else:
            selector = self._selector(moments)
            self.links_ = Link.fitted_each(estimator, moments, selector, labels, [()] * len(labels))

    def _scores(self, X: Any) -> Array:
        return super()._scores(X) if self._linear is None else self._linear.on_features(X)

    def _walk(self, X: Any, of: Of) -> Array:
        return np.column_stack([of(link, X, None) for link in self.links_])


def of_single_labels(learner: Any) -> Any:
    """The learner itself, or binary relevance with it if it fits one label only."""
    return BinaryRelevance(learner) if contracts.fits_one_label(learner) else learner


def of_label_sets(estimator: Any) -> Any:
    """The estimator itself, or binary relevance with it if it is a regressor or a single-label classifier.

    A regressor fitted to label sets would predict real numbers, which are not label sets.
    """
    if not contracts.has_tags(estimator):
        return estimator
    if is_regressor(estimator) or (is_classifier(estimator) and not contracts.takes_label_sets(estimator)):
        return BinaryRelevance(estimator)
    return estimator
