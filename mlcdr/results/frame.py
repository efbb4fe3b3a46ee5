"""The numbers of a results folder as pandas frames. Tables, figures, comparisons and the report are made from these.

Two frames of `Results` (`mlcdr.results.results`) hold all numbers; one row is one number.

`results.scores`
    The scores of the single splits, at each point of the sweep and of grids, in the order of `scores.csv`. Columns:
    `dataset`, `method`, one for each varied config path (`label_space.n_components`), `split`, `metric`, `value`.
`results.summary`
    The means over the splits, in the order of `summary.csv`; of a grid of which only the best is shown, that one.
    Columns: `dataset`, `method`, one for each varied config path, `metric`, `mean`, `std` (n − 1), `se` = std/√n, `n`.

`dataset`, `method`, `metric` and the columns of paths are ordered categories, in the order of the config; a value of a
parameter is the text that the config has (`20%`), and `""` where the method has no such parameter. A score that is not
defined has no row; `std` and `se` of a single split are NaN. The columns of paths are

- `results.swept`, the parameters of the sweep. Data set, method, these and metric are the key of a row of the summary.
- `results.grids[method]`, the parameters of a method's grid of which only the best is shown. In the summary they have
  the values that were best, in the scores all values. For other methods they are `""`.

`results.at(places)` looks up rows of the summary: give it a frame with the places you want (`make_places`), and it adds
the numbers that stand there, NaN where there are none. A method without a swept parameter has one number, which stands
at all values of it. `results.points` are the points of the sweep, one tuple of values of `results.swept` each;
`results.datasets`, `.methods`, `.metrics` and `.values(path)` are what there is, in order.

Group frames with `groupby(columns, sort=False, observed=True)`: else each combination of categories is a group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from mlcdr.results.scores import are_same

# The columns after those of paths, with the types of their values.
SCORES: Mapping[str, type] = {"split": int, "metric": str, "value": float}
SUMMARY: Mapping[str, type] = {"metric": str, "mean": float, "std": float, "se": float, "n": float}
CHOSEN: Mapping[str, type] = {"split": int, "parameter": str, "value": str}


def paths_of(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns of config paths of scores, or of a summary."""
    names = list(frame)
    end = names.index("split" if "split" in names else "metric")
    return tuple(names[2:end])


def make_places(values: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """All combinations of values, the last column's the fastest; one column each: `{"dataset": …, "method": …}`."""
    return pd.MultiIndex.from_product(values.values(), names=list(values)).to_frame(index=False)


def order_column(texts: pd.Series, order: Iterable[str]) -> pd.Series:
    """A column as ordered categories; values that are not in `order` come last, as they appear."""
    return texts.astype(pd.CategoricalDtype(list(dict.fromkeys([*order, *texts.unique()])), ordered=True))


def order_columns(frame: pd.DataFrame, orders: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """The frame with those of its columns that have an order as ordered categories."""
    return frame.assign(**{name: order_column(frame[name], order) for name, order in orders.items() if name in frame})


def summarise(scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over the values of each group, with std (n − 1), se = std/√n and n, in the order of the groups' first.

    Parameters
    ----------
    scores : frame
        With a column `value`.
    by : sequence of str
        The columns whose values make a group. They are the first columns of what is returned.

    Notes
    -----
    Sums are exact (`math.fsum`): they do not depend on the order of the rows. What is out of a float's range is NaN.
    """
    number = scores.groupby(list(by), sort=False, observed=True).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number)
    ends = np.cumsum(sizes).tolist()
    starts = [0, *ends[:-1]]
    values = scores["value"].to_numpy(float)[order].tolist()
    numbers = [_mean_and_std(values[start:end]) for start, end in zip(starts, ends, strict=False)]
    first = order[starts[: len(ends)]] if ends else order
    found = scores.iloc[first][list(by)].reset_index(drop=True)
    mean_and_std = np.array(numbers, dtype=float).reshape(-1, 2)
    found["mean"], found["std"] = mean_and_std.T
    found["se"] = found["std"] / np.sqrt(sizes)
    found["n"] = sizes
    return found


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    n = len(values)
    mean = math.nan
    try:
        mean = math.fsum(values) / n
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)) if n > 1 else math.nan
    except (OverflowError, ValueError):  # of numbers beyond 1e154, or of both infinities
        return mean, math.nan
    return mean, std


def are_complete(cells: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    """Which rows of a summary are over as many splits as any of their group: others cannot be compared with it.

    A method may fail on the hard splits.
    """
    return cells["n"] == cells.groupby(list(by), observed=True)["n"].transform("max")


def are_best(
    cells: pd.DataFrame, by: Sequence[str], higher: Mapping[str, bool | None], within_one_se: bool = True
) -> pd.Series:
    """Which rows of a summary are the best of their group, or within the best one's standard error of it.

    With a single number in a group, or a metric of unknown direction, nothing is best. If the best has no standard
    error (one split), only equal means are as good. If several are the best, their largest standard error counts, so
    that the order of the methods does not matter. A row without a number is not the best.

    Parameters
    ----------
    cells : frame
    by : sequence of str
        The columns whose values make a group; `metric` is one of them.
    higher : mapping
        Metric → whether a larger value is better; None where it is not known.
    within_one_se : bool
        Whether those within one standard error of the best count as the best.
    """
    best = pd.Series(False, index=cells.index)
    for _, rivals in cells[cells["mean"].notna()].groupby(list(by), sort=False, observed=True):
        direction = higher[rivals["metric"].iloc[0]]
        if direction is None or len(rivals) < 2:
            continue
        means = rivals["mean"]
        top = means.max() if direction else means.min()
        equal = means.map(lambda mean, top=top: are_same(mean, top))
        best[equal.index] = equal
        if within_one_se:
            error = rivals["se"][equal].max()
            behind = (means - top).abs()
            near = behind.map(lambda each, error=error: each <= error or are_same(each, error))
            best[near.index] |= near
    return best
