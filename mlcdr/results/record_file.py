"""The file `trials.sqlite` of a results folder: its tables, and the only way in which it is opened.

The folder may come from a stranger, and SQLite trusts the files next to a record: it rolls back a journal, and deletes
the file that the journal names as its super-journal; it writes through a link of the journal's or the log's name; it
evaluates views. So a record is opened only when

- it is a regular file, in rollback mode, without a write-ahead log, and its journal is a regular file, too;
- a journal that a killed run left is rolled back in a copy, and only if it names no other file;
- it has our tables, exactly as they are made here, and nothing else; and its pages are whole.

What is read is then checked cell by cell (`rows`). A record is created whole, under another name, so that a reader
finds none or all of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from mlcdr.errors import ResultsError
from mlcdr.whole_files import TEMPORARY_PREFIX, is_regular_file, make_temporary_path

NAME = "trials.sqlite"

_FORMAT = 1
_APPLICATION = 0x6D6C6364  # "mlcd": SQLite's mark of the program that a file belongs to
_PATIENCE = 10.0  # seconds to wait for a run that is just writing
_LONGEST = 60.0  # seconds that reading may take
_MAGIC = bytes.fromhex("d9d505f920a163d7")  # with which a journal begins, and ends if it names a super-journal
_WAY_OUT = "--fresh starts a new one, --out chooses another folder"

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
CREATE TABLE choices (                   -- parameters that a trial tuned
    key   TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    path  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key, path)
) WITHOUT ROWID;
CREATE TABLE tried (                     -- the points of a trial's search
    key    TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    point  TEXT NOT NULL,                -- JSON: tuned path → value as the config would write it
    value  REAL,                         -- of the criterion; NULL: it could not be fitted and measured
    PRIMARY KEY (key, number)
) WITHOUT ROWID;
CREATE TABLE label_scores (              -- metrics of each label by itself
    key    TEXT NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    scores TEXT NOT NULL,                -- JSON: a number for each label; null: not defined
    PRIMARY KEY (key, metric)
) WITHOUT ROWID;
CREATE TABLE planned (                   -- the trials of the last run's plan, in its order
    position INTEGER PRIMARY KEY,
    key      TEXT NOT NULL UNIQUE,
    dataset  TEXT NOT NULL,
    method   TEXT NOT NULL
);
CREATE TABLE runs (                      -- the runs that wrote here
    number  INTEGER PRIMARY KEY,
    process TEXT NOT NULL,               -- HOST PID START
    jobs    INTEGER NOT NULL,            -- 0: it has no plan yet
    started TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    ended   TEXT,                        -- NULL: it has not, or it was killed
    outcome TEXT
);
CREATE TABLE crashes (                   -- failed trials that ended their worker process
    key   TEXT PRIMARY KEY REFERENCES trials (key) ON DELETE CASCADE,
    cause TEXT NOT NULL                  -- SIGKILL, exit 3; or the limit that was passed: seconds, memory
) WITHOUT ROWID;
CREATE TABLE costs (                     -- seconds of one worker for each recorded group
    dataset TEXT NOT NULL,
    trials  INTEGER NOT NULL,
    seconds REAL NOT NULL
);
"""


