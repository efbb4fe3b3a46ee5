"""The axes of a panel: where the values of a swept path stand, their ticks, and the labels."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from mlcdr.tables.text_format import shorten_name

_LETTERS = 19  # letters per inch below a panel
_NEAREST = 1 / 15  # of the axis: ticks nearer than this run into each other, and the later one is left out
_SLANTED = 30  # letters below a panel from which on they are set on a slant
_PANEL = 36  # letters of the width of a panel


def place_values(values: Sequence[str]) -> list[float]:
    """Where the values stand on the axis: their own size if all are numbers of one kind, else 0, 1, 2 …"""
    of_one_kind = len({value.endswith("%") for value in values}) == 1
    with contextlib.suppress(ValueError):
        numbers = [float(value.removesuffix("%")) for value in values]
        if of_one_kind and np.isfinite(numbers).all():
            return numbers
    return [float(k) for k in range(len(values))]


def mark_values(ax: Axes, values: Sequence[str]) -> None:
    """Put a tick at each value of a swept path; round numbers where there is no room for all of them."""
    places = place_values(values)
    names = [shorten_name(value) for value in values]
    logarithmic = ax.get_xscale() == "log"
    ticks = _choose_ticks(np.log(places) if logarithmic else places, names, _count_letters(ax))
    if len(ticks) == len(values) or logarithmic:
        shown = [names[k] for k in ticks]
        ax.set_xticks([places[k] for k in ticks], shown, parse_math=False)
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        whole = all(map(float.is_integer, places))
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=whole))


def mark_names(ax: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Put a tick with a name at each place, on a slant where the names would run into each other."""
    shown = [shorten_name(name) for name in names]
    ax.set_xticks(places, shown, parse_math=False)
    room = _PANEL / len(shown)  # letters from one name to the next
    needed = [(len(name) + len(following)) / 2 + 1 for name, following in pairwise(shown)]
    if max(needed, default=0) > room or sum(map(len, shown)) > _SLANTED:
        ax.tick_params(axis="x", labelrotation=35)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def stretch_times(ax: Axes, scale: str) -> None:
    """Make the horizontal axis logarithmic, if that is asked for or its points are of very unlike size."""
    if scale == "log" or _spans_decades(ax):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_locator(NullLocator())


def label_below(ax: Axes, label: str, parse_math: bool) -> None:
    """Set the label of the horizontal axis, in several lines where it is long."""
    room = _count_letters(ax)
    if len(label) > room and "$" not in label:
        label = fill(label, room)
    ax.set_xlabel(label, parse_math=parse_math)


def _count_letters(ax: Axes) -> int:
    """How many letters go side by side below the panel."""
    return int(_LETTERS * ax.bbox.width / ax.figure.dpi)


def _choose_ticks(places: ArrayLike, names: Sequence[str], room: int) -> list[int]:
    """Which of the values get a tick of their own: those whose name stands clear of the one before.

    `room` is the axis', in letters.
    """
    at = np.asarray(places)
    kept: list[int] = []
    for k in np.argsort(at, kind="stable").tolist():
        if kept:
            letters = (len(names[k]) + len(names[kept[-1]])) / 2 + 1
            needed = max(_NEAREST, letters / room) * np.ptp(at)
            if at[k] - at[kept[-1]] < needed:
                continue
        kept.append(k)
    return kept


def _spans_decades(ax: Axes) -> bool:
    """Whether the points' x are positive and the largest is over five times the smallest."""
    if not ax.lines:
        return False
    x = np.concatenate([line.get_xdata() for line in ax.lines])
    return bool(x.min() > 0 and x.max() > 5 * x.min())
