"""The plan of a run: its trials, those that are on record, and the groups that are still to be computed.

`plan_run` makes the plan of a run that holds the results folder; `survey` describes what a run would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.data.encoding import MissingValueError
from mlcdr.errors import ConfigError
from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.groups import Group, groups
from mlcdr.execution.listener import Listener
from mlcdr.experiment.data_checks import find_misfits, find_unfit_features
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import DatasetSpec, Experiment
from mlcdr.experiment.problems import Problem
from mlcdr.experiment.trials import Trial, plan
from mlcdr.experiment.tune import TuneSpec
from mlcdr.results.record import duration, mean_seconds, read_statuses
from mlcdr.results.record_file import Point
from mlcdr.results.store import Store, place


@dataclass(frozen=True)
class Part:
    """One data set of a run: its source, its facts for the manifest, its trials, its labels with their frequencies."""

    name: str
    source: DataSource
    facts: dict[str, Any]
    trials: list[Trial]
    labels: Sequence[tuple[str, float]] = ()

    def size(self) -> int:
        """How many numbers the data set would have if it were dense, for each label."""
        return math.prod(self.facts[name] for name in ("n_instances", "n_features", "n_labels"))

    def among(self, keys: Set[str]) -> list[Trial]:
        """Its trials with these keys."""
        return [trial for trial in self.trials if trial.key in keys]


@dataclass(frozen=True)
class RunPlan:
    """What a run is to do.

    Attributes
    ----------
    parts : sequence of Part
    trials : dict
        Key → trial, in the order of the results.
    done : set of str
        The keys of trials that have their scores on record.
    n_kept : int
        How many trials are on record with all that is to be kept of them.
    pending : sequence of Group
        The groups that are to be computed.
    isolated : bool
        Whether a pending trial ended its worker before, so that it must not be computed in the run's own process.
    data : DividedData
        The data set that was read last.
    """

    parts: Sequence[Part]
    trials: dict[str, Trial]
    done: Set[str]
    n_kept: int
    pending: Sequence[Group]
    isolated: bool
    data: DividedData


def plan_run(
    experiment: Experiment, keeping: Keeping | None, store: Store, listener: Listener, failed_only: bool
) -> RunPlan:
    """Read the data sets and plan their trials.

    Raises
    ------
    UserError
        When a data set is not available, or cannot be divided as the experiment asks.
    """
    parts = []
    for spec in experiment.datasets:
        part, data = prepare(experiment, spec, listener)
        parts.append(part)
    for name, method in experiment.methods.items():
        if method.shown:
            listener.notice(f"{name}: `tune: {{scope: test}}` chooses by the test rows; its numbers are too good")
    trials = {trial.key: trial for part in parts for trial in part.trials}
    done = store.done() & trials.keys()
    incomplete = _incomplete(trials.values(), done, keeping)
    wanted = incomplete
    if failed_only:
        failed = store.failed_places()
        wanted = [trial for trial in incomplete if place(trial) in failed]
    keys = {trial.key for trial in wanted}
    if wanted and any(spec.tune for spec in experiment.methods.values()):
        recorded = read_statuses(store.path.parent)
        work = [_survey_dataset(part, part.among(keys), recorded) for part in parts]
        listener.notice(f"{experiment.name}: {_describe_budget(pd.DataFrame(work))}")
    pending: list[Group] = []
    # The longest work first, so that all workers are busy to the end.
    for part in sorted(parts, key=Part.size, reverse=True):
        pending += groups(experiment, part.source, part.among(keys), keeping)
    isolated = not store.crashed_places().isdisjoint(map(place, wanted))
    return RunPlan(parts, trials, done, len(trials) - len(incomplete), pending, isolated, data)


def _incomplete(trials: Iterable[Trial], done: Set[str], keeping: Keeping | None) -> list[Trial]:
    """The trials that lack their scores, or something that is to be kept of them."""
    lacking = []
    for trial in trials:
        if trial.key not in done or (keeping is not None and keeping.lacks(trial)):
            lacking.append(trial)
    return lacking


def prepare(experiment: Experiment, spec: DatasetSpec, listener: Listener) -> tuple[Part, DividedData]:
    """Read a data set and plan its trials.

    Raises
    ------
    UserError
        When it is not available, or cannot be divided as the experiment asks.
    """
    try:
        data = DataSource.of(spec, experiment.splits).read()
    except ConfigError as error:  # more rows asked for than there are
        raise ConfigError([experiment.placed(Problem.parse(line)) for line in error.problems]) from None
    except MissingValueError as error:  # an option in the config helps
        problem = Problem(("datasets", experiment.datasets.index(spec)), str(error))
        raise ConfigError([experiment.placed(problem)]) from None
    dataset = data.dataset
    if unfit := list(find_unfit_features(experiment, dataset)):
        raise ConfigError([experiment.placed(problem) for problem in unfit])
    for text in dataset.notices:
        listener.notice(f"{dataset.name}: {text}")
    first = data.splits[0]
    for problem, fails in find_misfits(experiment, dataset, len(first.train) + len(first.unlabelled)):
        if fails:
            listener.notice(f"{experiment.placed(problem)}; these trials fail")
    counted = dataset.statistics()
    facts = {
        "checksum": dataset.checksum,
        "n_instances": dataset.n_instances,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "n_nominal": counted["nominal"],
        "n_numeric": counted["numeric"],
        "label_cardinality": counted["cardinality"],
        "label_density": counted["density"],
        "notices": list(dataset.notices),
    }
    shares = np.asarray(dataset.Y.mean(axis=0)).ravel().tolist() if experiment.by_label else []
    labels = tuple(zip(dataset.label_names, shares, strict=False))
    return Part(dataset.name, data.source, facts, plan(experiment, data), labels), data


@dataclass(frozen=True)
class Survey:
    """What a run would do.

    Attributes
    ----------
    folder : Path
        The results folder.
    datasets : frame
        A row for each data set: its `dataset`, `rows`, `features` and `labels`; its `trials`; of these `done` (with
        scores in the folder, and all that is to be kept), `failed` (which a run computes again), and `pending` (what a
        run would compute now). Of the pending: `groups` (splits, each the work of one worker), `fits`, of which about
        `choosing` for the choice of parameters, and the `seconds` of one worker, from past timings; NaN without any.
    shared : tuple of str
        A line for methods that one fit serves at several points, or that are tuned in each trial.
    """

    folder: Path
    datasets: pd.DataFrame
    shared: tuple[str, ...]


def survey(experiment: Experiment, out: Path) -> Survey:
    """Describe what `run` with the same arguments would do; reads the data sets and writes nothing.

    Raises
    ------
    UserError
        When a data set is not available, or what is in the folder cannot be read.
    """
    folder = out / experiment.name
    experiment_yaml(experiment)  # refuses an experiment that is too long for a run
    recorded = read_statuses(folder)
    done = set(recorded.loc[recorded["status"] == "done", "key"])
    keeping = Keeping.of(experiment, folder)
    datasets = []
    shared: dict[str, list[str]] = {}  # line → methods
    for spec in experiment.datasets:
        part, _ = prepare(experiment, spec, Listener())
        datasets.append(_survey_dataset(part, _incomplete(part.trials, done, keeping), recorded))
        for method, line in _shared(part.trials):
            if method not in shared.setdefault(line, []):
                shared[line].append(method)
    lines = [f"{', '.join(names)}: {line}" for line, names in shared.items()]
    return Survey(folder, pd.DataFrame(datasets), tuple(lines))


def _survey_dataset(part: Part, pending: Sequence[Trial], recorded: pd.DataFrame) -> dict[str, Any]:
    """A row of `Survey.datasets`."""
    status = dict(zip(recorded["key"], recorded["status"], strict=True))
    fits, choosing = _count_fits(part, pending)
    return {
        "dataset": part.name,
        "rows": part.facts["n_instances"],
        "features": part.facts["n_features"],
        "labels": part.facts["n_labels"],
        "trials": len(part.trials),
        "done": len(part.trials) - len(pending),
        "failed": sum(status.get(trial.key) == "failed" for trial in part.trials),
        "pending": len(pending),
        "groups": len({trial.split for trial in pending}),
        "fits": fits + choosing,
        "choosing": choosing,
        "seconds": mean_seconds(recorded).get(part.name, math.nan) * len(pending),
    }


def _count_fits(part: Part, trials: Iterable[Trial]) -> tuple[int, int]:
    """How many fits the trials of a data set take, and about how many more the choice of their parameters takes."""
    families = {(trial.split, id(trial.family)): trial.family for trial in trials}
    searches = {}
    for (split, number), family in families.items():
        if family.tune is not None:
            searches[split if family.tune.scope == "split" else 0, number] = family.tune
    rows = part.facts["n_instances"]
    return len(families), sum(tune.n_fits(part.name, rows) for tune in searches.values())


def _describe_budget(work: pd.DataFrame) -> str:
    """`3,300 fits, about 3,000 of them to choose parameters; 4 min 10 s of one worker by past timings`."""
    text = f"{work['fits'].sum():,} fits"
    choosing = work["choosing"].sum()
    if choosing:
        text += f", about {choosing:,} of them to choose parameters"
    seconds = work.loc[work["pending"] > 0, "seconds"]
    if seconds.isna().any():
        return text
    return f"{text}; about {duration(seconds.sum())} of one worker, by past timings"


def _shared(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """`CPLST` and `one fit at … serves … too`, for the methods of one data set."""
    served: dict[tuple[str, int], dict[Point, Trial]] = {}
    for trial in trials:
        served.setdefault((trial.method, id(trial.family)), {})[trial.point] = trial
    lines = []
    for (method, _), points in served.items():
        first = next(iter(points.values()))
        if first.family.tune is not None:
            lines.append((method, _describe_choice(first.family.tune, first.dataset)))
        elif len(points) > 1:
            lines.append((method, _describe_sharing(points)))
    return lines


def _describe_choice(tune: TuneSpec, dataset: str) -> str:
    how = "" if tune.search == "grid" else f", {tune.search}"
    return f"each choice (scope {tune.scope}{how}) fits {tune.n_points(dataset)} points on {tune.n_folds} folds"


def _describe_sharing(points: Mapping[Point, Trial]) -> str:
    (at,) = (dict(point) for point, trial in points.items() if trial.spec is trial.family)
    others = [dict(point) for point, trial in points.items() if trial.spec is not trial.family]
    varied = [path for path in at if any(other[path] != at[path] for other in others)]
    fitted = ", ".join(f"{path} {value}" for path, value in at.items())
    apart = "; ".join(f"{path} {', '.join(other[path] for other in others)}" for path in varied)
    return f"one fit at {fitted} serves {apart} too"
