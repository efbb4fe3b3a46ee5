"""The record of a results folder, `trials.sqlite`: its three tables, and the only way in which it is opened.

The folder may come from a stranger, and SQLite trusts the files next to a record: it rolls back a journal, and deletes
the file that the journal names as its super-journal; it writes through a link of the journal's or the log's name; it
evaluates views. So a record is opened only when

- it is a regular file, in rollback mode, without a write-ahead log, and its journal is a regular file, too;
- it has our tables, exactly as they are made here, and nothing else; and its pages are whole.

Only a run opens a record for writing (`writing`); all else opens it read-only. So only a run rolls back the journal
that a killed run may have left, and it refuses one that names another file. What is read is then checked cell by cell
(`rows`). A record is created whole, under another name, so that a reader finds none or all of it.

A folder may have several records, `trials.sqlite` and, of the parts of a run, `trials.3-of-10.sqlite`; they are read
together. The plan is that of the run which was planned last in any of them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, Json, TypeAdapter, ValidationError

from mlcdr.errors import ResultsError
from mlcdr.results.part import RunPart, part_of
from mlcdr.whole_files import is_regular_file, make_temporary_path

NAME = "trials.sqlite"
"""The record of a run; that of a part of one is `record_name(part)`."""

PLACE = ("dataset", "method", "point", "split")
"""The columns of a trial's place, the same for any version of its method."""

_FORMAT = 2
_NO_LONGER = 1  # the format of nine tables
_APPLICATION = 0x6D6C6364  # "mlcd": SQLite's mark of the program that a file belongs to
_PATIENCE = 10.0  # seconds to wait for a run that is just writing
_ATTEMPTS = 10  # to open a record whose journal may be that of a transaction which has just ended
_LONGEST = 60.0  # seconds that reading may take
_OTHER_FILES = 500  # that a process may have open, without records
DONE, FAILED = "status = 'done'", "status = 'failed'"  # conditions of SQL
_MAGIC = bytes.fromhex("d9d505f920a163d7")  # with which a journal begins, and ends if it names a super-journal

# -------------------------------------------------------------------- what a record holds

Point = tuple[tuple[str, str], ...]
"""(config path, value as the config wrote it) of each swept, or tuned, parameter."""


def _as_pairs(mapping: dict[str, str]) -> Point:
    return tuple(mapping.items())


# A count, or a position: not negative, and of 31 bits.
_Number = Annotated[int, Field(ge=0, lt=2**31)]
# Less than three hundred years.
_Seconds = Annotated[float, Field(ge=0, lt=1e10)]
_Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
_Process = Annotated[str, Field(pattern=r"^\S+ [1-9][0-9]{0,8}( [0-9]{1,20})?$")]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Point = Annotated[Json[dict[str, str]], AfterValidator(_as_pairs)]
NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"


class _Column(NamedTuple):
    """How SQLite declares a column, and the type that its cells must have: SQLite stores any type in any column."""

    sql: str
    kind: Any


