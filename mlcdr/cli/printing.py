"""Printing of tables, notices, columns and facts on the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import escape_control_characters

if TYPE_CHECKING:
    from mlcdr.results.results import Results


def print_table(table: Any) -> None:
    """Print a table, as wide as the terminal (or as `COLUMNS`) and with its colours; plain for another program."""
    import shutil

    to_terminal = sys.stdout.isatty()
    width = max(shutil.get_terminal_size((100, 24)).columns, 60) if to_terminal or "COLUMNS" in os.environ else 0
    print(table.terminal(width, colour=to_terminal and not os.environ.get("NO_COLOR")))


def print_notice(text: str) -> None:
    """Print a text to standard error, apart from the output of a command."""
    for line in text.split("\n"):
        print(escape_control_characters(line), file=sys.stderr)


def print_columns(rows: list[tuple[str, ...]]) -> None:
    """Print rows of cells, each column as wide as its widest cell."""
    rows = [tuple(map(escape_control_characters, row)) for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """Print `key: value` lines, nested values indented below their key. Unknown and empty values are left out."""
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
    """Print the tables that an experiment lists."""
    from mlcdr.tables import tables

    for entry in tables.list_entries(found):
        print()
        print_table(tables.make_table(found, entry))
    print()


def print_published(folders: list[Path], table: str) -> None:
    """Print the comparison of results folders with a published table, `PAPER/TABLE`."""
    from mlcdr.reproduce import reproduction
    from mlcdr.results.results import open_results

    for each in reproduction.compare_protocols([open_results(folder) for folder in folders], table):
        print_table(each)


def join_file_names(paths: list[Path], folder: Path) -> str:
    """Join the paths of written files, relative to a folder."""
    return ", ".join(str(path.relative_to(folder)) for path in paths)


def format_failure(text: str, reason: str) -> str:
    """The line on a failed trial; `reason` is a part of `text`, and a crash is printed as such."""
    crashed = "crashed: "  # the beginning of such a reason
    line = crashed + text.replace(crashed, "", 1) if reason.startswith(crashed) else f"failed: {text}"
    return escape_control_characters(line)
