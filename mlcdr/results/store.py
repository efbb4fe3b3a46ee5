"""The memory of a results folder: every finished trial in one SQLite file, each group of them in one transaction.

Whatever ends a run, what was recorded stays and nothing is recorded twice: a trial's row and its scores are written
together or not at all, by the one process that holds the folder's lock.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mlcdr.errors import ResultsError
from mlcdr.experiment.trials import Score, Trial

try:
    import fcntl
except ImportError:  # no such lock on this system: the second of two runs at once waits for SQLite's own
    fcntl = None  # type: ignore[assignment]

_FORMAT = 1
_APPLICATION = 0x6D6C6364  # "mlcd": SQLite's mark of the program that a file belongs to

_SCHEMA = """
CREATE TABLE trials (
    key      TEXT PRIMARY KEY,
    dataset  TEXT NOT NULL,
    method   TEXT NOT NULL,
    point    TEXT NOT NULL,              -- JSON: swept path → value as the config wrote it
    split    INTEGER NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error    TEXT,                       -- the traceback of a failed trial
    recorded TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) WITHOUT ROWID;
CREATE TABLE scores (
    key    TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value  REAL,                         -- NULL: not defined for this method
    PRIMARY KEY (key, metric)
) WITHOUT ROWID;
"""
_LATER = """
CREATE TABLE IF NOT EXISTS choices (         -- parameters that a trial tuned
    key   TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    path  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS planned (         -- the trials of the last run's plan, in its order
    position INTEGER PRIMARY KEY,
    key      TEXT NOT NULL UNIQUE,
    dataset  TEXT NOT NULL,
    method   TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (            -- who wrote here
    number  INTEGER PRIMARY KEY,
    process TEXT NOT NULL,                   -- see `this_process`
    jobs    INTEGER NOT NULL,
    started TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    ended   TEXT,                            -- NULL: it has not, or it was killed
    outcome TEXT
);
CREATE TABLE IF NOT EXISTS crashes (         -- failed trials that ended their worker process
    key   TEXT PRIMARY KEY REFERENCES trials (key) ON DELETE CASCADE,
    cause TEXT NOT NULL                      -- SIGKILL, exit 3; or the limit that was passed: seconds, memory
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS costs (           -- seconds of one worker for each recorded group
    dataset TEXT NOT NULL,
    trials  INTEGER NOT NULL,
    seconds REAL NOT NULL
);
"""

Place = tuple[str, str, str, int]
"""Of a trial, whatever its method's version: data set, method, point (JSON), split."""


def place(trial: Trial) -> Place:
    """Where a trial stands in an experiment."""
    return trial.dataset, trial.method, json.dumps(dict(trial.point), ensure_ascii=False), trial.split


def this_process() -> str:
    """`HOST PID START`: what tells whether the process that wrote it still lives (`START` only where /proc says it)."""
    return f"{this_host()} {os.getpid()} {started(os.getpid())}".rstrip()


def this_host() -> str:
    """The machine's name, in one word."""
    return "-".join(platform.node().split()) or "localhost"


def started(pid: int) -> str:
    """When a process was started, in the system's own ticks, so that a number used again is not taken for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
    except (OSError, IndexError):
        return ""


class Store:
    """The trials of one results folder; a context manager that holds the folder's lock.

    Parameters
    ----------
    folder : path
        The results folder; made if it is not there.
    fresh : bool
        Start with an empty record, whatever is there, even if it is damaged.

    Raises
    ------
    ResultsError
        When the folder cannot be written, another run is writing it, or its `trials.sqlite` is damaged or not ours.
    """

    def __init__(self, folder: Path, fresh: bool = False):
        self.path = folder / "trials.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / ".lock").open("w")
        except OSError as error:
            raise ResultsError(f"{folder}: cannot be written: {error.strerror}") from None
        try:
            self._take_lock(folder)
            if fresh:
                self._remove()
            self._db = self._open()
        except BaseException:
            self._lock.close()
            raise
        self._run: int | None = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None and error is not None:
            with contextlib.suppress(ResultsError):  # the disk that is full is what is told
                self.end(f"{kind.__name__ if kind else ''}: {error}")
        self._db.close()
        self._lock.close()

    def begin(self, trials: Mapping[str, Trial], jobs: int) -> None:
        """Write down that a run of these trials begins, for those who look at the folder meanwhile."""
        rows = [(i, trial.key, trial.dataset, trial.method) for i, trial in enumerate(trials.values())]
        with self._told("cannot record the plan"), self._transaction():
            self._db.execute("DELETE FROM planned")
            self._db.executemany("INSERT INTO planned (position, key, dataset, method) VALUES (?,?,?,?)", rows)
            cursor = self._db.execute("INSERT INTO runs (process, jobs) VALUES (?,?)", (this_process(), jobs))
            self._run = cursor.lastrowid

    def end(self, outcome: str) -> None:
        """Write down how the run ended (`finished`, `interrupted`, or an error)."""
        when = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
        with self._told("cannot record the end of the run"):
            self._db.execute(f"UPDATE runs SET ended = {when}, outcome = ? WHERE number = ?", (outcome, self._run))
        self._run = None

    def _take_lock(self, folder: Path) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"{folder}: another run is writing this folder; wait for it or choose --out") from None
        except OSError:  # a file system without locks is as a system without them
            pass

    def _remove(self) -> None:
        try:
            for path in (self.path, self.path.with_name(f"{self.path.name}-journal")):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be removed: {error.strerror}") from None

    def _open(self) -> sqlite3.Connection:
        """The connection to our file, made if there is none, its pages checked."""
        way_out = "--fresh starts a new one, --out chooses another folder"
        with self._told("cannot be used as the record of trials", f"; {way_out}"):
            db = sqlite3.connect(self.path, isolation_level=None)
            try:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_FORMAT};"
                    db.executescript(f"BEGIN IMMEDIATE; {marks} {_SCHEMA} COMMIT;")
                elif db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                    raise ResultsError(f"{self.path}: not a record of trials made by mlcdr; {way_out}")
                elif db.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                    raise ResultsError(f"{self.path}: written by another version of mlcdr; {way_out}")
                damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
                if damage != "ok":
                    raise ResultsError(f"{self.path}: damaged ({damage.splitlines()[-1]}); {way_out}")
                db.execute("PRAGMA foreign_keys = ON")
                db.executescript(_LATER)  # older records have not all of them
            except BaseException:
                db.close()
                raise
        return db

    @contextlib.contextmanager
    def _told(self, what: str, way_out: str = "") -> Iterator[None]:
        """Turn an error of SQLite into one line for the user."""
        try:
            yield
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: {what}: {error}{way_out}") from error

    def done(self) -> set[str]:
        """Keys of the trials that have their scores (failed ones are tried again)."""
        with self._told("cannot be read"):
            return {key for (key,) in self._db.execute("SELECT key FROM trials WHERE status = 'done'")}

    def failed_places(self) -> set[Place]:
        """Where trials failed, whatever version of a method it was: (data set, method, point, split)."""
        query = "SELECT dataset, method, point, split FROM trials WHERE status = 'failed'"
        with self._told("cannot be read"):
            return set(self._db.execute(query).fetchall())

    def crashed_places(self) -> set[Place]:
        """As `failed_places`, of those that ended their worker process."""
        query = "SELECT dataset, method, point, split FROM trials JOIN crashes USING (key)"
        with self._told("cannot be read"):
            return set(self._db.execute(query).fetchall())

    def record(
        self, trials: Mapping[str, Trial], scores: Iterable[Score], seconds: float | None = None, crashed: str = ""
    ) -> None:
        """Write the outcome of one group, and the seconds that it took a worker, in one transaction.

        `crashed` is what ended the worker, if that is the outcome.

        Raises
        ------
        ResultsError
            When the file cannot be written (a full disk, say); nothing of the group is kept then.
        """
        rows: list[tuple[Any, ...]] = []
        values: list[tuple[Any, ...]] = []
        choices: list[tuple[Any, ...]] = []
        for score in scores:
            trial = trials[score.key]
            status = "failed" if score.values is None else "done"
            rows.append((score.key, *place(trial), status, score.error))
            for metric, value in (score.values or {}).items():
                values.append((score.key, metric, None if math.isnan(value) else value))
            choices += [(score.key, path, value) for path, value in score.chosen]
        with self._told("cannot record results"), self._transaction():
            self._db.executemany("DELETE FROM trials WHERE key = ?", [row[:1] for row in rows])
            self._db.executemany(
                "INSERT INTO trials (key, dataset, method, point, split, status, error) VALUES (?,?,?,?,?,?,?)", rows
            )
            self._db.executemany("INSERT INTO scores (key, metric, value) VALUES (?,?,?)", values)
            self._db.executemany("INSERT INTO choices (key, path, value) VALUES (?,?,?)", choices)
            if crashed:
                self._db.executemany(
                    "INSERT INTO crashes (key, cause) VALUES (?,?)", [(row[0], crashed) for row in rows]
                )
            elif seconds is not None and rows:
                cost = (rows[0][1], len(rows), seconds)
                self._db.execute("INSERT INTO costs (dataset, trials, seconds) VALUES (?,?,?)", cost)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a signal may come when COMMIT is just done
                self._db.execute("ROLLBACK")
            raise

    def scores(self, keys: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of finished trials among `keys`: key → metric → value (None: not defined)."""
        wanted = set(keys)
        found: dict[str, dict[str, float | None]] = {}
        query = "SELECT key, metric, value FROM scores JOIN trials USING (key) WHERE status = 'done'"
        with self._told("cannot be read"):
            for key, metric, value in self._db.execute(query):
                if key in wanted:
                    refuse_others(self.path, "scores", [(value,)], (float | None,))
                    found.setdefault(key, {})[metric] = value
        return found

    def choices(self, keys: Sequence[str]) -> dict[str, dict[str, str]]:
        """What finished trials among `keys` tuned: key → path → value, as a config would write it."""
        wanted = set(keys)
        found: dict[str, dict[str, str]] = {}
        with self._told("cannot be read"):
            for key, path, value in self._db.execute("SELECT key, path, value FROM choices JOIN trials USING (key)"):
                if key in wanted:
                    refuse_others(self.path, "choices", [(value,)], (str,))
                    found.setdefault(key, {})[path] = value
        return found

    def failures(self, keys: Sequence[str]) -> dict[str, str]:
        """The tracebacks of failed trials among `keys`, in their order."""
        query = "SELECT key, error FROM trials WHERE status = 'failed'"
        with self._told("cannot be read"):
            found = dict(self._db.execute(query).fetchall())
        refuse_others(self.path, "trials", [(error,) for error in found.values()], (str,))
        return {key: found[key] for key in keys if key in found}


@dataclass(frozen=True)
class Failure:
    """A failed trial as it is on record: where it stands, its traceback, and when that was (UTC)."""

    dataset: str
    method: str
    point: tuple[tuple[str, str], ...]
    split: int
    error: str
    recorded: str


def refuse_others(path: Path, table: str, rows: Iterable[Sequence[Any]], kinds: Sequence[Any]) -> None:
    """Refuse values that are not of their columns' kinds: SQLite takes such, if it is not we who write them.

    Raises
    ------
    ResultsError
        At the first one.
    """
    for row in rows:
        for value, kind in zip(row, kinds, strict=False):
            if not isinstance(value, kind):
                raise ResultsError(f"{path}: damaged: {value!r} in its table `{table}`")


def read_failures(folder: Path) -> list[Failure]:
    """The failed trials on record, without the folder's lock and without writing anything: a run may be going on.

    A method that was edited has trials of its own before and after; of those with the same data set, method, point and
    split only the latest counts.

    Raises
    ------
    ResultsError
        When there is no `trials.sqlite`, or it cannot be read.
    """
    path = folder / "trials.sqlite"
    if not path.is_file():
        raise ResultsError(f"{path}: missing; which trials failed is not known")
    # Beside max(), SQLite takes the other columns from the row that has it. Of two in a second, the failed one counts.
    query = """
        SELECT dataset, method, point, split, error, recorded FROM (
            SELECT *, max(recorded || (status = 'failed')) FROM trials GROUP BY dataset, method, point, split
        ) WHERE status = 'failed' ORDER BY dataset, method, point, split
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                return []  # a record not yet begun
            if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                raise ResultsError(f"{path}: not a record of trials made by mlcdr")
            damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise ResultsError(f"{path}: damaged ({damage.splitlines()[-1]})")
            rows = db.execute(query).fetchall()
        refuse_others(path, "trials", rows, (str, str, str, int, str | None, str))
        points = [json.loads(row[2]) for row in rows]
        refuse_others(path, "trials", [(point,) for point in points], (dict,))
        refuse_others(path, "trials", [(value,) for point in points for value in point.values()], (str,))
        return [
            Failure(d, m, tuple(point.items()), s, e or "", r)
            for (d, m, _, s, e, r), point in zip(rows, points, strict=True)
        ]
    except (sqlite3.Error, ValueError) as error:
        killed = path.with_name(f"{path.name}-journal").exists()
        mend = "; the run that wrote it was killed, and the next one mends it" if killed else ""
        raise ResultsError(f"{path}: cannot be read: {error}{mend}") from error
