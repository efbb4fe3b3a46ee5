"""Each method fitted once to a few rows of its data set, so that one that cannot work is reported before it is run.

The rows are of the first split: enough of them that each label is present, and absent, in several. A method may fail
only because there are too few rows (for its neighbours, folds, clusters). So it counts as one that cannot work only if
more rows would not avoid its exception (`_MISTAKES`), or if it fails on the whole first split, too. Nothing is
recorded, and no random number of a run is drawn.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mlcdr.config.data_checks import Findings
from mlcdr.data.dataset import Dataset
from mlcdr.execution.choose import without_tune
from mlcdr.execution.computing import Group, groups
from mlcdr.execution.executors import Executor
from mlcdr.execution.workers import LocalWorkers
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.division import Integers, Splits
from mlcdr.experiment.keys import program_version
from mlcdr.experiment.model import FAMILIES, Experiment, LimitsSpec, MethodSpec
from mlcdr.experiment.trials import Trial, plan
from mlcdr.laws.classes import find_file
from mlcdr.methods.component import Component
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.foreign import kept_generators
from mlcdr.methods.returned import ReturnedWrong, hint
from mlcdr.metrics import target
from mlcdr.results.failures import describe_error

SECONDS = 60.0
"""The most seconds of a trial on a few rows, and in `check_methods` again on a split."""

_OF_LABEL = 8  # rows in which each label is to be present, and as many in which it is absent
_TRAIN, _MOST, _TEST = 60, 400, 20  # training rows, at least and at most, and test rows

# Names of exceptions that more rows would not avoid.
_MISTAKES = {
    "AttributeError",
    "ImportError",
    "InvalidParameterError",
    "ModuleNotFoundError",
    "NameError",
    "NotFittedError",
    "ReturnedWrong",
    "SyntaxError",
    "TypeError",
    "UFuncTypeError",
    "UnboundLocalError",
}


@dataclass(frozen=True)
class FewRows(DataSource):
    """A source that contains its data: the first `n_train` rows of a small data set train, the others test."""

    dataset: Dataset | None = field(default=None, compare=False, repr=False)
    n_train: int = 0
    hidden_by: tuple[int, str] = (0, "")

    def read(self) -> DividedData:
        """The data set, and its only split."""
        assert self.dataset is not None
        part = np.repeat([0, 1], [self.n_train, self.dataset.n_instances - self.n_train])
        return DividedData(self, self.dataset, Splits([{}], [1], lambda repeat: part, self.hidden_by))


def check_methods(experiment: Experiment) -> Findings:
    """Try all methods of an experiment, in a process of their own that may die.

    A method is tried at the first and the last point of the sweep, with the first and the last of its grid.

    Raises
    ------
    UserError
        When a data set is not available or cannot be divided.
    """
    mistakes: dict[str, None] = {}
    remarks: dict[str, None] = {}
    seconds = min(SECONDS, experiment.limits.seconds or SECONDS)
    workers = LocalWorkers(1, LimitsSpec(seconds=seconds, memory=experiment.limits.memory))
    for spec in experiment.datasets:
        data = DataSource.of(spec, experiment.splits).read()
        few, name = few_rows(data), data.dataset.name
        trials = _ends(plan(experiment, data), name)
        failed = _failures(workers, _group(experiment, few, trials))
        unsure = [each for each in trials if each.key in failed and not _mended_by_nothing(failed[each.key])]
        in_full = _failures(workers, _group(experiment, data, unsure)) if unsure else {}
        for trial in trials:
            error, later = failed.get(trial.key), in_full.get(trial.key)
            if error is None or (trial in unsure and later is None):
                continue
            line = _describe(trial, later or error, f"{name}'s first split" if later else _name_rows(few))
            if later and _took_too_long(later):
                remarks[f"{_describe(trial, error, _name_rows(few))}; nor to the first split in {seconds:g} s"] = None
            else:
                mistakes[line] = None
    return Findings(list(mistakes), list(remarks))


def _name_rows(few: DividedData) -> str:
    return f"{len(few.splits[0].train)} rows of {few.dataset.name}"


def _mended_by_nothing(error: str) -> bool:
    """Whether a failure on few rows would occur on any number of rows."""
    return _is_mistake(error) or (_kind(error) == "crashed" and not _took_too_long(error))


def _is_mistake(error: str) -> bool:
    return _kind(error) in _MISTAKES or bool(hint(describe_error(error)))


def has_own(experiment: Experiment) -> bool:
    """Whether an experiment has a method, or a metric, of the user's own or of a package other than scikit-learn."""
    return any(map(_is_own, experiment.methods.values())) or _has_own_metric(experiment)


def find_mistakes(
    experiment: Experiment, few: DividedData, trials: Sequence[Trial], executor: Executor
) -> Iterator[str]:
    """Try the methods of the user or of other packages (`has_own`) on a few rows; a line for each that cannot work.

    `trials`: the trials of the data set that are to be computed. A failure that too few rows, a limit or a crash may
    explain is not reported here: the run records it.
    """
    wanted = [trial for trial in trials if _is_own(trial.spec)]
    if not wanted and _has_own_metric(experiment):
        wanted = list(trials[:1])
    if not wanted:
        return
    chosen = _ends(wanted, few.dataset.name)
    with kept_generators():
        failed = _failures(executor, _group(experiment, few, chosen))
    for trial in chosen:
        if _is_mistake(failed.get(trial.key, "")):
            yield _describe(trial, failed[trial.key], _name_rows(few))


