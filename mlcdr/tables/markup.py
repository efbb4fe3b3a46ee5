"""A sheet as Markdown, as LaTeX and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from mlcdr.tables.escaping import escape_latex, escape_markdown, guard_line

if TYPE_CHECKING:
    from jinja2 import Template

    from mlcdr.tables.sheet import Sheet, Text

_MANY = 5  # from so many columns of numbers on, a table is wide in LaTeX


def write_markdown(sheet: Sheet) -> str:
    """A GitHub-flavoured Markdown table, its columns aligned in the source too."""
    grid = []
    for row in (sheet.header, *sheet.rows):
        grid.append([_show_in_markdown(cell) for cell in row])
    widths = [max(3, *map(len, column)) for column in zip(*grid, strict=True)]
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


def write_latex(sheet: Sheet, label: str) -> str:
    """A LaTeX `table` in the manner of booktabs. Its first line names the packages that the document must load."""
    n_columns = len(sheet.header)
    # A wide table is set smaller and closer, and shrunk further only as far as the page demands.
    wide = n_columns - sheet.stub >= _MANY
    packages = "booktabs,graphicx" if wide else "booktabs"
    lines = [
        rf"% needs \usepackage{{{packages}}}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{sheet.caption.latex}}}",
    ]
    if label:
        lines.append(rf"  \label{{{label}}}")
    if wide:
        lines.append(r"  \footnotesize\setlength{\tabcolsep}{3pt}%")
        lines.append(r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%")
    columns = "".join("l" if sheet.is_left(j) else "r" for j in range(n_columns))
    lines.append(rf"  \begin{{tabular}}{{@{{}}{columns}@{{}}}}")
    lines += [r"    \toprule", _latex_row(sheet.header), r"    \midrule"]
    for k, row in enumerate(sheet.rows):
        if k and k in sheet.groups:
            lines.append(r"    \addlinespace")
        lines.append(_latex_row(row))
    lines.append(r"    \bottomrule")
    lines.append(r"  \end{tabular}" + ("}" if wide else ""))
    if sheet.notes:
        notes = r" \\ ".join(guard_line(escape_latex(note)) for note in sheet.notes)
        lines.append(rf"  \par\smallskip\parbox{{\linewidth}}{{\footnotesize {notes}}}")
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _latex_row(row: Sequence[Text]) -> str:
    cells = " & ".join(_show_in_latex(cell) for cell in row)
    return f"    {guard_line(cells.lstrip())} \\\\"


def _show_in_latex(cell: Text) -> str:
    if not cell.bold:
        return cell.latex
    if cell.latex.startswith("$"):
        return r"$\mathbf{" + cell.latex.strip("$") + "}$"
    return r"\textbf{" + cell.latex + "}"


def write_html(sheet: Sheet, sortable: bool) -> str:
    """An HTML `table` in a box that scrolls sideways and can have the focus; its notes below. All text is escaped.

    Heads are `th` with a scope. A label that is left out in all rows of a group but the first is there in each, so that
    each row has all its labels when the rows are sorted, in a span of class `again` for a style sheet to hide. The
    class `sortable` is for a script; the head of the last column of labels, which a style sheet may want to keep in
    sight, is of the class `last-label`.
    """
    notes = [_mark_code(html.escape(note)) for note in sheet.notes]
    return _template().render(sheet=sheet, sortable=sortable, notes=notes)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("mlcdr.tables", "")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("sheet.html")


def _mark_code(escaped: str) -> str:
    """What stands between backticks as `code`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
