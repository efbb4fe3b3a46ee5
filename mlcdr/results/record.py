"""The progress of the runs of a results folder, read without taking part in them.

`trials.sqlite` is opened read-only and the folder's lock is left alone, so that one may look while a run is going on,
or at a folder that may not be written.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlcdr.errors import ResultsError
from mlcdr.results import record_file as cells
from mlcdr.results.record_file import NAME, NoRecord, reading, rows, shown
from mlcdr.results.store import started, this_host

State = Literal["starting", "running", "finished", "interrupted", "crashed", "unknown"]


@dataclass(frozen=True)
class Run:
    """The last run that wrote a folder.

    `state`: `starting` where it has no plan yet; `crashed` where an error ended it (`error`) or its process is gone
    and recorded no end; `unknown` where it runs, or ran, on another machine (`host`).
    """

    state: State
    started: str
    ended: str
    jobs: int
    host: str
    error: str = ""


@dataclass(frozen=True)
class Count:
    """How far one method is on one data set."""

    dataset: str
    method: str
    planned: int
    done: int
    failed: int
    crashed: int = 0  # of the failed

    @property
    def pending(self) -> int:
        """Trials that have not been tried."""
        return self.planned - self.done - self.failed


@dataclass(frozen=True)
class Failed:
    """A failed trial of a plan: where it stands, and its traceback."""

    dataset: str
    method: str
    point: tuple[tuple[str, str], ...]
    split: int
    error: str


@dataclass(frozen=True)
class Progress:
    """How far a results folder is.

    Attributes
    ----------
    folder : Path
    run : Run
    counts : tuple of Count
        By data set and method, in the order of the experiment.
    costs : dict
        Data set → mean seconds of one worker for a trial, from the groups recorded here.
    failures : tuple of Failed
        The failed trials of the plan, in its order.
    """

    folder: Path
    run: Run
    counts: tuple[Count, ...]
    costs: Mapping[str, float]
    failures: tuple[Failed, ...]

    def total(self, what: Literal["planned", "done", "failed", "crashed", "pending"]) -> int:
        """The number over all data sets and methods."""
        return sum(getattr(each, what) for each in self.counts)

    @property
    def untimed(self) -> tuple[str, ...]:
        """The data sets that have pending trials and none that was timed."""
        names = dict.fromkeys(each.dataset for each in self.counts if each.pending)
        return tuple(name for name in names if name not in self.costs)

    @property
    def seconds_left(self) -> float:
        """Seconds that the last run's number of workers need for what is pending, without the untimed data sets."""
        work = sum(each.pending * self.costs.get(each.dataset, 0.0) for each in self.counts)
        return work / max(self.run.jobs, 1)


def progress(folder: Path) -> Progress:
    """How far a results folder is.

    Raises
    ------
    ResultsError
        When it is no results folder, or its record cannot be read or has no plan.
    """
    found = _progress(folder)
    if found.run.state == "crashed" and not found.run.error:
        found = _progress(folder)  # it may have ended normally after the record was read
    return found


def _progress(folder: Path) -> Progress:
    path = folder / NAME
    with reading(folder) as db:
        if db.execute("SELECT count(*) FROM temp.sqlite_master WHERE name IN ('planned', 'runs')").fetchone()[0]:
            raise ResultsError(
                f"{path}: recorded by an older mlcdr, which kept no plan; "
                f"`mlcdr plan {folder / 'experiment.yaml'}` shows what is done"
            )
        query = "SELECT process, jobs, started, ended, outcome FROM runs ORDER BY number DESC LIMIT 1"
        kinds = (cells.Process, cells.Number, cells.Date, cells.Date | None, cells.Text | None)
        last = rows(db, path, "runs", query, *kinds)
        if not last:
            raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
        query = (
            "SELECT p.dataset, p.method, count(*), coalesce(sum(t.status = 'done'), 0), "
            "coalesce(sum(t.status = 'failed'), 0), "
            "coalesce(sum(t.status = 'failed' AND key IN (SELECT key FROM crashes)), 0) "
            "FROM planned p LEFT JOIN trials t USING (key) "
            "GROUP BY p.dataset, p.method ORDER BY min(p.position)"
        )
        counts = rows(db, path, "planned", query, cells.Text, cells.Text, *4 * [cells.Number])
        query = (
            "SELECT p.dataset, p.method, t.point, t.split, coalesce(t.error, '') "
            "FROM planned p JOIN trials t USING (key) WHERE t.status = 'failed' ORDER BY p.position"
        )
        failed = rows(db, path, "trials", query, cells.Text, cells.Text, cells.Text, cells.Number, cells.Text)
        costs = _costs(db, path)
    run = _run(*last[0])
    if run.state == "starting":
        counts, failed = [], []  # of an earlier run
    failures = (Failed(dataset, method, read_point(path, point), *rest) for dataset, method, point, *rest in failed)
    return Progress(folder, run, tuple(Count(*row) for row in counts), costs, tuple(failures))


