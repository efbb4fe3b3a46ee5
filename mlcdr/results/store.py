"""The record of a results folder as a run writes it: every finished trial, some of them in one transaction.

Whatever ends a run, what was recorded stays and nothing is recorded twice: all that is recorded of a trial is one row,
written by the one process that holds the folder's lock.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from mlcdr.errors import ResultsError
from mlcdr.processes import close_in_forks
from mlcdr.results.part import RunPart, list_files
from mlcdr.results.record_file import (
    DONE,
    FAILED,
    NOW,
    PLACE,
    Point,
    empty_record,
    explain_errors,
    heal,
    list_records,
    opened,
    record_name,
    rows,
    writing,
)
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:  # planning trials imports what methods compute with
    from mlcdr.experiment.trials import Trial, TrialResult

try:
    import fcntl
except ImportError:  # no such lock on this system: the second of two runs at once waits for SQLite's own
    fcntl = None  # type: ignore[assignment]

EXPORTS = ("scores.csv", "summary.csv", "chosen.csv", "tried.csv", "labels.csv", "manifest.json", "report.html")
"""Files of a results folder that are made from the record."""

Place = tuple[str, str, Point, int]
"""The place of a trial, the same for any version of its method: data set, method, point, split."""


class Failure(NamedTuple):
    """A trial that failed: where it stands, whatever version of its method it was; its traceback; what ended its worker
    (empty if nothing did).
    """

    place: Place
    error: str
    crash: str


Row = tuple[Any, ...]
"""A finished trial, as the record has it."""

_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_INSERT = """
    INSERT OR REPLACE INTO trials
    (key, dataset, method, point, split, status, error, crash, seconds, scores, chosen, tried, by_label)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def place(trial: Trial) -> Place:
    """Where a trial stands in an experiment."""
    return trial.dataset, trial.method, trial.point, trial.split


def this_process() -> str:
    """`HOST PID START`, from which others see whether this process still lives."""
    return f"{this_host()} {os.getpid()} {started(os.getpid())}"


def this_host() -> str:
    """The machine's name, in one word."""
    return "-".join(platform.node().split()) or "localhost"


def started(pid: int) -> int:
    """When a process was started, in seconds, to tell it from a later one with its number; 0: it is gone.

    On Linux since the machine was: there, the time since 1970 is told by the system's clock, which may be set.
    """
    since = psutil.boot_time() if psutil.LINUX else 0.0
    try:
        return int(psutil.Process(pid).create_time() - since) + 1
    except psutil.Error:
        return 0


