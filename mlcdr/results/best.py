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
from mlcdr.results.frame import group, keys_of, list_keys, paths_of, summarise
from mlcdr.results.metric_facts import describe_metric

Grids = Mapping[str, Sequence[str]]
"""Method → the paths of its grid."""


def tuned_paths(experiment: Experiment, scope: str) -> dict[str, tuple[str, ...]]:
    """Method → the paths of its grid, for the methods that are tuned with that scope."""
    found = {}
    for name, spec in experiment.methods.items():
        if spec.tune is not None and spec.tune.scope == scope:
            found[name] = tuple(spec.tune.grid)
    return found


def swept_of(frame: pd.DataFrame, grids: Grids) -> list[str]:
    """The paths of a frame that are of no grid."""
    of_grids = set().union(*grids.values())
    return [path for path in paths_of(frame) if path not in of_grids]


def number_repetitions(scores: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Scores with the column `repetition`: with k folds every k splits are one, else all splits."""
    splits = experiment.splits
    if isinstance(splits, KFold):
        return scores.assign(repetition=scores["split"] // splits.folds)
    return scores.assign(repetition=0)


def average_repetitions(scores: pd.DataFrame, by: Sequence[str], experiment: Experiment) -> pd.DataFrame:
    """The mean of each whole repetition, of scores with one number a split in each group; the column is `value`."""
    by = [*by, "repetition"]
    found = summarise(number_repetitions(scores, experiment), by)
    if isinstance(experiment.splits, KFold):
        found = found[found["n"] == experiment.splits.folds]
    found = found[[*by, "mean"]]
    return found.rename(columns={"mean": "value"})


def take_best(
    scores: pd.DataFrame,
    grids: Grids,
    experiment: Experiment,
    folder: Path,
) -> pd.DataFrame:
    """Those of the scores that are of no grid, or of the best point of a grid in their repetition.

    Raises
    ------
    ResultsError
        When it is not known which way a metric is better.
    """
    is_of_grid = scores["method"].isin(grids)
    of_grids = number_repetitions(scores[is_of_grid], experiment)
    cell = [*list_keys(swept_of(scores, grids)), "repetition"]
    point = [*keys_of(scores), "repetition"]
    n_splits = group(of_grids, cell)["split"].nunique().reset_index()
    # a point competes where it has all splits that any has
    rivals = summarise(of_grids, point).merge(n_splits, on=cell)
    rivals = rivals[rivals["n"] == rivals["split"]]
    rivals = rivals.assign(loss=_as_losses(rivals, experiment, folder))
    rivals = rivals.sort_values("loss", kind="stable")
    best = rivals.drop_duplicates(cell)
    taken = of_grids.reset_index().merge(best[point], on=point)
    kept = [*scores.index[~is_of_grid], *taken["index"]]
    return scores.loc[sorted(kept)]


def _as_losses(means: pd.DataFrame, experiment: Experiment, folder: Path) -> list[float]:
    """Numbers of which the smaller is the better; rounding errors do not count."""
    signs = {}
    for metric in sorted(means["metric"].unique()):
        higher = describe_metric(experiment, metric).higher_is_better
        if higher is None:
            raise ResultsError(f"{folder}: {metric!r}: which way it is better is not known, so nothing is the best")
        signs[metric] = -1.0 if higher else 1.0
    losses = means["metric"].astype(object).map(signs) * means["mean"]
    return [round(loss, 12) for loss in losses.astype(float)]


def show_best(
    means: pd.DataFrame,
    scores: pd.DataFrame,
    grids: Grids,
    experiment: Experiment,
    folder: Path,
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
    cell = list_keys(swept_of(means, grids))
    point = keys_of(means)
    of_grids = scores[scores["method"].isin(grids)]
    taken = take_best(of_grids, grids, experiment, folder)
    won = group(number_repetitions(taken, experiment), point)["repetition"]
    won = won.agg(["nunique", "min"]).reset_index()
    # of those that won equally often the best over all repetitions, and then the first
    shown = summarise(of_grids, point).merge(won, on=point)
    shown = shown.assign(loss=_as_losses(shown, experiment, folder))
    shown = shown.sort_values(["nunique", "loss", "min"], ascending=[False, True, True])
    shown = shown.drop_duplicates(cell)
    best = summarise(taken, cell).merge(shown[point], on=cell)
    others = means[~means["method"].isin(grids)]
    # in the order of the means, in which each grid has several rows
    order = means[cell].drop_duplicates()
    whole = order.merge(pd.concat([others, best]), on=cell)
    return whole[list(means)]
