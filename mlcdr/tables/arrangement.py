"""What stands where in a table: its rows, its columns, the number of each place, and which numbers are the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.frame import are_best, make_places, order_column
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.tables.checks import refuse_misfits
from mlcdr.tables.layouts import TableLayout


@dataclass(frozen=True)
class Arrangement:
    """The numbers of one table in their places.

    Attributes
    ----------
    results : Results
    layout : TableLayout
        The settled layout.
    name : str
        The layout's name.
    domain : dict
        Each of dataset, method, metric and the swept paths → its values, in order.
    columns : tuple of str
        The value at the head of each column of numbers.
    rows : frame
        One row for each row of the table, with a column for each of the layout's `rows`.
    cells : frame
        One row for each place, row by row: `row`, its place (dataset, method, metric, the swept paths), its number as
        `Results.at` gives it (n = 0 where there is none), whether it is `bold`, and whether it is `blank`: where a
        method's one number stands in the last column, the others stay empty.
    """

    results: Results
    layout: TableLayout
    name: str
    domain: dict[str, tuple[str, ...]]
    columns: tuple[str, ...]
    rows: pd.DataFrame
    cells: pd.DataFrame

    @property
    def across(self) -> str:
        """What the columns are of; of several swept paths the first one's name stands for all."""
        return self.layout.columns[0]

    @property
    def column_paths(self) -> tuple[str, ...]:
        """The swept paths along the columns: several where they mean one thing."""
        return _column_paths(self.results, self.layout)

    @property
    def stub(self) -> tuple[str, ...]:
        """Those of the layout's `rows` that have a column of labels."""
        return tuple(name for name in self.layout.rows if name not in self.layout.row_labels)

    @cached_property
    def facts(self) -> dict[str, MetricFacts]:
        """Metric → its facts."""
        return {metric: self.results.metric_facts(metric) for metric in self.domain["metric"]}


def arrange(results: Results, layout: TableLayout, name: str) -> Arrangement:
    """Put the results in the places of a layout of this name.

    Raises
    ------
    ResultsError
        When the layout does not fit the results.
    """
    layout = layout.settle(results.sweep)
    refuse_misfits(layout, name, results)
    domain = _list_values(results, layout)
    columns = tuple(dict.fromkeys(value for path in layout.columns for value in domain[path]))
    if not columns:
        raise ResultsError(f"{results.folder}: no method of the experiment has the parameter {layout.columns[0]}")
    rows = _list_rows(results, layout, domain)
    places = _list_places(layout, domain, columns, rows)
    cells = _look_up(results, layout, places)
    if layout.bold == "none":
        cells["bold"] = False
    else:
        rivals = ["dataset", "metric", *(["column"] if _column_paths(results, layout) else [])]
        cells["bold"] = mark_best(results, cells, rivals, layout.bold == "one_standard_error")
    lacking = [method for method in domain["method"] if lacks_all(results, method, layout)]
    elsewhere = cells["method"].isin(lacking) & (cells["column"] != columns[-1])
    cells["blank"] = elsewhere if layout.lacking == "last" else False
    return Arrangement(results, layout, name, domain, columns, rows, cells)


def mark_best(results: Results, cells: pd.DataFrame, by: list[str], within_one_se: bool = True) -> pd.Series:
    """Which cells are the best of their group, of those that can be compared (`mlcdr.results.frame.are_best`)."""
    there = cells[cells["n"] > 0]
    rivals = there[results.are_comparable(there, by)]
    higher = {metric: results.metric_facts(metric).higher_is_better for metric in rivals["metric"].unique()}
    return are_best(rivals, by, higher, within_one_se).reindex(cells.index, fill_value=False)


def lacks_all(results: Results, method: str, layout: TableLayout) -> bool:
    """Whether a method has none of the swept parameters along the columns."""
    paths = _column_paths(results, layout)
    return bool(paths) and all(results.lacks(method, path) for path in paths)


def _column_paths(results: Results, layout: TableLayout) -> tuple[str, ...]:
    return tuple(name for name in layout.columns if name in results.swept)


def _list_values(results: Results, layout: TableLayout) -> dict[str, tuple[str, ...]]:
    """The values of each dimension that the table shows."""
    metrics = (layout.metric,) if layout.metric else layout.metrics or results.metrics
    if "metric" not in (*layout.columns, *layout.rows):
        metrics = metrics[:1]
    paths = {path: results.values(path) for path in results.swept}
    return {"dataset": results.datasets, "method": layout.methods or results.methods, "metric": metrics, **paths}


def _list_rows(results: Results, layout: TableLayout, domain: dict[str, tuple[str, ...]]) -> pd.DataFrame:
    """The rows: every combination that the methods have, ordered by the layout's rows, the first slowest."""
    paths = [name for name in layout.rows if name in results.swept]
    fixed = [name for name in layout.rows if name not in paths]
    rows = make_places({name: domain[name] for name in fixed})
    if paths:
        points = results.summary[["method", *paths]].astype(object).drop_duplicates()
        if "method" in fixed:
            rows = rows.merge(points, how="left", on="method").fillna("")
        else:
            rows = rows.merge(_points_of_any(points[points["method"].isin(domain["method"])], paths), how="cross")
    for name in layout.rows:
        rows[name] = order_column(rows[name], ["", *domain[name]])
    ordered = rows.sort_values(list(layout.rows), kind="stable", ignore_index=True)
    return ordered[list(layout.rows)].astype(object)


def _points_of_any(points: pd.DataFrame, paths: list[str]) -> pd.DataFrame:
    """The points at which any method has a number.

    A method without the parameters has its number in every row, and needs none of its own where there are others.
    """
    points = points[paths].drop_duplicates()
    others = points[(points != "").any(axis=1)]
    if len(others):
        return others
    return pd.DataFrame([dict.fromkeys(paths, "")])


def _list_places(
    layout: TableLayout, domain: dict[str, tuple[str, ...]], columns: tuple[str, ...], rows: pd.DataFrame
) -> pd.DataFrame:
    """The place of each cell, row by row."""
    places = rows.assign(row=range(len(rows))).merge(pd.DataFrame({"column": columns}, dtype=object), how="cross")
    for name in layout.columns:
        places[name] = places["column"]
    if "metric" not in places:
        places["metric"] = domain["metric"][0]
    return places


def _look_up(results: Results, layout: TableLayout, places: pd.DataFrame) -> pd.DataFrame:
    """The numbers of the places; as a layout's `relative_to` asks for, divided by those of another method."""
    cells = results.at(places)
    if layout.relative_to is None:
        return cells
    reference = results.at(places.assign(method=layout.relative_to))
    cells["mean"] = (cells["mean"] / reference["mean"]).where(reference["mean"] != 0)
    cells["n"] = cells["n"].combine(reference["n"], min).where(cells["mean"].notna(), 0)
    return cells.assign(std=math.nan, se=math.nan)
