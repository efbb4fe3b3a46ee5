"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds divide the rows that the choice may see. Their moments are downdated as those of a split are, so all points
that are measured together share a fold's sums, kernel and factorisations. Each trial of a sweep has a choice of its
own, except where the metric is summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin
2012): then all trials share one choice. Of equally good points the first one tried is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.experiment.division import Integers, Splits
from mlcdr.experiment.families import at_all_sizes
from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.tune import Criterion, Point, TuneSpec
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen

Measure = Callable[[Sequence[MethodSpec]], Callable[[Moments, Any, Any], list[float]]]
"""(specs, moments to fit them from, test rows X and Y) → the criterion of each spec; NaN where one failed."""


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


def choose(
    specs: Sequence[MethodSpec],
    tune: TuneSpec,
    moments: Moments,
    dataset: str,
    drawn_from: tuple[int, str],
    fold: Callable[[Integers], Splits],
    criterion: Criterion,
    measure: Measure,
) -> list[Choice]:
    """Choose the best point of the search for each of a method's specs.

    Parameters
    ----------
    specs : sequence of MethodSpec
    tune : TuneSpec
        Of all of them.
    moments : Moments
        Of the rows that the choice may see, with their rows.
    dataset : str
        The data set whose grid is searched.
    drawn_from : (seed, name)
        The source of randomness for the rows that halving begins with and for optuna's proposals.
    fold : callable
        The folds of some of the rows, by their numbers among those of the moments.
    criterion : Criterion
        What to choose by.
    measure : callable
        Fits and measures specs.

    Raises
    ------
    ConfigError
        When there are fewer rows than folds.
    """
    seed, name = drawn_from
    if tune.n_points(dataset) == 1:  # a setting of this data set's own, and nothing to be chosen
        return [Choice(tune.candidates(seed, dataset)[0])] * len(specs)
    wanted = [[spec] for spec in specs]
    if criterion.summed:
        wanted = [at_all_sizes(specs[0], moments.n_features, moments.n_labels)]
    order = np.argsort(np.random.PCG64(seed_sequence(seed, name, "halving")).random_raw(moments.n), kind="stable")
    totals: list[dict[str, float]] = [{} for _ in wanted]  # text of a point → criterion, a sum over folds
    tried: list[dict[str, Point]] = [{} for _ in wanted]

    def try_points(points: Sequence[tuple[int, Point]], n_rows: int) -> None:
        """Measure each (number in `wanted`, point) on some of the rows."""
        rows = moments if n_rows == moments.n else moments.without(np.sort(order[n_rows:]))
        folds = fold(np.sort(order[:n_rows]))
        flat = [without_tune(spec, point) for g, point in points for spec in wanted[g]]
        values = np.reshape(_sum_over_folds(rows, folds, measure(flat)), (len(points), -1))
        for (g, point), at_sizes in zip(points, values, strict=True):
            tried[g][repr(point)], totals[g][repr(point)] = point, math.fsum(at_sizes)

    def rank(g: int, points: Iterable[Point]) -> list[Point]:
        """Points from the best to the worst; points that have not been measured yet keep their order."""
        sign = -1.0 if criterion.metric.higher_is_better else 1.0
        costs = {text: math.inf if math.isnan(value) else round(sign * value, 10) for text, value in totals[g].items()}
        return sorted(points, key=lambda point: costs.get(repr(point), 0.0))

    if tune.search == "optuna":
        for proposed in _proposals(tune, dataset, (seed, name), criterion, totals):
            new = [(g, point) for g, point in enumerate(proposed) if repr(point) not in tried[g]]
            if new:
                try_points(new, moments.n)
        kept = [list(points.values()) for points in tried]
    else:
        candidates = tune.candidates(seed, dataset)
        kept = [candidates] * len(wanted)
        for n, n_rows in tune.rungs(len(candidates), moments.n):
            kept = [rank(g, points)[:n] for g, points in enumerate(kept)]
            try_points([(g, point) for points in zip(*kept, strict=True) for g, point in enumerate(points)], n_rows)
    found = []
    for g, points in enumerate(kept):
        best = rank(g, points)[0]
        means = tuple((point, totals[g][text] / tune.n_folds) for text, point in tried[g].items())
        found.append(Choice(None if math.isnan(totals[g][repr(best)]) else best, means))
    return found * (len(specs) if criterion.summed else 1)


def _sum_over_folds(
    moments: Moments, folds: Splits, measure: Callable[[Moments, Any, Any], list[float]]
) -> NDArray[np.float64]:
    """The numbers that `measure` returns, summed over folds of the rows."""
    X, Y = moments.rows()
    tests = [split.test for split in folds]
    return np.sum([measure(moments.without(i), frozen(X[i]), frozen(as_dense(Y[i]))) for i in tests], axis=0)


def _proposals(
    tune: TuneSpec,
    dataset: str,
    seeded_by: tuple[int, str],
    criterion: Criterion,
    totals: Sequence[Mapping[str, float]],
) -> Iterator[list[Point]]:
    """Points that optuna proposes, one for each of `totals`, which must have their criteria before the next step."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed, name = seeded_by
    direction = "maximize" if criterion.metric.higher_is_better else "minimize"
    number = int(seed_sequence(seed, name, "optuna").generate_state(1)[0])
    studies = [
        optuna.create_study(sampler=optuna.samplers.TPESampler(seed=number), direction=direction) for _ in totals
    ]
    shares = {path: optuna.distributions.FloatDistribution(0.0, 1.0) for path in tune.grid}
    for _ in range(tune.points or 0):
        asked = [study.ask(shares) for study in studies]
        proposed = [tune.point_at([trial.params[path] for path in shares], dataset) for trial in asked]
        yield proposed
        for study, trial, point, found in zip(studies, asked, proposed, totals, strict=True):
            value = found[repr(point)]
            failed = math.isnan(value)
            study.tell(trial, None if failed else value, optuna.trial.TrialState.FAIL if failed else None)
