"""What is on record in a results folder, read without taking part in its runs.

The record is opened read-only and the folder's lock is left alone, so that one may look while a run is going on, or at
a folder that may not be written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.record_file import PLACE, NoRecord, Point, reading, rows
from mlcdr.results.store import started, this_host

_CLOCK = 2  # seconds


@dataclass(frozen=True)
class Record:
    """What is on record in a folder at one moment.

    Attributes
    ----------
    runs : list of tuple
        process, jobs, started, ended and outcome of the runs that wrote here.
    planned : frame
        key, dataset and method of the trials of the last run's plan, in its order.
    trials : frame
        A row for each finished trial, of any plan, with the columns that were asked for; the index is its key.
    """

    runs: list[tuple[Any, ...]]
    planned: pd.DataFrame
    trials: pd.DataFrame

    def of_plan(self, status: Literal["done", "failed"]) -> pd.DataFrame:
        """The trials of the plan that have a status, in its order."""
        found = self.trials[self.trials["status"] == status]
        planned = self.planned["key"]
        return found.loc[planned[planned.isin(found.index)]]


def read_record(folder: Path, *columns: str) -> Record:
    """The records of a folder together, with some columns of their trials, of which `status` is always one.

    Raises
    ------
    NoRecord
        When there is none.
    ResultsError
        When a record cannot be read.
    """
    of_trials = ["key", "status", *columns]
    of_plan = ["key", "dataset", "method"]
    runs, planned, trials = [], [], []
    with reading(folder) as records:
        for path, db in records:
            runs += rows(db, path, "runs", "process", "jobs", "started", "ended", "outcome")
            planned += rows(db, path, "planned", *of_plan)
            trials += rows(db, path, "trials", *of_trials)
    # of a trial that failed in one record and is done in another, "done" comes first
    found = pd.DataFrame(trials, columns=of_trials).sort_values("status", kind="stable")
    found = found.drop_duplicates("key").set_index("key")
    return Record(runs, pd.DataFrame(planned, columns=of_plan), found)


def read_planned(folder: Path, status: Literal["done", "failed"], *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the trials of the last run's plan that have a status, in its order.

    Raises
    ------
    NoRecord
        When there is no record with a plan.
    ResultsError
        When the record cannot be read.
    """
    record = read_record(folder, *columns)
    if record.planned.empty:
        raise NoRecord(f"{folder}: no run has planned its trials here")
    found = record.of_plan(status)
    return list(found[list(columns)].itertuples(index=False, name=None))


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

    `state`: `running`, `finished`, `interrupted`; `starting` where it has no plan yet; `crashed` where an error ended
    it (`error`), or its process is gone and recorded no end; `unknown` where it runs, or ran, on another machine
    (`host`).
    """

    state: str
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
    failures : list of Failed
        The failed trials of the plan, in its order.
    """

    folder: Path
    run: Run
    counts: pd.DataFrame
    costs: pd.Series
    failures: list[Failed]

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
    record = read_record(folder, *PLACE, "error", "crash", "seconds")
    if not record.runs:
        raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
    run = _describe_run(*record.runs[-1])
    if run.state == "starting":  # the plan is that of an earlier run
        record = replace(record, planned=record.planned[:0])
    trials = record.trials
    status = record.planned["key"].map(trials["status"])
    crashed = trials.index[trials["crash"] != ""]
    of_trials = record.planned.assign(
        planned=1,
        done=status == "done",
        failed=status == "failed",
        crashed=record.planned["key"].isin(crashed),
        pending=status.isna(),
    )
    of_methods = of_trials.drop(columns="key").groupby(["dataset", "method"], sort=False, as_index=False)
    counts = of_methods.sum()
    failed = record.of_plan("failed")[[*PLACE, "error"]]
    failures = [Failed(*row) for row in failed.itertuples(index=False, name=None)]
    return Progress(folder, run, counts, mean_seconds(trials), failures)


def _describe_run(
    process: str,
    jobs: int,
    begun: str,
    ended: str | None,
    outcome: str | None,
) -> Run:
    host, number, *start = process.split(" ")
    if ended is not None:
        if outcome == "finished" or outcome == "interrupted":
            return Run(outcome, begun, ended, jobs, host)
        return Run("crashed", begun, ended, jobs, host, " ".join(str(outcome).split()))
    state = "running" if jobs else "starting"
    if host != this_host():
        state = "unknown"
    elif not _lives(int(number), int("".join(start) or 0)):
        state = "crashed"
    return Run(state, begun, "", jobs, host)


def _lives(pid: int, start: int) -> bool:
    """Whether a process is there, and is the one that started at `start`, which rounding may shift."""
    return abs(started(pid) - start) <= _CLOCK


def read_statuses(folder: Path) -> pd.DataFrame:
    """What is recorded in a results folder; nothing if there is none.

    Returns
    -------
    frame
        status, dataset and seconds of each trial; the index is its key.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    columns = ("dataset", "seconds")
    try:
        return read_record(folder, *columns).trials
    except NoRecord:
        return pd.DataFrame(columns=["status", *columns])


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
