"""Chains in which each label's model uses parents of its own among the labels before it.

Classifier chains (all labels before it), Bayesian chains (one parent), polytrees and k-dependence chains differ in
their parents, and in how a label set is found; this module fits the links and predicts along the chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.chains.links import Array, Link, LinkedClassifier, Of
from mlcdr.methods.constraints import learned
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.moments import Moments

Structure = tuple[list[int], list[list[int]]]  # the labels, parents first, and the parents of each label


class DirectedChain(LinkedClassifier):
    """Base of chains h_k(x, pa_k), trained on the true parents; for a new instance, predicted ones, {0, 1}, are used.

    Cost: K fits of the estimator, to d + |Pa_k| features, and what the structure costs.

    Attributes
    ----------
    order_ : list of int
        The labels in an order in which parents go first.
    parents_ : list of lists of int
        The parents of each label, by label.
    links_ : list of Link
        The models, in the chain's order; the parents follow the features, in the order of `parents_`.
    """

    order_: list[int] = learned()
    parents_: list[list[int]] = learned()
    links_: list[Link] = learned()

    def _structure(self, estimator: Any, moments: Moments, selector: LocalSelector) -> Structure:
        """`order_` and `parents_`; `selector` gives the features used before parents are known. The method itself."""
        raise NotImplementedError

    def _fit_links(self, estimator: Any, moments: Moments) -> None:
        selector = self._selector(moments)
        self.order_, self.parents_ = self._structure(estimator, moments, selector)
        self._linear = None
        self.links_ = Link.fitted_each(estimator, moments, selector, self.order_, self.parents_)

    def _walk(self, X: Any, of: Of) -> Array:
        found = np.empty((X.shape[0], len(self.links_)))
        predicted = np.empty_like(found)
        for k, link in zip(self.order_, self.links_, strict=True):
            parents = predicted[:, self.parents_[k]]
            found[:, k] = of(link, X, parents)
            predicted[:, k] = (found[:, k] if of is Link.score else link.score(X, parents)) > 0
        return found
