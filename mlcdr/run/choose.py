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

import numpy as np

from mlcdr.experiment.families import at_all_sizes, families_of
from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.splits import KFold, make_splits
from mlcdr.experiment.tune import Criterion, TuneSpec
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.run import choose_kernel

Point = Mapping[str, Any]


Measure = Callable[[Sequence[MethodSpec], Moments, Any, Any], list[float]]
"""(specs, moments to fit them from, test rows X and Y) → the criterion of each; NaN where one failed."""


def grid_points(tune: TuneSpec, dataset: str = "") -> list[dict[str, Any]]:
    """All points of the grid (of a data set), its last path changing fastest."""
    grid = tune.grid_of(dataset)
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


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
    dataset: str,
    folds_of: tuple[int, str],
    criterion: Criterion,
    measure: Measure,
    share: bool,
) -> list[dict[str, Any] | None]:
    """For each of a method's specs the best point of its grid; None where no point could be fitted and measured.

    Parameters
    ----------
    specs : sequence of MethodSpec
        Specs with one and the same `tune`.
    moments : Moments
        Of the rows that the choice may see, with their rows.
    dataset : str
        Which data set's grid.
    folds_of : (seed, name)
        What the folds are drawn from.
    criterion : Criterion
        What to choose by.
    measure : callable
        Fits and measures specs.
    share : bool
        Whether methods may share work.

    Raises
    ------
    ConfigError
        When there are fewer rows than folds.
    """
    tune = specs[0].tune
    assert tune is not None
    points = grid_points(tune, dataset)
    if len(points) == 1:  # a setting of this data set's own, and nothing to be chosen
        return [points[0]] * len(specs)
    wanted = [[spec] for spec in specs]
    if criterion.summed:
        wanted = [at_all_sizes(specs[0], moments.n_features, moments.n_labels)]
    flat = [without_tune(spec, point) for point in points for group in wanted for spec in group]
    seed, name = folds_of
    splits = make_splits(KFold(kind="kfold", folds=tune.n_folds, seed=seed), name, moments.n)
    folds = [splits[i].test for i in range(len(splits))]
    if (
        share
        and criterion.metric.needs in ("labels", "scores", "top", "any")
        and all(choose_kernel.applies(spec) for spec in flat)
    ):
        totals = choose_kernel.totals(flat, families_of(flat, moments.n_labels), criterion, moments, folds)
    else:
        totals = [0.0] * len(flat)
        X, Y = moments.rows()
        for rows in folds:
            X_test, Y_test = frozen(X[rows]), frozen(as_dense(Y[rows]))
            values = measure(flat, moments.without(rows), X_test, Y_test)
            totals = [total + value for total, value in zip(totals, values, strict=True)]
    sign = -1.0 if criterion.metric.higher_is_better else 1.0
    by_point = np.reshape(totals, (len(points), len(wanted), -1))
    chosen: list[dict[str, Any] | None] = []
    for g in range(len(wanted)):
        values = [math.fsum(at_sizes) for at_sizes in by_point[:, g]]
        costs = [math.inf if math.isnan(value) else round(sign * value, 10) for value in values]
        best = min(range(len(points)), key=costs.__getitem__)
        chosen.append(None if math.isinf(costs[best]) else points[best])
    return chosen * (len(specs) if criterion.summed else 1)