_TABLES: dict[str, dict[str, _Column]] = {
    "trials": {
        "key": _Column("TEXT PRIMARY KEY", str),
        "dataset": _Column("TEXT NOT NULL", str),
        "method": _Column("TEXT NOT NULL", str),
        "point": _Column("TEXT NOT NULL", _Point),  # of the swept parameters
        "split": _Column("INTEGER NOT NULL", _Number),
        "status": _Column("TEXT NOT NULL", Literal["done", "failed"]),
        "error": _Column("TEXT NOT NULL", str),  # the traceback of a failed trial
        # What ended its worker process: SIGKILL, exit 3; or the limit that was passed: seconds, memory.
        "crash": _Column("TEXT NOT NULL", str),
        "seconds": _Column("REAL", _Seconds | None),  # of one worker: its share of what its group took
        "recorded": _Column(f"TEXT NOT NULL DEFAULT ({NOW})", _Date),
        # JSON; null stands for what is not defined.
        "scores": _Column("TEXT NOT NULL", Json[dict[str, float | None]]),  # metric → value
        "chosen": _Column("TEXT NOT NULL", Json[dict[str, str]]),  # tuned path → value
        "tried": _Column("TEXT NOT NULL", Json[list[tuple[dict[str, str], float | None]]]),  # (point, criterion)
        "by_label": _Column("TEXT NOT NULL", Json[dict[str, list[_Finite | None]]]),  # metric → value of each label
    },
    "planned": {  # the trials of the last run's plan, in its order
        "position": _Column("INTEGER PRIMARY KEY", _Number),
        "key": _Column("TEXT NOT NULL", str),
        "dataset": _Column("TEXT NOT NULL", str),
        "method": _Column("TEXT NOT NULL", str),
    },
    "runs": {  # the runs that wrote here
        "number": _Column("INTEGER PRIMARY KEY", _Number),
        "process": _Column("TEXT NOT NULL", _Process),  # HOST PID START; of an older run without START
        "jobs": _Column("INTEGER NOT NULL", _Number),  # 0: it has no plan yet
        "started": _Column(f"TEXT NOT NULL DEFAULT ({NOW})", _Date),
        "ended": _Column("TEXT", _Date | None),  # NULL: it has not, or it was killed
        "outcome": _Column("TEXT", str | None),
    },
}


def _create_statement(table: str) -> str:
    columns = [f"{name} {column.sql}" for name, column in _TABLES[table].items()]
    return f"CREATE TABLE {table} ({', '.join(columns)})"


_SCHEMA = {table: _create_statement(table) for table in _TABLES}


