"""Tables of facts about data sets, counted on the data themselves; alone, or against a paper's table of such facts.

A layout (`kind: datasets` in `mlcdr.tables.layouts`) names the facts of a table. The domain comes from
the catalogue, all else from the files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlcdr.data.dataset import load_dataset
from mlcdr.data.sources import find
from mlcdr.errors import DataError, ResultsError, join_words
from mlcdr.experiment.model import LayoutSpec
from mlcdr.reproduce import published
from mlcdr.reproduce.judging import Rules, rules_for
from mlcdr.reproduce.published import ComparedCell, PublishedCell, Verdict
from mlcdr.tables import layouts
from mlcdr.tables.layouts import DatasetsLayout
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet, template, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import number

# The name of a fact in the published tables → its name in `Dataset.statistics`, where they differ.
_CALLED = {
    "n_features_nominal": "nominal",
    "n_features_numeric": "numeric",
    "label_cardinality": "cardinality",
    "label_density": "density",
    "n_distinct_labelsets": "distinct",
}
_NOMINAL, _NUMERIC = "†", "‡"
_ROUNDING = 1e-9


def facts(name: str) -> dict[str, Any]:
    """The facts of one data set: its name, its domain (empty where unknown), and those of `Dataset.statistics`.

    Raises
    ------
    DataError
        When it cannot be found or read.
    """
    dataset = load_dataset(name)
    known = find(dataset.name)
    return {"name": dataset.name, "domain": known.domain if known else "", **dataset.statistics()}


def render(names: Sequence[str], layout: str) -> Table:
    """The table of some data sets in a layout, a row each.

    Raises
    ------
    DataError
        When a data set cannot be found or read.
    ResultsError
        When there is no such layout, or it asks for a fact that there is not.
    """
    described = layouts.load_datasets(LayoutSpec(layout=layout))
    rows = [facts(name) for name in names]
    for column in described.columns:
        if rows and column.fact not in rows[0]:
            raise ResultsError(f"layout {layout}: columns: no fact {column.fact!r} (known: {', '.join(rows[0])})")
    header = tuple(template(column.header or column.fact) for column in described.columns)
    shown = tuple(tuple(_shown(row, k, described) for k in range(len(described.columns))) for row in rows)
    notes = list(described.notes)
    if described.marks:
        notes.append(f"{_NOMINAL} nominal features, {_NUMERIC} numeric features.")
    left = tuple(k for k, column in enumerate(described.columns) if column.fact in ("name", "domain", "format"))
    sheet = Sheet(template(described.caption), header, shown, 1, notes=tuple(notes), left=left)
    names_of_columns = tuple(column.fact for column in described.columns)
    records = tuple(tuple(_plain(row[fact]) for fact in names_of_columns) for row in rows)
    label = "tab:" + layouts.file_name(layouts.stem(layout)).replace("_", "-")
    return Table(sheet, names_of_columns, records, label)


def _shown(row: Mapping[str, Any], k: int, layout: DatasetsLayout) -> Text:
    column = layout.columns[k]
    value = row[column.fact]
    if column.fact == "name" and layout.marks:
        marks = (_NOMINAL if row["nominal"] else "") + (_NUMERIC if row["numeric"] else "")
        return text(f"{value}{marks}")
    if isinstance(value, float):
        return text(f"{value:.{layout.digits}f}")
    if value == "" or (value == 0 and column.fact in ("nominal", "numeric")):
        return NOTHING
    return text(f"{value:,}" if isinstance(value, int) else str(value))


def _plain(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class FactsComparison:
    """A published table of data sets against the data.

    A printed number agrees if ours, rounded to as many places, is that number. One that is known to be misprinted
    (`not_reproducible` in `mlcdr.reproduce.judging`) is shown with the reason, and not judged.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    rows : tuple of ComparedCell
        All its facts; ours is NaN where the data set is not compared, or the fact not counted.
    rules : Rules
    datasets : tuple of str
        The data sets that were compared, by our names.
    absent : tuple of str
        Those of the table that are not at hand.
    """

    table: str
    rows: tuple[ComparedCell, ...]
    rules: Rules
    datasets: tuple[str, ...]
    absent: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many facts have this verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    def _misprinted(self) -> dict[str, dict[str, list[str]]]:
        """Why facts are not judged → which → of which data sets."""
        found: dict[str, dict[str, list[str]]] = {}
        for cell in (row.published for row in self.rows if row.verdict == "not reproducible"):
            why = self.rules.why_not(cell.dataset, cell.method, cell.metric)
            found.setdefault(why, {}).setdefault(cell.metric, []).append(cell.dataset)
        return found

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """The facts as aligned columns, with the count below."""
        lines: list[tuple[str | Text, ...]] = []
        for row in self.rows:
            cell = row.published
            if row.verdict != "not run":
                ours = NOTHING if math.isnan(row.ours) else f"{row.ours:.{cell.digits}f}"
                verdict = text(row.verdict, bold=row.verdict == "differs")
                lines.append((cell.dataset, cell.metric, ours, cell.mean or NOTHING, verdict))
        judged = self.count("agrees") + self.count("differs")
        notes = [f"{self.count('agrees')} of {judged} facts agree, rounded as printed."]
        if misprints := self.count("not reproducible"):
            notes.append(f"Not judged: {misprints} facts.")
        for why, facts_of in self._misprinted().items():
            which = [f"{metric} of {join_words(names)}" for metric, names in facts_of.items()]
            notes.append(f"{', '.join(which)}: {why}.")
        left_out = {"of other data sets": self.count("not run"), "not printed, or not counted here": self.count("n/a")}
        notes += [f"Left out: {count} facts {which}." for which, count in left_out.items() if count]
        if self.absent:
            notes.append(f"Not at hand: {', '.join(self.absent)}.")
        header = ("Dataset", "Fact", "Ours", "Published", "Verdict")
        caption = f"The data compared with {self.table}"
        return make_sheet(caption, header, lines, 2, notes, (4,), nested=1).terminal(width, colour)


def compare(names: Sequence[str], table: str) -> FactsComparison:
    """Compare a published table of data sets with the data; with all data sets of it at hand if `names` is empty.

    Raises
    ------
    DataError
        When a data set of `names`, or every one of the table's, cannot be found or read.
    ResultsError
        When there is no such table, or it has none of the data sets.
    """
    cells = published.load(table, of_data_sets=True)
    rules = rules_for(table)
    called = {cell.dataset: rules.datasets.get(cell.dataset, cell.dataset) for cell in cells}
    wanted = {name.casefold() for name in names}
    ours: dict[str, Mapping[str, Any]] = {}
    absent: dict[str, DataError] = {}
    for printed, name in called.items():
        if not wanted or wanted & {printed, name}:
            try:
                ours[printed] = facts(name)
            except DataError as error:
                if wanted:
                    raise
                absent[name] = error
    if absent and not ours:
        raise next(iter(absent.values()))
    if not ours:
        raise ResultsError(f"{table} has none of {', '.join(names)} (it has: {', '.join(called)})")
    rows = tuple(_judged(cell, ours.get(cell.dataset), rules) for cell in cells)
    return FactsComparison(table, rows, rules, tuple(called[printed] for printed in ours), tuple(absent))


def _judged(cell: PublishedCell, ours: Mapping[str, Any] | None, rules: Rules) -> ComparedCell:
    nan = math.nan
    value = None if ours is None else ours.get(_CALLED.get(cell.metric, cell.metric))
    number_of = float(value) if isinstance(value, int | float) else nan
    difference = number_of - float(cell.mean or nan)
    if ours is None:
        verdict: Verdict = "not run"
    elif not isinstance(value, int | float) or not cell.mean:
        verdict = "n/a"
    elif rules.why_not(cell.dataset, cell.method, cell.metric):
        verdict = "not reproducible"
    else:
        verdict = "agrees" if abs(difference) <= 0.5 * 10.0**-cell.digits + _ROUNDING else "differs"
    return ComparedCell(cell, number_of, nan, nan, difference, nan, verdict)
