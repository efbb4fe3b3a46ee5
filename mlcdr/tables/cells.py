"""Cells: numbers of a results folder in their places, as `Results.at` gives them."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from mlcdr.results.frame import are_best
from mlcdr.results.results import Results


def mark_best(results: Results, cells: pd.DataFrame, by: list[str], within_one_se: bool = True) -> pd.Series:
    """Which cells are the best of their group, of those that can be compared (`mlcdr.results.frame.are_best`)."""
    there = cells[cells["n"] > 0]
    rivals = there[results.are_comparable(there, by)]
    metrics = rivals["metric"].unique()
    higher = {metric: results.metric_facts(metric).higher_is_better for metric in metrics}
    best = are_best(rivals, by, higher, within_one_se)
    return best.reindex(cells.index, fill_value=False)


def lacks_all(results: Results, method: str, paths: Iterable[str]) -> bool:
    """Whether a method has none of some swept parameters."""
    return all(results.lacks(method, path) for path in paths)


def lacks_any(results: Results, method: str, paths: Iterable[str]) -> bool:
    """Whether a method lacks one of some swept parameters."""
    return any(results.lacks(method, path) for path in paths)


def clear_absent(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with `""` for swept parameters that their methods do not have, as scores and summary have it."""
    own = cells.copy()
    for path in results.swept:
        absent = [results.lacks(method, path) for method in own["method"]]
        own.loc[absent, path] = ""
    return own
