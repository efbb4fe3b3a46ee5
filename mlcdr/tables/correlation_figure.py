"""Heat maps of how the labels of a data set go together, after Sun 2017, Figures 2.2 and 9.1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from mlcdr.data.dataset import Dataset
from mlcdr.numerics.information import mutual_information
from mlcdr.tables import label_dependence
from mlcdr.tables.canvas import STYLE, empty_figure, write_heading
from mlcdr.tables.heat_maps import draw_matrix
from mlcdr.tables.label_dependence import Array, Counts
from mlcdr.tables.text_format import shorten_name

_NAMED = 24  # labels up to which a heat map has their names
_LONGEST = 18  # letters of a name
_FEW = 60  # labels up to which they stand in the file's order if no other is asked for
_CHANCE = 3.0  # standard deviations, 1/√n, of a correlation of independent variables
_NUMBERS = 8  # on an axis, at most
_ORDERS = {"frequency": "the most frequent first", "similar": "those with a large Jaccard index together"}


@mpl.rc_context(STYLE)
def draw_correlations(dataset: Dataset, order: str = "auto") -> Figure:
    """Heat maps of four measures for all pairs of labels; the diagonal, which is of no pair, is left out."""
    counts = label_dependence.pair_counts(dataset.Y)
    n_labels = len(counts)
    if order == "auto":
        order = "file" if n_labels <= _FEW else "similar"
    at = _order_labels(counts, order)
    names = [shorten_name(dataset.label_names[j], _LONGEST) for j in at] if n_labels <= _NAMED else []
    side = 66.0 + 0.9 * len(names) + 1.3 * max(map(len, names), default=0)  # millimetres, with room for names
    figure = empty_figure(2 * (side + 18), 2 * (side + 14) + 12)
    chance = _CHANCE / math.sqrt(dataset.n_instances)
    measures = _measure(dataset, counts)
    axes = figure.subplots(2, 2).ravel()
    for ax, (title, values) in zip(axes, measures.items(), strict=True):
        signed = title.startswith("(d)")
        _draw_heat_map(ax, values[np.ix_(at, at)], names, chance if signed else None)
        ax.set_title(title)
    note = (
        f"Labels: {_ORDERS.get(order, 'in the order of the file')}. Diagonal left out; grey: not defined.\n"
        f"Colours of (a) to (c) by the square root. Independent labels are within ±{chance:.2g} in (d)."
    )
    write_heading(figure, f"{shorten_name(dataset.name)}: how its {n_labels} labels go together", note)
    return figure


def _measure(dataset: Dataset, counts: Counts) -> dict[str, Array]:
    """The title of each panel → its measure (K×K)."""
    conditional = "(c) Conditional: share of the column's\ninstances that have the row's label"
    residual = "(d) Residual: correlation of what ridge\nregression on the features leaves"
    return {
        "(a) Mutual information (bits)": mutual_information(dataset.Y, dataset.Y),
        "(b) Jaccard index": label_dependence.jaccard(counts),
        conditional: label_dependence.conditional(counts),
        residual: label_dependence.residual_correlation(dataset.X, dataset.Y),
    }


def _order_labels(counts: Counts, order: str) -> NDArray[np.intp]:
    if order == "frequency":
        return np.argsort(-np.diag(counts), kind="stable")
    if order == "similar":
        return label_dependence.similar_together(counts)
    return np.arange(len(counts))


def _draw_heat_map(ax: Axes, values: Array, names: Sequence[str], chance: float | None) -> None:
    """One measure; `chance`: how large a signed measure may be for independent labels."""
    np.fill_diagonal(values, np.nan)
    top, most = _choose_range(values, bool(names))
    if chance is None:
        norm: Normalize = PowerNorm(0.5, vmin=0.0, vmax=top)
        colours = "magma_r"
        ticks = np.array([0.0, 0.05, 0.25, 0.5, 1.0]) * top
        beyond = "max"
    else:
        top = max(top, 2 * chance)
        norm = Normalize(-top, top)
        colours = "PuOr"
        ticks = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * top
        beyond = "both"
    smooth = "nearest" if len(values) <= 2 * _FEW else "auto"
    bar_style = {"fraction": 0.05, "extend": "neither" if top >= most else beyond}
    _, bar = draw_matrix(
        ax,
        values,
        bar_style,
        cmap=colours,
        norm=norm,
        aspect="equal",
        interpolation=smooth,
    )
    bar.set_ticks([float(f"{tick:.2g}") if abs(tick) < top else float(tick) for tick in ticks])
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.2g}".replace("-", "−")))
    bar.ax.minorticks_off()
    if names:
        ax.set_xticks(range(len(names)), names, rotation=90, parse_math=False, fontsize=6.0)
        ax.set_yticks(range(len(names)), names, parse_math=False, fontsize=6.0)
    else:
        _number_labels(ax, len(values))


def _choose_range(values: Array, named: bool) -> tuple[float, float]:
    """The value at the end of the colours, and the largest of all.

    Among many labels few strong pairs would hide all others.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not len(sizes):
        return 1.0, 1.0
    most = float(sizes.max())
    return (most if named else float(np.quantile(sizes, 0.99))), most


def _number_labels(ax: Axes, n_labels: int) -> None:
    """Mark every label, or every second, fifth, tenth … by its number."""
    step = 1
    for power, base in itertools.product(range(9), (1, 2, 5)):
        step = base * 10**power
        if n_labels / step <= _NUMBERS:
            break
    numbers = np.unique([1, *range(step, n_labels + 1, step)])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(numbers - 1, list(map(str, numbers)))
