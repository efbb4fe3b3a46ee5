"""Figures of `labels.csv`: each metric of single labels against how frequent they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from mlcdr.experiment.model import file_name
from mlcdr.results.frame import group
from mlcdr.results.results import Results
from mlcdr.tables import styles
from mlcdr.tables.canvas import STYLE, Drawing, write_drawings

_BINS = 8  # points of a line, at most
_SIZE = (5.2, 3.4)  # inches


def write_all(results: Results, labels: pd.DataFrame) -> list[Path]:
    """Write `figures/labels_DATASET_METRIC` for each data set and metric, as SVG and PNG.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    return write_drawings(results.folder, draw_all(results, labels))


def draw_all(results: Results, labels: pd.DataFrame) -> Iterator[Drawing]:
    """The figure of each data set and metric; a method has one colour in all, also where another one is missing."""
    planned = () if results.swept else results.methods
    names = dict.fromkeys([*planned, *labels["method"]])
    numbers = {name: k for k, name in enumerate(names)}
    for (dataset, metric), cells in group(labels, ["dataset", "metric"]):
        title = f"{results.name}: {metric} by label, {dataset}"
        stem = f"labels_{file_name(dataset)}_{metric}"
        n_labels = labels.loc[labels["dataset"] == dataset, "label"].nunique()
        yield Drawing(_draw(cells, dataset, metric, n_labels, numbers), title, stem)


@mpl.rc_context(STYLE)
def _draw(cells: pd.DataFrame, dataset: str, metric: str, n_labels: int, numbers: Mapping[str, int]) -> Figure:
    """A point for each label and method, and a line through the means of labels that are about as frequent."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    shown = {}
    for method, points in cells.groupby("method", sort=False, observed=True):
        k = numbers[method]
        xy = points[["frequency", "value"]].to_numpy()
        axes.plot(
            *xy.T,
            ".",
            color=styles.colour(k),
            alpha=0.3,
            markersize=3,
            markeredgewidth=0,
        )
        groups = np.array_split(xy, min(_BINS, len(xy)))
        means = np.array([group.mean(axis=0) for group in groups])
        label = method.replace("$", r"\$")
        (shown[label],) = axes.plot(*means.T, label=label, **styles.curve(k))
    least, most = cells["frequency"].min(), cells["frequency"].max()
    if 0 < 10 * least < most:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))  # more of them run into each other
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("share of instances that have the label")
    axes.set_ylabel(metric.replace("_", " "))
    axes.set_title(dataset, parse_math=False)
    figure.legend(list(shown.values()), list(shown), loc="outside right upper")
    count = min(_BINS, n_labels)
    figure.supxlabel(f"Points: labels; lines: means of {count} groups of labels of similar frequency")
    return figure
