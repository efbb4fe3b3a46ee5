"""Classifier chain (CC): each label's model also looks at the labels before it.

Source: Read, Pfahringer, Holmes & Frank 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from mlcdr.chains.linear import LinearLinks
from mlcdr.chains.links import Array, Link, LinkedClassifier
from mlcdr.moments import Moments, beside


class ClassifierChain(LinkedClassifier):
    """h_k(x, y_1, …, y_(k−1)), trained on the true labels before it; a new instance gets what was predicted, {0, 1}.

    Cost: K fits of the base, to d, …, d + K − 1 features; with least squares, or ridge, one fit
    to d features and about K³ + dK² (`mlcdr.chains.linear`).

    Parameters
    ----------
    base : estimator or None
        As in `LinkedClassifier`.
    order : list of int, "random" or None
        The labels in the chain's order, counted from 0; or drawn at random; None: the order of the data set.
    random_state : int, RandomState or None
        Of a random order.

    Attributes
    ----------
    order_ : list of int
        The labels in the chain's order.
    links_ : list of Link
        The models, in the chain's order; the labels they look at follow the features, in that order.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinkedClassifier._parameter_constraints,
        "order": ["array-like", StrOptions({"random"}), None],
        "random_state": ["random_state"],
    }

    def __init__(self, base: Any = None, order: Sequence[int] | str | None = None, random_state: Any = None):
        super().__init__(base)
        self.order = order
        self.random_state = random_state

    def order_of(self, n_labels: int) -> list[int]:
        """The chain's order of so many labels.

        Raises
        ------
        ValueError
            When the order that was given is none of them.
        """
        if isinstance(self.order, str):
            return check_random_state(self.random_state).permutation(n_labels).tolist()
        order = list(range(n_labels)) if self.order is None else list(self.order)
        if sorted(order) != list(range(n_labels)):
            raise ValueError(f"order must hold each of the {n_labels} labels 0, 1, … once, found {order}")
        return order

    def _fit_links(self, base: Any, moments: Moments) -> None:
        self.order_ = order = self.order_of(moments.n_labels)
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
