"""The best of a grid on the test rows, for methods with `tune: {scope: test}`.

Every point of such a grid was run. For each data set, metric and point of the sweep one is taken: the best mean over
the test folds, in each repetition of the protocol by itself (of a repeated k-fold cross-validation, each repeat; of
other splits, all of them), since that is what an author does who runs the protocol once and prints the best. What it
shows is better than what an honest choice would give.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Point = tuple[str, ...]
Setting = tuple[tuple[str, str], ...]
"""The values taken of a grid: (config path, value as written), in the grid's order."""


@dataclass(frozen=True)
class Best:
    """The values of the best points, one for each split, and the setting that was best most often."""

    values: tuple[float, ...]
    repetitions: tuple[float, ...]
    setting: Setting

    @property
    def summary(self) -> tuple[float, float, float, int]:
        """Mean, standard deviation (n − 1), standard error, and number of splits."""
        n = len(self.values)
        mean = math.fsum(self.values) / n
        std = math.sqrt(math.fsum((v - mean) ** 2 for v in self.values) / (n - 1)) if n > 1 else math.nan
        return mean, std, std / math.sqrt(n), n


@dataclass(frozen=True)
class Repetitions:
    """Of which repetition of a protocol a split is: of a k-fold's, each `folds` splits make one; else (None) all do."""

    folds: int | None = None

    @classmethod
    def of(cls, experiment: Mapping[str, Any]) -> Repetitions:
        """Those of a resolved config."""
        splits = experiment.get("splits")
        folds = splits.get("folds") if isinstance(splits, Mapping) and splits.get("kind") == "kfold" else None
        return cls(folds if isinstance(folds, int) and folds > 0 else None)

    def number(self, split: int) -> int:
        """The number of the repetition that a split belongs to."""
        return split // self.folds if self.folds else 0

    def is_whole(self, n_splits: int) -> bool:
        """Whether so many splits are a whole repetition, and not one that was broken off."""
        return self.folds is None or n_splits == self.folds


def best_of(points: Mapping[Setting, Mapping[int, float]], higher: bool, repetitions: Repetitions) -> Best | None:
    """The best of a grid; None where no two points can be compared.

    Parameters
    ----------
    points : mapping of setting → (split → value)
        Points that lack a split which another has (a metric may not be defined there) do not compete in that
        repetition. Of equally good ones the first is taken.
    higher : bool
        Whether a larger value is better.
    repetitions : Repetitions
        Which splits make a repetition. One that was broken off gives values, but is not one of the repetitions.
    """
    parts: dict[int, dict[Setting, dict[int, float]]] = {}
    for setting, by_split in points.items():
        for split, value in by_split.items():
            parts.setdefault(repetitions.number(split), {}).setdefault(setting, {})[split] = value
    sign = -1.0 if higher else 1.0
    values: list[float] = []
    means: list[float] = []
    taken: list[Setting] = []
    for number in sorted(parts):
        splits = frozenset().union(*parts[number].values())
        rivals = {s: math.fsum(f.values()) / len(f) for s, f in parts[number].items() if f.keys() == splits}
        if not rivals:
            continue
        winner = min(rivals, key=lambda setting: round(sign * rivals[setting], 12))
        taken.append(winner)
        if repetitions.is_whole(len(splits)):
            means.append(rivals[winner])
        values += [parts[number][winner][split] for split in sorted(parts[number][winner])]
    if not taken:
        return None
    often = Counter(taken)
    overall = {s: sign * math.fsum(points[s].values()) / len(points[s]) for s in often}
    shown = min(often, key=lambda setting: (-often[setting], round(overall[setting], 12)))
    return Best(tuple(values), tuple(means), shown)


def grids(experiment: Mapping[str, Any], scope: str = "test") -> dict[str, tuple[str, ...]]:
    """Method → the paths of its grid, for the methods of a resolved config that are tuned with that scope."""
    found = {}
    methods = experiment.get("methods")
    for name, parts in methods.items() if isinstance(methods, Mapping) else ():
        tune = parts.get("tune") if isinstance(parts, Mapping) else None
        if isinstance(tune, Mapping) and tune.get("scope") == scope and isinstance(tune.get("grid"), Mapping):
            found[str(name)] = tuple(map(str, tune["grid"]))
    return found


def named(paths: Sequence[str], point: Point, columns: Sequence[str]) -> Setting:
    """The values of `paths` in a point of all `columns`."""
    return tuple((path, point[columns.index(path)]) for path in paths)
