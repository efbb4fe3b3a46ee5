"""The base of the selectors by information: discretised features, their mutual information, and greedy selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.discretise import RULES, discretised
from mlcdr.numerics.forward_selection import forward_selection
from mlcdr.numerics.information import Variables, conditional_on, joint_entropy, mutual_information
from mlcdr.numerics.moments import Moments


class InformationSelector(FeatureSelector):
    """Base of the selectors by information, in bits, of discrete features.

    Parameters
    ----------
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.
    """

    discretise: str | None = parameter("mean_std", [*one_of(*RULES), None], last=True)

    def _variables(self, moments: Moments) -> tuple[Variables, Variables]:
        """The features, made discrete, and the labels."""
        return discrete_variables(moments, self.discretise or "none")

    def _information(self, moments: Moments) -> Array:
        """I(X_m; Y_j) (d×K)."""
        return label_information(moments, self.discretise or "none")

    def _joint_with_labels(self, moments: Moments) -> Array:
        """H(Y_j, X_m) (K×d)."""
        X, Y = self._variables(moments)
        return moments.once(("joint with labels", self.discretise or "none"), lambda: joint_entropy(Y, X))


class GreedySelector(InformationSelector):
    """Base: the next feature f maximises relevance(f) + w Σ_(s ∈ S) added(s)(f), S those chosen, w = 1 or 1/|S|.

    A method defines `_added`, and `_relevance` if that is not Σ_j I(f; Y_j).

    Attributes
    ----------
    weight : float or None
        w; None: 1/|S|.
    """

    weight: ClassVar[float | None] = 1.0

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        relevance = self._relevance(moments)
        return by_place(forward_selection(len(relevance), relevance, self._added(moments), self.weight)), {}

    def _relevance(self, moments: Moments) -> Array:
        """The relevance (d,) of each feature."""
        return self._information(moments).sum(axis=1)

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        """The function from a chosen feature's number to its contribution to each feature's score (d,): the method
        itself.
        """
        raise NotImplementedError

    def _given(self, moments: Moments) -> Callable[[int], Array]:
        """From s to Σ_j I(f; Y_j | X_s) of each feature f (d,)."""
        X, Y = self._variables(moments)
        return lambda s: conditional_on(X, Y, X.take([s])).sum(axis=1)


def discrete_variables(moments: Moments, rule: str) -> tuple[Variables, Variables]:
    """The features of a training set, made discrete by `rule` ("none": as they are), and its labels."""

    def both() -> tuple[Variables, Variables]:
        X, Y = moments.rows()
        return Variables.from_values(discretised(X, None if rule == "none" else rule)), Variables.from_values(Y)

    return moments.once(("variables", rule), both)


def label_information(moments: Moments, rule: str) -> Array:
    """I(X_m; Y_j) (d×K) of features made discrete by `rule`."""
    X, Y = discrete_variables(moments, rule)
    return moments.once(("information", rule), lambda: mutual_information(X, Y))


def by_place(order: list[int]) -> Array:
    """Scores (d,) that rank features in this order: d for the first, …, 1 for the last."""
    scores = np.empty(len(order))
    scores[order] = np.arange(len(order), 0, -1)
    return scores
