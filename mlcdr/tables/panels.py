"""What stands in one panel of a figure: curves, boxes, bars, points against time, or a heat map.

Each drawing gives back its legend: label → the artist that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from mlcdr.errors import ResultsError
from mlcdr.results.frame import make_places
from mlcdr.results.results import Results
from mlcdr.tables import styles
from mlcdr.tables.axes import label_below, mark_names, mark_values, place_values, stretch_times
from mlcdr.tables.cells import clear_absent
from mlcdr.tables.layouts import LINE_KINDS, FigureLayout
from mlcdr.tables.text_format import shorten_name, shorten_path

_GROUP = 0.8  # of the distance between two groups is filled with their boxes or bars
_WRITTEN = 144  # cells of a heat map up to which each has its number
_WIDEST = 1e6  # means that are written have at most six digits before the point
_TICKS = 12  # of a heat map's axis, at most
_BRIGHT = 0.45  # of 1: a cell of a heat map that is darker has its number in white
_FRAME = "#d55e00"
_MISSING = "#e6e6e6"
_WHISKERS = "#444444"

Legend = dict[str, Any]


@dataclass(frozen=True)
class Spot:
    """What one panel shows.

    Attributes
    ----------
    results : Results
    layout : FigureLayout
        With its axes settled.
    methods : sequence of str
        Those with results, in the order of the legend.
    dataset, metric, method : str
        What the panel is of; empty for a dimension that its lines or its axis show.
    title, label : str
        Above the panel, and along the axis of the metric, where the layout has them.
    """

    results: Results
    layout: FigureLayout
    methods: Sequence[str]
    dataset: str = ""
    metric: str = ""
    method: str = ""
    title: str = ""
    label: str = ""

    def number(self, method: str) -> int:
        """The method's number, which sets its colour and marker."""
        return self.results.methods.index(method)


def draw_panel(ax: Axes, spot: Spot) -> Legend:
    """Draw one panel.

    Raises
    ------
    ResultsError
        When numbers cannot be normalised, or a file of the results cannot be read.
    """
    draw = {
        "curves": _draw_curves,
        "boxes": _draw_groups,
        "bars": _draw_groups,
        "scatter": _draw_scatter,
        "heatmap": _draw_heat_map,
    }
    ax.set_title(spot.title or _head(spot), parse_math=bool(spot.title))
    return draw[spot.layout.draw](ax, spot)


def name_metric(results: Results, metric: str) -> str:
    """A metric's printed name; empty for no metric."""
    return shorten_name(results.metric_facts(metric).title) if metric else ""


def list_datasets(results: Results, layout: FigureLayout) -> tuple[str, ...]:
    """The data sets that have results and that the layout does not leave out."""
    measured = (name for name in results.datasets if name in results.with_results)
    return tuple(name for name in measured if layout.datasets is None or name in layout.datasets)


def _head(spot: Spot) -> str:
    """The data set where there is a panel for each; the metric where no axis has its name."""
    panels = spot.layout.panels
    if not isinstance(panels, str):
        return ""
    parts = []
    if "datasets" in panels:
        parts.append(shorten_name(spot.dataset))
    if "metrics" in panels and spot.layout.draw == "heatmap":
        parts.append(name_metric(spot.results, spot.metric))
    return ": ".join(parts)


def _label_values(ax: Axes, spot: Spot) -> None:
    """Label the axis of the metric."""
    label = spot.label or name_metric(spot.results, spot.metric) or "value"
    share = {"none": "", "max": " / largest", "min": " / smallest"}[spot.layout.normalise]
    ax.set_ylabel(label + share, parse_math=bool(spot.label))
    ax.set_yscale(spot.layout.y_scale)


def _label_path(ax: Axes, spot: Spot) -> None:
    """Label the horizontal axis of a swept path."""
    layout = spot.layout
    own = layout.x_label
    if layout.x_label_percent and all(value.endswith("%") for value in spot.results.values(layout.x)):
        own = layout.x_label_percent
    path = shorten_path(layout.x, spot.results.swept)
    label_below(ax, own or shorten_name(path), parse_math=bool(own))  # a path is a path, whatever stands in it


