"""The comparison of all methods of a results folder (or of several, joined), one metric at a time.

Without a sweep: methods down, data sets across, and each method's average rank. With a sweep: data sets and methods
down, the points of the sweep across, each row's average rank at its end; below all data sets, each method's average
rank at each point, and over everything.

At one data set and one point the methods are ranked by their mean, 1 the best, equal means sharing the average of
their ranks. A rank only means something among the same rivals: data sets and points at which a method has no result
are left out of the average ranks, and the notes name them. A method without any result is not ranked at all. A method
without the swept parameter has one number, which stands (and is ranked) at every point. W/T/L are a method's wins, ties
and losses against each of the others in the same places.

The notes end in tests of significance (`mlcdr.comparison.significance`) over the places that are ranked, if they are of
two data sets or more: the points of one data set are no evidence about another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlcdr.comparison.significance import Significance, assess, record
from mlcdr.errors import join_words
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.results.scores import Cell, Point, is_among_best, rank_means
from mlcdr.tables import layouts, text_format
from mlcdr.tables.arrangement import mark_best
from mlcdr.tables.notes import BOLD, Shown, list_notes
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, text
from mlcdr.tables.tables import Table

Block = tuple[str, Point]
"""What a ranking is over: one data set at one point of the sweep."""

_DIGITS = 4


@dataclass(frozen=True, repr=False)
class Comparison(ShownSheet):
    """All methods of a results folder under one metric.

    Attributes
    ----------
    metric : str
    average_ranks : dict
        Method → average rank over `ranked`; empty if nothing can be ranked.
    ranked, left_out : tuple of (data set, point)
        The blocks that count in the average ranks, and those in which a method has no result.
    significance : Significance or None
        The tests; None where there are no two methods or no two data sets to test over, or no direction.
    """

    metric: str
    sheet: Sheet
    average_ranks: dict[str, float]
    ranked: tuple[Block, ...]
    left_out: tuple[Block, ...]
    significance: Significance | None
    columns: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    label: str

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters; with the pairs if the Bayesian test was requested."""
        shown = super().terminal(width, colour)
        if self.significance and self.significance.posteriors:
            shown += "\n" + self.pairs().terminal(width, colour)
        return shown

    def pairs(self) -> Sheet:
        """Every pair of methods with its tests.

        Raises
        ------
        ValueError
            Where there are no tests.
        """
        if self.significance is None:
            raise ValueError(f"{self.metric}: no tests")
        return self.significance.sheet(f"{self.sheet.caption.plain}: pairs of methods", _DIGITS)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, and that of the pairs where there are tests, as `.md`, `.tex` and `.csv` into `folder`.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        stem = layouts.file_name(self.metric)
        written = super().write(Path(folder) / stem)
        if self.significance:
            pairs = Table(self.pairs(), *self.significance.records(), f"{self.label}-pairs")
            written += pairs.write(Path(folder) / f"{stem}_pairs")
        return written


def compare(results: Results, metric: str, rope: float | None = None) -> Comparison:
    """All methods under one metric.

    Parameters
    ----------
    results : Results
    metric : str
    rope : float, optional
        Add the Bayesian signed-rank test with this region of practical equivalence, in the metric's unit.

    Raises
    ------
    ResultsError
        When the folder does not have that metric.
    """
    return _Comparer(results, results.metric_named(metric), rope).comparison()


def compare_all(results: Results, rope: float | None = None) -> list[Comparison]:
    """`compare` for every metric of the folder."""
    return [compare(results, metric, rope) for metric in results.metrics]


