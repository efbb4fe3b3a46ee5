"""The charts of one data set: curves along the sweep, and the points that tuning tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mlcdr.experiment.model import LayoutSpec
from mlcdr.results.results import Results
from mlcdr.results.scores import LARGEST, summarise
from mlcdr.tables import figures, styles
from mlcdr.tables.axes import mark_values, place_values
from mlcdr.tables.panels import name_metric
from mlcdr.tables.text_format import shorten_name, shorten_path

_SETTINGS = 20  # of the other swept parameters, for which curves are drawn


@dataclass(frozen=True)
class Chart:
    """A figure.

    Attributes
    ----------
    title : str
    figure : Figure
    hover : dict
        The `gid` of each line of points → what is shown on pointing at each of them.
    """

    title: str
    figure: Figure
    hover: dict[str, list[str]]


def draw_curves(results: Results, dataset: str) -> tuple[list[Chart], int]:
    """Curves along the last swept path that has several values, a chart for each setting of the others.

    Returns
    -------
    list of Chart, int
        And how many settings have no chart, because they are so many.
    """
    several = [path for path in results.swept if len(results.values(path)) > 1]
    if not several:
        return [], 0
    path = several[-1]
    others = [each for each in results.swept if each != path and results.values(each)]
    settings = list(itertools.product(*map(results.values, others)))
    charts = []
    for setting in settings[:_SETTINGS]:
        at = dict(zip(others, setting, strict=True))
        figure = figures.render(results, LayoutSpec(layout="curves", options={"x": path, "at": at}), dataset)
        along = [shorten_path(path, results.swept)]
        along += [f"{shorten_path(other, results.swept)} = {value}" for other, value in at.items()]
        charts.append(Chart(f"{dataset} along {', '.join(along)}", figure, _name_points(figure, results.values(path))))
    return charts, len(settings[_SETTINGS:])


def _name_points(figure: Figure, values: Sequence[str]) -> dict[str, list[str]]:
    """What is shown on pointing at each point of each curve."""
    names = dict(zip(place_values(values), values, strict=True))
    hover: dict[str, list[str]] = {}
    for line in itertools.chain.from_iterable(ax.lines for ax in figure.axes):
        gid = f"curve-{len(hover)}"
        line.set_gid(gid)
        hover[gid] = [f"{line.get_label()}, {names[x]}: {y:.4g}" for x, y in np.asarray(line.get_xydata()).tolist()]
    return hover


@dataclass(frozen=True)
class _Tried:
    """A point that tuning tried, with the mean of its scores under the criterion."""

    method: str
    criterion: str
    at: dict[str, str]
    mean: float

    @property
    def name(self) -> str:
        """What is shown on pointing at it."""
        values = ", ".join(f"{path} {value}" for path, value in self.at.items())
        return f"{self.method}, {values}: {self.mean:.4g}"


@mpl.rc_context(figures.STYLE)
def draw_tried(results: Results, dataset: str) -> Chart | None:
    """A panel for each tuned parameter and criterion with a mark for each point that was tried; None if none was."""
    tried = [each for each in _list_tried(results, dataset) if abs(each.mean) <= LARGEST]
    wanted = list(dict.fromkeys((path, each.criterion) for each in tried for path in each.at))
    if not wanted:
        return None
    figure, axes = figures.new_figure(len(wanted), min(2, len(wanted)))
    legend: dict[str, Line2D] = {}
    hover: dict[str, list[str]] = {}
    for ax, (path, criterion) in zip(axes, wanted, strict=True):
        points = [each for each in tried if each.criterion == criterion and path in each.at]
        places = _place_tried(ax, path, points)
        ax.set_ylabel(name_metric(results, criterion), parse_math=False)
        for method in dict.fromkeys(each.method for each in points):
            own = [each for each in points if each.method == method]
            x = [places[each.at[path]] for each in own]
            look = styles.mark(results.methods.index(method))
            (line,) = ax.plot(x, [each.mean for each in own], linestyle="none", **look)
            line.set_gid(f"tried-{len(hover)}")
            hover[f"tried-{len(hover)}"] = [each.name for each in own]
            legend[method] = line
    figures.add_legend(figure, legend, "")
    return Chart(f"{dataset}: the points tried", figure, hover)


def _place_tried(ax: Axes, path: str, points: Sequence[_Tried]) -> dict[str, float]:
    """Set up the axis of a tuned parameter: value → place."""
    values = list(dict.fromkeys(each.at[path] for each in points))
    places = place_values(values)
    if min(places) > 0 and max(places) >= 100 * min(places):
        ax.set_xscale("log")
    mark_values(ax, values)
    ax.set_xlabel(shorten_name(path), parse_math=False)
    return dict(zip(values, places, strict=True))


def _list_tried(results: Results, dataset: str) -> Iterator[_Tried]:
    """All that was tried inside the training rows; on the test rows, under the first metric with a direction."""
    for method, spec in results.experiment.methods.items():
        criterion = (spec.tune and spec.tune.metric) or ""
        for setting, values in results.choices.tried.get((dataset, method), {}).items():
            yield _Tried(method, criterion, dict(setting), summarise(values).mean)
    judging = [metric for metric in results.metrics if results.metric_facts(metric).higher_is_better is not None]
    if not results.grids or not judging:
        return
    for (name, method, point, metric), by_split in results.split_scores.values.items():
        if name == dataset and method in results.grids and metric == judging[0]:
            at = dict(zip(results.split_scores.paths, point, strict=True))
            own = {path: value for path, value in at.items() if path in results.grids[method]}
            yield _Tried(method, metric, own, summarise(list(by_split.values())).mean)
