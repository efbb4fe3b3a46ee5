"""Figures of a results folder: curves over a swept parameter, one panel a metric or a data set, one line a method.

`write_all` writes those that the experiment asks for into `figures/` of the results folder, as SVG and PNG: one figure
a data set, or, where the data sets are panels, one figure a metric. What a layout can say stands in
`mlcdr.reporting.layouts`.

A method keeps its colour and marker in all figures of an experiment. The colours are Okabe & Ito's (2008), told apart
with any colour vision, without their yellow, which is too light for a line, and with a grey; markers and line styles
tell them apart without colour. The same results give the same bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from mlcdr.errors import ResultsError, did_you_mean
from mlcdr.reporting import layouts, output
from mlcdr.reporting.curves import Curve, curve, positions
from mlcdr.reporting.layouts import FigureLayout, Panel
from mlcdr.reporting.metric_facts import metric_facts
from mlcdr.reporting.results import Results
from mlcdr.reporting.tables import SPREADS, over_splits, short_path

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#8C8C8C")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES = ("-", "--", "-.")
_LEGEND = 6  # entries in a row of the legend, at most
_MILLIMETRES = 25.4  # an inch
_NEAREST = 1 / 15  # of the axis: ticks nearer than this run into each other, and the later one is left out
_ROW = 58.0  # millimetres of height for each row of panels, where a layout does not say
_PNG_DPI = 300

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same letters everywhere
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "mathtext.fontset": "dejavusans",
    "figure.constrained_layout.w_pad": 0.08,  # inches
    "figure.constrained_layout.h_pad": 0.06,
    "svg.fonttype": "path",
    "svg.hashsalt": "mlcdr",
}


def render(results: Results, entry: Mapping[str, Any], subject: str) -> Figure:
    """The figure of one data set (or metric, where the data sets are panels) that an entry of `figures:` describes.

    Parameters
    ----------
    results : Results
    entry : mapping
        `{"layout": NAME or FILE.yaml}` and any key of the layout that shall differ from it.
    subject : str
        The data set, or the metric.

    Raises
    ------
    ResultsError
        When the layout cannot be read or does not fit the results: a panel's metric, or its swept path, is not there.
    """
    layout = layouts.load_figure(entry)
    layout = layout.model_copy(update={"x": layout.along({path: len(results.values(path)) for path in results.swept})})
    _check(results, layout, str(entry["layout"]), subject)
    with mpl.rc_context(STYLE):
        return _draw(results, layout, subject)


def write_all(results: Results) -> list[Path]:
    """Write every figure of the experiment into `figures/` of its folder, each as `.svg` and `.png`.

    The stem is the layout's name with `_` for `/`, and the data set's (or metric's) name where there are several.

    Raises
    ------
    ResultsError
        As `render`; or when a file cannot be written.
    """
    asked = output.entries(results, "figures")
    written = []
    for entry, stem in zip(asked, output.stems(asked), strict=True):
        layout = layouts.load_figure(entry)
        if layout.panels == "datasets":
            subjects = possible = layout.chosen_metrics or results.metrics
        else:
            subjects, possible = _measured(results), results.datasets
        for subject in subjects:
            figure = render(results, entry, subject)
            name = f"{stem}_{layouts.file_name(subject)}" if len(possible) > 1 else stem
            written += save(figure, results.folder / "figures" / name, f"{results.name}: {subject}")
    return written


def _measured(results: Results) -> tuple[str, ...]:
    """The data sets that have results."""
    return tuple(dataset for dataset in results.datasets if (results.summary["dataset"] == dataset).any())


def save(figure: Figure, stem: Path, title: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png, without a date, so that the same figure gives the same bytes.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": "mlcdr", "Title": title},
        "png": {"Software": "mlcdr", "Title": title},
    }
    contents = {}
    for ending, metadata in about.items():
        image = io.BytesIO()
        with mpl.rc_context(STYLE):
            figure.savefig(image, format=ending, dpi=_PNG_DPI, metadata=metadata)
        contents[ending] = image.getvalue()
    return output.write(stem, contents)


def _check(results: Results, layout: FigureLayout, name: str, subject: str) -> None:
    where = f"{results.folder}: layout {name}"
    if layout.x not in results.swept:
        swept = ", ".join(results.swept) or "nothing"
        raise ResultsError(f"{where}: x: {layout.x} is not swept (swept there: {swept})")
    wanted = layout.chosen_metrics or ()
    missing = [metric for metric in wanted if metric not in results.metrics]
    if missing:
        hint = did_you_mean(missing[0], results.metrics)
        raise ResultsError(
            f"{where}: the results have no {', '.join(missing)}{hint} (measured: {', '.join(results.metrics)}); "
            "add it to `metrics:` and run again"
        )
    kind, there = ("metric", results.metrics) if layout.panels == "datasets" else ("data set", results.datasets)
    if subject not in there:
        raise ResultsError(f"{where}: no {kind} {subject!r} (there are: {', '.join(there)})")
    if layout.x_scale == "log" and min(positions(results.values(layout.x)), default=1.0) <= 0:
        raise ResultsError(f"{where}: x_scale: log shows positive values only, and {layout.x} has others")
    others = [path for path in results.swept if path != layout.x and len(results.values(path)) > 1]
    if others:
        raise ResultsError(
            f"{where}: {', '.join(others)} is swept too, so a method has several curves; a figure shows one sweep"
        )


def _panels(results: Results, layout: FigureLayout, subject: str) -> list[tuple[Panel, str]]:
    """The panels of one figure, each with its data set."""
    if layout.panels == "datasets":
        return [(Panel(metric=subject, title=dataset), dataset) for dataset in _measured(results)]
    if layout.panels == "metrics":
        return [(Panel(metric=metric), subject) for metric in layout.chosen_metrics or results.metrics]
    return [(panel, subject) for panel in layout.panels]


def _draw(results: Results, layout: FigureLayout, subject: str) -> Figure:
    panels = _panels(results, layout, subject)
    columns = min(layout.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    width, height = (side / _MILLIMETRES for side in layout.size or (170.0, 16.0 + _ROW * rows))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = _legend_order(results, layout)
    shown: dict[str, Any] = {}
    for (panel, dataset), ax in zip(panels, axes, strict=False):
        shown |= _draw_panel(ax, results, layout, panel, dataset, methods)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    heading = metric_facts(results, subject).title if layout.panels == "datasets" else subject
    figure.suptitle(heading, fontsize=9.5, fontweight="bold", parse_math=False)
    handles = [shown[method] for method in methods if method in shown]
    if handles:
        legend = figure.legend(
            handles,
            [handle.get_label() for handle in handles],
            loc="outside lower center",
            ncols=math.ceil(len(handles) / math.ceil(len(handles) / _LEGEND)),
            frameon=False,
            handlelength=3.0,
            title=_what_is_shown(results, layout, panels),
            title_fontsize=7.0,
        )
        for label in legend.get_texts():
            label.set_parse_math(False)  # a method's name is the user's: a dollar sign in it is a dollar sign
    return figure


def _draw_panel(
    ax: Axes, results: Results, layout: FigureLayout, panel: Panel, dataset: str, methods: Sequence[str]
) -> dict[str, Any]:
    """Draw one panel; method → its line."""
    values = results.values(layout.x)
    places = positions(values)
    lines = {}
    for method in methods:
        found = curve(results, layout.x, layout.band, dataset, method, panel.metric)
        if found.x:
            lines[method] = _draw_curve(ax, found, results.methods.index(method))
    ax.set_title(panel.title, loc="left", parse_math=panel.title != dataset)
    ax.set_ylabel(panel.label or metric_facts(results, panel.metric).title)
    percent = all(value.endswith("%") for value in values)
    ax.set_xlabel((layout.x_label_percent if percent else "") or layout.x_label or short_path(layout.x, results.swept))
    ax.set_xscale(layout.x_scale)
    ax.set_yscale(layout.y_scale)
    ticks = _ticks(places, layout.x_scale == "log")
    if len(ticks) == len(values) or layout.x_scale == "log":
        ax.set_xticks([places[k] for k in ticks], [values[k] for k in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=all(x == round(x) for x in places)))
    return lines


def _ticks(places: Sequence[float], logarithmic: bool) -> list[int]:
    """Which of the values get a tick of their own: those that lie far enough from the one before."""
    places = [math.log(x) for x in places] if logarithmic else places
    span = max(places) - min(places)
    kept: list[int] = []
    for k in sorted(range(len(places)), key=places.__getitem__):
        if not kept or places[k] - places[kept[-1]] >= _NEAREST * span:
            kept.append(k)
    return kept


def _draw_curve(ax: Axes, curve: Curve, k: int) -> Any:
    """A line with its band; `k` is the method's place in the experiment, which gives it its looks."""
    colour = _COLOURS[k % len(_COLOURS)]
    (line,) = ax.plot(
        curve.x,
        curve.mean,
        label=curve.method,
        color=colour,
        linestyle=_LINES[k % len(_LINES)],
        marker=_MARKERS[k % len(_MARKERS)],
        markerfacecolor="white",
        markeredgewidth=1.0,
        # Where lines coincide, the lower one shows through the upper one's gaps and markers.
        zorder=3 + k * 0.01,
    )
    low = [m - s for m, s in zip(curve.mean, curve.spread, strict=True)]
    high = [m + s for m, s in zip(curve.mean, curve.spread, strict=True)]
    ax.fill_between(curve.x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=2)
    return line


def _what_is_shown(results: Results, layout: FigureLayout, panels: Sequence[tuple[Panel, str]]) -> str:
    """What line and band stand for."""
    shown = {(dataset, panel.metric) for panel, dataset in panels}
    counts = [cell.n for key, cell in results.cells.items() if (key[0], key[-1]) in shown]
    spread = SPREADS.get(layout.band)
    return f"Mean{f' and {spread}' if spread and max(counts) > 1 else ''} {over_splits(counts)}"


def _legend_order(results: Results, layout: FigureLayout) -> list[str]:
    first = [method for method in layout.methods if method in results.methods]
    return [*first, *(method for method in results.methods if method not in first)]
