"""Whether a results folder is still as it was: what is read of it at two times must be of one run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mlcdr.errors import ResultsError
from mlcdr.experiment.yaml_reader import RESOLVED
from mlcdr.results.record_file import NoRecord, fetch, list_records, reading
from mlcdr.results.store import EXPORTS
from mlcdr.whole_files import is_regular_file

_Read = TypeVar("_Read")
_EXPORTS = [name for name in EXPORTS if name != "report.html"]  # which is made of the others


@dataclass(frozen=True)
class Stamp:
    """What a results folder holds at one moment.

    Attributes
    ----------
    folder : Path
    files : tuple
        Size and time of each file that decides the content.
    content : int
        The hash, in this process, of the experiment and of the trials on record; without a record, of the exports. A
        run that computes nothing leaves it as it is.
    """

    folder: Path
    files: tuple[tuple[str, int, int, int], ...]
    content: int

    @classmethod
    def of(cls, folder: Path) -> Stamp:
        """The stamp of a folder as it is now."""
        return cls(folder, tuple(_list_files(folder)), _hash(folder))

    def unchanged(self, found: _Read) -> _Read:
        """`found`, which was just read from the folder, if the folder is still the same.

        Raises
        ------
        ResultsError
            When it is not.
        """
        if self.files != tuple(_list_files(self.folder)) and self.content != _hash(self.folder):
            raise ResultsError(
                f"{self.folder}: a later run has changed it since these results were opened; "
                "open it again, or give each run a folder of its own"
            )
        return found


def _list_files(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    exports = [folder / name for name in _EXPORTS]
    for path in [folder / RESOLVED, *list_records(folder), *exports]:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        yield path.name, found.st_ino, found.st_size, found.st_mtime_ns


def _hash(folder: Path) -> int:
    found: list[Any] = []
    files = [folder / RESOLVED]
    try:
        found += _list_trials(folder)
    except NoRecord:
        files += [folder / name for name in _EXPORTS]
    except ResultsError as error:  # told to whoever reads it
        found.append(str(error))
    for path in files:
        try:
            content = path.read_bytes() if is_regular_file(path) else b""
        except (OSError, ResultsError) as error:
            content = str(error).encode()
        found.append(content)
    return hash(tuple(found))


def _list_trials(folder: Path) -> list[Any]:
    """The keys of the plan, and which of its trials were recorded when; not checked, since it is only compared."""
    planned, trials = [], []
    with reading(folder) as records:
        for path, db in records:
            planned += [key for (key,) in fetch(db, path, "planned", "key")]
            trials += fetch(db, path, "trials", "key", "recorded", "seconds")
    of_plan = frozenset(planned)
    return [*planned, *(trial for trial in trials if trial[0] in of_plan)]
