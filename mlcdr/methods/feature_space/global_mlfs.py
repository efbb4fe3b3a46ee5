"""The feature step `mlfs`."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from mlcdr.methods.constraints import N_PARENTS, NOT_NEGATIVE, parameter
from mlcdr.methods.feature_space.informative import InformationSelector, by_place
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.forward_selection import forward_selection, parents_in_order
from mlcdr.numerics.information import Variables, conditional_on_each
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments


class GlobalMLFS(InformationSelector):
    """Multi-label feature selection for all labels (global MLFS): relevance, the parents' labels, and redundancy.

    Source: Sun 2017, (4.40).

    Greedy: the next feature, with θ those chosen, is the X_m that maximises

        Σ_j ( I(X_m; Y_j) + β Σ_(k ∈ Pa_j) I(Y_j; Y_k | X_m) + γ Σ_(n ∈ θ) I(Y_j; X_n | X_m) )        (4.40)

    with the parents Pa_j of a k-dependence chain (4.31) in the order of the data set. β = γ = 0 is multi-label MIM,
    β = 0 multi-label JMI (`mim`, `jmi`). Cost: about d²K look-ups of counts.

    Parameters
    ----------
    n_parents : int, float or None
        k: a number of labels (all before, where there are fewer), a share p of the K labels (⌈pK⌉), or all before.
    beta, gamma : float or None
        The weights. None: 1/|Pa_j| and 1/|θ|.
    """

    n_parents: float | int | None = parameter(0.8, N_PARENTS, at_most="labels")
    beta: float | None = parameter(None, [*NOT_NEGATIVE, None])
    gamma: float | None = parameter(None, [*NOT_NEGATIVE, None])

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        X, Y = self._variables(moments)
        relevance = self._information(moments).sum(axis=1)
        for j, parents in enumerate(self._parents(Y)):
            if parents and self.beta != 0:
                on_parents = conditional_on_each(Y.take(parents), Y.take([j]), X).sum(axis=0)
                relevance += on_parents * (1.0 / len(parents) if self.beta is None else self.beta)
        if self.gamma == 0:
            return np.round(relevance, 12), {}
        related = summed_over_labels(X, Y, self._joint_with_labels(moments))
        return by_place(forward_selection(len(X), relevance, related, self.gamma)), {}

    def _parents(self, Y: Variables) -> list[list[int]]:
        if self.n_parents == 0 or self.beta == 0:
            return [[] for _ in range(len(Y))]
        k = min(self.n_parents, len(Y)) if isinstance(self.n_parents, Integral) else self.n_parents
        return parents_in_order(Y, range(len(Y)), n_kept(k, len(Y), "ceiling"))


def summed_over_labels(X: Variables, Y: Variables, joint: Array) -> Callable[[int], Array]:
    """From n to Σ_j I(Y_j; X_n | X_m) (d,), given H(Y_j, X_m) (K×d)."""

    def related(chosen: int) -> Array:
        return conditional_on_each(Y, X.take([chosen]), X, joint).sum(axis=0)

    return related
