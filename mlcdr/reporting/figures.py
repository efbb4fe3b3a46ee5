"""Figures of a results folder: curves over a swept parameter, one panel a metric, one line a method.

`write_all` writes those that the experiment asks for into `figures/` of the results folder, as SVG and PNG; one figure
a data set, since the curves of several are not comparable. What a layout can say stands in `mlcdr.reporting.layouts`.

A method keeps its colour and marker in all figures of an experiment. The colours are Okabe & Ito's (2008), told apart
with any colour vision, without their yellow, which is too light for a line; markers and line styles tell them apart in
grey. The same results give the same bytes.
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
from matplotlib.ticker import MaxNLocator

from mlcdr.errors import ResultsError, did_you_mean
from mlcdr.reporting import layouts, output
from mlcdr.reporting.curves import Curve, curve, positions
from mlcdr.reporting.layouts import FigureLayout, Panel
from mlcdr.reporting.metric_facts import metric_facts
from mlcdr.reporting.results import Results
from mlcdr.reporting.tables import SPREADS, over_splits, short_path

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES = ("-", "--", "-.")
_MILLIMETRES = 25.4  # an inch
_MANY = 15  # beyond this many values not each has a tick of its own
_PNG_DPI = 300

_STYLE: dict[Any, Any] = {
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


def render(results: Results, entry: Mapping[str, Any], dataset: str) -> Figure:
    """The figure of one data set that an entry of `figures:` describes.

    Parameters
    ----------
    results : Results
    entry : mapping
        `{"layout": NAME or FILE.yaml}` and any key of the layout that shall differ from it.
    dataset : str

    Raises
    ------
    ResultsError
        When the layout cannot be read or does not fit the results: a panel's metric, or its swept path, is not there.
    """
    layout = layouts.load_figure(entry)
    _check(results, layout, str(entry["layout"]), dataset)
    with mpl.rc_context(_STYLE):
        return _draw(results, layout, dataset)


def write_all(results: Results) -> list[Path]:
    """Write every figure of the experiment into `figures/` of its folder, each as `.svg` and `.png`.

    The stem is the layout's name with `_` for `/`, and the data set's name where there are several.

    Raises
    ------
    ResultsError
        As `render`; or when a file cannot be written.
    """
    asked = output.entries(results, "figures")
    written = []
    for entry, stem in zip(asked, output.stems(asked), strict=True):
        measured = [dataset for dataset in results.datasets if (results.summary["dataset"] == dataset).any()]
        for dataset in measured:
            figure = render(results, entry, dataset)
            name = f"{stem}_{layouts.file_name(dataset)}" if len(results.datasets) > 1 else stem
            written += save(figure, results.folder / "figures" / name, f"{results.name}: {dataset}")
    return written


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
        with mpl.rc_context(_STYLE):
            figure.savefig(image, format=ending, dpi=_PNG_DPI, metadata=metadata)
        contents[ending] = image.getvalue()
    return output.write(stem, contents)


def _check(results: Results, layout: FigureLayout, name: str, dataset: str) -> None:
    where = f"{results.folder}: layout {name}"
    if layout.x not in results.swept:
        swept = ", ".join(results.swept) or "nothing"
        raise ResultsError(f"{where}: x: {layout.x} is not swept (swept there: {swept})")
    missing = [panel.metric for panel in layout.panels if panel.metric not in results.metrics]
    if missing:
        hint = did_you_mean(missing[0], results.metrics)
        raise ResultsError(
            f"{where}: the results have no {', '.join(missing)}{hint} (measured: {', '.join(results.metrics)}); "
            "add it to `metrics:` and run again"
        )
    if dataset not in results.datasets:
        raise ResultsError(f"{where}: no data set {dataset!r} (there are: {', '.join(results.datasets)})")
    others = [path for path in results.swept if path != layout.x and len(results.values(path)) > 1]
    if others:
        raise ResultsError(
            f"{where}: {', '.join(others)} is swept too, so a method has several curves; a figure shows one sweep"
        )


def _draw(results: Results, layout: FigureLayout, dataset: str) -> Figure:
    columns = min(layout.columns, len(layout.panels))
    rows = math.ceil(len(layout.panels) / columns)
    width, height = (side / _MILLIMETRES for side in layout.size)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = _legend_order(results, layout)
    shown: dict[str, Any] = {}
    for panel, ax in zip(layout.panels, axes, strict=False):
        shown |= _draw_panel(ax, results, layout, panel, dataset, methods)
    for ax in axes[len(layout.panels) :]:
        ax.set_visible(False)
    figure.suptitle(dataset, fontsize=9.5, fontweight="bold", parse_math=False)
    handles = [shown[method] for method in methods if method in shown]
    if handles:
        legend = figure.legend(
            handles,
            [handle.get_label() for handle in handles],
            loc="outside lower center",
            ncols=min(len(handles), 6),
            frameon=False,
            handlelength=3.0,
            title=_what_is_shown(results, layout, dataset),
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
    ax.set_title(panel.title, loc="left")
    ax.set_ylabel(panel.label or metric_facts(results, panel.metric).title)
    percent = all(value.endswith("%") for value in values)
    ax.set_xlabel((layout.x_label_percent if percent else "") or layout.x_label or short_path(layout.x, results.swept))
    if len(values) <= _MANY:
        ax.set_xticks(places, values)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return lines


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


def _what_is_shown(results: Results, layout: FigureLayout, dataset: str) -> str:
    """What line and band stand for."""
    shown = {panel.metric for panel in layout.panels}
    counts = [cell.n for key, cell in results.cells.items() if key[0] == dataset and key[-1] in shown]
    spread = SPREADS.get(layout.band)
    return f"Mean{f' and {spread}' if spread and max(counts) > 1 else ''} {over_splits(counts)}"


def _legend_order(results: Results, layout: FigureLayout) -> list[str]:
    first = [method for method in layout.methods if method in results.methods]
    return [*first, *(method for method in results.methods if method not in first)]
