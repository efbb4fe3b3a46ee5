"""What is on record in a results folder, read without taking part in its runs.

The record is opened read-only and the folder's lock is left alone, so that one may look while a run is going on, or at
a folder that may not be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.record_file import PLACE, NoRecord, Point, Records, reading
from mlcdr.results.store import started, this_host

_CLOCK = 2  # seconds
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
    return [Failed(*row) for row in read_planned(folder, "failed", *PLACE, "error")]


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
    counts : frame
        dataset, method, and how many trials are planned, done, failed, crashed (of the failed) and pending; in the
        order of the experiment.
    costs : series
        Data set → mean seconds of one worker for a trial, of those recorded here.
    failures : tuple of Failed
        The failed trials of the plan, in its order.
    """

    folder: Path
    run: Run
    counts: pd.DataFrame
    costs: pd.Series
    failures: tuple[Failed, ...]

    @property
    def untimed(self) -> list[str]:
        """The data sets that have pending trials and none that was timed."""
        pending = self.counts[self.counts["pending"] > 0]
        return [name for name in pending["dataset"].unique() if name not in self.costs]

    @property
    def seconds_left(self) -> float:
        """Seconds that the last run's number of workers need for what is pending, without the untimed data sets."""
        costs = self.counts["dataset"].map(self.costs).fillna(0.0)
        work: float = (self.counts["pending"] * costs).sum()
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
        planned = _frame(records, "planned", "key", "dataset", "method", condition="ORDER BY position")
        trials = _frame(records, "trials", "key", "dataset", "status", "crash", "seconds")
        failed = records.rows("trials", "key", *PLACE, "error", condition="WHERE status = 'failed'")
    if not runs:
        raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
    run = _run(*runs[-1])
    if run.state == "starting":
        planned = planned[:0]  # of an earlier run
    status = planned["key"].map(dict(zip(trials["key"], trials["status"], strict=True)))
    crashed = trials.loc[trials["crash"] != "", "key"]
    of_trials = planned.assign(
        planned=1,
        done=status == "done",
        failed=status == "failed",
        crashed=planned["key"].isin(crashed),
        pending=status.isna(),
    )
    counts = of_trials.drop(columns="key").groupby(["dataset", "method"], sort=False, as_index=False).sum()
    errors = {key: Failed(*place) for key, *place in failed}
    of_plan = [errors[key] for key in planned["key"] if key in errors]
    return Progress(folder, run, counts, mean_seconds(trials), tuple(of_plan))


def _frame(records: Records, table: str, *columns: str, condition: str = "") -> pd.DataFrame:
    return pd.DataFrame(records.rows(table, *columns, condition=condition), columns=list(columns))


def _run(process: str, jobs: int, begun: str, ended: str | None, outcome: str | None) -> Run:
    host, number, *start = process.split(" ")
    state: State
    error = ""
    if ended is None:
        state = "unknown"
        if host == this_host():
            lives = _lives(int(number), int("".join(start) or 0))
            state = "crashed" if not lives else "running" if jobs else "starting"
    elif outcome in ("finished", "interrupted"):
        state = "finished" if outcome == "finished" else "interrupted"
    else:
        state, error = "crashed", " ".join(str(outcome).split())
    return Run(state, begun, ended or "", jobs, host, error)


def _lives(pid: int, start: int) -> bool:
    """Whether a process is there, and is the one that started at `start`, which a correction of the clock may shift."""
    return abs(started(pid) - start) <= _CLOCK


def read_statuses(folder: Path) -> pd.DataFrame:
    """What is recorded in a results folder; nothing if there is none.

    Returns
    -------
    frame
        key, dataset, status, seconds.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    columns = ("key", "dataset", "status", "seconds")
    try:
        with reading(folder) as records:
            return _frame(records, "trials", *columns)
    except NoRecord:
        return pd.DataFrame(columns=columns)


def mean_seconds(trials: pd.DataFrame) -> pd.Series:
    """Data set → mean seconds of a trial, of those that were timed."""
    timed = trials.dropna(subset="seconds").astype({"seconds": float})
    return timed.groupby("dataset")["seconds"].mean()


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `5 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
