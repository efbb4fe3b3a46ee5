"""The best of a grid on the test rows, for methods with `tune: {scope: test}`.

Every point of such a grid was run. For each data set, metric and point of the sweep the point of the grid
with the best mean over the test folds is taken, in each repetition of the protocol by itself (each repeat of a repeated
k-fold cross-validation; all of any other splits). This is what an author does who runs the protocol once and prints the
best. The resulting numbers are better than those of a choice inside the training rows.

Points that lack a split which another has (a metric may not be defined there) do not compete in that repetition. Of
equally good ones the first is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.splits import KFold
from mlcdr.results.frame import paths_of, summarise
from mlcdr.results.metric_facts import describe_metric

Grids = Mapping[str, Sequence[str]]
"""Method → the paths of its grid."""


def tuned_paths(experiment: Experiment, scope: str) -> dict[str, tuple[str, ...]]:
    """Method → the paths of its grid, for the methods that are tuned with that scope."""
    methods = experiment.methods.items()
    return {name: tuple(spec.tune.grid) for name, spec in methods if spec.tune and spec.tune.scope == scope}


def swept_of(frame: pd.DataFrame, grids: Grids) -> list[str]:
    """The paths of a frame that are of no grid."""
    of_grids = {path for grid in grids.values() for path in grid}
    return [path for path in paths_of(frame) if path not in of_grids]


def number_repetitions(scores: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Scores with the column `repetition`: with k folds every k splits are one, else all splits."""
    folds = experiment.splits.folds if isinstance(experiment.splits, KFold) else None
    return scores.assign(repetition=scores["split"] // folds if folds else 0)


def average_repetitions(scores: pd.DataFrame, by: Sequence[str], experiment: Experiment) -> pd.DataFrame:
    """The mean of each whole repetition, of scores with one number a split in each group; the column is `value`."""
    found = summarise(number_repetitions(scores, experiment), [*by, "repetition"])
    if isinstance(experiment.splits, KFold):
        found = found[found["n"] == experiment.splits.folds]
    return found[[*by, "repetition", "mean"]].rename(columns={"mean": "value"})


def take_best(scores: pd.DataFrame, grids: Grids, experiment: Experiment, folder: Path) -> pd.DataFrame:
    """Those of the scores that are of no grid, or of the best point of a grid in their repetition.

    Raises
    ------
    ResultsError
        When it is not known which way a metric is better.
    """
    of_grid = number_repetitions(scores[scores["method"].isin(grids)], experiment)
    keys = ["dataset", "method", *swept_of(scores, grids), "metric", "repetition"]
    point = ["dataset", "method", *paths_of(scores), "metric", "repetition"]
    rivals = summarise(of_grid, point)
    n_splits = of_grid.groupby(keys, observed=True, as_index=False)["split"].nunique()
    rivals = rivals.merge(n_splits, on=keys)
    rivals = rivals[rivals["n"] == rivals["split"]]
    rivals["loss"] = _as_losses(rivals, experiment, folder)
    best = rivals.sort_values("loss", kind="stable").drop_duplicates(keys)
    taken = of_grid.reset_index().merge(best[point], on=point)["index"]
    others = scores.index[~scores["method"].isin(grids)]
    return scores.loc[sorted([*others, *taken])]


def _as_losses(means: pd.DataFrame, experiment: Experiment, folder: Path) -> list[float]:
    """Numbers of which the smaller is the better; rounding errors do not count."""
    higher = {metric: describe_metric(experiment, metric).higher_is_better for metric in means["metric"].unique()}
    unknown = sorted(metric for metric, better in higher.items() if better is None)
    if unknown:
        raise ResultsError(f"{folder}: {unknown[0]!r}: which way it is better is not known, so nothing is the best")
    signs = [-1.0 if higher[metric] else 1.0 for metric in means["metric"]]
    return [round(sign * mean, 12) for sign, mean in zip(signs, means["mean"], strict=True)]


def show_best(
    means: pd.DataFrame, scores: pd.DataFrame, grids: Grids, experiment: Experiment, folder: Path
) -> pd.DataFrame:
    """The means with one row in place of each grid: that of its best, with the point that was the best most often.

    Parameters
    ----------
    means : frame
        Of all points, as `summary.csv` has them.
    scores : frame
        Of which they are the means.

    Raises
    ------
    ResultsError
        As `take_best`.
    """
    keys = ["dataset", "method", *swept_of(means, grids), "metric"]
    point = ["dataset", "method", *paths_of(means), "metric"]
    of_grid = scores[scores["method"].isin(grids)]
    taken = take_best(of_grid, grids, experiment, folder)
    won = number_repetitions(taken, experiment).groupby(point, observed=True, as_index=False)
    won = won.agg(often=("repetition", "nunique"), first=("repetition", "min"))
    shown = summarise(of_grid, point).merge(won, on=point)
    shown["loss"] = _as_losses(shown, experiment, folder)
    shown = shown.sort_values(["often", "loss", "first"], ascending=[False, True, True]).drop_duplicates(keys)
    best = summarise(taken, keys).merge(shown[point], on=keys)
    whole = pd.concat([means[~means["method"].isin(grids)], best])
    # in the order of the means, in which each grid has several rows
    return means[keys].drop_duplicates().merge(whole, on=keys)[list(means)]
