"""The learner `br_plus`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.chains.linear import LinearLinks
from mlcdr.methods.chains.links import Array, Link, LinkedClassifier, Of
from mlcdr.numerics.moments import Moments


class BRPlus(LinkedClassifier):
    """BR+: binary relevance in which each label's model also uses all other labels.

    Source: Cherman, Metz & Monard 2011, as Pacharawongsakda & Theeramunkong 2012 used it.

    h_k(x, y_1, …, y_(k−1), y_(k+1), …, y_K), trained on the true other labels.

    For a new instance, plain binary relevance predicts the other labels, {0, 1}; they are not updated with the
    predictions of the second models (Cherman's "no update"). Cost: K fits of the estimator to d features and K to
    d + K − 1; with least squares, or ridge, one fit to d features and about K³ + dK² (`mlcdr.methods.chains.linear`).

    Attributes
    ----------
    first_, links_ : lists of Link
        The models of plain binary relevance, and those that use the other labels, which follow the features in
        order; by label.
    """

    def _fit_links(self, estimator: Any, moments: Moments) -> None:
        labels = range(moments.n_labels)
        others = [[j for j in labels if j != k] for k in labels]
        self._alone = LinearLinks.alone(estimator, moments) if self.features is None else None
        self._linear = LinearLinks.mutual(estimator, moments) if self.features is None else None
        if self._alone is not None and self._linear is not None:
            self.first_ = [self._alone.link(estimator, k) for k in labels]
            self.links_ = [self._linear.link(estimator, k, others[k]) for k in labels]
        else:
            selector = self._selector(moments)
            self.first_ = [Link.fitted(estimator, moments, k, (), selector.beside(k, ())) for k in labels]
            self.links_ = [Link.fitted(estimator, moments, k, others[k], selector.beside(k, others[k])) for k in labels]

    def _scores(self, X: Any) -> Array:
        if self._alone is not None and self._linear is not None:
            return self._linear.on_features(X) + (self._alone.on_features(X) > 0) @ self._linear.on_labels
        return super()._scores(X)

    def _walk(self, X: Any, of: Of) -> Array:
        predicted = np.column_stack([link.score(X) > 0 for link in self.first_]).astype(np.float64)
        return np.column_stack([of(link, X, np.delete(predicted, k, 1)) for k, link in enumerate(self.links_)])
