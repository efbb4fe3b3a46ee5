"""Tables in a paper's layout, from a results folder.

`make_table` makes one `Table`, which can be printed as Markdown, LaTeX, CSV or on a terminal; `write_all` writes those
that the experiment asks for into `tables/` of the results folder. What a layout can say stands in
`mlcdr.tables.layouts`; what stands where in a table, in `mlcdr.tables.arrangement`; its notes in `mlcdr.tables.notes`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import LayoutSpec, file_name
from mlcdr.results.frame import are_same, rank_means
from mlcdr.results.results import Results
from mlcdr.tables import layouts
from mlcdr.tables.arrangement import Arrangement, arrange
from mlcdr.tables.layouts import TableLayout
from mlcdr.tables.notes import BOLD, Contents, list_notes
from mlcdr.tables.patterns import template
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, text
from mlcdr.tables.text_format import SPREAD_COLUMNS, as_texts, format_mean, shorten_path
from mlcdr.whole_files import check_within

Marks = Mapping[tuple[str, str, tuple[str, ...], str], tuple[str, str]]
"""Data set, method, values of the swept paths (`""` where the method lacks one), metric → the class of its cell in HTML
and a remark on it (`Text.mark`, `Text.about`)."""

_BEST = {"one_standard_error": BOLD, "best": "Bold: the best"}


@dataclass(frozen=True, repr=False)
class Table(ShownSheet):
    """A table with its plain data; its records are the cells."""

    sheet: Sheet
    columns: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    label: str


def list_entries(results: Results) -> tuple[LayoutSpec, ...]:
    """The tables the experiment asks for; the generic one if it asks for none."""
    return results.experiment.tables or (LayoutSpec(layout="generic"),)


def make_table(results: Results, entry: LayoutSpec, marks: Marks | None = None) -> Table:
    """The table that an entry of `tables:` describes.

    Parameters
    ----------
    results : Results
    entry : LayoutSpec
        The layout, and any of its keys that shall differ from it.
    marks : mapping, optional

    Raises
    ------
    ResultsError
        When the layout cannot be read, or does not fit the results.
    """
    plan = arrange(results, layouts.load(TableLayout, entry), entry.layout)
    sheet = make_sheet(
        caption=_caption(plan),
        header=[*_head_labels(plan), *_head_columns(plan)],
        rows=_write_rows(plan, marks or {}),
        stub=len(plan.stub),
        notes=_notes(plan),
        nested=len(plan.stub) - 1,
    )
    cells = _list_records(plan)
    parts = [results.name, layouts.stem(entry.layout), plan.layout.metric]
    stem = file_name("-".join(part for part in parts if part))
    return Table(sheet, tuple(cells), as_texts(cells), "tab:" + stem.replace("_", "-"))


def write_all(results: Results) -> list[Path]:
    """Write every table of the experiment into `tables/` of its folder, each as `.md`, `.tex` and `.csv`.

    Raises
    ------
    ResultsError
        As `make_table`; or when a file cannot be written.
    """
    asked = list_entries(results)
    written = []
    for entry, stem in zip(asked, layouts.stems(asked), strict=True):
        path = check_within(results.folder, results.folder / "tables" / stem)
        written += make_table(results, entry).write(path)
    return written


# -------------------------------------------------------------------- rows


def _write_rows(plan: Arrangement, marks: Marks) -> list[list[Text]]:
    digits = _choose_digits(plan)
    # below each value of the outermost label, or below all where no other is, stand average ranks
    outer, *inner = plan.layout.rows
    groups = plan.rows[outer] if inner else pd.Series("", plan.rows.index)
    rows = []
    for _, group in plan.rows.groupby(groups, sort=False):
        labels: list[Text] = []
        for number, row in group.iterrows():
            labels = _label_row(plan, row)
            shown = [_show_cell(plan, cell, digits, marks) for cell in plan.cells_of(number)]
            rows.append([*labels, *shown])
        if plan.layout.average_rank:
            ranked = plan.cells[plan.cells["row"].isin(group.index)]
            rows.append([*labels[:-1], text("average rank"), *_show_average_ranks(plan, ranked)])
    return rows


def _choose_digits(plan: Arrangement) -> dict[str, int]:
    """Decimal places of each metric: the layout's; or 4; of a cost as many as show two digits of the smallest."""
    if plan.layout.digits is not None:
        return dict.fromkeys(plan.facts, plan.layout.digits)
    digits = dict.fromkeys(plan.facts, 4)
    for metric, facts in plan.facts.items():
        means = plan.cells.loc[plan.cells["metric"] == metric, "mean"]
        smallest = means[means > 0].min()
        if facts.is_cost and not math.isnan(smallest):
            two_digits = 1 - math.floor(math.log10(smallest))
            digits[metric] = min(max(1, two_digits), 6)
    return digits


def _label_row(plan: Arrangement, row: pd.Series) -> list[Text]:
    """The labels of a row; the value of a swept path may stand in that of the method."""
    labels = {name: text(_name_value(plan, name, row[name])) for name in plan.stub}
    for path, pattern in plan.layout.row_labels.items():
        if row[path]:
            labels["method"] = template(pattern, method=row["method"], value=row[path])
            break
    return list(labels.values())


def _name_value(plan: Arrangement, name: str, value: str) -> str:
    if name in plan.results.swept:
        return value or DASH
    named = plan.facts[value].heading if name == "metric" else value
    return plan.layout.names.get(value, named)


