"""The numbers of a results folder: the scores of single splits, their means, which are the best, and their ranks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mlcdr.errors import ResultsError

LARGEST = 1e150
"""A score beyond this, of either sign, counts as not defined: neither tests nor figures can compute with its square."""


class NoResults(ResultsError):
    """A folder of an experiment that has no results yet: nothing was computed, or every trial failed."""


Point = tuple[str, ...]
"""A point of the sweep: one text for each swept path, `""` where a method has no such parameter."""

Key = tuple[str, str, Point, str]
"""Of a cell: data set, method, point, metric."""

Setting = tuple[tuple[str, str], ...]
"""The values taken of a grid: (config path, value as written), in the grid's order."""


@dataclass(frozen=True)
class Cell:
    """One summarised number: the mean over `n` splits, their standard deviation (n−1) and the mean's standard error.

    `std` and `se` are NaN where there is one split only. `setting`: what was taken of a grid, if the method has one.
    """

    mean: float
    std: float
    se: float
    n: int
    setting: Setting = ()

    def spread(self, kind: Literal["standard_error", "std", "none"]) -> float | None:
        """The spread that a layout asks for; None for `none`."""
        return {"standard_error": self.se, "std": self.std, "none": None}[kind]


def summarise(values: Sequence[float]) -> Cell:
    """The mean of the values of single splits; NaN stands for what is not defined or out of a float's range."""
    n = len(values)
    mean = std = math.nan
    try:
        mean = math.fsum(values) / n
        std = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
    except (OverflowError, ValueError):  # of numbers beyond 1e154, or of both infinities
        pass
    return Cell(mean, std, std / math.sqrt(n), n)


def are_same(a: float, b: float) -> bool:
    """Whether two means differ by rounding only."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def is_among_best(
    cell: Cell, rivals: Sequence[Cell], higher_is_better: bool | None, within_one_se: bool = True
) -> bool:
    """Whether `cell` is the best of `rivals` (itself one of them), or within the best one's standard error of it.

    With a single rival, or a metric of unknown direction, nothing is best. If the best cell has no standard error (one
    split), only equal means are as good. If several cells are the best, their largest standard error counts, so that
    the order of the methods does not matter.
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
    """The means over all splits of a plan: others are not comparable, since a method may fail on the hard splits."""
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


def round_score(value: float) -> float:
    """A number to twelve significant digits, as it is exported: two orders of summation may differ beyond these."""
    return float(f"{value:.12g}")


@dataclass(frozen=True)
class Choices:
    """The values that trials chose for the parameters they tuned.

    Attributes
    ----------
    paths : tuple of str
        The config paths of the points.
    counts : dict
        (data set, method, point of `paths`, parameter) → value → how many trials chose it.
    tried : dict
        (data set, method) → (path, value) of each tuned parameter → the criterion, wherever such a point was tried.
    """

    paths: tuple[str, ...]
    counts: Mapping[Key, Counter[str]]
    tried: Mapping[tuple[str, str], Mapping[Setting, Sequence[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitScores:
    """The scores of single splits.

    Attributes
    ----------
    paths : tuple of str
        The config paths of the points: those of the sweep, and of grids of which every point was run.
    values : dict
        (data set, method, point of `paths`, metric) → split → value.
    """

    paths: tuple[str, ...]
    values: Mapping[Key, Mapping[int, float]]

    def cells(self) -> dict[Key, Cell]:
        """The means of those that are defined, rounded as in `summary.csv`."""
        found = {}
        for key, by_split in self.defined().values.items():
            cell = summarise(list(by_split.values()))
            found[key] = Cell(round_score(cell.mean), round_score(cell.std), round_score(cell.se), cell.n)
        return found

    def rounded(self) -> SplitScores:
        """Those that are defined, rounded as in `scores.csv`."""
        return SplitScores(
            self.paths,
            {
                key: {split: round_score(v) for split, v in values.items()}
                for key, values in self.defined().values.items()
            },
        )

    def defined(self) -> SplitScores:
        """The cells none of whose scores is beyond `LARGEST`."""
        values = {key: found for key, found in self.values.items() if all(abs(v) <= LARGEST for v in found.values())}
        return SplitScores(self.paths, values)
