"""Results from `summary.csv` and `scores.csv`, for folders without a record of trials.

Another program may have written them, or they are what was kept of a run. What is missing or broken in them raises
`ResultsError` with the file, the line and what is wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mlcdr.csv_files import read_csv
from mlcdr.errors import ResultsError
from mlcdr.results.scores import LARGEST, Cell, Choices, Key, NoResults, SplitScores
from mlcdr.whole_files import is_regular_file

_SUMMARY = ("metric", "mean", "std", "se", "n")
_SCORES = ("split", "metric", "value")
_CHOSEN = ("split", "parameter", "value")


def import_cells(path: Path) -> tuple[tuple[str, ...], dict[Key, Cell]]:
    """The swept paths and the cells of a `summary.csv`: `dataset, method, <swept> …, metric, mean, std, se, n`.

    A row whose mean is empty, NaN or beyond `LARGEST` gives no cell.

    Raises
    ------
    ResultsError
        When the file is broken; `NoResults` when it is missing or has no rows.
    """
    if not is_regular_file(path):
        raise NoResults(_missing(path))
    paths, rows = read_table(path, _SUMMARY)
    cells: dict[Key, Cell] = {}
    seen: set[Key] = set()
    for line, (dataset, method, *point, metric, mean, std, se, n) in rows:
        key = (dataset, method, tuple(point), metric)
        if key in seen:
            what = ", ".join(value for value in (dataset, method, *point, metric) if value != "")
            raise ResultsError(f"{path}:{line}: a second row for {what}")
        seen.add(key)
        numbers = [
            read_number(path, line, name, text, gaps=True)
            for name, text in zip(_SUMMARY[1:], (mean, std, se, n), strict=True)
        ]
        if math.isinf(numbers[0]):
            raise ResultsError(f"{path}:{line}: column mean: {mean!r} is not a number")
        if not abs(numbers[0]) <= LARGEST:
            continue
        if not (numbers[3] >= 1 and numbers[3] % 1 == 0):
            raise ResultsError(f"{path}:{line}: column n: a mean needs the number of splits it is taken over")
        std_, se_ = (spread if abs(spread) <= LARGEST else math.nan for spread in numbers[1:3])
        cells[key] = Cell(numbers[0], std_, se_, int(numbers[3]))
    if not cells:
        raise NoResults(f"{path}: holds no results, {'only empty means' if seen else 'only a header'}")
    return paths, cells


def import_splits(path: Path) -> SplitScores:
    """The scores of a `scores.csv` that are defined: `dataset, method, <swept> …, split, metric, value`.

    Raises
    ------
    ResultsError
        When the file is broken; `NoResults` when it is missing.
    """
    if not is_regular_file(path):
        raise NoResults(_missing(path))
    paths, rows = read_table(path, _SCORES)
    values: dict[Key, dict[int, float]] = {}
    for line, (dataset, method, *point, split, metric, value) in rows:
        by_split = values.setdefault((dataset, method, tuple(point), metric), {})
        if not (split.isdecimal() and len(split) < 10):
            raise ResultsError(f"{path}:{line}: column split: {split!r} is not the number of a split")
        if int(split) in by_split:
            what = ", ".join(each for each in (dataset, method, *point, metric) if each != "")
            raise ResultsError(f"{path}:{line}: a second row for {what}, split {split}")
        by_split[int(split)] = read_number(path, line, "value", value)
    return SplitScores(paths, values).defined()


def import_choices(path: Path) -> Choices:
    """The choices of a `chosen.csv`: `dataset, method, <swept> …, split, parameter, value`; none without the file.

    Raises
    ------
    ResultsError
        When the file is broken.
    """
    if not is_regular_file(path):
        return Choices((), {})
    paths, rows = read_table(path, _CHOSEN)
    counts: dict[Key, Counter[str]] = {}
    for _, (dataset, method, *point, _, parameter, value) in rows:
        counts.setdefault((dataset, method, tuple(point), parameter), Counter())[value] += 1
    return Choices(paths, counts)


def _missing(path: Path) -> str:
    return f"{path}: missing; run the experiment again (only what is not done yet will run)"


def read_table(path: Path, last: tuple[str, ...]) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]]]:
    """The swept paths of a CSV file with the columns `dataset, method, <swept> …, *last`; and its rows by line."""
    rows = read_csv(path, ResultsError)
    header = tuple(next(rows, (1, []))[1])
    if not header:
        raise ResultsError(f"{path}:1: empty; a header was expected")
    if header[:2] != ("dataset", "method") or header[-len(last) :] != last:
        wanted = ",".join(("dataset", "method", "<swept …>", *last))
        raise ResultsError(f"{path}:1: the columns are {','.join(header)}; they should be {wanted}")
    return header[2 : -len(last)], rows


def read_number(path: Path, line: int, column: str, text: str, gaps: bool = False) -> float:
    """A column's number; with `gaps`, the text may also be empty or NaN, which gives NaN."""
    try:
        value = float(text or "nan")
    except ValueError:
        value, gaps = math.nan, False
    if math.isnan(value) and not gaps:
        raise ResultsError(f"{path}:{line}: column {column}: {text!r} is not a number")
    return value
