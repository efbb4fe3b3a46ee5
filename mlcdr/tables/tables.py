"""Tables in a paper's layout, from a results folder.

`render` makes one `Table`, which can be printed as Markdown, LaTeX, CSV or on a terminal; `write_all` writes those that
the experiment asks for into `tables/` of the results folder. What a layout can say stands in `mlcdr.tables.layouts`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import LayoutSpec
from mlcdr.results.metric_facts import MetricFacts, explain_missing, list_notes
from mlcdr.results.ranking import are_same, rank_means
from mlcdr.results.results import Results
from mlcdr.results.scores import Cell
from mlcdr.tables import layouts, output
from mlcdr.tables.arrangement import Arrangement, Place
from mlcdr.tables.sheet import DASH, Sheet, Text, template, text
from mlcdr.tables.text_format import (
    SPREADS,
    describe_splits,
    format_csv,
    format_mean,
    note_tuning,
    note_unfilled,
    number,
    shorten_path,
)
from mlcdr.whole_files import check_within

_BOLD = {
    "one_standard_error": "Bold: within one standard error of the best of its data set",
    "best": "Bold: the best of its data set",
}


@dataclass(frozen=True)
class Table:
    """A rendered table.

    Attributes
    ----------
    sheet : Sheet
        What is shown.
    columns, records
        The same as plain data: the CSV's header, and one record a cell.
    label : str
        LaTeX's label.
    """

    sheet: Sheet
    columns: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    label: str

    def markdown(self) -> str:
        """As a Markdown table, with caption and notes."""
        return self.sheet.markdown()

    def latex(self) -> str:
        """As a LaTeX `table` in the manner of booktabs."""
        return self.sheet.latex(self.label)

    def csv(self) -> str:
        """One row a cell, numbers in full; empty where there is none."""
        return format_csv(self.columns, self.records)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters."""
        return self.sheet.terminal(width, colour)


def list_entries(results: Results) -> tuple[LayoutSpec, ...]:
    """The tables the experiment asks for; the generic one if it asks for none."""
    return results.experiment.tables or (LayoutSpec(layout="generic"),)


def render(results: Results, entry: LayoutSpec) -> Table:
    """The table that an entry of `tables:` describes.

    Parameters
    ----------
    results : Results
    entry : LayoutSpec
        The layout, and any of its keys that shall differ from it.

    Raises
    ------
    ResultsError
        When the layout cannot be read, or does not fit the results.
    """
    return _Builder(Arrangement(results, layouts.load_table(entry), entry.layout)).table()


def write_all(results: Results) -> list[Path]:
    """Write every table of the experiment into `tables/` of its folder, each as `.md`, `.tex` and `.csv`.

    Raises
    ------
    ResultsError
        As `render`; or when a file cannot be written.
    """
    asked = list_entries(results)
    written = []
    for entry, stem in zip(asked, output.stems(asked), strict=True):
        table = render(results, entry)
        forms = {"md": table.markdown(), "tex": table.latex(), "csv": table.csv()}
        contents = {ending: content.encode() for ending, content in forms.items()}
        written += output.write(check_within(results.folder, results.folder / "tables" / stem), contents)
    return written


