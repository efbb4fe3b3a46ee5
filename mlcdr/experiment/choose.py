"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds are cut from the rows that the choice may see, their moments downdated as any split's are, so all points of a
grid share a fold's sums, kernel and factorisations. Every trial of a sweep chooses for itself, but where the metric is
summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin 2012) they share one choice. Of
equally good points the first in the grid's order is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlcdr.errors import ConfigError
from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.splits import KFold, make_splits
from mlcdr.experiment.tune import ALL_SIZES, TuneSpec
from mlcdr.label_space.linear import as_dense
from mlcdr.metrics import METRICS
from mlcdr.moments import Moments
from mlcdr.sums import frozen

Point = Mapping[str, Any]
Evaluate = Callable[[Sequence[MethodSpec], str, Moments, Any, Any], list[float]]
"""Values of a metric (by name) for specs fitted from moments, on test rows X and Y; NaN where one failed."""


def grid_points(tune: TuneSpec) -> list[dict[str, Any]]:
    """All points of the grid, its last path changing fastest."""
    return [dict(zip(tune.grid, values, strict=True)) for values in itertools.product(*tune.grid.values())]


def without_tune(spec: MethodSpec, point: Point) -> MethodSpec:
    """The method with the values of a grid's point put in, and nothing left to tune."""
    for path, value in point.items():
        changed = spec.with_value(path, value)
        assert changed is not None, path  # the config has been checked
        spec = changed
    return spec.model_copy(update={"tune": None})


def choose(
    specs: Sequence[MethodSpec],
    moments: Moments,
    folds_of: tuple[int, str],
    evaluate: Evaluate,
    sizes: Callable[[MethodSpec], Sequence[MethodSpec]],
) -> list[dict[str, Any]]:
    """For each of a method's specs the best point of its grid.

    Parameters
    ----------
    specs : sequence of MethodSpec
        Specs with one and the same `tune`.
    moments : Moments
        Of the rows that the choice may see, with their rows.
    folds_of : (seed, name)
        What the folds are drawn from.
    evaluate : callable
        Fits and measures.
    sizes : callable
        A spec at each size of its code, for the metrics that are summed over them.

    Raises
    ------
    ConfigError
        When there are fewer rows than folds, or no point of the grid could be fitted.
    """
    tune = specs[0].tune
    assert tune is not None
    summed = tune.chosen_by.endswith(ALL_SIZES)
    metric = tune.chosen_by.removesuffix(ALL_SIZES)
    points = grid_points(tune)
    wanted = [list(sizes(specs[0]))] if summed else [[spec] for spec in specs]
    flat = [without_tune(spec, point) for point in points for group in wanted for spec in group]
    totals = [0.0] * len(flat)
    X, Y = moments.rows()
    seed, name = folds_of
    folds = make_splits(KFold(kind="kfold", folds=tune.n_folds, seed=seed), name, moments.n)
    for fold in (folds[i] for i in range(len(folds))):
        X_test, Y_test = frozen(X[fold.test]), frozen(as_dense(Y[fold.test]))
        values = evaluate(flat, metric, moments.without(fold.test), X_test, Y_test)
        totals = [total + value for total, value in zip(totals, values, strict=True)]
    per_group = [len(group) for group in wanted]
    starts = [sum(per_group[:g]) for g in range(len(wanted))]
    sign = -1.0 if METRICS[metric].higher_is_better else 1.0
    chosen = []
    for start, width in zip(starts, per_group, strict=True):
        criterion = []
        for p in range(len(points)):
            first = p * sum(per_group) + start
            value = math.fsum(totals[first : first + width])
            criterion.append(math.inf if math.isnan(value) else round(sign * value, 10))
        best = min(range(len(points)), key=criterion.__getitem__)
        if math.isinf(criterion[best]):
            raise ConfigError([f"tune: no point of the grid could be fitted and measured by {metric}"])
        chosen.append(points[best])
    return chosen * (len(specs) if summed else 1)
