"""What disturbs a run, and what is to be there afterwards: for the tests of faults and for `make torture`.

The kills come at random moments, from a seed: after so many trials more on record, or so long after the start, and a
random moment later. After each: no process is left, the record is whole (`PRAGMA integrity_check`) and has
lost nothing that was there. When a run gets to its end its `scores.csv` is an undisturbed run's.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.trials import Trial, TrialResult
from mlcdr.results.store import Store, list_rows
from tests import prepared, small
from tests.prepared import Prepared
from tests.small import FOUR


class Run:
    """A run in a session of its own, so that what it leaves behind can be found.

    `fresh`: in a new interpreter, after `before` if that is given; else in one that has its imports behind it, of which
    the workers are forks if `forked`.
    """

    process: subprocess.Popen[str] | Prepared

    def __init__(
        self,
        folder: Path,
        out: Path,
        *options: str,
        fresh: bool = False,
        forked: bool = True,
        before: Callable[[], object] | None = None,
    ):
        self.out = out / "small"
        arguments = ["run", "e.yaml", "--out", str(out), *options]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        if not fresh and before is None:
            self.process = Prepared(arguments, folder, environment, forked)
            self.pid = self.process.pid
            return
        line = [sys.executable, "-m", "mlcdr", *arguments]

        def begin() -> None:
            # wherever the tests run: in a shell's background a signal may be ignored from the start
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if before is not None:
                before()

        self.process = subprocess.Popen(
            line,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=begin,
        )
        self.pid = self.process.pid

    def members(self) -> list[int]:
        """All living processes of the session."""
        return [pid for pid, session, _ in processes() if session == self.pid]

    def workers(self) -> list[int]:
        """Its children that compute, be they forks or new interpreters (which joblib watches by another)."""
        started = ("popen_loky", "tests.prepared", "-m mlcdr")
        found = (pid for pid, _, line in processes() if any(each in line for each in started))
        return [pid for pid in found if parent_of(pid) == self.pid]

    def until_some_are_done(self) -> None:
        """Wait until the record holds a split, and the run is still going."""
        path = self.out / "trials.sqlite"
        until(lambda: path.exists() and recorded(path) >= 9, "trials recorded", self.process)

    def end(self) -> tuple[int, str]:
        """Exit code and standard error."""
        _, errors = self.process.communicate(timeout=300)
        return self.process.returncode, errors

    def nobody_stays(self) -> None:
        """Wait for the session to be empty: a worker looks up every half second, once it has imported what it needs."""
        until(lambda: not self.members(), "processes gone")


def processes() -> Iterator[tuple[int, int, str]]:
    """(pid, session, command line) of what lives, zombies left out."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, session = (entry / "stat").read_text().rpartition(") ")[2].split()[:4]
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if state != "Z":
                yield int(entry.name), int(session), line


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return -1


def recorded(path: Path) -> int:
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    try:
        return int(db.execute("SELECT count(*) FROM trials").fetchone()[0])
    except sqlite3.Error:  # not made yet
        return 0
    finally:
        db.close()


def until(
    true: Callable[[], object],
    what: str,
    process: subprocess.Popen[str] | Prepared | None = None,
    seconds: float = 300.0,
) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"no {what} in {seconds} s"
        if process is not None and process.poll() is not None:
            pytest.fail(f"ended before {what}: {process.communicate(timeout=10)[1]}")
        time.sleep(0.05)


# -------------------------------------------------------------------- kills of whole runs

KINDS = ("kill -9 of the run", "kill -9 of a worker", "kill -9 of both", "SIGTERM", "SIGINT")
_SPLITS = 30
_EACH = 3  # trials of a split


def prepare(folder: Path) -> None:
    """An experiment of 30 groups of three trials, each of which takes a moment; its results in `undisturbed`."""
    arff = small.write_dataset(folder / "data", n=100)
    methods = {"PLST": FOUR["PLST"], "Slow": {"learner": {"tests.small.Guess": {"seconds": 0.01}}}}
    splits = {"kind": "shuffle", "repeats": _SPLITS, "train_size": 0.75, "seed": 1}
    (folder / "e.yaml").write_text(experiment_yaml(small.experiment(arff, methods=methods, splits=splits)))
    done = prepared.command("run", "e.yaml", "--out", "undisturbed", "-q", "-j", "1", cwd=folder)
    assert done.returncode == 0, done.stderr


