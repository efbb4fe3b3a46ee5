"""Whatever became of the files of a results folder, each command reads them, or says what is wrong in its own words."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlcdr import cli
from mlcdr.experiment.loading import experiment_yaml
from tests import small
from tests.fuzz.readers import edited
from tests.fuzz.test_readers import EDIT, RESULTS_FOLDERS, SHARES

FILES = [
    *("trials.sqlite", "manifest.json", "scores.csv", "summary.csv", "experiment.yaml"),
    *("kept/index.csv", "MODEL", "kept/SCORES"),
]
COMMANDS = ["status", "status", "status", "table", "compare", "predict", "predict", "retry", "report"]
WORDS = ["", "x", "-1", "1e999", "nan", "\0", "9" * 25, "{", "[]", "[[1]]", '{"a": 1}', "null", "../..", "<b>", None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with models and scores kept, and failed trials."""
    folder = tmp_path_factory.mktemp("results")
    arff = small.write_dataset(folder / "data", n=40)
    methods = {"PLST": small.FOUR["PLST"], "Bad": {"learner": "tests.small.Failing"}}
    splits = {"kind": "shuffle", "repeats": 2, "train_size": 0.75, "seed": 1}
    keep = {"scores": True, "models": True}
    experiment = small.experiment(arff, methods=methods, splits=splits, keep=keep)
    (folder / "e.yaml").write_text(experiment_yaml(experiment))
    code, errors = typed(["run", str(folder / "e.yaml"), "--out", str(folder), "-j", "1", "-q"])
    assert code == 1, errors  # those that fail
    return folder / "small"


def typed(words: list[str]) -> tuple[int, str]:
    """Exit code and standard error of a command in this process."""
    err = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["mlcdr", *words]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return ended.value.code or 0, err.getvalue()  # type: ignore[return-value]


def found(folder: Path, name: str) -> Path:
    """The file that `name` stands for."""
    if name == "MODEL":
        return min(path for path in (folder / "kept").rglob("*") if path.suffix in (".joblib", ".skops", ".model"))
    if name == "kept/SCORES":
        return min(path for path in (folder / "kept").rglob("*.npz"))
    return folder / name


def in_the_record(path: Path, table: int, column: int, word: str | None, rows: int) -> None:
    """Put a word into some cells of the record, or drop a table, a column or its rows: SQLite finds nothing wrong."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        name = names[table % len(names)]
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
        target = columns[column % len(columns)]
        with contextlib.suppress(sqlite3.Error):  # what the schema forbids
            if rows == 0:
                db.execute(f"DROP TABLE {name}")
            elif rows == 1:
                db.execute(f"ALTER TABLE {name} DROP COLUMN {target}")
            elif rows == 2:
                db.execute(f"DELETE FROM {name}")
            else:
                every = f"(SELECT count(*) FROM {name} o WHERE o.{columns[0]} <= {name}.{columns[0]}) % ? = 0"
                db.execute(f"UPDATE {name} SET {target} = ? WHERE {every}", (word, rows - 2))


def line_of(command: str, folder: Path) -> list[str]:
    if command == "predict":
        data = folder.parent / "data" / "tiny.arff"
        return ["predict", str(found(folder, "MODEL")), str(data), "--trust"]
    return [command, str(folder), *(("--failed", "-j", "1", "-q") if command == "retry" else ())]


def answer(line: list[str]) -> int:
    """The exit code of a command, which is one of its own and says why."""
    code, errors = typed(line)
    assert code in (0, 1, 2), f"exit code {code!r}: {errors}"
    assert "Traceback" not in errors, errors
    assert bool(code) == any(each.startswith("error: ") for each in errors.splitlines()), errors
    return code


@pytest.mark.parametrize(("command", "code"), [(name, 1 if name == "retry" else 0) for name in dict.fromkeys(COMMANDS)])
def test_undamaged_it_is_read(whole: Path, command: str, code: int, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole.parent, tmp_path / "all")) / "small"
    assert answer(line_of(command, folder)) == code


@pytest.mark.parametrize("share", SHARES)
def test_damaged_it_is_read_or_refused(whole: Path, share: int) -> None:
    bytes_of = st.tuples(st.sampled_from(FILES), st.lists(EDIT, min_size=1, max_size=3), st.integers(0, 20))
    cells_of = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(WORDS), st.integers(0, 5))

    @settings(
        max_examples=RESULTS_FOLDERS // share,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(COMMANDS), bytes_of | cells_of)
    def attempt(command: str, damage: tuple) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(shutil.copytree(whole.parent, Path(place) / "all")) / "small"
            line = line_of(command, folder)
            if isinstance(damage[0], int):
                in_the_record(folder / "trials.sqlite", *damage)
            else:
                name, edits, cut = damage
                path = found(folder, name)
                content = edited(path.read_bytes(), [(where * 37, *rest) for where, *rest in edits])
                path.write_bytes(content[: len(content) * (20 - cut) // 20] if cut < 5 else content)
            answer(line)

    attempt()


@pytest.mark.parametrize(
    ("command", "change", "told"),
    [
        ("status", "UPDATE runs SET process = 'null'", "damaged: 'null' in its table `runs`"),
        ("status", "UPDATE runs SET jobs = 'many'", "damaged: 'many' in its table `runs`"),
        ("retry", """UPDATE trials SET scores = '{"f1": "high"}'""", "damaged: 'high' in its table `trials`"),
        ("report", "UPDATE trials SET split = 'x' || key WHERE status = 'failed'", ""),  # the page says it
    ],
)
def test_a_value_of_another_kind_is_told(whole: Path, command: str, change: str, told: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole.parent, tmp_path / "all")) / "small"
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite")) as db, db:
        db.execute(change)
    code, errors = typed(line_of(command, folder))
    if told:
        assert code == 2
        assert [line for line in errors.splitlines() if line.startswith("error: ")] == [
            f"error: {folder / 'trials.sqlite'}: {told}"
        ]
    assert "Traceback" not in errors
    if command == "report":
        assert "damaged: 'x" in errors
