"""Classifier chain (CC): each label's model also looks at the labels before it.

Source: Read, Pfahringer, Holmes & Frank 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mlcdr.chains.linear import LinearLinks
from mlcdr.chains.links import Array, Link, LinkedClassifier
from mlcdr.moments import Moments, beside


class ClassifierChain(LinkedClassifier):
    """h_k(x, y_1, …, y_(k−1)), trained on the true labels before it; a new instance gets what was predicted, {0, 1}.

    Cost: K fits of the base, to d, …, d + K − 1 features; with least squares, or ridge with a free intercept, one fit
    to d features and about K³ + dK² (`mlcdr.chains.linear`).

    Parameters
    ----------
    base : estimator or None
        As in `LinkedClassifier`.
    order : list of int, or None
        The labels in the chain's order, counted from 0; None: the order of the data set.

    Attributes
    ----------
    order_ : list of int
        The labels in the chain's order.
    links_ : list of Link
        The models, in the chain's order; the labels they look at follow the features, in that order.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinkedClassifier._parameter_constraints,
        "order": ["array-like", None],
    }

    def __init__(self, base: Any = None, order: Sequence[int] | None = None):
        super().__init__(base)
        self.order = order

    def _fit_links(self, base: Any, moments: Moments) -> None:
        order = list(range(moments.n_labels)) if self.order is None else list(self.order)
        if sorted(order) != list(range(moments.n_labels)):
            raise ValueError(f"order must hold each of the {moments.n_labels} labels 0, 1, … once, found {order}")
        self.order_ = order
        self._linear = LinearLinks.chained(base, moments, order)
        if self._linear is not None:
            self.links_ = [self._linear.link(base, k, order[:i]) for i, k in enumerate(order)]
        else:
            self.links_ = [Link.fitted(base, moments, k, order[:i]) for i, k in enumerate(order)]

    def _scores(self, X: Any) -> Array:
        if self._linear is not None:
            scores = self._linear.on_features(X)
            for i, k in enumerate(self.order_):  # the labels before it are decided by now
                scores[:, k] += (scores[:, self.order_[:i]] > 0) @ self._linear.on_labels[self.order_[:i], k]
            return scores
        scores = np.empty((X.shape[0], len(self.links_)))
        said = np.empty_like(scores)
        for i, (k, link) in enumerate(zip(self.order_, self.links_, strict=True)):
            scores[:, k] = link.score(beside(X, said[:, :i]))
            said[:, i] = scores[:, k] > 0
        return scores
