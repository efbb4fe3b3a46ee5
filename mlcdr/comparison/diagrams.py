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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

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
_TITLE_STYLE: Mapping[str, Any] = {"fontsize": 8.5, "fontweight": "bold", "va": "center", "parse_math": False}
_NOTE_STYLE: Mapping[str, Any] = {"fontsize": 6.5, "color": "#444444"}
_CENTRED: Mapping[str, Any] = {"fontsize": 6.5, "ha": "center", "va": "center"}
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
    stem = layouts.file_name(comparison.metric)
    pictures = {
        "cd_nemenyi": draw_critical_difference(found, title, "nemenyi", methods),
        "cd_wilcoxon_holm": draw_critical_difference(found, title, "wilcoxon", methods),
        "matrix": draw_matrix(found, title),
    }
    written: list[Path] = []
    for name, figure in pictures.items():
        written += save(figure, folder / f"{stem}_{name}", title)
    return written


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

    `methods`, all of the experiment in order, determines colours and markers (default: `found.methods`).
    """
    return _Diagram(found, title, test == "nemenyi", methods or found.methods).draw()


class _Diagram:
    """A critical-difference diagram; all sizes are in inches, from the left and from the top.

    Attributes
    ----------
    left, right : list of int
        The methods whose names stand at the left (the better half) and at the right, from the top.
    margin : float
        From the edge to the axis: a name fits in.
    top, deep : float
        Where the axis is, and how far below it the first line to a name is.
    """

    def __init__(self, found: Significance, title: str, nemenyi: bool, methods: Sequence[str]):
        self.found, self.nemenyi = found, nemenyi
        self.title = shorten_name(title, _TITLE)
        self.names = [shorten_name(method) for method in found.methods]
        self.looks = [list(methods).index(method) for method in found.methods]
        self.cliques = found.nemenyi_cliques() if nemenyi else found.wilcoxon_cliques()
        self.levels = _levels(found, self.cliques)
        self.notes = _footnote(found, nemenyi, bool(self.cliques))
        half = math.ceil(len(found.order) / 2)
        self.left = found.order[:half]
        self.right = found.order[half:][::-1]
        longest = max(map(len, self.names)) + len("  0.00")
        self.margin = _LETTER * longest + 0.25
        self.head = 0.32 if title else 0.1
        self.top = self.head + (0.53 if nemenyi else 0.28)  # the title, the scale, and Nemenyi's ruler
        self.deep = 0.16 + 0.5 * _STEP * (1 + max(self.levels, default=-1))

    def draw(self) -> Figure:
        """The figure."""
        height = self.top + self.deep + _STEP * (len(self.left) + 0.5) + 0.16 * len(self.notes) + 0.1
        width = max(_AXIS + 2 * self.margin, _LETTER * len(self.title) + 0.3)
        figure = Figure(figsize=(width, height))
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_axis_off()
        ax.text(0.1, 0.18, self.title, **_TITLE_STYLE)
        self._draw_axis(ax)
        if self.nemenyi:
            self._draw_ruler(ax)
        for row, j in enumerate(self.left):
            self._draw_method(ax, j, row, -1)
        for row, j in enumerate(self.right):
            self._draw_method(ax, j, row, 1)
        for clique, level in zip(self.cliques, self.levels, strict=True):
            self._draw_bar(ax, clique, self.top + 0.1 + 0.5 * _STEP * level)
        for row, line in enumerate(reversed(self.notes)):
            ax.text(0.1, height - 0.12 - 0.16 * row, line, va="center", **_NOTE_STYLE)
        return figure

    def _at(self, rank: float) -> float:
        """Where a rank is on the axis."""
        return self.margin + _AXIS * (rank - 1) / (len(self.names) - 1)

    def _draw_axis(self, ax: Axes) -> None:
        k = len(self.names)
        ax.plot([self._at(1), self._at(k)], [self.top, self.top], color="black", linewidth=0.8)
        for rank in range(1, k + 1):
            x = self._at(rank)
            ax.plot([x, x], [self.top - 0.06, self.top], color="black", linewidth=0.8)
            ax.text(x, self.top - 0.08, str(rank), ha="center", va="bottom", fontsize=7)

    def _draw_ruler(self, ax: Axes) -> None:
        """The critical difference to scale; one that is longer than the axis is given as a number only."""
        cd, k = self.found.cd, len(self.names)
        x, y = self._at(1), self.head + 0.1
        label = f"CD = {cd:.2f}"
        if cd > k - 1:
            ax.text(x, y, f"{label}, more than the axis is long", fontsize=7, va="center")
            return
        end = x + cd * (_AXIS / (k - 1))
        ax.plot([x, end], [y, y], color="black", linewidth=1.2)
        ax.vlines([x, end], y - 0.04, y + 0.04, color="black", linewidth=1.2)
        ax.text(end + 0.08, y, label, fontsize=7, va="center")

    def _draw_method(self, ax: Axes, j: int, row: int, side: int) -> None:
        """A line from the rank of a method to its name at the left (side −1) or right (1)."""
        rank = float(self.found.averages[j])
        x = self._at(rank)
        y = self.top + self.deep + _STEP * (row + 0.5)
        look = self.looks[j]
        if side < 0:
            edge, ha, label = self.margin - 0.08, "right", f"{self.names[j]}  {rank:.2f}"
        else:
            edge, ha, label = self.margin + _AXIS + 0.08, "left", f"{rank:.2f}  {self.names[j]}"
        ax.plot([x, x, edge], [self.top, y, y], color=styles.colour(look), linewidth=0.9, solid_joinstyle="round")
        ax.plot([edge], [y], markersize=4.0, **styles.mark(look))
        ax.text(edge + 0.08 * side, y, label, ha=ha, va="center", parse_math=False)

    def _draw_bar(self, ax: Axes, clique: tuple[int, ...], y: float) -> None:
        """The bar of a clique; where it passes over a method outside the clique, dots mark the members."""
        x = [self._at(float(self.found.averages[j])) for j in clique]
        ax.plot([x[0] - 0.03, x[-1] + 0.03], [y, y], color="black", linewidth=2.4, solid_capstyle="butt")
        first, last = self.found.order.index(clique[0]), self.found.order.index(clique[-1])
        if last - first + 1 > len(clique):
            ax.plot(x, [y] * len(x), "o", color="black", markersize=4.5)


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


# -------------------------------------------------------------------- the matrix


@mpl.rc_context({**STYLE, "axes.grid": False})
def draw_matrix(found: Significance, title: str) -> Figure:
    """Every pair of methods, in the order of their average ranks."""
    order = found.order
    k = len(order)
    names = [shorten_name(found.methods[j]) for j in order]
    title = shorten_name(title, _TITLE)
    longest = max(map(len, names))
    slanted = longest > _UPRIGHT
    margin = _LETTER * longest + 0.3
    body = (k * max(_CELL[0], _LETTER * min(longest, _UPRIGHT) + 0.1), k * _CELL[1])
    head = 0.5 * _LETTER * longest + 0.25 if slanted else 0.3
    width = max(margin + body[0] + 0.85, 3.7, _LETTER * len(title) + 0.3)
    height = _FOOT + head + body[1] + 0.4
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((margin / width, _FOOT / height, body[0] / width, body[1] / height))
    # so pale that black can be read
    image = ax.imshow(_shades(found), cmap="PuOr", vmin=-2, vmax=2, aspect="auto")
    _draw_grid(ax, names, slanted)
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            _write_cell(ax, found, (a, b), (i, j))
    bar = figure.add_axes(((margin + body[0] + 0.12) / width, _FOOT / height, 0.1 / width, body[1] / height))
    figure.colorbar(image, cax=bar, boundaries=np.linspace(-1, 1, 101), ticks=[-1, 0, 1])
    bar.set_yticklabels(["loses all", "even", "wins all"], fontsize=6.5)
    bar.tick_params(length=0)
    figure.text(0.1 / width, 1 - 0.18 / height, title, **_TITLE_STYLE)
    blocks = "data sets" if found.n_blocks == found.n_datasets else "points"
    note = (
        f"Row against column over {found.n_blocks} {blocks}: better by (mean), wins/ties/losses,\n"
        f"Wilcoxon's p after Holm's correction (bold: at most {ALPHA:g})."
    )
    figure.text(0.1 / width, 0.26 / height, note, **_NOTE_STYLE)
    return figure


def _shades(found: Significance) -> np.ndarray:
    """From −1 (the row's method loses in all blocks) to 1 (it wins in all)."""
    counts = found.pairs.counts[np.ix_(found.order, found.order)].astype(float)
    wins, losses = counts[:, :, 0], counts[:, :, 2]
    shades: np.ndarray = (wins - losses) / found.n_blocks
    np.fill_diagonal(shades, np.nan)
    return shades


def _draw_grid(ax: Axes, names: Sequence[str], slanted: bool) -> None:
    """The names at the left and above, and white lines between the cells."""
    k = len(names)
    rotation, ha = (40, "left") if slanted else (0, "center")
    ax.set_xticks(range(k), names, parse_math=False, rotation=rotation, ha=ha)
    ax.set_yticks(range(k), names, parse_math=False)
    ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False, labelsize=8)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(k + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(k + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2)
    ax.tick_params(which="minor", length=0)


def _write_cell(ax: Axes, found: Significance, place: tuple[int, int], pair: tuple[int, int]) -> None:
    """What stands in the row and column of `place`: the pair of methods, or a method's own rank."""
    row, column = place
    i, j = pair
    if i == j:
        rank = f"rank {found.averages[i]:.2f}"
        ax.text(column, row, rank, color="#444444", **_CENTRED)
        return
    weight = "bold" if found.pairs.holm[i, j] <= ALPHA else "normal"
    shown = _describe_pair(found, i, j)
    ax.text(column, row, shown, linespacing=1.25, fontweight=weight, **_CENTRED)


def _describe_pair(found: Significance, i: int, j: int) -> str:
    """How much better the first is, its wins, ties and losses, and the p-value."""
    largest = max(abs(float(x)) for x in found.pairs.advantage.ravel())
    better = signed(float(found.pairs.advantage[i, j]), 4 if largest < 10 else 1)
    p = float(found.pairs.holm[i, j])
    shown = f"p = {p:.3f}"
    if math.isnan(p):
        shown = f"p = {DASH}"
    elif p < 0.001:
        shown = "p < 0.001"
    return f"{better}\n{format_counts(found.pairs.counts[i, j])}\n{shown}"
