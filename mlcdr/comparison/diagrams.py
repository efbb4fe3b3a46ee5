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

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlcdr.comparison.comparison import Comparison
from mlcdr.comparison.significance import FEW, Significance, format_counts
from mlcdr.comparison.statistics import ALPHA
from mlcdr.errors import plural
from mlcdr.experiment.model import file_name
from mlcdr.tables import styles
from mlcdr.tables.canvas import STYLE, save, write_heading
from mlcdr.tables.sheet import DASH, signed
from mlcdr.tables.text_format import shorten_name

WITHOUT_TESTS = (
    "a critical-difference diagram needs a metric of known direction, two methods, and two data sets or more (better "
    f"more than {FEW}) at which all of them have a result"
)
"""The message where there is no diagram."""

_STEP = 0.17  # inches from one line of a diagram to the next
_NOTE_STEP = 0.16  # inches from one line of the notes to the next
_BAR = 0.5 * _STEP  # inches from one bar to the next
_AXIS = 3.6  # inches of the axis of ranks
_TITLE = 120  # letters
_LETTER = 0.075  # inches, at 8 points
_CELL = (0.95, 0.52)  # inches
_NAME_STYLE: Mapping[str, Any] = {"va": "center", "parse_math": False}
_TITLE_STYLE: Mapping[str, Any] = {**_NAME_STYLE, "fontsize": 8.5, "fontweight": "bold"}
_NOTE_STYLE: Mapping[str, Any] = {"fontsize": 6.5, "color": "#444444", "va": "center"}
_CELL_STYLE: Mapping[str, Any] = {"fontsize": 6.5, "ha": "center", "va": "center", "linespacing": 1.25}
_THIN: Mapping[str, Any] = {"color": "black", "linewidth": 0.8}
_THICK: Mapping[str, Any] = {"color": "black", "linewidth": 1.2}
_UPRIGHT = 16  # letters of a name that stands upright above the matrix


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
    stem = file_name(comparison.metric)
    nemenyi = draw_critical_difference(found, title, "nemenyi", methods)
    wilcoxon = draw_critical_difference(found, title, "wilcoxon", methods)
    return [
        *save(nemenyi, folder / f"{stem}_cd_nemenyi", title),
        *save(wilcoxon, folder / f"{stem}_cd_wilcoxon_holm", title),
        *save(draw_matrix(found, title), folder / f"{stem}_matrix", title),
    ]


def draw_all(compared: Iterable[Comparison], methods: Sequence[str]) -> dict[str, Figure]:
    """Title → the critical-difference diagram (Nemenyi) of every metric with tests, for a page."""
    found = {}
    for each in compared:
        if each.significance is not None:
            title = f"Critical difference, {each.sheet.caption.plain}"
            found[title] = draw_critical_difference(each.significance, "", "nemenyi", methods)
    return found


# -------------------------------------------------------------------- the critical-difference diagram


@mpl.rc_context(STYLE)
def draw_critical_difference(
    found: Significance,
    title: str,
    test: Literal["nemenyi", "wilcoxon"],
    methods: Sequence[str] | None = None,
) -> Figure:
    """The critical-difference diagram by `nemenyi` or by `wilcoxon` (with Holm's correction); the title may be empty.

    `methods`, all of the experiment in order, determines colours and markers (default: `found.methods`). Across are
    average ranks, down are inches from the top.
    """
    nemenyi = test == "nemenyi"
    title = shorten_name(title, _TITLE)
    k = len(found.methods)
    cliques = found.nemenyi_cliques() if nemenyi else found.wilcoxon_cliques()
    levels = _levels(found, cliques)
    notes = list(_footnote(found, nemenyi, bool(cliques)))
    # from the top: the title, Nemenyi's ruler, the axis, the bars, the names, the notes
    head = 0.32 if title else 0.1
    axis = head + (0.53 if nemenyi else 0.28)
    names = axis + 0.16 + _BAR * (1 + max(levels, default=-1))
    height = names + _STEP * (math.ceil(k / 2) + 0.5) + _NOTE_STEP * len(notes) + 0.1
    longest = max(len(shorten_name(method)) for method in found.methods)
    margin = _LETTER * (longest + len("  0.00")) + 0.25  # a name fits in
    width = max(_AXIS + 2 * margin, _LETTER * len(title) + 0.3)
    inch = (k - 1) / _AXIS  # ranks
    left = 1 - margin * inch
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(left, left + width * inch), ylim=(height, 0))
    ax.text(left + 0.1 * inch, 0.18, title, **_TITLE_STYLE)
    _draw_axis(ax, k, axis)
    if nemenyi:
        _draw_ruler(ax, found, head + 0.1)
    for clique, level in zip(cliques, levels, strict=True):
        _draw_bar(ax, found, clique, axis + 0.1 + _BAR * level)
    _draw_methods(ax, found, methods or found.methods, (axis, names), 0.08 * inch)
    for row, line in enumerate(reversed(notes)):
        ax.text(left + 0.1 * inch, height - 0.12 - _NOTE_STEP * row, line, **_NOTE_STYLE)
    return figure


