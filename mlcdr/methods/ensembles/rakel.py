"""The learner `rakel`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil, comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mlcdr.methods.classifiers.label_powerset import LabelPowerset, fit_powersets
from mlcdr.methods.constraints import BOOLEAN, COUNT, SEED, parameter
from mlcdr.methods.multilabel import Array, MetaClassifier
from mlcdr.numerics.moments import Moments


def check_labelsets(labelsets: Any, n_labels: int) -> None:
    """Raise a ValueError where the given sets are not sets of the labels 0, …, `n_labels` − 1."""
    if labelsets is None:
        return
    labels = set(range(n_labels))
    for chosen in labelsets:
        if not (isinstance(chosen, list | tuple | np.ndarray) and 0 < len(chosen) == len(labels & {*chosen})):
            raise ValueError(f"labelsets: a set holds some of the labels 0, …, {n_labels - 1}, once each")
    if not len(labelsets):
        raise ValueError("labelsets: none is given (null draws them)")


class RAkEL(MetaClassifier):
    """RAkEL: an ensemble of label powersets, each of a few labels.

    Source: Tsoumakas, Katakis & Vlahavas 2011, "Random k-labelsets for multilabel classification".

    ŷ_l = 1 where more than half of the label powersets of sets R_1, …, R_m ∋ l predict it; |R_i| = k.

    Overlapping (RAkEL_o): m different sets, drawn at random from all that there are. Disjoint (RAkEL_d): the labels in
    random order, cut into ⌈K/k⌉ sets, of which the last may be smaller. A label in none of the sets is not predicted.
    Scores are the share of the votes less ½. Cost: m fits of the estimator to 2^k classes at most.

    Parameters
    ----------
    estimator : estimator or None
        A classifier (a binary one: one against the rest), or a regressor, which fits the indicators of the label sets.
        None: least squares.
    k : int
        The labels of a set (all, where there are fewer).
    n_models : int or None
        m, for overlapping sets; None: 2K. At most the number of different sets.
    disjoint : bool
        Whether the sets are disjoint, so that n_models does not matter.
    labelsets : list of lists of int, or None
        The sets themselves, of labels counted from 0, instead of random ones.
    random_state : int, RandomState instance or None
        Draws the sets.

    Attributes
    ----------
    labelsets_ : list of arrays
        R_1, …, R_m, each ascending.
    models_ : list of LabelPowerset
        One for each set.
    """

    k: int = parameter(3, COUNT, at_most="labels")
    n_models: int | None = parameter(None, [*COUNT, None])
    disjoint: bool = parameter(False, BOOLEAN)
    labelsets: Sequence[Sequence[int]] | None = parameter(None, [list, tuple, None], check=check_labelsets)
    random_state: Any = parameter(None, SEED)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        self._n_labels = Y.shape[1]
        self.labelsets_ = self._draw(self._n_labels)
        self.models_ = [LabelPowerset(self.estimator) for _ in self.labelsets_]
        Ys = [Y[:, chosen] for chosen in self.labelsets_]
        for model, own in zip(self.models_, Ys, strict=True):
            model._begin(Moments.from_arrays(X, own))
        fit_powersets(self.models_, X, Ys)

    def _draw(self, n_labels: int) -> list[NDArray[np.intp]]:
        if self.labelsets is not None:
            check_labelsets(self.labelsets, n_labels)
            return [np.sort(np.asarray(chosen, dtype=np.intp)) for chosen in self.labelsets]
        rng = check_random_state(self.random_state)
        k = min(self.k, n_labels)
        if self.disjoint:
            labels = rng.permutation(n_labels)
            return [np.sort(labels[i * k : (i + 1) * k]) for i in range(ceil(n_labels / k))]
        there_are = comb(n_labels, k)
        m = min(2 * n_labels if self.n_models is None else self.n_models, there_are)
        if there_are <= 4 * m:  # where most are drawn, drawing until they differ would take long
            every = list(combinations(range(n_labels), k))
            return [np.array(every[i]) for i in rng.choice(there_are, m, replace=False)]
        drawn: dict[tuple[int, ...], None] = {}
        while len(drawn) < m:
            drawn[tuple(sorted(rng.choice(n_labels, k, replace=False).tolist()))] = None
        return [np.array(chosen) for chosen in drawn]

    def _scores(self, X: Any) -> Array:
        votes, voters = np.zeros((X.shape[0], self._n_labels)), np.zeros(self._n_labels)
        for chosen, model in zip(self.labelsets_, self.models_, strict=True):
            votes[:, chosen] += model._labels(X)
            voters[chosen] += 1
        return votes / np.maximum(voters, 1.0) - 0.5
