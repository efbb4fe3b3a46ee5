"""The learner `occ`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.chains.k_dependence_chain import KDependenceChain
from mlcdr.methods.chains.links import Array
from mlcdr.methods.constraints import NOT_NEGATIVE, SEED, SIZE, one_of, parameter
from mlcdr.methods.feature_space.informative import discrete_variables
from mlcdr.methods.local_features.mlfs import LocalMLFS
from mlcdr.numerics.discretise import RULES, discretised
from mlcdr.numerics.information import Variables, conditional_on, conditional_on_each, first_best
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import principal_directions
from mlcdr.numerics.sums import dense


class OCC(KDependenceChain):
    """Optimised classifier chain (OCC): chosen order, chosen parents, and chosen features for each label.

    Source: Sun 2017, chapter 4: Algorithms 3 and 4.

    kCC (4.31) with features selected for each label by local MLFS (4.41), in a chosen order of labels (4.45).

    The order is greedy: first the label with the largest Σ_k C_jk, then the one that maximises, over those placed,

        Σ_k ( C_(jk) + 1/(k−1) Σ_(l<k) I(Y_k; Y_l | Y_j) ),    C_jk = 1/M Σ_m I(Y_j; Y_k | X_m)        (4.45)

    with the labels placed counted k = 1, 2, … in their order (there is no second term for the first). Cost, beside the
    fits: dK² look-ups of counts for C, K³ for the order, and that of kCC and local MLFS.

    The author's program (`variant: published_code`) takes one principal component of the centred features in the place
    of all X_m and leaves the second term off; rounds .8 K to the nearest integer instead of up; and selects features
    differently (see `LocalMLFS`). In both variants a label without positives is predicted 0 and is never a parent.

    Parameters
    ----------
    estimator : estimator or None
        The model of a label: a regressor (a prediction above ½ means that the label is present) or a binary classifier.
        None: least squares; the thesis takes `linear_svm`.
    n_parents : int, float or None
        k: a number of labels (all before, where there are fewer), a share of the K labels, or all before.
    n_features : int, float or None
        M_s: a number of features, a share of the d features, or all.
    order : list of int, "selected", "random" or None
        By (4.45); or the labels in the chain's order; or drawn at random; or (None) the order of the data set.
    alpha, beta, gamma : float or None
        The weights in (4.31) and (4.41). None: 1/|Pa_j|, 1/|Pa_j| and 1/|X_θ|.
    variant : {"text", "published_code"}
        The text, or the author's program.
    discretise : {"mean_std", "published_code", "equal_frequency", "none"} or None
        How numeric features are cut (`LocalMLFS`). None: the choice of `variant`.
    random_state : int, RandomState instance or None
        Seed of a random order.
    """

    component_parameters: ClassVar[dict[str, str]] = {"estimator": "learner"}
    features = None
    n_features: float | int | None = parameter(0.8, SIZE)
    order: Sequence[int] | str | None = parameter("selected", ["array-like", *one_of("random", "selected"), None])
    alpha: float | None = parameter(None, [*NOT_NEGATIVE, None])
    beta: float | None = parameter(None, [*NOT_NEGATIVE, None])
    gamma: float | None = parameter(None, [*NOT_NEGATIVE, None])
    variant: str = parameter("text", one_of("text", "published_code"))
    discretise: str | None = parameter(None, [*one_of(*RULES, "none"), None])
    random_state: Any = parameter(None, SEED)

    @property  # type: ignore[misc]
    def rounding(self) -> str:  # type: ignore[override]
        """What a share of K means."""
        return "nearest" if self.variant == "published_code" else "ceiling"

    def _order_of(self, moments: Moments) -> list[int]:
        if isinstance(self.order, str) and self.order == "selected":
            rule = self._selector(moments).rule
            if self.variant == "published_code":
                return moments.once(("chain order", rule, 1), lambda: on_components(moments, 1, rule))
            return moments.once(("chain order", rule), lambda: on_features(moments, rule))
        return super()._order_of(moments)

    def _selector(self, moments: Moments) -> LocalMLFS:
        selector = LocalMLFS(self.n_features, self.beta, self.gamma, self.variant, self.discretise)
        return selector.fit_moments(moments)

    @property
    def features_(self) -> list[NDArray[np.intp] | None]:
        """The features that each label's model uses, by label."""
        by_label = dict(zip(self.order_, self.links_, strict=True))
        return [by_label[j].columns for j in range(len(self.order_))]


def on_features(moments: Moments, rule: str) -> list[int]:
    """The chain's order by (4.45), with the features made discrete by `rule`."""
    X, Y = discrete_variables(moments, rule)
    return selected_order(Y, X)


def on_components(moments: Moments, n: int, rule: str) -> list[int]:
    """The chain's order by the first term of (4.45), given n principal components in the place of the features."""
    directions = principal_directions(moments, n)[1]
    X, Y = moments.rows()
    projected = dense(X @ directions.T) - directions @ moments.mean_x
    components = Variables.from_values(discretised(projected, None if rule == "none" else rule))
    return selected_order(Variables.from_values(Y), components, second_term=False)


def selected_order(labels: Variables, given: Variables, second_term: bool = True) -> list[int]:
    """The labels in the order of (4.45), with the information conditional on each of `given`; ties go to the first
    label.
    """
    n_labels = len(labels)
    mean: Array = np.zeros((n_labels, n_labels))
    if len(given) < n_labels:
        for m in range(len(given)):
            mean += conditional_on(labels, labels, given.take([m])) / len(given)
    else:
        for j in range(n_labels):
            mean[j] = conditional_on_each(labels, labels.take([j]), given).mean(axis=1)
    np.fill_diagonal(mean, 0.0)
    order = [first_best(mean.sum(axis=0))]
    scores = np.zeros(n_labels)
    while len(order) < n_labels:
        scores += mean[order[-1]]
        if second_term and len(order) > 1:
            earlier = labels.take(order[:-1])
            scores += conditional_on_each(earlier, labels.take(order[-1:]), labels).mean(axis=0)
        scores[order] = -np.inf
        order.append(first_best(scores))
    return order