# -------------------------------------------------------------------- the numbers of a panel


def _look_up(spot: Spot, places: pd.DataFrame) -> pd.DataFrame:
    """The numbers at some places; the panel's subject and the layout's `at` say what `places` does not.

    The column `spread` is what the layout's `band` shows: 0 where it shows none, NaN where it is not known.
    """
    fixed = {
        "dataset": spot.dataset,
        "method": spot.method,
        "metric": spot.metric,
        **spot.layout.at,
    }
    rest = {name: value for name, value in fixed.items() if name not in places}
    cells = spot.results.at(places.assign(**rest))
    return _with_spread(cells, spot.layout)


def _with_spread(cells: pd.DataFrame, layout: FigureLayout) -> pd.DataFrame:
    column = {"standard_error": "se", "std": "std"}.get(layout.band)
    return cells.assign(spread=cells[column] if column else 0.0)


def _normalise(cells: pd.DataFrame, layout: FigureLayout, by: str) -> pd.DataFrame:
    """Divide the means of each group by the largest or the smallest of them.

    Raises
    ------
    ResultsError
        When that is 0.
    """
    if layout.normalise == "none":
        return cells
    unit = cells.groupby(by, sort=False, observed=True)["mean"].transform(layout.normalise)
    nought = cells.loc[unit == 0, by]
    if len(nought):
        raise ResultsError(f"normalise: {layout.normalise}: the value of {nought.iloc[0]} to divide by is 0")
    return cells.assign(mean=cells["mean"] / unit, spread=cells["spread"] / unit)


# -------------------------------------------------------------------- curves


def _draw_curves(ax: Axes, spot: Spot) -> Legend:
    layout = spot.layout
    values = spot.results.values(layout.x)
    kind = LINE_KINDS.get(layout.lines, layout.lines)
    names = _list_lines(spot)
    cells = _look_up(spot, make_places({kind: names, layout.x: values}))
    places = dict(zip(values, place_values(values), strict=True))
    cells["x"] = cells[layout.x].map(places)
    cells = _normalise(cells[cells["n"] > 0], layout, kind)
    legend: Legend = {}
    for k, name in enumerate(names):
        line = cells[cells[kind] == name]
        if line.empty:
            continue
        label = _name_line(spot, name)
        look = spot.number(name) if kind == "method" else k
        legend[label] = _draw_curve(ax, line, label, look)
    _label_path(ax, spot)
    _label_values(ax, spot)
    ax.set_xscale(layout.x_scale)
    mark_values(ax, values)
    return legend


def _list_lines(spot: Spot) -> Sequence[str]:
    """What the lines of a panel are of."""
    lines = spot.layout.lines
    if lines == "methods":
        return spot.methods
    if lines == "datasets":
        return list_datasets(spot.results, spot.layout)
    if lines == "metrics":
        return spot.layout.chosen_metrics or spot.results.metrics
    return spot.results.values(lines)


def _name_line(spot: Spot, name: str) -> str:
    lines = spot.layout.lines
    if lines == "metrics":
        return name_metric(spot.results, name)
    if lines in LINE_KINDS:
        return name
    return f"{shorten_path(lines, spot.results.swept)} = {name}"


def _draw_curve(ax: Axes, line: pd.DataFrame, label: str, k: int) -> Line2D:
    """A line with its band."""
    (drawn,) = ax.plot(line["x"], line["mean"], label=label, **styles.curve(k))
    spread = line["spread"].fillna(0.0)
    low, high = line["mean"] - spread, line["mean"] + spread
    ax.fill_between(line["x"], low, high, color=styles.colour(k), alpha=0.2, linewidth=0, zorder=2)
    return drawn


# -------------------------------------------------------------------- boxes and bars


