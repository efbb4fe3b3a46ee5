"""What is on record in a results folder, read without taking part in its runs.

The record is opened read-only and the folder's lock is left alone, so that one may look while a run is going on, or at
a folder that may not be written.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mlcdr.errors import ResultsError
from mlcdr.results.record_file import NoRecord, Point, reading
from mlcdr.results.store import started, this_host

_COUNTED = ("planned", "done", "failed", "crashed")
State = Literal["starting", "running", "finished", "interrupted", "crashed", "unknown"]


def read_planned(folder: Path, status: Literal["done", "failed"], *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the record's table `trials`, for the trials of the last run's plan that have a status, in its order.

    Raises
    ------
    NoRecord
        When there is no record with a plan.
    ResultsError
        When the record cannot be read.
    """
    with reading(folder) as records:
        planned = records.rows("planned", "key", condition="ORDER BY position")
        found = records.rows("trials", "key", *columns, condition=f"WHERE status = '{status}'")
    if not planned:
        raise NoRecord(f"{folder}: no run has planned its trials here")
    by_key = {row[0]: row[1:] for row in found}
    return [by_key[key] for (key,) in planned if key in by_key]


def read_failures(folder: Path) -> list[Failed]:
    """The failed trials of the last run's plan, in its order.

    Raises
    ------
    ResultsError
        As `read_planned`.
    """
    return [Failed(*row) for row in read_planned(folder, "failed", "dataset", "method", "point", "split", "error")]


# -------------------------------------------------------------------- how far a folder is


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
    """A failed trial: where it stands, and its traceback."""

    dataset: str
    method: str
    point: Point
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
        Data set → mean seconds of one worker for a trial, of those recorded here.
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
        When it is no results folder, or its record cannot be read.
    """
    found = _progress(folder)
    if found.run.state == "crashed" and not found.run.error:
        found = _progress(folder)  # it may have ended normally after the record was read
    return found


def _progress(folder: Path) -> Progress:
    with reading(folder) as records:
        runs = records.rows("runs", "process", "jobs", "started", "ended", "outcome", condition="ORDER BY number")
        planned = records.rows("planned", "key", "dataset", "method", condition="ORDER BY position")
        trials = records.rows("trials", "key", "dataset", "status", "crash", "seconds")
        columns = ("key", "dataset", "method", "point", "split", "error")
        failed = records.rows("trials", *columns, condition="WHERE status = 'failed'")
    if not runs:
        raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
    run = _run(*runs[-1])
    if run.state == "starting":
        planned = []  # of an earlier run
    states = {key: (status, crash) for key, _, status, crash, _ in trials}
    tallies: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for key, dataset, method in planned:
        status, crash = states.get(key, ("pending", ""))
        tallies[dataset, method].update(["planned", status, *["crashed"] * bool(crash)])
    counts = [Count(*of, *(tally[name] for name in _COUNTED)) for of, tally in tallies.items()]
    errors = {key: Failed(*place) for key, *place in failed}
    of_plan = [errors[key] for key, _, _ in planned if key in errors]
    costs = _costs((dataset, seconds) for _, dataset, _, _, seconds in trials)
    return Progress(folder, run, tuple(counts), costs, tuple(of_plan))


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
class Statuses:
    """What is recorded in a folder: the status of each trial by key, and `Progress.costs`."""

    status: Mapping[str, str]
    costs: Mapping[str, float]


def read_statuses(folder: Path) -> Statuses:
    """What is recorded in a results folder; nothing if there is none.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    try:
        with reading(folder) as records:
            trials = records.rows("trials", "key", "status", "dataset", "seconds")
    except NoRecord:
        trials = []
    return Statuses({row[0]: row[1] for row in trials}, _costs(row[2:] for row in trials))


def _costs(timed: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Data set → mean seconds of a trial."""
    of_each = defaultdict(list)
    for dataset, seconds in timed:
        if seconds is not None:
            of_each[dataset].append(seconds)
    return {dataset: math.fsum(seconds) / len(seconds) for dataset, seconds in of_each.items()}


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `5 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
