"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds divide the rows that the choice may see. Their moments are downdated as those of a split are, so all points
that are measured together share a fold's sums, kernel and factorisations. Each trial of a sweep has a choice of its
own, except where the metric is summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin
2012): then all trials share one choice. Of equally good points the first one tried is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.execution.fitting import Rows, run_trials
from mlcdr.execution.groups import Group
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.division import Integers
from mlcdr.experiment.families import at_all_sizes, families_of
from mlcdr.experiment.model import MethodSpec, method_text
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.trials import Score, Trial
from mlcdr.experiment.tune import Point
from mlcdr.methods.contracts import as_dense
from mlcdr.metrics import find
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen

Texts = tuple[tuple[str, str], ...]
"""A point as a config would write it: (path, value)."""


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
    """

    specs: Sequence[MethodSpec]
    points: list[Point]
    sign: float = 1.0
    tried: dict[str, tuple[Point, float]] = field(default_factory=dict)

    def keep(self, number: int) -> None:
        """Leave the best points, the best first; points that have not been measured yet keep their order."""
        self.points = sorted(self.points, key=self._cost)[:number]

    def _cost(self, point: Point) -> float:
        _, total = self.tried.get(repr(point), (point, 0.0))
        return math.inf if math.isnan(total) else round(self.sign * total, 10)

    @property
    def point(self) -> Point | None:
        """The best point; None if none could be fitted and measured."""
        best = min(self.points, key=self._cost)
        _, total = self.tried.get(repr(best), (best, 0.0))
        return None if math.isnan(total) else best


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
        self._dataset = data.dataset.name
        self._seed = group.experiment.seed
        self._criterion = tune.criterion(group.experiment.metrics)

    def choose(self, seen: Seen) -> list[Choice]:
        """Choose the parameters of each trial by some rows.

        Raises
        ------
        ConfigError
            When there are fewer rows than folds.
        """
        tune, seed = self.tune, self._seed
        points = [] if tune.search == "optuna" else tune.candidates(seed, self._dataset)
        if tune.n_points(self._dataset) == 1:  # a setting of this data set's own, and nothing to be chosen
            return [Choice([spec], tune.candidates(seed, self._dataset)) for spec in self.specs]
        sign = -1.0 if find(self._criterion.name).higher_is_better else 1.0
        choices = [Choice([spec], points, sign) for spec in self.specs]
        if self.tune.summed:
            sizes = at_all_sizes(self.specs[0], seen.moments.n_features, seen.moments.n_labels)
            choices = [Choice(sizes, points, sign)]
        if tune.search == "optuna":
            self._ask_optuna(choices, seen)
        else:
            self._try_points(choices, seen)
        return choices * (len(self.specs) if self.tune.summed else 1)

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
        number = int(seed_sequence(self._seed, seen.name, "optuna").generate_state(1)[0])
        studies = []
        for choice in choices:
            sampler = optuna.samplers.TPESampler(seed=number)
            direction = "maximize" if choice.sign < 0 else "minimize"
            studies.append((choice, optuna.create_study(sampler=sampler, direction=direction)))
        shares: dict[str, Any] = {path: optuna.distributions.FloatDistribution(0.0, 1.0) for path in self.tune.grid}
        every = np.arange(seen.moments.n)
        for _ in range(self.tune.points or 0):
            proposals = []
            for choice, study in studies:
                proposal = study.ask(shares)
                point = self.tune.point_at([proposal.params[path] for path in shares], self._dataset)
                proposals.append((choice, study, proposal, point))
            asked = [(choice, point) for choice, _, _, point in proposals if repr(point) not in choice.tried]
            self._measure(asked, seen, every)
            for choice, study, proposal, point in proposals:
                _, total = choice.tried[repr(point)]
                if math.isnan(total):
                    study.tell(proposal, state=optuna.trial.TrialState.FAIL)
                else:
                    study.tell(proposal, total)
        for choice in choices:
            choice.points = [point for point, _ in choice.tried.values()]

    def _measure(self, for_each: Sequence[tuple[Choice, Point]], seen: Seen, rows: Integers) -> None:
        """Measure points on some of the rows (numbers among those of `seen`); they share what they can."""
        if not for_each:
            return
        specs = []
        for choice, point in for_each:
            specs += [without_tune(spec, point) for spec in choice.specs]
        moments = seen.moments
        if len(rows) < moments.n:
            moments = moments.without(np.setdiff1d(np.arange(moments.n), rows))
        totals = self._sum_over_folds(specs, moments, seen.numbers[np.sort(rows)], seen.name)
        for (choice, point), at_sizes in zip(for_each, totals.reshape(len(for_each), -1), strict=True):
            choice.tried[repr(point)] = (point, math.fsum(at_sizes))

    def _sum_over_folds(
        self, specs: Sequence[MethodSpec], moments: Moments, numbers: Integers, name: str
    ) -> NDArray[np.float64]:
        """The criterion of each spec, summed over the folds of some rows; NaN where one failed."""
        experiment = self._group.experiment.model_copy(update={"metrics": (self._criterion,), "by_label": ()})
        group = replace(self._group, experiment=experiment, keeping=None)
        trials = self._share_fits([replace(self._trials[0], key=str(i), spec=spec) for i, spec in enumerate(specs)])
        X, Y = moments.rows()
        dataset = self._data.dataset
        values = []
        for split in self._data.folds(self.tune.n_folds, numbers, name):
            test = split.test
            rows = Rows(moments.without(test), frozen(X[test]), frozen(as_dense(Y[test])), dataset, numbers[test])
            scores = {score.key: score.values or {} for score in run_trials(trials, group, rows)}
            values.append([scores[trial.key].get("criterion", math.nan) for trial in trials])
        return np.sum(values, axis=0)

    def _share_fits(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials with the families of their specs."""
        specs = [trial.spec for trial in trials]
        families = families_of(specs, self._data.dataset.n_labels) if self._group.experiment.share else specs
        return [replace(trial, family=family) for trial, family in zip(trials, families, strict=True)]

    def run(self, choices: Sequence[Choice], rows: Rows, seconds: float) -> list[Score]:
        """The scores of the trials with what was chosen for each; the choice took `seconds`."""
        scores = []
        settled = []
        chosen: dict[str, tuple[Choice, Point]] = {}
        for trial, choice in zip(self._trials, choices, strict=True):
            point = choice.point
            if point is None:
                failure = f"tune: no point of the search could be fitted and measured by {self._criterion.name}"
                scores.append(Score(trial.key, None, failure))
            else:
                settled.append(replace(trial, spec=without_tune(trial.spec, point)))
                chosen[trial.key] = choice, point
        # A choice that serves all splits is recorded with what it tried by one of them.
        recorded = self.tune.scope == "split" or self._group.split == 0
        for score in run_trials(self._share_fits(settled), self._group, rows, seconds):
            choice, point = chosen[score.key]
            tried = self._means(choice) if recorded else ()
            scores.append(replace(score, chosen=_texts(point), tried=tried))
        return scores

    def _means(self, choice: Choice) -> tuple[tuple[Texts, float], ...]:
        """The points that were tried, each with the mean of its criterion over folds."""
        return tuple((_texts(point), total / self.tune.n_folds) for point, total in choice.tried.values())


def without_tune(spec: MethodSpec, point: Point) -> MethodSpec:
    """The method with the values of a grid's point put in, and nothing left to tune."""
    for path, value in point.items():
        changed = spec.with_value(path, value)
        assert changed is not None, path  # the config has been checked
        spec = changed
    return spec.model_copy(update={"tune": None})


def _texts(point: Point) -> Texts:
    return tuple((path, method_text(value)) for path, value in point.items())
