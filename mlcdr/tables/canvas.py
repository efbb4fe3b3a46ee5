"""A figure as such: its style, its panels and legend, and how it is written, whatever it shows.

The same figure gives the same bytes.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlcdr.errors import ResultsError
from mlcdr.tables.shown import Shown
from mlcdr.tables.text_format import shorten_name
from mlcdr.whole_files import check_within, write_forms

_ENTRIES = 6  # in a row of the legend, at most
_SWATCH, _LETTER = 0.7, 0.066  # inches of a legend's entry: line and gaps, and each letter
_MILLIMETRES = 25.4  # an inch
_WIDTH = 170.0  # millimetres, where a layout gives none
_ROW = 58.0  # millimetres of height for each row of panels, where a layout gives none
_MARGINS = 16.0
_NARROWEST = 50.0  # millimetres of width for each column of panels
_PNG_DPI = 300
_SCREEN_DPI = 144  # twice a notebook's, for sharp screens
_HEADING = 120  # letters

STYLE: dict[Any, Any] = mpl.rc_params_from_file(
    Path(__file__).with_name("figures.mplstyle"), use_default_template=False
)
"""How all figures look, on top of what the user's matplotlib is set to."""


@dataclass(frozen=True, repr=False)
class Drawing(Shown):
    """A figure with its title and the stem of its file; a notebook shows it.

    Attributes
    ----------
    figure : matplotlib Figure
    title, stem : str
    """

    figure: Figure
    title: str
    stem: str

    def write(self, stem: str | Path) -> list[Path]:
        """Write `stem`.svg and `stem`.png.

        Raises
        ------
        ResultsError
            When a file cannot be written, or a text of a layout is no mathematics that can be set.
        """
        return save(self.figure, Path(stem), self.title)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """Its title; a terminal shows no pictures."""
        return f"Figure {self.title!r}; write(STEM) writes STEM.svg and STEM.png"

    def _repr_html_(self) -> str:
        picture = _picture(self.figure, "png", self.title, self.stem, _SCREEN_DPI)
        source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        width = round(self.figure.get_figwidth() * 96)
        alt = html.escape(self.title, quote=True)
        return f'<img src="{source}" alt="{alt}" style="width: {width}px; max-width: 100%">'


def write_drawings(folder: Path, drawings: Iterable[Drawing]) -> list[Path]:
    """Write drawings into `figures/` of a results folder.

    Raises
    ------
    ResultsError
        As `Drawing.write`.
    """
    written = []
    for drawing in drawings:
        written += drawing.write(check_within(folder, folder / "figures" / drawing.stem))
    return written


def empty_figure(width: float, height: float) -> Figure:
    """A figure of so many millimetres."""
    return Figure(figsize=(width / _MILLIMETRES, height / _MILLIMETRES), layout="constrained")


def new_figure(n: int, columns: int, size: tuple[float, float] | None = None) -> tuple[Figure, list[Axes]]:
    """An empty figure of n panels, row by row; `size` in millimetres."""
    rows = math.ceil(n / columns)
    natural = (max(_WIDTH, _NARROWEST * columns), _MARGINS + _ROW * rows)
    figure = empty_figure(*(size or natural))
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[n:]:
        ax.set_visible(False)
    return figure, axes[:n]


def write_heading(figure: Figure, heading: str, note: str = "") -> None:
    """Set a figure's heading, and the note at its foot; names in the heading are the user's, without mathematics."""
    figure.suptitle(shorten_name(heading, _HEADING), parse_math=False)
    if note:
        figure.supxlabel(note)


def add_legend(figure: Figure, shown: Mapping[str, Any], remark: str) -> None:
    """Set a legend below the panels, label → artist, with a remark above it; or the remark alone."""
    if shown:
        labels = [shorten_name(label) for label in shown]
        legend = figure.legend(
            list(shown.values()),
            labels,
            loc="outside lower center",
            ncols=_count_columns(labels, figure.get_figwidth()),
            handlelength=3.0,
            title=remark,
        )
        for written in (legend.get_title(), *legend.get_texts()):
            written.set_parse_math(False)  # a method's name is the user's: a dollar sign in it is a dollar sign
    elif remark:
        figure.supxlabel(remark, parse_math=False)


def _count_columns(labels: list[str], width: float) -> int:
    """How many entries stand side by side: rows of one length, none wider than the figure (in inches)."""
    longest = max(map(len, labels))
    fitting = int(width / (_SWATCH + _LETTER * longest))
    room = max(1, min(_ENTRIES, fitting))
    rows = math.ceil(len(labels) / room)
    return math.ceil(len(labels) / rows)


def save(figure: Figure, stem: Path, title: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png, without a date, so that the same figure gives the same bytes.

    Raises
    ------
    ResultsError
        When a file cannot be written, or a text of a layout is no mathematics that can be set.
    """
    forms = {ending: _picture(figure, ending, title, stem, _PNG_DPI) for ending in ("svg", "png")}
    return write_forms(stem, forms)


def _picture(figure: Figure, ending: str, title: str, place: str | Path, dpi: int) -> bytes:
    """A figure as an SVG or PNG file, without a date; `place` is for the message."""
    title = shorten_name(title, _HEADING)
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": "mlcdr", "Title": title},
        "png": {"Software": "mlcdr", "Title": title},
    }
    image = io.BytesIO()
    try:
        with mpl.rc_context(STYLE):
            figure.savefig(image, format=ending, dpi=dpi, metadata=about[ending])
    except ValueError as error:
        raise ResultsError(f"{place}: cannot be drawn: {' '.join(str(error).split())}") from error
    return image.getvalue()
