"""The trials that failed, gathered by what went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from mlcdr.errors import join_words, without_numbers
from mlcdr.experiment.model import Experiment, method_text
from mlcdr.experiment.splits import number_of_splits
from mlcdr.results.record import Failed, read_failures

_NAMED = 4  # methods, or data sets, of a cause

Place = tuple[str, str, tuple[tuple[str, str], ...], int]
"""Of a trial: data set, method, the values of its swept parameters, split."""


@dataclass(frozen=True)
class Kind:
    """Failures of one method on one data set that ended in the same exception."""

    dataset: str
    method: str
    reason: str
    failures: tuple[Failed, ...]


def describe_error(error: str) -> str:
    """What a traceback ends with, in one line: the exception and the first line of its message."""
    lines = error.splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith('  File "')]
    after = [line for line in lines[frames[-1] + 1 if frames else 0 :] if line and not line.startswith(" ")]
    return after[0] if after else (lines or ["no traceback on record"])[-1]


def gather_failures(
    folder: Path, experiment: Experiment, datasets: Sequence[str], scored: Collection[Place]
) -> list[Kind]:
    """The failures of the experiment as it stands, those of one kind together, in the order of the config's methods.

    A record also keeps trials that no longer belong to the experiment. Left out are those of other data sets, methods,
    values of the sweep and splits than it has now, and failures at places that have scores (`scored`). If its data sets
    are not known (`datasets` is empty), all data sets count; if the folds are in files, all splits count.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    splits = None if experiment.splits.kind == "file" else number_of_splits(experiment.splits)
    values_of = cache(partial(_values, experiment))
    found: dict[tuple[str, str, str], list[Failed]] = {}
    for failure in read_failures(folder):
        place = (failure.dataset, failure.method, tuple(sorted(failure.point)), failure.split)
        known = failure.method in experiment.methods and (not datasets or failure.dataset in datasets)
        of_now = known and all(value in values_of(failure.method).get(path, ()) for path, value in failure.point)
        if of_now and place not in scored and (splits is None or failure.split < splits):
            found.setdefault((failure.dataset, failure.method, describe_error(failure.error)), []).append(failure)
    gathered = [Kind(*key, tuple(failures)) for key, failures in found.items()]
    order = {dataset: k for k, dataset in enumerate(datasets)}
    methods = list(experiment.methods)
    return sorted(gathered, key=lambda kind: (order.get(kind.dataset, 0), kind.dataset, methods.index(kind.method)))


def _values(experiment: Experiment, method: str) -> dict[str, set[str]]:
    """The values, as texts, that the sweep and the method's own search have: path → values."""
    shown = experiment.methods[method].shown
    drawn = shown.candidates(experiment.seed) if shown else []
    values = experiment.sweep | {path: [point[path] for point in drawn] for path in (shown.grid if shown else ())}
    return {path: set(map(method_text, each)) for path, each in values.items()}


@dataclass(frozen=True)
class Cause:
    """Failed trials, of any method and data set, whose exceptions are the same but for numbers; `reason`: the first."""

    reason: str
    failures: tuple[Failed, ...]

    def describe(self) -> str:
        """`Bad on yeast and scene, splits 0–2: ValueError: what is wrong (6 trials)`."""
        points = {failure.point for failure in self.failures}
        shown = ", ".join(f"{path} {value}" for path, value in points.pop()) if len(points) == 1 else ""
        methods, datasets = (join_some([getattr(each, key) for each in self.failures]) for key in ("method", "dataset"))
        splits = sorted({failure.split for failure in self.failures})
        where = f"{methods}{f' ({shown})' if shown else ''} on {datasets}"
        where += f", split{'s' * (len(splits) > 1)} {', '.join(_join_runs(splits))}"
        return f"{where}: {self.reason} ({len(self.failures)} trial{'s' * (len(self.failures) > 1)})"


def gather_causes(failures: Iterable[Failed]) -> list[Cause]:
    """Failures by cause, in the order of each cause's first."""
    found: dict[str, list[Failed]] = {}
    for failure in failures:
        found.setdefault(without_numbers(describe_error(failure.error)), []).append(failure)
    return [Cause(describe_error(same[0].error), tuple(same)) for same in found.values()]


def join_some(names: Iterable[str], most: int = _NAMED) -> str:
    """Names joined, each once, of many the first ones and how many more there are."""
    known = list(dict.fromkeys(names))
    return join_words([*known[:most], *([f"{len(known) - most} more"] if len(known) > most else [])])


def list_places(failures: Sequence[Failed]) -> list[tuple[str, str]]:
    """Each point (`n_components = 20%`; empty where nothing is swept) with the splits in which it failed."""
    by_point: dict[str, list[int]] = {}
    for failure in failures:
        point = ", ".join(f"{path} = {value}" for path, value in failure.point)
        by_point.setdefault(point, []).append(failure.split)
    return [(point, ", ".join(_join_runs(sorted(splits)))) for point, splits in by_point.items()]


def _join_runs(numbers: Sequence[int]) -> list[str]:
    """`0–3`, `7`: numbers in a row taken together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
