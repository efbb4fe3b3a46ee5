"""What stands where in a table: its rows, its columns, the cell of each place, and which cells are the best."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from mlcdr.errors import ResultsError
from mlcdr.results.results import Results
from mlcdr.results.scores import Cell, is_among_best
from mlcdr.tables.checks import refuse_misfits
from mlcdr.tables.layouts import TableLayout

Place = dict[str, str]
"""Where a cell stands: the value of each of dataset, method, metric and the swept paths."""


@dataclass
class Slot:
    """A place for a number: the cell there (None: it has no result), and whether it is bold, or stays empty.

    A slot is left empty (`blank`) where the row's one number stands in the last column.
    """

    place: Place
    cell: Cell | None
    blank: bool
    bold: bool = False


class Arrangement:
    """The slots of one table.

    Attributes
    ----------
    layout : TableLayout
        The settled layout.
    across : str
        What the columns are of: dataset, method, metric or a swept path.
    column_paths : tuple of str
        The swept paths along the columns: several where they mean one thing.
    stub : tuple of str
        Those of the layout's `rows` that have a column of labels.
    domain : dict
        Name → its values, in order.
    facts : dict
        Metric → its facts.
    rows : list of (place, slots)
        The place of each row, and its slots.

    Raises
    ------
    ResultsError
        When the layout does not fit the results.
    """

    def __init__(self, results: Results, layout: TableLayout, name: str):
        self.results, self.layout, self.name = results, layout.settle(results.sweep), name
        refuse_misfits(self.layout, name, results)
        columns = self.layout.columns
        self.across = columns[0]  # of several swept paths the first one's name stands for all
        self.column_paths = tuple(name for name in columns if name in results.swept)
        self.stub = tuple(name for name in self.layout.rows if name not in layout.row_labels)
        metrics = (layout.metric,) if layout.metric else layout.metrics or results.metrics
        self.domain: dict[str, tuple[str, ...]] = {
            "dataset": results.datasets,
            "method": layout.methods or results.methods,
            "metric": metrics if "metric" in (*columns, *self.layout.rows) else metrics[:1],
            **{path: results.values(path) for path in results.swept},
        }
        self.columns = tuple(dict.fromkeys(value for name in columns for value in self.domain[name]))
        self.domain[self.across] = self.columns
        if not self.columns:
            raise ResultsError(f"{results.folder}: no method of the experiment has the parameter {self.across}")
        self.facts = {metric: results.metric_facts(metric) for metric in self.domain["metric"]}
        self.rows = [(row, [self._slot(row, value) for value in self.columns]) for row in self._row_places()]
        if layout.bold != "none":
            self._mark_best()

    @property
    def slots(self) -> list[Slot]:
        """Those of all rows."""
        return [slot for _, slots in self.rows for slot in slots]

    def lacks_columns(self, method: str) -> bool:
        """Whether a method has none of the swept parameters along the columns."""
        return bool(self.column_paths) and all(self.results.lacks(method, path) for path in self.column_paths)

    def _row_places(self) -> list[Place]:
        """The rows: every combination that the methods have, ordered by the layout's rows, the first slowest."""
        down, swept = self.layout.rows, self.results.swept
        paths = [name for name in down if name in swept]
        fixed = [name for name in down if name not in paths]
        places: list[Place] = []
        for values in itertools.product(*(self.domain[name] for name in fixed)):
            place = dict(zip(fixed, values, strict=True))
            methods = [place["method"]] if "method" in place else self.domain["method"]
            points = dict.fromkeys(
                tuple(point[swept.index(path)] for path in paths)
                for method in methods
                for point in self.results.points_of(method)
            )
            if len(points) > 1 and "method" not in place:  # a method without the parameter has its number in every row
                points.pop(("",) * len(paths), None)
            places += [{**place, **dict(zip(paths, point, strict=True))} for point in points or [("",) * len(paths)]]
        order = {name: {value: k for k, value in enumerate(("", *self.domain[name]))} for name in down}
        return sorted(places, key=lambda place: [order[name][place[name]] for name in down])

    def _slot(self, row: Place, value: str) -> Slot:
        place = {"metric": self.domain["metric"][0], **row, **dict.fromkeys(self.layout.columns, value)}
        one_number = self.layout.lacking == "last" and self.lacks_columns(row.get("method", ""))
        return Slot(place, self._cell(place), blank=one_number and value != self.columns[-1])

    def _cell(self, place: Place) -> Cell | None:
        point = tuple(place[path] for path in self.results.swept)
        cell = self.results.cell(place["dataset"], place["method"], point, place["metric"])
        if self.layout.relative_to is None or cell is None:
            return cell
        reference = self.results.cell(place["dataset"], self.layout.relative_to, point, place["metric"])
        if reference is None or reference.mean == 0:
            return None
        return Cell(cell.mean / reference.mean, math.nan, math.nan, min(cell.n, reference.n))

    def _mark_best(self) -> None:
        """Make the best of each data set, metric and sweep value of the column bold."""
        rivals: dict[tuple[str, ...], list[Slot]] = {}
        for slot in self.slots:
            column = slot.place[self.across] if self.column_paths else ""
            rivals.setdefault((slot.place["dataset"], slot.place["metric"], column), []).append(slot)
        within = self.layout.bold == "one_standard_error"
        for (_, metric, _), slots in rivals.items():
            cells = self.results.comparable(slot.cell for slot in slots if slot.cell)
            for slot in slots:
                better = self.facts[metric].higher_is_better
                slot.bold = slot.cell in cells and is_among_best(slot.cell, cells, better, within)