def _draw_axis(ax: Axes, k: int, y: float) -> None:
    """The axis of the ranks from 1 to k."""
    ranks = range(1, k + 1)
    ax.plot([1, k], [y, y], **_THIN)
    ax.vlines(ranks, y - 0.06, y, **_THIN)
    for rank in ranks:
        ax.text(rank, y - 0.08, str(rank), ha="center", va="bottom", fontsize=7)


def _draw_ruler(ax: Axes, found: Significance, y: float) -> None:
    """The critical difference to scale; one that is longer than the axis is given as a number only."""
    end = 1 + found.cd
    if end > len(found.methods):
        ax.text(1, y, f"CD = {found.cd:.2f}, more than the axis is long", fontsize=7, va="center")
        return
    ax.plot([1, end], [y, y], **_THICK)
    ax.vlines([1, end], y - 0.04, y + 0.04, **_THICK)
    ax.text(end, y, f"  CD = {found.cd:.2f}", fontsize=7, va="center")


def _draw_methods(
    ax: Axes,
    found: Significance,
    methods: Sequence[str],
    heights: tuple[float, float],
    gap: float,
) -> None:
    """A line from the rank of each method down and to its name: at the left the better half, at the right the others.

    `heights` are those of the axis and of the names; `gap` lies between the axis' ends and the names.
    """
    axis, names = heights
    k = len(found.methods)
    for place, j in enumerate(found.order):
        rank = found.averages[j]
        name = shorten_name(found.methods[j])
        look = methods.index(found.methods[j])
        is_left = place < k / 2
        row = place if is_left else k - 1 - place
        y = names + _STEP * (row + 0.5)
        end = 1 - gap if is_left else k + gap
        colour = styles.colour(look)
        ax.plot([rank, rank, end], [axis, y, y], color=colour, linewidth=0.9, solid_joinstyle="round")
        ax.plot([end], [y], markersize=4.0, **styles.mark(look))
        if is_left:
            ax.text(end, y, f"{name}  {rank:.2f}  ", ha="right", **_NAME_STYLE)
        else:
            ax.text(end, y, f"  {rank:.2f}  {name}", ha="left", **_NAME_STYLE)


def _draw_bar(ax: Axes, found: Significance, clique: tuple[int, ...], y: float) -> None:
    """The bar of a clique; where it passes over a method outside the clique, dots mark the members."""
    ranks = found.averages[list(clique)]
    heights = np.full(len(ranks), y)
    ax.plot(ranks, heights, color="black", linewidth=2.4, solid_capstyle="projecting")
    places = [found.order.index(j) for j in clique]
    if max(places) - min(places) >= len(clique):
        ax.plot(ranks, heights, "o", color="black", markersize=4.5)


def _footnote(found: Significance, nemenyi: bool, any_clique: bool) -> Iterator[str]:
    n, n_datasets = found.n_blocks, found.n_datasets
    of_data = plural(n_datasets, "data set")
    blocks = of_data if n == n_datasets else f"{n} points of {of_data}"
    test = "Nemenyi" if nemenyi else "Wilcoxon, Holm"
    bar = "Bar: no significant difference." if any_clique else ""
    yield f"Average ranks over {blocks}; {test}, level {ALPHA:g}. {bar}"
    if n > n_datasets:
        yield "The points of a data set are not independent: differences seem more significant than they are."
    if found.few:
        yield f"Too few data sets for a verdict: {n_datasets}; more than {FEW} are needed."
    elif nemenyi and len(found.methods) > 2 and not found.is_significant:
        yield "Friedman's test does not show that the methods differ at all."


