"""Tables in a paper's layout, from a results folder.

`render` makes one `Table`, which can be printed as Markdown, LaTeX, CSV or on a terminal; `write_all` writes those that
the experiment asks for into `tables/` of the results folder. What a layout can say stands in `mlcdr.tables.layouts`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import LayoutSpec
from mlcdr.results.metric_facts import list_notes
from mlcdr.results.results import Results
from mlcdr.results.scores import Key, are_same, rank_means
from mlcdr.tables import layouts, text_format
from mlcdr.tables.arrangement import Arrangement, Place, Slot
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, template, text
from mlcdr.whole_files import check_within

_BOLD = {
    "one_standard_error": f"{text_format.BOLD} of its data set",
    "best": "Bold: the best of its data set",
}


@dataclass(frozen=True, repr=False)
class Table(ShownSheet):
    """A rendered table; its records are the cells."""

    sheet: Sheet
    columns: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    label: str


def list_entries(results: Results) -> tuple[LayoutSpec, ...]:
    """The tables the experiment asks for; the generic one if it asks for none."""
    return results.experiment.tables or (LayoutSpec(layout="generic"),)


Marks = Mapping[Key, tuple[str, str]]
"""A cell of the results → its class in HTML, and a remark on it (`Text.mark`, `Text.about`)."""


def render(results: Results, entry: LayoutSpec, marks: Marks | None = None) -> Table:
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
    return _write(Arrangement(results, layouts.load_table(entry), entry.layout), marks or {})


def write_all(results: Results) -> list[Path]:
    """Write every table of the experiment into `tables/` of its folder, each as `.md`, `.tex` and `.csv`.

    Raises
    ------
    ResultsError
        As `render`; or when a file cannot be written.
    """
    asked = list_entries(results)
    written = []
    for entry, stem in zip(asked, layouts.stems(asked), strict=True):
        written += render(results, entry).write(check_within(results.folder, results.folder / "tables" / stem))
    return written


def _write(plan: Arrangement, marks: Marks) -> Table:
    """Write an arrangement as a table."""
    layout, outer = plan.layout, plan.layout.rows[0]
    digits = _choose_digits(plan)
    places = [place for place, _ in plan.rows]
    labels = [_label_row(plan, place, above) for place, above in zip(places, [None, *places], strict=False)]
    groups = [0, *(k for k in range(1, len(places)) if places[k][outer] != places[k - 1][outer])]
    if len(layout.rows) == 1:
        groups = [0]
    shown: list[tuple[Text, ...]] = []
    starts = []
    for first, end in zip(groups, [*groups[1:], len(places)], strict=True):
        starts.append(len(shown))
        rows = [slots for _, slots in plan.rows[first:end]]
        shown += [
            (*label, *(_show(plan, slot, digits, marks) for slot in slots))
            for label, slots in zip(labels[first:end], rows, strict=True)
        ]
        if layout.average_rank:
            shown.append(_average_ranks(plan, rows))
    header = (*(text(_head(plan, name)) for name in plan.stub), *_head_columns(plan))
    sheet = Sheet(_caption(plan), header, tuple(shown), len(plan.stub), tuple(starts[1:]), _list_notes(plan))
    parts = (plan.results.name, layouts.stem(plan.name), *filter(None, [layout.metric]))
    label = "tab:" + layouts.file_name("-".join(parts)).replace("_", "-")
    return Table(sheet, *_records(plan), label)


def _choose_digits(plan: Arrangement) -> dict[str, int]:
    """Decimal places of each metric: the layout's; or 4; for times as many as show two digits of the shortest."""
    if plan.layout.digits is not None:
        return dict.fromkeys(plan.facts, plan.layout.digits)
    digits = dict.fromkeys(plan.facts, 4)
    for metric, facts in plan.facts.items():
        means = [slot.cell.mean for slot in plan.slots if slot.cell and slot.place["metric"] == metric]
        shortest = min((mean for mean in means if mean > 0), default=0)
        if facts.is_time and shortest:
            digits[metric] = min(max(1, 1 - math.floor(math.log10(shortest))), 6)
    return digits


