"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds divide the rows that the choice may see. Their moments are downdated as those of a split are, so all points
that are measured together share a fold's sums, kernel and factorisations. Each trial of a sweep has a choice of its
own, except where the metric is summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin
2012): then all trials share one choice. Of equally good points the first one tried is taken.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.execution.fitting import Spent, run_trials
from mlcdr.execution.groups import Group
from mlcdr.execution.rows import Rows
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.division import Integers
from mlcdr.experiment.families import at_all_sizes, families_of
from mlcdr.experiment.model import Experiment, MethodSpec, point_texts
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.trials import Trial, TrialResult
from mlcdr.experiment.tune import Point
from mlcdr.methods.contracts import as_dense
from mlcdr.metrics import find
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.results.failures import join_errors


@dataclass(frozen=True)
class Seen:
    """The rows that a choice may see.

    Attributes
    ----------
    moments : Moments
        Of these rows.
    numbers : array
        Their numbers in the data set.
    name : str
        What is drawn at random for the choice is drawn by it.
    """

    moments: Moments
    numbers: Integers
    name: str

    @classmethod
    def whole(cls, moments: Moments, dataset: str) -> Seen:
        """All rows of a data set, whose name is given."""
        return cls(moments, np.arange(moments.n), f"{dataset}, tuning")


