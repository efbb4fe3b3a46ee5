"""Figures of a results folder: curves along a sweep, boxes over splits, bars, accuracy against time, heat maps.

`write_all` writes those that the experiment asks for into `figures/` of the results folder, as SVG and PNG. What a
layout can say, and which figures it makes, stands in `mlcdr.tables.layouts`; `choose_figures` finds those that show an
experiment which asks for none. A panel is drawn in `mlcdr.tables.panels`.

A method keeps its colour and marker in all figures of an experiment (`mlcdr.tables.styles`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import LayoutSpec
from mlcdr.results.results import Results
from mlcdr.tables.axes import place_values
from mlcdr.tables.canvas import STYLE, Drawing, add_legend, new_figure, write_drawings, write_heading
from mlcdr.tables.cells import lacks_any
from mlcdr.tables.checks import refuse_misfits
from mlcdr.tables.layouts import TIMES
from mlcdr.tables.panels import draw_panel
from mlcdr.tables.planned_figures import list_judged, locate_layout, open_layout, plan_figures
from mlcdr.tables.spot import Spot
from mlcdr.tables.text_format import SPREADS, describe_splits, shorten_name


def draw_figure(results: Results, entry: LayoutSpec, *subject: str) -> Figure:
    """One of the figures that an entry of `figures:` describes.

    Parameters
    ----------
    results : Results
    entry : LayoutSpec
        The layout, and any of its keys that shall differ from it.
    subject : str
        What the figure is of, one of `list_subjects`: with panels of metrics, the data set.

    Raises
    ------
    ResultsError
        When the layout cannot be read or does not fit the results: a panel's metric, or its swept path, is not there.
    """
    whole = open_layout(results, entry)
    _refuse_strange_values(whole, entry)
    with mpl.rc_context(STYLE):
        return _draw(whole, dict(zip(whole.layout.apart, subject, strict=True)))


def draw_all(results: Results, asked: Sequence[LayoutSpec]) -> Iterator[Drawing]:
    """Every figure of some entries; errors as `draw_figure`."""
    for planned in plan_figures(results, asked):
        yield Drawing(draw_figure(results, planned.entry, *planned.subject), planned.title, planned.stem)


def write_all(results: Results, asked: Sequence[LayoutSpec] | None = None) -> list[Path]:
    """Write figures into `figures/` of the results folder, each as `.svg` and `.png`.

    `asked`: the entries to draw, in place of the experiment's own.

    Raises
    ------
    ResultsError
        As `draw_figure`; or when a file cannot be written.
    """
    asked = results.experiment.figures if asked is None else asked
    return write_drawings(results.folder, draw_all(results, asked))


def choose_figures(results: Results) -> list[LayoutSpec]:
    """Entries of generic figures for an experiment, by what it sweeps and measures.

    Nothing swept: boxes over the splits. One parameter: curves. Two or more: a heat map of the last two for each method
    that has both, the others at their first values. Methods and a time: accuracy against time.
    """
    swept = [path for path, n in results.sweep.items() if n > 1]
    first = {path: results.values(path)[0] for path in swept}
    found: list[tuple[str, dict[str, Any]]] = []
    if not swept:
        found.append(("boxes", {}))
    elif len(swept) == 1:
        found.append(("curves", {}))
    elif any(not lacks_any(results, method, swept[-2:]) for method in results.methods):
        others = {path: first[path] for path in swept[:-2]}
        found.append(("heatmap", {"at": others}))
    else:  # no method has two of them: each has a figure along its own
        for path in swept:
            others = {other: value for other, value in first.items() if other != path}
            found.append(("curves", {"x": path, "at": others}))
    judged = list_judged(results)
    if judged and any(name in results.metrics for name in TIMES):
        found.append(("time", {}))
    chosen = {"metrics": judged or list(results.metrics)}
    return [LayoutSpec(layout=name, options={**chosen, **options}) for name, options in found]


def _refuse_strange_values(whole: Spot, entry: LayoutSpec) -> None:
    """Refuse a layout with values that the results do not have, or that its axes cannot show."""
    results, layout = whole.results, whole.layout
    refuse_misfits(layout, entry.layout, results)
    where = locate_layout(results, entry)
    for path, value in layout.at.items():
        known = results.values(path)
        if value not in known:
            raise ResultsError(f"{where}: at: {path} has no value {value} (it has: {', '.join(known)})")
    if layout.draw == "curves" and layout.x_scale == "log":
        places = place_values(results.values(layout.x))
        if min(places) <= 0:
            raise ResultsError(f"{where}: x_scale: log shows positive values only, and {layout.x} has others")


def _draw(whole: Spot, subject: Mapping[str, Any]) -> Figure:
    whole = replace(whole, **subject)
    spots, columns = _list_spots(whole)
    figure, axes = new_figure(len(spots), columns, whole.layout.size)
    shown: dict[str, Any] = {}
    for spot, ax in zip(spots, axes, strict=True):
        shown |= draw_panel(ax, spot)
    titles = dict(subject)
    if "metric" in titles:
        titles["metric"] = whole.name_metric(whole.metric)
    write_heading(figure, ", ".join(titles.values()) or whole.results.name)
    if whole.layout.lines == "methods":
        shown = {method: shown[method] for method in whole.methods if method in shown}
    add_legend(figure, shown, _describe(whole))
    return figure


def _list_spots(whole: Spot) -> tuple[list[Spot], int]:
    """The panels of one figure, row by row, and how many stand side by side; `whole` is what all of them show."""
    panels, columns = whole.layout.panels, whole.layout.columns
    if not isinstance(panels, str):
        spots = [replace(whole, **panel.model_dump()) for panel in panels]
        return spots, min(columns, len(spots))
    kinds = [kind.removesuffix("s") for kind in panels.split("_by_")]
    there = whole.there
    spots = []
    for values in itertools.product(*(there[kind] for kind in kinds)):
        own: dict[str, Any] = dict(zip(kinds, values, strict=True))
        spots.append(replace(whole, **own))
    if len(kinds) > 1:
        columns = len(there[kinds[1]])
    return spots, min(columns, len(spots))


def _describe(whole: Spot) -> str:
    """What lines, bands, boxes and colours stand for."""
    layout, there = whole.layout, whole.there
    summary = whole.results.summary
    shown = summary["dataset"].isin(there["dataset"]) & summary["metric"].isin(there["metric"])
    counts = summary["n"][shown]
    if counts.empty:
        return ""
    over = describe_splits(counts)
    text = f"Mean {over}"
    if layout.draw == "boxes":
        text = f"Box: quartiles {over}; line: median; marker: mean; whiskers: within 1.5 times the box"
    elif layout.draw == "heatmap":
        text = f"Mean {over}; the brighter, the better; framed: the best"
    elif layout.band != "none" and counts.max() > 1:
        text = f"Mean and {SPREADS[layout.band]} {over}"
    values = []
    for path, value in layout.at.items():
        values.append(f"{whole.name_path(path)} = {shorten_name(value)}")
    return f"{text}; {', '.join(values)}" if values else text