def empty_record() -> sqlite3.Connection:
    """A connection to an empty record in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(_SCHEMA)
    return db


def _bare(sql: str | None) -> str:
    """A statement without comments and line ends, for comparing."""
    return " ".join(re.sub("--.*", "", sql or "").split())


def _made_here() -> dict[tuple[str, str], str]:
    """(`table` or `index`, name) → statement, as SQLite has them of a record that is made here."""
    with contextlib.closing(empty_record()) as db:
        return {(kind, name): sql for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master")}


_OURS = _made_here()
_FIRST = ("trials", "scores")  # the tables that even the oldest records have


class NoRecord(ResultsError):
    """There is no record in the folder, or none yet."""


# -------------------------------------------------------------------- opening


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """The record of a folder, read-only and as it is at this moment; a run may be writing it.

    Tables that an older record lacks are there, empty, in SQLite's schema `temp`.

    Raises
    ------
    NoRecord
        When there is none, or none yet.
    ResultsError
        When it is not a record that mlcdr made, it is damaged, or reading it takes more than a minute.
    """
    path = folder / NAME
    with contextlib.ExitStack() as stack, explain_errors(path, "cannot be read"):
        db = _connected(path, stack)
        if _is_empty(db):
            raise NoRecord(f"{path}: holds nothing yet; a run is just starting here, or was ended as it started")
        for sql in _missing(db, path):
            db.execute(sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        yield db


def _connected(path: Path, stack: contextlib.ExitStack) -> sqlite3.Connection:
    """A connection in a transaction that has begun to read; closed by `stack`."""
    end = time.monotonic() + _PATIENCE
    seen: tuple[int, ...] | None = None
    killed = False
    while True:
        if not _is_safe(path):
            raise NoRecord(
                f"{path.parent}: holds no {NAME}; no run has begun here, or one is just starting"
                if path.parent.is_dir()
                else f"{path.parent}: no such results folder; `mlcdr run CONFIG` makes one"
            )
        try:
            if killed:
                return _begun(_rolled_back(path, Path(stack.enter_context(tempfile.TemporaryDirectory()))), stack)
            return _begun(f"{path.resolve().as_uri()}?mode=ro", stack)
        except (FileNotFoundError, sqlite3.OperationalError) as error:
            there = path.exists() and "readonly" not in str(error)
            if (isinstance(error, sqlite3.Error) and there) or time.monotonic() > end:
                raise
            # A journal is to be rolled back, which only a writer may: a killed run left it, if it stays as it is. Else
            # a run removed it, or put another record here, while the record was being opened.
            before, seen = seen, _identity(_journal(path))
            killed = seen is not None and seen == before
            time.sleep(0.02)


def _begun(place: Path | str, stack: contextlib.ExitStack) -> sqlite3.Connection:
    uri = place if isinstance(place, str) else place.as_uri()
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE)
    with contextlib.ExitStack() as closing:
        closing.callback(db.close)
        _guard(db)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on nothing changes for us
        stack.push(closing.pop_all())
    return db


def writing(folder: Path, fresh: bool = False) -> sqlite3.Connection:
    """A connection to the record of a folder, made if there is none; for the one process that holds the folder's lock.

    Parameters
    ----------
    folder : path
    fresh : bool
        Replace what is there, whatever it is, by an empty record.

    Raises
    ------
    ResultsError
        When it is not a record that mlcdr made, it is damaged, or it cannot be written.
    """
    path = folder / NAME
    with explain_errors(path, "cannot be used as the record of trials", _WAY_OUT):
        if not fresh and _is_safe(path) and os.path.lexists(_journal(path)):
            _mend(path)
        if fresh or not _is_safe(path) or not path.stat().st_size:  # empty: an older mlcdr was killed as it began
            _create(path)
        db = sqlite3.connect(path, isolation_level=None)
        try:
            _guard(db)
            missing = _missing(db, path)
            db.set_progress_handler(None, 0)
            db.execute("PRAGMA foreign_keys = ON")
            if missing:
                db.executescript(f"BEGIN IMMEDIATE; {'; '.join(missing)}; COMMIT;")
        except BaseException:
            db.close()
            raise
    return db


@contextlib.contextmanager
def explain_errors(path: Path, what: str, way_out: str = "") -> Iterator[None]:
    """Turn an error of SQLite, or of the file system, into one line for the user: `path: what: why; way out`."""
    end = f"; {way_out}" if way_out else ""
    try:
        yield
    except ResultsError as error:
        if not way_out or str(error).endswith(way_out):
            raise
        raise ResultsError(f"{error}{end}") from error
    except UnicodeDecodeError as error:  # in SQLite's own message, which quotes the file
        raise ResultsError(f"{path}: damaged: it holds text that is not UTF-8{end}") from error
    except (sqlite3.Error, OSError) as error:
        slow = f"takes more than {_LONGEST:.0f} seconds" if str(error) == "interrupted" else ""
        raise ResultsError(f"{path}: {what}: {slow or getattr(error, 'strerror', None) or error}{end}") from error


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _is_safe(path: Path) -> bool:
    """Whether there is a file that SQLite may open: SQLite will touch no other file than it and its journal.

    Raises
    ------
    ResultsError
        When there is a file that it may not open.
    """
    for ending in ("-wal", "-shm"):
        if os.path.lexists(path.with_name(path.name + ending)):
            raise ResultsError(f"{path.with_name(path.name + ending)}: no file of a record that mlcdr made; remove it")
    is_regular_file(_journal(path))
    if not is_regular_file(path):
        return False
    with path.open("rb") as file:
        header = file.read(20)
    if header.startswith(b"SQLite format 3\0") and header[18:20] != b"\x01\x01":
        raise ResultsError(f"{path}: not a record of trials made by mlcdr: it has a write-ahead log")
    return True


def _guard(db: sqlite3.Connection) -> None:
    """Forbid functions in the file's schema, have its pages checked, and limit the time of reading."""
    end = time.monotonic() + _LONGEST
    db.set_progress_handler(lambda: time.monotonic() > end, 100_000)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")


