"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds divide the rows that the choice may see. Their moments are downdated as those of a split are, so all points
that are measured together share a fold's sums, kernel and factorisations. Each trial of a sweep has a choice of its
own, except where the metric is summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin
2012): then all trials share one choice. Of equally good points the first one tried is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.execution.fitting import Rows
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.division import Integers, Splits
from mlcdr.experiment.families import at_all_sizes
from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.tune import Criterion, Point, TuneSpec
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen

Measure = Callable[[Sequence[MethodSpec], Iterable[Rows]], NDArray[np.float64]]
"""The criterion of each spec, summed over folds; NaN where one failed."""


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


@dataclass(frozen=True)
class Choice:
    """The result of a search: the best point (None if no point could be fitted and measured), and all that were tried.

    `tried`: each point with its criterion, a mean over folds (of the rows that it was last measured on).
    """

    point: Point | None
    tried: tuple[tuple[Point, float], ...] = ()


def without_tune(spec: MethodSpec, point: Point) -> MethodSpec:
    """The method with the values of a grid's point put in, and nothing left to tune."""
    for path, value in point.items():
        changed = spec.with_value(path, value)
        assert changed is not None, path  # the config has been checked
        spec = changed
    return spec.model_copy(update={"tune": None})


@dataclass
class _Tried:
    """A point, and its criterion: a sum over folds, and over the specs that are measured together."""

    point: Point
    total: float


@dataclass
class _Question:
    """A choice that is to be made: of one spec, or, where the criterion is summed over all sizes, of all sizes.

    Attributes
    ----------
    specs : sequence of MethodSpec
    higher_is_better : bool
    tried : dict
        The points that were measured, each by its text.
    """

    specs: Sequence[MethodSpec]
    higher_is_better: bool
    tried: dict[str, _Tried] = field(default_factory=dict)

    def rank(self, points: Iterable[Point]) -> list[Point]:
        """Points from the best to the worst; points that have not been measured yet keep their order."""
        return sorted(points, key=self._cost)

    def _cost(self, point: Point) -> float:
        found = self.tried.get(repr(point))
        if found is None:
            return 0.0
        if math.isnan(found.total):
            return math.inf
        return round(-found.total if self.higher_is_better else found.total, 10)

    def answer(self, points: Iterable[Point], n_folds: int) -> Choice:
        """The best of the points, all of which were measured."""
        best = self.tried[repr(self.rank(points)[0])]
        means = tuple((each.point, each.total / n_folds) for each in self.tried.values())
        return Choice(None if math.isnan(best.total) else best.point, means)