def _levels(found: Significance, cliques: Sequence[tuple[int, ...]]) -> list[int]:
    """For each bar the highest free line, so that no two on a line touch."""
    gap = 0.02 * len(found.methods)
    ends: list[float] = []  # of the last bar on each line
    levels = []
    for clique in cliques:
        first, last = found.averages[[clique[0], clique[-1]]].tolist()
        limits = [end + gap for end in ends]
        free = [level for level, limit in enumerate(limits) if first > limit]
        if free:
            level = free[0]
            ends[level] = last
        else:
            level = len(ends)
            ends.append(last)
        levels.append(level)
    return levels


# -------------------------------------------------------------------- the matrix


@mpl.rc_context({**STYLE, "axes.grid": False})
def draw_matrix(found: Significance, title: str) -> Figure:
    """Every pair of methods, in the order of their average ranks."""
    k = len(found.order)
    names = [shorten_name(found.methods[j]) for j in found.order]
    longest = max(map(len, names))
    slanted = longest > _UPRIGHT
    across = max(_CELL[0], _LETTER * min(longest, _UPRIGHT) + 0.1)
    heading = _LETTER * len(shorten_name(title, _TITLE)) + 0.3
    width = max(k * across + _LETTER * longest + 1.2, 3.7, heading)
    above = 0.5 * _LETTER * longest + 1.2 if slanted else 1.3
    figure = Figure(figsize=(width, k * _CELL[1] + above), layout="constrained")
    ax = figure.subplots()
    # so pale that black can be read
    pale: Mapping[str, Any] = {"cmap": "PuOr", "vmin": -2, "vmax": 2}
    drawn = ax.pcolormesh(range(k), range(k), _shades(found), edgecolors="white", **pale)
    drawn.set_linewidth(2)
    ax.invert_yaxis()
    turned: Mapping[str, Any] = {"rotation": 40, "ha": "left"} if slanted else {"rotation": 0, "ha": "center"}
    ax.set_xticks(range(k), names, parse_math=False, **turned)
    ax.set_yticks(range(k), names, parse_math=False)
    ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False, labelsize=8)
    ax.spines[:].set_visible(False)
    for row, column in itertools.product(range(k), range(k)):
        i, j = found.order[row], found.order[column]
        shown = f"rank {found.averages[i]:.2f}" if i == j else _describe_pair(found, i, j)
        weight = "bold" if found.pairs.holm[i, j] <= ALPHA else "normal"
        ax.text(column, row, shown, fontweight=weight, **_CELL_STYLE)
    shades = np.linspace(-1, 1, 101)
    bar = figure.colorbar(drawn, ax=ax, boundaries=shades, ticks=[-1, 0, 1], pad=0.02, aspect=30)
    bar.ax.set_yticklabels(["loses all", "even", "wins all"], fontsize=6.5)
    bar.ax.tick_params(length=0)
    blocks = "data sets" if found.n_blocks == found.n_datasets else "points"
    note = (
        f"Row against column over {found.n_blocks} {blocks}: better by (mean), wins/ties/losses,\n"
        f"Wilcoxon's p after Holm's correction (bold: at most {ALPHA:g})."
    )
    write_heading(figure, title, note)
    return figure


def _shades(found: Significance) -> np.ndarray:
    """From −1 (the row's method loses in all blocks) to 1 (it wins in all)."""
    counts = found.pairs.counts[np.ix_(found.order, found.order)]
    wins, losses = counts[:, :, 0], counts[:, :, 2]
    shades: np.ndarray = (wins - losses) / found.n_blocks
    np.fill_diagonal(shades, np.nan)
    return shades


def _describe_pair(found: Significance, i: int, j: int) -> str:
    """How much better the first is, its wins, ties and losses, and the p-value."""
    advantages = found.pairs.advantage
    digits = 4 if np.abs(advantages).max() < 10 else 1
    p = found.pairs.holm[i, j]
    shown = f"p = {p:.3f}"
    if math.isnan(p):
        shown = f"p = {DASH}"
    elif p < 0.001:
        shown = "p < 0.001"
    return f"{signed(advantages[i, j], digits)}\n{format_counts(found.pairs.counts[i, j])}\n{shown}"
