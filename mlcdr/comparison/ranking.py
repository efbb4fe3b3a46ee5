"""The ranks of methods under one metric, in each block: one data set at one point of the sweep.

In a block the methods are ranked by their mean, 1 the best, equal means sharing the average of their ranks. A rank only
means something among the same rivals, so a block is ranked only if it is whole: if all methods that have a result
anywhere have one there, over all splits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlcdr.comparison.statistics import block_ranks
from mlcdr.results.frame import group
from mlcdr.results.results import Results
from mlcdr.tables.cells import mark_best

Block = tuple[str, tuple[str, ...]]
"""What a ranking is over: a data set, and a point of the sweep."""


def rank_cells(results: Results, metric: str) -> pd.DataFrame:
    """The numbers of all methods on all data sets at all points, with their ranks.

    Returns
    -------
    frame
        A row for each data set, point and method; the last vary fastest. The columns are dataset, one for each swept
        path, method, metric, those of `Results.at`, and `bold`; `whole`, whether its block is; `rank`, and how many of
        the others it beats (`wins`), equals (`ties`) and is beaten by (`losses`): NaN where nothing is ranked.
    """
    cells = results.at(_list_places(results, metric))
    block = ["dataset", *results.swept]
    cells["bold"] = mark_best(results, cells, block)
    cells["whole"] = _are_whole(results, cells, block)
    cells["rank"] = _rank(results, metric, cells)
    ranks = group(cells, block)["rank"]
    n_ranked = ranks.transform("count")
    cells["losses"] = ranks.rank("min") - 1
    cells["wins"] = n_ranked - ranks.rank("max")
    cells["ties"] = n_ranked - 1 - cells["wins"] - cells["losses"]
    return cells


def _list_places(results: Results, metric: str) -> pd.DataFrame:
    """Each data set, point and method."""
    datasets = pd.DataFrame({"dataset": results.datasets})
    points = pd.DataFrame(list_points(results), columns=list(results.swept))
    methods = pd.DataFrame({"method": results.methods, "metric": metric})
    return datasets.merge(points, how="cross").merge(methods, how="cross")


def select_ranked(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that have a rank."""
    return cells[cells["rank"].notna()]


def list_points(results: Results) -> Sequence[tuple[str, ...]]:
    """The points at which no parameter is absent, if there are such; all otherwise."""
    whole = [point for point in results.points if "" not in point]
    return whole or results.points


def list_blocks(results: Results, cells: pd.DataFrame) -> tuple[Block, ...]:
    """The blocks in which some cells stand."""
    blocks = cells[["dataset", *results.swept]].drop_duplicates()
    found = []
    for dataset, *point in blocks.itertuples(index=False):
        found.append((dataset, tuple(point)))
    return tuple(found)


def to_values(cells: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """The methods of cells of whole blocks, and their means as an array (methods × blocks)."""
    methods = cells["method"].unique().tolist()
    blocks = cells["mean"].to_numpy().reshape(-1, len(methods))
    return methods, np.ascontiguousarray(blocks.T)


def _are_whole(results: Results, cells: pd.DataFrame, block: list[str]) -> pd.Series:
    """Whether each cell stands in a block in which two methods or more, and all that have a result, can be ranked."""
    there = cells[cells["n"] > 0]
    n_methods = there["method"].nunique()
    comparable = results.are_comparable(there, block)
    comparable = comparable.reindex(cells.index, fill_value=False)
    marked = cells.assign(comparable=comparable)
    n_comparable = group(marked, block)["comparable"].transform("sum")
    return (n_comparable == n_methods) & (n_methods > 1)


def _rank(results: Results, metric: str, cells: pd.DataFrame) -> pd.Series:
    """The rank of each cell in its block; NaN where it has none."""
    ranks = pd.Series(math.nan, cells.index)
    better = results.metric_facts(metric).higher_is_better
    whole = cells[cells["whole"] & (cells["n"] > 0)]
    if better is not None and len(whole):
        _, means = to_values(whole)
        ranks[whole.index] = block_ranks(means, better).T.ravel()
    return ranks
