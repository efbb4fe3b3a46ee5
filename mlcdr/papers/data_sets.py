"""Tables of facts about data sets, counted on the data themselves; alone, or against a paper's table of such facts.

A layout (`kind: datasets` in `mlcdr.tables.layouts`) names the facts of a table. The domain comes from
the catalogue, all else from the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.data.dataset import load_dataset
from mlcdr.data.sources import find
from mlcdr.errors import DataError, ResultsError, join_words
from mlcdr.experiment.model import LayoutSpec, file_name
from mlcdr.papers.judging import Rules, Verdict, rules_for
from mlcdr.papers.printed import KEY, load_facts_table, n_places, read_numbers
from mlcdr.tables import layouts
from mlcdr.tables.layouts import DatasetsLayout
from mlcdr.tables.patterns import template
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import as_texts

# The name of a fact in the published tables → its name in `Dataset.statistics`, where they differ.
_CALLED = {
    "n_features_nominal": "nominal",
    "n_features_numeric": "numeric",
    "label_cardinality": "cardinality",
    "label_density": "density",
    "n_distinct_labelsets": "distinct",
}
_TEXTS = ("name", "domain", "format")
_NOMINAL, _NUMERIC = "†", "‡"
_ROUNDING = 1e-9


def facts(name: str, /, **options: Any) -> dict[str, Any]:
    """The facts of one data set: its name, its domain (empty where unknown), and those of `Dataset.statistics`.

    `options` are those of `load_dataset`.

    Raises
    ------
    DataError
        When it cannot be found or read.
    """
    dataset = load_dataset(name, **options)
    known = find(dataset.name)
    domain = known.domain if known else ""
    return {"name": dataset.name, "domain": domain, **dataset.statistics()}


def tabulate_facts(names: Sequence[str], layout: str, **options: Any) -> Table:
    """The table of some data sets in a layout, a row each; `options` are those of `load_dataset`.

    Raises
    ------
    DataError
        When a data set cannot be found or read.
    ResultsError
        When there is no such layout, or it asks for a fact that there is not.
    """
    described = layouts.load(DatasetsLayout, LayoutSpec(layout=layout))
    columns = [column.fact for column in described.columns]
    rows = [facts(name, **options) for name in names]
    unknown = [fact for fact in columns if rows and fact not in rows[0]]
    if unknown:
        raise ResultsError(f"layout {layout}: columns: no fact {unknown[0]!r} (known: {', '.join(rows[0])})")
    shown = []
    for row in rows:
        shown.append(tuple(_show_fact(row, fact, described) for fact in columns))
    notes = list(described.notes)
    if described.marks:
        notes.append(f"{_NOMINAL} nominal features, {_NUMERIC} numeric features.")
    sheet = Sheet(
        caption=template(described.caption),
        header=tuple(template(column.header or column.fact) for column in described.columns),
        rows=tuple(shown),
        stub=1,
        notes=tuple(notes),
        left=tuple(k for k, fact in enumerate(columns) if fact in _TEXTS),
    )
    label = "tab:" + file_name(layouts.stem(layout)).replace("_", "-")
    records = as_texts(pd.DataFrame(rows, columns=columns))
    return Table(sheet, tuple(columns), records, label)


def _show_fact(row: Mapping[str, Any], fact: str, layout: DatasetsLayout) -> Text:
    value = row[fact]
    if fact == "name" and layout.marks:
        nominal = _NOMINAL if row["nominal"] else ""
        return text(f"{value}{nominal}{_NUMERIC if row['numeric'] else ''}")
    if isinstance(value, float):
        return text(f"{value:.{layout.digits}f}")
    if value == "" or (value == 0 and fact in ("nominal", "numeric")):
        return NOTHING
    return text(f"{value:,}" if isinstance(value, int) else str(value))


@dataclass(frozen=True, eq=False)
class FactsComparison:
    """A published table of data sets against the data.

    A printed number agrees if ours, rounded to as many places, is that number. One that is known to be misprinted
    (`not_reproducible` in `mlcdr.papers.judging`) is shown with the reason, and not judged.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    cells : frame
        All its facts (`metric`), each with our number and a verdict, in the columns of `judging.judge`; ours is NaN
        where the data set is not compared, or the fact not counted.
    datasets : tuple of str
        The data sets that were compared, by our names.
    absent : tuple of str
        Those of the table that are not at hand.
    """

    table: str
    cells: pd.DataFrame
    datasets: tuple[str, ...]
    absent: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many facts have this verdict."""
        return int((self.cells["verdict"] == verdict).sum())

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """The facts as aligned columns, with the count below."""
        rows: list[tuple[str | Text, ...]] = []
        for cell in self.cells[self.cells["verdict"] != "not run"].itertuples():
            ours = NOTHING if math.isnan(cell.ours) else f"{cell.ours:.{n_places(cell.published)}f}"
            verdict = text(cell.verdict, bold=cell.verdict == "differs")
            published = cell.published or NOTHING
            rows.append((cell.dataset, cell.metric, ours, published, verdict))
        header = ("Dataset", "Fact", "Ours", "Published", "Verdict")
        caption = f"The data compared with {self.table}"
        sheet = make_sheet(
            caption=caption,
            header=header,
            rows=rows,
            stub=2,
            notes=list(self._list_notes()),
            left=(4,),
            nested=1,
        )
        return sheet.terminal(width, colour)

    def _list_notes(self) -> Iterator[str]:
        judged = self.count("agrees") + self.count("differs")
        yield f"{self.count('agrees')} of {judged} facts agree, rounded as printed."
        misprints = self.cells[self.cells["verdict"] == "not reproducible"]
        if len(misprints):
            yield f"Not judged: {len(misprints)} facts."
        for why, cells in misprints.groupby("why", sort=False):
            by_metric = cells.groupby("metric", sort=False)["dataset"]
            which = [f"{metric} of {join_words(names.tolist())}" for metric, names in by_metric]
            yield f"{', '.join(which)}: {why}."
        left_out = {"of other data sets": self.count("not run"), "not printed, or not counted here": self.count("n/a")}
        for what, count in left_out.items():
            if count:
                yield f"Left out: {count} facts {what}."
        if self.absent:
            yield f"Not at hand: {', '.join(self.absent)}."


