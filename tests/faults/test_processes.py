"""Methods that fork, die with children, leave the folder, raise what ends programs, or whose source is edited.

Each is a method of a user's own in a run of two methods; whatever it does costs its trials, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mlcdr import processes
from mlcdr.errors import ConfigError
from mlcdr.execution import workers
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import GroupResult
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import RunReport, run
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.results.record import progress
from mlcdr.results.store import Store
from tests import prepared, small
from tests.faults.harness import until
from tests.small import FOUR, Guess

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

forks = pytest.mark.usefixtures("forked_workers")
TWO = {"kind": "shuffle", "repeats": 2, "train_size": 0.75, "seed": 1}


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


class Odd(Guess):
    """A guess that does something odd while it is fitted; `note` is a path that it may write to."""

    def __init__(self, what: str = "", note: str = "", random_state: int | None = None):
        super().__init__(random_state=random_state)
        self.what = what
        self.note = note

    def fit(self, X: Any, y: Any) -> Odd:
        getattr(self, f"_{self.what}")()
        super().fit(X, y)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _orphan(self, fork: Any = os.fork) -> None:
        child = fork()
        if child == 0:
            time.sleep(1000)
            os._exit(0)
        with Path(self.note).open("a") as note:
            note.write(f"{child}\n")
        os.kill(os.getpid(), signal.SIGKILL)

    def _orphan_of_c(self) -> None:
        self._orphan(ctypes.CDLL(None).fork)

    def _note(self) -> None:
        drawn = np.random.random()  # noqa: NPY002
        ends = signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
        noted = {"drawn": drawn, "collects": gc.isenabled(), "ends": ends, "threads": os.environ["OMP_NUM_THREADS"]}
        (Path(self.note) / str(os.getpid())).write_text(json.dumps(noted))
        until(lambda: len(list(Path(self.note).iterdir())) == 2, "other worker")

    def _twice(self) -> None:
        if child := os.fork():
            with Path(self.note).open("a") as note:
                note.write(f"{child}\n")

    def _child(self) -> None:
        if not Path(self.note).exists():
            child = os.fork()
            if child == 0:
                time.sleep(1000)
                os._exit(0)
            Path(self.note).write_text(str(child))

    def _elsewhere(self) -> None:
        os.chdir(self.note)

    def _exit(self) -> None:
        sys.exit(0)

    def _interrupt(self) -> None:
        raise KeyboardInterrupt

    def _cancel(self) -> None:
        raise asyncio.CancelledError

    def _from_none(self) -> None:
        try:
            sys.exit(3)
        except SystemExit:
            raise ValueError("what I mean") from None

    def _cyclic(self) -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        raise first

    def _surrogate(self) -> None:
        raise ValueError("no \udcff text")

    def _endless(self) -> None:
        raise ValueError("x" * 10**7)

    def _deep(self) -> None:
        error: BaseException = ValueError("the first")
        for _ in range(3000):
            later = ValueError("later")
            later.__cause__, error = error, later
        raise error


def odd(what: str, note: object = "") -> dict[str, Any]:
    return {"learner": {f"{__name__}.Odd": {"what": what, "note": str(note)}}}


def run_odd(arff: Path, out: Path, what: str, note: object = "", jobs: int = 1, **changes: Any) -> RunReport:
    methods = {"PLST": FOUR["PLST"], "Odd": odd(what, note)}
    return run(small.experiment(arff, methods=methods, splits=TWO, **changes), out, jobs)


def end(pids: list[str]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGKILL)


# -------------------------------------------------------------------- forks of the run

FORKING = """
import ctypes, sys, threading
import numpy
from mlcdr.processes import may_fork
assert may_fork(), "the threads of OpenBLAS are no hindrance"
if sys.argv[1] == "Python's":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
else:
    c = ctypes.CDLL(None)
    c.pthread_create(ctypes.byref(ctypes.c_ulong()), None, c.pause, None)
