"""Printing of tables, notices, columns and failures on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import mlcdr
from mlcdr.errors import ResultsError, escape_control_characters, plural
from mlcdr.standard_streams import print_lines, print_notice
from mlcdr.tables.shown import terminal_width
from mlcdr.tables.terminal import measure_columns

if TYPE_CHECKING:
    import pandas as pd

    from mlcdr.experiment.model import Experiment
    from mlcdr.results.failures import Cause
    from mlcdr.results.results import Results

_CAUSES = 10  # the most causes of failures that are shown


def print_table(table: Any) -> None:
    """Print a table, as wide as the terminal and with its colours."""
    print(table.terminal(terminal_width(), colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def print_tables(found: Results) -> None:
    """Print the tables that an experiment lists."""
    from mlcdr.tables import tables

    for entry in tables.list_entries(found):
        print()
        print_table(tables.make_table(found, entry))
    print()


def print_against(found: Results, metric: str | None = None) -> None:
    """Print how all methods compare with the one that the experiment names by `against`, if it names one."""
    from mlcdr.comparison.against import compare_against

    compared = compare_against(found, metric)
    if compared is None:
        return
    print_table(compared.sheet)
    for sentence in compared.sentences():
        print_lines(sentence)
    print()


def print_place(found: Results) -> None:
    """Print where a row of one's own stands on the board, or why it has no place there; nothing for other results."""
    from mlcdr.papers.board import is_own_row, read_rows

    if not is_own_row(found.name):
        return
    from mlcdr.comparison.place import place_methods

    try:
        placed = place_methods(found, read_rows(found))
    except ResultsError as error:
        print_notice(f"no place on the board: {error}")
        return
    print_table(placed)
    for sentence in placed.sentences():
        print_lines(sentence)
    print()


def print_published(folders: list[Path], table: str) -> None:
    """Print the comparison of results folders with a published table, `PAPER/TABLE`."""
    from mlcdr.papers.printed import full_name, list_files

    compared: Any = mlcdr.compare(*folders, published=full_name(table, list_files()))
    for each in compared:
        print_table(each)


def rows_of(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """The names of a frame's columns, and its rows, as texts."""
    return [tuple(frame), *frame.astype(str).itertuples(index=False, name=None)]


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells, each column as wide as its widest cell."""
    shown = [list(map(escape_control_characters, row)) for row in rows]
    widths = measure_columns(shown)
    for row in shown:
        print("  ".join(map(str.ljust, row, widths)).rstrip())


def format_size(experiment: Experiment) -> str:
    """`1 data set × 4 methods (20 points) × 100 splits`, or `× 1 split of each fold of the file`."""
    from mlcdr.experiment.splits import number_of_splits

    points = sum(experiment.n_points(method) for method in experiment.methods)
    sets = plural(len(experiment.datasets), "data set")
    methods = f"{plural(len(experiment.methods), 'method')} ({plural(points, 'point')})"
    splits = plural(number_of_splits(experiment.splits), "split")
    if experiment.splits.kind == "file":
        splits += " of each fold of the file"
    return f"{sets} × {methods} × {splits}"


def print_causes(causes: Sequence[Cause], file: TextIO) -> None:
    """Print a line for each of the first causes of failures."""
    for cause in causes[:_CAUSES]:
        print_lines(format_cause(cause), file)
    if len(causes) > _CAUSES:
        more = plural(len(causes) - _CAUSES, "more cause")
        print_lines(f"{more} of failure; `mlcdr status RESULTS --details` shows all", file)


def format_cause(cause: Cause) -> str:
    """The line on failed trials of one cause; a crash is printed as such."""
    described = cause.describe()
    crashed = "crashed: "  # the beginning of such a reason
    return crashed + described.replace(crashed, "", 1) if cause.reason.startswith(crashed) else f"failed: {described}"


def describe_pending(number: int, folder: Path) -> str:
    """How many trials of a results folder are pending, and what computes them."""
    from mlcdr.results.record import command_to_continue

    return f"{plural(number, 'trial')} pending; `{command_to_continue(folder)}` continues"


def print_written(paths: Sequence[Path], folder: Path) -> None:
    """Print which files were written, relative to a folder."""
    print_notice(f"written in {folder}: {join_file_names(paths, folder)}")


def join_file_names(paths: Sequence[Path], folder: Path) -> str:
    """Join the paths of written files, relative to a folder."""
    return ", ".join(str(path.relative_to(folder)) for path in paths)