def _show_cell(plan: Arrangement, cell: Mapping[str, Any], digits: Mapping[str, int], marks: Marks) -> Text:
    if cell["blank"]:
        return Text("", "")
    if not cell["n"]:
        return NOTHING
    spreads = SPREAD_COLUMNS[plan.layout.spread]
    spread = cell[spreads[0]] if spreads else None
    setting = _show_setting(plan, cell)
    shown = format_mean(cell["mean"], spread, digits[cell["metric"]], cell["bold"], setting)
    point = tuple(cell[path] for path in plan.results.swept)
    place = (cell["dataset"], cell["method"], point, cell["metric"])
    mark, about = marks.get(place, ("", ""))
    return replace(shown, mark=mark, about=about)


def _taken(plan: Arrangement, cell: Mapping[str, Any]) -> dict[str, str]:
    """What was taken of the method's grid, if only its best is shown."""
    if plan.layout.relative_to is not None or not cell["n"]:
        return {}
    return {path: cell[path] for path in plan.results.grids.get(cell["method"], ())}


def _show_setting(plan: Arrangement, cell: Mapping[str, Any]) -> str:
    """A layout's `settings` text with the values that were taken of the grid."""
    pattern = plan.layout.settings.get(cell["method"])
    taken = _taken(plan, cell)
    if not pattern or not taken:
        return ""

    def write_value(match: re.Match[str]) -> str:
        path, of = match.groups()
        if path not in taken:
            raise ResultsError(f"layout {plan.name}: settings: {path} is not tuned (tuned: {', '.join(taken)})")
        value = taken[path].removesuffix("%")
        if not of or value == taken[path]:
            return value
        facts = plan.results.facts(cell["dataset"], "n_features", "n_labels")
        smaller = min(facts["n_features"], facts["n_labels"])
        return str(round(float(value) * smaller / facts["n_features"]))

    return re.sub(r"\{([\w.]+)(:features)?\}", write_value, pattern)


def _show_average_ranks(plan: Arrangement, cells: pd.DataFrame) -> list[Text]:
    """Each method's average rank over those of the rows in which all of them have a number."""
    ranks = []
    for _, row in cells.groupby("row"):
        better = plan.facts[row["metric"].iloc[0]].higher_is_better
        comparable = (row["n"] > 0) & plan.results.are_comparable(row, ["row"])
        if better is not None and len(row) > 1 and comparable.all():
            ranks.append(rank_means(row["mean"].to_numpy(), better))
    if not ranks:
        return [NOTHING] * len(plan.columns)
    averages = np.mean(ranks, axis=0)
    is_bold = are_same(averages, averages.min()) & (plan.layout.bold != "none")
    return [Text(f"{rank:.2f}", f"${rank:.2f}$", bold) for rank, bold in zip(averages, is_bold, strict=True)]


# -------------------------------------------------------------------- heads, caption, notes


def _head_labels(plan: Arrangement) -> list[Text]:
    """What stands above the columns of labels."""
    named = plan.layout.headers.model_dump()
    short = {name: shorten_path(name, plan.results.swept) for name in plan.stub}
    return [text(named.get(name) or short[name]) for name in plan.stub]


def _head_columns(plan: Arrangement) -> list[Text]:
    if not plan.column_paths:
        return [text(_name_value(plan, plan.across, value)) for value in plan.columns]
    headers = plan.layout.headers
    path = shorten_path(plan.across, plan.results.swept)
    first, *others = plan.columns
    pattern = headers.first
    if first.endswith("%") and headers.percent_of:
        pattern += f" {headers.percent_of}"
    heads = [template(pattern, value=first, path=path)]
    return heads + [template(headers.other, value=value, path=path) for value in others]


def _caption(plan: Arrangement) -> Text:
    values = {
        "metric": join_words([fact.title for fact in plan.facts.values()]),
        "methods": join_words(plan.domain["method"]),
        "datasets": join_words(plan.domain["dataset"]),
        "experiment": plan.results.name,
        "reference": plan.layout.relative_to or "",
    }
    return template(plan.layout.caption, **values)


def _notes(plan: Arrangement) -> list[str]:
    cells = plan.cells[~plan.cells["blank"]]
    along = [plan.column_paths] if plan.column_paths else []
    shown = Contents(plan.results, cells, _say_best(plan), along, plan.layout)
    return [*plan.layout.notes, *list_notes(shown)]


def _say_best(plan: Arrangement) -> str:
    if plan.layout.bold == "none":
        return ""
    rivals = "of its data set"
    if plan.across == "method" and "metric" in plan.layout.rows:
        rivals += " and metric"
    elif plan.across not in ("dataset", "method"):
        rivals += " and column"
    return f"{_BEST[plan.layout.bold]} {rivals}"


# -------------------------------------------------------------------- plain data


def _list_records(plan: Arrangement) -> pd.DataFrame:
    """The plain data: a record for each cell of the results, once even where the table repeats it."""
    keys = ["dataset", "method", *plan.results.swept]
    if len(plan.facts) > 1:
        keys.append("metric")
    cells = plan.cells.drop_duplicates(keys)
    records = cells[[*keys, "mean", *SPREAD_COLUMNS[plan.layout.spread]]]
    if not plan.results.grids:
        return records
    settings = []
    for cell in cells.to_dict("records"):
        taken = _taken(plan, cell)
        settings.append(";".join(f"{path}={value}" for path, value in taken.items()))
    return records.assign(setting=settings)