class _Comparer:
    def __init__(self, results: Results, metric: str, rope: float | None):
        self.results, self.metric = results, metric
        self.facts: MetricFacts = results.metric_facts(metric)
        self.points = self._points()
        self.cells: dict[Block, dict[str, Cell]] = {
            (dataset, point): {m: c for m in results.methods if (c := results.cell(dataset, m, point, metric))}
            for dataset in results.datasets
            for point in self.points
        }
        self.contestants = [m for m in results.methods if any(m in block for block in self.cells.values())]
        whole = {
            block: found
            for block, found in self.cells.items()
            if len(found) == len(self.contestants) > 1 and len(results.comparable(found.values())) == len(found)
        }
        self.left_out = tuple(block for block in self.cells if block not in whole) if len(self.contestants) > 1 else ()
        self.ranks: dict[Block, dict[str, float]] = {}
        self.significance: Significance | None = None
        better = self.facts.higher_is_better
        if better is not None:
            self.ranks = {b: rank_means({m: c.mean for m, c in found.items()}, better) for b, found in whole.items()}
            n_datasets = len({dataset for dataset, _ in whole})
            if n_datasets > 1:
                means = np.array([[found[method].mean for found in whole.values()] for method in self.contestants])
                self.significance = assess(self.contestants, means, better, n_datasets, rope)

    def _points(self) -> tuple[Point, ...]:
        """The points across: those at which no parameter is absent, if there are such; all otherwise."""
        whole = tuple(point for point in self.results.points if "" not in point)
        return whole or self.results.points

    def _average(self, method: str, blocks: Iterable[Block]) -> float:
        mine = [self.ranks[block][method] for block in blocks if method in self.ranks.get(block, ())]
        return sum(mine) / len(mine) if mine else math.nan

    def comparison(self) -> Comparison:
        averages = {m: self._average(m, self.ranks) for m in self.contestants} if self.ranks else {}
        ranked = tuple(self.ranks)
        columns = ("dataset", "method", *self.results.swept, "metric", "mean", "se", "n", "rank")
        label = "tab:" + layouts.file_name(self.metric).replace("_", "-")
        return Comparison(
            *(self.metric, self._sheet(), averages, ranked, self.left_out, self.significance),
            *(columns, self._records(), label),
        )

    def _records(self) -> tuple[tuple[str, ...], ...]:
        """One for each cell; the rank is empty where the block is left out."""
        return tuple(
            (
                *(dataset, method, *point, self.metric),
                *(text_format.number(cell.mean), text_format.number(cell.se), str(cell.n)),
                f"{self.ranks[dataset, point][method]:g}" if (dataset, point) in self.ranks else "",
            )
            for (dataset, point), found in self.cells.items()
            for method, cell in found.items()
        )

    def _standing(self, method: str, blocks: Collection[Block]) -> tuple[Text, Text]:
        """The method's wins, ties and losses, and its average rank."""
        counts = [0, 0, 0]
        for ranks in (self.ranks[block] for block in blocks if method in self.ranks.get(block, ())):
            for other in ranks.keys() - {method}:
                counts[0 if ranks[method] < ranks[other] else 1 if ranks[method] == ranks[other] else 2] += 1
        average = self._average(method, blocks)
        shown = NOTHING if math.isnan(average) else text(f"{average:.2f}")
        return text(record(counts)) if any(counts) else NOTHING, shown

    def _sheet(self) -> Sheet:
        results, points, methods = self.results, self.points, self.results.methods
        ends = ("W/T/L", "Average rank")
        rows: list[tuple[str | Text, ...]] = []
        if not results.swept:
            for method in methods:
                cells = (self._show(block, method) for block in self.cells)
                rows.append((method, *cells, *self._standing(method, self.cells)))
            return make_sheet(self._caption(), ("Method", *results.datasets, *ends), rows, 1, self._notes())
        for dataset, method in itertools.product(results.datasets, methods):
            blocks = [(dataset, point) for point in points]
            cells = (self._show(block, method) for block in blocks)
            rows.append((dataset, method, *cells, *self._standing(method, blocks)))
        for method in methods if len(results.datasets) > 1 and self.ranks else ():
            at_points = [self._standing(method, [(d, point) for d in results.datasets])[1] for point in points]
            rows.append(("average rank", method, *at_points, *self._standing(method, self.cells)))
        heads = [", ".join(value or DASH for value in point) for point in points]
        paths = [text_format.shorten_path(path, results.swept) for path in results.swept]
        heads[0] = ", ".join(f"{p} = {v or DASH}" for p, v in zip(paths, points[0], strict=True))
        return make_sheet(self._caption(), ("Dataset", "Method", *heads, *ends), rows, 2, self._notes(), nested=1)

    def _show(self, block: Block, method: str) -> Text:
        found = self.cells[block]
        if method not in found:
            return NOTHING
        cell = found[method]
        rivals = self.results.comparable(found.values())
        bold = cell in rivals and is_among_best(cell, rivals, self.facts.higher_is_better)
        return text_format.format_mean(cell.mean, cell.se, _DIGITS, bold)

    def _caption(self) -> str:
        better = {True: ", higher is better", False: ", lower is better", None: ""}[self.facts.higher_is_better]
        return f"{self.results.name}: {self.facts.title}{better}"

    def _notes(self) -> tuple[str, ...]:
        results = self.results
        blocks = itertools.product(results.datasets, self.points, results.methods)
        places = [(dataset, method, *point, self.metric) for dataset, point, method in blocks]
        cells = results.at(pd.DataFrame(places, columns=["dataset", "method", *results.swept, "metric"]))
        cells["bold"] = mark_best(results, cells, ["dataset", *results.swept])
        column = " and column" if results.swept else ""
        along = [(path,) for path in results.swept]
        notes = list_notes(Shown(results, cells, bold=f"{BOLD} of its data set{column}", along=along))
        if self.facts.higher_is_better is None:
            notes.append("Nothing is ranked.")
        elif len(self.contestants) < 2:
            notes.append("A single method: nothing to rank.")
        elif self.left_out and not self.ranks:
            notes.append("Nothing is ranked: nowhere have all methods a result.")
        elif self.left_out:
            notes.append(f"Left out of ranks and tests, because results are missing: {self._names(self.left_out)}.")
        silent = [method for method in self.results.methods if method not in self.contestants]
        if silent:
            notes.append(f"Without any result, and not ranked: {join_words(silent)}.")
        notes += self.results.remarks
        if self.ranks:
            notes.append("W/T/L: wins, ties and losses against each of the others.")
            if self.significance:
                notes += self.significance.notes()
            else:
                notes.append("No tests: they need two data sets or more at which all methods have a result.")
        return tuple(notes)

    def _names(self, blocks: Sequence[Block]) -> str:
        swept = self.results.swept
        paths = [text_format.shorten_path(path, swept) for path in swept]
        shown = []
        for dataset, point in blocks[:6]:
            values = [f"{path} = {value}" for path, value in zip(paths, point, strict=True) if value]
            shown.append(dataset + (f" at {', '.join(values)}" if values else ""))
        return join_words(shown) if len(blocks) <= 6 else f"{', '.join(shown)} and {len(blocks) - 6} more"
