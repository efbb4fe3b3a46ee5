"""Runs that are killed, interrupted or lose a worker: what was done is kept, and nobody stays behind.

A gate keeps a run from being done before it is disturbed, however quick the machine: one method of each split waits
there, and only so many pass.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcdr.experiment.loading import experiment_yaml
from tests import prepared, small
from tests.faults.harness import Run, until
from tests.small import FOUR, Gate

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

SPLITS = 10
SOME = 5  # splits that pass the gate, where some shall


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment whose splits wait at the gate, and its undisturbed results in `undisturbed`."""
    folder = tmp_path_factory.mktemp("interrupted")
    arff = small.write_dataset(folder / "data", n=100)
    waiting = {"learner": {"tests.small.Guess": {"gate": str(folder / "gate")}}}
    splits = {"kind": "shuffle", "repeats": SPLITS, "train_size": 0.75, "seed": 1}
    experiment = small.experiment(arff, methods={**FOUR, "Waiting": waiting}, splits=splits)
    (folder / "e.yaml").write_text(experiment_yaml(experiment))
    done = prepared.command("run", "e.yaml", "--out", "undisturbed", "-q", "-j", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def gate(folder: Path) -> Iterator[Gate]:
    """The gate of that experiment: closed, but for some."""
    gate = Gate(folder / "gate")
    gate.close(SOME)
    yield gate
    gate.open()


def goes_on(folder: Path, gate: Gate, out: Path, *options: str) -> None:
    """The same command again: computes what is missing, to the same result as an undisturbed run."""
    db = sqlite3.connect(out / "small" / "trials.sqlite")  # may write: a kill can leave a transaction to roll back
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    before = int(db.execute("SELECT count(*) FROM trials").fetchone()[0])
    assert 0 < before < SPLITS * 9
    db.close()
    gate.open()
    done = prepared.command("run", "e.yaml", "--out", out, *options, cwd=folder, forked=True)
    assert done.returncode == 0, done.stderr
    assert f"{SPLITS * 9 - before} newly computed" in done.stderr
    same_as_undisturbed(folder, out)


def same_as_undisturbed(folder: Path, out: Path) -> None:
    for name in ("scores.csv", "summary.csv"):
        assert (out / "small" / name).read_bytes() == (folder / "undisturbed" / "small" / name).read_bytes()


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_kill_9_of_the_run(folder: Path, gate: Gate, tmp_path: Path, jobs: str) -> None:
    run = Run(folder, tmp_path, "-j", jobs)
    run.until_some_are_done()
    assert len(run.workers()) == (0 if jobs == "1" else 2)
    os.kill(run.pid, signal.SIGKILL)
    assert run.end()[0] == -signal.SIGKILL
    run.nobody_stays()
    goes_on(folder, gate, tmp_path, "-j", jobs)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_kill_9_while_the_workers_start(folder: Path, gate: Gate, tmp_path: Path, delay: float) -> None:
    gate.close(0)
    run = Run(folder, tmp_path, "-j", "1", "--set", "limits.seconds=500", forked=False)  # a worker, for the limit
    until(run.workers, "worker", run.process)
    time.sleep(delay)
    os.kill(run.pid, signal.SIGKILL)
    run.end()
    run.nobody_stays()


def test_kill_9_of_a_worker(folder: Path, gate: Gate, tmp_path: Path) -> None:
    run = Run(folder, tmp_path, "-j", "2")
    run.until_some_are_done()
    os.kill(run.workers()[0], signal.SIGKILL)
    gate.open()
    code, errors = run.end()
    assert code == 0, errors
    assert f"{SPLITS * 9} trials, all newly computed" in errors
    run.nobody_stays()
    same_as_undisturbed(folder, tmp_path)


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (signal.SIGINT, "-j 1"),
        pytest.param(signal.SIGINT, "-j 2", marks=pytest.mark.slow),
        (signal.SIGTERM, "-j 1"),
        pytest.param(signal.SIGTERM, "-j 2", marks=pytest.mark.slow),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_a_signal_stops_the_run(folder: Path, gate: Gate, tmp_path: Path, number: signal.Signals, options: str) -> None:
    run = Run(folder, tmp_path, *options.split())
    run.until_some_are_done()
    if number == signal.SIGINT:
        os.killpg(run.pid, number)  # Ctrl-C reaches the workers too
    else:
        os.kill(run.pid, number)
    code, errors = run.end()
    assert code == 130, errors
    assert "are finished and saved; run the same command again to continue" in errors
    assert not [line for line in errors.splitlines() if "Traceback" in line or "Warning" in line], errors
    run.nobody_stays()
    partial = (tmp_path / "small" / "scores.csv").read_text().splitlines()
    assert set(partial) < set((folder / "undisturbed" / "small" / "scores.csv").read_text().splitlines())
    if number == signal.SIGINT:
        goes_on(folder, gate, tmp_path, "-j", "1")


@pytest.mark.parametrize("delay", [0.05, 0.6])
def test_ctrl_c_before_the_work_begins(folder: Path, gate: Gate, tmp_path: Path, delay: float) -> None:
    run = Run(folder, tmp_path, "-j", "2", forked=False)
    time.sleep(delay)
    os.killpg(run.pid, signal.SIGINT)
    assert run.end()[0] in (130, -signal.SIGINT)
    run.nobody_stays()


def test_ctrl_c_while_the_workers_start(folder: Path, gate: Gate, tmp_path: Path) -> None:
    gate.close(0)
    run = Run(folder, tmp_path, "-j", "2", forked=False)
    until(lambda: len(run.workers()) == 2, "workers", run.process)
    time.sleep(0.1)  # they import now
    os.killpg(run.pid, signal.SIGINT)
    code, errors = run.end()
    assert code == 130
    assert errors.splitlines()[1:] == [  # the first says which modules it imports
        f"small: {SPLITS * 9} trials",
        f"interrupted: 0 of {SPLITS * 9} trials are finished and saved; run the same command again to continue",
    ]
    run.nobody_stays()


def test_the_workers_of_a_command_are_forks_of_it(folder: Path, gate: Gate, tmp_path: Path) -> None:
    """With all libraries that a run imports, and what threads they have."""
    gate.close(0)
    run = Run(folder, tmp_path, "-j", "2")
    until(lambda: len(run.workers()) == 2, "workers", run.process)
    assert len({Path(f"/proc/{pid}/cmdline").read_bytes() for pid in run.members()}) == 1, "that of the run"
    os.kill(run.pid, signal.SIGTERM)
    assert run.end()[0] == 130
    run.nobody_stays()


def test_two_runs_of_one_folder_at_once(folder: Path, gate: Gate, tmp_path: Path) -> None:
    run = Run(folder, tmp_path, "-j", "1")
    run.until_some_are_done()
    second = prepared.command("run", "e.yaml", "--out", tmp_path, "-q", cwd=folder)
    assert second.returncode == 2
    assert second.stderr.splitlines() == [
        f"error: {tmp_path / 'small'}: another run is writing this folder; wait for it or choose --out"
    ]
    assert run.process.poll() is None
    os.kill(run.pid, signal.SIGTERM)
    assert run.end()[0] == 130