def _draw_groups(ax: Axes, spot: Spot) -> Legend:
    """A group of boxes or bars for each value of a swept path or data set; or the methods side by side."""
    by, groups = _list_groups(spot)
    cells = _look_up(spot, make_places({by: groups, "method": spot.methods}))
    cells = _normalise(cells[cells["n"] > 0], spot.layout, by)
    width = _GROUP / len(spot.methods)
    middle = (len(spot.methods) - 1) / 2
    offsets = {method: (i - middle) * width for i, method in enumerate(spot.methods)}
    splits = _list_split_values(spot.results, cells) if spot.layout.draw == "boxes" else {}
    legend: Legend = {}
    for index, cell in cells.iterrows():
        method = cell["method"]
        x = groups.index(cell[by]) + offsets[method]
        k = spot.number(method)
        if spot.layout.draw == "bars":
            legend[method] = _draw_bar(ax, cell, x, width, k)
        else:
            legend[method] = _draw_box(ax, splits.get(index, []), x, width, k, method)
    _label_values(ax, spot)
    ax.grid(False, axis="x")
    if spot.layout.x == "method":
        mark_names(ax, list(offsets.values()), spot.methods)
        return {}  # the methods' names are on the axis
    if spot.layout.x == "dataset":
        mark_names(ax, range(len(groups)), groups)
    else:
        names = [shorten_name(value) for value in groups]
        ax.set_xticks(range(len(groups)), names, parse_math=False)
        _label_path(ax, spot)
    return legend


def _list_groups(spot: Spot) -> tuple[str, Sequence[str]]:
    """What the groups are of, and the value of each."""
    x = spot.layout.x
    if x == "method":
        return "dataset", [spot.dataset]
    if x == "dataset":
        return "dataset", list_datasets(spot.results, spot.layout)
    return x, spot.results.values(x)


def _list_split_values(results: Results, cells: pd.DataFrame) -> dict[Any, list[float]]:
    """Label of each cell → its scores of single splits; a file that was imported may lack those of some."""
    scores = results.scores[results.scores["metric"].isin(cells["metric"])]
    keys = [name for name in scores if name not in ("split", "value")]
    scores = scores.astype(dict.fromkeys(keys, object))
    own = clear_absent(results, cells).reset_index(names="cell")
    found = own.merge(scores, on=keys)
    return found.groupby("cell")["value"].agg(list).to_dict()


def _draw_bar(ax: Axes, cell: pd.Series, x: float, width: float, k: int) -> Patch:
    """A bar with its whisker, where its spread is known."""
    error = cell["spread"] if cell["spread"] > 0 else None
    whisker = {"elinewidth": 0.8, "ecolor": _WHISKERS}
    look: dict[str, Any] = {
        "facecolor": styles.colour(k),
        "hatch": styles.hatch(k),
        "edgecolor": "white",
        "linewidth": 0.4,
    }
    ax.bar(x, cell["mean"], 0.9 * width, yerr=error, error_kw=whisker, **look)
    return Patch(label=cell["method"], **look)


def _draw_box(ax: Axes, values: Sequence[float], x: float, width: float, k: int, label: str) -> Line2D:
    """Quartiles and median, whiskers to the furthest value within 1.5 times the box, the others as dots; the mean."""
    if values:
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
        mean = float(np.mean(values))
        ax.plot([x], [mean], linestyle="none", markersize=3.2, zorder=4, **styles.mark(k))
    return Line2D([], [], label=label, **styles.mark(k))


# -------------------------------------------------------------------- accuracy against time


