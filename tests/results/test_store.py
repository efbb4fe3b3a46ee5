"""The record of trials: transactions, the lock, and files that are damaged or somebody else's."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mlcdr.errors import ResultsError
from mlcdr.experiment.trials import Trial, TrialResult
from mlcdr.results.record import progress, read_failures, read_planned, read_statuses
from mlcdr.results.record_file import DONE, NoRecord, rows
from mlcdr.results.store import EXPORTS, Store, list_rows, started, this_host, this_process
from tests.small import learner

pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for POSIX")


def trial(key: str, split: int = 0) -> Trial:
    from mlcdr.experiment.model import MethodSpec

    spec = MethodSpec(learner=learner("least_squares"))
    return Trial(key, "tiny", "M", (("learner.alpha", "20%"),), split, spec, spec, "")


def dies(does: str, folder: Path) -> None:
    """Another process opens the folder's `store`, does something and is killed without a chance to clean up."""
    start = "import os, signal, sys\nfrom pathlib import Path\nfrom mlcdr.results.store import Store\n"
    opens = "store = Store(Path(sys.argv[1]))\n"
    code = f"{start}{opens}{textwrap.dedent(does)}\nos.kill(os.getpid(), signal.SIGKILL)\n"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


def dies_in_a_transaction(folder: Path) -> None:
    """Another process is killed as it writes, so that a journal stays which has to be rolled back."""
    dies(
        """
        store._db.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the commit
        store._db.execute("BEGIN IMMEDIATE")
        store._db.execute("DELETE FROM trials")
        rows = ((i, "x" * 1000) for i in range(500))
        store._db.executemany("INSERT OR REPLACE INTO planned VALUES (?, ?, '', '')", rows)
        """,
        folder,
    )
    assert (folder / "trials.sqlite-journal").exists(), "the kill must come in the middle"


def scores_of(store: Store) -> dict[str, dict[str, float | None]]:
    found = rows(store._db, store.path, "trials", "key", "scores", "status")
    return {key: scores for key, scores, status in found if status == "done"}


def record(store: Store, *group: Any, **outcome: Any) -> None:
    """Record one group: its trials and scores, the seconds it took, and what crashed."""
    store.record(list_rows(*group, **outcome))


TRIALS = {key: trial(key, split) for split, key in enumerate("abcd")}


def test_what_is_recorded_is_there_the_next_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    doubles = rng.integers(0, 2**64, 500, dtype=np.uint64).view(np.float64)  # of any exponent
    wanted = {f"m{i}": float(value) for i, value in enumerate(doubles) if not np.isnan(value)}
    wanted |= {"sum": 0.1 + 0.2, "least": 5e-324, "most": 1.7976931348623157e308, "beyond": float("-inf"), "zero": -0.0}
    with Store(tmp_path) as store:
        failed = [TrialResult(key, None, f"Traceback\n{key}") for key in "dcb"]
        record(store, TRIALS, [TrialResult("a", {**wanted, "loss": float("nan")}), *failed])
    with Store(tmp_path) as store:
        assert store.done() == {"a"}
        assert {k: repr(v) for k, v in scores_of(store)["a"].items()} == {
            k: repr(v) for k, v in {**wanted, "loss": None}.items()
        }
        errors = {key: failure.error for key, failure in store.failures().items()}
        assert errors == {key: f"Traceback\n{key}" for key in "dcb"}


def test_numbers_that_are_not_defined_are_recorded_as_none(tmp_path: Path) -> None:
    point, nan = (("learner.alpha", "½"),), float("nan")
    tried = ((point, nan), (point, 0.25))
    with Store(tmp_path) as store:
        of_labels = {"f1": (nan, float("inf"), 0.5)}
        score = TrialResult("a", {"f1": 1.0}, tried=tried, of_labels=of_labels, chosen=(("learner.alpha", "0.1"),))
        record(store, TRIALS, [score])
        store.begin(TRIALS, 1)
        chosen, found = {"learner.alpha": "0.1"}, [({"learner.alpha": "½"}, None), ({"learner.alpha": "½"}, 0.25)]
        by_label = {"f1": [None, None, 0.5]}
        assert read_planned(tmp_path, DONE, "chosen", "tried", "by_label") == [(chosen, found, by_label)]


