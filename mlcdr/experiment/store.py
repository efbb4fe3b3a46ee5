"""The memory of a results folder: every finished trial in one SQLite file, each group of them in one transaction.

Whatever ends a run, what was recorded stays and nothing is recorded twice: a trial's row and its scores are written
together or not at all, by the one process that holds the folder's lock.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
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

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    key      TEXT PRIMARY KEY,
    dataset  TEXT NOT NULL,
    method   TEXT NOT NULL,
    point    TEXT NOT NULL,              -- JSON: swept path → value as the config wrote it
    split    INTEGER NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error    TEXT,                       -- the traceback of a failed trial
    recorded TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (
    key    TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value  REAL,                         -- NULL: not defined for this method
    PRIMARY KEY (key, metric)
) WITHOUT ROWID;
"""


class Store:
    """The trials of one results folder; a context manager that holds the folder's lock.

    Parameters
    ----------
    folder : path
        The results folder; made if it is not there.

    Raises
    ------
    ResultsError
        When the folder cannot be written, another run is writing it, or its `trials.sqlite` is not ours.
    """

    def __init__(self, folder: Path):
        self.path = folder / "trials.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / ".lock").open("w")
        except OSError as error:
            raise ResultsError(f"{folder}: cannot be written: {error.strerror}") from None
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                raise ResultsError(
                    f"{folder}: another run is writing this folder; wait for it or choose --out"
                ) from None
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None)
            self._db.execute("PRAGMA foreign_keys = ON")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise ResultsError(f"{self.path}: written by another version of mlcdr; use --fresh or another --out")
            self._db.executescript(_SCHEMA)
            self._db.execute(f"PRAGMA user_version = {_FORMAT}")
        except sqlite3.Error as error:
            self._lock.close()
            raise ResultsError(f"{self.path}: cannot be used as the record of trials: {error}") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        self._lock.close()

    def forget(self) -> None:
        """Drop every trial (`--fresh`)."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM trials")
        self._db.execute("COMMIT")

    def done(self) -> set[str]:
        """Keys of the trials that have their scores (failed ones are tried again)."""
        return {key for (key,) in self._db.execute("SELECT key FROM trials WHERE status = 'done'")}

    def record(self, trials: Mapping[str, Trial], scores: Iterable[Score]) -> None:
        """Write the outcome of one group in one transaction.

        Raises
        ------
        ResultsError
            When the file cannot be written (a full disk, say); nothing of the group is kept then.
        """
        rows: list[tuple[Any, ...]] = []
        values: list[tuple[Any, ...]] = []
        for score in scores:
            trial = trials[score.key]
            status = "failed" if score.values is None else "done"
            point = json.dumps(dict(trial.point), ensure_ascii=False)
            rows.append((score.key, trial.dataset, trial.method, point, trial.split, status, score.error))
            for metric, value in (score.values or {}).items():
                values.append((score.key, metric, None if math.isnan(value) else value))
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("DELETE FROM trials WHERE key = ?", [row[:1] for row in rows])
                self._db.executemany(
                    "INSERT INTO trials (key, dataset, method, point, split, status, error) VALUES (?,?,?,?,?,?,?)",
                    rows,
                )
                self._db.executemany("INSERT INTO scores (key, metric, value) VALUES (?,?,?)", values)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: cannot record results: {error}") from error

    def scores(self, keys: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of finished trials among `keys`: key → metric → value (None: not defined)."""
        wanted = set(keys)
        found: dict[str, dict[str, float | None]] = {}
        query = "SELECT key, metric, value FROM scores JOIN trials USING (key) WHERE status = 'done'"
        for key, metric, value in self._db.execute(query):
            if key in wanted:
                found.setdefault(key, {})[metric] = value
        return found

    def failures(self, keys: Sequence[str]) -> dict[str, str]:
        """The tracebacks of failed trials among `keys`."""
        wanted = set(keys)
        query = "SELECT key, error FROM trials WHERE status = 'failed'"
        return {key: error for key, error in self._db.execute(query) if key in wanted}
