"""A sheet as Markdown, as LaTeX and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from mlcdr.tables.escaping import escape_latex, escape_markdown, guard_line
from mlcdr.tables.terminal import measure_columns

if TYPE_CHECKING:
    from jinja2 import Template

    from mlcdr.tables.sheet import Sheet, Text

_MANY = 5  # from so many columns of numbers on, a table is wide in LaTeX
# In LaTeX there are braces everywhere.
_DELIMITERS = {
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<<",
    "variable_end_string": ">>",
    "comment_start_string": "<#",
    "comment_end_string": "#>",
}


@cache
def open_template(package: str, path: str, **delimiters: Any) -> Template:
    """The template in a file of a package; what it puts into HTML is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader(package, ""),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **delimiters,
    )
    return environment.get_template(path)


def write_markdown(sheet: Sheet) -> str:
    """A GitHub-flavoured Markdown table, its columns aligned in the source too."""
    grid = []
    for row in (sheet.header, *sheet.rows):
        grid.append([_show_in_markdown(cell) for cell in row])
    widths = [max(3, width) for width in measure_columns(grid)]
    rule = []
    for j, width in enumerate(widths):
        rule.append("-" * width if sheet.is_left(j) else "-" * (width - 1) + ":")
    lines = ["| " + " | ".join(sheet.align(row, widths)) + " |" for row in grid]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    lines = [escape_markdown(sheet.caption.plain), "", *lines]
    if sheet.notes:
        lines.append("")
        lines += [escape_markdown(note) + "  " for note in sheet.notes]
    return "\n".join(lines) + "\n"


def _show_in_markdown(cell: Text) -> str:
    escaped = escape_markdown(cell.plain)
    return f"**{escaped}**" if cell.bold else escaped


def write_latex(sheet: Sheet, label: str = "") -> str:
    """A LaTeX `table` in the manner of booktabs."""
    template = open_template("mlcdr.tables", "sheet.tex", **_DELIMITERS)
    columns = range(len(sheet.header))
    return template.render(
        sheet=sheet,
        label=label,
        # A wide table is set smaller and closer, and shrunk further only as far as the page demands.
        wide=len(columns) - sheet.stub >= _MANY,
        columns="".join("l" if sheet.is_left(j) else "r" for j in columns),
        header=_latex_row(sheet.header),
        rows=map(_latex_row, sheet.rows),
        notes=[guard_line(escape_latex(note)) for note in sheet.notes],
    )


def _latex_row(row: Sequence[Text]) -> str:
    cells = " & ".join(map(_show_in_latex, row))
    return guard_line(cells.lstrip())


def _show_in_latex(cell: Text) -> str:
    if not cell.bold:
        return cell.latex
    if re.fullmatch(r"\$[^$]*\$", cell.latex):
        return r"$\mathbf{" + cell.latex.strip("$") + "}$"
    return r"\textbf{" + cell.latex + "}"


def write_html(sheet: Sheet, sortable: bool = False) -> str:
    """An HTML `table` in a box that scrolls sideways and can have the focus; its notes below. All text is escaped.

    Heads are `th` with a scope. A label that is left out in all rows of a group but the first is there in each, so that
    each row has all its labels when the rows are sorted, in a span of class `again` for a style sheet to hide. The
    class `sortable` is for a script; the head of the last column of labels, which a style sheet may want to keep in
    sight, is of the class `last-label`.
    """
    # what stands between backticks is code
    notes = [re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(note)) for note in sheet.notes]
    return open_template("mlcdr.tables", "sheet.html").render(sheet=sheet, sortable=sortable, notes=notes)
