"""Results folders made by an attacker: no command deletes, changes or reads a file outside, hangs or gives a traceback.

Also here: readers beside a run that is just starting, or just ending.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcdr.errors import ResultsError
from tests import small
from tests.results.test_store import dies_in_a_transaction
from tests.small import Outcome

pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for POSIX")

Command = Callable[..., Outcome]

COMMANDS = ["status", "plan", "report", "retry", "run"]
METHODS = {"PLST": small.FOUR["PLST"], "Bad": {"learner": "tests.small.Failing"}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config and its results, in which a method failed."""
    from mlcdr.execution.runner import run
    from mlcdr.experiment.loading import experiment_yaml, load_experiment

    place = tmp_path_factory.mktemp("hostile")
    arff = small.write_dataset(place / "data", n=40)
    splits = {"kind": "shuffle", "repeats": 2, "train_size": 0.75, "seed": 1}
    changes = {"methods": METHODS, "splits": splits, "keep": {"scores": True}, "figures": ["curves"]}
    (place / "e.yaml").write_text(experiment_yaml(small.experiment(arff, **changes)))
    run(load_experiment(place / "e.yaml"), place / "results")
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results folder, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(made / "e.yaml", tmp_path)
    for name in ("results", "data"):
        shutil.copytree(made / name, tmp_path / name)
    return tmp_path / "results" / "small"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file outside of the results folder, which is the same afterwards."""
    victim = tmp_path / "victim"
    content = b"\0\0\0\x20ftyp, as a film begins" * 100  # a journal that begins with zero is one that SQLite uses again
    victim.write_bytes(content)
    yield victim
    assert victim.read_bytes() == content


def line_of(command: str, folder: Path) -> list[object]:
    rest = {
        "plan": ["e.yaml", "--trust"],
        "run": ["e.yaml", "-j", 1, "-q"],
        "retry": [folder, "--failed", "-j", 1, "-q"],
    }
    return [command, *rest.get(command, [folder])]


def refused(outcome: Outcome, *words: str) -> None:
    """In one line, with the exit code of what is the user's to mend."""
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert outcome.code == 2
    assert all(word in line for word in words), line


