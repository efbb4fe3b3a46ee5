"""Scores as numbers: which are the same, which count as defined, how they are rounded and ranked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mlcdr.errors import ResultsError

LARGEST = 1e150
"""A score beyond this, of either sign, counts as not defined: neither tests nor figures can compute with its square."""


class NoResults(ResultsError):
    """A folder of an experiment that has no results yet: nothing was computed, or every trial failed."""


def are_same(a: float, b: float) -> bool:
    """Whether two means differ by rounding only."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def rank_means(means: Mapping[str, float], higher_is_better: bool) -> dict[str, float]:
    """Name → rank of its mean, 1 the best; equal means share the average of their ranks.

    Examples
    --------
    >>> rank_means({"PLST": 0.2, "CPLST": 0.1, "OCCA": 0.2}, higher_is_better=False)
    {'CPLST': 1.0, 'PLST': 2.5, 'OCCA': 2.5}
    """
    ordered = sorted(means, key=lambda name: -means[name] if higher_is_better else means[name])
    found: dict[str, float] = {}
    while ordered:
        tied = [name for name in ordered if are_same(means[name], means[ordered[0]])]
        found |= dict.fromkeys(tied, len(found) + (1 + len(tied)) / 2)
        ordered = [name for name in ordered if name not in found]
    return found


def round_score(value: float) -> float:
    """A number to twelve significant digits, as it is exported: two orders of summation may differ beyond these."""
    return float(f"{value:.12g}")
