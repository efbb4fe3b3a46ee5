"""Pictures of a comparison: critical-difference diagrams and the matrix of all pairs.

`draw_critical_difference` makes Demšar's diagram (2006, Figure 1): the axis of average ranks, the best at the left,
each method led to its rank, and a bar over methods without a significant difference. `draw_matrix` shows every pair of
methods (after Ismail-Fawaz et al., *An approach to multiple comparison benchmark evaluations that is stable under
manipulation of the comparate set*, 2023): how much better the row's method is in the mean, its wins, ties and losses,
and the p-value.

The matrix' colours run from orange through white to purple (ColorBrewer's PuOr, distinct with any colour vision), one
end a win for the row in all blocks, the other a loss in all: wins are comparable where differences of unlike data sets
are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlcdr.comparison.comparison import Comparison
from mlcdr.comparison.significance import ALPHA, FEW, Significance, format_counts
from mlcdr.tables import layouts, styles
from mlcdr.tables.canvas import STYLE, save
from mlcdr.tables.sheet import DASH, signed
from mlcdr.tables.text_format import shorten_name

WITHOUT_TESTS = (
    "a critical-difference diagram needs a metric of known direction, two methods, and two data sets or more (better "
    f"more than {FEW}) at which all of them have a result"
)
"""The message where there is no diagram."""

_STEP = 0.17  # inches from one line of a diagram to the next
_AXIS = 3.6  # inches of the axis of ranks
_TITLE = 120  # letters
_LETTER = 0.075  # inches, at 8 points
_CELL = (0.95, 0.52)  # inches
_FOOT = 0.55  # inches below the matrix, for two lines


def write_all(comparison: Comparison, folder: Path, methods: Sequence[str] | None = None) -> list[Path]:
    """Both critical-difference diagrams and the matrix of a comparison, as SVG and PNG; none where there are no tests.

    `methods`: all methods of the experiment in the config's order, which determines their colours and markers.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    found = comparison.significance
    if found is None:
        return []
    title = comparison.sheet.caption.plain
    stem = layouts.file_name(comparison.metric)
    pictures = {
        "cd_nemenyi": draw_critical_difference(found, title, "nemenyi", methods),
        "cd_wilcoxon_holm": draw_critical_difference(found, title, "wilcoxon", methods),
        "matrix": draw_matrix(found, title),
    }
    return [path for name, figure in pictures.items() for path in save(figure, folder / f"{stem}_{name}", title)]


def draw_all(compared: Iterable[Comparison], methods: Sequence[str]) -> dict[str, Figure]:
    """Title → the critical-difference diagram (Nemenyi) of every metric with tests, for a page."""
    found = {}
    for each in compared:
        if each.significance is not None:
            title = f"Critical difference, {each.sheet.caption.plain}"
            found[title] = draw_critical_difference(each.significance, "", "nemenyi", methods)
    return found


