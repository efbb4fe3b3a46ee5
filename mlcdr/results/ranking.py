"""Which of some means are the best, and their ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from mlcdr.results.scores import Cell


def are_same(a: float, b: float) -> bool:
    """Whether two means are one number that was computed or written along different ways."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def is_among_best(
    cell: Cell, rivals: Sequence[Cell], higher_is_better: bool | None, within_one_se: bool = True
) -> bool:
    """Whether `cell` is the best of `rivals` (itself one of them), or within the best one's standard error of it.

    With a single rival, or a metric of unknown direction, nothing is best. A best cell without a standard error (one
    split) has none to spare. Of equally good ones with different errors the largest counts, so that the order of the
    methods does not matter.
    """
    if higher_is_better is None or len(rivals) < 2:
        return False
    best = (max if higher_is_better else min)(rival.mean for rival in rivals)
    if are_same(cell.mean, best):
        return True
    errors = [rival.se for rival in rivals if are_same(rival.mean, best) and not math.isnan(rival.se)]
    behind = abs(cell.mean - best)
    return within_one_se and bool(errors) and (behind <= max(errors) or are_same(behind, max(errors)))


def over_all_splits(cells: Iterable[Cell]) -> list[Cell]:
    """Those of the means of one plan that no split lacks: the splits where a method failed may be the hard ones."""
    found = list(cells)
    most = max((cell.n for cell in found), default=0)
    return [cell for cell in found if cell.n == most]


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