def changed(folder: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            db.execute(statement)


def journal_that_names(path: Path, name: Path) -> None:
    """A journal that is to be rolled back, with nothing in it but the name of a super-journal."""
    size = path.stat().st_size
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">IIIII", 0, 0, size // 4096, 512, 4096)
    text = bytes(name)
    tail = struct.pack(">I", 2**30 // 4096 + 1) + text + struct.pack(">II", len(text), sum(text)) + magic
    path.with_name(f"{path.name}-journal").write_bytes(header.ljust(512, b"\0") + tail)


# -------------------------------------------------------------------- files outside


@pytest.mark.parametrize("command", COMMANDS)
def test_a_journal_deletes_no_file_that_it_names(folder: Path, victim: Path, command: str, mlcdr: Command) -> None:
    journal_that_names(folder / "trials.sqlite", victim)
    outcome = mlcdr(*line_of(command, folder))
    assert victim.exists()
    if command in ("run", "retry"):
        refused(outcome, "trials.sqlite-journal: names another file", "remove it")
    else:
        assert "trials.sqlite-journal: left by a run that was killed" in outcome.err


def test_the_journal_of_a_killed_run_is_rolled_back_by_a_run_only(folder: Path, mlcdr: Command) -> None:
    dies_in_a_transaction(folder)
    for command in ("status", "plan"):
        refused(mlcdr(*line_of(command, folder)), "trials.sqlite-journal: left by a run that was killed as it wrote")
    assert mlcdr(*line_of("retry", folder)).code == 1
    assert mlcdr("status", folder).out.splitlines()[-2].split()[:2] == ["all", "6"]
    assert not [each.name for each in folder.iterdir() if each.name.startswith((".writing", "trials.sqlite-"))]


def test_a_journal_does_not_make_a_record_larger(folder: Path, mlcdr: Command) -> None:
    path = folder / "trials.sqlite"
    before = path.read_bytes()
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 0, 2**20, 512, 4096)  # 2^20 pages
    path.with_name("trials.sqlite-journal").write_bytes(header.ljust(512, b"\0"))
    for command in ("status", "retry"):
        refused(mlcdr(*line_of(command, folder)), "trials.sqlite-journal")
        assert path.read_bytes() == before


LINKS = [".lock", "trials.sqlite", "trials.sqlite-journal", "trials.sqlite-wal", "trials.sqlite-shm", "kept/index.csv"]


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("command", ["run", "retry", "run --fresh"])
def test_a_link_is_not_written_through(folder: Path, victim: Path, name: str, command: str, mlcdr: Command) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    words = command.split()
    outcome = mlcdr(*line_of(words[0], folder), *words[1:])
    if "--fresh" in words and name != ".lock":
        assert outcome.code == 1  # Bad fails
        assert not (folder / name).is_symlink()
    else:
        refused(outcome, name)


@pytest.mark.parametrize("name", ["tables", "figures", "kept", "kept/tiny"])
@pytest.mark.parametrize("command", ["run", "table", "plot"])
def test_a_linked_folder_is_not_written_into(
    folder: Path, tmp_path: Path, name: str, command: str, mlcdr: Command
) -> None:
    shutil.rmtree(folder / name, ignore_errors=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / name).symlink_to(outside)
    outcome = mlcdr(*line_of(command, folder))
    assert not list(outside.rglob("*"))
    if (command, name) in [("run", "kept"), ("run", "kept/tiny"), ("table", "tables"), ("plot", "figures")]:
        refused(outcome, f"{name}: a symbolic link")


@pytest.mark.parametrize(
    "name", ["manifest.json", "experiment.yaml", "scores.csv", "summary.csv", "chosen.csv", "tried.csv"]
)
@pytest.mark.parametrize("command", ["table", "report", "retry"])
def test_a_link_is_not_read(folder: Path, tmp_path: Path, name: str, command: str, mlcdr: Command) -> None:
    """What it leads to might be shown in report.html, which is sent on."""
    (tmp_path / "secret").write_text('{"datasets": {"password 1234": {}}}\n')
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret")
    outcome = mlcdr(*line_of(command, folder))
    page = folder / "report.html"
    written = page.read_text() if page.exists() else ""
    assert "password" not in outcome.out + outcome.err + written
    assert (tmp_path / "secret").read_text().startswith('{"datasets"')


def test_a_link_of_the_name_of_a_temporary_file_is_not_written_through(
    folder: Path, victim: Path, mlcdr: Command
) -> None:
    for name in ("scores.csv", "summary.csv", "experiment.yaml", "manifest.json", "report.html"):
        (folder / f".writing-{name}.{os.getpid()}").symlink_to(victim)
    assert mlcdr(*line_of("run", folder)).code == 1
    assert mlcdr("report", folder).code == 0


def test_two_processes_of_one_number_write_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers, or on two machines: the file is one's or the other's, and neither fails."""
    from mlcdr.whole_files import write_atomically

    path = tmp_path / "report.html"
    replace = Path.replace

    def other_first(self: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        write_atomically(path, "of the other")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", other_first)
    write_atomically(path, "of this one")
    assert path.read_text() == "of this one"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


# -------------------------------------------------------------------- records


FOREVER = "WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t)"
SOME_PENDING = "DELETE FROM trials WHERE status = 'done' AND point LIKE '%50%' AND split = 0"


def scores_of(first: str, others: str) -> str:
    """Every score of the first split replaced by one number, and of the others by another."""
    scores = [f"'{json.dumps({'hamming_loss': 0.0, 'f1': 0.0}).replace('0.0', each)}'" for each in (first, others)]
    return f"UPDATE trials SET scores = CASE WHEN split = 0 THEN {scores[0]} ELSE {scores[1]} END WHERE status = 'done'"


RECORDS = {
    "a view without end": [
        "DROP TABLE trials",
        f"CREATE VIEW trials AS {FOREVER} SELECT 'k' || k AS key, 'tiny' AS dataset, 'A' AS method, '' AS point, "
        "0 AS split, 'done' AS status, '' AS error, '' AS recorded FROM t",
    ],
    "a trigger": ["CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM trials; END"],
    "an index": ["CREATE INDEX i ON trials (lower(error))"],
    "another table": ["CREATE TABLE more (x)"],
    "a column more": ["ALTER TABLE trials ADD COLUMN x"],
    "a table without checks": ["DROP TABLE planned", "CREATE TABLE planned (position, key, dataset, method)"],
    "schema that is not UTF-8": [
        "INSERT INTO sqlite_master VALUES ('table', CAST(x'ff41' AS TEXT), CAST(x'ff41' AS TEXT), 2, 'CREATE TABLE (')"
    ],
    "text that is not UTF-8": ["UPDATE trials SET error = CAST(x'ff41' AS TEXT), status = 'failed'"],
    "infinite seconds": ["UPDATE trials SET seconds = 9e999"],
    "a blob": ["UPDATE trials SET seconds = x'00'"],
    "a long process number": [f"UPDATE runs SET ended = NULL, process = '{os.uname().nodename} {'9' * 20}'"],
    "a process number beyond the system's": [
        f"UPDATE runs SET ended = NULL, process = '{os.uname().nodename} 4294967296'"
    ],
    "a negative split": ["UPDATE trials SET split = -1"],
    "a split of 63 bits": [f"UPDATE trials SET split = {2**63 - 1} - rowid_of.k FROM (SELECT 1 AS k) AS rowid_of"],
    "another status": ["UPDATE trials SET status = 'failed' || char(27)"],
    "a nested point": [f"UPDATE trials SET point = '{'[' * 100_000}' || method || split || key"],
    "nested scores": [f"UPDATE trials SET scores = '{'[' * 100_000}'"],
    "a number without end": [scores_of("9" * 100_000, "1.0")],
    "scores beyond what can be squared": [scores_of("1e300", "-1e300")],
    "scores of both infinities": [scores_of("1e999", "-1e999")],
    "a write-ahead log": ["PRAGMA journal_mode = WAL"],
}


@pytest.mark.parametrize(  # the slow ones open it as `run` or `status` does
    "command",
    [each if each in ("status", "run") else pytest.param(each, marks=pytest.mark.slow) for each in COMMANDS],
)
@pytest.mark.parametrize("what", RECORDS)
def test_a_hostile_record_is_read_or_refused(folder: Path, what: str, command: str, mlcdr: Command) -> None:
    changed(folder, SOME_PENDING, *RECORDS[what])
    before = sorted(folder.iterdir())
    outcome = mlcdr(*line_of(command, folder))
    assert outcome.code in (0, 1, 2)
    if outcome.code == 2:
        refused(outcome, "trials.sqlite: ")
    if what in list(RECORDS)[:7] and command != "report":
        assert outcome.code == 2
    if command in ("status", "plan"):
        assert sorted(folder.iterdir()) == before


def test_reading_ends_in_time(folder: Path, mlcdr: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcdr.results import record_file

    rows = ((i, f"k{i}", "x" * 300, "") for i in range(30_000))
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite")) as db, db:
        db.execute("DELETE FROM planned")
        db.executemany("INSERT INTO planned VALUES (?,?,?,?)", rows)
    monkeypatch.setattr(record_file, "_LONGEST", 0.0)
    refused(mlcdr("status", folder), "cannot be read: takes more than")


def test_the_terminal_obeys_no_record(folder: Path, mlcdr: Command) -> None:
    changed(
        folder,
        "UPDATE runs SET ended = started, outcome = 'x' || char(27) || '[2J'",
        "UPDATE planned SET method = method || char(27) || '[2J'",
        "UPDATE trials SET error = 'Y: ' || char(27) || '[2J' WHERE status = 'failed'",
    )
    outcome = mlcdr("status", folder)
    assert "\\x1b[2J" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err


MANIFESTS = {
    "nested": "[" * 100_000,
    "nested mappings": '{"a":' * 500 + "1" + "}" * 500,
    "half a character": json.dumps({"computed_by": [{"mlcdr": "\ud800"}]}),
    "a number for the runs": '{"computed_by": 5}',
    "numbers as runs": '{"computed_by": [5]}',
    "a list of data sets": '{"datasets": []}',
    "a text for the trials": '{"trials": "none"}',
    "not UTF-8": "ÿ".encode("latin-1"),
}


@pytest.mark.parametrize("command", ["report", "retry", "compare"])
@pytest.mark.parametrize("what", MANIFESTS)
def test_a_hostile_manifest_is_read_or_refused(folder: Path, what: str, command: str, mlcdr: Command) -> None:
    content = MANIFESTS[what]
    (folder / "manifest.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = mlcdr(*line_of(command, folder), *([folder] if command == "compare" else []))
    assert outcome.code in (0, 1, 2)
    if command == "retry":
        assert json.loads((folder / "manifest.json").read_text())["experiment"] == "small"


@pytest.mark.parametrize("facts", [{"notices": 5}, {"notices": [5]}, {"n_instances": 0}, {"n_features": "ten"}])
def test_facts_of_a_data_set_are_of_their_kind(folder: Path, facts: dict[str, object], mlcdr: Command) -> None:
    (folder / "manifest.json").write_text(json.dumps({"datasets": {"tiny": facts}}))
    assert mlcdr("report", folder).code == 0
    assert f"datasets.tiny.{next(iter(facts))}" in (folder / "report.html").read_text()


def test_a_manifest_without_end_is_not_read(folder: Path, mlcdr: Command) -> None:
    os.truncate(folder / "manifest.json", 2**40)  # of which the disk holds nothing
    assert mlcdr("report", folder).code == 0
    assert "larger than 64 MiB" in (folder / "report.html").read_text()
    assert mlcdr(*line_of("run", folder)).code == 1  # Bad fails


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder: Path) -> None:
    for name in "experiment.yaml", "summary.csv":
        (folder / name).unlink()
        os.mkfifo(folder / name)
    tab = {"_MLCDR_COMPLETE": "bash", "_MLCDR_LINE": f"mlcdr table {folder} --metric "}
    for words, settings in ((map(str, line_of("run", folder)), {}), ([], tab)):
        done = small.command(*words, cwd=folder.parents[1], **settings)
        assert done.returncode in (0, 1), done.stderr


def test_scores_of_labels_are_numbers_and_one_for_each_label(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    methods = {"PLST": small.FOUR["PLST"]}
    experiment = small.experiment(arff, methods=methods, by_label=["f1"])
    from mlcdr.execution.runner import run

    found = run(experiment, tmp_path).folder
    for text, message in (
        (f"[{'9' * 400}]", "table `trials`"),
        ("[1e999]", "inf in its table `trials`"),
        ('["high"]', "'high' in its table `trials`"),
        ("[0.5]", "not one f1 for each label of tiny"),
    ):
        changed(found, f"""UPDATE trials SET by_label = '{{"f1": {text}}}'""")
        (found / "labels.csv").unlink(missing_ok=True)  # so that it is written again
        with pytest.raises(ResultsError, match=message):
            run(experiment, tmp_path)


SUMMARY = "dataset,method,metric,mean,std,se,n\n"
CSVS = {
    "an underscore within a number": ("summary.csv", SUMMARY + "tiny,PLST,f1,1_0,,,2\n", "column mean: '1_0'"),
    "digits of another script": ("summary.csv", SUMMARY + "tiny,PLST,f1,٣,,,2\n", "column mean: '٣'"),
    "no mean": ("summary.csv", SUMMARY + "tiny,PLST,f1,nan,,,2\n", "only empty means"),
    "an infinite mean": ("summary.csv", SUMMARY + "tiny,PLST,f1,inf,,,2\n", "summary.csv:2: column mean"),
    "a split of 5000 digits": (
        "scores.csv",
        f"dataset,method,split,metric,value\ntiny,PLST,{'9' * 5000},f1,1\n",
        "scores.csv:2: column split",
    ),
    "a split twice": (
        "scores.csv",
        "dataset,method,split,metric,value\ntiny,PLST,0,f1,1\ntiny,PLST,0,f1,0\n",
        "scores.csv:3: a second row for one number",
    ),
}


@pytest.mark.parametrize("what", CSVS)
def test_a_hostile_csv_is_refused(folder: Path, what: str, mlcdr: Command) -> None:
    (folder / "trials.sqlite").unlink()
    name, content, message = CSVS[what]
    (folder / name).write_text(content)
    if name == "summary.csv":
        refused(mlcdr("table", folder), message)
    else:
        refused(mlcdr("compare", folder, "--baseline", folder), message)


def test_the_terminal_obeys_no_name_of_a_folder(folder: Path, mlcdr: Command) -> None:
    odd = folder.with_name("a\x1b[2Jb")
    folder.rename(odd)
    for line in (["report", odd], ["plot", odd], ["compare", odd, "--baseline", odd]):
        outcome = mlcdr(*line)
        assert "\x1b" not in outcome.out + outcome.err
        assert "a\\x1b[2Jb" in outcome.out or line[0] == "compare"


def test_a_folder_shows_no_layout_from_elsewhere(folder: Path, tmp_path: Path, mlcdr: Command) -> None:
    elsewhere = tmp_path / "secret.yaml"
    elsewhere.write_text("kind: table\ncolumns: method\ncaption: secret\n")
    with (folder / "experiment.yaml").open("a") as file:
        file.write(f"tables: [{{layout: {elsewhere}}}]\n")
    refused(mlcdr("table", folder), "tables: a results folder names layouts of mlcdr or holds them")


# -------------------------------------------------------------------- readers beside a run


def test_a_record_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at whatever statement, a run leaves no part of a record; nor does a reader find one meanwhile."""
    from mlcdr.results.record import read_statuses
    from mlcdr.results.store import Store

    seen = []

    def look(statement: str) -> None:
        seen.append((tmp_path / "trials.sqlite").exists())
        assert not read_statuses(tmp_path)

    connect = sqlite3.connect

    def traced(*arguments: object, **options: object) -> sqlite3.Connection:
        db = connect(*arguments, **options)  # type: ignore[call-overload]
        if "mode=ro" not in str(arguments[0]):
            db.set_trace_callback(look)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    with Store(tmp_path) as store:
        store.begin({}, 1)
    assert seen[0] is False
    assert seen[-1] is True


def test_status_beside_a_run_that_is_just_starting(folder: Path, mlcdr: Command, tmp_path: Path) -> None:
    from mlcdr.results.store import Store

    new = tmp_path / "results" / "new"
    new.mkdir()
    (new / ".lock").touch()
    refused(mlcdr("status", new), "just starting")
    for place in (new, folder):
        with Store(place):
            assert "starting since " in mlcdr("status", place).out
            assert mlcdr("plan", "e.yaml", "--trust").code == 0
    assert "interrupted" in mlcdr("status", folder).out, "it ended before it had a plan"


def test_a_run_that_ends_while_one_looks_is_not_crashed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is gone when it is looked for, and the record has been read before."""
    from mlcdr.results import record
    from mlcdr.results.store import Store

    with Store(folder) as store:
        store.begin({}, 1)

        def ends(*_: object) -> bool:
            store.end("finished")
            return False

        monkeypatch.setattr(record, "_lives", ends)
        assert record.progress(folder).run.state == "finished"


def test_a_record_that_is_replaced_while_it_is_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite finds the journal of a transaction that is over when it opens it, and takes it for a killed run's."""
    from mlcdr.results.record import progress

    connect, times = sqlite3.connect, []

    class Readonly(sqlite3.Connection):
        def execute(self, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
            raise sqlite3.OperationalError("attempt to write a readonly database")

    def at_first_not(*arguments: object, **options: object) -> sqlite3.Connection:
        times.append(1)
        if len(times) < 4:
            options["factory"] = Readonly
        return connect(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(sqlite3, "connect", at_first_not)
    assert progress(folder).total.planned == 6
    assert len(times) == 5, "and once more for what failed"


def test_a_journal_that_was_left_is_not_rolled_back_into_a_new_record(folder: Path, mlcdr: Command) -> None:
    path = folder / "trials.sqlite"
    path.with_name("trials.sqlite-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + b"\0" * 600)
    path.unlink()
    assert mlcdr(*line_of("run", folder)).code == 1
    assert not path.with_name("trials.sqlite-journal").exists()
    assert mlcdr("status", folder).out.splitlines()[-2].split() == ["all", "6", "4", "2", "0"]


# -------------------------------------------------------------------- what is written is read


def test_what_a_run_writes_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out in blocks, a config takes more than its own text may; here with an eighth of both bounds."""
    from mlcdr.experiment import yaml_reader
    from mlcdr.experiment.yaml_reader import dump_yaml, read_yaml

    for bound in ("MAX_BYTES", "MAX_RESOLVED"):
        monkeypatch.setattr(yaml_reader, bound, getattr(yaml_reader, bound) // 8)
    most = yaml_reader.MAX_BYTES
    deep = "{binary_relevance: {estimator: {logistic_regression: {C: 1.0, max_iter: 1}}}}"
    methods = "".join(f"  M{i}: {{learner: {deep}}}\n" for i in range(262))
    head = "name: big\ndatasets: [tiny]\nsplits: {kind: kfold, folds: 2, seed: 1}\nmetrics: [hamming_loss]\n"
    (tmp_path / "e.yaml").write_text(f"{head}methods:\n{methods}")
    assert (tmp_path / "e.yaml").stat().st_size < most
    whole = read_yaml(tmp_path / "e.yaml").data
    (tmp_path / "experiment.yaml").write_text(dump_yaml(whole))
    assert (tmp_path / "experiment.yaml").stat().st_size > most
    assert read_yaml(tmp_path / "experiment.yaml").data == whole


def test_what_could_not_be_read_is_refused_before_it_is_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcdr.errors import ConfigError
    from mlcdr.execution.runner import run
    from mlcdr.experiment import loading
    from mlcdr.experiment.loading import load_experiment

    experiment = load_experiment("e.yaml")
    monkeypatch.setattr(loading, "MAX_RESOLVED", 300)
    with pytest.raises(ConfigError, match="divide its methods among several experiments"):
        run(experiment, Path("elsewhere"))
    assert not Path("elsewhere").exists()


def test_a_broken_manifest_is_not_taken_for_one_without_facts(folder: Path, mlcdr: Command) -> None:
    """`--baseline` asks it for the data sets' checksums."""
    assert mlcdr("compare", "--baseline", folder, folder).code == 0
    (folder / "manifest.json").write_text('{"datasets": 1}')
    refused(mlcdr("compare", "--baseline", folder, folder), "manifest.json: datasets: ")
    (folder / "manifest.json").unlink()
    assert mlcdr("compare", "--baseline", folder, folder).code == 0


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("mlcdr.results.results.read_scores", "results/small: not enough memory to read it"),
        ("mlcdr.experiment.loading.read_yaml", "e.yaml: not enough memory to read it"),
        ("mlcdr.data.dataset.FileSource.key", ".arff: not enough memory to read it"),
        ("mlcdr.tables.tables.write_all", "not enough memory for mlcdr table results/small"),
    ],
)
def test_full_memory_is_one_line_on_what_is_read(
    folder: Path, mlcdr: Command, monkeypatch: pytest.MonkeyPatch, place: str, line: str
) -> None:
    def fill(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(place, fill)
    refused(mlcdr(*("table", "results/small") if "results/small" in line else ("check", "e.yaml", "--trust")), line)
