"""The trials that failed, gathered by what went wrong."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import method_text
from mlcdr.results.record import Failure, read_failures
from mlcdr.whole_files import is_own_file

_SCORES = ("split", "metric", "value")

Place = tuple[str, str, tuple[tuple[str, str], ...], int]
"""Of a trial: data set, method, the values of its swept parameters, split."""


@dataclass(frozen=True)
class Kind:
    """Failures of one method on one data set that ended in the same exception."""

    dataset: str
    method: str
    reason: str
    failures: tuple[Failure, ...]


def reason(error: str) -> str:
    """What a traceback ends with, in one line: the exception and the first line of its message."""
    lines = error.splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith('  File "')]
    after = [line for line in lines[frames[-1] + 1 if frames else 0 :] if line and not line.startswith(" ")]
    return after[0] if after else (lines or ["no traceback on record"])[-1]


def scored(folder: Path) -> set[Place]:
    """The trials that have a row in scores.csv; none where there is no such file yet.

    Raises
    ------
    ResultsError
        When the file is broken.
    """
    path = folder / "scores.csv"
    if not is_own_file(path):
        return set()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            swept = next(rows, [])[2 : -len(_SCORES)]
            distinct = {tuple(row[: -len(_SCORES) + 1]) for row in rows}
        return {
            (dataset, method, tuple(sorted((key, v) for key, v in zip(swept, values, strict=True) if v)), int(split))
            for dataset, method, *values, split in distinct
        }
    except (ValueError, csv.Error) as error:  # not UTF-8, a row too short or too long, a split that is no number
        raise ResultsError(f"{path}: not a table of scores: {error}") from error


def kinds(folder: Path, experiment: Mapping[str, Any], datasets: Sequence[str], done: set[Place]) -> list[Kind]:
    """The failures of the experiment as it stands, those of one kind together, in the order of the config's methods.

    A record also keeps trials that are of the experiment no more. Left out are those of other data sets, methods,
    values of the sweep and splits than it has now, and failures at places that have scores (`done`). Where nothing says
    which data sets it has (`datasets` is empty), all count; so do all splits where files have the folds.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    methods = [str(name) for name in experiment.get("methods") or ()]
    splits = _number_of_splits(experiment)
    found: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in read_failures(folder):
        place = (failure.dataset, failure.method, tuple(sorted(failure.point)), failure.split)
        known = not datasets or failure.dataset in datasets
        of_now = known and failure.method in methods and _has(experiment, failure)
        if of_now and place not in done and (splits is None or failure.split < splits):
            found.setdefault((failure.dataset, failure.method, reason(failure.error)), []).append(failure)
    gathered = [Kind(*key, tuple(failures)) for key, failures in found.items()]
    order = {dataset: k for k, dataset in enumerate(datasets)}
    return sorted(gathered, key=lambda kind: (order.get(kind.dataset, 0), kind.dataset, methods.index(kind.method)))


def _has(experiment: Mapping[str, Any], failure: Failure) -> bool:
    """Whether the sweep, or the method's grid, has the values of the point."""
    tune = experiment["methods"][failure.method].get("tune") or {}
    values = {**(experiment.get("sweep") or {}), **(tune.get("grid") or {})}
    return all(value in map(method_text, values.get(path) or ()) for path, value in failure.point)


def _number_of_splits(experiment: Mapping[str, Any]) -> int | None:
    """How many splits the config has; None where files say it."""
    splits = experiment.get("splits")
    if not isinstance(splits, Mapping) or splits.get("kind") == "file":
        return None
    counts = [splits.get(key) for key in ("repeats", "folds")]
    known = [count for count in counts if isinstance(count, int)]
    return math.prod(known) if known else None


def places(failures: Sequence[Failure]) -> list[tuple[str, str]]:
    """Each point (`n_components = 20%`; empty where nothing is swept) with the splits in which it failed."""
    by_point: dict[str, list[int]] = {}
    for failure in failures:
        point = ", ".join(f"{path} = {value}" for path, value in failure.point)
        by_point.setdefault(point, []).append(failure.split)
    return [(point, ", ".join(_runs(sorted(splits)))) for point, splits in by_point.items()]


def _runs(numbers: Sequence[int]) -> list[str]:
    """`0–3`, `7`: numbers in a row taken together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
