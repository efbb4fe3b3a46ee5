"""What stands in one panel of a figure: curves, boxes, bars, points against time, or a heat map.

Each drawing gives back its legend: label → the artist that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from mlcdr.errors import ResultsError
from mlcdr.results.results import Results
from mlcdr.tables import styles
from mlcdr.tables.curves import Curve, place_values, point, trace_curve
from mlcdr.tables.layouts import FigureLayout
from mlcdr.tables.text_format import shorten_name, shorten_path

_LETTERS = 19  # letters per inch below a panel
_NEAREST = 1 / 15  # of the axis: ticks nearer than this run into each other, and the later one is left out
_GROUP = 0.8  # of the distance between two groups is filled with their boxes or bars
_WRITTEN = 144  # cells of a heat map up to which each has its number
_WIDEST = 1e6  # means that are written have at most six digits before the point
_TICKS = 12  # of a heat map's axis, at most
_DOTS = "#444444"

Legend = dict[str, Any]


@dataclass(frozen=True)
class Spot:
    """The data set, metric and method of a panel; empty for a dimension that its lines or its axis show."""

    dataset: str = ""
    metric: str = ""
    method: str = ""
    title: str = ""
    label: str = ""


def draw(ax: Axes, results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> Legend:
    """Draw one panel of a layout whose axes are settled.

    Raises
    ------
    ResultsError
        When numbers cannot be normalised, or a file of the results cannot be read.
    """
    drawing = {
        "curves": _draw_curves,
        "boxes": _draw_groups,
        "bars": _draw_groups,
        "scatter": _draw_scatter,
        "heatmap": _draw_heat_map,
    }
    ax.set_title(spot.title or _heading(results, layout, spot), parse_math=bool(spot.title))
    return drawing[layout.draw](ax, results, layout, spot, methods)


def name_metric(results: Results, metric: str) -> str:
    """A metric's printed name; empty for no metric."""
    return shorten_name(results.metric_facts(metric).title) if metric else ""


def _heading(results: Results, layout: FigureLayout, spot: Spot) -> str:
    """The data set where there is a panel for each; the metric where no axis has its name."""
    dataset = shorten_name(spot.dataset) if isinstance(layout.panels, str) and "datasets" in layout.panels else ""
    metric = spot.metric if isinstance(layout.panels, str) and "metrics" in layout.panels else ""
    return ": ".join(filter(None, (dataset, name_metric(results, metric) if layout.draw == "heatmap" else "")))


def _label_value_axis(ax: Axes, results: Results, layout: FigureLayout, spot: Spot) -> None:
    label = spot.label or name_metric(results, spot.metric) or "value"
    share = {"none": "", "max": " / largest", "min": " / smallest"}[layout.normalise]
    ax.set_ylabel(label + share, parse_math=bool(spot.label))
    ax.set_yscale(layout.y_scale)


def _label_path_axis(ax: Axes, layout: FigureLayout, values: Sequence[str], swept: Sequence[str]) -> None:
    percent = all(value.endswith("%") for value in values)
    own = (layout.x_label_percent if percent else "") or layout.x_label
    label = own or shorten_name(shorten_path(layout.x, swept))
    if len(label) > _letters(ax) and "$" not in label:
        label = fill(label, _letters(ax))
    ax.set_xlabel(label, parse_math=bool(own))  # a path is a path, whatever stands in it


def _letters(ax: Axes) -> int:
    """How many letters go side by side below the panel."""
    return int(_LETTERS * ax.bbox.width / ax.figure.dpi)


# -------------------------------------------------------------------- curves


