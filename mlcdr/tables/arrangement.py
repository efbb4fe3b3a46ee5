"""What stands where in a table: its rows, its columns, the cell of each place, and which cells are the best."""

from __future__ import annotations

import itertools
import math

from mlcdr.errors import ResultsError, suggest_name
from mlcdr.results.ranking import is_among_best
from mlcdr.results.results import Results
from mlcdr.results.scores import Cell
from mlcdr.tables.layouts import TableLayout

Place = dict[str, str]
"""Where a cell stands: the value of each of dataset, method, metric and the swept paths."""


class Arrangement:
    """The places of one table.

    Attributes
    ----------
    down, across : names
        What the rows and the columns are of: dataset, method, metric or swept paths.
    column_paths : tuple of str
        The swept paths along the columns: several where they mean one thing.
    stub : tuple of str
        Of `down`, what has a column of labels.
    domain : dict
        Name → its values, in order.
    facts : dict
        Metric → its facts.
    rows, grid, cells : lists
        The place of each row, and the places and the numbers of each row's cells.

    Raises
    ------
    ResultsError
        When the layout does not fit the results.
    """

    def __init__(self, results: Results, layout: TableLayout, name: str):
        self.results, self.layout, self.name = results, layout, name
        self.column_paths = self._column_paths()
        self.across = self._across()
        self.down = self._down()
        self.labelled = tuple(name for name in self.down if name in layout.row_labels)
        self.stub = tuple(name for name in self.down if name not in layout.row_labels)
        self.domain: dict[str, tuple[str, ...]] = {
            "dataset": results.datasets,
            "method": layout.methods or results.methods,
            "metric": self._metrics(),
            **{path: results.values(path) for path in results.swept},
        }
        if len(self.column_paths) > 1:
            values = (value for path in self.column_paths for value in results.values(path))
            self.domain[self.across] = tuple(dict.fromkeys(values))
        if not self.domain[self.across]:
            raise ResultsError(f"{results.folder}: no method of the experiment has the parameter {self.across}")
        self.facts = {metric: results.metric_facts(metric) for metric in self.domain["metric"]}
        self._check_options()
        self.rows = self._row_places()
        along = self.column_paths or (self.across,)
        self.grid = [
            [{**self._default(), **row, **dict.fromkeys(along, value)} for value in self.columns] for row in self.rows
        ]
        self.cells = [[self._cell(place) for place in places] for places in self.grid]

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns stand for: values of `across`."""
        return self.domain[self.across]

    def _column_paths(self) -> tuple[str, ...]:
        """The swept paths along the columns: several where they mean one thing."""
        columns = self.layout.columns
        if columns == "auto":
            return self.results.swept[-1:]
        names = (columns,) if isinstance(columns, str) else columns
        known = tuple(self._known("columns", name) for name in names)
        if len(known) != 1 and not (known and set(known) <= set(self.results.swept)):
            raise ResultsError(f"layout {self.name}: columns: a list must be one of swept paths")
        return tuple(name for name in known if name in self.results.swept)

    def _across(self) -> str:
        """What the columns are; of several swept paths the first one's name stands for all."""
        if self.column_paths:
            return self.column_paths[0]
        return "metric" if self.layout.columns == "auto" else str(self.layout.columns)

    def _down(self) -> tuple[str, ...]:
        rows = tuple(self._known("rows", name) for name in self.layout.rows)
        columns = self.column_paths or (self.across,)
        held = {*rows, *columns}
        if len(held) < len(rows) + len(columns) or not {"dataset", "method"} <= held:
            raise ResultsError(
                f"layout {self.name}: rows and columns together must hold dataset and method, each name once"
            )
        return rows + tuple(path for path in self.results.swept if path not in held)

    def _check_options(self) -> None:
        """What a layout may ask of some tables only."""
        layout, where = self.layout, f"layout {self.name}"
        if layout.average_rank and self.across != "method":
            raise ResultsError(f"{where}: average_rank: needs methods as columns, not {self.across}")
        strange = [path for path in layout.row_labels if path not in self.down or path not in self.results.swept]
        if strange or (layout.row_labels and "method" not in self.down):
            raise ResultsError(f"{where}: row_labels: {', '.join(strange) or 'method'} is not among the rows")
        if layout.relative_to is not None and layout.relative_to not in self.results.methods:
            hint = suggest_name(layout.relative_to, self.results.methods)
            raise ResultsError(f"{where}: relative_to: no method {layout.relative_to!r}{hint} in {self.results.folder}")

    def _known(self, key: str, name: str) -> str:
        swept = self.results.swept
        if name in ("dataset", "method", "metric", *swept):
            return name
        raise ResultsError(
            f"layout {self.name}: {key}: {name} is not swept in {self.results.folder} "
            f"(swept there: {', '.join(swept) or 'nothing'}); the layout generic suits any experiment"
        )

    def _metrics(self) -> tuple[str, ...]:
        known, wanted = self.results.metrics, self.layout.metrics
        if self.layout.metric is not None:
            wanted = (self.layout.metric,)
        for metric in wanted or ():
            if metric not in known:
                hint = suggest_name(metric, known)
                raise ResultsError(f"{self.results.folder}: no metric {metric!r}{hint} (measured: {', '.join(known)})")
        wanted = wanted or known
        return wanted if "metric" in (self.across, *self.down) else wanted[:1]

    def _default(self) -> Place:
        """The one metric of a table that has no place for metrics."""
        return {"metric": self.domain["metric"][0]}

    def _row_places(self) -> list[Place]:
        """The rows: every combination that the methods have, ordered by `down`, its first name slowest."""
        paths = [name for name in self.down if name in self.results.swept]
        fixed = [name for name in self.down if name not in paths]
        places: list[Place] = []
        for values in itertools.product(*(self.domain[name] for name in fixed)):
            place = dict(zip(fixed, values, strict=True))
            methods = [place["method"]] if "method" in place else self.domain["method"]
            points = dict.fromkeys(
                tuple(point[self.results.swept.index(path)] for path in paths)
                for method in methods
                for point in self.results.points_of(method)
            )
            if len(points) > 1 and "method" not in place:  # a method without the parameter has its number in every row
                points.pop(("",) * len(paths), None)
            places += [{**place, **dict(zip(paths, point, strict=True))} for point in points or [("",) * len(paths)]]
        order = {name: {value: k for k, value in enumerate(("", *self.domain[name]))} for name in self.down}
        return sorted(places, key=lambda place: [order[name][place[name]] for name in self.down])

    def _cell(self, place: Place) -> Cell | None:
        point = tuple(place[path] for path in self.results.swept)
        cell = self.results.cell(place["dataset"], place["method"], point, place["metric"])
        if self.layout.relative_to is None or cell is None:
            return cell
        reference = self.results.cell(place["dataset"], self.layout.relative_to, point, place["metric"])
        if reference is None or reference.mean == 0:
            return None
        return Cell(cell.mean / reference.mean, math.nan, math.nan, min(cell.n, reference.n))

    def mark_best(self) -> list[list[bool]]:
        """Which cells are bold."""

        def group(place: Place) -> tuple[str, ...]:
            return (place["dataset"], place["metric"], place[self.across] if self.across in self.results.swept else "")

        rivals: dict[tuple[str, ...], list[Cell]] = {}
        for place, cell in zip(itertools.chain(*self.grid), itertools.chain(*self.cells), strict=True):
            if cell:
                rivals.setdefault(group(place), []).append(cell)
        within = self.layout.bold == "one_standard_error"
        return [
            [
                self.layout.bold != "none"
                and cell is not None
                and is_among_best(cell, rivals[group(place)], self.facts[place["metric"]].higher_is_better, within)
                for place, cell in zip(places, row, strict=True)
            ]
            for places, row in zip(self.grid, self.cells, strict=True)
        ]

    def lacks_columns(self, method: str) -> bool:
        """Whether a method has none of the swept parameters along the columns."""
        return bool(self.column_paths) and all(self.results.lacks(method, path) for path in self.column_paths)

    def left_blank(self, row: Place, j: int, n_columns: int) -> bool:
        """Whether column `j` stays empty because the row's one number stands in the last column."""
        return self.layout.lacking == "last" and j < n_columns - 1 and self.lacks_columns(row.get("method", ""))
