"""Each method fitted once, so that one that cannot work is found before it is run (`mlcdr check --try`).

A method is fitted to a few rows first, which takes a moment. It may fail there only because the rows are too few for
its neighbours, folds or clusters, or lack a label. So one that fails is fitted to the first split as well, and counts
as one that cannot work if it fails again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mlcdr.data.dataset import Dataset
from mlcdr.execution.groups import group_by_split
from mlcdr.execution.tuning import without_tune
from mlcdr.execution.warned import shorten_file_path
from mlcdr.execution.workers import LocalWorkers
from mlcdr.experiment.data_checks import Findings
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.division import Splits
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.keys import program_version
from mlcdr.experiment.model import Experiment, LimitsSpec, MethodSpec
from mlcdr.experiment.problems import KeyPath, Problem
from mlcdr.experiment.trials import Trial, plan_trials
from mlcdr.methods.component import Component
from mlcdr.methods.returned import ReturnedWrong, hint
from mlcdr.results.failures import describe_error, find_frames
from mlcdr.testing.exceptions import find_file

_SECONDS = 60.0  # the most that one fit may take
_TRAIN, _TEST = 60, 20  # the few rows


@dataclass(frozen=True)
class FewRows(DataSource):
    """A source that contains its data: the first `n_train` rows of a small data set train, the others test."""

    dataset: Dataset | None = field(default=None, compare=False, repr=False)
    n_train: int = 0
    hidden_by: tuple[int, str] = (0, "")

    def read(self) -> DividedData:
        """The data set, and its only split."""
        assert self.dataset is not None
        is_test = np.arange(self.dataset.n_instances) >= self.n_train
        part = is_test.astype(int)
        splits = Splits([{}], [1], lambda repeat: part, self.hidden_by)
        return DividedData(self, self.dataset, splits)


class _Failure(NamedTuple):
    """The traceback of a failed trial; `cause`: of its worker's end, if it ended."""

    error: str
    cause: str


def check_methods(experiment: Experiment) -> Findings:
    """Try all methods of an experiment, in a process of their own that may die.

    A method is tried at the first and the last point of the sweep, with the first and the last of its grid.

    Raises
    ------
    UserError
        When a data set is not available or cannot be divided.
    """
    mistakes: list[Problem] = []
    remarks: list[Problem] = []
    seconds = min(_SECONDS, experiment.limits.seconds or _SECONDS)
    workers = LocalWorkers(1, LimitsSpec(seconds=seconds, memory=experiment.limits.memory))
    for spec in experiment.datasets:
        data = DataSource.of(spec, experiment.splits).read()
        name, few = data.dataset.name, few_rows(data)
        trials = _ends(plan_trials(experiment, data), name)
        on_few = _failures(workers, experiment, few, trials)
        unsure = [trial for trial in trials if trial.key in on_few]
        on_split = _failures(workers, experiment, data, unsure)
        for trial in unsure:
            failure = on_split.get(trial.key)
            if failure is None:
                continue
            if failure.cause == "seconds":
                rows = f"{len(few.splits[0].train)} rows of {name}"
                problem = _describe(trial, on_few[trial.key].error, rows)
                remarks.append(replace(problem, text=f"{problem.text}; nor to the first split in {seconds:g} s"))
            else:
                mistakes.append(_describe(trial, failure.error, f"{name}'s first split"))
    return Findings(list(dict.fromkeys(mistakes)), list(dict.fromkeys(remarks)))


def few_rows(data: DividedData) -> DividedData:
    """A few rows of the first split, as a data set of one split."""
    split, source = data.splits[0], data.source
    n_train = min(_TRAIN, len(split.train))
    spread = np.linspace(0, len(split.train) - 1, n_train).astype(int)
    rows = np.concatenate([split.train[spread], split.test[:_TEST]])
    whole = data.dataset
    few = FewRows(
        name=source.name,
        options=source.options,
        splits=source.splits,
        stamp=f"{len(rows)} rows",
        dataset=replace(whole, X=whole.X[rows], Y=whole.Y[rows]),
        n_train=n_train,
        hidden_by=data.splits.hidden_by,
    )
    return few.read()


def _ends(trials: Iterable[Trial], dataset: str) -> list[Trial]:
    """For each method a trial at the first and one at the last point of the sweep, and of its grid, to be tried."""
    chosen: dict[str, Trial] = {}
    for of_method in group_pairs((trial.method, trial) for trial in trials).values():
        for end in (0, -1):
            trial = of_method[end]
            spec = trial.spec
            if spec.tune is not None:
                spec = without_tune(spec, spec.tune.candidates(0, dataset)[end])
            # a number of rows with labels may be more than the few rows
            labelled = None if isinstance(trial.labelled, int) else trial.labelled
            key = f"{trial.method} {spec.plain()} {labelled}"
            tried = replace(trial, key=key, split=0, spec=spec, family=spec, labelled=labelled)
            chosen.setdefault(key, replace(tried, program=program_version(spec)))
    return list(chosen.values())


def _failures(
    workers: LocalWorkers,
    experiment: Experiment,
    data: DividedData,
    trials: Sequence[Trial],
) -> dict[str, _Failure]:
    """The failures, by key, of trials that are computed on a data set."""
    failures = {}
    pending = list(group_by_split(experiment, data.source, trials))
    with contextlib.closing(workers.compute(pending, data)) as results:
        for result in results:
            for each in result.results:
                if each.error is not None:
                    failures[each.key] = _Failure(each.error, result.crashed)
    return failures


def _describe(trial: Trial, error: str, rows: str) -> Problem:
    """`methods.Mine.label_space: cannot be fitted to 64 rows of yeast: TypeError: … (my_file.py:12, in encode)`."""
    part, place = _find_part(trial.spec, error)
    kind, colon, why = describe_error(error).partition(": ")
    kind = kind.rpartition(".")[2]
    reason = why if kind == ReturnedWrong.__name__ else f"{kind}{colon}{why}{hint(why)}"
    at = "".join(f", with {path} {value}" for path, value in trial.point)
    return Problem(("methods", trial.method, *part), f"cannot be fitted to {rows}{at}: {reason}{place}")


def _find_part(spec: MethodSpec, error: str) -> tuple[KeyPath, str]:
    """The key of the part whose file the exception went through last, and the line there; of other files, neither."""
    families: dict[str, str] = {}  # file of a part that is not ours → the part's key in the config
    for component in spec.components():
        for file in _own_files(component):
            families.setdefault(file, component.family)
    for file, line, function in reversed(find_frames(error)):
        if file in families:
            return (families[file],), f" ({shorten_file_path(file)}:{line}, in {function})"
    known = set(families.values())
    return (tuple(known) if len(known) == 1 else ()), ""


def _own_files(component: Component) -> Iterator[str]:
    """The files of those classes of a component that are neither of this package nor of scikit-learn."""
    for cls in component.classes():
        package = cls.__module__.partition(".")[0]
        file = find_file(cls)
        if file and package not in ("mlcdr", "sklearn"):
            yield file
