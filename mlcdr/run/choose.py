"""Choosing a method's parameters by cross-validation: `tune:` with the scopes `split` and `dataset`.

The folds are cut from the rows that the choice may see, their moments downdated as any split's are, so all points of a
grid share a fold's sums, kernel and factorisations. Every trial of a sweep chooses for itself, but where the metric is
summed over all sizes of the code (`hamming_loss_all_dims`, the criterion of Chen & Lin 2012) they share one choice. Of
equally good points the first in the grid's order is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.splits import KFold, make_splits
from mlcdr.experiment.tune import Criterion, TuneSpec
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.run import choose_kernel

Point = Mapping[str, Any]


class Work(Protocol):
    """How methods are fitted and measured, which is the business of trials."""

    def values(
        self, specs: Sequence[MethodSpec], criterion: Criterion, moments: Moments, X: Any, Y: Any
    ) -> list[float]:
        """A metric of specs fitted from moments, on test rows X and Y; NaN where one failed."""

    @property
    def may_share(self) -> bool:
        """Whether methods may share work."""

    def families(self, specs: Sequence[MethodSpec]) -> list[MethodSpec]:
        """For each spec the one with the largest code whose fit serves it."""

    def size(self, spec: MethodSpec, space: Any) -> int:
        """How many dimensions of the code a spec has, in a fitted label space of its family."""

    def all_sizes(self, spec: MethodSpec) -> list[MethodSpec]:
        """The spec at each size of its code, for the metrics that are summed over them."""


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
    work: Work,
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
    work : Work
        Fits and measures.

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
    wanted = [work.all_sizes(specs[0])] if criterion.summed else [[spec] for spec in specs]
    flat = [without_tune(spec, point) for point in points for group in wanted for spec in group]
    seed, name = folds_of
    splits = make_splits(KFold(kind="kfold", folds=tune.n_folds, seed=seed), name, moments.n)
    folds = [splits[i].test for i in range(len(splits))]
    if work.may_share and criterion.metric.needs == "labels" and all(choose_kernel.applies(spec) for spec in flat):
        totals = choose_kernel.totals(flat, work.families(flat), criterion, moments, folds, work.size)
    else:
        totals = [0.0] * len(flat)
        X, Y = moments.rows()
        for rows in folds:
            X_test, Y_test = frozen(X[rows]), frozen(as_dense(Y[rows]))
            values = work.values(flat, criterion, moments.without(rows), X_test, Y_test)
            totals = [total + value for total, value in zip(totals, values, strict=True)]
    per_group = [len(group) for group in wanted]
    starts = [sum(per_group[:g]) for g in range(len(wanted))]
    sign = -1.0 if criterion.metric.higher_is_better else 1.0
    chosen: list[dict[str, Any] | None] = []
    for start, width in zip(starts, per_group, strict=True):
        costs = []
        for p in range(len(points)):
            first = p * sum(per_group) + start
            value = math.fsum(totals[first : first + width])
            costs.append(math.inf if math.isnan(value) else round(sign * value, 10))
        best = min(range(len(points)), key=costs.__getitem__)
        chosen.append(None if math.isinf(costs[best]) else points[best])
    return chosen * (len(specs) if criterion.summed else 1)
