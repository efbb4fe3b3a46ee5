"""The plan of a run: its trials, those that are on record, and the groups that are still to be computed.

`plan_run` makes the plan of a run that holds the results folder; `survey` describes what a run would do.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.data.dataset import Dataset
from mlcdr.data.encoding import MissingValueError
from mlcdr.errors import ConfigError, ResultsError
from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.groups import Group, group_by_split
from mlcdr.execution.listener import Listener
from mlcdr.experiment.data_checks import find_misfits, find_unfit_methods
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import DatasetSpec, Experiment
from mlcdr.experiment.problems import Problem
from mlcdr.experiment.trials import Trial, by_family, plan_trials
from mlcdr.results.manifest import Manifest
from mlcdr.results.part import RunPart
from mlcdr.results.record import Past, duration, mean_seconds, read_statuses
from mlcdr.results.store import Store, place


@dataclass
class PlannedData:
    """One data set of a run: its source, its facts for the manifest, its labels with their frequencies, its trials.

    `pending` are those of the trials that are to be computed.
    """

    name: str
    source: DataSource
    facts: dict[str, Any]
    labels: list[tuple[str, float]]
    trials: list[Trial]
    pending: list[Trial] = field(default_factory=list)

    def size(self) -> int:
        """How many numbers the data set would have if it were dense, for each label."""
        return math.prod(self.facts[name] for name in ("n_instances", "n_features", "n_labels"))


@dataclass(frozen=True)
class RunPlan:
    """What a run is to do.

    Attributes
    ----------
    datasets : sequence of PlannedData
    trials : dict
        Key → trial, in the order of the results.
    own : set of str
        The keys of the trials of this part of the run: all of them where it is no part.
    done : set of str
        The keys of these that have their scores on record.
    n_kept : int
        How many of these are on record with all that is to be kept of them.
    pending : sequence of Group
        The groups that are to be computed.
    isolated : bool
        Whether a pending trial ended its worker before, so that it must not be computed in the run's own process.
    data : DividedData
        The data set that was read last.
    """

    datasets: Sequence[PlannedData]
    trials: dict[str, Trial]
    own: Set[str]
    done: Set[str]
    n_kept: int
    pending: Sequence[Group]
    isolated: bool
    data: DividedData


def plan_run(
    experiment: Experiment,
    keeping: Keeping | None,
    store: Store,
    listener: Listener,
    failed_only: bool,
    part: RunPart | None,
) -> RunPlan:
    """Read the data sets and plan their trials; with `part`, only those of this part of the run are to be computed.

    Raises
    ------
    UserError
        When a data set is not available, or cannot be divided as the experiment asks.
    """
    datasets = []
    for spec in experiment.datasets:
        planned, data = plan_dataset(experiment, spec, listener)
        datasets.append(planned)
    _notice_changed(datasets, store.path.parent, listener)
    _notice_test_search(experiment, listener)
    done = store.done()
    failures = store.failures().values()
    failed_before = {failure.place for failure in failures}
    crashed_before = {failure.place for failure in failures if failure.crash}
    trials: dict[str, Trial] = {}
    for planned in datasets:
        trials |= {trial.key: trial for trial in planned.trials}
    own = trials.keys() if part is None else _keys_of(part, datasets)
    n_kept = 0
    for planned in datasets:
        own_trials = [trial for trial in planned.trials if trial.key in own]
        planned.pending = _incomplete(own_trials, done, keeping)
        n_kept += len(own_trials) - len(planned.pending)
        if failed_only:
            planned.pending = [trial for trial in planned.pending if place(trial) in failed_before]
    _notice_budget(experiment, datasets, store.path.parent, listener)
    pending: list[Group] = []
    isolated = False
    # The longest work first, so that all workers are busy to the end.
    for planned in sorted(datasets, key=PlannedData.size, reverse=True):
        pending += group_by_split(experiment, planned.source, planned.pending, keeping)
        isolated |= any(place(trial) in crashed_before for trial in planned.pending)
    return RunPlan(datasets, trials, own, done.intersection(own), n_kept, pending, isolated, data)


def _keys_of(part: RunPart, datasets: Iterable[PlannedData]) -> set[str]:
    """The keys of the trials of a part of a run.

    The splits of all data sets are numbered, by the names of the data sets, and dealt out in turn: what shares the work
    of a split stays together, and the order in which data sets or methods are listed changes nothing.
    """
    keys = set()
    before = 0  # splits of the data sets so far
    for planned in sorted(datasets, key=lambda planned: planned.name):
        keys |= {trial.key for trial in planned.trials if part.has(before + trial.split)}
        before += 1 + max((trial.split for trial in planned.trials), default=-1)
    return keys


def _notice_changed(datasets: Iterable[PlannedData], folder: Path, listener: Listener) -> None:
    """Say which data sets have other content than in the last run of a results folder."""
    with contextlib.suppress(ResultsError):  # there may be no manifest
        manifest = Manifest.read(folder)
        for planned in datasets:
            before = manifest.facts(planned.name).get("checksum")
            if before not in (None, planned.facts["checksum"]):
                listener.notice(f"{planned.name}: not the content of the last run in {folder}; it is computed again")


def _notice_test_search(experiment: Experiment, listener: Listener) -> None:
    """Say which methods choose their parameters by the test rows."""
    for name, method in experiment.methods.items():
        if method.test_search:
            listener.notice(f"{name}: `tune: {{scope: test}}` chooses by the test rows; its numbers are too good")


def _notice_budget(experiment: Experiment, datasets: Sequence[PlannedData], folder: Path, listener: Listener) -> None:
    """Say how many fits a run takes that chooses parameters, if it has any to compute."""
    has_tuned = any(spec.tune for spec in experiment.methods.values())
    has_pending = any(planned.pending for planned in datasets)
    if has_tuned and has_pending:
        past = read_statuses(folder)
        surveyed = pd.DataFrame(_survey_dataset(planned, past) for planned in datasets)
        listener.notice(f"{experiment.name}: {_describe_budget(surveyed)}")


def _incomplete(trials: Iterable[Trial], done: Set[str], keeping: Keeping | None) -> list[Trial]:
    """The trials that lack their scores, or something that is to be kept of them."""
    lacking = []
    for trial in trials:
        if trial.key not in done or (keeping is not None and keeping.lacks(trial)):
            lacking.append(trial)
    return lacking


def plan_dataset(experiment: Experiment, spec: DatasetSpec, listener: Listener) -> tuple[PlannedData, DividedData]:
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
    unfit = list(find_unfit_methods(experiment, dataset))
    if unfit:
        raise ConfigError([experiment.placed(problem) for problem in unfit])
    for text in dataset.notices:
        listener.notice(f"{dataset.name}: {text}")
    first = data.splits[0]
    for problem, fails in find_misfits(experiment, dataset, len(first.train) + len(first.unlabelled)):
        if fails:
            listener.notice(f"{experiment.placed(problem)}; these trials fail")
    labels: list[tuple[str, float]] = []
    if experiment.by_label:
        shares = np.asarray(dataset.Y.mean(axis=0)).ravel().tolist()
        labels = list(zip(dataset.label_names, shares, strict=True))
    return PlannedData(dataset.name, data.source, _list_facts(dataset), labels, plan_trials(experiment, data)), data


def _list_facts(dataset: Dataset) -> dict[str, Any]:
    """What the manifest says of a data set."""
    counted = dataset.statistics()
    divided = {} if dataset.n_train is None else {"n_train": dataset.n_train}
    return {
        "checksum": dataset.checksum,
        "n_instances": dataset.n_instances,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        **divided,
        "n_nominal": counted["nominal"],
        "n_numeric": counted["numeric"],
        "label_cardinality": counted["cardinality"],
        "label_density": counted["density"],
        "notices": list(dataset.notices),
    }


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
    past = read_statuses(folder)
    done = {key for key, trial in past.items() if trial.status == "done"}
    keeping = Keeping.of(experiment, folder)
    datasets = []
    shared: list[tuple[str, str]] = []
    for spec in experiment.datasets:
        planned, _ = plan_dataset(experiment, spec, Listener())
        planned.pending = _incomplete(planned.trials, done, keeping)
        datasets.append(_survey_dataset(planned, past))
        shared += _list_shared(planned.trials)
    by_line = group_pairs((line, method) for method, line in shared)
    lines = [f"{', '.join(dict.fromkeys(methods))}: {line}" for line, methods in by_line.items()]
    return Survey(folder, pd.DataFrame(datasets), tuple(lines))


def _survey_dataset(planned: PlannedData, past: Mapping[str, Past]) -> dict[str, Any]:
    """A row of `Survey.datasets`."""
    known = [past[trial.key] for trial in planned.trials if trial.key in past]
    costs = mean_seconds((trial.dataset, trial.seconds) for trial in past.values())
    pending = planned.pending
    fits, choosing = _count_fits(planned)
    return {
        "dataset": planned.name,
        "rows": planned.facts["n_instances"],
        "features": planned.facts["n_features"],
        "labels": planned.facts["n_labels"],
        "trials": len(planned.trials),
        "done": len(planned.trials) - len(pending),
        "failed": sum(trial.status == "failed" for trial in known),
        "pending": len(pending),
        "groups": len({trial.split for trial in pending}),
        "fits": fits + choosing,
        "choosing": choosing,
        "seconds": costs.get(planned.name, math.nan) * len(pending),
    }


def _count_fits(planned: PlannedData) -> tuple[int, int]:
    """How many fits the pending trials of a data set take, and about how many more the choice of parameters takes."""
    families = {(trial.split, id(trial.family)): trial.family.tune for trial in planned.pending}
    choosing = 0
    chosen_once = set()
    for (_, family), tune in families.items():
        if tune is None or family in chosen_once:
            continue
        if tune.scope == "dataset":
            chosen_once.add(family)
        choosing += tune.n_fits(planned.name, planned.facts["n_instances"])
    return len(families), choosing


def _describe_budget(work: pd.DataFrame) -> str:
    """`3,300 fits, about 3,000 of them to choose parameters; about 4 min 10 s of one worker, by past timings`."""
    text = f"{work['fits'].sum():,} fits"
    choosing = work["choosing"].sum()
    if choosing:
        text += f", about {choosing:,} of them to choose parameters"
    seconds = work.loc[work["pending"] > 0, "seconds"].sum(skipna=False)
    if math.isnan(seconds):
        return text
    return f"{text}; about {duration(seconds)} of one worker, by past timings"


def _list_shared(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """`CPLST` and `one fit at … serves … too`, for the methods of one data set."""
    lines = []
    for of_family in by_family(trials):
        first = of_family[0]
        tune = first.family.tune
        if tune is not None:
            how = "" if tune.search == "grid" else f", {tune.search}"
            points = f"{tune.n_points(first.dataset)} points on {tune.n_folds} folds"
            lines.append((first.method, f"each choice (scope {tune.scope}{how}) fits {points}"))
        elif any(trial.spec is not trial.family for trial in of_family):
            lines.append((first.method, _describe_sharing(of_family)))
    return lines


def _describe_sharing(trials: Sequence[Trial]) -> str:
    """`one fit at n_components 100% serves n_components 20%, 40% too`, for the trials of one family."""
    (fitted,) = {trial.point for trial in trials if trial.spec is trial.family}
    served = {trial.point: None for trial in trials if trial.spec is not trial.family}
    others = []
    for (path, value), *values in zip(fitted, *served, strict=True):
        texts = [text for _, text in values]
        if set(texts) != {value}:
            others.append(f"{path} {', '.join(texts)}")
    at = ", ".join(f"{path} {value}" for path, value in fitted)
    return f"one fit at {at} serves {'; '.join(others)} too"
