"""The base of the selectors by information: features made discrete, their informations, and greedy choice."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.discretise import RULES, discretised
from mlcdr.numerics.information import Variables, joint_entropy, mutual_information
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
