"""Files of folds: found, read, written. A CSV file with a header and a row for each row of a data set, in its order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mlcdr.csv_files import read_csv
from mlcdr.data import sources
from mlcdr.data.files import NotFetchedError, cache_folder
from mlcdr.errors import DataError, escape_control_characters
from mlcdr.lazy_numpy import np
from mlcdr.whole_files import write_atomically


def find(wanted: Path, folders: Sequence[str], dataset_name: str) -> Path:
    """A file of folds: in one of `folders`, the working directory, a folder of $MLCDR_FOLDS, the user's cache.

    Raises
    ------
    DataError
        If there is none; names every place looked at (`NotFetchedError` for folds that can be downloaded).
    """
    named = [folder for folder in os.environ.get("MLCDR_FOLDS", "").split(os.pathsep) if folder]
    everywhere = (*folders, ".", *named, str(cache_folder() / "folds"))
    places = dict.fromkeys(Path(folder) / wanted for folder in everywhere)  # an absolute one is one
    for place in places:
        if is_file(place):
            return place
    first, *others = places
    nor = f"; nor {', '.join(map(str, others))}" if others else ""
    message = f"{first}: no such file (the folds of {dataset_name}){nor}"
    known = sources.find(dataset_name)
    if known is not None and wanted.name in {f"{known.name}.{k}fold.csv" for k in known.folds}:
        raise NotFetchedError(f"{message}; {sources.how_to_get([known.name], folds=True)}", known.name)
    hint = "" if named or wanted.is_absolute() else "; $MLCDR_FOLDS may name folders to look in"
    raise DataError(f"{message}{hint}")


def is_file(path: Path) -> bool:
    """Whether there is a file of this name, which may be any text."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a character that no file has
        return False


def _shown(header: list[str]) -> str:
    names = [name[:40] for name in header[:10]] + ["..."] * (len(header) > 10)
    return escape_control_characters(", ".join(names))


def read(path: Path, column: str, dataset_name: str, n: int) -> np.ndarray:
    """The fold number of each of `n` rows, checked: whole numbers 0 ... F−1, F ≥ 2, none without rows.

    Raises
    ------
    DataError
        When the file cannot be read or is wrong; the message begins with `file:line`.
    """
    most = 2**20 + 1024 * n  # a row is a few numbers and names
    rows = read_csv(path, DataError, f"the folds of {dataset_name}'s {n} rows", most)
    header = [name.strip() for name in next(rows, (1, []))[1]]
    if header.count(column) != 1:
        many = "no" if column not in header else "more than one"
        raise DataError(f"{path}:1: {many} column {column!r} in the header; found: {_shown(header) or 'nothing'}")
    line, folds = 1, list[int]()
    for line, cells in rows:
        cell = cells[header.index(column)].strip()
        if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
            raise DataError(f"{path}:{line}: expected a fold number (0, 1, 2 ...), found {cell[:40]!r}")
        if len(folds) == n:
            raise DataError(f"{path}:{line}: more rows than the {n} of the data set {dataset_name}")
        folds.append(int(cell))
    if len(folds) < n:
        raise DataError(f"{path}:{line}: the file ends after {len(folds)} folds; {dataset_name} has {n} rows")
    present = set(folds)
    if len(present) < 2:
        raise DataError(f"{path}:1: at least two folds are needed, found {len(present)}")
    if max(present) != len(present) - 1:
        absent = next(i for i in range(len(present)) if i not in present)
        raise DataError(f"{path}:1: fold {absent} has no rows although there is a fold {max(present)}; count from 0")
    return np.array(folds, dtype=np.int64)


def write(path: Path, folds: np.ndarray) -> None:
    """Write the fold number of each row, which `read` reads.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    write_atomically(path, "\n".join(["fold", *map(str, folds), ""]))
