"""A sheet: a finished table of text, and how it looks in Markdown, in LaTeX, in HTML and on a terminal.

A sheet does not depend on results. `tables`, `comparison`, `papers` and `report` fill it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.csv_files import as_numbers, format_csv
from mlcdr.tables.escaping import escape_latex
from mlcdr.tables.markup import write_html, write_latex, write_markdown
from mlcdr.tables.shown import Shown
from mlcdr.tables.terminal import write_for_terminal
from mlcdr.whole_files import write_forms

if TYPE_CHECKING:
    import pandas as pd

DASH = "–"


@dataclass(frozen=True)
class Text:
    """A piece of text in its two spellings: as people read it, and in LaTeX.

    In HTML `mark` is the class of its cell; `about` is shown on pointing at the cell, and below it in print.
    """

    plain: str
    latex: str
    bold: bool = False
    mark: str = ""
    about: str = ""


NOTHING = Text(DASH, "--")
"""Stands where there is no number."""


def text(plain: str, bold: bool = False) -> Text:
    """Text with nothing special in it; its LaTeX is escaped."""
    return Text(plain, escape_latex(plain), bold)


def signed(value: float, digits: int) -> str:
    """`+0.0004`, `−1.2`; a value that rounds to nothing has no sign."""
    plain = f"{value:+.{digits}f}"
    return plain[1:] if float(plain) == 0 else plain.replace("-", "−")


@dataclass(frozen=True)
class Sheet:
    """A table of text.

    Attributes
    ----------
    caption : Text
    header : tuple of Text
        One for each column.
    rows : tuple of rows
        A row is a tuple of Text, as long as the header.
    stub : int
        How many leading columns are row labels: set flush left, and repeated when a wide table is broken into blocks.
        The columns after them are set flush right, but for those in `left`.
    groups : tuple of int
        Rows before which a new group begins (a data set): set off by a little space.
    notes : tuple of str
        Set below the table.
    """

    caption: Text
    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    stub: int
    groups: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[int, ...] = ()

    markdown = write_markdown
    latex = write_latex
    html = write_html
    terminal = write_for_terminal

    def __html__(self) -> str:
        """What a template of a page puts in."""
        return self.html(sortable=True)

    def is_left(self, j: int) -> bool:
        """Whether column `j` is set flush left."""
        return j < self.stub or j in self.left

    def has_bold_number(self, row: Sequence[Text]) -> bool:
        """Whether a number of a row is bold."""
        return any(cell.bold and not self.is_left(j) for j, cell in enumerate(row))

    def align(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        """The cells of a row, padded to the widths of the columns."""
        aligned = []
        for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
            aligned.append(cell.ljust(width) if self.is_left(j) else cell.rjust(width))
        return aligned

    @cached_property
    def whole_rows(self) -> list[tuple[Text, ...]]:
        """The rows, each with the labels that `rows` leaves out because they are those of the row above."""
        found: list[tuple[Text, ...]] = []
        for row in self.rows:
            repeated = max(self.stub - 1, 0) if found else 0
            labels = [cell if cell.plain else found[-1][j] for j, cell in enumerate(row[:repeated])]
            found.append((*labels, *row[repeated:]))
        return found


def make_sheet(
    caption: str | Text,
    header: Sequence[str | Text],
    rows: Sequence[Sequence[str | Text]],
    stub: int,
    notes: Sequence[str] = (),
    left: tuple[int, ...] = (),
    nested: int = 0,
) -> Sheet:
    """A sheet of plain texts; the parameters are the attributes of `Sheet`.

    `nested`: how many of the leading labels are left out where they, and those before them, are as in the row above. A
    group begins where the first label changes.
    """
    shown = []
    groups = []
    above: Sequence[str | Text] = [""] * nested
    for k, row in enumerate(rows):
        same = 0
        while same < nested and row[same] == above[same]:
            same += 1
        if k and nested and not same:
            groups.append(k)
        shown.append(_as_texts([""] * same) + _as_texts(row[same:]))
        above = row
    return Sheet(
        caption=_as_texts([caption])[0],
        header=_as_texts(header),
        rows=tuple(shown),
        stub=stub,
        groups=tuple(groups),
        notes=tuple(notes),
        left=left,
    )


def _as_texts(cells: Sequence[str | Text]) -> tuple[Text, ...]:
    return tuple(text(cell) if isinstance(cell, str) else cell for cell in cells)


class ShownSheet(Shown):
    """A table: a notebook shows it as one, and it can be written in several forms."""

    if TYPE_CHECKING:  # fields in some subclasses, and properties in others

        @property
        def sheet(self) -> Sheet:
            """What is shown."""

        @property
        def columns(self) -> tuple[str, ...]:
            """The header of the same as plain data."""

        @property
        def records(self) -> tuple[tuple[str, ...], ...]:
            """The plain data, numbers in full, and empty where there is none."""

        @property
        def label(self) -> str:
            """LaTeX's label."""

    def frame(self) -> pd.DataFrame:
        """The plain data as a DataFrame; a column of which all values are numbers is one of numbers."""
        import pandas as pd

        frame = pd.DataFrame(list(self.records), columns=list(self.columns))
        measured = False
        for name in self.columns:
            measured = measured or name in _MEASURED
            column = frame[name].replace("", "nan") if measured else frame[name]
            frame[name] = as_numbers(column)
        return frame

    def markdown(self) -> str:
        """As a Markdown table, with caption and notes."""
        return self.sheet.markdown()

    def latex(self) -> str:
        """As a LaTeX `table` in the manner of booktabs."""
        return self.sheet.latex(self.label)

    def csv(self) -> str:
        """The plain data as CSV."""
        return format_csv(self.columns, self.records)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters."""
        return self.sheet.terminal(width, colour)

    def write(self, stem: str | Path) -> list[Path]:
        """Write `stem`.md, `stem`.tex and `stem`.csv.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        forms = {"md": self.markdown(), "tex": self.latex(), "csv": self.csv()}
        return write_forms(Path(stem), forms)

    def _repr_html_(self) -> str:
        return _NOTEBOOK.format(self.sheet.html())


_MEASURED = ("mean", "ours", "old", "better_by")
"""The first column that holds results: an empty text there, or behind it, is a gap; before it, a parameter that a
method does not have."""

_NOTEBOOK = """<div class="mlcdr-table"><style>
.mlcdr-table caption {{ text-align: left; font-weight: bold; padding-bottom: .5em }}
.mlcdr-table .again {{ display: none }}
.mlcdr-table tr.group > * {{ border-top: 1px solid currentColor }}
.mlcdr-table .left {{ text-align: left }}
.mlcdr-table .notes {{ list-style: none; padding-left: 0; font-size: smaller }}
</style>
{}</div>"""