def _average_ranks(plan: Arrangement, rows: list[list[Slot]]) -> tuple[Text, ...]:
    """The row below a group: each method's average rank over the rows in which all of them have a number."""
    labels = [text("average rank" if name == plan.stub[-1] else "") for name in plan.stub]
    blocks = []
    for slots in rows:
        better = plan.facts[slots[0].place["metric"]].higher_is_better
        cells = {slot.place["method"]: slot.cell for slot in slots if slot.cell}
        if better is not None and len(plan.results.comparable(cells.values())) == len(slots) > 1:
            blocks.append(rank_means({method: cell.mean for method, cell in cells.items()}, better))
    if not blocks:
        return (*labels, *(NOTHING for _ in plan.columns))
    averages = [sum(block[method] for block in blocks) / len(blocks) for method in plan.columns]
    wanted = plan.layout.bold != "none"
    return (*labels, *(Text(f"{a:.2f}", f"${a:.2f}$", wanted and are_same(a, min(averages))) for a in averages))


def _label_row(plan: Arrangement, place: Place, above: Place | None) -> list[Text]:
    """The row's labels; an outer label stands only in the first row of its group."""
    labels: list[Text] = []
    new = above is None
    for name in plan.stub:
        new = new or name == plan.stub[-1] or place[name] != (above or {})[name]
        path = next((path for path in plan.layout.row_labels if name == "method" and place[path]), None)
        if path is not None:
            pattern = plan.layout.row_labels[path]
            labels.append(_fill(plan, f"row_labels.{path}", pattern, method=place[name], value=place[path]))
        else:
            labels.append(text(_name_value(plan, name, place[name]) if new else ""))
    return labels


def _name_value(plan: Arrangement, name: str, value: str) -> str:
    if value in plan.layout.names and name in ("dataset", "method", "metric"):
        return plan.layout.names[value]
    if name == "metric":
        return plan.facts[value].title
    return value or DASH


def _show(plan: Arrangement, slot: Slot, digits: Mapping[str, int], marks: Marks) -> Text:
    place, cell = slot.place, slot.cell
    if slot.blank:
        return Text("", "")
    if cell is None:
        return NOTHING
    pattern = plan.layout.settings.get(place["method"])
    raised = _show_setting(plan, pattern, place["dataset"], dict(cell.setting)) if pattern and cell.setting else ""
    spread = cell.spread(plan.layout.spread)
    shown = text_format.format_mean(cell.mean, spread, digits[place["metric"]], slot.bold, raised)
    point = tuple(place[path] for path in plan.results.swept)
    mark, about = marks.get(plan.results.key(place["dataset"], place["method"], point, place["metric"]), ("", ""))
    return replace(shown, mark=mark, about=about)


def _show_setting(plan: Arrangement, pattern: str, dataset: str, taken: Mapping[str, str]) -> str:
    """A layout's `settings` text with the values that were taken of the grid."""

    def value(match: re.Match[str]) -> str:
        path, of = match.groups()
        if path not in taken:
            raise ResultsError(f"layout {plan.name}: settings: {path} is not tuned (tuned: {', '.join(taken)})")
        written = taken[path]
        if of and written.endswith("%"):
            d, k = (plan.results.facts(dataset)[key] for key in ("n_features", "n_labels"))
            return str(round(float(written[:-1]) * min(d, k) / d))
        return written.removesuffix("%")

    return re.sub(r"\{([\w.]+)(:features)?\}", value, pattern)


def _head(plan: Arrangement, name: str) -> str:
    """What stands above a column of labels."""
    return plan.layout.headers.model_dump().get(name) or text_format.shorten_path(name, plan.results.swept)


def _head_columns(plan: Arrangement) -> list[Text]:
    if not plan.column_paths:
        return [text(_name_value(plan, plan.across, value)) for value in plan.columns]
    headers, path = plan.layout.headers, text_format.shorten_path(plan.across, plan.results.swept)
    first, *others = plan.columns
    pattern = headers.first
    if first.endswith("%") and headers.percent_of:
        pattern += f" {headers.percent_of}"
    heads = [_fill(plan, "headers.first", pattern, value=first, path=path)]
    return heads + [_fill(plan, "headers.other", headers.other, value=value, path=path) for value in others]


