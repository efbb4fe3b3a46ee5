"""A sheet: a finished table of text, and how it looks in Markdown, in LaTeX, in HTML and on a terminal.

A sheet does not depend on results. `tables`, `published` and `comparison` fill it.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.csv_files import as_numbers, format_csv
from mlcdr.errors import escape_control_characters
from mlcdr.whole_files import write_forms

if TYPE_CHECKING:
    import pandas as pd

DASH = "–"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_GAP = "  "
_LATEX_MANY = 5  # from so many columns of numbers on, a table is wide in LaTeX

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",  # the straight quote is not in LaTeX's default encoding
    "–": "--",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "Σ": r"$\Sigma$",
    "‖": r"$\|$",
    "²": r"$^2$",
    "χ": r"$\chi$",
    "α": r"$\alpha$",
    "∞": r"$\infty$",
    "ᵀ": r"$^{\top}$",
}


def escape_latex(text: str) -> str:
    """`text` as LaTeX shows it literally (pdflatex, no package beyond the kernel's own)."""
    return "".join(_LATEX.get(character, character) for character in text)


def _no_argument(latex: str) -> str:
    r"""LaTeX for the beginning of a line; `[` and `*` there would be read as an argument of the `\\` before them."""
    return "{}" + latex if latex.lstrip().startswith(("[", "*")) else latex


def escape_markdown(text: str) -> str:
    """`text` as Markdown shows it literally inside a table cell or a paragraph."""
    return re.sub(r"([\\|*<`\[\]]|(?<!\w)_|_(?!\w))", r"\\\1", text)


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


def template(pattern: str, **values: str) -> Text:
    """A layout's text: `{name}` is replaced, and what stands between dollar signs is mathematics in LaTeX.

    Only the pattern's own dollar signs count, never those of a value.

    Raises
    ------
    KeyError, ValueError, IndexError
        When the pattern names a value that is not given or its braces do not match.
    """
    parts = pattern.split("$")
    if len(parts) % 2 == 0:
        raise ValueError("a dollar sign has no partner")
    plain = "".join(part.format(**values) for part in parts)
    escaped = {name: escape_latex(value) for name, value in values.items()}
    latex = "".join(
        "$" + part.format(**escaped) + "$" if k % 2 else _template_latex(part, escaped) for k, part in enumerate(parts)
    )
    return Text(plain, latex)


def _template_latex(part: str, escaped: dict[str, str]) -> str:
    """The pattern's own text escaped, its `{name}`s filled in."""
    pieces = re.split(r"(\{\w*\})", part)
    return "".join(p.format(**escaped) if p.startswith("{") else escape_latex(p) for p in pieces)


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

    def markdown(self) -> str:
        """A GitHub-flavoured Markdown table, its columns aligned in the source too."""

        def show(cell: Text) -> str:
            escaped = escape_markdown(cell.plain)
            return f"**{escaped}**" if cell.bold else escaped

        grid = [[show(c) for c in row] for row in (self.header, *self.rows)]
        widths = [max(3, *(len(row[j]) for row in grid)) for j in range(len(self.header))]
        rule = ["-" * w if self._is_left(j) else "-" * (w - 1) + ":" for j, w in enumerate(widths)]
        lines = ["| " + " | ".join(self._pad(row, widths)) + " |" for row in grid]
        lines.insert(1, "| " + " | ".join(rule) + " |")
        notes = [escape_markdown(note) + "  " for note in self.notes]
        body = [escape_markdown(self.caption.plain), "", *lines]
        return "\n".join([*body, "", *notes] if notes else body) + "\n"

    def latex(self, label: str = "") -> str:
        """A LaTeX `table` in the manner of booktabs. Its first line names the packages that the document must load."""

        def show(cell: Text) -> str:
            if not cell.bold:
                return cell.latex
            if cell.latex.startswith("$"):
                return r"$\mathbf{" + cell.latex.strip("$") + "}$"
            return r"\textbf{" + cell.latex + "}"

        columns = "".join("l" if self._is_left(j) else "r" for j in range(len(self.header)))
        # A wide table is set smaller and closer, and shrunk further only as far as the page demands.
        wide = len(columns) - self.stub >= _LATEX_MANY
        packages = "booktabs,graphicx" if wide else "booktabs"
        lines = [rf"% needs \usepackage{{{packages}}}", r"\begin{table}", r"  \centering"]
        lines.append(rf"  \caption{{{self.caption.latex}}}")
        if label:
            lines.append(rf"  \label{{{label}}}")
        if wide:
            lines.append(r"  \footnotesize\setlength{\tabcolsep}{3pt}%")
            lines.append(r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%")
        lines += [rf"  \begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"    \toprule"]
        lines += ["    " + _no_argument(" & ".join(map(show, self.header))) + r" \\", r"    \midrule"]
        for k, row in enumerate(self.rows):
            if k and k in self.groups:
                lines.append(r"    \addlinespace")
            lines.append("    " + _no_argument(" & ".join(map(show, row)).lstrip()) + r" \\")
        lines += [r"    \bottomrule", r"  \end{tabular}" + ("}" if wide else "")]
        if self.notes:
            notes = r" \\ ".join(_no_argument(escape_latex(note)) for note in self.notes)
            lines.append(rf"  \par\smallskip\parbox{{\linewidth}}{{\footnotesize {notes}}}")
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def html(self, sortable: bool = False) -> str:
        """An HTML `table` in a box that scrolls sideways and can have the focus; its notes below. All text is escaped.

        Heads are `th` with a scope. A label that is left out in all rows of a group but the first is there in each, so
        that each row has all its labels when the rows are sorted, in a span of class `again` for a style sheet to hide.
        The class `sortable` is for a script; the head of the last column of labels, which a style sheet may want
        to keep in sight, is of the class `last-label`.
        """
        head = "".join(
            f'<th scope="col"{self._side(j, "last-label" if j == self.stub - 1 else "")}>{_html(cell)}</th>'
            for j, cell in enumerate(self.header)
        )
        body = []
        for k, (row, whole) in enumerate(zip(self.rows, self._whole_rows(), strict=True)):
            cells = []
            for j, cell in enumerate(whole):
                if j >= self.stub:
                    title = f' title="{html.escape(cell.about)}"' if cell.about else ""
                    cells.append(f"<td{self._side(j, cell.mark)}{title}>{_html(cell)}</td>")
                    continue
                shown = _html(cell) if cell is row[j] else f'<span class="again">{_html(cell)}</span>'
                cells.append(f'<th scope="row"{self._side(j)}>{shown}</th>')
            group = ' class="group"' if k and k in self.groups else ""
            body.append(f"<tr{group}>{''.join(cells)}</tr>")
        caption = html.escape(self.caption.plain)
        notes = "".join(f"<li>{_with_code(html.escape(note))}</li>" for note in self.notes)
        lines = [
            f'<div class="scroll" role="group" tabindex="0" aria-label="{caption}">',
            '<table class="sortable">' if sortable else "<table>",
            f"<caption><span>{caption}</span></caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
            "</div>",
            *([f'<ul class="notes">{notes}</ul>'] if notes else []),
        ]
        return "\n".join(lines) + "\n"

    def __html__(self) -> str:
        """What a template of a page puts in."""
        return self.html(sortable=True)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """Aligned columns. Bold is the terminal's bold if `colour`, else a `*` behind the number.

        A table wider than `width` is set closer if that is enough, and else broken into blocks of columns, each with
        the row labels; nothing is cut off. With the width 0, for other programs, each row is one line with all its
        labels, and there is no rule.
        """
        limit = width or sys.maxsize
        rows = self.rows if width else self._whole_rows()
        marked = not colour and any(c.bold for row in self.rows for j, c in enumerate(row) if not self._is_left(j))

        def show(cell: Text, j: int) -> str:
            # Where some have a star, every number keeps a place for it, so that the digits stay in line.
            plain = escape_control_characters(cell.plain)
            return plain + ("*" if cell.bold else " ") if marked and not self._is_left(j) else plain

        grid = [[show(cell, j) for j, cell in enumerate(row)] for row in (self.header, *rows)]
        narrow = [[cell.replace(" ± ", "±") for cell in row] for row in grid]
        if len(self._blocks(_widths(grid), limit)) > 1 == len(self._blocks(_widths(narrow), limit)):
            grid = narrow
        widths = _widths(grid)
        lines = _wrap(escape_control_characters(self.caption.plain), limit)
        for block in self._blocks(widths, limit):
            lines.append("")
            total = sum(widths[j] for j in block) + len(_GAP) * (len(block) - 1)
            for k, row in enumerate(grid):
                if width and k - 1 in self.groups and k > 1:
                    lines.append("")
                cells = self._pad(row, widths)
                if colour and k:
                    cells = [_embolden(c) if self.rows[k - 1][j].bold else c for j, c in enumerate(cells)]
                lines.append(_GAP.join(cells[j] for j in block).rstrip())
                if width and k == 0:
                    lines.append("─" * total)
        if self.notes:
            lines.append("")
        star = ["* stands for bold."] if marked else []
        for note in [*self.notes, *star]:
            lines += _wrap(escape_control_characters(note), limit)
        return "\n".join(lines) + "\n"

    def _whole_rows(self) -> list[tuple[Text, ...]]:
        """The rows, each with the labels that `rows` leaves out because they are those of the row above."""
        found: list[tuple[Text, ...]] = []
        for row in self.rows:
            known = 0 if not found else max(self.stub - 1, 0)
            labels = (cell if cell.plain else found[-1][j] for j, cell in enumerate(row[:known]))
            found.append((*labels, *row[known:]))
        return found

    def _side(self, j: int, *more: str) -> str:
        """The `class` of a cell in column `j`."""
        classes = " ".join(filter(None, ("left" if self._is_left(j) else "", *more)))
        return f' class="{classes}"' if classes else ""

    def _is_left(self, j: int) -> bool:
        return j < self.stub or j in self.left

    def _pad(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        pads: list[Callable[[str, int], str]] = [str.ljust if self._is_left(j) else str.rjust for j in range(len(row))]
        return [pad(cell, w) for pad, cell, w in zip(pads, row, widths, strict=True)]

    def _blocks(self, widths: Sequence[int], width: int) -> list[list[int]]:
        """The columns of each block: the row labels and as many others as fit (at least one)."""
        stub = list(range(self.stub))
        blocks: list[list[int]] = [stub]
        for j in range(self.stub, len(widths)):
            block = [*blocks[-1], j]
            fits = sum(widths[i] for i in block) + len(_GAP) * (len(block) - 1) <= width
            if fits or len(blocks[-1]) == self.stub:
                blocks[-1] = block
            else:
                blocks.append([*stub, j])
        return blocks


def make_sheet(
    caption: str,
    header: Sequence[str],
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
    shown, groups = [], []
    above: Sequence[str | Text] = [""] * nested
    for k, row in enumerate(rows):
        same = next((j for j in range(nested) if row[j] != above[j]), nested)
        if k and nested and not same:
            groups.append(k)
        cells = [*[""] * same, *row[same:]]
        shown.append(tuple(text(cell) if isinstance(cell, str) else cell for cell in cells))
        above = row
    return Sheet(text(caption), tuple(map(text, header)), tuple(shown), stub, tuple(groups), tuple(notes), left)


def _with_code(escaped: str) -> str:
    """What stands between backticks as `code`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)


def _html(cell: Text) -> str:
    escaped = html.escape(cell.plain)
    shown = f"<strong>{escaped}</strong>" if cell.bold else escaped
    return shown + (f' <span class="about">{html.escape(cell.about)}</span>' if cell.about else "")


def _widths(grid: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*grid, strict=True)]


def _embolden(padded: str) -> str:
    bare = padded.strip()
    return padded.replace(bare, f"{_BOLD}{bare}{_PLAIN}", 1) if bare else padded


def _wrap(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]


class Shown:
    """What a notebook shows as HTML, and `print` as text."""

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.terminal(max(shutil.get_terminal_size((100, 24)).columns, 60))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.terminal(120))}</pre>"


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

        frame = pd.DataFrame([list(record) for record in self.records], columns=list(self.columns))
        first = next(k for k, name in enumerate((*self.columns, "mean")) if name in _MEASURED)
        for k, name in enumerate(self.columns):
            frame[name] = as_numbers(frame[name] if k < first else frame[name].replace("", "nan"))
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
        return write_forms(Path(stem), {"md": self.markdown(), "tex": self.latex(), "csv": self.csv()})

    def _repr_html_(self) -> str:
        return _NOTEBOOK.format(self.sheet.html())


_MEASURED = ("mean", "ours", "old")
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
