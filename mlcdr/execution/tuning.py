"""The trials of a method with `tune:` on one split: its parameters are chosen first, then the trials are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mlcdr.execution.choose import Choice, Search, Seen, without_tune
from mlcdr.execution.fitting import Rows, run_trials
from mlcdr.execution.groups import Group
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.families import families_of
from mlcdr.experiment.keys import digest
from mlcdr.experiment.model import MethodSpec, method_text
from mlcdr.experiment.trials import Score, Trial
from mlcdr.experiment.tune import Point


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
        self._trials = trials
        self._group = group
        self._data = data
        self._specs = [trial.spec for trial in trials]
        self._criterion = tune.criterion(group.metrics)

    @property
    def key(self) -> str:
        """A digest of what the choice is made for."""
        return digest([self._trials[0].method, *(spec.plain() for spec in self._specs)])

    def choose(self, seen: Seen) -> list[Choice]:
        """Choose the parameters of each trial by some rows.

        Raises
        ------
        ConfigError
            When there are fewer rows than folds.
        """
        search = Search(self._specs, self.tune, self._criterion, self._data, seen, self._group.seed)
        return search.choose(self.measure)

    def measure(self, specs: Sequence[MethodSpec], folds: Iterable[Rows]) -> NDArray[np.float64]:
        """The criterion of each spec, summed over the folds; NaN where one failed."""
        metrics = (("criterion", self._criterion.name, self._criterion.options),)
        group = replace(self._group, metrics=metrics, by_label=())
        numbered = [replace(self._trials[0], key=str(i), spec=spec) for i, spec in enumerate(specs)]
        trials = self._share_fits(numbered)
        values = []
        for rows in folds:
            scores = {score.key: score.values or {} for score in run_trials(trials, group, rows)}
            values.append([scores[trial.key].get("criterion", math.nan) for trial in trials])
        return np.sum(values, axis=0)

    def _share_fits(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials with the families of their specs."""
        specs = [trial.spec for trial in trials]
        families = families_of(specs, self._data.dataset.n_labels) if self._group.share else specs
        return [replace(trial, family=family) for trial, family in zip(trials, families, strict=True)]

    def run(self, choices: Sequence[Choice], rows: Rows, seconds: float) -> list[Score]:
        """The scores of the trials with what was chosen for each; the choice took `seconds`."""
        scores = []
        settled = []
        chosen: dict[str, Choice] = {}
        for trial, choice in zip(self._trials, choices, strict=True):
            if choice.point is None:
                failure = f"tune: no point of the search could be fitted and measured by {self._criterion.name}"
                scores.append(Score(trial.key, None, failure))
            else:
                settled.append(replace(trial, spec=without_tune(trial.spec, choice.point)))
                chosen[trial.key] = choice
        for score in run_trials(self._share_fits(settled), self._group, rows, seconds):
            choice = chosen[score.key]
            scores.append(replace(score, chosen=_texts(choice.point or {}), tried=self._recorded(choice)))
        return scores

    def _recorded(self, choice: Choice) -> tuple[tuple[tuple[tuple[str, str], ...], float], ...]:
        """What was tried, as it is recorded: for a choice that serves all splits, with one of them."""
        if self.tune.scope == "dataset" and self._group.split != 0:
            return ()
        return tuple((_texts(point), value) for point, value in choice.tried)


def _texts(point: Point) -> tuple[tuple[str, str], ...]:
    return tuple((path, method_text(value)) for path, value in point.items())