assert not may_fork(), "this thread may hold a lock"
"""


@pytest.mark.parametrize("thread", ["Python's", "a library's"])
def test_workers_are_forks_only_where_no_other_thread_may_hold_a_lock(tmp_path: Path, thread: str) -> None:
    (tmp_path / "p.py").write_text(FORKING)
    done = small.python("-W", "error", "p.py", thread, cwd=tmp_path, OPENBLAS_NUM_THREADS="4")
    assert done.returncode == 0, done.stderr


@forks
@pytest.mark.usefixtures("_own_signals")
def test_forks_draw_other_numbers_and_are_in_the_state_of_a_new_interpreter(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGHUP, lambda number, frame: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    notes = tmp_path / "notes"
    notes.mkdir()
    gc.disable()  # as the command line
    try:
        report = run_odd(arff, tmp_path / "out", "note", notes, jobs=2)
    finally:
        gc.enable()
    assert report.failures == []
    first, second = (json.loads(path.read_text()) for path in notes.iterdir())
    assert first.pop("drawn") != second.pop("drawn")
    assert first == second == {"collects": True, "ends": True, "threads": "1"}


# -------------------------------------------------------------------- children


@forks
@pytest.mark.parametrize("what", [pytest.param("orphan", marks=pytest.mark.slow), "orphan_of_c"])
def test_a_worker_that_dies_and_leaves_a_child_is_seen_to_be_dead(arff: Path, tmp_path: Path, what: str) -> None:
    """The child has the worker's end of the pipe, which does not end, but where Python itself forked it."""
    pids = tmp_path / "pids"
    try:
        report = run_odd(arff, tmp_path / "out", what, pids, limits={"seconds": 500})
        assert (report.done, report.crashed) == (4, 2)
        for pid in pids.read_text().split():
            until(lambda pid=pid: gone(pid), "end of the child")
    finally:
        end(pids.read_text().split())


def gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


@forks
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_that_forks_and_comes_back_twice_goes_on_once(arff: Path, tmp_path: Path, jobs: int) -> None:
    report = run_odd(arff, tmp_path / "out", "twice", tmp_path / "fits", jobs)
    children = (tmp_path / "fits").read_text().split()
    until(lambda: all(map(gone, children)), "end of the children")
    assert (report.done, report.computed, report.interrupted) == (6, 6, False)
    assert (tmp_path / "fits").read_text().split() == children
    assert len(children) == 2
    db = sqlite3.connect(report.folder / "trials.sqlite")
    assert db.execute("SELECT count(*), count(DISTINCT process) FROM runs").fetchone() == (1, 1)
    db.close()
    assert progress(report.folder).run.state == "finished"


def test_a_child_of_a_method_does_not_keep_the_folder_locked(arff: Path, tmp_path: Path) -> None:
    try:
        first = run_odd(arff, tmp_path / "out", "child", tmp_path / "pid")
        assert first.done == 6
        again = run_odd(arff, tmp_path / "out", "child", tmp_path / "pid")
        assert again.kept == 6
    finally:
        end([(tmp_path / "pid").read_text()])


# -------------------------------------------------------------------- where it goes, and what it raises


