"""The model at the end of an experiment: a method at one point of its sweep, fitted to all rows of a data set.

The point is the one with the best mean over the splits that were run. What a method tunes itself is chosen again, by
cross-validation within all rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from mlcdr.errors import ConfigError, ResultsError, UserError, list_known, plural, suggest_name
from mlcdr.execution.computing import collected
from mlcdr.execution.groups import Group
from mlcdr.execution.models import Model, spell_point
from mlcdr.execution.tuning import Seen, Tuning, without_tune
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.estimators import build, seeded
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import DatasetSpec, Experiment, MethodSpec, point_texts
from mlcdr.experiment.trials import Trial, plan_trials
from mlcdr.numerics.moments import Moments
from mlcdr.results.failures import join_errors
from mlcdr.results.frame import LARGEST
from mlcdr.results.record import read_record, read_statuses
from mlcdr.results.results import open_results

_Point: TypeAlias = tuple[tuple[str, str], ...]  # of a sweep: (path, text)


@dataclass(frozen=True)
class Candidates:
    """The points of the sweep at which a method may be fitted, with the trials that were planned at them.

    Attributes
    ----------
    experiment : Experiment
        Of this one method on this one data set.
    method : str
    data : DividedData
    trials : mapping
        Point, as a tuple of (path, text) → its trials, one for each split; in the order of the sweep.
    """

    experiment: Experiment
    method: str
    data: DividedData
    trials: Mapping[_Point, Sequence[Trial]]

    @classmethod
    def of(cls, experiment: Experiment, method: str, spec: DatasetSpec, at: Mapping[str, Any]) -> Candidates:
        """All points of a method, or those that have the values `at` (path → value).

        Raises
        ------
        UserError
            When the data set is not available, or no point has these values.
        """
        own = experiment.model_copy(
            update={"datasets": (spec,), "methods": {method: experiment.methods[method]}},
        )
        data = DataSource.of(spec, experiment.splits).read()
        by_point = group_pairs((trial.point, trial) for trial in plan_trials(own, data))
        wanted = point_texts(at)
        swept = [dict(point) for point in by_point]
        for path, value in wanted.items():
            _check_swept(method, path, value, swept)
        kept = {point: trials for point, trials in by_point.items() if wanted.items() <= dict(point).items()}
        if not kept:
            raise ConfigError([f"at: {method} has no point with all of these values"])
        return cls(own, method, data, kept)

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.data.dataset.name

    def choose(self, folder: Path | None, metric: str | None) -> tuple[Trial, str]:
        """A trial at the best point, and a line that says how that was found; empty where there is one point only.

        Best is the mean over the splits of a metric (default: the experiment's first) in a results folder. Of equally
        good points the first is taken.

        Raises
        ------
        ResultsError
            When there are several points and no folder, or the folder does not have all their trials; when it is not
            known which way the metric is better.
        """
        if len(self.trials) == 1:
            ((trial, *_),) = self.trials.values()
            return trial, ""
        example = " ".join(f"--at {path}={text}" for path, text in next(iter(self.trials)))
        remedy = f"or state the point: `{example}` (in Python, at={{path: value}})"
        if folder is None:
            raise ResultsError(
                f"{self.method} has {len(self.trials)} points; give the results folder of its run, {remedy}"
            )
        self._check_done(folder, remedy)
        found = open_results(folder)
        label = found.metric_named(metric) if metric else self.experiment.metrics[0].label
        higher = found.metric_facts(label).higher_is_better
        if higher is None:
            raise ResultsError(f"{folder}: which way {label!r} is better is not known; choose another by `--metric`")
        means = self._means(folder, label)
        if not means:
            raise ResultsError(f"{folder}: no point of {self.method} has {label!r} on all splits of {self.dataset}")
        pick = max if higher else min
        best = pick(means, key=means.__getitem__)  # the first of equal ones
        n = len(self.trials[best])
        line = (
            f"{spell_point(best)}: the best of {len(self.trials)} points by {label}, {means[best]:.6g} "
            f"(mean over {plural(n, 'split')} in {folder})"
        )
        return self.trials[best][0], line

    def _means(self, folder: Path, metric: str) -> dict[_Point, float]:
        """Point → the mean of a metric, rounded, for the points where it is defined on all splits."""
        recorded = read_record(folder, "scores").trials  # of any plan: the last one may have other trials
        means = {}
        for point, trials in self.trials.items():
            values = [recorded[trial.key][2].get(metric) for trial in trials]
            if all(value is not None and abs(value) <= LARGEST for value in values):
                means[point] = round(math.fsum(values) / len(values), 12)
        return means

    def _check_done(self, folder: Path, remedy: str) -> None:
        """Raise ResultsError unless all trials are on record."""
        statuses = read_statuses(folder)
        trials: list[Trial] = []
        for of_point in self.trials.values():
            trials += of_point
        lacking = [trial for trial in trials if trial.key not in statuses or statuses[trial.key].status != "done"]
        if lacking:
            raise ResultsError(
                f"{folder}: {len(lacking)} of {len(trials)} trials of {self.method} on {self.dataset} have no result "
                f"there, so the best point is not known; run the experiment first, {remedy}"
            )


def _check_swept(method: str, path: str, value: str, points: Sequence[Mapping[str, str]]) -> None:
    """Raise ConfigError unless some of the points of a method has a value at a path."""
    values = list(dict.fromkeys(point[path] for point in points if path in point))
    if not values:
        paths = list(points[0])
        known = list_known(paths, "the config") if paths else "nothing is swept"
        raise ConfigError([f"at: {path} is not swept for {method}{suggest_name(path, paths)} ({known})"])
    if value not in values:
        raise ConfigError([f"at: {path}: {value!r} is none of its values in the sweep: {', '.join(values)}"])


@collected()  # a choice of parameters frees what it computed of each fold
def fit_to_all_rows(candidates: Candidates, trial: Trial) -> tuple[Model, str]:
    """Fit a method, at the point of one of its trials, to all rows; all labels are used.

    What the method tunes is chosen by cross-validation within all rows, as with `scope: dataset`. What it draws is
    drawn from the experiment's seed as for a further split.

    Returns
    -------
    Model, and a line that says what was chosen; empty where nothing was.

    Raises
    ------
    UserError
        When the method cannot be fitted.
    """
    data, experiment = candidates.data, candidates.experiment
    dataset = data.dataset
    moments = Moments.from_arrays(dataset.X, dataset.Y)
    trial = replace(trial, split=len(data.splits), family=trial.spec)
    point = dict(trial.point)
    line = ""
    spec = trial.spec
    tune = spec.tune
    if tune is not None:
        chosen, spec = _tune(experiment, trial, data, moments)
        point |= chosen
        line = f"{spell_point(chosen.items())}: chosen by {tune.metric}, within all rows"
    estimator = seeded(build(spec), experiment.seed, trial)
    try:
        estimator.fit_moments(moments, own_parts=True)
    except UserError:
        raise
    except Exception as error:  # a method may raise any exception
        where = f"{trial.method} cannot be fitted to all rows of {dataset.name}"
        raise UserError(f"{where}: {type(error).__name__}: {' '.join(str(error).split())}") from error
    about = {"dataset": dataset.name, "method": trial.method, "point": spell_point(point.items())}
    return Model.of(estimator.settled(None), dataset, about), line


def _tune(
    experiment: Experiment,
    trial: Trial,
    data: DividedData,
    moments: Moments,
) -> tuple[dict[str, str], MethodSpec]:
    """What is chosen by all rows (path → text), and the method with it."""
    tuning = Tuning([trial], Group(experiment, data.source, trial.split, (trial,)), data)
    (choice,) = tuning.choose(Seen.whole(moments, data.dataset.name))
    point = choice.point
    if point is None:
        failure = f"{trial.method}: no point of the search could be fitted and measured"
        raise UserError(join_errors(failure, choice.errors))
    return point_texts(point), without_tune(trial.spec, point)
