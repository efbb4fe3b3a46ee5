"""SVG to stand inside an HTML page: charts drawn for it, and matplotlib's figures adapted to it.

The curves of a page are drawn here and not by matplotlib, whose SVG has neither a tooltip for each point nor classes
that a style sheet could colour, and is many times as large. What is to be drawn is shared (`mlcdr.tables.curves`).

A page's style sheet gives colours, so that a chart follows the reader's dark mode: the classes `c0` … `c6` are the
colours of methods, `l0` … `l2` their line styles. Text is text, and no element of a chart has an `id`.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from html import escape

from mlcdr.tables import styles
from mlcdr.tables.curves import Curve

COLOURS = len(styles.COLOURS)
LINES = len(styles.LINES)

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_WIDTH, _HEIGHT = 380.0, 240.0
_TOP, _BOTTOM, _RIGHT = 12.0, 40.0, 12.0
_LETTER = 6.3  # the width of a digit at the size of the ticks
_THEME = {colour: f"var(--c{k})" for k, colour in enumerate(styles.COLOURS)}
_THEME |= {"#000000": "currentColor", "#ffffff": "var(--paper)", "#dddddd": "var(--rule)", "#444444": "currentColor"}


def chart(
    curves: Sequence[tuple[int, Curve]],
    ticks: Sequence[tuple[float, str]],
    x_label: str,
    label: str,
    joined: bool = True,
) -> str:
    """Lines with their bands.

    Parameters
    ----------
    curves : sequence of (k, Curve)
        `k` is the method's place in the experiment, which sets its colour and marker. No curve is empty.
    ticks : sequence of (position, text)
        Of the horizontal axis; left out where there is no room.
    x_label : str
        What stands between dollar signs is set in italics.
    label : str
        What a screen reader says in place of the chart.
    joined : bool
        Whether lines join the points.
    """
    low = min(m - s for _, c in curves for m, s in zip(c.mean, c.spread, strict=True))
    high = max(m + s for _, c in curves for m, s in zip(c.mean, c.spread, strict=True))
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    levels, digits = nice_ticks(low - room, high + room)
    names = [_number(level, digits) for level in levels]
    left = 12.0 + _LETTER * max(map(len, names))
    first, last = min(x for x, _ in ticks), max(x for x, _ in ticks)

    def across(x: float) -> float:
        inset = 10.0
        share = (x - first) / (last - first) if last > first else 0.5
        return left + inset + share * (_WIDTH - _RIGHT - left - 2 * inset)

    def up(y: float) -> float:
        return _TOP + (high + room - y) / (high - low + 2 * room) * (_HEIGHT - _TOP - _BOTTOM)

    floor = _HEIGHT - _BOTTOM
    rules = "".join(f"M{left:.1f} {up(level):.1f}H{_WIDTH - _RIGHT:.1f}" for level in levels)
    parts = [f'<path class="grid" d="{rules}"/>']
    parts += [_text(left - 6, up(level) + 4, name, "end") for level, name in zip(levels, names, strict=True)]
    shown = _with_room([(across(x), text) for x, text in ticks])
    parts.append(f'<path class="axis" d="M{left:.1f} {floor:.1f}H{_WIDTH - _RIGHT:.1f}{_strokes(shown, floor)}"/>')
    parts += [_text(x, floor + 16, text, "middle") for x, text in shown]
    parts.append(_text((left + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, x_label, "middle", "label", math_set=True))
    for k, found in curves:
        path = [(across(x), up(y)) for x, y in zip(found.x, found.mean, strict=True)]
        if any(found.spread):
            spread = list(zip(found.x, found.mean, found.spread, strict=True))
            edge = [(across(x), up(m + s)) for x, m, s in spread] + [(across(x), up(m - s)) for x, m, s in spread[::-1]]
            parts.append(f'<path class="band c{k % COLOURS}" d="{_line(edge)}Z"/>')
        if joined:
            parts.append(f'<path class="line c{k % COLOURS} l{k % LINES}" d="{_line(path)}"/>')
        for (x, y), value, mean, se in zip(path, found.values, found.mean, found.spread, strict=True):
            title = f"{found.method}, {value}: {mean:.4g}" + (f" ± {se:.2g}" if se else "")
            parts.append(
                f'<path class="mark c{k % COLOURS}" d="{marker(k, x, y)}"><title>{escape(title)}</title></path>'
            )
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )


def swatch(k: int) -> str:
    """A short line with a marker, for a legend; hidden from screen readers, which read the name next to it."""
    return (
        '<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true">'
        f'<path class="line c{k % COLOURS} l{k % LINES}" d="M1 6H33"/>'
        f'<path class="mark c{k % COLOURS}" d="{marker(k, 17, 6)}"/></svg>'
    )


def inlined(drawn: str, prefix: str, label: str) -> str:
    """A diagram that matplotlib has written as SVG, as an element to stand inside a page.

    Every `id`, and every reference to one, begins with `prefix`, so that the figures of a page do not take each other's
    clips and markers. The metadata are removed, and so is the style sheet, which would apply to the whole page; its
    declarations are put on the root element. Colours of methods, black, white and the greys of grid and remarks are
    replaced by the page's own, which differ in dark mode.
    """
    root = ET.fromstring(drawn)
    everywhere = (root.findtext(f".//{_SVG}style") or "").strip("*{} \n")  # joins and caps
    for parent in list(root.iter()):
        for child in [each for each in parent if each.tag in (f"{_SVG}metadata", f"{_SVG}style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {
            name.removeprefix(_XLINK): _own(name.removeprefix(_XLINK), value, prefix)
            for name, value in element.attrib.items()
        }
    size = {name: root.get(name, "") for name in ("width", "viewBox")}  # the height follows from the width
    root.attrib = {**size, "fill": "currentColor", "style": everywhere}  # matplotlib leaves out black, SVG's default
    root.attrib |= {"role": "img", "aria-label": label, "class": "figure"}
    return ET.tostring(root, encoding="unicode")


def _own(name: str, value: str, prefix: str) -> str:
    """An attribute's value with the page's ids and colours."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return f"#{prefix}-{value.removeprefix('#')}"
    value = value.replace("url(#", f"url(#{prefix}-")
    return re.sub("#[0-9a-f]{6}", lambda found: _THEME.get(found.group(), found.group()), value)


