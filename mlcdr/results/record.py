"""What is on record in a results folder, read without taking part in its runs.

The record is opened read-only and the folder's lock is left alone, so that one may look while a run is going on, or at
a folder that may not be written.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from mlcdr.errors import ResultsError
from mlcdr.experiment.grouping import group_pairs
from mlcdr.results.part import RunPart, part_of
from mlcdr.results.record_file import DONE, FAILED, PLACE, NoRecord, Point, fetch, read_plan, reading, rows
from mlcdr.results.store import started, this_host

_CLOCK = 2  # seconds


@dataclass(frozen=True)
class Record:
    """What is on record in a folder at one moment.

    Attributes
    ----------
    runs : list of tuple
        The record, and process, jobs, started, ended and outcome of the runs that wrote here, the latest last.
    planned : list of tuple
        key, dataset and method of the trials of the last run's plan, in its order.
    trials : dict
        Key → key, status and the columns that were asked for, of each finished trial, of any plan.
    current : set of Path
        The records that have this plan.
    """

    runs: list[tuple[Any, ...]]
    planned: list[tuple[Any, ...]]
    trials: dict[str, tuple[Any, ...]]
    current: set[Path]


def read_record(folder: Path, *columns: str) -> Record:
    """The records of a folder together, with some columns of their trials.

    Raises
    ------
    NoRecord
        When there is none.
    ResultsError
        When a record cannot be read.
    """
    runs: list[tuple[Any, ...]] = []
    trials: dict[str, tuple[Any, ...]] = {}
    current = set()
    with reading(folder) as records:
        planned = read_plan(records)
        keys = [(key,) for key, _, _ in planned]
        for path, db in records:
            if fetch(db, path, "planned", "key") == keys:
                current.add(path)
            runs += [(path, *run) for run in rows(db, path, "runs", "process", "jobs", "started", "ended", "outcome")]
            for row in rows(db, path, "trials", "key", "status", *columns):
                known = trials.setdefault(row[0], row)
                if row[1] == "done" and known[1] == "failed":  # it failed in one record, and is done in another
                    trials[row[0]] = row
    runs.sort(key=lambda run: run[3])  # by their beginning; those of one second stay in the order of their records
    return Record(runs, planned, trials, current)


def read_planned(folder: Path, status: str, *columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    """Columns of the trials of the last run's plan that are `DONE`, or have `FAILED`, in its order.

    With `where`, only of those that meet this condition (SQL).

    Raises
    ------
    NoRecord
        When there is no record with a plan.
    ResultsError
        When the record cannot be read.
    """
    found: dict[str, tuple[Any, ...]] = {}
    times: dict[str, str] = {}
    condition = f"{status} AND {where}"
    with reading(folder) as records:
        planned = [key for key, _, _ in read_plan(records)]
        for path, db in records:
            for recorded, key, *row in rows(db, path, "trials", "recorded", "key", *columns, where=condition):
                if recorded > times.get(key, ""):  # it may have failed in several
                    found[key], times[key] = tuple(row), recorded
        if status == FAILED and len(records) > 1:
            for path, db in records:
                for (key,) in rows(db, path, "trials", "key", where=DONE):
                    found.pop(key, None)
    if not planned:
        raise NoRecord(f"{folder}: no run has planned its trials here")
    return [found[key] for key in planned if key in found]


def read_failures(folder: Path) -> list[Failed]:
    """The failed trials of the last run's plan, in its order.

    Raises
    ------
    ResultsError
        As `read_planned`.
    """
    return [Failed(*row) for row in read_planned(folder, FAILED, *PLACE, "error")]


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


class Counts(NamedTuple):
    """How many trials of a method on a data set are planned, done, failed, crashed (of the failed) and pending."""

    dataset: str
    method: str
    planned: int
    done: int
    failed: int
    crashed: int
    pending: int


def add_up(counts: Sequence[Counts], dataset: str = "", method: str = "") -> Counts:
    """The sum of counts, under another name."""
    numbers = [each[2:] for each in counts]
    return Counts(dataset, method, *(sum(column) for column in zip(*numbers, strict=True)))


@dataclass(frozen=True)
class Progress:
    """How far a results folder is.

    Attributes
    ----------
    folder : Path
    run : Run
    counts : list of Counts
        Of each method on each data set, in the order of the experiment.
    costs : dict
        Data set → mean seconds of one worker for a trial, of those recorded here.
    failures : list of Failed
        The failed trials of the plan, in its order.
    parts : dict
        Part → the last run of it, None if it has not begun; of the division that ran last. Empty where a whole run was
        the last.
    """

    folder: Path
    run: Run
    counts: list[Counts]
    costs: dict[str, float]
    failures: list[Failed]
    parts: dict[RunPart, Run | None] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """How many trials there are of all methods on all data sets."""
        return add_up([Counts("", "", 0, 0, 0, 0, 0), *self.counts])

    @property
    def untimed(self) -> list[str]:
        """The data sets that have pending trials and none that was timed."""
        pending = [each.dataset for each in self.counts if each.pending]
        return [name for name in dict.fromkeys(pending) if name not in self.costs]

    @property
    def workers(self) -> int:
        """The last run's number of workers; one where it ended before it had a plan."""
        return max(self.run.jobs, 1)

    @property
    def seconds_left(self) -> float:
        """Seconds that these workers need for what is pending, without the untimed data sets."""
        work = fsum(each.pending * self.costs.get(each.dataset, 0.0) for each in self.counts)
        return work / self.workers


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
    record = read_record(folder, "dataset", "crash", "seconds")
    if not record.runs:
        raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
    run = _describe_run(*record.runs[-1][1:])
    parts = _describe_parts(record)
    run = _join_running(run, parts.values())
    if run.state == "starting" and not parts:  # the plan is that of an earlier run
        record.planned.clear()
    counts = _count(record)
    some_failed = any(each.failed for each in counts)
    failures = read_failures(folder) if some_failed else []
    costs = mean_seconds((dataset, seconds) for _, _, dataset, _, seconds in record.trials.values())
    return Progress(folder, run, counts, costs, failures, parts)


