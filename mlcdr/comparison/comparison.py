"""The comparison of all methods of a results folder (or of several, joined), one metric at a time.

Without a sweep: methods down, data sets across, and each method's average rank. With a sweep: data sets and methods
down, the points of the sweep across, each row's average rank at its end; below all data sets, each method's average
rank at each point, and over everything.

What is ranked is said in `mlcdr.comparison.ranking`; the notes name the blocks that are left out. A method without any
result is not ranked at all. A method without the swept parameter has one number, which stands (and is ranked) at every
point. W/T/L are a method's wins, ties and losses against each of the others in the same places.

The notes end in tests of significance (`mlcdr.comparison.significance`) over the places that are ranked, if they are of
two data sets or more: the points of one data set are no evidence about another. Where data sets are few, they are
followed by what tests within each data set show (`mlcdr.comparison.within`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mlcdr.comparison.ranking import Block, list_blocks, list_points, rank_cells, select_ranked, to_values
from mlcdr.comparison.significance import FEW, Significance, assess, format_counts
from mlcdr.comparison.statistics import Zeros
from mlcdr.comparison.within import WithinDataSets, compare_within
from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import file_name
from mlcdr.results.failures import join_some
from mlcdr.results.frame import group
from mlcdr.results.results import Results
from mlcdr.tables import layouts
from mlcdr.tables.layouts import TableLayout
from mlcdr.tables.notes import BOLD, Contents, list_notes
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import as_texts, format_mean, say_where, shorten_path

Spread = Literal["se", "std"]
"""The columns of a summary that may stand behind a mean."""

WITHOUT_SPLITS = (
    "no tests within data sets: they need a metric of known direction, and scores of two methods on two splits or more"
)

_DIGITS = 4
_NAMED = 6  # blocks that a note names
_SPREADS: Mapping[Spread, layouts.Spread] = {"se": "standard_error", "std": "std"}
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
    rope : float or None
        Half the width of the region of practical equivalence, if Bayesian tests were requested.
    spread : str
        What stands behind a mean: its standard error (`se`), or the standard deviation over the splits (`std`).
    """

    results: Results
    metric: str
    cells: pd.DataFrame
    significance: Significance | None
    rope: float | None = None
    spread: Spread = "se"

    @cached_property
    def _within(self) -> WithinDataSets | None:
        return compare_within(self.results, self.metric, self.rope)

    @cached_property
    def contestants(self) -> list[str]:
        """The methods that have a result."""
        there = self.cells[self.cells["n"] > 0]
        return list(there["method"].unique())

    @cached_property
    def average_ranks(self) -> dict[str, float]:
        """Method → average rank over `ranked`; empty if nothing can be ranked."""
        averages = group(select_ranked(self.cells), ["method"])["rank"].mean()
        return dict(averages.items())

    @cached_property
    def ranked(self) -> tuple[Block, ...]:
        """The blocks (data set, point) that count in the average ranks."""
        return list_blocks(self.results, select_ranked(self.cells))

    @cached_property
    def left_out(self) -> tuple[Block, ...]:
        """The blocks in which a method has no result."""
        if len(self.contestants) < 2:
            return ()
        return list_blocks(self.results, self.cells[~self.cells["whole"]])

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of `records`."""
        return ("dataset", "method", *self.results.swept, "metric", "mean", self.spread, "n", "rank")

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each number; the rank is empty where the block is left out."""
        there = self.cells[self.cells["n"] > 0]
        ranks = there["rank"].map("{:g}".format).replace("nan", "")
        return as_texts(there.assign(rank=ranks)[list(self.columns)])

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:" + file_name(self.metric).replace("_", "-")

    @cached_property
    def sheet(self) -> Sheet:
        """The means, and how each method stands among the others."""
        results = self.results
        facts = results.metric_facts(self.metric)
        better = {True: ", higher is better", False: ", lower is better", None: ""}[facts.higher_is_better]
        labels = ["dataset", "method"] if results.swept else ["method"]
        heads = _heads(results) if results.swept else results.datasets
        rows = _rows(self.cells, labels, self.spread)
        if results.swept and len(results.datasets) > 1 and self.ranked:
            rows += _rank_rows(results, self.cells)
        return make_sheet(
            caption=f"{results.name}: {facts.title}{better}",
            header=(*map(str.capitalize, labels), *heads, "W/T/L", "Average rank"),
            rows=rows,
            stub=len(labels),
            notes=list(_list_notes(self)),
            nested=len(labels) - 1,
        )

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters; with the pairs, if Bayesian tests were requested."""
        shown = super().terminal(width, colour)
        if self.rope is None:
            return shown
        if self.significance:
            shown += "\n" + self.pairs().terminal(width, colour)
        elif self.shows_within:
            shown += "\n" + self.within().terminal(width, colour)
        return shown

    @property
    def shows_within(self) -> bool:
        """Whether what is shown has the pairs within the data set, as there are none over several."""
        return self.rope is not None and self.significance is None and self._within is not None

    def pairs(self) -> Sheet:
        """Every pair of methods with its tests.

        Raises
        ------
        ValueError
            Where there are no tests.
        """
        if self.significance is None:
            raise ValueError(f"{self.metric}: no tests")
        return self.significance.sheet(f"{self.sheet.caption.plain}: pairs of methods")

    def within(self) -> Table:
        """Every pair of methods on each data set with its tests over the splits (`mlcdr.comparison.within`).

        Raises
        ------
        ResultsError
            Where there are none.
        """
        found = self._within
        if found is None:
            raise ResultsError(f"{self.results.folder}: {self.metric}: {WITHOUT_SPLITS}")
        caption = f"{self.sheet.caption.plain}: pairs of methods within each data set"
        return Table(found.sheet(caption), tuple(found.pairs), as_texts(found.pairs), f"{self.label}-within")

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table, and those of the pairs where there are tests, as `.md`, `.tex` and `.csv` into `folder`.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        stem = file_name(self.metric)
        written = super().write(Path(folder) / stem)
        if self.significance:
            pairs = self.significance.list_pairs()
            table = Table(self.pairs(), tuple(pairs), as_texts(pairs), f"{self.label}-pairs")
            written += table.write(Path(folder) / f"{stem}_pairs")
        if self._within:
            written += self.within().write(Path(folder) / f"{stem}_within")
        return written


def compare_methods(
    results: Results,
    metric: str,
    rope: float | None = None,
    zeros: Zeros = "discard",
    spread: Spread = "se",
) -> Comparison:
    """All methods under one metric.

    Parameters
    ----------
    results : Results
    metric : str
    rope : float, optional
        Add the Bayesian tests with this region of practical equivalence, in the metric's unit.
    zeros : str
        What Wilcoxon's test does with differences that are zero: `discard` or `pratt`.
    spread : str
        What stands behind a mean: `se` or `std`.

    Raises
    ------
    ResultsError
        When the folder does not have that metric.
    """
    metric = results.metric_named(metric)
    cells = rank_cells(results, metric)
    ranked = select_ranked(cells)
    n_datasets = ranked["dataset"].nunique()
    significance = None
    if n_datasets > 1:
        methods, means = to_values(ranked)
        higher_is_better = bool(results.metric_facts(metric).higher_is_better)
        significance = assess(methods, means, higher_is_better, n_datasets, rope, zeros)
    return Comparison(results, metric, cells, significance, rope, spread)


# -------------------------------------------------------------------- rows


def _rows(cells: pd.DataFrame, labels: list[str], spread: Spread) -> list[tuple[str | Text, ...]]:
    """A row for each method, or each data set and method: its means, and how it stands in them."""
    standing = _stand(cells, labels)
    rows: list[tuple[str | Text, ...]] = []
    for label, own in group(cells, labels):
        means = [_show_mean(cell, spread) for cell in own.itertuples()]
        rows.append((*label, *means, *standing.get(label, _UNRANKED)))
    return rows


def _rank_rows(results: Results, cells: pd.DataFrame) -> list[tuple[str | Text, ...]]:
    """Below all data sets: each method's average rank at each point, and over everything."""
    at_points = _stand(cells, ["method", *results.swept])
    over_all = _stand(cells, ["method"])
    rows: list[tuple[str | Text, ...]] = []
    for method in results.methods:
        averages = []
        for point in list_points(results):
            _, average = at_points.get((method, *point), _UNRANKED)
            averages.append(average)
        rows.append(("average rank", method, *averages, *over_all.get((method,), _UNRANKED)))
    return rows


