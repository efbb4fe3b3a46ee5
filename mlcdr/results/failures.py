"""The trials that failed, gathered by what went wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcdr.errors import join_words, plural, without_numbers
from mlcdr.experiment.grouping import group_pairs
from mlcdr.results.record import Failed, read_failures

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^  File ".*', re.M)
_NAMED = 4  # methods, or data sets, of a cause


def describe_error(error: str) -> str:
    """What an error says in one line: what stands before its traceback, else the exception with which that ends."""
    if not error:
        return "no traceback on record"
    before, _, _ = error.partition(_TRACEBACK)
    end = _FRAME.split(error)[-1]  # what stands below the last frame
    lines = [*before.splitlines(), *end.splitlines()]
    told = [line for line in lines if line and not line.startswith(" ")]
    return told[0] if told else error.splitlines()[-1]


def join_errors(what: str, errors: Sequence[str]) -> str:
    """The error of what failed by other errors: `what`, their causes (each with its number, if there are several), and
    the first one's traceback.
    """
    if not errors:
        return what
    reasons = map(describe_error, errors)
    kinds = group_pairs((without_numbers(reason), reason) for reason in reasons)
    causes = [same[0] for same in kinds.values()]
    if len(causes) > 1:
        causes = [f"{same[0]} ({len(same)} times)" for same in kinds.values()]
    return f"{what}: {'; '.join(causes)}\n\n{errors[0]}"


def find_frames(error: str) -> list[tuple[str, str, str]]:
    """The file, the line and the function of each frame of a traceback."""
    return re.findall(r'^  File "(.+)", line (\d+), in (.+)$', error, re.M)


@dataclass(frozen=True)
class Kind:
    """Failures of one method on one data set that ended in the same exception."""

    dataset: str
    method: str
    reason: str
    failures: tuple[Failed, ...]


def gather_failures(folder: Path) -> list[Kind]:
    """The failures of the last run's plan, those of one kind together, in its order.

    Raises
    ------
    ResultsError
        When the record cannot be read, or there is none.
    """
    found = group_pairs(
        ((failure.dataset, failure.method, describe_error(failure.error)), failure) for failure in read_failures(folder)
    )
    return [Kind(*kind, tuple(failures)) for kind, failures in found.items()]


@dataclass(frozen=True)
class Cause:
    """Failed trials, of any method and data set, whose exceptions are the same but for numbers; `reason`: the first."""

    reason: str
    failures: tuple[Failed, ...]

    def describe(self) -> str:
        """`Bad on yeast and scene, splits 0–2: ValueError: what is wrong (6 trials)`."""
        methods = join_some(failure.method for failure in self.failures)
        datasets = join_some(failure.dataset for failure in self.failures)
        points = {failure.point for failure in self.failures}
        if len(points) == 1:
            values = [f"{path} {value}" for path, value in points.pop()]
            methods += f" ({', '.join(values)})" if values else ""
        splits = {failure.split for failure in self.failures}
        return f"{methods} on {datasets}, {_name_splits(splits)}: {self.reason} ({plural(len(self.failures), 'trial')})"


def gather_causes(failures: Iterable[Failed]) -> list[Cause]:
    """Failures by cause, in the order of each cause's first."""
    found = group_pairs((without_numbers(describe_error(failure.error)), failure) for failure in failures)
    return [Cause(describe_error(same[0].error), tuple(same)) for same in found.values()]


def join_some(names: Iterable[str], most: int = _NAMED) -> str:
    """Names joined, each once, of many the first ones and how many more there are."""
    known = list(dict.fromkeys(names))
    more = len(known) - most
    if more > 0:
        known[most:] = [f"{more} more"]
    return join_words(known)


def list_places(failures: Sequence[Failed]) -> list[tuple[str, str]]:
    """Each point (`n_components = 20%`; empty where nothing is swept), and `splits 0–3`, in which it failed."""
    by_point = group_pairs((failure.point, failure.split) for failure in failures)
    places = []
    for point, splits in by_point.items():
        values = ", ".join(f"{path} = {value}" for path, value in point)
        places.append((values, _name_splits(splits)))
    return places


def _name_splits(numbers: Collection[int]) -> str:
    """`split 7`, or `splits 0–3, 7`: numbers in a row taken together."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = []
    for run in runs:
        shown.append(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]))
    return f"split{'s' * (len(numbers) > 1)} {', '.join(shown)}"