def _caption(plan: Arrangement) -> Text:
    values = {
        "metric": join_words([fact.title for fact in plan.facts.values()]),
        "methods": join_words(plan.domain["method"]),
        "datasets": join_words(plan.domain["dataset"]),
        "experiment": plan.results.name,
        "reference": plan.layout.relative_to or "",
    }
    return _fill(plan, "caption", plan.layout.caption, **values)


def _fill(plan: Arrangement, key: str, pattern: str, **values: str) -> Text:
    try:
        return template(pattern, **values)
    except (KeyError, ValueError, IndexError) as error:
        what = f"{{{error.args[0]}}} is unknown" if isinstance(error, KeyError) else str(error)
        known = ", ".join(f"{{{name}}}" for name in values)
        raise ResultsError(f"layout {plan.name}: {key}: {what} (known: {known})") from error


def _list_notes(plan: Arrangement) -> tuple[str, ...]:
    layout, results, methods = plan.layout, plan.results, plan.domain["method"]
    cells = [slot.cell for slot in plan.slots if not slot.blank]
    present = [cell for cell in cells if cell]
    notes = list(layout.notes)
    if present:
        spread = text_format.SPREADS.get(layout.spread)
        what = f"Mean ± {spread}" if spread else "Mean"
        if layout.relative_to is not None:
            what = f"Mean, divided by that of {layout.relative_to} on the same data set,"
        notes.append(f"{what} {text_format.describe_splits(c.n for c in present)}.")
        there = [(slot.place, slot.cell) for slot in plan.slots if slot.cell]
        counts = ((at["dataset"], at["metric"], at["method"], cell.n) for at, cell in there)
        notes += text_format.note_incomplete(results, counts)
    notes += text_format.note_tuning(results, methods)
    if any(slot.bold for slot in plan.slots):
        column = "" if plan.across in ("dataset", "method") else " and column"
        if plan.across == "method" and "metric" in layout.rows:
            column = " and metric"
        notes.append(f"{_BOLD[layout.bold]}{column}.")
    if layout.average_rank:
        notes.append("Average rank: over the rows above it in which every method has a number.")
    notes += list_notes(plan.facts.values())
    unknown = [fact.title for fact in plan.facts.values() if fact.higher_is_better is None]
    if unknown and layout.bold != "none":
        notes.append(f"{join_words(unknown)}: which way is better is not known, so nothing is bold.")
    if repeated := [method for method in methods if plan.lacks_columns(method)]:
        has = "have" if len(repeated) > 1 else "has"
        paths = join_words(list(plan.column_paths), "or")
        where = {
            "repeat": "the same number stands in every column",
            "last": "the number stands in the last column only",
        }
        notes.append(f"{join_words(repeated)} {has} no {paths}: {where[layout.lacking]}.")
    if None in cells:
        notes += text_format.note_missing(results, plan.facts.values())
    if layout.spread != "none" and any(cell.n == 1 for cell in present):
        notes.append(f"± {DASH}: a single split has no {text_format.SPREADS[layout.spread]}.")
    return tuple(notes)


def _records(plan: Arrangement) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The plain data: the header, and a record for each cell of the results, once even where the table repeats it."""
    results = plan.results
    keys = ["dataset", "method", *results.swept, *(["metric"] if len(plan.domain["metric"]) > 1 else [])]
    spread = {"standard_error": ("se",), "std": ("std",), "none": ()}[plan.layout.spread]
    records: dict[tuple[str, ...], tuple[str, ...]] = {}
    for slot in plan.slots:
        place, cell = slot.place, slot.cell
        key = tuple("" if results.lacks(place["method"], name) else place[name] for name in keys)
        values = [text_format.number(getattr(cell, name)) if cell else "" for name in ("mean", *spread)]
        if results.grids:
            values.append(";".join(f"{path}={value}" for path, value in cell.setting) if cell else "")
        records[key] = (*key, *values)
    last = ("setting",) if results.grids else ()
    return (*keys, "mean", *spread, *last), tuple(records.values())
