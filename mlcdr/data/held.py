"""Data sets in a program's memory, found by their checksums in this process and in the processes that it starts.

A config refers to one as `{NAME: {memory: CHECKSUM}}`. The record of a run has the checksum, but not the data: a later
program must be given the same data again.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.data import cache
from mlcdr.errors import DataError

if TYPE_CHECKING:
    from mlcdr.data.dataset import Dataset

FOLDER = "MLCDR_HELD_DATASETS"
"""The environment variable with the folder in which a process finds the data sets of its parent process."""

_held: dict[str, Dataset] = {}


@contextlib.contextmanager
def holding(datasets: Iterable[Dataset]) -> Iterator[None]:
    """Make data sets available to `find` by their checksums within the `with` block."""
    before = dict(_held)
    _held.update({dataset.checksum: dataset for dataset in datasets})
    try:
        yield
    finally:
        _held.clear()
        _held.update(before)


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Make held data sets available to processes started in the `with` block, in files that are removed at its end.

    Raises
    ------
    DataError
        When the files cannot be written.
    """
    if not _held:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="mlcdr-") as name:
        for checksum, dataset in _held.items():
            facts = {key: getattr(dataset, key) for key in cache.FACTS}
            cache.save(checksum, dataset.X, dataset.Y, facts, Path(name))
            if not cache.path_of(checksum, Path(name)).exists():
                raise DataError(f"{dataset.name}: cannot be written to {name}, where worker processes find it")
        before = os.environ.get(FOLDER)
        os.environ[FOLDER] = name
        try:
            yield
        finally:
            os.environ.pop(FOLDER)
            os.environ.update({} if before is None else {FOLDER: before})


def find(name: str, checksum: str) -> Dataset | cache.Stored:
    """The data set of a checksum, or its X, Y and facts as stored by a parent process.

    Raises
    ------
    DataError
        When neither this process nor a parent process has it.
    """
    found = _held.get(checksum)
    if found is not None:
        return found
    folder = os.environ.get(FOLDER)
    stored = cache.load(checksum, Path(folder)) if folder and checksum.isalnum() else None
    if stored is None:
        raise DataError(
            f"{name}: was given in memory and is stored nowhere; give the same data again, from Python: "
            f"mlcdr.run(..., datasets={{{name!r}: (X, Y)}})"
        )
    return stored
