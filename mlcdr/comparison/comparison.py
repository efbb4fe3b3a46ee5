"""The comparison of all methods of a results folder (or of several, joined), one metric at a time.

Without a sweep: methods down, data sets across, and each method's average rank. With a sweep: data sets and methods
down, the points of the sweep across, each row's average rank at its end; below all data sets, each method's average
rank at each point, and over everything.

What is ranked is said in `mlcdr.comparison.ranking`; the notes name the blocks that are left out. A method without any
result is not ranked at all. A method without the swept parameter has one number, which stands (and is ranked) at every
point. W/T/L are a method's wins, ties and losses against each of the others in the same places.

The notes end in tests of significance (`mlcdr.comparison.significance`) over the places that are ranked, if they are of
two data sets or more: the points of one data set are no evidence about another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.comparison.ranking import Block, list_blocks, list_points, rank_cells, to_values
from mlcdr.comparison.significance import Significance, assess, format_counts
from mlcdr.errors import join_words
from mlcdr.results.results import Results
from mlcdr.tables import layouts
from mlcdr.tables.notes import BOLD, Shown, list_notes
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import as_texts, format_mean, shorten_path

_DIGITS = 4
_NAMED = 6  # blocks that a note names
_UNRANKED = (NOTHING, NOTHING)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(ShownSheet):
    """All methods of a results folder under one metric.

    Attributes
    ----------
    results : Results
    metric : str
    cells : frame
        The numbers with their ranks (`mlcdr.comparison.ranking.rank_cells`).
    significance : Significance or None
        The tests; None where there are no two methods or no two data sets to test over, or no direction.
    """

    results: Results
    metric: str
    cells: pd.DataFrame
    significance: Significance | None

    @cached_property
    def contestants(self) -> list[str]:
        """The methods that have a result."""
        there = self.cells[self.cells["n"] > 0]
        return list(there["method"].unique())

    @cached_property
    def average_ranks(self) -> dict[str, float]:
        """Method → average rank over `ranked`; empty if nothing can be ranked."""
        ranked = self.cells[self.cells["rank"].notna()]
        averages = ranked.groupby("method", sort=False, observed=True)["rank"].mean()
        return dict(averages.items())

    @cached_property
    def ranked(self) -> tuple[Block, ...]:
        """The blocks (data set, point) that count in the average ranks."""
        return list_blocks(self.results, self.cells[self.cells["rank"].notna()])

    @cached_property
    def left_out(self) -> tuple[Block, ...]:
        """The blocks in which a method has no result."""
        if len(self.contestants) < 2:
            return ()
        return list_blocks(self.results, self.cells[~self.cells["whole"]])

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of `records`."""
        return ("dataset", "method", *self.results.swept, "metric", "mean", "se", "n", "rank")

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each number; the rank is empty where the block is left out."""
        there = self.cells[self.cells["n"] > 0]
        ranks = there["rank"].map("{:g}".format).replace("nan", "")
        return as_texts(there.assign(rank=ranks)[list(self.columns)])

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:" + layouts.file_name(self.metric).replace("_", "-")

    @cached_property
    def sheet(self) -> Sheet:
        """The means, and how each method stands among the others."""
        facts = self.results.metric_facts(self.metric)
        better = {True: ", higher is better", False: ", lower is better", None: ""}[facts.higher_is_better]
        caption = f"{self.results.name}: {facts.title}{better}"
        ends = ("W/T/L", "Average rank")
        if not self.results.swept:
            header = ("Method", *self.results.datasets, *ends)
            return make_sheet(caption, header, _rows(self.cells, ["method"]), 1, _list_notes(self))
        header = ("Dataset", "Method", *_heads(self.results), *ends)
        rows = _rows(self.cells, ["dataset", "method"])
        if len(self.results.datasets) > 1 and self.ranked:
            rows += _rank_rows(self.results, self.cells)
        return make_sheet(caption, header, rows, 2, _list_notes(self), nested=1)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters; with the pairs if the Bayesian test was requested."""
        shown = super().terminal(width, colour)
        if self.significance and self.significance.likely is not None:
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
            pairs = self.significance.list_pairs()
            table = Table(self.pairs(), tuple(pairs), as_texts(pairs), f"{self.label}-pairs")
            written += table.write(Path(folder) / f"{stem}_pairs")
        return written