def check_facts(names: Sequence[str], table: str) -> FactsComparison:
    """Compare a published table of data sets with the data; with all data sets of it at hand if `names` is empty.

    Raises
    ------
    DataError
        When a data set of `names`, or every one of the table's, cannot be found or read.
    ResultsError
        When there is no such table, or it has none of the data sets.
    """
    cells, rules = load_facts_table(table), rules_for(table)
    datasets = cells["dataset"].unique()
    known = called = {printed: rules.datasets.get(printed, printed) for printed in datasets}
    wanted = {name.casefold() for name in names}
    if wanted:
        called = {printed: name for printed, name in known.items() if wanted & {printed, name}}
    ours: dict[str, Mapping[str, Any]] = {}
    absent: dict[str, DataError] = {}
    for printed, name in called.items():
        try:
            ours[printed] = facts(name)
        except DataError as error:
            absent[name] = error
    if absent and (wanted or not ours):
        raise next(iter(absent.values()))
    if not ours:
        raise ResultsError(f"{table} has none of {', '.join(names)} (it has: {', '.join(known.values())})")
    compared = tuple(called[printed] for printed in ours)
    return FactsComparison(table, _judge_facts(cells, ours, rules), compared, tuple(absent))


_Facts = Mapping[str, Mapping[str, Any]]
"""A data set's printed name → its facts."""


def _judge_facts(cells: pd.DataFrame, ours: _Facts, rules: Rules) -> pd.DataFrame:
    judged = cells[[*KEY, "spread", "spread_kind"]].copy()
    judged[["se", "published_se", "z"]] = math.nan
    judged[["n", "at"]] = 0, ""
    judged["published"] = cells["mean"]
    counted = [_count(cell, ours) for cell in cells.itertuples()]
    judged["ours"] = pd.Series(counted, judged.index, dtype=float)
    judged["difference"] = judged["ours"] - read_numbers(cells["mean"])
    judged["why"] = rules.why_not(judged)
    rounding = [0.5 * 10.0 ** -n_places(printed) for printed in judged["published"]]
    in_turn: dict[Verdict, pd.Series] = {
        "not run": ~judged["dataset"].isin(ours),
        "n/a": judged["difference"].isna(),
        "not reproducible": judged["why"] != "",
        "agrees": judged["difference"].abs() <= np.array(rounding) + _ROUNDING,
    }
    judged["verdict"] = np.select(list(in_turn.values()), list(in_turn), "differs")
    return judged


def _count(cell: Any, ours: _Facts) -> float:
    """Our number for a printed fact; NaN where there is none."""
    fact = _CALLED.get(cell.metric, cell.metric)
    value = ours.get(cell.dataset, {}).get(fact)
    return float(value) if isinstance(value, int | float) else math.nan