def _stand(cells: pd.DataFrame, by: list[str]) -> dict[Any, tuple[Text, Text]]:
    """For each group of ranked cells: its wins, ties and losses, and its average rank."""
    standing = {}
    for key, own in group(select_ranked(cells), by):
        counts = own[["wins", "ties", "losses"]].sum()
        standing[key] = (text(format_counts(counts)), text(f"{own['rank'].mean():.2f}"))
    return standing


def _show_mean(cell: Any, spread: Spread) -> Text:
    return format_mean(cell.mean, getattr(cell, spread), _DIGITS, cell.bold) if cell.n else NOTHING


def _heads(results: Results) -> list[str]:
    """The heads of the points; the first says which parameters the values are of."""
    points = list_points(results)
    heads = [", ".join(value or DASH for value in point) for point in points]
    first = []
    for path, value in zip(results.swept, points[0], strict=True):
        first.append(f"{shorten_path(path, results.swept)} = {value or DASH}")
    return [", ".join(first), *heads[1:]]


# -------------------------------------------------------------------- notes


def _list_notes(compared: Comparison) -> Iterator[str]:
    results = compared.results
    column = " and column" if results.swept else ""
    along = [(path,) for path in results.swept]
    bold = f"{BOLD} of its data set{column}"
    layout = TableLayout(kind="table", columns="auto", spread=_SPREADS[compared.spread])
    yield from list_notes(Contents(results, compared.cells, bold, along, layout))
    yield from _say_what_is_not_ranked(compared)
    silent = [method for method in results.methods if method not in compared.contestants]
    if silent:
        yield f"Without any result, and not ranked: {join_words(silent)}."
    yield from results.remarks
    if not compared.ranked:
        return
    yield "W/T/L: wins, ties and losses against each of the others."
    if compared.significance:
        yield from compared.significance.notes()
    else:
        yield "No tests over data sets: they need two or more at which all methods have a result."
    if len({dataset for dataset, _ in compared.ranked}) > FEW:
        yield "`mlcdr compare --within` tests the methods within each data set."
    elif compared._within:
        yield from compared._within.notes()


def _say_what_is_not_ranked(compared: Comparison) -> Iterator[str]:
    if compared.results.metric_facts(compared.metric).higher_is_better is None:
        yield "Nothing is ranked."
    elif len(compared.contestants) < 2:
        yield "A single method: nothing to rank."
    elif not compared.ranked:
        yield "Nothing is ranked: nowhere have all methods a result."
    elif compared.left_out:
        blocks = [dataset + say_where(point, compared.results.swept) for dataset, point in compared.left_out]
        yield f"Left out of ranks and tests, because results are missing: {join_some(blocks, _NAMED)}."
