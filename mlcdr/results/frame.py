"""The numbers of a results folder as pandas frames. Tables, figures, comparisons and the report are made from these.

Two frames of `Results` (`mlcdr.results.results`) hold all numbers; one row is one number.

`results.scores`
    The scores of the single splits, at each point of the sweep and of grids, in the order of `scores.csv`. Columns:
    `dataset`, `method`, one for each varied config path (`label_space.n_components`), `split`, `metric`, `value`.
`results.summary`
    The means over the splits; of a grid of which only the best is shown, that one (`summary.csv` has all its points).
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

Group frames with `group`, or `groupby(…, observed=True)`: older versions of pandas make each combination of categories
a group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

LARGEST = 1e150
"""A score beyond this, of either sign, counts as not defined: neither tests nor figures can compute with its square."""

# The columns after those of paths, with the types of their values.
SCORES: Mapping[str, type] = {"split": int, "metric": str, "value": float}
SUMMARY: Mapping[str, type] = {"metric": str, "mean": float, "std": float, "se": float, "n": float}
CHOSEN: Mapping[str, type] = {"split": int, "parameter": str, "value": str}
CHOSEN_COUNTS: Mapping[str, type] = {"parameter": str, "value": str, "n": float}
TRIED: Mapping[str, type] = {"split": int, "metric": str, "value": float, "chosen": str}
LABELS: Mapping[str, type] = {"split": int, "label": str, "metric": str, "value": float, "frequency": float}


def paths_of(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns of config paths of scores, or of a summary."""
    names = list(frame)
    end = names.index("split" if "split" in names else "metric")
    return tuple(names[2:end])


def list_keys(paths: Iterable[str]) -> list[str]:
    """The columns whose values make a cell: data set, method, some paths, metric."""
    return ["dataset", "method", *paths, "metric"]


def keys_of(frame: pd.DataFrame) -> list[str]:
    """The columns of scores, or of a summary, whose values make a cell, with all its paths."""
    return list_keys(paths_of(frame))


def make_places(values: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """All combinations of values, the last column's the fastest; one column each: `{"dataset": …, "method": …}`."""
    combinations = pd.MultiIndex.from_product(values.values(), names=list(values))
    return combinations.to_frame(index=False)


def order_column(texts: pd.Series, order: Iterable[str]) -> pd.Series:
    """A column as ordered categories; values that are not in `order` come last, as they appear."""
    known = dict.fromkeys([*order, *texts.unique()])
    return texts.astype(pd.CategoricalDtype(list(known), ordered=True))


def order_columns(frame: pd.DataFrame, orders: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """The frame with those of its columns that have an order as ordered categories."""
    ordered = frame.copy(deep=False)
    for name in orders.keys() & set(frame):
        ordered[name] = order_column(frame[name], orders[name])
    return ordered


def group(frame: pd.DataFrame, by: Sequence[str]) -> Any:
    """The groups of rows with the same values in some columns, in the order of their first rows."""
    return frame.groupby(list(by), sort=False, observed=True)


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
    found = scores[list(by)].drop_duplicates(ignore_index=True)
    values = group(scores, by)["value"].agg(list)
    sizes = values.map(len).to_numpy(int)
    found["mean"] = values.map(_mean).to_numpy(float)
    found["std"] = values.map(_std).to_numpy(float)
    found["se"] = found["std"] / np.sqrt(sizes)
    found["n"] = sizes
    return found


def _mean(values: Sequence[float]) -> float:
    return _sum(values) / len(values)


def _std(values: Sequence[float]) -> float:
    if len(values) < 2:
        return math.nan
    mean = _mean(values)
    squares = _sum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))


def _sum(values: Iterable[float]) -> float:
    """The exact sum; NaN where it, or a value, is out of a float's range."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # numbers beyond 1e154 were squared; both infinities are there
        return math.nan


def drop_undefined(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores without the cells that have one beyond `LARGEST`."""
    size = scores["value"].abs()
    if (size <= LARGEST).all():
        return scores
    cells = group(scores.assign(size=size), keys_of(scores))
    largest = cells["size"].transform("max")
    return scores[largest <= LARGEST].reset_index(drop=True)


def round_columns(frame: pd.DataFrame, *columns: str, digits: int = 12) -> pd.DataFrame:
    """Numbers to so many significant digits as are exported; stored means have six.

    Two orders of summation may differ beyond these.
    """
    rounded = frame.copy(deep=False)
    for name in columns:
        texts = frame[name].map(f"{{:.{digits}g}}".format)
        rounded[name] = texts.astype(float)
    return rounded


def are_same(a: Any, b: Any) -> Any:
    """Whether means differ by rounding only; of two arrays, element by element."""
    larger = np.maximum(abs(a), abs(b))
    allowed = np.maximum(1e-12, 1e-9 * larger)
    return abs(a - b) <= allowed


def rank_means(means: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """Ranks along the first axis, 1 the best; equal means share the average of their ranks.

    Examples
    --------
    >>> rank_means(np.array([0.2, 0.1, 0.2]), higher_is_better=False).tolist()
    [2.5, 1.0, 2.5]
    """
    gains = means if higher_is_better else -means
    own = gains[:, None]
    # an equal one counts half, and each is equal to itself
    ahead = np.where(are_same(own, gains), 0.5, own < gains)
    return ahead.sum(axis=1) + 0.5


def are_best(
    cells: pd.DataFrame,
    by: Sequence[str],
    higher: Mapping[str, bool | None],
    within_one_se: bool = True,
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
    there = cells[cells["mean"].notna()]
    for _, rivals in group(there, by):
        direction = higher[rivals["metric"].iloc[0]]
        if direction is None or len(rivals) < 2:
            continue
        means = rivals["mean"].to_numpy()
        top = means.max() if direction else means.min()
        behind = abs(means - top)
        equal = are_same(means, top)
        # NaN where the best has no error: nothing is within it
        error = rivals["se"][equal].max() if within_one_se else math.nan
        near = (behind <= error) | are_same(behind, error)
        best[rivals.index] = equal | near
    return best
