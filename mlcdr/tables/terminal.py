"""A sheet on a terminal: aligned columns, in blocks where the terminal is narrow."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlcdr.errors import escape_control_characters

if TYPE_CHECKING:
    from mlcdr.tables.sheet import Sheet, Text

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_GAP = "  "

Grid = list[list[str]]


def write_for_terminal(sheet: Sheet, width: int = 80, colour: bool = False) -> str:
    """Aligned columns; no heads where there are no rows. Bold is the terminal's bold if `colour`, else a `*`.

    A table wider than `width` is set closer if that is enough, and else broken into blocks of columns, each with the
    row labels; nothing is cut off.
    """
    starred = not colour and any(map(sheet.has_bold_number, sheet.rows))
    grid = []
    for row in (sheet.header, *sheet.rows):
        grid.append([_show(sheet, cell, j, starred) for j, cell in enumerate(row)])
    blocks = _choose_blocks(sheet, grid, width)
    if len(blocks) > 1:  # set closer, if only so it fits in one block
        closer = []
        for cells in grid:
            closer.append([cell.replace(" ± ", "±") for cell in cells])
        if len(_choose_blocks(sheet, closer, width)) == 1:
            grid, blocks = closer, _choose_blocks(sheet, closer, width)
    lines = _wrap(sheet.caption.plain, width)
    for block in blocks if sheet.rows else ():
        lines += ["", *_write_block(sheet, grid, block, colour)]
    notes = list(sheet.notes)
    if notes:
        lines.append("")
    if starred:
        notes.append("* stands for bold.")
    for note in notes:
        lines += _wrap(note, width)
    return "\n".join(lines) + "\n"


def _show(sheet: Sheet, cell: Text, j: int, starred: bool) -> str:
    plain = escape_control_characters(cell.plain)
    if starred and not sheet.is_left(j):
        # Where some have a star, every number keeps a place for it, so that the digits stay in line.
        plain += "*" if cell.bold else " "
    return plain


def _choose_blocks(sheet: Sheet, grid: Grid, limit: int) -> list[list[int]]:
    """The columns of each block: the row labels and as many others as fit (at least one)."""
    widths = measure_columns(grid)
    labels = list(range(sheet.stub))
    blocks = [labels]
    for j in range(sheet.stub, len(widths)):
        longer = [*blocks[-1], j]
        if _total_width(widths, longer) <= limit or blocks[-1] == labels:
            blocks[-1] = longer
        else:
            blocks.append([*labels, j])
    return blocks


def measure_columns(grid: Grid) -> list[int]:
    """The width of each column."""
    return [max(map(len, column)) for column in zip(*grid, strict=True)]


def _total_width(widths: Sequence[int], block: Sequence[int]) -> int:
    return sum(widths[j] for j in block) + len(_GAP) * (len(block) - 1)


def _write_block(sheet: Sheet, grid: Grid, block: Sequence[int], colour: bool) -> list[str]:
    """The lines of one block of columns, with a rule below the heads and a blank line between groups."""
    widths = measure_columns(grid)
    lines = []
    for k, row in enumerate(grid, -1):  # the header is row -1
        cells = sheet.align(row, widths)
        if k == 0:
            lines.append("─" * _total_width(widths, block))
        elif k in sheet.groups:
            lines.append("")
        if colour and k >= 0:
            pairs = zip(cells, sheet.rows[k], strict=True)
            cells = [_embolden(cell) if shown.bold else cell for cell, shown in pairs]
        lines.append(_GAP.join(cells[j] for j in block).rstrip())
    return lines


def _embolden(padded: str) -> str:
    bare = padded.strip()
    return padded.replace(bare, f"{_BOLD}{bare}{_PLAIN}", 1) if bare else padded


def _wrap(line: str, width: int) -> list[str]:
    shown = escape_control_characters(line)
    return textwrap.wrap(shown, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]
