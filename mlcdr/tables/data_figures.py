"""Figures of a data set: label correlations, label imbalance, label sets, and its instances in two dimensions.

After Sun 2017, Figures 2.2 and 9.1 (correlations), 2.3 (the most frequent labels) and 1.2 (the projection).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mlcdr.data.dataset import Dataset
from mlcdr.errors import DataError, escape_control_characters
from mlcdr.methods.feature_space.opls import OPLS
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics.information import mutual_information
from mlcdr.numerics.moments import Moments
from mlcdr.tables import label_pairs, layouts, styles
from mlcdr.tables.canvas import STYLE, save, write_heading
from mlcdr.tables.label_pairs import Array
from mlcdr.tables.text_format import shorten_name

_INCH = 25.4
_NAMED = 24  # labels up to which a heat map has their names
_FEW = 60  # labels up to which they stand in the file's order if no other is asked for
_CHANCE = 3.0  # standard deviations, 1/√n, of a correlation of independent variables
_MOST = 15  # labels, and label sets, that are shown by name
_COLOURED = 6  # label sets that have a colour of their own
_QUIET = "#b8b8b8"
_UNDEFINED = "#e6e6e6"
_LONGEST = 34  # letters of a name


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
    made: dict[str, Callable[[], Figure]] = {
        "label_correlations": lambda: draw_correlations(dataset, order),
        "label_imbalance": lambda: draw_imbalance(dataset),
        "label_sets": lambda: draw_label_sets(dataset),
        "projection": lambda: draw_projection(dataset, projection),
    }
    written = []
    for name, make in made.items():
        stem = folder / f"{layouts.file_name(dataset.name)}_{name}"
        written += save(make(), stem, f"{shorten_name(dataset.name)}: {name.replace('_', ' ')}")
    return written


# -------------------------------------------------------------------- label correlations


@mpl.rc_context(STYLE)
def draw_correlations(dataset: Dataset, order: str = "auto") -> Figure:
    """Heat maps of four measures for all pairs of labels; the diagonal, which is of no pair, is left out."""
    counts = label_pairs.pair_counts(dataset.Y)
    n_labels = len(counts)
    if order == "auto":
        order = "file" if n_labels <= _FEW else "similar"
    at = _ordered(counts, order)
    residual = label_pairs.residual_correlation(dataset.X, dataset.Y)
    drawn = [
        ("(a) Mutual information (bits)", mutual_information(dataset.Y, dataset.Y)),
        ("(b) Jaccard index", label_pairs.jaccard(counts)),
        (
            "(c) Conditional: share of the column's\ninstances that have the row's label",
            label_pairs.conditional(counts),
        ),
        ("(d) Residual: correlation of what ridge\nregression on the features leaves", residual),
    ]
    names = [shorten_name(dataset.label_names[j], 18) for j in at] if n_labels <= _NAMED else []
    side = 66.0 + 0.9 * len(names) + 1.3 * max(map(len, names), default=0)  # millimetres, with room for names
    chance = _CHANCE / math.sqrt(dataset.n_instances)
    figure = _new_figure(2 * (side + 18), 2 * (side + 14) + 12)
    for ax, (title, values) in zip(figure.subplots(2, 2).ravel(), drawn, strict=True):
        _draw_heat_map(ax, values[np.ix_(at, at)], names, chance if values is residual else None)
        ax.set_title(title)
    orders = {"frequency": "the most frequent first", "similar": "those with a large Jaccard index together"}
    note = (
        f"Labels: {orders.get(order, 'in the order of the file')}. Diagonal left out; grey: not defined.\n"
        f"Colours of (a) to (c) by the square root. Independent labels are within ±{chance:.2g} in (d)."
    )
    write_heading(figure, f"{shorten_name(dataset.name)}: how its {n_labels} labels go together", note)
    return figure


def _new_figure(width: float, height: float) -> Figure:
    """A figure of so many millimetres."""
    return Figure(figsize=(width / _INCH, height / _INCH), layout="constrained")


def _ordered(counts: Any, order: str) -> Any:
    if order == "frequency":
        return np.argsort(-np.diag(counts), kind="stable")
    return label_pairs.similar_together(counts) if order == "similar" else np.arange(len(counts))


def _draw_heat_map(ax: Axes, values: Array, names: Sequence[str], chance: float | None) -> None:
    """One measure; `chance`: how large a signed measure may be for independent labels."""
    np.fill_diagonal(values, np.nan)
    shown = np.abs(values[np.isfinite(values) & (values != 0)])
    most = float(shown.max(initial=0.0)) or 1.0
    top = most if names else float(np.quantile(shown, 0.99)) if len(shown) else 1.0  # few strong ones hide all others
    norm: Normalize = PowerNorm(0.5, vmin=0.0, vmax=top)
    colours = "magma_r"
    ticks = np.array([0.0, 0.05, 0.25, 0.5, 1.0]) * top
    if chance is not None:
        top = max(top, 2 * chance)
        norm, colours = Normalize(-top, top), "PuOr"
        ticks = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * top
    ax.set_facecolor(_UNDEFINED)
    smooth = "nearest" if len(values) <= 2 * _FEW else "auto"
    image = ax.imshow(values, cmap=colours, norm=norm, aspect="equal", interpolation=smooth)
    beyond = "neither" if top >= most else "max" if chance is None else "both"
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.05, extend=beyond)
    bar.set_ticks([float(f"{tick:.2g}") if abs(tick) < top else float(tick) for tick in ticks])
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.2g}".replace("-", "−")))
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=6.5)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if names:
        ax.set_xticks(range(len(names)), names, rotation=90, parse_math=False, fontsize=6.0)
        ax.set_yticks(range(len(names)), names, parse_math=False, fontsize=6.0)
    else:
        step = next(s for p in range(9) for s in (10**p, 2 * 10**p, 5 * 10**p) if len(values) / s <= 8)
        numbers = list(dict.fromkeys([1, *range(step, len(values) + 1, step)]))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([number - 1 for number in numbers], list(map(str, numbers)))


# -------------------------------------------------------------------- labels and label sets


@mpl.rc_context(STYLE)
def draw_imbalance(dataset: Dataset) -> Figure:
    """How many instances have the most frequent labels, and how imbalanced all labels are."""
    counts = label_pairs.pair_counts(dataset.Y)
    own = np.diag(counts)
    order = np.argsort(-own, kind="stable")
    ratios = label_pairs.imbalance(counts)
    there = own[order][: np.isfinite(ratios).sum()]
    named = order[:_MOST]
    figure = _new_figure(180, 26 + max(4.2 * len(named), 44))
    left, right = figure.subplots(1, 2)
    _draw_bars(left, [dataset.label_names[j] for j in named], own[named], dataset.n_instances)
    left.set_title(f"(a) {'Labels' if len(own) <= _MOST else f'The {_MOST} most frequent labels'}")
    right.plot(np.arange(1, len(there) + 1), there, color=styles.COLOURS[0], drawstyle="steps-mid")
    if len(there) and there[0] > 10 * there[-1]:
        right.set_yscale("log")
        right.yaxis.set_major_formatter("{x:,.0f}")
    else:
        right.set_ylim(0)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(title="(b) All labels", xlabel="Label, by frequency", ylabel="Instances with it")
    write_heading(figure, f"{shorten_name(dataset.name)}: label imbalance", _ratio_note(ratios))
    return figure


def _ratio_note(ratios: Array) -> str:
    """Mean and variation of the imbalance ratio, Sun 2017, (3.10), over the labels that are there."""
    there = ratios[np.isfinite(ratios)]
    none = len(ratios) - len(there)
    without = f" {none} label{'s have' if none > 1 else ' has'} no instance." if none else ""
    if not len(there):
        return without.strip()
    variation = f", its coefficient of variation {there.std(ddof=1) / there.mean():.2f}" if len(there) > 1 else ""
    what = "Imbalance ratio (the most frequent label's instances over a label's)"
    return f"{what}: mean {there.mean():.1f}{variation}.{without}"


@mpl.rc_context(STYLE)
def draw_label_sets(dataset: Dataset) -> Figure:
    """The most frequent label sets, how many instances each set has, and how many labels each instance."""
    found = label_pairs.label_sets(dataset.Y)
    sizes = np.array([len(labels) for labels in found.sets])[found.of_rows]
    names = [_set_name(labels, dataset.label_names) for labels in found.sets[:_MOST]]
    figure = _new_figure(180, 26 + max(4.2 * len(names), 66))
    axes = figure.subplot_mosaic([["sets", "ranks"], ["sets", "sizes"]])
    _draw_bars(axes["sets"], names, found.counts[: len(names)], dataset.n_instances)
    every = len(found.sets) <= _MOST
    axes["sets"].set_title(f"(a) {'Label sets' if every else f'The {_MOST} most frequent label sets'}")
    ranks = axes["ranks"]
    ranks.plot(np.arange(1, len(found.counts) + 1), found.counts, color=styles.COLOURS[0], drawstyle="steps-mid")
    once = found.counts.max() == 1  # as in cal500
    ranks.set(xscale="log", yscale="linear" if once else "log", title="(b) All label sets")
    ranks.set(xlabel="Label set, by frequency", ylabel="Instances")
    if once:
        ranks.set(ylim=(0, 2), yticks=(0, 1, 2))
    for axis in (ranks.xaxis, ranks.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    many, heights = axes["sizes"], np.bincount(sizes)
    many.bar(np.arange(len(heights)), heights, width=0.9, color=styles.COLOURS[0])
    many.xaxis.set_major_locator(MaxNLocator(integer=True))
    many.grid(False, axis="x")
    many.set(title=f"(c) Sizes: mean {sizes.mean():.2f}", xlabel="Labels of an instance", ylabel="Instances")
    note = f"{len(found.sets):,} different label sets in {dataset.n_instances:,} instances"
    single = int((found.counts == 1).sum())
    write_heading(figure, f"{shorten_name(dataset.name)}: label sets", f"{note}; {single:,} of them occur once.")
    return figure


def _draw_bars(ax: Axes, names: Sequence[str], counts: Any, n: int) -> None:
    """Bars with names at their left and numbers at their right, the first on top."""
    ax.barh(np.arange(len(names)), counts, height=0.75, color=styles.COLOURS[0])
    ax.set_yticks(range(len(names)), [shorten_name(name, _LONGEST) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    for k, count in enumerate(counts):
        text = f"{count:,} ({'<1%' if 0 < count < 0.005 * n else f'{count / n:.0%}'})"
        ax.annotate(text, (count, k), (3, 0), textcoords="offset points", va="center", fontsize=6.5)
    ax.set_xlim(0, max(1.0, 1.3 * max(counts, default=1)))
    ax.set_xlabel("Instances")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")


def _set_name(labels: Sequence[int], names: Sequence[str]) -> str:
    """The name of a label set: as many labels as there is room for, and the number of the others."""
    if not labels:
        return "no label"
    written = escape_control_characters(names[labels[0]])
    for k, label in enumerate(labels[1:], start=1):
        rest = f" + {len(labels) - k}"
        longer = f"{written}, {escape_control_characters(names[label])}"
        if len(longer) + (len(rest) if k < len(labels) - 1 else 0) > _LONGEST:
            return shorten_name(written, _LONGEST - len(rest)) + rest
        written = longer
    return shorten_name(written, _LONGEST)


# -------------------------------------------------------------------- the instances in two dimensions


@mpl.rc_context({**STYLE, "axes.grid": False})
def draw_projection(dataset: Dataset, projection: str = "opls") -> Figure:
    """The instances in two dimensions, those of the most frequent label sets in colours and markers, the others grey.

    `opls` is the supervised projection of CLMLC (regularised by 1), which Figure 1.2 of the thesis shows; where it has
    fewer than two directions (one label, say) the first principal components of the features stand in.
    """
    Z, called = project(dataset, projection)
    found = label_pairs.label_sets(dataset.Y)
    figure = _new_figure(150, 105)
    ax = figure.subplots()
    size = float(np.clip(9000 / max(dataset.n_instances, 1), 2.0, 16.0))
    several = len(found.sets) if len(found.sets) <= _COLOURED else int((found.counts > 1).sum())
    coloured = min(_COLOURED, several)  # a colour for one point has no use
    legend: list[tuple[Any, str]] = []
    look: dict[str, Any]
    for k in range(coloured):
        name = f"{_set_name(found.sets[k], dataset.label_names)} ({found.counts[k]:,})"
        look = {"marker": styles.marker(k), "facecolors": "none", "edgecolors": styles.colour(k), "linewidths": 0.6}
        at = Z[found.of_rows == k]
        legend.append((ax.scatter(at[:, 0], at[:, 1], s=size, alpha=0.8, rasterized=True, zorder=2, **look), name))
    rest = Z[found.of_rows >= coloured]
    if len(rest):
        others = f"{len(found.sets) - coloured:,} {'other ' * bool(coloured)}sets ({len(rest):,})"
        look = {"color": _QUIET, "linewidths": 0, "zorder": 1}
        legend.append((ax.scatter(rest[:, 0], rest[:, 1], s=0.6 * size, rasterized=True, **look), others))
    ax.set(xlabel=called[0], ylabel=called[1])
    ax.tick_params(labelbottom=False, labelleft=False, length=0)
    place: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": 2,
        "frameon": False,
        "fontsize": 7.0,
        "markerscale": 1.3,
    }
    for text in figure.legend(*zip(*legend, strict=True), **place).get_texts():
        text.set_parse_math(False)
    write_heading(figure, f"{shorten_name(dataset.name)}: {dataset.n_instances:,} instances by label set")
    return figure


def project(dataset: Dataset, projection: str) -> tuple[Array, tuple[str, str]]:
    """Two coordinates of each instance (n×2), and what they are; zeros where the features have no second direction."""
    moments = Moments.from_arrays(dataset.X, dataset.Y)
    columns: list[Array] = []
    called: list[str] = []
    spaces: list[tuple[str, Any]] = [("Principal component", PCA(n_components=None if min(dataset.X.shape) < 2 else 2))]
    if projection == "opls":
        spaces.insert(0, ("OPLS direction", OPLS(n_components=None if dataset.n_features < 2 else 2, alpha=1.0)))
    for name, space in spaces:
        if len(columns) < 2:
            Z = space.fit_moments(moments).transform(dataset.X)
            called += [f"{name} {j + 1}" for j in range(Z.shape[1])]
            columns += list(Z.T)
    while len(columns) < 2:
        columns.append(np.zeros(dataset.n_instances))
        called.append("(no second direction)")
    return np.column_stack(columns[:2]), (called[0], called[1])
