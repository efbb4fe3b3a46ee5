"""Figures of `labels.csv`: each metric of single labels against how frequent they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from mlcdr.results.labels import LabelScores
from mlcdr.results.results import Results
from mlcdr.tables import layouts, styles
from mlcdr.tables.figures import STYLE, Drawing, write_drawings

_BINS = 8  # points of a line, at most
_SIZE = (5.2, 3.4)  # inches


def write_all(results: Results, found: LabelScores) -> list[Path]:
    """Write `figures/labels_DATASET_METRIC` for each data set and metric, as SVG and PNG.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    return write_drawings(results.folder, draw_all(results, found))


def draw_all(results: Results, found: LabelScores) -> Iterator[Drawing]:
    """The figure of each data set and metric."""
    for dataset, metric in found.means:
        title = f"{results.name}: {metric} by label, {dataset}"
        yield Drawing(draw(found, dataset, metric), title, f"labels_{layouts.file_name(dataset)}_{metric}")


def draw(found: LabelScores, dataset: str, metric: str) -> Figure:
    """A point for each label and method, and a line through the means of labels that are about as frequent."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        shares = found.frequencies[dataset]
        for k, (method, values) in enumerate(found.means[dataset, metric].items()):
            labels = [label for label in shares if label in values]
            x, y = np.array([[shares[label], values[label]] for label in labels]).T
            axes.plot(x, y, ".", color=styles.colour(k), alpha=0.3, markersize=3, markeredgewidth=0)
            bins = np.array_split(np.arange(len(labels)), min(_BINS, len(labels)))
            means = [(x[some].mean(), y[some].mean()) for some in bins]
            axes.plot(*np.array(means).T, label=method.replace("$", r"\$"), **styles.curve(k))
        if min(shares.values()) > 0:
            axes.set_xscale("log")
        axes.set_xlabel("share of instances that have the label")
        axes.set_ylabel(metric.replace("_", " "))
        axes.set_title(dataset.replace("$", r"\$"))
        figure.legend(loc="outside right upper", frameon=False)
        count = min(_BINS, len(shares))
        figure.supxlabel(f"Points: labels; lines: means of {count} groups of labels of similar frequency", fontsize=7)
        return figure
