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

from mlcdr.data import cache
from mlcdr.data.content import Dataset
from mlcdr.errors import DataError

FOLDER = "MLCDR_HELD_DATASETS"
"""The environment variable with the folder in which a process finds the data sets of its parent process."""

_held: dict[str, Dataset] = {}


@contextlib.contextmanager
def holding(datasets: Iterable[Dataset]) -> Iterator[None]:
    """Make data sets available to `recall` within the `with` block."""
    before = dict(_held)
    _held.update({each.checksum: each for each in datasets})
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
            cache.save(checksum, dataset, Path(name))
            if not cache.path_of(checksum, Path(name)).exists():
                raise DataError(f"{name}: data in memory cannot be written here, where worker processes find them")
        before = os.environ.get(FOLDER)
        os.environ[FOLDER] = name
        try:
            yield
        finally:
            os.environ.pop(FOLDER)
            if before is not None:
                os.environ[FOLDER] = before


def recall(name: str, checksum: str) -> Dataset:
    """The data set of a checksum, of this process or stored by a parent process.

    Raises
    ------
    DataError
        When neither this process nor a parent process has it.
    """
    if checksum in _held:
        return _held[checksum]
    folder = os.environ.get(FOLDER)
    stored = cache.load(checksum, Path(folder)) if folder and checksum.isalnum() else None
    if stored is None:
        raise DataError(
            f"{name}: was given in memory and is stored nowhere; give the same data again, from Python: "
            f"mlcdr.run(..., datasets={{{name!r}: (X, Y)}})"
        )
    return stored
