"""`mlcdr status`, `plan` and `retry`: what they say of a folder is what a run did, or then does."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcdr.errors import ResultsError
from mlcdr.execution.plan import survey
from mlcdr.execution.runner import run
from mlcdr.experiment.loading import experiment_from, experiment_yaml, load_experiment
from mlcdr.results.record import Run, duration, progress, read_statuses
from mlcdr.results.store import this_host
from tests import prepared, small
from tests.faults.harness import until
from tests.small import FOUR, SIZES, Gate, Outcome

ROOT = Path(__file__).parents[2]

# A method that fails while a file named `broken` says so, on some training sets.
MINE = """
from pathlib import Path
from sklearn.neighbors import KNeighborsClassifier
from mlcdr.experiment.loading import experiment_from, experiment_yaml

class Mine(KNeighborsClassifier):
    def fit(self, X, y):
        if Path("broken").exists() and round(1000 * X.sum()) % 2:
            raise ValueError("broken today")
        return super().fit(X, y)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a data set, e.yaml on it, and a method that may fail."""
    monkeypatch.chdir(tmp_path)
    arff = small.write_dataset(tmp_path / "data")
    (tmp_path / "e.yaml").write_text(experiment_yaml(small.experiment(arff)))
    (tmp_path / "mine_to_mend.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    mine = small.plain(arff, methods={"PLST": FOUR["PLST"]}, splits={**small.plain(arff)["splits"], "repeats": 8})
    text = experiment_yaml(experiment_from(mine)) + "  Mine: {learner: mine_to_mend.Mine}\n"
    (tmp_path / "mine.yaml").write_text(text)
    yield tmp_path
    sys.modules.pop("mine_to_mend", None)


def table(text: str) -> dict[tuple[str, str], list[int]]:
    """The counts of `status`: (data set, method) → planned, done, failed, pending."""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"tiny +\S+ +(\d+ *){4}", line)]
    return {(row[0], row[1]): [int(number) for number in row[2:]] for row in rows}


# -------------------------------------------------------------------- status


def test_a_finished_run(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    before = {path: path.read_bytes() for path in (here / "results" / "small").rglob("*") if path.is_file()}
    done = mlcdr("status", "results/small")
    assert (done.code, done.err) == (0, "")
    assert re.match(r"results/small: finished at \d{4}-\d\d-\d\dT", done.out)
    assert table(done.out) == {("tiny", "PBR"): [8, 8, 0, 0], ("tiny", "PLST"): [8, 8, 0, 0]}
    assert done.out.splitlines()[-1].split() == ["all", "16", "16", "0", "0"], "nothing is left, so no time is"
    assert mlcdr("status", "results").out.splitlines()[1].split() == ["results/small", "finished", "16", "16", "0", "0"]
    after = {path: path.read_bytes() for path in (here / "results" / "small").rglob("*") if path.is_file()}
    assert after == before


def test_the_same_failure_of_several_is_one_line(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    for k, n in enumerate((60, 80)):  # the message has the number of rows
        small.write_dataset(here / f"data{k}", f"data{k}", n=n)
    methods = {"Bad": {"learner": "tests.small.Counting"}, "Worse": {"learner": "tests.small.Counting"}}
    datasets = [str(here / f"data{k}" / f"data{k}.arff") for k in range(2)]
    plain = small.plain(here / "data" / "tiny.arff", methods=methods, datasets=datasets, sweep={})
    (here / "bad.yaml").write_text(experiment_yaml(experiment_from(plain)))
    line = "failed: Bad and Worse on data0 and data1, splits 0–3: RuntimeError: 45 rows (16 trials)"
    ran = mlcdr("run", "bad.yaml", "-q", "-j", 1)
    assert [each for each in ran.err.splitlines() if each.startswith("failed")] == [line]
    done = mlcdr("status", "results/small")
    assert done.out.splitlines()[-1] == line
    assert done.out.splitlines()[-2].split() == ["all", "16", "0", "16", "0"]
    details = prepared.command("status", "results/small", "--details", cwd=here).stdout.splitlines()
    assert {line, "  data1, Worse, splits 0–3", "    RuntimeError: 45 rows"} <= set(details)
    assert "    Traceback (most recent call last):" in details


def test_a_long_table_is_counted_together(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    methods = {f"PLST{k}": FOUR["PLST"] for k in range(9)} | {
        f"Bad{k}": {"learner": "tests.small.Failing"} for k in range(3)
    }
    methods["Some"] = {"learner": {"tests.small.Failing": {"modulus": 45}}}
    experiment = small.experiment(here / "data" / "tiny.arff", methods=methods, metrics=["f1"])
    (here / "long.yaml").write_text(experiment_yaml(experiment))
    assert mlcdr("run", "long.yaml", "-q", "-j", 1).code == 1
    rows = [line.split("  ") for line in mlcdr("status", "results/small").out.splitlines()[2:7]]
    rows = [[cell.strip() for cell in row if cell] for row in rows]
    assert rows[0] == ["tiny", "9 methods", "72", "72", "0", "0"]
    assert rows[1:] == [["tiny", name, "4", "0", "4", "0"] for name in ("Bad0", "Bad1", "Bad2", "Some")]
    assert len(table(prepared.command("status", "results/small", "--details", cwd=here).stdout)) == 13


def test_a_smaller_plan_does_not_count_what_it_leaves_out(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    assert mlcdr("run", "e.yaml", "-q", "-j", 1, "--set", "splits.repeats=2").code == 0
    assert table(mlcdr("status", "results/small").out) == {("tiny", m): [4, 4, 0, 0] for m in ("PBR", "PLST")}


def test_while_it_runs_and_when_it_is_killed(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    waiting = {"learner": {"tests.small.Guess": {"gate": str(here / "gate")}}}
    methods = {"PLST": FOUR["PLST"], "Waiting": waiting}
    (here / "slow.yaml").write_text(experiment_yaml(small.experiment(here / "data" / "tiny.arff", methods=methods)))
    gate = Gate(here / "gate")
    gate.close(2)
    line, environment = ["run", "slow.yaml", "-q", "-j", "1"], {**os.environ, "PYTHONPATH": str(ROOT)}

    def done_trials() -> int:
        return sum(past.status == "done" for past in read_statuses(Path("results/small")).values())

    process = prepared.Prepared(line, here, environment)
    try:
        until(lambda: done_trials() == 6, "trials done", process)
        done = mlcdr("status", "results/small")
        assert done.out.startswith("results/small: running since ")
        assert table(done.out) == {("tiny", "PLST"): [8, 4, 0, 4], ("tiny", "Waiting"): [4, 2, 0, 2]}
        assert re.fullmatch(r"about [\d.]+ s left with 1 worker", done.out.splitlines()[-1])
        found = progress(Path("results/small"))
        assert found.seconds_left == pytest.approx(6 * found.costs["tiny"])
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(30)
    done = mlcdr("status", "results/small")
    assert "crashed: started at" in done.out.splitlines()[0]
    assert " needed with 1 worker" in done.out
    gate.close(1)
    process = prepared.Prepared(line, here, environment)
    try:
        until(lambda: done_trials() == 9, "trials done", process)
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(60)
    assert process.returncode == 130
    assert mlcdr("status", "results/small").out.startswith("results/small: interrupted at ")
    gate.open()
    assert mlcdr("run", "slow.yaml", "-q", "-j", 1).code == 0
    assert mlcdr("status", "results/small").out.startswith("results/small: finished at ")


def test_a_run_that_an_error_ended(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcdr.execution import writing

    def no_space(*_: object) -> None:
        raise ResultsError("scores.csv: cannot be written: No space\nleft on device")

    monkeypatch.setattr(writing, "write_frame", no_space)
    with pytest.raises(ResultsError):
        run(load_experiment("e.yaml"), Path("results"))
    found = progress(Path("results/small"))
    assert (found.run.state, found.run.error) == (
        "crashed",
        "ResultsError: scores.csv: cannot be written: No space left on device",
    )
    assert found.total.done == 16


def test_a_run_on_another_machine(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    with sqlite3.connect("results/small/trials.sqlite") as db:
        db.execute("UPDATE runs SET ended = NULL, outcome = NULL, process = 'elsewhere 1 5'")
    db.close()
    found = progress(Path("results/small")).run
    assert found == Run("unknown", found.started, "", 1, "elsewhere")
    assert "on elsewhere, not ended" in mlcdr("status", "results/small").out


GONE = f"{this_host()} {2**22 + 1}"  # no system numbers a process so


def test_a_run_whose_start_is_not_on_record(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    for process, state in ((GONE, "crashed"), (f"{this_host()} {os.getpid()}", "running")):
        with contextlib.closing(sqlite3.connect("results/small/trials.sqlite")) as db, db:
            db.execute("UPDATE runs SET ended = NULL, outcome = NULL, process = ?", [process])
        assert progress(Path("results/small")).run.state == state


def test_a_run_that_crashed_before_it_had_a_plan(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    """What it leaves to do is that of the run before it, for one worker; without one there is nothing to count."""
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    record = Path("results/small/trials.sqlite")
    with contextlib.closing(sqlite3.connect(record)) as db, db:
        db.execute("INSERT INTO runs (process, jobs) VALUES (?, 0)", [f"{GONE} 5"])
        db.execute("DELETE FROM trials WHERE split = 0")
    lines = mlcdr("status", "results/small").out.splitlines()
    assert "crashed: started at" in lines[0]
    assert lines[-1].endswith(" needed with 1 worker")
    with contextlib.closing(sqlite3.connect(record)) as db, db:
        db.execute("DELETE FROM planned")
    (line,) = mlcdr("status", "results/small").out.splitlines()
    assert "crashed: started at" in line


def test_what_cannot_be_read_takes_one_line(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    folder = here / "results" / "small"

    def told(*arguments: object) -> str:
        done = mlcdr(*arguments)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
        return done.err

    with sqlite3.connect(folder / "trials.sqlite") as db:
        db.execute("DELETE FROM runs")
    assert "no run has begun here" in told("status", folder)
    db.close()
    (folder / "trials.sqlite").write_bytes(b"spoilt" * 1000)
    assert "trials.sqlite: cannot be read: file is not a database" in told("status", folder)
    assert "trials.sqlite: cannot be read" in told("plan", "e.yaml")
    (folder / "trials.sqlite").unlink()
    assert "holds no trials.sqlite" in told("status", folder)
    assert "no such results folder" in told("status", "nowhere")
    assert "no such results folder" in told("retry", "nowhere", "--failed")
    assert "no such file" in told("plan", "nowhere.yaml")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (42.4, "42 s"), (200, "3 min 20 s"), (18600, "5 h 10 min")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


# -------------------------------------------------------------------- plan


def test_a_plan_is_what_a_run_then_does(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    methods = {**{name: FOUR[name] for name in ("PBR", "PLST")}, "Guess": {"learner": "tests.small.Guess"}}
    experiment = small.experiment(here / "data" / "tiny.arff", methods=methods)
    (here / "e.yaml").write_text(experiment_yaml(experiment))
    done = mlcdr("plan", "e.yaml", "--trust")
    assert done.code == 0
    assert not Path("results").exists(), "nothing is written"
    (row,) = [line for line in done.out.splitlines() if line.startswith("tiny")]
    # 5 points of 3 methods on 4 splits; the two label spaces share one fit over their two sizes
    assert row.split()[1:] == [*map(str, (60, 5, 6, 20, 0, 0, 20, 4, 12)), "?"]
    assert f"PBR, PLST: one fit at {SIZES} 50% serves {SIZES} 1 too" in done.out.splitlines()
    assert "20 trials to compute; no past timings of tiny in results/small" in done.out
    assert mlcdr("run", "e.yaml", "-q", "-j", 1, "--set", "splits.repeats=3").code == 0
    found = survey(experiment, Path("results")).datasets.iloc[0]
    assert (found.trials, found.done, found.pending, found.groups, found.fits) == (20, 15, 5, 1, 3)
    assert found.seconds == pytest.approx(5 * progress(Path("results/small")).costs["tiny"])
    report = run(experiment, Path("results"))
    assert (report.planned, report.kept, report.computed) == (found.trials, found.done, found.pending)
    assert mlcdr("plan", "e.yaml", "--trust").out.splitlines()[-1] == "0 trials to compute"


def test_a_plan_of_a_count_and_a_share_of_one_number(here: Path) -> None:
    arff = here / "data" / "tiny.arff"
    experiment = small.experiment(arff, methods={"PLST": FOUR["PLST"]}, sweep={SIZES: [1, "50%", 1.0]})
    found = survey(experiment, Path("results"))
    assert found.shared == (f"PLST: one fit at {SIZES} 1.0 serves {SIZES} 1, 50% too",)


def test_a_plan_tells_of_tuning(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    tune = {"grid": {"learner.alpha": [0.1, 1, 10]}, "folds": 4, "metric": "hamming_loss"}
    methods = {"Ridge": {"learner": "ridge", "tune": tune}}
    (here / "e.yaml").write_text(
        experiment_yaml(small.experiment(here / "data" / "tiny.arff", methods=methods, sweep={}))
    )
    assert "Ridge: each choice (scope split) fits 3 points on 4 folds" in mlcdr("plan", "e.yaml").out


# -------------------------------------------------------------------- retry


def test_only_what_failed_is_computed_again(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    Path("broken").touch()
    assert mlcdr("run", "mine.yaml", "-q", "-j", 1, "--set", "splits.repeats=6").code == 1
    folder = Path("results/small")
    failed = progress(folder).total.failed
    assert 0 < failed < 6, "some fail and some do not"
    still = mlcdr("retry", folder, "-j", 1)
    assert still.code == 1
    assert f"18 trials, {failed} newly computed" in still.err
    Path("broken").unlink()
    text = (folder / "experiment.yaml").read_text()
    (folder / "experiment.yaml").write_text(text.replace("repeats: 6", "repeats: 8"))  # six trials more are pending
    mended = mlcdr("retry", folder, "--failed", "-j", 1)
    assert mended.code == 0, mended.err
    assert f"24 trials, {failed} newly computed" in mended.err
    assert "6 trials pending; `mlcdr run results/small/experiment.yaml --out results` continues" in mended.err
    assert table(mlcdr("status", folder).out) == {("tiny", "PLST"): [16, 12, 0, 4], ("tiny", "Mine"): [8, 6, 0, 2]}
    assert mlcdr("status", "results").out.splitlines()[1].split()[1] == "incomplete"
    before = progress(folder).run
    nothing = mlcdr("retry", folder, "--failed", "-j", 1)
    assert (nothing.code, nothing.out) == (0, "")
    assert f"{folder}: no failed trials" in nothing.err.splitlines()
    assert "6 trials pending" in nothing.err
    assert progress(folder).run == before, "it is no run"
    assert "6 trials pending; `mlcdr run " in mlcdr("status", folder).out
    assert mlcdr("retry", folder, "--failed", "-j", 1, "--quiet").err == ""
    rest = mlcdr("run", folder / "experiment.yaml", "-j", 1)
    assert "24 trials, 6 newly computed" in rest.err
    piecemeal = (folder / "scores.csv").read_bytes()
    assert mlcdr("run", "mine.yaml", "-q", "-j", 1, "--out", "whole").code == 0
    assert (Path("whole/small") / "scores.csv").read_bytes() == piecemeal


def test_a_method_mended_in_its_source_is_tried_where_it_failed(here: Path) -> None:
    """Another source is another version of the method, whose every trial is pending; only where it failed is it run."""
    Path("broken").touch()
    assert prepared.command("run", "mine.yaml", "-q", "-j", "1", cwd=here).returncode == 1
    failed = progress(Path("results/small")).total.failed
    # of another length: Python may take old bytecode for a source of the same size and second
    Path("mine_to_mend.py").write_text(MINE.replace("broken", "repaired"))
    done = prepared.command("retry", "results/small", "--failed", "-j", "1", cwd=here)
    assert done.returncode == 0, done.stderr
    assert f"24 trials, {failed} newly computed" in done.stderr
    assert f"{8 - failed} trials pending" in done.stderr


def test_a_renamed_folder_is_not_retried(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    Path("broken").touch()
    assert mlcdr("run", "mine.yaml", "-q", "-j", 1).code == 1
    Path("results/small").rename("results/other")
    done = mlcdr("retry", "results/other", "--failed")
    assert (done.code, done.out) == (2, "")
    assert "name: is 'small'" in done.err
