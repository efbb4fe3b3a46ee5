"""What stands in one panel of a figure: curves, boxes, bars, points against time, or a heat map.

Each drawing gives back its legend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mlcdr.results.frame import make_places
from mlcdr.results.results import Results
from mlcdr.tables import styles
from mlcdr.tables.axes import mark_names, mark_values, place_values, stretch_times
from mlcdr.tables.cells import clear_absent
from mlcdr.tables.heat_maps import draw_heat_map
from mlcdr.tables.layouts import LINE_KINDS
from mlcdr.tables.spot import Legend, Spot, write_text
from mlcdr.tables.text_format import shorten_name, shorten_path

_GROUP = 0.8  # of the distance between two groups is filled with their boxes or bars
_WHISKERS = "#444444"


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
        "heatmap": draw_heat_map,
    }
    spot.head(ax)
    return draw[spot.layout.draw](ax, spot)


# -------------------------------------------------------------------- curves


def _draw_curves(ax: Axes, spot: Spot) -> Legend:
    layout = spot.layout
    values = spot.results.values(layout.x)
    kind = LINE_KINDS.get(layout.lines, layout.lines)
    names = _list_lines(spot)
    cells = spot.look_up(make_places({kind: names, layout.x: values}))
    places = dict(zip(values, place_values(values), strict=True))
    cells["x"] = cells[layout.x].map(places)
    cells = spot.normalise(cells[cells["n"] > 0], kind)
    legend: Legend = {}
    for k, name in enumerate(names):
        line = cells[cells[kind] == name]
        if line.empty:
            continue
        label = _name_line(spot, name)
        look = spot.number(name) if kind == "method" else k
        legend[label] = _draw_curve(ax, line, label, look)
    spot.label_path(ax)
    spot.label_values(ax)
    ax.set_xscale(layout.x_scale)
    mark_values(ax, values)
    return legend


def _list_lines(spot: Spot) -> Sequence[str]:
    """What the lines of a panel are of."""
    lines = spot.layout.lines
    if lines == "methods":
        return spot.methods
    if lines == "datasets":
        return spot.datasets
    if lines == "metrics":
        return spot.layout.chosen_metrics or ()
    return spot.results.values(lines)


def _name_line(spot: Spot, name: str) -> str:
    lines = spot.layout.lines
    if lines == "metrics":
        return spot.name_metric(name)
    if lines in LINE_KINDS:
        return name
    return f"{shorten_path(lines, spot.results.swept)} = {name}"


def _draw_curve(ax: Axes, line: pd.DataFrame, label: str, k: int) -> Line2D:
    """A line with its band."""
    (drawn,) = ax.plot(line["x"], line["mean"], label=label, **styles.curve(k))
    spread = line["spread"].fillna(0.0)
    low = line["mean"] - spread
    high = line["mean"] + spread
    band_style: dict[str, Any] = {"color": styles.colour(k), "alpha": 0.2, "linewidth": 0}
    ax.fill_between(line["x"], low, high, zorder=2, **band_style)
    return drawn


# -------------------------------------------------------------------- boxes and bars


def _draw_groups(ax: Axes, spot: Spot) -> Legend:
    """A group of boxes or bars for each value of a swept path or data set; or the methods side by side."""
    by, groups = _list_groups(spot)
    cells = spot.look_up(make_places({by: groups, "method": spot.methods}))
    cells = spot.normalise(cells[cells["n"] > 0], by)
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
            legend[method] = _draw_box(ax, splits.get(index, []), x, width, k)
    spot.label_values(ax)
    ax.grid(False, axis="x")
    if spot.layout.x == "method":
        mark_names(ax, list(offsets.values()), spot.methods)
        return {}  # the methods' names are on the axis
    if spot.layout.x == "dataset":
        mark_names(ax, range(len(groups)), groups)
    else:
        names = [shorten_name(value) for value in groups]
        ax.set_xticks(range(len(groups)), names, parse_math=False)
        spot.label_path(ax)
    return legend


def _list_groups(spot: Spot) -> tuple[str, Sequence[str]]:
    """What the groups are of, and the value of each."""
    x = spot.layout.x
    if x == "method":
        return "dataset", [spot.dataset]
    if x == "dataset":
        return "dataset", spot.datasets
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
    look = styles.bar(k)
    ax.bar(x, cell["mean"], 0.9 * width, yerr=error, error_kw=whisker, **look)
    return Patch(**look)


def _draw_box(ax: Axes, values: Sequence[float], x: float, width: float, k: int) -> Line2D:
    """Quartiles and median, whiskers to the furthest value within 1.5 times the box, the others as dots; the mean."""
    if values:
        own = {"color": styles.colour(k)}
        ax.boxplot(
            [values],
            positions=[x],
            widths=0.75 * width,
            manage_ticks=False,
            boxprops={"facecolor": "white", "edgecolor": styles.colour(k), "linestyle": styles.line(k)},
            medianprops=own,
            whiskerprops=own,
            capprops=own,
            flierprops={**styles.mark(k), "markersize": 2.5, "markeredgewidth": 0.6},
        )
        mean_style: dict[str, Any] = {**styles.mark(k), "linestyle": "none", "markersize": 3.2}
        ax.plot(x, np.mean(values), zorder=4, **mean_style)
    return Line2D([], [], **styles.mark(k))


# -------------------------------------------------------------------- accuracy against time


def _draw_scatter(ax: Axes, spot: Spot) -> Legend:
    layout = spot.layout
    cells = _pair_with_time(spot)
    varied = [path for path, n in spot.results.sweep.items() if n > 1 and path not in layout.at]
    legend: Legend = {}
    for method in spot.methods:
        points = cells[cells["method"] == method]
        if points.empty:
            continue
        k = spot.number(method)
        look = {"zorder": 3, "linestyle": "none", **styles.mark(k)}
        if len(varied) == 1:  # the points of one sweep are joined
            look = {**styles.curve(k), "linewidth": 0.8}
        x, y, spread = (points[name] for name in ("time", "mean", "spread"))
        (legend[method],) = ax.plot(x, y, label=method, markersize=4.5, **look)
        if layout.band != "none" and spread.notna().all():
            ax.errorbar(
                x,
                y,
                yerr=spread,
                fmt="none",
                ecolor=styles.colour(k),
                elinewidth=0.7,
                alpha=0.6,
                zorder=2,
            )
    stretch_times(ax, layout.x_scale)
    write_text(ax.set_xlabel, layout.x_label, f"{spot.name_metric(layout.x)} (mean)")
    spot.label_values(ax)
    return legend


def _pair_with_time(spot: Spot) -> pd.DataFrame:
    """The means of the panel's metric, each with the `time` of the same method and point."""
    summary = spot.results.summary
    cells = summary[summary["dataset"] == spot.dataset]
    for path, value in spot.layout.at.items():
        cells = cells[cells[path].isin([value, ""])]  # "" of a method without the parameter
    keys = ["method", *spot.results.swept]
    times = cells[cells["metric"] == spot.layout.x].assign(time=cells["mean"])
    means = cells[cells["metric"] == spot.metric]
    paired = means.merge(times[[*keys, "time"]], on=keys)
    return spot.add_spread(paired.sort_values(keys))