@forks
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_may_leave_the_folder(arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """Everything is written where it would have been, and data sets named by relative paths are found."""
    small.write_dataset(tmp_path / "data", "other")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    methods = {"PLST": FOUR["PLST"], "Odd": odd("elsewhere", elsewhere)}
    data = ["data/tiny.arff", "data/other.arff"]
    experiment = small.experiment(arff, methods=methods, splits=TWO, datasets=data, keep={"scores": True})
    report = run(experiment, Path("out"), jobs)
    assert (report.done, report.failures) == (12, [])
    assert list(elsewhere.iterdir()) == []
    written = {path.name for path in (tmp_path / "out" / "small").iterdir()}
    assert {"scores.csv", "summary.csv", "manifest.json", "trials.sqlite", "kept"} <= written
    assert Path.cwd() == tmp_path


RAISED = {
    "exit": "SystemExit: 0",
    "interrupt": "KeyboardInterrupt",
    "cancel": "CancelledError",
    "from_none": "ValueError: what I mean",
    "cyclic": "ValueError: first",
    "surrogate": r"ValueError: no \udcff text",
    "endless": "characters left out",
    "deep": "characters left out",
}


@forks
@pytest.mark.parametrize("jobs", [1, 2])
def test_whatever_a_method_raises_is_its_trials_failure(arff: Path, tmp_path: Path, jobs: int) -> None:
    methods = {"PLST": FOUR["PLST"], **{what: odd(what) for what in RAISED}}
    report = run(small.experiment(arff, methods=methods, splits=TWO), tmp_path, jobs)
    assert (report.done, len(report.failures), report.crashed, report.interrupted) == (4, 16, 0, False)
    for trial, error in report.failures:
        assert RAISED[trial.method] in error
        assert len(error) < 25_000
        assert trial.method != "from_none" or "SystemExit" not in error
    assert (tmp_path / "small" / "summary.csv").exists()


def test_a_module_that_exits_when_it_is_imported_is_a_mistake_in_a_line(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exits_at_once.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="cannot be imported: SystemExit"):
        small.experiment(arff, methods={"Own": {"learner": "exits_at_once.Own"}})


# -------------------------------------------------------------------- sources that change


SOURCE = """
from sklearn.base import BaseEstimator, ClassifierMixin
import numpy as np

class Own(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_ = y.shape[1]
        return self
    def predict(self, X):
        return np.full((X.shape[0], self.n_), {constant})
    def __sklearn_is_fitted__(self):
        return True
"""


@pytest.mark.usefixtures("new_workers")
@pytest.mark.parametrize(
    ("edited", "told"),
    [
        (SOURCE.format(constant=1), "the source code of Own"),
        pytest.param("1 +", "cannot be imported: SyntaxError", marks=pytest.mark.slow),
    ],
    ids=["edited", "broken"],
)
def test_a_method_edited_before_a_worker_starts_is_a_failure_that_says_so(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str, told: str
) -> None:
    name = f"edited_{'x' if edited == '1 +' else 'y'}"
    source = tmp_path / f"{name}.py"
    source.write_text(SOURCE.format(constant=0))
    monkeypatch.syspath_prepend(str(tmp_path))
    methods = {"PLST": FOUR["PLST"], "Own": {"learner": f"{name}.Own"}}

    class Editing(Listener):
        def begin(self, name: str, total: int, kept: int) -> None:
            source.write_text(edited)

    experiment = small.experiment(arff, methods=methods, splits=TWO, limits={"seconds": 500})  # by one worker
    report = run(experiment, tmp_path / "out", 1, listener=Editing())
    assert (report.done, len(report.failures), report.crashed) == (4, 2, 0)
    assert all(trial.method == "Own" and told in error for trial, error in report.failures)


@forks
def test_a_fork_computes_what_was_planned_though_the_source_is_edited(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "edited_z.py"
    source.write_text(SOURCE.format(constant=0))
    monkeypatch.syspath_prepend(str(tmp_path))

    class Editing(Listener):
        def begin(self, name: str, total: int, kept: int) -> None:
            source.write_text(SOURCE.format(constant=1))

    experiment = small.experiment(arff, methods={"Own": {"learner": "edited_z.Own"}}, splits=TWO, sweep={})
    calm = run(experiment, tmp_path / "calm")
    report = run(experiment, tmp_path / "out", 2, listener=Editing())
    assert (report.done, report.failures) == (2, [])
    assert (report.folder / "scores.csv").read_bytes() == (calm.folder / "scores.csv").read_bytes()


# -------------------------------------------------------------------- signals and workers


@pytest.fixture
def _own_signals() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in processes.ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Signal:
    """Sends a signal while it is collected, where Python drops what the handler raises."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("_own_signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("when", ["before the run", "at its beginning"])
def test_a_ctrl_c_whose_exception_is_lost_stops_the_run(arff: Path, tmp_path: Path, jobs: int, when: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    processes.record_ctrl_c()

    class Losing(Listener):
        def begin(self, name: str, total: int, kept: int) -> None:
            if when != "before the run":
                Signal()

    if when == "before the run":
        Signal()
    report = run(small.experiment(arff), tmp_path, jobs, listener=Losing())
    assert report.interrupted
    assert report.done < 16


@pytest.mark.usefixtures("_own_signals")
def test_a_terminal_that_is_closed_stops_the_run(arff: Path, tmp_path: Path) -> None:
    """SIGHUP: the end is on record, and the tables are written."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    class Closing(Listener):
        def begin(self, name: str, total: int, kept: int) -> None:
            os.kill(os.getpid(), signal.SIGHUP)

    report = run(small.experiment(arff), tmp_path, 1, listener=Closing())
    assert report.interrupted
    assert progress(report.folder).run.state == "interrupted"
    assert (report.folder / "scores.csv").exists()


@forks
@pytest.mark.parametrize("possible", [0, 1])
def test_workers_that_the_system_does_not_allow(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, possible: int
) -> None:
    """Fewer do the work, too; with none at all the run ends as one that is interrupted."""
    started = []

    class Worker(workers._Worker):
        def __init__(self, *arguments: Any) -> None:
            if len(started) == possible:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            started.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(workers, "_Worker", Worker)
    report = run(small.experiment(arff), tmp_path, 3)
    assert (report.done, report.interrupted) == ((16, False) if possible else (0, True))
    assert progress(report.folder).run.state == ("finished" if possible else "interrupted")


def test_a_run_with_trials_that_came_to_no_end_is_not_finished(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Computer.parts

    def forgetful(self: Computer, group: Any, seconds: float) -> Iterator[GroupResult]:
        for part in parts(self, group, seconds):
            yield GroupResult(list(part.results)[1:], part.seconds)

    monkeypatch.setattr(Computer, "parts", forgetful)
    report = run(small.experiment(arff), tmp_path)
    assert report.interrupted
    assert progress(report.folder).run.state == "interrupted"


# -------------------------------------------------------------------- the clock of limits


class Compiled(Guess):
    """A guess that is compiled until the run's clock has gone on by more than a trial may take."""

    @classmethod
    def warm_up(cls) -> None:
        begun, over = (Path(os.environ["TEST_COMPILING"]) / name for name in ("begun", "over"))
        begun.touch()
        until(over.exists, "end of the compiling")


@forks
def test_compiling_is_not_charged_to_the_limit(arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_COMPILING", str(tmp_path))
    ahead = 0.0
    looks = 0

    def clock() -> float:
        nonlocal ahead, looks
        if (tmp_path / "begun").exists():
            ahead, looks = 200.0, looks + 1
            if looks == 10:  # the run has looked, and has not ended the worker
                (tmp_path / "over").touch()
        return time.monotonic() + ahead

    monkeypatch.setattr(workers, "time", SimpleNamespace(**{**vars(time), "monotonic": clock}))
    methods = {"PLST": FOUR["PLST"], "Compiled": {"learner": f"{__name__}.Compiled"}}
    report = run(small.experiment(arff, methods=methods, splits=TWO, limits={"seconds": 100}), tmp_path)
    assert (report.done, report.failures) == (6, [])


# -------------------------------------------------------------------- standard streams


def command(folder: Path, line: str, arff: Path) -> subprocess.CompletedProcess[str]:
    """A line of a shell, with `mlcdr` and the experiment `e.yaml`."""
    write_experiment(folder, arff)
    if line.startswith("mlcdr "):  # the folder of the checkout may have that name too
        line = f"{sys.executable} -m {line}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    shell = ["bash", "-c", f"set -o pipefail; {line}"]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def write_experiment(folder: Path, arff: Path) -> None:
    methods = {"PLST": FOUR["PLST"], "Odd": {"learner": f"{__name__}.Printing"}}
    (folder / "e.yaml").write_text(experiment_yaml(small.experiment(arff, methods=methods, splits=TWO)))


class Printing(Guess):
    """A guess that prints much, by Python and past it."""

    def fit(self, X: Any, y: Any) -> Printing:
        for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
            print("x" * 10_000, file=stream, flush=True)
            with contextlib.suppress(OSError):
                os.write(number, b"junk")
        super().fit(X, y)
        return self


@pytest.mark.parametrize(
    "redirection",
    [
        ">&- 2>&- <&-",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("2>&1 | head -c 1", "2>/dev/full", "2>&-", ">&-")),
    ],
    ids=str,
)
def test_output_that_fails_ends_no_run(arff: Path, tmp_path: Path, redirection: str) -> None:
    jobs = 2 if redirection == "2>/dev/full" else 1
    ended = command(tmp_path, f"mlcdr run e.yaml --out out -j {jobs} {redirection}", arff)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    all_is_there(tmp_path / "out" / "small")


def test_a_full_disk_for_its_output_ends_no_run_and_is_reported(arff: Path, tmp_path: Path) -> None:
    write_experiment(tmp_path, arff)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    begun = prepared.Prepared(["run", "e.yaml", "--out", "out", "-j", "1"], tmp_path, environment, out="/dev/full")
    _, errors = begun.communicate(timeout=300)
    assert begun.returncode == 2, errors
    assert "Traceback" not in errors
    assert "error: standard output: No space left on device" in errors
    all_is_there(tmp_path / "out" / "small")


def all_is_there(folder: Path) -> None:
    assert progress(folder).total.done == 6
    for path in folder.iterdir():  # the number of a closed stream is not a file's
        if path.is_file():
            assert b"junk" not in path.read_bytes(), path


@pytest.mark.parametrize("line", ["mlcdr methods | head -1", "mlcdr --help | head -1", "mlcdr methods 2>&1 >&-"])
def test_a_listing_whose_reader_has_gone_ends_quietly(arff: Path, tmp_path: Path, line: str) -> None:
    ended = command(tmp_path, line, arff)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_listing_that_cannot_be_written_says_so(arff: Path, tmp_path: Path) -> None:
    ended = command(tmp_path, "mlcdr methods >/dev/full", arff)
    assert (ended.returncode, ended.stderr) == (2, "error: standard output: No space left on device\n")


def test_output_that_does_not_wait_for_its_reader_is_whole(arff: Path, tmp_path: Path) -> None:
    """A pipe that is set not to block, as a terminal may be left by another program, is waited for."""
    program = (
        "import os, sys\nos.set_blocking(1, False)\n"
        "from mlcdr.standard_streams import protect_streams\nprotect_streams()\n"
        "for _ in range(100): print('x' * 9_999)\n"
    )
    (tmp_path / "p.py").write_text(program)
    ended = command(tmp_path, f"{sys.executable} p.py | (sleep 1; wc -c)", arff)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "1000000", "")


@pytest.mark.parametrize("killed", [False, True])
def test_the_lock_is_free_when_only_a_child_is_left(tmp_path: Path, killed: bool) -> None:
    """Of a run that was killed, and of one that has ended."""
    reader, writer = os.pipe()
    run_of_child = os.fork()
    if run_of_child == 0:
        with contextlib.suppress(BaseException):
            store = Store(tmp_path / "r").__enter__()
            child = os.fork()
            if child == 0:
                os.write(writer, str(os.getpid()).encode())
                time.sleep(1000)
            if not killed:
                store.__exit__(None, None, None)
        os._exit(0)
    os.waitpid(run_of_child, 0)
    child = int(os.read(reader, 20))
    try:
        with Store(tmp_path / "r"):
            pass
    finally:
        end([str(child)])
        os.close(reader)
        os.close(writer)