def nice_ticks(low: float, high: float) -> tuple[list[float], int]:
    """Four to six or so round numbers from `low` to `high`, and how many decimals tell them apart."""
    raw = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * min((s for s in (1, 2, 5, 10) if s * power >= raw * (1 - 1e-9)), default=10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)], max(0, -math.floor(math.log10(step) + 1e-9))


def _number(value: float, digits: int) -> str:
    if digits > 6 or abs(value) >= 1e7:
        return f"{value:.3g}"
    return f"{value:.{digits}f}".replace("-", "−")


def marker(k: int, x: float, y: float) -> str:
    """The outline of the marker of method `k` around (x, y)."""
    return _MARKERS[k % len(_MARKERS)](x, y)


def _polygon(*corners: tuple[float, float]) -> Callable[[float, float], str]:
    return lambda x, y: _line([(x + dx, y + dy) for dx, dy in corners]) + "Z"


_MARKERS: tuple[Callable[[float, float], str], ...] = (
    lambda x, y: f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z",
    _polygon((-2.7, -2.7), (2.7, -2.7), (2.7, 2.7), (-2.7, 2.7)),
    _polygon((0, -3.5), (3.3, 2.6), (-3.3, 2.6)),
    _polygon((0, -3.7), (3.7, 0), (0, 3.7), (-3.7, 0)),
    _polygon((0, 3.5), (3.3, -2.6), (-3.3, -2.6)),
    _polygon(
        *((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1))
    ),
    _polygon((-3, -2), (-2, -3), (0, -1), (2, -3), (3, -2), (1, 0), (3, 2), (2, 3), (0, 1), (-2, 3), (-3, 2), (-1, 0)),
    _polygon((-3.5, 0), (2.6, -3.3), (2.6, 3.3)),
    _polygon((3.5, 0), (-2.6, -3.3), (-2.6, 3.3)),
)


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _strokes(ticks: Sequence[tuple[float, str]], y: float) -> str:
    return "".join(f"M{x:.1f} {y:.1f}v4" for x, _ in ticks)


def _with_room(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """The ticks, from the left, whose texts do not run into the one before."""
    shown: list[tuple[float, str]] = []
    for x, text in sorted(ticks):
        if not shown or x - shown[-1][0] > _LETTER * (len(text) + len(shown[-1][1])) / 2 + 6:
            shown.append((x, text))
    return shown


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick", math_set: bool = False) -> str:
    shown = escape(text)
    if math_set and text.count("$") % 2 == 0:
        pieces = map(escape, text.split("$"))
        shown = "".join(f'<tspan class="math">{piece}</tspan>' if k % 2 else piece for k, piece in enumerate(pieces))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown}</text>'
