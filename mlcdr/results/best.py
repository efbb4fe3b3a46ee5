"""The best of a grid on the test rows, for methods with `tune: {scope: test}`.

Every point of such a grid was run. For each data set, metric and point of the sweep the point of the grid
with the best mean over the test folds is taken, in each repetition of the protocol by itself (each repeat of a repeated
k-fold cross-validation; all of any other splits). This is what an author does who runs the protocol once and prints the
best. The resulting numbers are better than those of a choice inside the training rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.splits import KFold
from mlcdr.results.metric_facts import describe_metric
from mlcdr.results.scores import Cell, Key, Setting, SplitScores, summarise


@dataclass(frozen=True)
class Best:
    """The values of the best points, one for each split, and the setting that was best most often."""

    values: tuple[float, ...]
    repetitions: tuple[float, ...]
    setting: Setting

    @property
    def cell(self) -> Cell:
        """The mean of the values."""
        return summarise(self.values)


@dataclass(frozen=True)
class Repetitions:
    """Which repetition of the protocol a split belongs to: with k folds every `folds` splits, else (None) all."""

    folds: int | None = None

    @classmethod
    def of(cls, experiment: Experiment) -> Repetitions:
        """Those of an experiment."""
        return cls(experiment.splits.folds if isinstance(experiment.splits, KFold) else None)

    def number(self, split: int) -> int:
        """The number of the repetition that a split belongs to."""
        return split // self.folds if self.folds else 0

    def is_whole(self, n_splits: int) -> bool:
        """Whether so many splits are a whole repetition, and not an interrupted one."""
        return self.folds is None or n_splits == self.folds

    def means(self, values: Mapping[int, float]) -> tuple[float, ...]:
        """The mean of each whole repetition, of split → value."""
        parts: dict[int, list[float]] = {}
        for split in sorted(values):
            parts.setdefault(self.number(split), []).append(values[split])
        return tuple(math.fsum(part) / len(part) for part in parts.values() if self.is_whole(len(part)))


def choose_best(
    scores: SplitScores,
    grids: Mapping[str, tuple[str, ...]],
    swept: tuple[str, ...],
    experiment: Experiment,
    folder: Path,
) -> dict[Key, Best]:
    """The best of each grid at each point of the other `swept` paths; none for metrics without a direction.

    Parameters
    ----------
    grids : mapping
        Method → the paths of its grid.

    Raises
    ------
    ResultsError
        When it is not known which way a metric is better.
    """
    found: dict[Key, dict[Setting, Mapping[int, float]]] = {}
    for (dataset, method, point, metric), values in scores.values.items():
        if method in grids:
            at = dict(zip(scores.paths, point, strict=True))
            key = (dataset, method, tuple(at[path] for path in swept), metric)
            found.setdefault(key, {})[tuple((path, at[path]) for path in grids[method])] = values
    higher = {metric: describe_metric(experiment, metric).higher_is_better for metric in {key[3] for key in found}}
    unknown = sorted(metric for metric, better in higher.items() if better is None)
    if unknown:
        raise ResultsError(f"{folder}: {unknown[0]!r}: which way it is better is not known, so nothing is the best")
    repetitions = Repetitions.of(experiment)
    best = {key: best_of(points, bool(higher[key[3]]), repetitions) for key, points in found.items()}
    return {key: each for key, each in best.items() if each is not None}


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
        Which splits make a repetition. An interrupted one gives values, but does not count as a repetition.
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


def tuned_paths(experiment: Experiment, scope: str) -> dict[str, tuple[str, ...]]:
    """Method → the paths of its grid, for the methods that are tuned with that scope."""
    methods = experiment.methods.items()
    return {name: tuple(spec.tune.grid) for name, spec in methods if spec.tune and spec.tune.scope == scope}