def test_the_finished_trials_of_the_plan_are_read_in_its_order_from_all_records(tmp_path: Path) -> None:
    point = (("learner.alpha", "20%"),)
    with pytest.raises(NoRecord, match="holds no trials"):
        read_planned(tmp_path, DONE)
    with Store(tmp_path) as store:
        record(
            store,
            TRIALS,
            [TrialResult(key, {"f1": 1.0}) for key in "dba"] + [TrialResult("c", None, "no")],
            seconds=2.0,
        )
        store.begin({key: TRIALS[key] for key in "bcd"}, 1)
    assert read_planned(tmp_path, DONE, "split", "point") == [(1, point), (3, point)]
    (tmp_path / "trials.sqlite").rename(tmp_path / "trials.1-of-2.sqlite")
    with Store(tmp_path) as store:
        store.begin({key: TRIALS[key] for key in "bcd"} | {"e": trial("e", 9)}, 1)
        record(store, {"e": trial("e", 9)}, [TrialResult("e", {"f1": 0.5})], seconds=1.5)
    assert read_planned(tmp_path, DONE, "split", "scores") == [(1, {"f1": 1.0}), (3, {"f1": 1.0}), (9, {"f1": 0.5})]
    found = progress(tmp_path)
    assert (found.total.planned, found.total.done, found.total.failed) == (4, 3, 1)
    assert found.costs == {"tiny": (4 * 0.5 + 1.5) / 5}
    statuses = {key: past.status for key, past in read_statuses(tmp_path).items()}
    assert statuses == {**dict.fromkeys("abde", "done"), "c": "failed"}
    assert [failure.split for failure in read_failures(tmp_path)] == [2]


def test_what_failed_in_one_record_and_is_done_in_another_is_no_failure(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.begin(TRIALS, 1)
        record(store, TRIALS, [TrialResult("a", None, "no"), TrialResult("b", None, "no")])
    (tmp_path / "trials.sqlite").rename(tmp_path / "trials.1-of-2.sqlite")
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
    assert [failure.split for failure in read_failures(tmp_path)] == [1]
    found = progress(tmp_path)
    assert (found.total.done, found.total.failed, found.total.pending) == (1, 1, 2)
    assert [failure.split for failure in found.failures] == [1]


def test_a_plan_that_is_on_record_is_not_written_again(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.begin(TRIALS, 1)
    other = {**TRIALS, "e": trial("e", 4)}
    for plan, written in ((TRIALS, 0), (other, 4 + 5), (dict(reversed(other.items())), 5 + 5)):
        with Store(tmp_path) as store:
            before = store._db.total_changes
            store.begin(plan, 1)
            assert store._db.total_changes - before == written + 1, "and the row of the run"
            found = store._db.execute("SELECT key, dataset, method FROM planned ORDER BY position").fetchall()
            assert found == [(key, "tiny", "M") for key in plan]


def test_what_a_group_cost_is_shared_by_its_trials_but_for_a_crash(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0}), TrialResult("b", None, "no")], seconds=1.5)
        record(store, TRIALS, [TrialResult("c", None, "gone")], seconds=2.5, crashed="SIGKILL")
        record(store, TRIALS, [TrialResult("d", {"f1": 1.0})])
        record(store, TRIALS, [], seconds=3.5)
        found = store._db.execute("SELECT key, seconds, crash FROM trials ORDER BY key").fetchall()
        assert found == [("a", 0.75, ""), ("b", 0.75, ""), ("c", None, "SIGKILL"), ("d", None, "")]
        point = (("learner.alpha", "20%"),)
        assert store.failures() == {
            "b": (("tiny", "M", point, 1), "no", ""),
            "c": (("tiny", "M", point, 2), "gone", "SIGKILL"),
        }