def _join_running(last: Run, parts: Iterable[Run | None]) -> Run:
    """The last run; while parts are running, all of these together."""
    running = [run for run in parts if run is not None and run.state == "running"]
    if not running:
        return last
    return replace(running[-1], jobs=sum(run.jobs for run in running))


def _describe_parts(record: Record) -> dict[RunPart, Run | None]:
    """`Progress.parts`; a part that ended with another plan has not begun with this one."""
    last = part_of(record.runs[-1][0])
    if last is None:
        return {}
    parts: dict[RunPart, Run | None] = {RunPart(number + 1, last.of): None for number in range(last.of)}
    for path, *run in record.runs:
        part = part_of(path)
        if part not in parts:
            continue
        described = _describe_run(*run)
        if path in record.current or described.state in ("starting", "running"):
            parts[part] = described
    return parts


def _count(record: Record) -> list[Counts]:
    """The counts of each method on each data set, from a record with the columns `dataset`, `crash` and `seconds`."""
    found = group_pairs(((dataset, method), _state_of(record, key)) for key, dataset, method in record.planned)
    counts = []
    for place, states in found.items():
        crashed = states.count("crashed")
        failed = states.count("failed") + crashed
        counts.append(Counts(*place, len(states), states.count("done"), failed, crashed, states.count("pending")))
    return counts


def _state_of(record: Record, key: str) -> str:
    """What a trial is: `pending`, `done`, `failed`, or `crashed`."""
    if key not in record.trials:
        return "pending"
    _, state, _, crash, _ = record.trials[key]
    return "crashed" if state == "failed" and crash else str(state)


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
    """Whether a process is there, and is the one that started at `start` (0: not known), which rounding may shift."""
    found = started(pid)
    if start == 0:
        return found > 0
    return abs(found - start) <= _CLOCK


class Past(NamedTuple):
    """What is on record of a trial, of any plan."""

    key: str
    status: str
    dataset: str
    seconds: float | None


def read_statuses(folder: Path) -> dict[str, Past]:
    """Key → what is on record of a trial, in a results folder; nothing if there is none.

    Raises
    ------
    ResultsError
        When the record cannot be read.
    """
    try:
        trials = read_record(folder, "dataset", "seconds").trials
    except NoRecord:
        return {}
    return {key: Past(*row) for key, row in trials.items()}


def mean_seconds(timed: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Data set → mean seconds of a trial, of the (data set, seconds) of those that were timed."""
    found = group_pairs((dataset, seconds) for dataset, seconds in timed if seconds is not None)
    return {dataset: fsum(seconds) / len(seconds) for dataset, seconds in found.items()}


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `5 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def command_to_continue(folder: Path) -> str:
    """The command that computes what is pending in a results folder."""
    out = str(folder.parent) if folder.name else ".."
    return shlex.join(["mlcdr", "run", str(folder / "experiment.yaml"), "--out", out])
