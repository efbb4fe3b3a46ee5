"""The learner `k_dependence_chain`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from mlcdr.methods.chains.directed import DirectedChain, Structure
from mlcdr.methods.chains.links import Array
from mlcdr.methods.chains.order import order_of
from mlcdr.methods.constraints import N_PARENTS, NOT_NEGATIVE, SEED, one_of, parameter
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.forward_selection import parents_in_order
from mlcdr.numerics.information import Variables, mutual_information
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments


class KDependenceChain(DirectedChain):
    """k-dependence classifier chain (kCC): a chain in which a label uses k of those before it, at most.

    Source: Sun 2017, section 4.2.1.

    h_j(x, pa_j), with parents Pa_j among the labels before Y_j chosen greedily: the next is the Y_l that maximises

        I(Y_l; Y_j) + α Σ_(Y_k ∈ Pa_j) I(Y_j; Y_k | Y_l)        (4.31)

    until there are k, or no label is left. k = 0 is binary relevance, k = K − 1 a classifier chain. Links are trained
    on the true parents; for a new instance, predicted ones are used. A label that is constant in the training set has
    no information, and is never a parent. Cost: K fits of the estimator, and about K²·k look-ups of counts.

    Parameters
    ----------
    n_parents : int, float or None
        k: a number of labels (all before, where there are fewer), a share p of the K labels, or all before.
    order : list of int, "random" or None
        The labels in the chain's order, counted from 0; or drawn at random; None: the order of the data set.
    alpha : float or None
        α. None: 1/|Pa_j|.
    rounding : {"ceiling", "nearest"}
        How a share of K is rounded: up, ⌈pK⌉ (the text), or to the nearest number (the author's program).
    random_state : int, RandomState instance or None
        Seed of a random order.

    Attributes
    ----------
    order_ : list of int
        The labels in the chain's order.
    parents_ : list of lists of int
        The parents of each label, in the order of choice; by label.
    links_ : list of Link
        The models, in the chain's order; the parents follow the features.
    """

    n_parents: float | int | None = parameter(0.8, N_PARENTS, at_most="labels")
    order: Sequence[int] | str | None = parameter(None, ["array-like", *one_of("random"), None], check=order_of)
    alpha: float | None = parameter(None, [*NOT_NEGATIVE, None])
    rounding: str = parameter("ceiling", one_of("ceiling", "nearest"))
    random_state: Any = parameter(None, SEED)

    def _structure(self, estimator: Any, moments: Moments, selector: LocalSelector) -> Structure:
        order = self._order_of(moments)
        return order, self._parents_of(moments, order)

    def _order_of(self, moments: Moments) -> list[int]:
        return order_of(self.order, moments.n_labels, self.random_state)

    def _parents_of(self, moments: Moments, order: list[int]) -> list[list[int]]:
        n_labels = moments.n_labels
        if self.n_parents == 0:
            return [[] for _ in range(n_labels)]
        k = min(self.n_parents, n_labels) if isinstance(self.n_parents, Integral) else self.n_parents
        most = n_kept(k, n_labels, self.rounding)
        labels, informative = label_information(moments)
        return parents_in_order(labels, order, most, self.alpha, informative)


def label_information(moments: Moments) -> tuple[Variables, Array]:
    """The labels of a training set, and their mutual information (K×K)."""

    def found() -> tuple[Variables, Array]:
        labels = Variables.from_values(moments.rows()[1])
        return labels, mutual_information(labels, labels)

    return moments.once("label information", found)