def compare_methods(results: Results, metric: str, rope: float | None = None) -> Comparison:
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
    metric = results.metric_named(metric)
    cells = rank_cells(results, metric)
    ranked = cells[cells["rank"].notna()]
    n_datasets = ranked["dataset"].nunique()
    significance = None
    if n_datasets > 1:
        higher_is_better = bool(results.metric_facts(metric).higher_is_better)
        significance = assess(*to_values(ranked), higher_is_better, n_datasets, rope)
    return Comparison(results, metric, cells, significance)


# -------------------------------------------------------------------- rows


def _rows(cells: pd.DataFrame, labels: list[str]) -> list[tuple[str | Text, ...]]:
    """A row for each method, or each data set and method: its means, and how it stands in them."""
    standing = _stand(cells, labels)
    rows: list[tuple[str | Text, ...]] = []
    for label, own in cells.groupby(labels, sort=False, observed=True):
        means = [_show_mean(cell) for cell in own.itertuples()]
        rows.append((*label, *means, *standing.get(label, _UNRANKED)))
    return rows


def _rank_rows(results: Results, cells: pd.DataFrame) -> list[tuple[str | Text, ...]]:
    """Below all data sets: each method's average rank at each point, and over everything."""
    at_points = _stand(cells, ["method", *results.swept])
    over_all = _stand(cells, ["method"])
    rows: list[tuple[str | Text, ...]] = []
    for method in results.methods:
        standing = [at_points.get((method, *point), _UNRANKED) for point in list_points(results)]
        averages = [average for _, average in standing]
        rows.append(("average rank", method, *averages, *over_all.get((method,), _UNRANKED)))
    return rows


def _stand(cells: pd.DataFrame, by: list[str]) -> dict[Any, tuple[Text, Text]]:
    """For each group of ranked cells: its wins, ties and losses, and its average rank."""
    ranked = cells[cells["rank"].notna()]
    standing = {}
    for key, own in ranked.groupby(by, sort=False, observed=True):
        counts = own[["wins", "ties", "losses"]].sum()
        standing[key] = (text(format_counts(counts)), text(f"{own['rank'].mean():.2f}"))
    return standing


def _show_mean(cell: Any) -> Text:
    return format_mean(cell.mean, cell.se, _DIGITS, cell.bold) if cell.n else NOTHING


def _heads(results: Results) -> list[str]:
    """The heads of the points; the first says which parameters the values are of."""
    points = list_points(results)
    paths = [shorten_path(path, results.swept) for path in results.swept]
    heads = [", ".join(value or DASH for value in point) for point in points]
    named = [f"{path} = {value or DASH}" for path, value in zip(paths, points[0], strict=True)]
    return [", ".join(named), *heads[1:]]


# -------------------------------------------------------------------- notes


def _list_notes(compared: Comparison) -> list[str]:
    results = compared.results
    column = " and column" if results.swept else ""
    along = [(path,) for path in results.swept]
    notes = list_notes(Shown(results, compared.cells, bold=f"{BOLD} of its data set{column}", along=along))
    notes += _note_ranks(compared)
    silent = [method for method in results.methods if method not in compared.contestants]
    if silent:
        notes.append(f"Without any result, and not ranked: {join_words(silent)}.")
    notes += results.remarks
    if compared.ranked:
        notes.append("W/T/L: wins, ties and losses against each of the others.")
        notes += _note_tests(compared.significance)
    return notes


def _note_ranks(compared: Comparison) -> list[str]:
    """What is not ranked, and why."""
    if compared.results.metric_facts(compared.metric).higher_is_better is None:
        return ["Nothing is ranked."]
    if len(compared.contestants) < 2:
        return ["A single method: nothing to rank."]
    if not compared.left_out:
        return []
    if not compared.ranked:
        return ["Nothing is ranked: nowhere have all methods a result."]
    blocks = _name_blocks(compared.left_out, compared.results.swept)
    return [f"Left out of ranks and tests, because results are missing: {blocks}."]


def _note_tests(significance: Significance | None) -> Sequence[str]:
    if significance is None:
        return ["No tests: they need two data sets or more at which all methods have a result."]
    return significance.notes()


def _name_blocks(blocks: Sequence[Block], swept: Sequence[str]) -> str:
    paths = [shorten_path(path, swept) for path in swept]
    named = []
    for dataset, point in blocks[:_NAMED]:
        values = [f"{path} = {value}" for path, value in zip(paths, point, strict=True) if value]
        named.append(f"{dataset} at {', '.join(values)}" if values else dataset)
    if len(blocks) <= _NAMED:
        return join_words(named)
    return f"{', '.join(named)} and {len(blocks) - _NAMED} more"