class Store:
    """The trials of one results folder; a context manager that holds the folder's lock.

    Parameters
    ----------
    folder : path
        The results folder; made if it is not there.
    part : RunPart or None
        The part of a run that writes, whose record is another one. Parts write at once, and a whole run alone.
    fresh : bool
        Start with an empty record, whatever is there, even if it is damaged. What is there stays until `begin`, so that
        a run which cannot begin loses nothing; then its record and its exports are removed.

    Raises
    ------
    ResultsError
        When the folder cannot be written, another run is writing it, or its `trials.sqlite` is damaged or not ours.
    """

    def __init__(self, folder: Path, fresh: bool = False, part: RunPart | None = None):
        self.path = folder / record_name(part)
        self._locks = contextlib.ExitStack()
        with contextlib.ExitStack() as locks:
            locks.callback(_unlock, _lock(folder, ".lock", shared=part is not None))
            if part is not None:
                locks.callback(_unlock, _lock(folder, f".lock-{part.stem}"))
            self._replaces = fresh
            self._db = empty_record() if fresh else writing(self.path)
            self._run = self._record_run()
            self._locks = locks.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            outcome = "interrupted" if error is None else f"{type(error).__name__}: {error}"
            with contextlib.suppress(ResultsError):  # the first error, such as a full disk, is the one to report
                self.end(outcome)
        self._db.close()
        self._locks.close()

    def _record_run(self) -> int | None:
        return self._change("cannot record the run", "INSERT INTO runs (process, jobs) VALUES (?, 0)", this_process())

    def _change(self, what: str, statement: str, *values: Any) -> int | None:
        """Execute a statement by itself; `what` is the message if that fails. Returns the number of a new row."""
        with explain_errors(self.path, what):
            return self._db.execute(statement, values).lastrowid

    def begin(self, trials: Mapping[str, Trial], jobs: int) -> None:
        """Record what this run is to compute, which `mlcdr status` shows.

        Raises
        ------
        ResultsError
            When the record or, of a fresh start, an earlier export cannot be replaced.
        """
        if self._replaces:
            self._replaces = False
            self._db.close()
            with explain_errors(self.path, "earlier results cannot be removed"):
                for path in list_files(self.path.parent):
                    path.unlink(missing_ok=True)
            self._db = writing(self.path, fresh=True)
            self._run = self._record_run()
            with explain_errors(self.path, "earlier exports cannot be removed"):
                for name in EXPORTS:
                    self.path.with_name(name).unlink(missing_ok=True)
        with self._transaction("cannot record the plan"):
            planned = self._db.execute("SELECT key FROM planned ORDER BY position").fetchall()
            if [key for (key,) in planned] != list(trials):
                plan = [(i, key, trial.dataset, trial.method) for i, (key, trial) in enumerate(trials.items())]
                self._db.execute("DELETE FROM planned")
                self._db.executemany("INSERT INTO planned (position, key, dataset, method) VALUES (?, ?, ?, ?)", plan)
            self._db.execute("UPDATE runs SET jobs = ? WHERE number = ?", (jobs, self._run))

    def end(self, outcome: str) -> None:
        """Record how the run ended (`finished`, `interrupted`, or an error)."""
        outcome = outcome.encode(errors="backslashreplace").decode()  # an error may name a path that is not UTF-8
        statement = f"UPDATE runs SET ended = {NOW}, outcome = ? WHERE number = ?"
        self._change("cannot record the end of the run", statement, outcome, self._run)
        self._run = None

    def forget_run(self) -> None:
        """Delete this run, so that the one before it is the last; for a run that has nothing to compute."""
        self._change("cannot be written", "DELETE FROM runs WHERE number = ?", self._run)
        self._run = None

    def done(self) -> set[str]:
        """The keys of the trials on record, of any plan and of all parts, that have their scores."""
        found = set()
        for path, db in self._records():
            found |= {key for (key,) in rows(db, path, "trials", "key", where=DONE)}
        return found

    def failures(self) -> dict[str, Failure]:
        """Key → how a trial failed last, of each that is not done, of any plan; the next run tries it again."""
        failed: list[tuple[Any, ...]] = []
        for path, db in self._records():
            failed += rows(db, path, "trials", "recorded", "key", *PLACE, "error", "crash", where=FAILED)
        failed.sort(key=itemgetter(0))
        done = self.done() if failed else set()
        return {key: Failure(tuple(at), error, crash) for _, key, *at, error, crash in failed if key not in done}

    def _records(self) -> Iterator[tuple[Path, sqlite3.Connection]]:
        """The folder's other records, read-only, unless they are to be replaced; then this one."""
        others = [] if self._replaces else list_records(self.path.parent)
        for path in others:
            if path != self.path:
                heal(path)
                with opened(path) as db:
                    yield path, db
        yield self.path, self._db

    def record(self, trials: Sequence[Row]) -> None:
        """Write the rows of finished trials (`list_rows`), in one transaction.

        Raises
        ------
        ResultsError
            When the file cannot be written (a full disk, say); none of them is kept then.
        """
        if trials:
            with self._transaction("cannot record results"):
                self._db.executemany(_INSERT, trials)

    @contextlib.contextmanager
    def exporting(self) -> Iterator[None]:
        """A block in which no other part writes files that are made of all records."""
        with contextlib.ExitStack() as lock:
            lock.callback(_unlock, _lock(self.path.parent, ".lock-exports", waits=True))
            yield

    @contextlib.contextmanager
    def _transaction(self, what: str) -> Iterator[None]:
        """Change all or nothing; `what` is the message if that fails."""
        with explain_errors(self.path, what):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a signal may come when COMMIT is just done
                    self._db.execute("ROLLBACK")
                raise


def list_rows(
    trials: Mapping[str, Trial],
    scores: Sequence[TrialResult],
    seconds: float | None = None,
    crashed: str = "",
) -> list[Row]:
    """The rows of the finished trials of a group, as `Store.record` takes them.

    Parameters
    ----------
    trials : mapping
        Key → trial.
    scores : sequence of TrialResult
    seconds : float, optional
        What the group took a worker, which its trials share.
    crashed : str
        What ended the worker, if that is the outcome; then no trial is timed.
    """
    share = None
    if scores and seconds is not None and not crashed:
        share = seconds / len(scores)
    return [_as_row(trials[score.key], score, share, crashed) for score in scores]


def _as_row(
    trial: Trial,
    score: TrialResult,
    seconds: float | None,
    crashed: str,
) -> Row:
    """A trial's row, as `_INSERT` takes it."""
    values = score.values or {}
    of_labels = {}
    for metric, of_each in score.of_labels.items():
        of_labels[metric] = [value if math.isfinite(value) else None for value in of_each]
    return (
        score.key,
        trial.dataset,
        trial.method,
        _json(dict(trial.point)),
        trial.split,
        "failed" if score.values is None else "done",
        score.error or "",
        crashed,
        seconds,
        _json({metric: _or_null(value) for metric, value in values.items()}),
        _json(dict(sorted(score.chosen))),
        _json([(dict(point), _or_null(value)) for point, value in score.tried]),
        _json(of_labels),
    )


# One encoder for all: `json.dumps` makes one for each call.
_json = json.JSONEncoder(ensure_ascii=False).encode


def _or_null(value: float) -> float | None:
    """A number as JSON has it: null where it is not defined."""
    return None if math.isnan(value) else value


def _lock(folder: Path, name: str, shared: bool = False, waits: bool = False) -> io.FileIO:
    """A lock of the folder, taken: a file that is opened without emptying it, or following a link of its name."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_regular_file(path)
        file = io.FileIO(os.open(path, _LOCK_FLAGS, 0o666), "r+")
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error.strerror or error}") from None
    close_in_forks(file)
    if fcntl is not None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(file, kind if waits else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ResultsError(f"{folder}: another run is writing this folder; wait for it or choose --out") from None
        except OSError:  # treat a file system without locks like a system without locks
            pass
    return file


def _unlock(file: io.FileIO) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):  # closing it is not enough if a child process has it open, too
            fcntl.flock(file, fcntl.LOCK_UN)
    file.close()
