"""Warnings that methods give while they are computed: counted instead of printed, and shown once at the end of a run.

Warnings that are the same but for their numbers, from one line of code, are one kind. They are counted in the process
that computes a trial, and returned with the scores.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from mlcdr.errors import escape_control_characters, plural, without_numbers
from mlcdr.experiment.grouping import group_pairs
from mlcdr.results.failures import join_some

_LONGEST = 200  # characters of a warning's text
_SHOWN = 10  # kinds at the end of a run
_NAMED = 3  # methods of a kind


@dataclass(frozen=True)
class Warned:
    """Warnings of one kind by one method.

    Attributes
    ----------
    method : str
    category : str
        The name of the warning's class.
    text : str
        The first line of the first of them.
    place : str
        File and line that gave it.
    count : int
    """

    method: str
    category: str
    text: str
    place: str
    count: int = 1

    @property
    def kind(self) -> tuple[str, str, str]:
        """What all warnings of one kind have in common; the method may differ."""
        return self.category, self.place, without_numbers(self.text)


class Log:
    """The warnings of one computation, or of all of a run; `method` is the one that is computed now."""

    def __init__(self) -> None:
        self.method = ""
        self._first: dict[tuple[str, ...], Warned] = {}
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Count a warning: what `warnings.showwarning` is called with."""
        lines = [each.strip() for each in str(message).splitlines() if each.strip()]
        text = lines[0][:_LONGEST] if lines else ""
        found = Warned(self.method, category.__name__, text, f"{shorten_file_path(filename)}:{lineno}")
        self.include([found])

    def include(self, found: Iterable[Warned]) -> None:
        """Count warnings, each as often as it was given."""
        for each in found:
            key = (each.method, *each.kind)
            self._first.setdefault(key, each)
            self._counts[key] += each.count

    def warned(self) -> tuple[Warned, ...]:
        """Each kind with its number."""
        return tuple(replace(found, count=self._counts[key]) for key, found in self._first.items())


def shorten_file_path(filename: str) -> str:
    """A path from the package on, or from the current folder on."""
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in filename:
            return filename.rpartition(marker)[2]
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return filename


_this_thread = threading.local()  # `log`: of what it computes


@contextmanager
def counting() -> Iterator[Log]:
    """Count the warnings that are given in this block instead of printing them.

    Where several threads of a process compute, as on some Dask workers, a warning may be counted by the other one.
    """
    log = _this_thread.log = Log()
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:  # if no other filter applies: every time, not once for a line of code
                for category in (UserWarning, RuntimeWarning, FutureWarning):
                    warnings.simplefilter("always", category, append=True)
            warnings.showwarning = log.add
            yield log
    finally:
        del _this_thread.log


def of_method(name: str) -> None:
    """Count the warnings that follow as warnings of this method."""
    if hasattr(_this_thread, "log"):
        _this_thread.log.method = name


def gather(found: Iterable[Warned]) -> list[tuple[Warned, tuple[str, ...]]]:
    """Each kind with its number over all methods, the most frequent first, and the methods that gave it."""
    gathered = []
    for same in group_pairs((each.kind, each) for each in found).values():
        whole = replace(same[0], count=sum(each.count for each in same))
        methods = dict.fromkeys(each.method for each in same)
        gathered.append((whole, tuple(methods)))
    gathered.sort(key=lambda kind: -kind[0].count)
    return gathered


def describe(found: Iterable[Warned]) -> list[str]:
    """A line for each kind: how often, of which methods, what, and where."""
    kinds = gather(found)
    lines = []
    for each, methods in kinds[:_SHOWN]:
        times = f"{each.count} times" if each.count > 1 else "once"
        who = ", ".join(filter(None, [join_some(methods, _NAMED), times]))
        lines.append(escape_control_characters(f"warning: {who}: {each.category}: {each.text} ({each.place})"))
    if len(kinds) > _SHOWN:
        lines.append(f"{plural(len(kinds) - _SHOWN, 'more kind')} of warnings, in manifest.json")
    return lines
