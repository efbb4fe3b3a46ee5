"""Greedy forward selection by relevance and by what the chosen ones add: (4.31), (4.40) and (4.41) of Sun 2017.

Of candidates c, with S those chosen so far, the next one is

    arg max_c  relevance(c) + w Σ_(s ∈ S) related(s)(c),    w = 1/|S|, or a number.

A choice is nested: the first m of n chosen are the choice of m. So one selection serves all numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mlcdr.numerics.information import Variables, conditional_on_each, first_best, mutual_information

Array = NDArray[np.float64]


def forward_selection(
    n: int,
    relevance: Array,
    related: Callable[[int], Array],
    weight: float | None = None,
    first_by: Array | None = None,
) -> list[int]:
    """The numbers of n candidates (all, if there are fewer) in the order of choice; ties go to the first candidate.

    Parameters
    ----------
    relevance : array of shape (m,)
        The relevance of each candidate.
    related : function
        From a chosen candidate's number to its contribution to the score of each candidate (m,).
    weight : float or None
        w; None: 1/|S|.
    first_by : array of shape (m,), or None
        The scores for the choice of the first one; None: the relevance.
    """
    chosen: list[int] = []
    added = np.zeros(len(relevance))
    scores = np.array(relevance if first_by is None else first_by)
    while len(chosen) < min(n, len(relevance)):
        scores[chosen] = -np.inf
        chosen.append(first_best(scores))
        added += related(chosen[-1])
        scores = relevance + added * (1.0 / len(chosen) if weight is None else weight)
    return chosen


def most_relevant(relevance: Array, n: int) -> list[int]:
    """The numbers of the n largest (all, if there are fewer), descending; ties (up to rounding) go to the first."""
    return np.argsort(-np.round(relevance, 12), kind="stable")[:n].tolist()


def parents_in_order(
    labels: Variables, order: Sequence[int], n: int, alpha: float | None = None, informative: Array | None = None
) -> list[list[int]]:
    """For each label up to n parents among those before it in an order, by (4.31), in the order of choice; by label.

    A constant label has no parents, and is never a parent. `informative`: I(Y_j; Y_k) (K×K), if known.
    """
    informative = mutual_information(labels, labels) if informative is None else informative
    live = (labels.counts > 0) & (labels.counts < labels.n)
    parents: list[list[int]] = [[] for _ in range(len(labels))]
    before: list[int] = []
    for j in order:
        if not live[j]:
            continue
        if before:
            earlier = labels.take(before)
            table = conditional_on_each(earlier, labels.take([j]), earlier)
            chosen = forward_selection(n, informative[before, j], table.__getitem__, alpha)
            parents[j] = [before[c] for c in chosen]
        before.append(j)
    return parents