def _draw_curves(ax: Axes, results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> Legend:
    values = results.values(layout.x)
    legend: Legend = {}
    for k, found in _list_lines(results, layout, spot, methods):
        if found.x:
            legend[found.method] = _draw_curve(ax, _normalise(found, layout), k)
    _label_path_axis(ax, layout, values, results.swept)
    _label_value_axis(ax, results, layout, spot)
    ax.set_xscale(layout.x_scale)
    mark_values(ax, values)
    return legend


def mark_values(ax: Axes, values: Sequence[str]) -> None:
    """Put a tick at each value of a swept path; round numbers where there is no room for all of them."""
    places = place_values(values)
    names = [shorten_name(value) for value in values]
    logarithmic = ax.get_xscale() == "log"
    ticks = _choose_ticks(places, [len(name) for name in names], logarithmic, _letters(ax))
    if len(ticks) == len(values) or logarithmic:
        ax.set_xticks([places[k] for k in ticks], [names[k] for k in ticks], parse_math=False)
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=all(x == round(x) for x in places)))


def _list_lines(results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> list[tuple[int, Curve]]:
    """The lines of a panel, each with the number that sets its colour and marker: the method's, or its own."""

    def along(label: str, dataset: str, method: str, metric: str, at: Mapping[str, str] = layout.at) -> Curve:
        return replace(trace_curve(results, layout.x, layout.band, dataset, method, metric, at), method=label)

    if layout.lines == "methods":
        return [(results.methods.index(m), along(m, spot.dataset, m, spot.metric)) for m in methods]
    if layout.lines == "datasets":
        return [(k, along(d, d, spot.method, spot.metric)) for k, d in enumerate(list_datasets(results, layout))]
    if layout.lines == "metrics":
        wanted = layout.chosen_metrics or results.metrics
        return [(k, along(name_metric(results, m), spot.dataset, spot.method, m)) for k, m in enumerate(wanted)]
    name = shorten_path(layout.lines, results.swept)
    return [
        (k, along(f"{name} = {v}", spot.dataset, spot.method, spot.metric, {**layout.at, layout.lines: v}))
        for k, v in enumerate(results.values(layout.lines))
    ]


def list_datasets(results: Results, layout: FigureLayout) -> tuple[str, ...]:
    """The data sets that have results and that the layout does not leave out."""
    measured = (name for name in results.datasets if name in results.with_results)
    return tuple(name for name in measured if layout.datasets is None or name in layout.datasets)


def _normalise(found: Curve, layout: FigureLayout) -> Curve:
    if layout.normalise == "none":
        return found
    unit = _unit(found.mean, layout, found.method)
    return replace(found, mean=[m / unit for m in found.mean], spread=[s / unit for s in found.spread])


def _unit(means: Sequence[float], layout: FigureLayout, what: str) -> float:
    """What to divide by.

    Raises
    ------
    ResultsError
        When it is 0.
    """
    unit = max(means) if layout.normalise == "max" else min(means)
    if unit == 0:
        raise ResultsError(f"normalise: {layout.normalise}: the value of {what} to divide by is 0")
    return unit


def _draw_curve(ax: Axes, found: Curve, k: int) -> Line2D:
    """A line with its band."""
    (line,) = ax.plot(found.x, found.mean, label=found.method, **styles.curve(k))
    low = [m - s for m, s in zip(found.mean, found.spread, strict=True)]
    high = [m + s for m, s in zip(found.mean, found.spread, strict=True)]
    ax.fill_between(found.x, low, high, color=styles.colour(k), alpha=0.2, linewidth=0, zorder=2)
    return line


def _choose_ticks(places: Sequence[float], lengths: Sequence[int], logarithmic: bool, room: int) -> list[int]:
    """Which of the values get a tick of their own: those whose text stands clear of the one before.

    `lengths` are those of the texts, and `room` the axis', in letters.
    """
    places = [math.log(x) for x in places] if logarithmic else places
    span = max(places) - min(places)
    kept: list[int] = []
    for k in sorted(range(len(places)), key=places.__getitem__):
        letters = (lengths[k] + lengths[kept[-1]]) / 2 + 1 if kept else 0.0
        if not kept or places[k] - places[kept[-1]] >= max(_NEAREST, letters / room) * span:
            kept.append(k)
    return kept


# -------------------------------------------------------------------- boxes and bars


def _draw_groups(ax: Axes, results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> Legend:
    """A group of boxes or bars for each value of a swept path or data set; or the methods side by side."""
    if layout.x == "method":
        groups = [("", spot.dataset, dict(layout.at))]
    elif layout.x == "dataset":
        groups = [(dataset, dataset, dict(layout.at)) for dataset in list_datasets(results, layout)]
    else:
        groups = [(value, spot.dataset, {**layout.at, layout.x: value}) for value in results.values(layout.x)]
    width = _GROUP / len(methods)
    legend: Legend = {}
    for g, (name, dataset, at) in enumerate(groups):
        cells = {m: results.cell(dataset, m, point(results, at), spot.metric) for m in methods}
        there = {method: cell for method, cell in cells.items() if cell is not None}
        unit = 1.0
        if layout.normalise != "none" and there:
            unit = _unit([cell.mean for cell in there.values()], layout, name or dataset)
        for i, method in enumerate(methods):
            if method not in there:
                continue
            k, cell = results.methods.index(method), there[method]
            x = g + (i - (len(methods) - 1) / 2) * width
            if layout.draw == "bars":
                spread = cell.spread(layout.band)
                error = None if not spread or math.isnan(spread) else spread / unit
                filled: dict[str, Any] = {"facecolor": styles.colour(k), "hatch": styles.hatch(k)}
                filled |= {"edgecolor": "white", "linewidth": 0.4}
                whisker = {"elinewidth": 0.8, "ecolor": _DOTS}
                ax.bar(x, cell.mean / unit, 0.9 * width, yerr=error, error_kw=whisker, **filled)
                legend[method] = Patch(label=method, **filled)
            else:
                values = results.split_values(dataset, method, point(results, at), spot.metric, cell.setting)
                if values:  # a file that was imported may have the mean alone
                    _draw_box(ax, list(values.values()), x, width, k)
                legend[method] = Line2D([], [], label=method, **styles.mark(k))
    _label_value_axis(ax, results, layout, spot)
    ax.grid(False, axis="x")
    if layout.x == "method":
        names = [shorten_name(method) for method in methods]
        ax.set_xticks([(i - (len(methods) - 1) / 2) * width for i in range(len(methods))], names, parse_math=False)
        _set_slanted(ax, names)
        legend = {}  # the methods' names are on the axis
    else:
        names = [shorten_name(name) for name, _, _ in groups]
        ax.set_xticks(range(len(groups)), names, parse_math=False)
        if layout.x == "dataset":
            _set_slanted(ax, names)
        else:
            _label_path_axis(ax, layout, [name for name, _, _ in groups], results.swept)
    return legend


def _set_slanted(ax: Axes, names: Sequence[str]) -> None:
    """Names at the horizontal axis, on a slant where they would run into each other."""
    room = 36 / len(names)  # letters from one name to the next: a panel is some 36 wide
    if sum(map(len, names)) > 30 or any((len(one) + len(next_)) / 2 + 1 > room for one, next_ in pairwise(names)):
        ax.tick_params(axis="x", labelrotation=35)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def _draw_box(ax: Axes, values: Sequence[float], x: float, width: float, k: int) -> None:
    """Quartiles and median, whiskers to the furthest value within 1.5 times the box, the others as dots."""
    colour = styles.colour(k)
    ax.boxplot(
        [list(values)],
        positions=[x],
        widths=0.75 * width,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": "white", "edgecolor": colour, "linewidth": 1.0, "linestyle": styles.line(k)},
        medianprops={"color": colour, "linewidth": 1.6},
        whiskerprops={"color": colour, "linewidth": 0.9},
        capprops={"color": colour, "linewidth": 0.9},
        flierprops={"markersize": 2.5, **styles.mark(k), "markeredgewidth": 0.6},
    )
    (line,) = ax.plot([x], [float(np.mean(values))], linestyle="none", markersize=3.2, **styles.mark(k))
    line.set_zorder(4)


# -------------------------------------------------------------------- accuracy against time


def _draw_scatter(ax: Axes, results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> Legend:
    legend: Legend = {}
    varied = [path for path in results.swept if path not in layout.at and len(results.values(path)) > 1]
    for method in methods:
        k = results.methods.index(method)
        pairs = []
        for where in results.points_of(method):
            if all(results.lacks(method, p) or where[results.swept.index(p)] == v for p, v in layout.at.items()):
                cell, cost = (results.cell(spot.dataset, method, where, name) for name in (spot.metric, layout.x))
                if cell is not None and cost is not None:
                    pairs.append((cost.mean, cell.mean, cell.spread(layout.band) or 0.0))
        if not pairs:
            continue
        x, y, spread = (list(each) for each in zip(*pairs, strict=True))
        joined = {**styles.curve(k), "linewidth": 0.8} if len(varied) == 1 else {"linestyle": "none", **styles.mark(k)}
        (legend[method],) = ax.plot(x, y, label=method, markersize=4.5, **{"zorder": 3, **joined})
        if layout.band != "none" and not any(map(math.isnan, spread)):
            ax.errorbar(x, y, yerr=spread, fmt="none", ecolor=styles.colour(k), elinewidth=0.7, alpha=0.6, zorder=2)
    if layout.x_scale == "log" or _spans_decades(ax):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(layout.x_label or f"{name_metric(results, layout.x)} (mean)")
    _label_value_axis(ax, results, layout, spot)
    return legend


def _spans_decades(ax: Axes) -> bool:
    """Whether the points' x are positive and the largest is over five times the smallest."""
    x = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in ax.lines] or [np.ones(1)])
    return bool(x.min() > 0 and x.max() > 5 * x.min())


# -------------------------------------------------------------------- heat maps


def _draw_heat_map(ax: Axes, results: Results, layout: FigureLayout, spot: Spot, methods: Sequence[str]) -> Legend:
    across, down = results.values(layout.x), results.values(layout.y)
    cells = np.full((len(down), len(across)), np.nan)
    for i, y in enumerate(down):
        for j, x in enumerate(across):
            where = point(results, {**layout.at, layout.x: x, layout.y: y})
            cell = results.cell(spot.dataset, spot.method, where, spot.metric)
            cells[i, j] = math.nan if cell is None else cell.mean
    better = results.metric_facts(spot.metric).higher_is_better
    ax.set_facecolor("#e6e6e6")  # what a missing number shows
    image = ax.imshow(cells, cmap="cividis_r" if better is False else "cividis", aspect="auto", origin="lower")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.06)
    bar.ax.tick_params(labelsize=6.5)
    bar.outline.set_visible(False)
    if cells.size <= _WRITTEN and np.nanmax(np.abs(cells), initial=0) < _WIDEST and len(across) <= _TICKS:
        _write_cells(ax, cells, image)
    if better is not None and not np.isnan(cells).all():
        best = np.nanmax(cells) if better else np.nanmin(cells)
        for i, j in np.argwhere(cells == best):
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#d55e00", linewidth=1.6))
    ax.grid(False)
    for axis, values in ((ax.xaxis, across), (ax.yaxis, down)):
        step = math.ceil(len(values) / _TICKS)
        axis.set_ticks(range(0, len(values), step), [shorten_name(value) for value in values[::step]], parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _label_path_axis(ax, layout, across, results.swept)
    ax.set_ylabel(spot.label or shorten_name(shorten_path(layout.y, results.swept)))
    return {}


def _write_cells(ax: Axes, cells: np.ndarray, image: Any) -> None:
    """The numbers, each black or white, whichever is read better on its colour; as many digits as tell them apart."""
    span = float(np.nanmax(cells) - np.nanmin(cells)) if not np.isnan(cells).all() else 0.0
    digits = min(4, max(3, 1 - math.floor(math.log10(span)))) if span > 0 else 3
    for (i, j), value in np.ndenumerate(cells):
        if not math.isnan(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45
            ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=5.5,
                    color="white" if dark else "black")  # fmt: skip