def kill_runs(folder: Path, number: int, seed: int, fresh: bool = False) -> Counter[str]:
    """Disturb that many runs of `prepare`'s experiment, one after another; how often each kind of kill came.

    A fifth of them, early: at a moment of the first seconds, in which a new interpreter imports. The others are in new
    interpreters, too, if `fresh`.
    Also counted: results folders that came to their end (`ends`), runs that were over before they could be disturbed
    (`too late`), and the rows of `trials` that were on record when a run was killed (`trials kept`).
    """
    rng = random.Random(seed)
    tally: Counter[str] = Counter()
    count = 0
    while sum(tally[kind] for kind in KINDS) < number:
        out = folder / f"out{count}"
        count += 1
        before: set[tuple] = set()
        code = None
        while code != 0:
            enough = sum(tally[kind] for kind in KINDS) >= number
            code, kind = _run_once(folder, out, None if enough else rng.choice(KINDS), rng, fresh)
            tally[kind] += bool(kind)
            after = whole(out / "small" / "trials.sqlite")
            assert before <= after, "a finished trial was lost"
            tally["trials kept"] += len(after - before) if code else 0
            before = after
        undisturbed = folder / "undisturbed" / "small"
        assert (out / "small" / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()
        assert len(before) == _SPLITS * _EACH
        tally["ends"] += 1
    return tally


def _run_once(folder: Path, out: Path, kind: str | None, rng: random.Random, fresh: bool) -> tuple[int, str]:
    """Run, and disturb the run; the exit code, and what was done to it (nothing, where it was over before)."""
    jobs = "2" if kind in KINDS[1:3] or rng.random() < 0.1 else "1"
    early = rng.random() < 0.2
    run = Run(folder, out, "-q", "-j", jobs, fresh=fresh or (early and kind is not None))
    if kind is not None and _at_random(run, early, jobs == "2", rng):
        workers = run.workers()
        if kind in ("kill -9 of a worker", "kill -9 of both"):
            for worker in workers[: 1 if "worker" in kind else 2]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        if kind != "kill -9 of a worker":
            name = kind if kind.startswith("SIG") else "SIGKILL"
            # Ctrl-C reaches all of them, and so does a scheduler's signal, half of the time.
            everybody = name != "SIGKILL" and rng.random() < 0.5
            (os.killpg if everybody else os.kill)(run.pid, signal.Signals[name])
    else:
        kind = "too late" if kind is not None else ""
    code, errors = run.end()
    run.nobody_stays()
    # A signal that comes before the program has set up what catches it ends it as any other.
    assert code in (0, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), errors
    assert code >= 0 or kind != "kill -9 of a worker", errors
    return code, kind


def _at_random(run: Run, early: bool, workers: bool, rng: random.Random) -> bool:
    """Wait for a random moment; False if the run is over by then."""
    more, path = rng.randrange(1, 20), run.out / "trials.sqlite"
    there = recorded(path) if path.exists() else 0
    end = time.monotonic() + (rng.uniform(0.0, 3.0) if early else 100.0)
    while run.process.poll() is None and time.monotonic() < end:
        found = (path.exists() and recorded(path)) or 0
        if not early and found >= there + more and (not workers or run.workers()):
            break
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 0.05))
    return run.process.poll() is None


def whole(path: Path) -> set[tuple]:
    """The finished trials of a record, which is found whole: (key, split)."""
    if not path.exists():
        return set()
    db = sqlite3.connect(path)  # may write: a kill can leave a transaction to roll back
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'trials'").fetchone()[0]:
            return set()
        failed = db.execute("SELECT error FROM trials WHERE status = 'failed'").fetchall()
        assert failed == [], failed
        return set(db.execute("SELECT key, split FROM trials").fetchall())
    finally:
        db.close()


# -------------------------------------------------------------------- kills of a writer


def kill_writers(folder: Path, number: int, seed: int) -> Counter[str]:
    """Kill that many processes that record trials and do nothing else; how many groups were on record.

    A writer says so when a group is recorded. What it said is there; of what it did not say there is at most one group
    more, and that is whole.
    """
    rng = random.Random(seed)
    arff = small.write_dataset(folder / "data")
    _, (trial, *_) = small.planned(small.experiment(arff))
    tally: Counter[str] = Counter()
    path, written = folder / "0" / "trials.sqlite", 0
    for count in range(number):
        if count % 50 == 0:
            path, written = folder / str(count) / "trials.sqlite", 0
        told = _kill_writer(path.parent, trial, written, rng)
        found = whole(path)
        splits = {split for _, split in found}
        assert splits == set(range(len(splits))), "a group was lost, or is there in part"
        assert len(found) == 5 * len(splits)
        assert told <= len(splits) <= told + 1, (told, len(splits))
        tally["groups recorded"] += len(splits) - written
        tally["groups recorded that the writer could not tell"] += len(splits) - told
        written = len(splits)
    tally["writers"] = number
    return tally


def _kill_writer(folder: Path, trial: Trial, first: int, rng: random.Random) -> int:
    """Start a writer at the group `first` and kill it; the number of the groups that it had told were recorded."""
    patience, delay = rng.randrange(4), rng.uniform(0.0, 0.004)
    reader, writer = os.pipe()
    child = os.fork()  # not a new Python: three hundred of these would take minutes to come to life
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reader)
            _write(folder, trial, first, writer)
        os._exit(1)
    os.close(writer)
    told = first
    with os.fdopen(reader, "rb", buffering=0) as heard:
        for _ in range(patience):
            told += len(heard.read(1))
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the writer ended by itself"
        return told + len(heard.read())


def _write(folder: Path, trial: Trial, first: int, pipe: int) -> None:
    """Record group after group, of five trials each, for ever."""
    from dataclasses import replace

    with Store(folder) as store:
        store.begin({trial.key: trial}, 1)
        for split in range(first, first + 10**6):
            trials = {f"{split}-{i}": replace(trial, key=f"{split}-{i}", split=split) for i in range(5)}
            scores = [TrialResult(key, {"f1": 0.5, "hamming_loss": 0.25}) for key in trials]
            store.record(list_rows(trials, scores, 0.1))
            os.write(pipe, b".")