@dataclass
class Choice:
    """A choice that is to be made: for one spec, or, where the criterion is summed over all sizes, for all sizes.

    Attributes
    ----------
    specs : sequence of MethodSpec
        Measured together at each point.
    points : list of Point
        Among which it is chosen.
    sign : float
        −1 where a higher criterion is better, else 1.
    tried : dict
        The points that were measured, each by its text, with the criterion: a sum over specs and over the folds of the
        rows that it was last measured on.
    errors : list of str
        Of all fits that failed.
    """

    specs: Sequence[MethodSpec]
    points: list[Point]
    sign: float = 1.0
    tried: dict[str, tuple[Point, float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def total(self, point: Point) -> float:
        """The criterion of a point; 0 where it has not been measured yet."""
        return self.tried.get(repr(point), (point, 0.0))[1]

    def keep(self, number: int) -> None:
        """Leave the best points, the best first; points that have not been measured yet keep their order."""
        self.points = sorted(self.points, key=self._cost)[:number]

    def _cost(self, point: Point) -> float:
        total = self.total(point)
        return math.inf if math.isnan(total) else round(self.sign * total, 10)

    @property
    def point(self) -> Point | None:
        """The best point; None if none could be fitted and measured."""
        best = min(self.points, key=self._cost)
        return None if math.isnan(self.total(best)) else best


class Tuning:
    """The choice of a method's parameters on one split, and what comes of it.

    Parameters
    ----------
    trials : sequence of Trial
        Those of one family, in their order.
    group : Group
        Of the split.
    data : DividedData

    Raises
    ------
    ConfigError
        When the criterion is none of the experiment's metrics.
    """

    def __init__(self, trials: Sequence[Trial], group: Group, data: DividedData):
        tune = trials[0].family.tune
        assert tune is not None
        self.tune = tune
        self.method = trials[0].method
        self.specs = [trial.spec for trial in trials]
        self._trials = trials
        self._group = group
        self._data = data
        self._seed = group.experiment.seed
        self._criterion = tune.criterion(group.experiment.metrics)

    def choose(self, seen: Seen) -> list[Choice]:
        """Choose the parameters of each trial by some rows.

        Raises
        ------
        ConfigError
            When there are fewer rows than folds.
        """
        tune, specs, dataset = self.tune, self.specs, self._data.dataset.name
        if tune.n_points(dataset) == 1:  # a setting of this data set's own, and nothing to be chosen
            points = tune.candidates(self._seed, dataset)
            return [Choice([spec], points) for spec in specs]
        measured_together = [[spec] for spec in specs]
        if tune.summed:
            measured_together = [at_all_sizes(specs[0], seen.moments.n_features, seen.moments.n_labels)]
        sign = -1.0 if find(self._criterion.name).higher_is_better else 1.0
        points = [] if tune.search == "optuna" else tune.candidates(self._seed, dataset)
        choices = [Choice(each, list(points), sign) for each in measured_together]
        if tune.search == "optuna":
            self._ask_optuna(choices, seen)
        else:
            self._try_points(choices, seen)
        return choices * (len(specs) // len(choices))  # a choice of all sizes is that of every trial

    def _try_points(self, choices: Sequence[Choice], seen: Seen) -> None:
        """Measure all points; with halving, the best of them again on more rows, and so on."""
        n = seen.moments.n
        numbers = np.random.PCG64(seed_sequence(self._seed, seen.name, "halving")).random_raw(n)
        order = np.argsort(numbers, kind="stable")
        for n_points, n_rows in self.tune.rungs(len(choices[0].points), n):
            for choice in choices:
                choice.keep(n_points)
            asked = []
            for i in range(n_points):
                asked += [(choice, choice.points[i]) for choice in choices]
            self._measure(asked, seen, order[:n_rows])

    def _ask_optuna(self, choices: Sequence[Choice], seen: Seen) -> None:
        """Measure the points that optuna proposes for each choice; it is told of each before it proposes the next."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seed = int(seed_sequence(self._seed, seen.name, "optuna").generate_state(1)[0])
        direction = "maximize" if choices[0].sign < 0 else "minimize"
        studies = []
        for _ in choices:
            sampler = optuna.samplers.TPESampler(seed=seed)
            studies.append(optuna.create_study(sampler=sampler, direction=direction))
        shares: dict[str, Any] = {path: optuna.distributions.FloatDistribution(0.0, 1.0) for path in self.tune.grid}
        every = np.arange(seen.moments.n)
        for _ in range(self.tune.points or 0):
            proposals = [study.ask(shares) for study in studies]
            asked = []
            for choice, proposal in zip(choices, proposals, strict=True):
                drawn = [proposal.params[path] for path in shares]
                point = self.tune.point_at(drawn, self._data.dataset.name)
                choice.points.append(point)
                if repr(point) not in choice.tried:
                    asked.append((choice, point))
            self._measure(asked, seen, every)
            for choice, study, proposal in zip(choices, studies, proposals, strict=True):
                total = choice.total(choice.points[-1])
                if math.isnan(total):
                    study.tell(proposal, state=optuna.trial.TrialState.FAIL)
                else:
                    study.tell(proposal, total)

    def _measure(self, asked: Sequence[tuple[Choice, Point]], seen: Seen, rows: Integers) -> None:
        """Measure points on some of the rows (numbers among those of `seen`); they share what they can."""
        if not asked:
            return
        specs = []
        for choice, point in asked:
            specs += [without_tune(spec, point) for spec in choice.specs]
        moments = seen.moments
        if len(rows) < moments.n:
            moments = moments.without(np.setdiff1d(np.arange(moments.n), rows))
        totals, errors = self._sum_over_folds(specs, Seen(moments, seen.numbers[np.sort(rows)], seen.name))
        n_sizes = len(specs) // len(asked)
        for i, (choice, point) in enumerate(asked):
            of_point = slice(i * n_sizes, (i + 1) * n_sizes)
            choice.tried[repr(point)] = (point, math.fsum(totals[of_point]))
            for of_spec in errors[of_point]:
                choice.errors += of_spec

    def _sum_over_folds(self, specs: Sequence[MethodSpec], seen: Seen) -> tuple[NDArray[np.float64], list[list[str]]]:
        """The criterion of each spec, summed over the folds of some rows (NaN where one failed), and its errors."""
        experiment = self._group.experiment.model_copy(update={"metrics": (self._criterion,), "by_label": ()})
        group = replace(self._group, experiment=experiment, keeping=None)
        trials = []
        for i, spec in enumerate(specs):
            trials.append(replace(self._trials[0], key=str(i), spec=spec))
        trials = _share_fits(trials, experiment, self._data)
        X, Y = seen.moments.rows()
        values = []
        errors: list[list[str]] = [[] for _ in trials]
        for split in self._data.folds(self.tune.n_folds, seen.numbers, seen.name):
            test = split.test
            of_fold = frozen(X[test]), frozen(as_dense(Y[test]))
            rows = Rows(seen.moments.without(test), *of_fold, self._data.dataset, seen.numbers[test])
            results = {each.key: each for each in run_trials(trials, group, rows)}
            found = []
            for of_spec, trial in zip(errors, trials, strict=True):
                result = results[trial.key]
                measured = result.values or {}
                found.append(measured.get("criterion", math.nan))
                if result.error is not None:
                    of_spec.append(result.error)
            values.append(found)
            del rows
            gc.collect()  # what was computed of a fold refers to itself, and may fill the memory before the split ends
        return np.sum(values, axis=0), errors

    def run(self, choices: Sequence[Choice], rows: Rows, spent: Spent) -> Iterator[TrialResult]:
        """The result of each trial, with what was chosen for it, as it is finished; `spent`: what the choice took."""
        settled = []
        for trial, choice in zip(self._trials, choices, strict=True):
            point = choice.point
            if point is None:
                failure = f"tune: no point of the search could be fitted and measured by {self._criterion.name}"
                yield TrialResult(trial.key, None, join_errors(failure, choice.errors))
            else:
                settled.append(replace(trial, spec=without_tune(trial.spec, point)))
        chosen = {trial.key: choice for trial, choice in zip(self._trials, choices, strict=True)}
        settled = _share_fits(settled, self._group.experiment, self._data)
        for result in run_trials(settled, self._group, rows, spent):
            yield self._with_choice(result, chosen[result.key])

    def _with_choice(self, result: TrialResult, choice: Choice) -> TrialResult:
        """A result with what was chosen, and the points that were tried, each with the mean of its criterion."""
        tried = []
        # A choice that serves all splits is recorded with what it tried by one of them.
        if self.tune.scope == "split" or self._group.split == 0:
            for point, total in choice.tried.values():
                tried.append((tuple(point_texts(point).items()), total / self.tune.n_folds))
        chosen = tuple(point_texts(choice.point or {}).items())
        return replace(result, chosen=chosen, tried=tuple(tried))


def _share_fits(trials: Sequence[Trial], experiment: Experiment, data: DividedData) -> list[Trial]:
    """The trials with the families of their specs."""
    families = [trial.spec for trial in trials]
    if experiment.share:
        families = families_of(families, data.dataset.n_labels)
    return [replace(trial, family=family) for trial, family in zip(trials, families, strict=True)]


def without_tune(spec: MethodSpec, point: Point) -> MethodSpec:
    """The method with the values of a grid's point put in, and nothing left to tune."""
    return spec.at(point).model_copy(update={"tune": None})
