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
from typing import Any, TextIO

from mlcdr.errors import escape_control_characters, without_numbers
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


class _Log:
    """The warnings of one computation; `method` is the one that is computed now."""

    def __init__(self) -> None:
        self.method = ""
        self._first: dict[tuple[str, ...], Warned] = {}
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, message: Warning | str, category: type[Warning], filename: str, line: int) -> None:
        text = next((each.strip() for each in str(message).splitlines() if each.strip()), "")[:_LONGEST]
        each = Warned(self.method, category.__name__, text, f"{_shorten(filename)}:{line}")
        key = (each.method, *each.kind)
        self._first.setdefault(key, each)
        self._counts[key] += 1

    def warned(self) -> tuple[Warned, ...]:
        return tuple(replace(each, count=self._counts[key]) for key, each in self._first.items())


def _shorten(filename: str) -> str:
    """A path from the package on, or from the current folder on."""
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in filename:
            return filename.rpartition(marker)[2]
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return filename


class _Collector:
    """The hook of `warnings`, in place while any thread of this process computes trials."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[int, _Log] = {}  # by thread
        self._before: Any = None
        self._show: Any = None

    @contextmanager
    def counting(self) -> Iterator[_Log]:
        """Count the warnings that are given in this thread instead of printing them."""
        log = _Log()
        with self._lock:
            if not self._logs:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                self._show = warnings.showwarning
                warnings.showwarning = self._record
                if not sys.warnoptions:  # if no other filter applies: every time, not once for a line of code
                    for category in (UserWarning, RuntimeWarning, FutureWarning):
                        warnings.simplefilter("always", category, append=True)
            self._logs[threading.get_ident()] = log
        try:
            yield log
        finally:
            with self._lock:
                del self._logs[threading.get_ident()]
                if not self._logs:
                    self._before.__exit__(None, None, None)

    def current(self) -> _Log | None:
        """The log of this thread; for a thread that a method has started, the only log if there is only one."""
        logs = self._logs
        found = logs.get(threading.get_ident())
        return next(iter(logs.values()), None) if found is None and len(logs) == 1 else found

    def _record(
        self, message: Any, category: Any, filename: str, lineno: int, file: TextIO | None = None, line: Any = None
    ) -> None:
        log = self.current()
        if log is None or file is not None:
            self._show(message, category, filename, lineno, file, line)
        else:
            log.add(message, category, filename, lineno)


_collector = _Collector()
counting = _collector.counting


def of_method(name: str) -> None:
    """Count the warnings that follow as warnings of this method."""
    log = _collector.current()
    if log is not None:
        log.method = name


def gather(found: Iterable[Warned]) -> list[tuple[Warned, tuple[str, ...]]]:
    """Each kind with its number over all methods, the most frequent first, and the methods that gave it."""
    kinds: dict[tuple[str, str, str], list[Warned]] = {}
    for each in found:
        kinds.setdefault(each.kind, []).append(each)
    gathered = [
        (replace(same[0], count=sum(each.count for each in same)), tuple(dict.fromkeys(each.method for each in same)))
        for same in kinds.values()
    ]
    return sorted(gathered, key=lambda kind: -kind[0].count)


def describe(found: Iterable[Warned]) -> list[str]:
    """A line for each kind: how often, of which methods, what, and where."""
    kinds = gather(found)
    lines = []
    for each, methods in kinds[:_SHOWN]:
        of = join_some(methods, _NAMED)
        times = f"{each.count} times" if each.count > 1 else "once"
        of = f"{of}, {times}" if of else times
        lines.append(escape_control_characters(f"warning: {of}: {each.category}: {each.text} ({each.place})"))
    if len(kinds) > _SHOWN:
        lines.append(f"{len(kinds) - _SHOWN} more kinds of warnings, in manifest.json")
    return lines