def _draw_scatter(ax: Axes, spot: Spot) -> Legend:
    layout, results = spot.layout, spot.results
    cells = _pair_with_time(spot)
    varied = [path for path, n in results.sweep.items() if n > 1 and path not in layout.at]
    legend: Legend = {}
    for method in spot.methods:
        points = cells[cells["method"] == method]
        if points.empty:
            continue
        k = spot.number(method)
        look = {"zorder": 3, "linestyle": "none", **styles.mark(k)}
        if len(varied) == 1:  # the points of one sweep are joined
            look = {**styles.curve(k), "linewidth": 0.8}
        (legend[method],) = ax.plot(points["time"], points["mean"], label=method, markersize=4.5, **look)
        if layout.band != "none" and points["spread"].notna().all():
            ax.errorbar(
                points["time"],
                points["mean"],
                yerr=points["spread"],
                fmt="none",
                ecolor=styles.colour(k),
                elinewidth=0.7,
                alpha=0.6,
                zorder=2,
            )
    stretch_times(ax, layout.x_scale)
    own = layout.x_label
    ax.set_xlabel(own or f"{name_metric(results, layout.x)} (mean)", parse_math=bool(own))
    _label_values(ax, spot)
    return legend


def _pair_with_time(spot: Spot) -> pd.DataFrame:
    """The means of the panel's metric, each with the `time` of the same method and point."""
    summary = spot.results.summary
    cells = summary[summary["dataset"] == spot.dataset]
    for path, value in spot.layout.at.items():
        cells = cells[cells[path].isin([value, ""])]  # "" of a method without the parameter
    keys = ["method", *spot.results.swept]
    times = cells[cells["metric"] == spot.layout.x]
    times = times[[*keys, "mean"]].rename(columns={"mean": "time"})
    paired = cells[cells["metric"] == spot.metric].merge(times, on=keys)
    return _with_spread(paired.sort_values(keys), spot.layout)


# -------------------------------------------------------------------- heat maps


def _draw_heat_map(ax: Axes, spot: Spot) -> Legend:
    layout, results = spot.layout, spot.results
    across, down = results.values(layout.x), results.values(layout.y)
    found = _look_up(spot, make_places({layout.y: down, layout.x: across}))
    cells = found["mean"].to_numpy(float).reshape(len(down), len(across))
    better = results.metric_facts(spot.metric).higher_is_better
    ax.set_facecolor(_MISSING)
    colours = "cividis_r" if better is False else "cividis"
    image = ax.imshow(cells, cmap=colours, aspect="auto", origin="lower")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.06)
    bar.ax.tick_params(labelsize=6.5)
    bar.outline.set_visible(False)
    largest = np.nanmax(np.abs(cells), initial=0)
    if cells.size <= _WRITTEN and largest < _WIDEST and len(across) <= _TICKS:
        _write_cells(ax, cells, image)
    _frame_best(ax, cells, better)
    ax.grid(False)
    _mark_every(ax.xaxis, across)
    _mark_every(ax.yaxis, down)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _label_path(ax, spot)
    path = shorten_name(shorten_path(layout.y, results.swept))
    ax.set_ylabel(spot.label or path, parse_math=bool(spot.label))
    return {}


def _mark_every(axis: Axis, values: Sequence[str]) -> None:
    """A tick at each value, or at every second, third … of many."""
    step = math.ceil(len(values) / _TICKS)
    names = [shorten_name(value) for value in values[::step]]
    axis.set_ticks(range(0, len(values), step), names, parse_math=False)


def _frame_best(ax: Axes, cells: np.ndarray, higher_is_better: bool | None) -> None:
    if higher_is_better is None or np.isnan(cells).all():
        return
    best = np.nanmax(cells) if higher_is_better else np.nanmin(cells)
    for i, j in np.argwhere(cells == best):
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=_FRAME, linewidth=1.6))


def _write_cells(ax: Axes, cells: np.ndarray, image: AxesImage) -> None:
    """The numbers, each black or white, whichever is read better on its colour; as many digits as tell them apart."""
    digits = 3
    there = cells[~np.isnan(cells)]
    span = float(np.ptp(there)) if there.size else 0.0
    if span > 0:
        digits = min(4, max(3, 1 - math.floor(math.log10(span))))
    for (i, j), value in np.ndenumerate(cells):
        if math.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        colour = "white" if luminance < _BRIGHT else "black"
        ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=5.5, color=colour)
