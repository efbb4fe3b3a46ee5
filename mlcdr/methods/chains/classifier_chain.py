"""The learner `classifier_chain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcdr.methods.chains.directed import DirectedChain, Structure
from mlcdr.methods.chains.linear import LinearLinks, follow
from mlcdr.methods.chains.links import Array
from mlcdr.methods.chains.order import order_of
from mlcdr.methods.constraints import SEED, one_of, parameter
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.moments import Moments


class ClassifierChain(DirectedChain):
    """Classifier chain (CC): each label's model also uses the labels before it.

    Source: Read, Pfahringer, Holmes & Frank 2011.

    h_k(x, y_1, …, y_(k−1)), trained on the true labels before it; for a new instance, the predicted labels, {0, 1}, are
    used.

    Cost: K fits of the estimator, to d, …, d + K − 1 features; with least squares, or ridge, one fit
    to d features and about K³ + dK² (`mlcdr.methods.chains.linear`).

    Parameters
    ----------
    order : list of int, "random", or None
        The labels in the chain's order, counted from 0; "random": an order drawn by `random_state`; None: the order of
        the data set.
    random_state : int, RandomState instance or None
        The seed of a random order.

    Attributes
    ----------
    order_ : list of int
        The labels in the chain's order.
    links_ : list of Link
        The models, in the chain's order; the labels they use follow the features, in that order.
    """

    order: Sequence[int] | str | None = parameter(None, [*one_of("random"), "array-like", None], check=order_of)
    random_state: Any = parameter(None, SEED)

    @classmethod
    def of_ridge(cls) -> ClassifierChain:
        """A chain in random order, of ridge regressions with α = 0.1 and a penalised intercept."""
        return cls(Ridge(0.1, "penalised"), order="random")

    def order_of(self, n_labels: int) -> list[int]:
        """The chain's order of `n_labels` labels.

        Raises
        ------
        ValueError
            When the given order is not a permutation of them.
        """
        return order_of(self.order, n_labels, self.random_state)

    def _structure(self, estimator: Any, moments: Moments, selector: LocalSelector) -> Structure:
        return self._chained(moments.n_labels)

    def _chained(self, n_labels: int) -> Structure:
        order = self.order_of(n_labels)
        parents: list[list[int]] = [[] for _ in order]
        for i, k in enumerate(order):
            parents[k] = order[:i]
        return order, parents

    def _fit_links(self, estimator: Any, moments: Moments) -> None:
        order, parents = self._chained(moments.n_labels)
        linear = LinearLinks.chained(estimator, moments, order) if self.features is None else None
        if linear is None:
            super()._fit_links(estimator, moments)
            return
        self.order_, self.parents_, self._linear = order, parents, linear
        self.links_ = [linear.link(estimator, k, parents[k]) for k in order]

    def _scores(self, X: Any) -> Array:
        if self._linear is None:
            return super()._scores(X)
        scores = self._linear.on_features(X)
        on_labels = np.asfortranarray(self._linear.on_labels[np.ix_(self.order_, self.order_)])
        scores[:, self.order_] = follow(scores[:, self.order_], on_labels)
        return scores