@mpl.rc_context(STYLE)
def draw_critical_difference(
    found: Significance, title: str, test: str, methods: Sequence[str] | None = None
) -> Figure:
    """The critical-difference diagram by `nemenyi` or by `wilcoxon` (with Holm's correction); the title may be empty.

    `methods`, all of the experiment in order, determines colours and markers (default: `found.methods`).
    """
    places = {method: k for k, method in enumerate(methods or found.methods)}
    nemenyi = test == "nemenyi"
    cliques = found.nemenyi_cliques() if nemenyi else found.wilcoxon_cliques()
    levels = _levels(found, cliques)
    order = found.order
    left = order[: math.ceil(len(order) / 2)]
    right = order[len(left) :]
    names = [shorten_name(method) for method in found.methods]
    title = shorten_name(title, _TITLE)
    margin = _LETTER * (max(map(len, names)) + len("  0.00")) + 0.25
    head = 0.32 if title else 0.1
    top = head + (0.53 if nemenyi else 0.28)  # the title, the scale, and Nemenyi's ruler
    deep = 0.16 + 0.5 * _STEP * (1 + max(levels, default=-1))
    notes = _footnote(found, nemenyi, bool(cliques))
    height = top + deep + _STEP * (len(left) + 0.5) + 0.16 * len(notes) + 0.1
    width = max(_AXIS + 2 * margin, _LETTER * len(title) + 0.3)
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)  # inches from the top
    ax.set_axis_off()
    k = len(order)

    def at(rank: float) -> float:
        return margin + _AXIS * (rank - 1) / (k - 1)

    ax.text(0.1, 0.18, title, fontsize=8.5, fontweight="bold", va="center", parse_math=False)
    ax.plot([at(1), at(k)], [top, top], color="black", linewidth=0.8)
    for rank in range(1, k + 1):
        ax.plot([at(rank)] * 2, [top - 0.06, top], color="black", linewidth=0.8)
        ax.text(at(rank), top - 0.08, str(rank), ha="center", va="bottom", fontsize=7)
    if nemenyi:
        _draw_ruler(ax, found, at(1), _AXIS / (k - 1), head + 0.1)
    for side, column in ((-1, left), (1, right[::-1])):
        for row, j in enumerate(column):
            y = top + deep + _STEP * (row + 0.5)
            x = at(float(found.averages[j]))
            edge = margin - 0.08 if side < 0 else margin + _AXIS + 0.08
            k_look = places[found.methods[j]]
            ax.plot([x, x, edge], [top, y, y], color=styles.colour(k_look), linewidth=0.9, solid_joinstyle="round")
            ax.plot([edge], [y], markersize=4.0, **styles.mark(k_look))
            average = f"{found.averages[j]:.2f}"
            label = f"{names[j]}  {average}" if side < 0 else f"{average}  {names[j]}"
            ha = "right" if side < 0 else "left"
            ax.text(edge + 0.08 * side, y, label, ha=ha, va="center", parse_math=False)
    for clique, level in zip(cliques, levels, strict=True):
        _draw_bar(ax, found, clique, [at(float(found.averages[j])) for j in clique], top + 0.1 + 0.5 * _STEP * level)
    for row, line in enumerate(notes[::-1]):
        ax.text(0.1, height - 0.12 - 0.16 * row, line, fontsize=6.5, va="center", color="#444444")
    return figure


def _footnote(found: Significance, nemenyi: bool, any_clique: bool) -> list[str]:
    n = found.n_blocks
    blocks = f"{n} data sets" if n == found.n_datasets else f"{n} points of {found.n_datasets} data sets"
    test = "Nemenyi" if nemenyi else "Wilcoxon, Holm"
    bar = "Bar: no significant difference." if any_clique else ""
    lines = [f"Average ranks over {blocks}; {test}, level {ALPHA:g}. {bar}"]
    if n > found.n_datasets:
        lines.append("The points of a data set are not independent: differences seem more significant than they are.")
    if found.few:
        lines.append(f"{found.n_datasets} data sets are too few for a verdict; more than {FEW} are needed.")
    elif nemenyi and len(found.methods) > 2 and not found.shown:
        lines.append("Friedman's test does not show that the methods differ at all.")
    return lines


def _levels(found: Significance, cliques: Sequence[tuple[int, ...]]) -> list[int]:
    """For each bar the highest free line, so that no two on a line touch."""
    ends: list[float] = []
    levels = []
    for clique in cliques:
        low, high = float(found.averages[clique[0]]), float(found.averages[clique[-1]])
        level = next((i for i, end in enumerate(ends) if low > end + 0.02 * len(found.methods)), len(ends))
        ends[level : level + 1] = [high]
        levels.append(level)
    return levels


def _draw_bar(ax: Axes, found: Significance, clique: tuple[int, ...], x: list[float], y: float) -> None:
    """Draw the bar of a clique; where it passes over a method outside the clique, dots mark the members."""
    ax.plot([x[0] - 0.03, x[-1] + 0.03], [y, y], color="black", linewidth=2.4, solid_capstyle="butt")
    order = found.order
    first, last = order.index(clique[0]), order.index(clique[-1])
    if last - first + 1 > len(clique):
        ax.plot(x, [y] * len(x), "o", color="black", markersize=4.5)


