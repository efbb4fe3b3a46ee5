"""Figures of a data set: label correlations, label imbalance, label sets, and its instances in two dimensions.

After Sun 2017, Figures 2.3 (the most frequent labels) and 1.2 (the projection); the correlations are drawn in
`mlcdr.tables.correlation_figure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mlcdr.data.dataset import Dataset
from mlcdr.data.description import imbalance_ratios
from mlcdr.errors import DataError, escape_control_characters
from mlcdr.experiment.model import file_name
from mlcdr.methods.feature_space.opls import OPLS
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics.moments import Moments
from mlcdr.tables import label_dependence, styles
from mlcdr.tables.canvas import STYLE, empty_figure, save, write_heading
from mlcdr.tables.correlation_figure import draw_correlations
from mlcdr.tables.label_dependence import Array, LabelSets
from mlcdr.tables.text_format import shorten_name

_MOST = 15  # labels, and label sets, that are shown by name
_COLOURED = 6  # label sets that have a colour of their own
_QUIET = "#b8b8b8"
_LONGEST = 34  # letters of a name
_BLUE = styles.COLOURS[0]


def write_all(dataset: Dataset, folder: Path, order: str = "auto", projection: str = "opls") -> list[Path]:
    """Write the figures of a data set into a folder, each as SVG and PNG.

    `order` of the labels in heat maps: `file`, `frequency`, `similar`, or `auto`, which is `similar` for many labels,
    else `file`. `projection`: `opls` or `pca`.

    Raises
    ------
    DataError
        When its features are texts, or some of their values missing.
    ResultsError
        When a file cannot be written.
    """
    if dataset.kind_of_features != "numbers":
        hint = "texts have none" if dataset.kind_of_features == "texts" else "say `missing: mean` or `zero`"
        raise DataError(f"{dataset.name}: the figures are drawn from features that are numbers, all there; {hint}")
    drawn = {
        "label_correlations": draw_correlations(dataset, order),
        "label_imbalance": draw_imbalance(dataset),
        "label_sets": draw_label_sets(dataset),
        "projection": draw_projection(dataset, projection),
    }
    written = []
    for name, figure in drawn.items():
        stem = folder / f"{file_name(dataset.name)}_{name}"
        title = f"{shorten_name(dataset.name)}: {name.replace('_', ' ')}"
        written += save(figure, stem, title)
    return written


# -------------------------------------------------------------------- labels and label sets


@mpl.rc_context(STYLE)
def draw_imbalance(dataset: Dataset) -> Figure:
    """How many instances have the most frequent labels, and how imbalanced all labels are."""
    counts = label_dependence.pair_counts(dataset.Y)
    own = np.diag(counts)
    ratios = imbalance_ratios(dataset.Y)
    order = np.argsort(-own, kind="stable")
    named = order[:_MOST]
    figure = empty_figure(180, 26 + max(4.2 * len(named), 44))
    left, right = figure.subplots(1, 2)
    names = [dataset.label_names[j] for j in named]
    _draw_bars(left, names, own[named], dataset.n_instances)
    left.set_title("(a) Labels" if len(own) <= _MOST else f"(a) The {_MOST} most frequent labels")
    there = own[order][own[order] > 0]
    _draw_steps(right, there)
    if len(there) and there[0] > 10 * there[-1]:
        right.set_yscale("log")
        right.yaxis.set_major_formatter("{x:,.0f}")
    else:
        right.set_ylim(0)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(title="(b) All labels", xlabel="Label, by frequency", ylabel="Instances with it")
    write_heading(figure, f"{shorten_name(dataset.name)}: label imbalance", _describe_ratios(ratios))
    return figure


def _describe_ratios(ratios: Array) -> str:
    """Mean and variation of the imbalance ratio, Sun 2017, (3.10), over the labels that are there."""
    there = ratios[np.isfinite(ratios)]
    sentences = []
    if len(there):
        mean = f"mean {there.mean():.1f}"
        if len(there) > 1:
            mean += f", its coefficient of variation {there.std(ddof=1) / there.mean():.2f}"
        sentences.append(f"Imbalance ratio (the most frequent label's instances over a label's): {mean}.")
    none = len(ratios) - len(there)
    if none:
        sentences.append(f"{none} label{'s have' if none > 1 else ' has'} no instance.")
    return " ".join(sentences)


@mpl.rc_context(STYLE)
def draw_label_sets(dataset: Dataset) -> Figure:
    """The most frequent label sets, how many instances each set has, and how many labels each instance."""
    found = label_dependence.label_sets(dataset.Y)
    named = found.sets[:_MOST]
    figure = empty_figure(180, 26 + max(4.2 * len(named), 66))
    axes = figure.subplot_mosaic([["sets", "ranks"], ["sets", "sizes"]])
    names = [_name_set(labels, dataset.label_names) for labels in named]
    _draw_bars(axes["sets"], names, found.counts[: len(names)], dataset.n_instances)
    every = len(found.sets) <= _MOST
    axes["sets"].set_title("(a) Label sets" if every else f"(a) The {_MOST} most frequent label sets")
    _draw_set_frequencies(axes["ranks"], found)
    _draw_set_sizes(axes["sizes"], found)
    single = int((found.counts == 1).sum())
    note = f"{len(found.sets):,} different label sets in {dataset.n_instances:,} instances"
    write_heading(figure, f"{shorten_name(dataset.name)}: label sets", f"{note}; {single:,} of them occur once.")
    return figure


def _draw_set_frequencies(ax: Axes, found: LabelSets) -> None:
    _draw_steps(ax, found.counts)
    once = found.counts.max() == 1  # as in cal500
    ax.set(xscale="log", yscale="linear" if once else "log", title="(b) All label sets")
    ax.set(xlabel="Label set, by frequency", ylabel="Instances")
    if once:
        ax.set(ylim=(0, 2), yticks=(0, 1, 2))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:,.0f}")


def _draw_set_sizes(ax: Axes, found: LabelSets) -> None:
    sizes = np.array([len(labels) for labels in found.sets])[found.of_rows]
    heights = np.bincount(sizes)
    ax.bar(np.arange(len(heights)), heights, width=0.9, color=_BLUE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(False, axis="x")
    ax.set(title=f"(c) Sizes: mean {sizes.mean():.2f}", xlabel="Labels of an instance", ylabel="Instances")


def _draw_steps(ax: Axes, counts: Any) -> None:
    """Counts in descending order."""
    ax.plot(np.arange(1, len(counts) + 1), counts, color=_BLUE, drawstyle="steps-mid")


def _draw_bars(ax: Axes, names: Sequence[str], counts: Any, n: int) -> None:
    """Bars with names at their left and numbers at their right, the first on top."""
    bars = ax.barh(range(len(names)), counts, height=0.75, color=_BLUE)
    shown = [shorten_name(name, _LONGEST) for name in names]
    ax.set_yticks(range(len(names)), shown, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    shares = ["<1%" if 0 < count < 0.005 * n else f"{count / n:.0%}" for count in counts]
    texts = [f"{count:,} ({share})" for count, share in zip(counts, shares, strict=True)]
    ax.bar_label(bars, texts, padding=3, fontsize=6.5)
    ax.set_xlim(0, max(1.0, 1.3 * max(counts, default=1)))
    ax.set_xlabel("Instances")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")


def _name_set(labels: Sequence[int], names: Sequence[str]) -> str:
    """The name of a label set: as many labels as there is room for, and the number of the others."""
    if not labels:
        return "no label"
    shown = [escape_control_characters(names[label]) for label in labels]
    rest = ""
    for n in range(len(shown), 0, -1):
        written = ", ".join(shown[:n])
        rest = f" + {len(shown) - n}" if n < len(shown) else ""
        if len(written + rest) <= _LONGEST:
            return written + rest
    return shorten_name(shown[0], _LONGEST - len(rest)) + rest


# -------------------------------------------------------------------- the instances in two dimensions


@mpl.rc_context({**STYLE, "axes.grid": False})
def draw_projection(dataset: Dataset, projection: str = "opls") -> Figure:
    """The instances in two dimensions, those of the most frequent label sets in colours and markers, the others grey.

    `opls` is the supervised projection of CLMLC (regularised by 1), which Figure 1.2 of the thesis shows; where it has
    fewer than two directions (one label, say) the first principal components of the features stand in.
    """
    Z, axis_names = project(dataset, projection)
    found = label_dependence.label_sets(dataset.Y)
    figure = empty_figure(150, 105)
    ax = figure.subplots()
    size = np.clip(9000 / max(dataset.n_instances, 1), 2.0, 16.0)
    coloured = _count_coloured(found)
    legend: dict[str, Any] = {}
    for k in range(coloured):
        name = f"{_name_set(found.sets[k], dataset.label_names)} ({found.counts[k]:,})"
        look: dict[str, Any] = {
            "marker": styles.marker(k),
            "facecolors": "none",
            "edgecolors": styles.colour(k),
            "linewidths": 0.6,
            "alpha": 0.8,
            "zorder": 2,
        }
        legend[name] = _scatter(ax, Z[found.of_rows == k], size, **look)
    rest = Z[found.of_rows >= coloured]
    if len(rest):
        others = f"{len(found.sets) - coloured:,} {'other ' if coloured else ''}sets ({len(rest):,})"
        look = {"color": _QUIET, "linewidths": 0, "zorder": 1}
        legend[others] = _scatter(ax, rest, 0.6 * size, **look)
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    ax.tick_params(labelbottom=False, labelleft=False, length=0)
    look = {"ncols": 2, "fontsize": 7.0, "markerscale": 1.3}
    written = figure.legend(legend.values(), legend, loc="outside lower center", **look)
    for text in written.get_texts():
        text.set_parse_math(False)
    write_heading(figure, f"{shorten_name(dataset.name)}: {dataset.n_instances:,} instances by label set")
    return figure


def _scatter(ax: Axes, points: Array, size: float, **look: Any) -> PathCollection:
    return ax.scatter(points[:, 0], points[:, 1], size, rasterized=True, **look)


def _count_coloured(found: LabelSets) -> int:
    """How many label sets have a colour of their own: a colour for one point among many has no use."""
    if len(found.sets) <= _COLOURED:
        return len(found.sets)
    return min(_COLOURED, int((found.counts > 1).sum()))


def project(dataset: Dataset, projection: str) -> tuple[Array, tuple[str, str]]:
    """Two coordinates of each instance (n×2), and what they are; zeros where the features have no second direction."""
    moments = Moments.from_arrays(dataset.X, dataset.Y)
    two_components = None if min(dataset.X.shape) < 2 else 2
    spaces: dict[str, Any] = {}
    if projection == "opls":
        two_directions = None if dataset.n_features < 2 else 2
        spaces["OPLS direction"] = OPLS(n_components=two_directions, alpha=1.0)
    spaces["Principal component"] = PCA(n_components=two_components)
    columns: list[Array] = []
    names: list[str] = []
    for name, space in spaces.items():
        if len(columns) < 2:
            Z = space.fit_moments(moments).transform(dataset.X)
            columns += list(Z.T)
            names += [f"{name} {j + 1}" for j in range(Z.shape[1])]
    missing = 2 - len(columns)
    columns += [np.zeros(dataset.n_instances)] * missing
    names += ["(no second direction)"] * missing
    return np.column_stack(columns[:2]), (names[0], names[1])
