"""Files of folds: found, read, written. A CSV file with a header and a row for each row of a data set, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlcdr.csv_files import read_csv
from mlcdr.data import sources
from mlcdr.data.files import NotFetchedError, cache_folder, is_file, list_folders
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
    given = [*map(Path, folders), Path()]
    everywhere = (*given, *list_folders("MLCDR_FOLDS"), cache_folder() / "folds")
    places = dict.fromkeys(folder / wanted for folder in everywhere)  # an absolute one is one
    for place in places:
        if is_file(place):
            return place
    first, *others = map(str, places)
    nor = f"; nor {', '.join(others)}" if others else ""
    message = f"{first}: no such file (the folds of {dataset_name}){nor}"
    known = sources.find(dataset_name)
    if known is not None and wanted.name in [f"{known.name}.{k}fold.csv" for k in known.folds]:
        raise NotFetchedError(f"{message}; {sources.how_to_get([known.name], folds=True)}", known.name)
    raise DataError(f"{message}; $MLCDR_FOLDS may name folders to look in")


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
        names = escape_control_characters(", ".join(header))
        raise DataError(f"{path}:1: {many} column {column!r} in the header; found: {names[:400] or 'nothing'}")
    at = header.index(column)
    line = 1
    folds: list[int] = []
    for line, cells in rows:
        cell = cells[at].strip()
        if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
            raise DataError(f"{path}:{line}: expected a fold number (0, 1, 2 ...), found {cell[:40]!r}")
        if len(folds) == n:
            raise DataError(f"{path}:{line}: more rows than the {n} of the data set {dataset_name}")
        folds.append(int(cell))
    if len(folds) < n:
        raise DataError(f"{path}:{line}: the file ends after {len(folds)} folds; {dataset_name} has {n} rows")
    found = sorted(set(folds))
    if len(found) < 2 or found != list(range(len(found))):
        shown = ", ".join(map(str, found[:10]))
        raise DataError(
            f"{path}:1: folds are numbered 0, 1, … without a gap, and there are two at least; found {shown}"
        )
    return np.array(folds, dtype=np.int64)


def write(path: Path, folds: np.ndarray) -> None:
    """Write the fold number of each row, which `read` reads.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    write_atomically(path, "\n".join(["fold", *map(str, folds), ""]))