class _Builder:
    """Writes an arrangement as a table."""

    def __init__(self, plan: Arrangement):
        self.plan, self.results, self.layout, self.name = plan, plan.results, plan.layout, plan.name

    def table(self) -> Table:
        rows, columns, grid, cells = self.plan.rows, self.plan.columns, self.plan.grid, self.plan.cells
        bold = self.plan.mark_best()
        self.digits = self._digits(itertools.chain(*grid), itertools.chain(*cells))
        outer = self.plan.down[0]
        groups = (
            [k for k in range(1, len(rows)) if rows[k][outer] != rows[k - 1][outer]] if len(self.plan.down) > 1 else []
        )
        shown: list[tuple[Text, ...]] = []
        starts = []
        for k, row in enumerate(rows):
            if k in groups:
                starts.append(len(shown))
            numbers = [
                Text("", "") if self.plan.left_blank(row, j, len(columns)) else self._show(grid[k][j], cell, bold[k][j])
                for j, cell in enumerate(cells[k])
            ]
            shown.append((*self._labels(rows, k), *numbers))
            if self.layout.average_rank and (k + 1 in groups or k + 1 == len(rows)):
                first = max([0, *(start for start in groups if start <= k)])
                shown.append(self._average_ranks(grid[first : k + 1], cells[first : k + 1]))
        header = (*(text(self._head(name)) for name in self.plan.stub), *self._column_heads(columns))
        visible = [
            cell
            for row, found in zip(rows, cells, strict=True)
            for j, cell in enumerate(found)
            if not self.plan.left_blank(row, j, len(columns))
        ]
        notes = self._notes(visible, any(b for row in bold for b in row))
        sheet = Sheet(self._caption(), header, tuple(shown), len(self.plan.stub), tuple(starts), notes)
        parts = (self.results.name, layouts.stem(self.name), *filter(None, [self.layout.metric]))
        label = "tab:" + layouts.file_name("-".join(parts)).replace("_", "-")
        return Table(sheet, *self._records(itertools.chain(*grid), itertools.chain(*cells)), label)

    def _digits(self, grid: Iterable[Place], cells: Iterable[Cell | None]) -> dict[str, int]:
        """Decimal places of each metric: the layout's; or 4, and for times as many as show two of the shortest."""
        if self.layout.digits is not None:
            return dict.fromkeys(self.plan.facts, self.layout.digits)
        shortest: dict[str, float] = {}
        for place, cell in zip(grid, cells, strict=True):
            if cell and cell.mean > 0:
                shortest[place["metric"]] = min(cell.mean, shortest.get(place["metric"], math.inf))
        return {
            metric: min(max(1, 1 - math.floor(math.log10(shortest[metric]))), 6)
            if facts.is_time and metric in shortest
            else 4
            for metric, facts in self.plan.facts.items()
        }

    def _average_ranks(self, grid: list[list[Place]], cells: list[list[Cell | None]]) -> tuple[Text, ...]:
        """The row below a group: each method's average rank over the rows in which all of them have a number."""
        labels = [text("average rank" if name == self.plan.stub[-1] else "") for name in self.plan.stub]
        blocks = []
        for places, row in zip(grid, cells, strict=True):
            better = self.plan.facts[places[0]["metric"]].higher_is_better
            means = {place["method"]: cell.mean for place, cell in zip(places, row, strict=True) if cell}
            if better is not None and len(means) == len(places) > 1:
                blocks.append(rank_means(means, better))
        if not blocks:
            return (*labels, *(Text(DASH, "--") for _ in grid[0]))
        averages = [sum(block[place["method"]] for block in blocks) / len(blocks) for place in grid[0]]
        best = min(averages)
        wanted = self.layout.bold != "none"
        return (*labels, *(Text(f"{a:.2f}", f"${a:.2f}$", wanted and are_same(a, best)) for a in averages))

    def _labels(self, rows: list[Place], k: int) -> list[Text]:
        """The row's labels; an outer label stands only in the first row of its group."""
        labels: list[Text] = []
        fresh = k == 0
        for name in self.plan.stub:
            fresh = fresh or name == self.plan.stub[-1] or rows[k][name] != rows[k - 1][name]
            value = rows[k][name]
            path = next((path for path in self.plan.labelled if name == "method" and rows[k][path]), None)
            if path is not None:
                pattern = self.layout.row_labels[path]
                labels.append(self._filled(f"row_labels.{path}", pattern, method=value, value=rows[k][path]))
            else:
                labels.append(text(self._value(name, value) if fresh else ""))
        return labels

    def _value(self, name: str, value: str) -> str:
        if value in self.layout.names and name in ("dataset", "method", "metric"):
            return self.layout.names[value]
        if name == "metric":
            return self.plan.facts[value].title
        return value or DASH

    def _show(self, place: Place, cell: Cell | None, bold: bool) -> Text:
        if cell is None:
            return Text(DASH, "--")
        spread = {"standard_error": cell.se, "std": cell.std, "none": None}[self.layout.spread]
        pattern = self.layout.settings.get(place["method"])
        raised = self._setting(pattern, place["dataset"], dict(cell.setting)) if pattern and cell.setting else ""
        return format_mean(cell.mean, spread, self.digits[place["metric"]], bold, raised)

    def _setting(self, pattern: str, dataset: str, taken: Mapping[str, str]) -> str:
        """A layout's `settings` text with the values that were taken of the grid."""

        def value(match: re.Match[str]) -> str:
            path, of = match.groups()
            if path not in taken:
                raise ResultsError(f"layout {self.name}: settings: {path} is not tuned (tuned: {', '.join(taken)})")
            written = taken[path]
            if of and written.endswith("%"):
                d, k = (self.results.facts(dataset)[key] for key in ("n_features", "n_labels"))
                return str(round(float(written[:-1]) * min(d, k) / d))
            return written.removesuffix("%")

        return re.sub(r"\{([\w.]+)(:features)?\}", value, pattern)

    def _head(self, name: str) -> str:
        headers = self.layout.headers
        plain = {"dataset": headers.dataset, "method": headers.method, "metric": headers.metric}
        return plain.get(name) or shorten_path(name, self.results.swept)

    def _column_heads(self, columns: Sequence[str]) -> list[Text]:
        if self.plan.across not in self.results.swept:
            return [text(self._value(self.plan.across, value)) for value in columns]
        headers, path = self.layout.headers, shorten_path(self.plan.across, self.results.swept)
        heads = []
        for k, value in enumerate(columns):
            key = "other" if k else "first"
            pattern = headers.other if k else headers.first
            if not k and value.endswith("%") and headers.percent_of:
                pattern += f" {headers.percent_of}"
            heads.append(self._filled(f"headers.{key}", pattern, value=value, path=path))
        return heads

    def _caption(self) -> Text:
        values = {
            "metric": join_words([fact.title for fact in self.plan.facts.values()]),
            "methods": join_words(self.plan.domain["method"]),
            "datasets": join_words(self.plan.domain["dataset"]),
            "experiment": self.results.name,
            "reference": self.layout.relative_to or "",
        }
        return self._filled("caption", self.layout.caption, **values)

    def _filled(self, key: str, pattern: str, **values: str) -> Text:
        try:
            return template(pattern, **values)
        except (KeyError, ValueError, IndexError) as error:
            what = f"{{{error.args[0]}}} is unknown" if isinstance(error, KeyError) else str(error)
            known = ", ".join(f"{{{name}}}" for name in values)
            raise ResultsError(f"layout {self.name}: {key}: {what} (known: {known})") from error

    def _notes(self, cells: list[Cell | None], bold: bool) -> tuple[str, ...]:
        present = [cell for cell in cells if cell]
        notes = list(self.layout.notes)
        if present:
            spread = SPREADS.get(self.layout.spread)
            what = f"Mean ± {spread}" if spread else "Mean"
            if self.layout.relative_to is not None:
                what = f"Mean, divided by that of {self.layout.relative_to} on the same data set,"
            notes.append(f"{what} {describe_splits(c.n for c in present)}.")
        notes += note_tuning(self.results, self.plan.domain["method"])
        if bold:
            column = "" if self.plan.across in ("dataset", "method") else " and column"
            if self.plan.across == "method" and "metric" in self.plan.down:
                column = " and metric"
            notes.append(f"{_BOLD[self.layout.bold]}{column}.")
        if self.layout.average_rank:
            notes.append("Average rank: over the rows above it in which every method has a number.")
        notes += _notes_on_metrics(self.plan.facts, self.layout.bold != "none")
        repeated = [m for m in self.plan.domain["method"] if self.plan.lacks_columns(m)]
        if repeated:
            has = "have" if len(repeated) > 1 else "has"
            paths = [shorten_path(path, self.results.swept) for path in self.plan.column_paths]
            none = " or ".join(filter(None, [", ".join(paths[:-1]), paths[-1]]))
            where = {
                "repeat": "the same number stands in every column",
                "last": "the number stands in the last column only",
            }
            notes.append(f"{join_words(repeated)} {has} no {none}: {where[self.layout.lacking]}.")
        if any(cell is None for cell in cells):
            notes.append(f"{DASH}: {explain_missing(self.plan.facts.values())}.")
            notes += note_unfilled(self.results)
        if self.layout.spread != "none" and any(cell.n == 1 for cell in present):
            notes.append(f"± {DASH}: a single split has no {SPREADS[self.layout.spread]}.")
        return tuple(notes)

    def _records(
        self, places: Iterable[Place], cells: Iterable[Cell | None]
    ) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """The plain data: one record for each cell of the results, once even where the table repeats it."""
        keys = ["dataset", "method", *self.results.swept]
        keys += ["metric"] if len(self.plan.domain["metric"]) > 1 else []
        spread = {"standard_error": ("se",), "std": ("std",), "none": ()}[self.layout.spread]
        records: dict[tuple[str, ...], tuple[str, ...]] = {}
        for place, cell in zip(places, cells, strict=True):
            own = {**place, **{p: "" for p in self.results.swept if self.results.lacks(place["method"], p)}}
            values = [number(getattr(cell, name)) if cell else "" for name in ("mean", *spread)]
            if self.results.grids:
                values.append(";".join(f"{path}={value}" for path, value in cell.setting) if cell else "")
            key = tuple(own[name] for name in keys)
            records[key] = (*key, *values)
        last = ("setting",) if self.results.grids else ()
        return (*keys, "mean", *spread, *last), tuple(records.values())


def _notes_on_metrics(facts: Mapping[str, MetricFacts], bold: bool) -> list[str]:
    notes = list_notes(facts.values())
    unknown = [fact.title for fact in facts.values() if fact.higher_is_better is None]
    if unknown and bold:
        notes.append(f"{join_words(unknown)}: which way is better is not known, so nothing is bold.")
    return notes