def _run(process: str, jobs: int, begun: str, ended: str | None, outcome: str | None) -> Run:
    host, number, *start = process.split(" ")
    state: State
    error = ""
    if ended is None:
        state = "unknown"
        if host == this_host() and (start or os.name == "posix"):  # elsewhere `os.kill` would end the process
            lives = _lives(int(number), "".join(start))
            state = "crashed" if not lives else "running" if jobs else "starting"
    elif outcome in ("finished", "interrupted"):
        state = "finished" if outcome == "finished" else "interrupted"
    else:
        state, error = "crashed", " ".join(str(outcome).split())
    return Run(state, begun, ended or "", jobs, host, error)


def _lives(pid: int, start: str) -> bool:
    """Whether a process is there, and is the one that started at `start`, if that is known."""
    if start:
        return started(pid) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process exists, and belongs to another user
        return True
    return True


@dataclass(frozen=True)
class Kept:
    """What is recorded in a folder: the status of each trial by key, and `Progress.costs`."""

    status: Mapping[str, str]
    costs: Mapping[str, float]


def kept(folder: Path) -> Kept:
    """What is recorded in a results folder; nothing if there is none.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    path = folder / NAME
    try:
        with reading(folder) as db:
            return Kept(
                dict(rows(db, path, "trials", "SELECT key, status FROM trials", cells.Text, cells.Status)),
                _costs(db, path),
            )
    except NoRecord:
        return Kept({}, {})


def _costs(db: sqlite3.Connection, path: Path) -> dict[str, float]:
    """Data set → mean seconds of a trial."""
    sums: dict[str, tuple[int, float]] = {}
    query = "SELECT dataset, trials, seconds FROM costs"
    for dataset, trials, seconds in rows(db, path, "costs", query, cells.Text, cells.Count, cells.Seconds):
        n, total = sums.get(dataset, (0, 0.0))
        sums[dataset] = n + trials, total + seconds
    return {dataset: total / n for dataset, (n, total) in sums.items()}


@dataclass(frozen=True)
class Failure(Failed):
    """A failed trial on record, and when it failed (UTC)."""

    recorded: str


def read_failures(folder: Path) -> list[Failure]:
    """The failed trials on record, without the folder's lock and without writing anything: a run may be going on.

    A method that was edited has different trials before and after; of failures with the same data set, method, point
    and split only the latest counts.

    Raises
    ------
    ResultsError
        When there is no record, or it cannot be read.
    """
    path = folder / NAME
    # With max(), SQLite takes the other columns from the row that has it. Of two in a second, the failed one counts.
    query = """
        SELECT dataset, method, point, split, coalesce(error, ''), recorded FROM (
            SELECT *, max(recorded || (status = 'failed')) FROM trials
            WHERE (dataset, method, point, split) IN (
                SELECT dataset, method, point, split FROM trials WHERE status = 'failed'
            ) GROUP BY dataset, method, point, split
        ) WHERE status = 'failed' ORDER BY dataset, method, point, split
    """
    kinds = (cells.Text, cells.Text, cells.Text, cells.Number, cells.Text, cells.Date)
    with reading(folder) as db:
        found = rows(db, path, "trials", query, *kinds)
    return [
        Failure(dataset, method, read_point(path, point), split, error, recorded)
        for dataset, method, point, split, error, recorded in found
    ]


def read_point(path: Path, written: str) -> tuple[tuple[str, str], ...]:
    """The (path, value) of a trial's point, from its JSON."""
    try:
        point = json.loads(written)
    except (ValueError, RecursionError):
        point = None
    if not isinstance(point, dict) or not all(isinstance(value, str) for value in point.values()):
        raise ResultsError(f"{path}: damaged: {shown(written)} in its table `trials`")
    return tuple(point.items())


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `5 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
