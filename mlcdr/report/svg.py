"""Figures of matplotlib as SVG inside an HTML page: in the page's colours, and with a text for each point.

A page's style sheet gives the colours (`--c0` … `--c6` of methods, `--paper`, `--rule`), so that a figure follows the
reader's dark mode.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from mlcdr.tables import styles
from mlcdr.tables.canvas import STYLE

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_THEME = {colour: f"var(--c{k})" for k, colour in enumerate(styles.COLOURS)}
_THEME |= {"#000000": "currentColor", "#ffffff": "var(--paper)", "#dddddd": "var(--rule)", "#444444": "currentColor"}


def embed(
    figure: Figure,
    prefix: str,
    label: str,
    hover: Mapping[str, Sequence[str]] | None = None,
) -> Markup:
    """A figure as an element to stand inside a page.

    Every `id`, and every reference to one, begins with `prefix`, so that the figures of a page do not take each other's
    clips and markers. The metadata are removed, and so is the style sheet, which would apply to the whole page; its
    declarations are put on the root element. Colours of methods, black, white and the greys of grid and remarks are
    replaced by the page's own, which differ in dark mode.

    Parameters
    ----------
    figure : Figure
    prefix : str
    label : str
        What a screen reader says in place of the figure.
    hover : mapping, optional
        The `gid` of a line of the figure → what is shown on pointing at each of its markers.
    """
    image = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.fonttype": "none"}):
        figure.savefig(image, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(image.getvalue())
    for gid, texts in (hover or {}).items():
        _title_markers(root, gid, texts)
    _adapt(root, prefix)
    # The height follows from the width; matplotlib leaves out black, which is SVG's default.
    root.attrib = {
        "width": root.get("width", ""),
        "viewBox": root.get("viewBox", ""),
        "fill": "currentColor",
        "style": root.get("style", ""),
        "role": "img",
        "aria-label": label,
        "class": "figure",
    }
    return Markup(ET.tostring(root, encoding="unicode"))  # ElementTree escapes all text


def _title_markers(root: ET.Element, gid: str, texts: Sequence[str]) -> None:
    """Give each marker of a line, which matplotlib draws in the order of its points, a title."""
    markers = root.iterfind(f".//{_SVG}g[@id='{gid}']//{_SVG}use")
    for marker, text in zip(markers, texts, strict=True):
        ET.SubElement(marker, f"{_SVG}title").text = text


def _adapt(root: ET.Element, prefix: str) -> None:
    """Take out what belongs to a file of its own; names and colours become the page's."""
    root.set("style", (root.findtext(f".//{_SVG}style") or "").strip("*{} \n"))  # joins and caps of all lines
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        attributes = {name.removeprefix(_XLINK): value for name, value in element.items()}
        element.attrib = {name: _adapt_value(name, value, prefix) for name, value in attributes.items()}


def _adapt_value(name: str, value: str, prefix: str) -> str:
    """An attribute's value with the page's ids and colours."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return f"#{prefix}-{value.removeprefix('#')}"
    value = value.replace("url(#", f"url(#{prefix}-")
    return re.sub("#[0-9a-f]{6}", lambda found: _THEME.get(found.group(), found.group()), value)
