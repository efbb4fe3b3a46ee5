"""The part of a run that one of several jobs computes (`mlcdr run --part 3/10`), where jobs share only a folder.

Each part writes a record of its own, `trials.3-of-10.sqlite`, and what it did into `manifest.3-of-10.json`. All records
of a folder are read together. The part that sees that no trial is left, in any record, writes the exports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mlcdr.errors import UserError, describe

MOST = 9999
"""The largest number of parts."""

_DIGITS = re.compile(r"[0-9]{1,9}")  # Python refuses to read a number of thousands of digits
_FILE = re.compile(r"(?:trials|manifest)\.([1-9][0-9]{0,3})-of-([1-9][0-9]{0,3})\.(?:sqlite|json)")


class RunPart(NamedTuple):
    """Part `number` (from 1) of `of` parts."""

    number: int
    of: int

    @classmethod
    def parse(cls, written: object) -> RunPart:
        """A part from `3/10`, or (3, 10).

        Raises
        ------
        UserError
            When it is no such thing.
        """
        numbers = written
        if isinstance(written, str):
            numbers = [int(each) if _DIGITS.fullmatch(each) else None for each in written.split("/")]
        if isinstance(numbers, list | tuple) and len(numbers) == 2:
            number, of = numbers
            if type(number) is int and type(of) is int and 1 <= number <= of <= MOST:
                return cls(number, of)
        raise UserError(f"--part: must be I/N with 1 ≤ I ≤ N ≤ {MOST}, such as 3/10; found {describe(written)}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def stem(self) -> str:
        """`3-of-10`, as names of files have it."""
        return f"{self.number}-of-{self.of}"

    def has(self, position: int) -> bool:
        """Whether what stands at a position (from 0) of the whole is in this part."""
        return position % self.of == self.number - 1


def part_of(path: Path) -> RunPart | None:
    """The part that a record, or a manifest, is of; None if it is of a whole run."""
    found = _FILE.fullmatch(path.name)
    return RunPart(int(found[1]), int(found[2])) if found else None


def list_files(folder: Path) -> Iterator[Path]:
    """The files of parts in a results folder, those of SQLite and locks included."""
    for pattern in ("trials.*-of-*.sqlite*", "manifest.*-of-*.json", ".lock-*-of-*"):
        yield from folder.glob(pattern)
