"""What stands where in a table: its rows, its columns, the number of each place, and which numbers are the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.frame import make_places, order_columns
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.tables.cells import clear_absent, lacks_all, mark_best
from mlcdr.tables.checks import refuse_misfits
from mlcdr.tables.layouts import TableLayout

Domain = dict[str, tuple[str, ...]]


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
        One row for each place, row by row: `row` and `column`, dataset, method, metric and the swept paths (`""` where
        the method lacks one), the number as `Results.at` gives it (n = 0 where there is none), whether it is `bold`,
        and whether it is `blank`: where a method's one number stands in the last column, the others stay empty.
    """

    results: Results
    layout: TableLayout
    name: str
    domain: Domain
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
    def stub(self) -> list[str]:
        """Those of the layout's `rows` that have a column of labels."""
        return [name for name in self.layout.rows if name not in self.layout.row_labels]

    def cells_of(self, row: Any) -> list[dict[str, Any]]:
        """The cells of a row, from left to right."""
        first = row * len(self.columns)
        return self.cells.iloc[first : first + len(self.columns)].to_dict("records")

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
    columns: list[str] = []
    for dimension in layout.columns:
        columns += [value for value in domain[dimension] if value not in columns]
    if not columns:
        raise ResultsError(f"{results.folder}: no method of the experiment has the parameter {layout.columns[0]}")
    rows = _list_rows(results, layout, domain)
    cells = _look_up(results, layout, _list_places(layout, domain, rows, columns))
    paths = _column_paths(results, layout)
    # the best of each data set, metric and sweep value of the column
    rivals = ["dataset", "metric", "column"] if paths else ["dataset", "metric"]
    is_best = mark_best(results, cells, rivals, layout.bold == "one_standard_error")
    cells["bold"] = is_best & (layout.bold != "none")
    cells["blank"] = False
    if layout.lacking == "last" and paths:
        without = [method for method in domain["method"] if lacks_all(results, method, paths)]
        cells["blank"] = cells["method"].isin(without) & (cells["column"] != columns[-1])
    return Arrangement(results, layout, name, domain, tuple(columns), rows, clear_absent(results, cells))


def _column_paths(results: Results, layout: TableLayout) -> tuple[str, ...]:
    return tuple(name for name in layout.columns if name in results.swept)


def _list_values(results: Results, layout: TableLayout) -> Domain:
    """The values of each dimension that the table shows."""
    metrics = layout.chosen_metrics or results.metrics
    if "metric" not in (*layout.columns, *layout.rows):
        metrics = metrics[:1]
    paths = {path: results.values(path) for path in results.swept}
    methods = layout.methods or results.methods
    return {"dataset": results.datasets, "method": methods, "metric": metrics, **paths}


def _list_rows(results: Results, layout: TableLayout, domain: Domain) -> pd.DataFrame:
    """The rows: every combination that the methods have, ordered by the layout's rows, the first slowest."""
    names = list(layout.rows)
    paths = [name for name in names if name in results.swept]
    rows = make_places({name: domain[name] for name in names if name not in paths})
    points = results.summary[["method", *paths]].astype(object).drop_duplicates()
    if "method" in names:
        rows = rows.merge(points, how="left", on="method").fillna("")
    elif paths:
        points = points[points["method"].isin(domain["method"])]
        rows = rows.merge(_points_of_any(points[paths]), how="cross")
    orders = {name: ["", *domain[name]] for name in names}
    ordered = order_columns(rows, orders).sort_values(names, kind="stable", ignore_index=True)
    return ordered[names].astype(object)


def _points_of_any(points: pd.DataFrame) -> pd.DataFrame:
    """The points at which any method has a number.

    A method without the parameters has its number in every row, and needs none of its own where there are others.
    """
    others = points[(points != "").any(axis=1)].drop_duplicates()
    return others if len(others) else pd.DataFrame([dict.fromkeys(points, "")])


def _list_places(layout: TableLayout, domain: Domain, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The place of each cell, row by row."""
    heads = pd.DataFrame({"column": columns}, dtype=object)
    numbered = rows.assign(row=range(len(rows)))
    places = numbered.merge(heads, how="cross")
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
    divisor = reference["mean"].where(reference["mean"] != 0)
    cells["mean"] /= divisor
    fewer = cells["n"].combine(reference["n"], min)
    cells["n"] = fewer.where(cells["mean"].notna(), 0)
    return cells.assign(std=math.nan, se=math.nan)
