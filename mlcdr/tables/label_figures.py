"""Figures of `labels.csv`: each metric of single labels against how frequent they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mlcdr.results.results import Results
from mlcdr.tables import layouts, styles
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
    """The figure of each data set and metric."""
    for dataset, metric in labels[["dataset", "metric"]].drop_duplicates().itertuples(index=False, name=None):
        title = f"{results.name}: {metric} by label, {dataset}"
        yield Drawing(draw(labels, dataset, metric), title, f"labels_{layouts.file_name(dataset)}_{metric}")


def draw(labels: pd.DataFrame, dataset: str, metric: str) -> Figure:
    """A point for each label and method, and a line through the means of labels that are about as frequent."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        labels = labels[labels["dataset"] == dataset]
        cells = labels[labels["metric"] == metric]
        for k, method in enumerate(cells["method"].unique()):
            x, y = cells.loc[cells["method"] == method, ["frequency", "value"]].to_numpy().T
            axes.plot(x, y, ".", color=styles.colour(k), alpha=0.3, markersize=3, markeredgewidth=0)
            bins = np.array_split(np.arange(len(x)), min(_BINS, len(x)))
            means = [(x[some].mean(), y[some].mean()) for some in bins]
            axes.plot(*np.array(means).T, label=method.replace("$", r"\$"), **styles.curve(k))
        if labels["frequency"].min() > 0:
            axes.set_xscale("log")
        axes.set_xlabel("share of instances that have the label")
        axes.set_ylabel(metric.replace("_", " "))
        axes.set_title(dataset.replace("$", r"\$"))
        figure.legend(loc="outside right upper", frameon=False)
        count = min(_BINS, labels["label"].nunique())
        figure.supxlabel(f"Points: labels; lines: means of {count} groups of labels of similar frequency", fontsize=7)
        return figure
