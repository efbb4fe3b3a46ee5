"""What a results folder says of its runs, read without taking part in them.

`trials.sqlite` is opened read-only and the folder's lock is left alone, so that one may look while a run is going on,
or at a folder that may not be written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlcdr.errors import ResultsError
from mlcdr.results.store import refuse_others, started, this_host

State = Literal["running", "finished", "interrupted", "crashed", "unknown"]

_PATIENCE = 10.0  # seconds to wait for a run that is just writing


@dataclass(frozen=True)
class Run:
    """The last run that wrote a folder.

    `state`: `crashed` where its process is gone without a word, or an error ended it (`error`); `unknown` where it
    runs, or ran, on another machine (`host`).
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
    errors : dict
        (data set, method, traceback) → how many trials failed so.
    """

    folder: Path
    run: Run
    counts: tuple[Count, ...]
    costs: Mapping[str, float]
    errors: Mapping[tuple[str, str, str], int]

    def total(self, what: Literal["planned", "done", "failed", "crashed", "pending"]) -> int:
        """Of all data sets and methods."""
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
    path = _existing(folder)
    with reading(path) as db:
        if not _has(db, "planned") or not _has(db, "runs"):
            raise ResultsError(
                f"{path}: recorded by an older mlcdr, which kept no plan; "
                f"`mlcdr plan {folder / 'experiment.yaml'}` says what is there"
            )
        last = db.execute("SELECT process, jobs, started, ended, outcome FROM runs ORDER BY number DESC").fetchone()
        if last is None:
            raise ResultsError(f"{folder}: no run has begun here; `mlcdr run CONFIG` begins one")
        crashes = "key IN (SELECT key FROM crashes)" if _has(db, "crashes") else "0"
        counts = db.execute(
            "SELECT p.dataset, p.method, count(*), coalesce(sum(t.status = 'done'), 0), "
            f"coalesce(sum(t.status = 'failed'), 0), coalesce(sum(t.status = 'failed' AND {crashes}), 0) "
            "FROM planned p LEFT JOIN trials t USING (key) "
            "GROUP BY p.dataset, p.method ORDER BY min(p.position)"
        ).fetchall()
        errors = db.execute(
            "SELECT p.dataset, p.method, coalesce(t.error, ''), count(*) FROM planned p JOIN trials t USING (key) "
            "WHERE t.status = 'failed' GROUP BY p.dataset, p.method, t.error ORDER BY min(p.position)"
        ).fetchall()
        costs = _costs(db)
    refuse_others(path, "runs", [last], (str, int, str, str | None, str | None))
    refuse_others(path, "planned", counts, (str, str))
    refuse_others(path, "trials", [row[2:3] for row in errors], (str,))
    try:
        run = _run(*last)
    except ValueError:
        raise ResultsError(f"{path}: damaged: {last[0]!r} in its table `runs` is no process") from None
    return Progress(
        folder,
        run,
        tuple(Count(*row) for row in counts),
        costs,
        {(dataset, method, error): number for dataset, method, error, number in errors},
    )


def _run(process: str, jobs: int, begun: str, ended: str | None, outcome: str | None) -> Run:
    host, number, *start = process.split(" ")
    state: State
    error = ""
    if ended is None:
        state = "unknown"
        if host == this_host():
            state = "running" if _lives(int(number), "".join(start)) else "crashed"
    elif outcome in ("finished", "interrupted"):
        state = "finished" if outcome == "finished" else "interrupted"
    else:
        state, error = "crashed", " ".join(str(outcome).split())
    return Run(state, begun, ended or "", jobs, host, error)


def _lives(pid: int, start: str) -> bool:
    """Whether a process is there, and is the one that started at `start`, if that is known."""
    if start:
        return started(pid) == start
    if os.name != "posix":  # elsewhere to ask would be to kill
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
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
    path = folder / "trials.sqlite"
    if not path.exists():
        return Kept({}, {})
    with reading(path) as db:
        return Kept(dict(db.execute("SELECT key, status FROM trials").fetchall()), _costs(db))


def _costs(db: sqlite3.Connection) -> dict[str, float]:
    if not _has(db, "costs"):
        return {}
    return dict(db.execute("SELECT dataset, sum(seconds) / sum(trials) FROM costs GROUP BY dataset").fetchall())


def _has(db: sqlite3.Connection, table: str) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(db.execute(query, (table,)).fetchone()[0])


def _existing(folder: Path) -> Path:
    path = folder / "trials.sqlite"
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    if not path.is_file():
        raise ResultsError(f"{folder}: holds no trials.sqlite; it is no results folder that `mlcdr run` has written")
    return path


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A record of trials, read-only and as it is at this moment.

    Raises
    ------
    ResultsError
        When it cannot be read.
    """
    with contextlib.ExitStack() as stack:
        try:
            db = _opened(path)
            stack.callback(db.close)
            try:
                db.execute("BEGIN")
                db.execute("SELECT count(*) FROM trials").fetchone()  # from here on nothing changes for us
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or not _journal(path).is_file():
                    raise
                # A run was killed while it wrote, and who may not write cannot undo that: it is undone in a copy.
                place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                for each in (path, _journal(path)):
                    shutil.copyfile(each, place / each.name)
                db = sqlite3.connect(place / path.name, isolation_level=None)
                stack.callback(db.close)
            yield db
        except sqlite3.Error as error:
            raise ResultsError(f"{path}: cannot be read: {error}") from error


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=_PATIENCE)


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `5 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