class Search:
    """The search for the best point of each of a method's specs.

    Parameters
    ----------
    specs : sequence of MethodSpec
    tune : TuneSpec
        Of all of them.
    criterion : Criterion
        What to choose by.
    data : DividedData
    seen : Seen
    seed : int
        Of the experiment.
    """

    def __init__(
        self,
        specs: Sequence[MethodSpec],
        tune: TuneSpec,
        criterion: Criterion,
        data: DividedData,
        seen: Seen,
        seed: int,
    ):
        self._specs = specs
        self._tune = tune
        self._criterion = criterion
        self._data = data
        self._dataset = data.dataset.name
        self._seen = seen
        self._seed = seed
        numbers = np.random.PCG64(seed_sequence(seed, seen.name, "halving")).random_raw(seen.moments.n)
        self._order = np.argsort(numbers, kind="stable")  # of the rows, as halving takes them

    def choose(self, measure: Measure) -> list[Choice]:
        """Choose the best point for each spec.

        Raises
        ------
        ConfigError
            When there are fewer rows than folds.
        """
        tune, metric = self._tune, self._criterion.metric
        if tune.n_points(self._dataset) == 1:  # a setting of this data set's own, and nothing to be chosen
            return [Choice(tune.candidates(self._seed, self._dataset)[0])] * len(self._specs)
        asked: list[Sequence[MethodSpec]] = [[spec] for spec in self._specs]
        if self._criterion.summed:
            asked = [at_all_sizes(self._specs[0], self._seen.moments.n_features, self._seen.moments.n_labels)]
        questions = [_Question(specs, bool(metric.higher_is_better)) for specs in asked]
        if tune.search == "optuna":
            left = self._ask_optuna(questions, measure)
        else:
            left = self._go_through_candidates(questions, measure)
        choices = [question.answer(points, tune.n_folds) for question, points in zip(questions, left, strict=True)]
        return choices * len(self._specs) if self._criterion.summed else choices

    def _go_through_candidates(self, questions: Sequence[_Question], measure: Measure) -> list[list[Point]]:
        """Measure the candidates, of which each rung of halving leaves the best; returns the last for each question."""
        candidates = self._tune.candidates(self._seed, self._dataset)
        left = [candidates for _ in questions]
        for n_points, n_rows in self._tune.rungs(len(candidates), self._seen.moments.n):
            left = [question.rank(points)[:n_points] for question, points in zip(questions, left, strict=True)]
            by_rank: list[tuple[_Question, Point]] = []
            for points in zip(*left, strict=True):
                by_rank += zip(questions, points, strict=True)
            self._measure(by_rank, n_rows, measure)
        return left

    def _ask_optuna(self, questions: Sequence[_Question], measure: Measure) -> list[list[Point]]:
        """Measure what optuna proposes; returns all points for each question."""
        samplers = [_Proposals(self._tune, self._dataset, self._seed, self._seen.name, each) for each in questions]
        for _ in range(self._tune.points or 0):
            proposed = [each.ask() for each in samplers]
            new = []
            for question, point in zip(questions, proposed, strict=True):
                if repr(point) not in question.tried:
                    new.append((question, point))
            if new:
                self._measure(new, self._seen.moments.n, measure)
            for sampler, point in zip(samplers, proposed, strict=True):
                sampler.tell(point)
        return [[each.point for each in question.tried.values()] for question in questions]

    def _measure(self, points: Sequence[tuple[_Question, Point]], n_rows: int, measure: Measure) -> None:
        """Measure points on some of the rows; those that are measured together share what they can."""
        moments = self._seen.moments
        if n_rows != moments.n:
            moments = moments.without(np.sort(self._order[n_rows:]))
        rows = self._seen.numbers[np.sort(self._order[:n_rows])]
        splits = self._data.folds(self._tune.n_folds, rows, self._seen.name)
        specs = []
        for question, point in points:
            specs += [without_tune(spec, point) for spec in question.specs]
        values = measure(specs, _fold_rows(moments, splits)).reshape(len(points), -1)
        for (question, point), at_sizes in zip(points, values, strict=True):
            question.tried[repr(point)] = _Tried(point, math.fsum(at_sizes))


def _fold_rows(moments: Moments, splits: Splits) -> Iterator[Rows]:
    X, Y = moments.rows()
    for test in [split.test for split in splits]:
        yield Rows(moments.without(test), frozen(X[test]), frozen(as_dense(Y[test])))


class _Proposals:
    """The points that optuna's sampler proposes for one question, which is told what came of each."""

    def __init__(self, tune: TuneSpec, dataset: str, seed: int, name: str, question: _Question):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        number = int(seed_sequence(seed, name, "optuna").generate_state(1)[0])
        direction = "maximize" if question.higher_is_better else "minimize"
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=number), direction=direction)
        self._shares: dict[str, Any] = {path: optuna.distributions.FloatDistribution(0.0, 1.0) for path in tune.grid}
        self._failed = optuna.trial.TrialState.FAIL
        self._tune = tune
        self._dataset = dataset
        self._question = question

    def ask(self) -> Point:
        """The next point."""
        self._trial = self._study.ask(self._shares)
        return self._tune.point_at([self._trial.params[path] for path in self._shares], self._dataset)

    def tell(self, point: Point) -> None:
        """Tell the sampler what it proposed last has come to."""
        total = self._question.tried[repr(point)].total
        if math.isnan(total):
            self._study.tell(self._trial, state=self._failed)
        else:
            self._study.tell(self._trial, total)
