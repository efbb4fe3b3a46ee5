"""The length of a step along a direction of descent."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

_DECREASE = 1e-4
_FLATTER = 0.9
_TINY = 2.0**-52


def find_step_length(
    value: Callable[[float], float],
    slope: Callable[[float], float],
    start: float,
    descent: float,
    shortest: float,
    longest: float,
) -> float:
    """A length t with φ(t) ≤ φ(0) + 10⁻⁴ t φ′(0) and φ′(t) ≥ .9 φ′(0), where there is one, near 1.

    A step of 1 is tried first. Too long a one is shortened by the minimum of a parabola, then of cubics, to a tenth at
    the least; too short a one is doubled up to `longest`; between two such lengths a parabola is followed. Below
    `shortest` the first condition alone has to do, and without it the length is 1 if that is lower than the start, else
    0. The curvature condition φ′(t) ≥ .9 φ′(0) is enough while a step is doubled. Where φ is infinite, a length is
    halved.

    Source: Dennis & Schnabel 1983, Algorithm A6.3.1mod, as WEKA has it (weka.core.Optimization).

    Parameters
    ----------
    value, slope : callables
        φ and φ′.
    start, descent : float
        φ(0) and φ′(0) < 0.
    shortest, longest : float
    """

    def is_low(length: float, height: float) -> bool:
        return height <= start + _DECREASE * length * descent

    def is_steep(slope_there: float) -> bool:
        return slope_there < _FLATTER * descent

    length, height = _halve(value, 1.0)
    if is_low(length, height):
        there = slope(length)
        if not is_steep(there):
            return length
        low = high = length
        at_low = at_high = height
        while length < longest and is_low(length, height):
            low, at_low = length, height
            length = min(2 * length, longest)
            height, there = value(length), slope(length)
            if not is_steep(there):
                return length
        high, at_high = length, height
    else:
        first = height if length == 1 else inf
        high, at_high = length, height
        while not is_low(length, height):
            if length < shortest:
                return 1.0 if first < start else 0.0
            shorter = _shorten(length, height, high, at_high, start, descent)
            high, at_high = length, height
            length, height = _halve(value, max(shorter, 0.1 * length))
        low, at_low, there = length, height, slope(length)
    width = high - low
    while is_steep(there) and width >= shortest:
        further = max(-0.5 * there * width**2 / (at_high - at_low - there * width), 0.2 * width)
        length = low + further
        if length >= high:
            length, further = high, width
        height = value(length)
        if not is_low(length, height):
            width, at_high = further, height
            continue
        there = slope(length)
        if is_steep(there):
            low, at_low, width = length, height, width - further
    return low if is_steep(there) else length


def _halve(value: Callable[[float], float], length: float) -> tuple[float, float]:
    """The length, halved until φ is finite there, and φ."""
    height = value(length)
    while height == inf and length > _TINY:
        length /= 2
        height = value(length)
    return length, height


def _shorten(length: float, height: float, before: float, at_before: float, start: float, descent: float) -> float:
    """The minimum of the parabola through φ(0), φ′(0) and φ(length), or of the cubic through φ(before), too."""
    rest = height - start - length * descent
    if before == length:
        return -0.5 * length**2 * descent / rest
    rest_before = at_before - start - before * descent
    cubic = (rest / length**2 - rest_before / before**2) / (length - before)
    square = (-before * rest / length**2 + length * rest_before / before**2) / (length - before)
    if cubic == 0:
        shorter = -descent / (2 * square)
    else:
        shorter = (-square + sqrt(max(square**2 - 3 * cubic * descent, 0.0))) / (3 * cubic)
    return min(shorter, 0.5 * length)