def _draw_ruler(ax: Axes, found: Significance, x: float, unit: float, y: float) -> None:
    """The critical difference to scale; one that is longer than the axis is given as a number only."""
    end = x + found.cd * unit
    label = f"CD = {found.cd:.2f}"
    if found.cd > len(found.methods) - 1:
        ax.text(x, y, f"{label}, more than the axis is long", fontsize=7, va="center")
        return
    ax.plot([x, end], [y, y], color="black", linewidth=1.2)
    ax.vlines([x, end], y - 0.04, y + 0.04, color="black", linewidth=1.2)
    ax.text(end + 0.08, y, label, fontsize=7, va="center")


@mpl.rc_context({**STYLE, "axes.grid": False})
def draw_matrix(found: Significance, title: str) -> Figure:
    """Every pair of methods, in the order of their average ranks."""
    order = found.order
    k = len(order)
    names = [shorten_name(found.methods[j]) for j in order]
    title = shorten_name(title, _TITLE)
    longest = max(map(len, names))
    margin = _LETTER * longest + 0.3
    cell_width = max(_CELL[0], _LETTER * min(longest, 16) + 0.1)
    slanted = longest > 16
    head = (0.5 * _LETTER * longest + 0.25) if slanted else 0.3
    width, height = margin + k * cell_width + 0.85, _FOOT + head + k * _CELL[1] + 0.4
    width = max(width, 3.7, _LETTER * len(title) + 0.3)
    records = found.pairs.records[np.ix_(order, order)].astype(float)
    shade = (records[:, :, 0] - records[:, :, 2]) / found.n_blocks
    shade[np.diag_indices(k)] = np.nan
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((margin / width, _FOOT / height, k * cell_width / width, k * _CELL[1] / height))
    image = ax.imshow(shade, cmap="PuOr", vmin=-2, vmax=2, aspect="auto")  # so pale that black can be read
    ax.set_xticks(range(k), names, parse_math=False, rotation=40 if slanted else 0, ha="left" if slanted else "center")
    ax.set_yticks(range(k), names, parse_math=False)
    ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False, labelsize=8)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(k + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(k + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2)
    ax.tick_params(which="minor", length=0)
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            if i != j:
                apart = bool(found.pairs.holm[i, j] <= ALPHA)
                ax.text(b, a, _pair(found, i, j), fontsize=6.5, ha="center", va="center", linespacing=1.25,
                        fontweight="bold" if apart else "normal")  # fmt: skip
            else:
                ax.text(b, a, f"rank {found.averages[i]:.2f}", fontsize=6.5, ha="center", va="center", color="#444444")
    bar = figure.add_axes(
        ((margin + k * cell_width + 0.12) / width, _FOOT / height, 0.1 / width, k * _CELL[1] / height)
    )
    figure.colorbar(image, cax=bar, boundaries=np.linspace(-1, 1, 101), ticks=[-1, 0, 1])
    bar.set_yticklabels(["loses all", "even", "wins all"], fontsize=6.5)
    bar.tick_params(length=0)
    figure.text(0.1 / width, 1 - 0.18 / height, title, fontsize=8.5, fontweight="bold", va="center", parse_math=False)
    blocks = "data sets" if found.n_blocks == found.n_datasets else "points"
    note = (
        f"Row against column over {found.n_blocks} {blocks}: better by (mean), wins/ties/losses,\n"
        f"Wilcoxon's p after Holm's correction (bold: at most {ALPHA:g})."
    )
    figure.text(0.1 / width, 0.26 / height, note, fontsize=6.5, color="#444444")
    return figure


def _pair(found: Significance, i: int, j: int) -> str:
    better, p = float(found.pairs.advantage[i, j]), float(found.pairs.holm[i, j])
    shown = f"p = {DASH}" if math.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    size = max(abs(float(x)) for x in found.pairs.advantage.ravel())
    digits = 4 if size < 10 else 1
    return f"{signed(better, digits)}\n{format_counts(found.pairs.records[i, j])}\n{shown}"