def test_a_plan_is_recorded_in_its_order_and_a_run_with_its_end(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.begin(TRIALS, 3)
        store.end("finished")
    with Store(tmp_path) as store:
        store.begin(dict(reversed(TRIALS.items())), 2)
    with Store(tmp_path) as store:
        assert [row[0] for row in store._db.execute("SELECT key FROM planned ORDER BY position")] == [*"dcba"]
        store.forget_run()
    with Store(tmp_path) as store:
        runs = store._db.execute("SELECT jobs, outcome, ended IS NULL FROM runs ORDER BY number").fetchall()
    assert runs == [(3, "finished", 0), (2, "interrupted", 0), (0, None, 1)]


def test_how_a_run_ended_is_recorded_however_it_ends(tmp_path: Path) -> None:
    with Store(tmp_path):
        pass
    with pytest.raises(KeyError), Store(tmp_path):
        raise KeyError("x")
    with pytest.raises(ValueError, match="of Latin-1"), Store(tmp_path):
        raise ValueError("a path of Latin-1: \udce9")
    with Store(tmp_path) as store:
        found = store._db.execute("SELECT outcome FROM runs WHERE outcome IS NOT NULL ORDER BY number").fetchall()
    assert found == [("interrupted",), ("KeyError: 'x'",), ("ValueError: a path of Latin-1: \\udce9",)]


def test_a_process_is_named_by_its_host_number_and_start() -> None:
    host, pid, start = this_process().split()
    assert (host, int(pid)) == (this_host(), os.getpid())
    assert abs(int(start) - started(os.getpid())) <= 1
    assert started(2**22 + 1) == 0


@pytest.mark.skipif(not psutil.LINUX, reason="a fault of the clock of /proc")
def test_a_process_lives_on_when_the_clock_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = this_process()
    (tmp_path / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
    lines = [f"btime {int(psutil.boot_time()) + 500}", "processes 1"]
    (tmp_path / "stat").write_text("\n".join(lines))
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert psutil.Process().create_time() > 0
    assert this_process() == before


def test_a_trial_that_failed_may_succeed_later(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", None, "no")])
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
        assert store.done() == {"a"}
        assert not store.failures()
        record(store, TRIALS, [TrialResult("a", {"loss": 2.0})])
        assert scores_of(store) == {"a": {"loss": 2.0}}


def test_a_group_is_recorded_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
        nameless = replace(TRIALS["b"], method=None)  # which the table refuses
        with pytest.raises(ResultsError, match=r"trials\.sqlite: cannot record results"):
            record(store, {**TRIALS, "b": nameless}, [TrialResult("a", {"f1": 2.0}), TrialResult("b", {"f1": 2.0})])
        assert scores_of(store) == {"a": {"f1": 1.0}}
        record(store, TRIALS, [TrialResult("b", {"f1": 3.0})])
        assert store.done() == {"a", "b"}


def test_a_writer_killed_in_a_transaction_leaves_what_was_before(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
    dies_in_a_transaction(tmp_path)
    with Store(tmp_path) as store:
        assert scores_of(store) == {"a": {"f1": 1.0}}
        assert store.done() == {"a"}


def test_two_at_once(tmp_path: Path) -> None:
    with Store(tmp_path):
        for fresh in (False, True):
            with pytest.raises(ResultsError, match="another run is writing this folder"):
                Store(tmp_path, fresh)
    with Store(tmp_path) as store:
        assert store._db.execute("PRAGMA busy_timeout").fetchone()[0] > 60_000, "a reader may take a minute"


def test_a_fresh_start_that_does_not_begin_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
    for name in EXPORTS:
        (tmp_path / name).touch()
    with Store(tmp_path, fresh=True):
        assert {path.name for path in tmp_path.iterdir()} >= {*EXPORTS}
    with Store(tmp_path) as store:
        assert store.done() == {"a"}
    with Store(tmp_path, fresh=True) as store:
        store.begin({}, 1)
        assert store.done() == set()
        assert {path.name for path in tmp_path.iterdir()} == {".lock", "trials.sqlite"}


def test_a_fresh_start_begins_once_and_removes_all_that_a_run_exports(tmp_path: Path) -> None:
    exports = {"scores.csv", "summary.csv", "chosen.csv", "tried.csv", "labels.csv", "manifest.json", "report.html"}
    for name in exports:
        (tmp_path / name).touch()
    with Store(tmp_path, fresh=True) as store:
        store.begin(TRIALS, 1)
        assert exports.isdisjoint(path.name for path in tmp_path.iterdir())
        record(store, TRIALS, [TrialResult("a", {"f1": 1.0})])
        store.begin(TRIALS, 1)
        assert store.done() == {"a"}


def test_one_part_writes_exports_after_the_other(tmp_path: Path) -> None:
    def export() -> None:
        with store.exporting():
            pass

    with Store(tmp_path) as store, ThreadPoolExecutor(1) as thread:
        with store.exporting():
            other = thread.submit(export)
            assert not wait([other], timeout=0.2).done
        other.result(timeout=60)


def other_program(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE trials (patient TEXT)")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def other_version(path: Path) -> None:
    Store(path.parent).__exit__(None, None, None)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def damaged_page(path: Path) -> None:
    with Store(path.parent) as store:
        record(
            store,
            {f"{i:032}": trial(f"{i:032}") for i in range(500)},
            [TrialResult(f"{i:032}", {"f1": 1.0}) for i in range(500)],
        )
    content = bytearray(path.read_bytes())
    content[4096 * 8 : 4096 * 9] = b"\xff" * 4096
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    damaged_page(path)
    path.write_bytes(path.read_bytes()[: 4096 * 5 + 17])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"PK\x03\x04" * 1000), "not a database"),
        (lambda path: path.mkdir(), "not a file"),
        (other_program, "not a record of trials made by mlcdr"),
        (other_version, "another version"),
        (damaged_page, "damaged|malformed"),
        (cut_short, "damaged|malformed"),
    ],
)
def test_a_file_that_is_no_record_is_told_in_one_line_and_left_alone(tmp_path: Path, spoil, message: str) -> None:
    path = tmp_path / "trials.sqlite"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ResultsError, match=message) as caught:
        Store(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert "--fresh" in str(caught.value)
    if before is not None:
        assert path.read_bytes() == before
        with Store(tmp_path, fresh=True) as store:
            store.begin({}, 1)
        with Store(tmp_path) as store:
            assert store.done() == set()


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "small"):
        with pytest.raises(ResultsError, match=r"cannot be written: (File exists|Not a directory)$"):
            Store(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ResultsError, match="cannot be written: Permission denied"):
        Store(tmp_path / "small")


