"""The figures of a page: curves of a data set along the sweep, and the points that tuning tried."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mlcdr.experiment.model import LayoutSpec
from mlcdr.report.svg import embed
from mlcdr.results.frame import LARGEST, paths_of, summarise
from mlcdr.results.results import Results
from mlcdr.tables import styles
from mlcdr.tables.axes import mark_values, place_values
from mlcdr.tables.canvas import STYLE, add_legend, new_figure
from mlcdr.tables.figures import draw_figure
from mlcdr.tables.text_format import shorten_name, shorten_path

Hover = dict[str, list[str]]
"""The `gid` of each line of points → what is shown on pointing at each of them."""
_SETTINGS = 20  # of the other swept parameters, for which curves are drawn


@dataclass(frozen=True)
class Chart:
    """A figure that a template of a page can show.

    Attributes
    ----------
    title : str
    figure : Figure
    prefix : str
        What its ids begin with; no two charts of a page have the same.
    hover : Hover
    """

    title: str
    figure: Figure
    prefix: str
    hover: Hover = field(default_factory=dict)

    def __html__(self) -> Markup:
        """What a template puts in."""
        return embed(self.figure, self.prefix, self.title, self.hover)


def draw_curves(results: Results, dataset: str, prefix: str) -> tuple[list[Chart], int]:
    """Curves along the last swept path that has several values, a chart for each setting of the others.

    Returns
    -------
    list of Chart, int
        And how many settings have no chart, because they are so many.
    """
    several = [path for path, n in results.sweep.items() if n > 1]
    if not several:
        return [], 0
    path = several[-1]
    others = {each: results.values(each) for each in results.swept if results.values(each)}
    del others[path]
    settings = list(itertools.product(*others.values()))
    charts = []
    for k, setting in enumerate(settings[:_SETTINGS]):
        at = dict(zip(others, setting, strict=True))
        entry = LayoutSpec(layout="curves", options={"x": path, "at": at})
        figure = draw_figure(results, entry, dataset)
        title = f"{dataset} along {shorten_path(path, results.swept)}"
        for other, value in at.items():
            title += f", {shorten_path(other, results.swept)} = {value}"
        hover = _name_points(figure, results.values(path))
        charts.append(Chart(title, figure, f"{prefix}-{k}", hover))
    return charts, len(settings[_SETTINGS:])


def _name_points(figure: Figure, values: Sequence[str]) -> Hover:
    """What is shown on pointing at each point of each curve."""
    names = dict(zip(place_values(values), values, strict=True))
    hover: Hover = {}
    for ax in figure.axes:
        for line in ax.lines:
            points = np.asarray(line.get_xydata()).tolist()
            _name_line(line, hover, [f"{line.get_label()}, {names[x]}: {y:.4g}" for x, y in points])
    return hover


def _name_line(line: Line2D, hover: Hover, texts: list[str]) -> None:
    gid = f"points-{len(hover)}"
    line.set_gid(gid)
    hover[gid] = texts


@mpl.rc_context(STYLE)
def draw_tried(results: Results, dataset: str, prefix: str) -> Chart | None:
    """A panel for each tuned parameter and criterion with a mark for each point that was tried; None if none was."""
    tried = _list_tried(results, dataset)
    tuned = [path for path in tried if "." in path and path not in results.swept]
    panels = []
    for path in tuned:
        own = tried[tried[path] != ""]
        panels += [(path, criterion, points) for criterion, points in own.groupby("criterion", sort=False)]
    if not panels:
        return None
    figure, axes = new_figure(len(panels), min(2, len(panels)))
    legend: dict[str, Line2D] = {}
    hover: Hover = {}
    for ax, (path, criterion, points) in zip(axes, panels, strict=True):
        places = _place_tried(ax, path, points[path].unique().tolist())
        ax.set_ylabel(shorten_name(results.metric_facts(criterion).heading), parse_math=False)
        for method, own in points.groupby("method", sort=False, observed=True):
            look = styles.mark(results.methods.index(method))
            x = own[path].map(places)
            (line,) = ax.plot(x, own["mean"], linestyle="none", **look)
            _name_line(line, hover, [_name_tried(point, tuned) for point in own.to_dict("records")])
            legend[method] = line
    add_legend(figure, legend, "")
    return Chart(f"{dataset}: the points tried", figure, prefix, hover)


def _place_tried(ax: Axes, path: str, values: Sequence[str]) -> dict[str, float]:
    """Set up the axis of a tuned parameter: value → place."""
    places = place_values(values)
    if min(places) > 0 and max(places) >= 100 * min(places):
        ax.set_xscale("log")
    mark_values(ax, values)
    ax.set_xlabel(shorten_name(path), parse_math=False)
    return dict(zip(values, places, strict=True))


def _name_tried(point: dict, tuned: Sequence[str]) -> str:
    values = ", ".join(f"{path} {point[path]}" for path in tuned if point[path] != "")
    return f"{point['method']}, {values}: {point['mean']:.4g}"


def _list_tried(results: Results, dataset: str) -> pd.DataFrame:
    """The mean of each point that was tried: method, criterion, a column for each path (`""`: not tuned), mean.

    Of a grid that was chosen on the test rows, these are the means under the first metric with a direction.
    """
    methods = results.experiment.methods.values()
    tuned = set().union(*(spec.tune.grid for spec in methods if spec.tune))
    swept = [path for path in paths_of(results.tried) if path not in tuned]
    tried = results.tried.dropna(subset="value").drop(columns=[*swept, "chosen"])
    judging = [metric for metric in results.metrics if results.metric_facts(metric).higher_is_better is not None]
    if results.grids and judging:
        scores = results.scores[results.scores["metric"] == judging[0]]
        seen = scores[scores["method"].isin(results.grids)]
        tried = pd.concat([tried.astype(object), seen.astype(object)])
    tried = tried[tried["dataset"] == dataset].drop(columns=["dataset", "split"])
    tried = tried.rename(columns={"metric": "criterion"})
    paths = [name for name in tried if name not in ("method", "criterion", "value")]
    tried = tried.fillna(dict.fromkeys(paths, ""))
    points = summarise(tried, ["method", "criterion", *paths])
    return points[points["mean"].abs() <= LARGEST]