def empty_record() -> sqlite3.Connection:
    """A connection to an empty record in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _make_tables(db)
    return db


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_FORMAT}")
    for statement in _SCHEMA.values():
        db.execute(statement)
    db.execute("COMMIT")


# -------------------------------------------------------------------- reading


class NoRecord(ResultsError):
    """There is no record in the folder."""


def fetch(db: sqlite3.Connection, path: Path, table: str, *columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    """Columns of those rows of a table that meet a condition (SQL), as they were written, whatever their cells are.

    Raises
    ------
    ResultsError
        When the file cannot be read.
    """
    with explain_errors(path, "cannot be read"):
        return db.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY rowid").fetchall()


def rows(db: sqlite3.Connection, path: Path, table: str, *columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    """What `fetch` gives, if every cell is of its column's type.

    Raises
    ------
    ResultsError
        When a cell is not; the message names the table.
    """
    kinds = tuple(_TABLES[table][column].kind for column in columns)
    found = fetch(db, path, table, *columns, where=where)
    try:
        return _type_of(kinds).validate_python(found, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        damaged = repr(first["input"])
        raise ResultsError(f"{path}: damaged: {damaged[:60]} in its table `{table}`") from None


@cache
def _type_of(kinds: tuple[Any, ...]) -> TypeAdapter[list[tuple[Any, ...]]]:
    return TypeAdapter(list[tuple[kinds]])  # type: ignore[valid-type]


def record_name(part: RunPart | None) -> str:
    """The name of the record that a run, or a part of one, writes."""
    return NAME if part is None else f"trials.{part.stem}.sqlite"


def list_records(folder: Path) -> list[Path]:
    """The records of a folder; a copy under a name of its own is none."""
    paths = sorted(folder.glob("trials*.sqlite"))
    return [path for path in paths if path.name == NAME or part_of(path)]


def read_plan(records: Sequence[tuple[Path, sqlite3.Connection]]) -> list[tuple[str, str, str]]:
    """Key, data set and method of the trials of the plan that was made last, in its order."""
    begun = []
    for path, db in records:
        runs = rows(db, path, "runs", "started", where="jobs > 0")
        begun.append((max((at for (at,) in runs), default=""), path, db))
    begun.sort(key=itemgetter(0))  # those of one second stay in the order of their records
    for _, path, db in reversed(begun):
        plan = rows(db, path, "planned", "key", "dataset", "method")
        if plan:
            return plan
    return []


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[list[tuple[Path, sqlite3.Connection]]]:
    """The records of a folder, read-only, as they are at one moment; a run may be writing them.

    Raises
    ------
    NoRecord
        When there is none.
    ResultsError
        When one is not a record that mlcdr made, it is damaged, or reading it takes more than a minute.
    """
    if not folder.is_dir():
        raise NoRecord(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    paths = list_records(folder)
    if not paths:
        raise NoRecord(f"{folder}: holds no {NAME}; no run has begun here, or one is just starting")
    _allow_open_files(len(paths))
    with contextlib.ExitStack() as stack:
        yield [(path, stack.enter_context(opened(path))) for path in paths]


def _allow_open_files(number: int) -> None:
    """Let this process have so many more files open, as far as the system lets it: often it has 1024, and parts are up
    to 9999.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = number + _OTHER_FILES
        if most != resource.RLIM_INFINITY:
            needed = min(needed, most)
        if now != resource.RLIM_INFINITY and now < needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction that has begun to read, in which nothing changes."""
    with explain_errors(path, "cannot be read"):
        db = _begin_to_read(path)
    with contextlib.closing(db):
        with explain_errors(path, "cannot be read"):
            _check_content(db, path)
        yield db


def _begin_to_read(path: Path) -> sqlite3.Connection:
    for _ in range(_ATTEMPTS):
        _check_files(path)
        address = f"{path.resolve().as_uri()}?mode=ro"
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_PATIENCE)
        try:
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            db.close()
            if "readonly" not in str(error):
                raise
            # A journal is to be rolled back, which only a writer may: a killed run left it, if it stays.
            time.sleep(0.05)
        else:
            return db
    journal = _file_of_sqlite(path, "-journal")
    raise ResultsError(f"{journal}: left by a run that was killed as it wrote; `mlcdr run` with its config heals it")


@contextlib.contextmanager
def explain_errors(path: Path, what: str) -> Iterator[None]:
    """Turn an error of SQLite, or of the file system, into one line for the user: `path: what: why`."""
    try:
        yield
    except UnicodeDecodeError as error:  # in SQLite's own message, which quotes the file
        raise ResultsError(f"{path}: damaged: it holds text that is not UTF-8") from error
    except sqlite3.Error as error:
        why = f"takes more than {_LONGEST:.0f} seconds" if str(error) == "interrupted" else error
        raise ResultsError(f"{path}: {what}: {why}") from error
    except OSError as error:
        raise ResultsError(f"{path}: {what}: {error.strerror or error}") from error


# -------------------------------------------------------------------- writing


def heal(path: Path) -> None:
    """Roll back the journal that a killed run has left beside another record; a run that is alive is waited for.

    Raises
    ------
    ResultsError
        As `writing`.
    """
    if _file_of_sqlite(path, "-journal").exists():
        writing(path).close()


def writing(path: Path, fresh: bool = False) -> sqlite3.Connection:
    """A connection to a record, made if there is none; for a run that holds its lock.

    A journal that a killed run has left is rolled back.

    Parameters
    ----------
    path : path
        The record.
    fresh : bool
        Replace what is there, whatever it is, by an empty record.

    Raises
    ------
    ResultsError
        When it is not a record that mlcdr made, it is damaged, or it cannot be written.
    """
    try:
        with explain_errors(path, "cannot be used as the record of trials"):
            if fresh or not _check_files(path):
                _create(path)
            _check_journal(path)
            return _connect(path)
    except ResultsError as error:
        raise ResultsError(f"{error}; --fresh starts a new one, --out chooses another folder") from error


def _connect(path: Path) -> sqlite3.Connection:
    # a reader may hold it as long as it may read
    db = sqlite3.connect(path, isolation_level=None, timeout=_LONGEST + _PATIENCE)
    try:
        _check_content(db, path)
        db.set_progress_handler(None, 0)
    except BaseException:
        db.close()
        raise
    return db


def _create(path: Path) -> None:
    """Put an empty record in the place of whatever is there."""
    temporary = make_temporary_path(path)
    try:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = MEMORY")
            _make_tables(db)
        others = [_file_of_sqlite(path, ending) for ending in ("-journal", "-wal", "-shm")]
        if any(map(os.path.lexists, others)):  # which would be rolled back into the new record
            path.unlink(missing_ok=True)
            for each in others:
                each.unlink(missing_ok=True)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# -------------------------------------------------------------------- what is opened


def _file_of_sqlite(path: Path, ending: str) -> Path:
    """A file of SQLite that belongs to a record."""
    return path.with_name(path.name + ending)


def _check_files(path: Path) -> bool:
    """Whether there is a file that SQLite may open: SQLite will touch no other file than it and its journal.

    Raises
    ------
    ResultsError
        When there is a file that it may not open.
    """
    for ending in ("-wal", "-shm"):
        other = _file_of_sqlite(path, ending)
        if os.path.lexists(other):
            raise ResultsError(f"{other}: no file of a record that mlcdr made; remove it")
    is_regular_file(_file_of_sqlite(path, "-journal"))
    if not is_regular_file(path):
        return False
    with path.open("rb") as file:
        header = file.read(20)
    if header.startswith(b"SQLite format 3\0") and header[18:20] != b"\x01\x01":
        raise ResultsError(f"{path}: not a record of trials made by mlcdr: it has a write-ahead log")
    return True


def _check_journal(path: Path) -> None:
    """Refuse a journal that mlcdr does not write: rolling it back would delete another file, or fill the disk.

    Raises
    ------
    ResultsError
    """
    journal = _file_of_sqlite(path, "-journal")
    try:
        with journal.open("rb") as file:
            header = file.read(28)
            file.seek(-min(len(_MAGIC), os.fstat(file.fileno()).st_size), os.SEEK_END)
            end = file.read()
    except FileNotFoundError:  # as where a part that is alive has just ended its transaction
        return
    if end == _MAGIC and len(header) == 28:
        raise ResultsError(
            f"{journal}: names another file, which SQLite would delete; mlcdr writes no such journal; remove it"
        )
    # Where a header is whole: the pages that the record had before, and their size.
    pages = int.from_bytes(header[16:20], "big")
    size = int.from_bytes(header[24:28], "big")
    if header.startswith(_MAGIC) and pages * size > path.stat().st_size:
        raise ResultsError(f"{journal}: makes the record larger; mlcdr writes no such journal; remove it")


def _check_content(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a record unless it has our tables, nothing else, and whole pages; limit the time of reading from it.

    Raises
    ------
    ResultsError
    """
    end = time.monotonic() + _LONGEST
    db.set_progress_handler(lambda: time.monotonic() > end, 100_000)
    db.execute("PRAGMA trusted_schema = OFF")  # no functions in the file's schema
    db.execute("PRAGMA cell_size_check = ON")
    if db.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
        raise ResultsError(f"{path}: not a record of trials made by mlcdr")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == _NO_LONGER:
        raise NoRecord(f"{path}: recorded by an older mlcdr, whose records are no longer read")
    if version != _FORMAT:
        raise ResultsError(f"{path}: written by another version of mlcdr")
    index = "sqlite_autoindex_trials_1"  # of its primary key
    found = {name: sql for name, sql in db.execute("SELECT name, sql FROM sqlite_master") if name != index}
    if found != _SCHEMA:
        raise ResultsError(f"{path}: damaged: its tables are not as mlcdr makes them")
    damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise ResultsError(f"{path}: damaged ({damage.splitlines()[-1]})")