# -------------------------------------------------------------------- a look from outside


def test_failures_are_read_while_a_run_holds_the_lock_and_nothing_is_written(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.begin(TRIALS, 1)
        record(
            store,
            TRIALS,
            [TrialResult("a", {"f1": 1.0}), TrialResult("b", None, "Traceback"), TrialResult("c", None, "C")],
        )
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        first, second = read_failures(tmp_path)
        assert (first.dataset, first.method, first.split, first.error) == ("tiny", "M", 1, "Traceback")
        assert first.point == (("learner.alpha", "20%"),)
        assert second.split == 2
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        record(store, TRIALS, [TrialResult("b", {"f1": 1.0})])
        assert [failure.split for failure in read_failures(tmp_path)] == [2]


def test_failures_are_those_of_the_plan_in_its_order(tmp_path: Path) -> None:
    """Of a method that was edited, the old trials stay on record, with other keys."""
    new = {key: trial(key, split) for key, split in (("z", 5), ("y", 6))}
    with Store(tmp_path) as store:
        record(store, TRIALS, [TrialResult("a", None, "before")])
        record(store, new, [TrialResult("y", None, "Y"), TrialResult("z", None, "Z")])
        with pytest.raises(NoRecord, match="no run has planned its trials here"):
            read_failures(tmp_path)
        store.begin(new, 1)
        assert [(failure.split, failure.error) for failure in read_failures(tmp_path)] == [(5, "Z"), (6, "Y")]


def test_no_record_and_one_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "trials-old.sqlite").write_text("a copy under a name of its own")
    with pytest.raises(NoRecord, match=r"holds no trials\.sqlite; no run has begun here, or one is just starting"):
        read_failures(tmp_path)
    path = tmp_path / "trials.sqlite"
    path.write_text("not a database at all, but long enough to be looked at\n" * 100)
    with pytest.raises(ResultsError, match=r"trials\.sqlite: cannot be read: file is not a database"):
        read_failures(tmp_path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE trials (x)")
    other.close()
    with pytest.raises(ResultsError, match="not a record of trials made by mlcdr"):
        read_failures(tmp_path)


def test_after_a_kill_in_a_transaction_a_reader_changes_nothing_and_says_what_heals_the_record(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.begin(TRIALS, 1)
        record(store, TRIALS, [TrialResult("a", None, "Traceback")])
    dies_in_a_transaction(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    told = r"trials\.sqlite-journal: left by a run that was killed as it wrote; `mlcdr run` with its config heals"
    for read in (read_failures, progress, read_statuses):
        with pytest.raises(ResultsError, match=told):
            read(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    Store(tmp_path).__exit__(None, None, None)
    assert [failure.error for failure in read_failures(tmp_path)] == ["Traceback"]


def test_a_record_of_the_former_format_is_none_and_a_run_says_what_to_do(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "trials.sqlite")) as db:
        db.execute("CREATE TABLE trials (key TEXT)")
        db.execute(f"PRAGMA application_id = {0x6D6C6364}")
        db.execute("PRAGMA user_version = 1")
    assert not read_statuses(tmp_path)
    for read in (progress, read_failures):
        with pytest.raises(NoRecord, match="recorded by an older mlcdr"):
            read(tmp_path)
    with pytest.raises(ResultsError, match=r"an older mlcdr.*; --fresh starts a new one, --out chooses another folder"):
        Store(tmp_path)
