"""What commands print: tables for this terminal, remarks apart from them, columns and facts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import escape_control_characters

if TYPE_CHECKING:
    from mlcdr.results.results import Results


def show(text: Any) -> None:
    """A table, for this terminal."""
    import shutil

    width = shutil.get_terminal_size((100, 24)).columns
    print(text.terminal(max(width, 60), colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def say(text: str) -> None:
    """A remark, apart from what a command prints."""
    for line in text.split("\n"):
        print(escape_control_characters(line), file=sys.stderr)


def print_columns(rows: list[tuple[str, ...]]) -> None:
    """Rows of cells, every column as wide as its widest cell."""
    rows = [tuple(map(escape_control_characters, row)) for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """`key: value` lines; what is in a value is indented below it. What is not known, or empty, is left out."""
    for key, value in facts.items():
        if value is None or value in ("", [], (), {}):
            continue
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            print_facts(value, indent + "  ")
        elif isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
            print(f"{indent}{key}:")
            for item in value:
                print(escape_control_characters(f"{indent}  {item}"))
        else:
            shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            shown = f"{shown:.6g}" if isinstance(shown, float) else shown
            print(escape_control_characters(f"{indent}{key}: {shown}"))


def print_tables(found: Results) -> None:
    """The tables that an experiment asks for."""
    from mlcdr.tables import tables

    for entry in tables.list_entries(found):
        print()
        show(tables.render(found, entry))
    print()


def listed(paths: list[Path], folder: Path) -> str:
    """The names of files within a folder, for a line that says what was written."""
    return ", ".join(str(path.relative_to(folder)) for path in paths)


def failure_line(text: str, reason: str) -> str:
    """A line that says of a failed trial what happened to it."""
    crashed = "crashed: "  # the reason begins so
    line = crashed + text.replace(crashed, "", 1) if reason.startswith(crashed) else f"failed: {text}"
    return escape_control_characters(line)