def _is_empty(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def _missing(db: sqlite3.Connection, path: Path) -> list[str]:
    """The statements that make the tables of ours that a record lacks, if all that it has is ours and whole.

    Raises
    ------
    ResultsError
        When it is not.
    """
    if db.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
        raise ResultsError(f"{path}: not a record of trials made by mlcdr")
    if db.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
        raise ResultsError(f"{path}: written by another version of mlcdr")
    found = {(kind, name): sql for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master")}
    for each, sql in found.items():
        if each not in _OURS or _bare(sql) != _bare(_OURS[each]):
            raise ResultsError(f"{path}: damaged: its {each[0]} `{each[1]}` is not as mlcdr makes it")
    for name in _FIRST:
        if ("table", name) not in found:
            raise ResultsError(f"{path}: damaged: no such table: {name}")
    damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise ResultsError(f"{path}: damaged ({damage.splitlines()[-1]})")
    return [sql for each, sql in _OURS.items() if each[0] == "table" and each not in found]


# -------------------------------------------------------------------- making, and rolling back


def _create(path: Path) -> None:
    """Put an empty record in the place of whatever is there."""
    temporary = make_temporary_path(path)
    try:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as db:
            marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_FORMAT};"
            db.executescript(f"PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; {marks} {_SCHEMA} COMMIT;")
        others = [path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm")]
        if any(map(os.path.lexists, others)):  # which would be rolled back into the new record
            path.unlink(missing_ok=True)
            for each in others:
                each.unlink(missing_ok=True)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _rolled_back(path: Path, place: Path) -> Path:
    """A copy of a record below `place` in which the journal that a killed run left is rolled back.

    Raises
    ------
    ResultsError
        When the journal names another file, or a process is just writing one of them.
    FileNotFoundError
        When one of them is gone.
    """
    copy = place / path.name
    both = (path, _journal(path))
    before = [_identity(each) for each in both]
    limit = 2 * path.stat().st_size + 2**20  # a journal has each page of the record once, and headers
    if _journal(path).stat().st_size > limit:
        raise ResultsError(f"{_journal(path)}: larger than the journal of this record can be; remove it")
    for each in both:
        shutil.copyfile(each, place / each.name)
    if before != [_identity(each) for each in both]:
        raise FileNotFoundError(f"{path}: has changed while it was read")  # a run has begun here
    if _journal(copy).read_bytes()[-len(_MAGIC) :] == _MAGIC:
        raise ResultsError(
            f"{_journal(path)}: names another file, which SQLite would delete; mlcdr writes no such journal; remove it"
        )
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        _guard(db)
        _is_empty(db)
    if copy.stat().st_size > limit:  # to undo what was written restores the old size, which is about this one
        raise ResultsError(f"{_journal(path)}: makes the record larger; mlcdr writes no such journal; remove it")
    return copy


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Facts of a file that change when it is written; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _mend(path: Path) -> None:
    """Undo what a killed run has left half written; being killed during this does no harm."""
    with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=path.parent) as place:
        copy = _rolled_back(path, Path(place))
        _is_safe(copy)
        with copy.open("rb+") as file:
            os.fsync(file.fileno())
        shutil.copymode(path, copy)
        copy.replace(path)
    _journal(path).unlink(missing_ok=True)


# -------------------------------------------------------------------- reading


# What a column of ours can hold, as types.

Text = str
Number = Annotated[int, Field(ge=0, lt=2**31)]
"""A count, or a position: not negative, and of 31 bits."""
Count = Annotated[int, Field(gt=0, lt=2**31)]
Seconds = Annotated[float, Field(ge=0, lt=1e10)]
"""Less than three hundred years."""
Score = float | None
"""NULL where a metric is not defined."""
_VALUE = r"(null|-?[0-9]{1,20}(\.[0-9]{1,30})?(e[-+]?[0-9]{1,3})?)"
Numbers = Annotated[str, Field(pattern=rf"^\[({_VALUE}(, {_VALUE})*)?\]$")]
"""A list of numbers, with null where one is not defined, as JSON."""
Status = Literal["done", "failed"]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
"""A time as this module's tables have it."""
Process = Annotated[str, Field(pattern=r"^\S+ [1-9][0-9]{0,8}( [0-9]{1,20})?$")]
"""`HOST PID START`, or `HOST PID`."""


def rows(db: sqlite3.Connection, path: Path, table: str, query: str, *kinds: Any) -> list[tuple[Any, ...]]:
    """What a query finds, if every cell is of its column's type: SQLite stores any type in any column.

    Raises
    ------
    ResultsError
        When a cell is not; the message names `table`.
    """
    try:
        return _type_of(kinds).validate_python(db.execute(query).fetchall(), strict=True)
    except ValidationError as error:
        damaged = error.errors(include_url=False, include_context=False)[0]["input"]
        raise ResultsError(f"{path}: damaged: {shown(damaged)} in its table `{table}`") from None


@cache
def _type_of(kinds: tuple[Any, ...]) -> TypeAdapter[list[tuple[Any, ...]]]:
    return TypeAdapter(list[tuple[kinds]])  # type: ignore[valid-type]


def shown(value: Any) -> str:
    """A value for a message, cut off where it is long."""
    whole = repr(value)
    return whole if len(whole) <= 60 else f"{whole[:57]}…"
