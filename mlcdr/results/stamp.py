"""Whether a results folder is still as it was: what is read of it at two times must be of one run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mlcdr.errors import ResultsError
from mlcdr.results.record import read_record
from mlcdr.results.record_file import NoRecord
from mlcdr.results.store import EXPORTS
from mlcdr.whole_files import is_regular_file

_Read = TypeVar("_Read")
_CONFIG = "experiment.yaml"
_EXPORTS = [name for name in EXPORTS if name != "report.html"]  # which is made of the others


@dataclass(frozen=True)
class Stamp:
    """What a results folder holds at one moment.

    Attributes
    ----------
    folder : Path
    files : tuple
        Size and time of each file that decides the content.
    content : str
        A digest of the experiment and of the trials on record; without a record, of the exports. A run that computes
        nothing leaves it as it is.
    """

    folder: Path
    files: tuple[tuple[str, int, int, int], ...]
    content: str

    @classmethod
    def of(cls, folder: Path) -> Stamp:
        """The stamp of a folder as it is now."""
        return cls(folder, tuple(_list_files(folder)), _digest(folder))

    def unchanged(self, found: _Read) -> _Read:
        """`found`, which was just read from the folder, if the folder is still the same.

        Raises
        ------
        ResultsError
            When it is not.
        """
        if self.files != tuple(_list_files(self.folder)) and self.content != _digest(self.folder):
            raise ResultsError(
                f"{self.folder}: a later run has changed it since these results were opened; "
                "open it again, or give each run a folder of its own"
            )
        return found


def _list_files(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    exports = [folder / name for name in _EXPORTS]
    for path in [folder / _CONFIG, *sorted(folder.glob("trials*.sqlite")), *exports]:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        yield path.name, found.st_ino, found.st_size, found.st_mtime_ns


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    files = [folder / _CONFIG]
    try:
        record = read_record(folder, "recorded", "seconds")
    except NoRecord:
        files += [folder / name for name in _EXPORTS]
    except ResultsError as error:  # told to whoever reads it
        found.update(str(error).encode())
    else:
        planned = record.planned["key"]
        of_plan = record.trials[record.trials.index.isin(planned)]
        found.update(f"{planned.tolist()} {list(of_plan.itertuples(name=None))}".encode())
    for path in files:
        try:
            content = path.read_bytes() if is_regular_file(path) else b""
        except (OSError, ResultsError) as error:
            content = str(error).encode()
        found.update(content)
    return found.hexdigest()
