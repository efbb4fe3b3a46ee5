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
from mlcdr.tables import layouts
from mlcdr.tables.axes import place_values
from mlcdr.tables.canvas import STYLE, Drawing, add_legend, new_figure, write_drawings, write_heading
from mlcdr.tables.checks import refuse_misfits
from mlcdr.tables.layouts import TIMES, FigureLayout
from mlcdr.tables.panels import draw_panel
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
    whole = _open(results, entry)
    _refuse_strange_values(whole, entry)
    with mpl.rc_context(STYLE):
        return _draw(whole, dict(zip(whole.layout.apart, subject, strict=True)))


def list_subjects(results: Results, entry: LayoutSpec) -> list[tuple[str, ...]]:
    """What each of an entry's figures is of: a data set, a metric, a method, or several of them, in this order.

    Raises
    ------
    ResultsError
        When the layout cannot be read.
    """
    whole = _open(results, entry)
    layout, there = whole.layout, whole.there
    axes = [path for path in layout.paths if path not in layout.at]
    # A figure of one method needs a method that has what the axes show.
    there["method"] = [method for method in there["method"] if not _lacks_any(results, method, axes)]
    return list(itertools.product(*(there[dimension] for dimension in layout.apart)))


def draw_all(results: Results, asked: Sequence[LayoutSpec]) -> Iterator[Drawing]:
    """Every figure of some entries.

    The stem of its file is the layout's name with `_` for `/`, and the data set's (metric's, method's) name where there
    are several.

    Raises
    ------
    ResultsError
        As `draw_figure`.
    """
    for entry, stem in zip(asked, layouts.stems(asked), strict=True):
        layout = _open(results, entry).layout
        planned = {"dataset": layout.datasets, "metric": layout.chosen_metrics, "method": results.methods}
        for subject in list_subjects(results, entry):
            own_stem = stem
            for dimension, name in zip(layout.apart, subject, strict=True):
                if len(planned[dimension] or ()) > 1:
                    own_stem += f"_{layouts.file_name(name)}"
            title = results.name
            if subject:
                title += ": " + ", ".join(map(shorten_name, subject))
            yield Drawing(draw_figure(results, entry, *subject), title, own_stem)


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
    elif any(not _lacks_any(results, method, swept[-2:]) for method in results.methods):
        others = {path: first[path] for path in swept[:-2]}
        found.append(("heatmap", {"at": others}))
    else:  # no method has two of them: each has a figure along its own
        for path in swept:
            others = {other: value for other, value in first.items() if other != path}
            found.append(("curves", {"x": path, "at": others}))
    judged = _list_judged(results)
    if judged and any(name in results.metrics for name in TIMES):
        found.append(("time", {}))
    chosen = {"metrics": judged or list(results.metrics)}
    return [LayoutSpec(layout=name, options={**chosen, **options}) for name, options in found]


def _lacks_any(results: Results, method: str, paths: Sequence[str]) -> bool:
    return any(results.lacks(method, path) for path in paths)


def _list_judged(results: Results) -> list[str]:
    """The metrics that are no times."""
    return [metric for metric in results.metrics if not results.metric_facts(metric).is_time]


def _open(results: Results, entry: LayoutSpec) -> Spot:
    """What all panels of an entry's figures show; its layout with axes, metrics and data sets named."""
    layout = layouts.load(FigureLayout, entry).settle(results.sweep, results.metrics)
    metrics = layout.chosen_metrics
    # times are the x axis of this figure, and are not drawn against themselves
    if layout.draw == "scatter" and metrics is None:
        metrics = tuple(_list_judged(results))
    datasets = results.datasets if layout.datasets is None else layout.datasets
    for name in datasets:
        if name not in results.datasets:
            known = ", ".join(results.datasets)
            raise ResultsError(f"{_locate(results, entry)}: no data set {name!r} (there are: {known})")
    settled = {
        "metric": None,
        "metrics": metrics or results.metrics,
        "datasets": tuple(name for name in results.datasets if name in datasets),
    }
    # those first that the layout names
    methods = dict.fromkeys([*layout.methods, *results.methods])
    there = [method for method in methods if method in results.with_results]
    return Spot(results, layout.model_copy(update=settled), there)


def _refuse_strange_values(whole: Spot, entry: LayoutSpec) -> None:
    """Refuse a layout with values that the results do not have, or that its axes cannot show."""
    results, layout = whole.results, whole.layout
    refuse_misfits(layout, entry.layout, results)
    where = _locate(results, entry)
    for path, value in layout.at.items():
        known = results.values(path)
        if value not in known:
            raise ResultsError(f"{where}: at: {path} has no value {value} (it has: {', '.join(known)})")
    if layout.draw == "curves" and layout.x_scale == "log":
        places = place_values(results.values(layout.x))
        if min(places) <= 0:
            raise ResultsError(f"{where}: x_scale: log shows positive values only, and {layout.x} has others")


def _locate(results: Results, entry: LayoutSpec) -> str:
    return f"{results.folder}: layout {entry.layout}"


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
