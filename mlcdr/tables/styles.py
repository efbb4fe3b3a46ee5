"""How methods look: the k-th method of an experiment has one colour, marker and line style in all figures.

k counts in the order of the config, over all its methods, so that a method which failed, or which a figure leaves out,
does not change the others. Colours are those of Okabe & Ito (2008), which are distinct with any colour vision, without
their yellow, which is too light for a line, and with a darker orange. Seven colours, nine markers and three line styles
have no common divisor but 1 and 3: colour and line style tell 21 methods apart, colour and marker 63.

A page's style sheet has the colours as `--c0` … `--c6`, and other values for them in dark mode.
"""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072b2", "#d98f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES = ("-", "--", "-.")
_HATCHES = ("", "////", "....")  # of bars, which have neither marker nor line: one for each round of the colours


def colour(k: int) -> str:
    """The colour of method k."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Its marker, as matplotlib calls it."""
    return MARKERS[k % len(MARKERS)]


def line(k: int) -> str:
    """Its line style, as matplotlib calls it."""
    return LINES[k % len(LINES)]


def bar(k: int) -> dict[str, Any]:
    """What matplotlib draws its bars with."""
    return {
        "facecolor": colour(k),
        "hatch": _HATCHES[k // len(COLOURS) % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.4,
    }


def mark(k: int) -> dict[str, Any]:
    """What matplotlib draws its markers with."""
    return {
        "color": colour(k),
        "marker": marker(k),
        "markerfacecolor": "white",
        "markeredgecolor": colour(k),
        "markeredgewidth": 1.0,
    }


def curve(k: int) -> dict[str, Any]:
    """What matplotlib draws its lines with. Where lines coincide, the lower one shows through the upper one's gaps."""
    return {"linestyle": line(k), "zorder": 3 + k * 0.01, **mark(k)}
