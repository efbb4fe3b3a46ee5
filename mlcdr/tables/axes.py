"""The axes of a panel: where the values of a swept path stand, their ticks, and the labels."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from mlcdr.tables.text_format import shorten_name

_LETTERS = 19  # letters per inch below a panel
_NEAREST = 1 / 15  # of the axis: ticks nearer than this run into each other, and the later one is left out
_SLANTED = 30  # letters below a panel from which on they are set on a slant
_PANEL = 36  # letters of the width of a panel
_SHORT = 5  # letters of a value that may stand at a logarithmic axis
_FEWEST, _MOST = 3, 10  # ticks at round numbers


def place_values(values: Sequence[str]) -> list[float]:
    """Where the values stand on the axis: their own size if all are numbers of one kind, else 0, 1, 2 …"""
    of_one_kind = len({value.endswith("%") for value in values}) == 1
    with contextlib.suppress(ValueError):
        numbers = [float(value.removesuffix("%")) for value in values]
        if of_one_kind and np.isfinite(numbers).all():
            return numbers
    return [float(k) for k in range(len(values))]


def mark_values(ax: Axes, values: Sequence[str]) -> None:
    """Put a tick at each value of a swept path; round numbers where there is no room for all of them.

    On a logarithmic axis round numbers stand where values are long, such as those that are drawn at random; if short
    values have no room, some of them are left out.
    """
    places = place_values(values)
    names = [shorten_name(value) for value in values]
    logarithmic = ax.get_xscale() == "log"
    room = count_letters(ax)
    most = room // (_SHORT + 1)
    ticks = _choose_ticks(np.log(places) if logarithmic else places, names, room)
    if logarithmic and max(map(len, names)) > _SHORT:
        mark_powers(ax.xaxis, most)
    elif len(ticks) == len(values) or logarithmic:
        shown = [names[k] for k in ticks]
        ax.set_xticks([places[k] for k in ticks], shown, parse_math=False)
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        whole = all(map(float.is_integer, places))
        intervals = min(max(most, _FEWEST), _MOST)
        ax.xaxis.set_major_locator(MaxNLocator(intervals, steps=[1, 2, 5, 10], integer=whole))


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


def mark_powers(axis: Axis, most: int = 6) -> None:
    """Put `most` ticks, or fewer, at round numbers of a logarithmic axis."""
    axis.set_major_locator(_RoundLocator(max(most, _FEWEST)))
    axis.set_major_formatter(FuncFormatter(_write_number))
    axis.set_minor_locator(NullLocator())


class _RoundLocator(Locator):
    """Round numbers of a logarithmic axis: powers of ten; with their double and their half, where these are few; and
    where the axis is short the numbers that a linear one has.
    """

    def __init__(self, most: int):
        self._most = most

    def __call__(self) -> Sequence[float]:
        """The ticks of the axis as it is."""
        assert self.axis is not None, "it is set by an axis"
        low, high = self.axis.get_view_interval()
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The ticks from one number to another."""
        low, high = sorted((vmin, vmax))
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for digits in ([1.0], [1.0, 2.0, 5.0]):
            ticks = np.outer(powers, digits).ravel()
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            if len(ticks) >= _FEWEST:
                return ticks[:: math.ceil(len(ticks) / self._most)].tolist()
        linear = np.asarray(MaxNLocator(self._most, steps=[1, 2, 5, 10]).tick_values(low, high))
        return linear[(linear >= low) & (linear <= high)].tolist()


def _write_number(number: float, _: int) -> str:
    return f"{number:g}"


def stretch_times(ax: Axes, scale: str) -> None:
    """Make the horizontal axis logarithmic, if that is asked for or its points are of very unlike size."""
    if scale == "log" or _spans_decades(ax):
        ax.set_xscale("log")
        mark_powers(ax.xaxis, count_letters(ax) // (_SHORT + 1))


def label_below(ax: Axes, label: str, parse_math: bool) -> None:
    """Set the label of the horizontal axis, in several lines where it is long."""
    room = count_letters(ax)
    if len(label) > room and "$" not in label:
        label = fill(label, room)
    ax.set_xlabel(label, parse_math=parse_math)


def count_letters(ax: Axes) -> int:
    """How many letters go side by side below the panel; one at least."""
    return max(1, int(_LETTERS * ax.bbox.width / ax.figure.dpi))


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