def _has_own_metric(experiment: Experiment) -> bool:
    return any(target(metric.name) for metric in experiment.metrics)


def few_rows(data: DividedData) -> DividedData:
    """A few rows of the first split, as a data set of one split."""
    split = data.splits[0]
    train = split.train[_spread(as_dense(data.dataset.Y[split.train]))]
    rows = np.concatenate([train, split.test[:_TEST]])
    dataset = replace(data.dataset, X=data.dataset.X[rows], Y=data.dataset.Y[rows])
    name, options, splits = data.source.name, data.source.options, data.source.splits
    return FewRows(name, options, splits, f"{len(rows)} rows", dataset, len(train), data.splits.hidden_by).read()


def _spread(Y: Integers) -> Integers:
    """Numbers of rows, ascending, among which each label of Y (n×K) is present in several and absent in several."""
    chosen = np.zeros(len(Y), dtype=bool)
    chosen[np.linspace(0, len(Y) - 1, min(_TRAIN, len(Y))).astype(int)] = True
    for label in np.argsort(Y.sum(axis=0), kind="stable"):
        for value in (1, 0):
            lacking = _OF_LABEL - np.count_nonzero(chosen & (Y[:, label] == value))
            if lacking > 0 and np.count_nonzero(chosen) < _MOST:
                chosen[np.flatnonzero(~chosen & (Y[:, label] == value))[:lacking]] = True
    return np.flatnonzero(chosen)


def _ends(trials: Iterable[Trial], dataset: str) -> list[Trial]:
    """For each method a trial at the first and one at the last point of the sweep, and of its grid, to be tried."""
    by_method: dict[str, list[Trial]] = {}
    for trial in trials:
        by_method.setdefault(trial.method, []).append(trial)
    chosen: dict[str, Trial] = {}
    for each in by_method.values():
        for trial, end in ((each[0], 0), (each[-1], -1)):
            spec = trial.spec
            if spec.tune is not None:
                spec = without_tune(spec, spec.tune.candidates(0, dataset)[end])
            labelled = None if isinstance(trial.labelled, int) else trial.labelled
            key = f"{trial.method} {spec.plain()} {labelled}"
            program = program_version(spec)
            chosen.setdefault(
                key, replace(trial, key=key, split=0, spec=spec, family=spec, program=program, labelled=labelled)
            )
    return list(chosen.values())


def _group(experiment: Experiment, data: DividedData, trials: Sequence[Trial]) -> tuple[Group, DividedData]:
    (group,) = groups(experiment, data.source, trials)
    return group, data


def _failures(executor: Executor, trials: tuple[Group, DividedData]) -> dict[str, str]:
    """Key → error of the trials of a group that fail."""
    group, data = trials
    with contextlib.closing(executor.compute([group], data)) as results:
        return {score.key: score.error or "" for result in results for score in result.scores if score.values is None}


def _kind(error: str) -> str:
    """The name of the exception that a trial failed by, or `crashed`."""
    return describe_error(error).partition(":")[0].rpartition(".")[2]


def _took_too_long(error: str) -> bool:
    return error.startswith("crashed: took")


def _describe(trial: Trial, error: str, rows: str) -> str:
    """`methods.Mine.label_space: cannot be fitted to 64 rows of yeast: TypeError: … (my_file.py:12, in encode)`."""
    part, place = _find_part(trial.spec, error)
    kind, colon, why = describe_error(error).partition(": ")
    kind = kind.rpartition(".")[2]
    reason = why if kind == ReturnedWrong.__name__ else f"{kind}{colon}{why}{hint(why)}"
    at = "".join(f", with {path} {value}" for path, value in trial.point)
    return f"methods.{trial.method}{part}: cannot be fitted to {rows}{at}: {reason}{place}"


def _find_part(spec: MethodSpec, error: str) -> tuple[str, str]:
    """The part (`.learner`) whose file the exception went through last, and the line there; of other files, neither."""
    frames = re.findall(r'^  File "(.+)", line (\d+), in (.+)$', error, re.M)
    parts = [(family, each) for family in FAMILIES for each in _components(spec, family) if _is_own_component(each)]
    for file, line, function in reversed(frames):
        for family, component in parts:
            if file in map(find_file, component.classes()):
                return f".{family}", f" ({_shorten(file)}:{line}, in {function})"
    return (f".{parts[0][0]}" if len(parts) == 1 else ""), ""


def _components(spec: MethodSpec, family: str) -> tuple[Component, ...]:
    found = getattr(spec, family)
    return found if isinstance(found, tuple) else () if found is None else (found,)


def _is_own(spec: MethodSpec) -> bool:
    """Whether a method has a part that is not of this package or scikit-learn."""
    return any(map(_is_own_component, spec.components()))


def _is_own_component(component: Component) -> bool:
    return any(cls.__module__.partition(".")[0] not in ("mlcdr", "sklearn") for cls in component.classes())


def _shorten(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
