"""Matrices of numbers as colours: what all heat maps have in common, and those of results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colorbar import Colorbar
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from mlcdr.results.frame import make_places
from mlcdr.tables.axes import count_letters
from mlcdr.tables.spot import Legend, Spot, write_text
from mlcdr.tables.text_format import shorten_name

_WRITTEN = 144  # cells up to which each has its number
_WIDEST = 1e6  # means that are written have at most six digits before the point
_TICKS = 12  # of an axis, at most
_BRIGHT = 0.45  # of 1: a cell that is darker has its number in white
_FRAME = "#d55e00"
_MISSING = "#b8b8b8"  # darker than what lies around the middle of PuOr


def draw_matrix(ax: Axes, values: np.ndarray, bar_style: Mapping[str, Any], **look: Any) -> tuple[AxesImage, Colorbar]:
    """A matrix, and the scale of its colours; cells without a number are grey. `look` is what `imshow` takes."""
    ax.set_facecolor(_MISSING)
    image = ax.imshow(values, **look)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, **bar_style)
    bar.ax.tick_params(labelsize=6.5)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return image, bar


def draw_heat_map(ax: Axes, spot: Spot) -> Legend:
    """The means of one method over two swept paths; the brighter, the better; the best framed."""
    layout, results = spot.layout, spot.results
    across, down = results.values(layout.x), results.values(layout.y)
    found = spot.look_up(make_places({layout.y: down, layout.x: across}))
    cells = found["mean"].to_numpy(float).reshape(len(down), len(across))
    better = results.metric_facts(spot.metric).higher_is_better
    colours = "cividis_r" if better is False else "cividis"
    look = {"cmap": colours, "aspect": "auto", "origin": "lower"}
    image, bar = draw_matrix(ax, cells, {"fraction": 0.06}, **look)
    bar.outline.set_visible(False)
    largest = np.nanmax(np.abs(cells), initial=0)
    if cells.size <= _WRITTEN and largest < _WIDEST and len(across) <= _TICKS:
        _write_cells(ax, cells, image)
    if better is not None:
        _frame_best(ax, cells if better else -cells)
    longest = max(len(shorten_name(value)) for value in across)
    _mark_every(ax.xaxis, across, count_letters(ax) // (longest + 2))
    _mark_every(ax.yaxis, down, _TICKS)
    spot.label_path(ax)
    write_text(ax.set_ylabel, spot.label, spot.name_path(layout.y))
    return {}


def _mark_every(axis: Axis, values: Sequence[str], room: int) -> None:
    """A tick at each value, or at every second, third … where there is no room for so many."""
    step = math.ceil(len(values) / min(max(room, 1), _TICKS))
    names = [shorten_name(value) for value in values[::step]]
    axis.set_ticks(range(0, len(values), step), names, parse_math=False)


def _frame_best(ax: Axes, gains: np.ndarray) -> None:
    best = np.nanmax(gains, initial=-math.inf)
    for i, j in np.argwhere(gains == best):
        corner = (j - 0.5, i - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_FRAME, linewidth=1.6))


def _write_cells(ax: Axes, cells: np.ndarray, image: AxesImage) -> None:
    """The numbers, each black or white, whichever is read better on its colour; as many digits as tell them apart."""
    digits = 3
    there = cells[~np.isnan(cells)]
    span = float(np.ptp(there)) if there.size else 0.0
    if span > 0:
        digits = min(4, max(3, 1 - math.floor(math.log10(span))))
    for (i, j), value in np.ndenumerate(cells):
        if math.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        colour = "white" if luminance < _BRIGHT else "black"
        ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=5.5, color=colour)
