"""A full disk, folders that may not be written, a clock that jumps, two runs at once, one or two BLAS threads.

Disks are file systems in memory, mounted for the test where that may be done; elsewhere a limit on the size of files
(`RLIMIT_FSIZE`, which fails with "File too large" where a disk fails with "No space left") stands for the full disk.
Permissions bite although the tests may run as root: the run gives up the capability to pass them by. The clock is the
program's own (`time.time`), patched in the run's process; that of the file system and of SQLite stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from mlcdr.experiment.loading import experiment_yaml
from tests import prepared, small
from tests.faults.harness import Run, until, whole
from tests.small import FOUR

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="for Linux")

SPLITS = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment and its undisturbed results."""
    folder = tmp_path_factory.mktemp("surroundings")
    arff = small.write_dataset(folder / "data", n=100)
    splits = {"kind": "shuffle", "repeats": SPLITS, "train_size": 0.75, "seed": 1}
    slow = {"learner": {"tests.small.Guess": {"seconds": 0.05}}}
    experiment = small.experiment(arff, methods={**FOUR, "Slow": slow}, splits=splits)
    (folder / "e.yaml").write_text(experiment_yaml(experiment))
    done = prepared.command("run", "e.yaml", "--out", "undisturbed", "-q", "-j", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def goes_on(folder: Path, out: Path) -> None:
    """The same command again ends as an undisturbed run."""
    before = whole(out / "small" / "trials.sqlite")
    done = prepared.command("run", "e.yaml", "--out", out, "-q", "-j", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert before <= whole(out / "small" / "trials.sqlite")
    for name in ("scores.csv", "summary.csv"):
        assert (out / "small" / name).read_bytes() == (folder / "undisturbed" / "small" / name).read_bytes()


def mount(place: Path, *options: str) -> bool:
    line = ["mount", *options, str(place)]
    return subprocess.run(line, capture_output=True).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, in memory."""
    place = tmp_path / "disk"
    place.mkdir()
    if not mount(place, "-t", "tmpfs", "-o", "size=4m", "none"):
        pytest.skip("may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def told_in_a_line(run: Run, *words: str) -> None:
    code, errors = run.end()
    assert code == 2, errors
    assert "Traceback" not in errors
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert any(word in line for word in words), line
    run.nobody_stays()


SIZES = [pytest.param(size, id=f"{size} KiB", marks=[] if size == 60 else [pytest.mark.slow]) for size in (20, 60, 90)]


@pytest.mark.parametrize("size", SIZES)
def test_a_full_disk(folder: Path, disk: Path, size: int) -> None:
    """At the first write, while trials are recorded, or when the tables are written."""
    assert mount(disk, "-o", f"remount,size={size}k")
    told_in_a_line(Run(folder, disk, "-j", "1", "-q"), "full", "No space left", "cannot be written")
    assert mount(disk, "-o", "remount,size=4m")
    goes_on(folder, disk)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(folder: Path, tmp_path: Path) -> None:
    """As a full disk, where nothing may be mounted."""
    size = 40960  # less than the whole record takes
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
    told_in_a_line(Run(folder, tmp_path, "-j", "1", "-q", before=limit), "disk I/O", "full", "too large")
    assert whole(tmp_path / "small" / "trials.sqlite")
    goes_on(folder, tmp_path)


@pytest.mark.slow
def test_a_disk_that_becomes_read_only(folder: Path, disk: Path) -> None:
    half = prepared.command("run", "e.yaml", "--out", disk, "--set", f"splits.repeats={SPLITS // 2}", "-q", cwd=folder)
    assert half.returncode == 0, half.stderr
    assert mount(disk, "-o", "remount,ro")
    told_in_a_line(Run(folder, disk, "-j", "1", "-q"), "Read-only", "readonly")
    status = prepared.command("status", disk / "small", cwd=folder)
    assert status.returncode == 0, status.stderr
    assert mount(disk, "-o", "remount,rw")
    goes_on(folder, disk)


def without_the_power_of_root() -> None:
    """Give up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what the modes of files forbid is forbidden, root or not."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        drop_from_bounding_set = 24
        for capability in (1, 2):
            if libc.prctl(drop_from_bounding_set, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.parametrize(
    "what",
    [
        "the folder of results",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("the results folder", "the record")),
    ],
)
def test_permissions(folder: Path, tmp_path: Path, what: str) -> None:
    results = tmp_path / "small"
    if what != "the folder of results":
        options = ("--set", f"splits.repeats={SPLITS // 2}", "-q", "-j", "1")
        half = prepared.command("run", "e.yaml", "--out", tmp_path, *options, cwd=folder)
        assert half.returncode == 0, half.stderr
    path, mode = {
        "the folder of results": (tmp_path, 0o555),
        "the results folder": (results, 0o555),
        "the record": (results / "trials.sqlite", 0o444),
    }[what]
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        run = Run(folder, tmp_path, "-j", "1", "-q", before=without_the_power_of_root)
        told_in_a_line(run, "Permission denied", "readonly", "unable to open")
    finally:
        path.chmod(before)
    goes_on(folder, tmp_path)


@pytest.mark.slow
def test_a_clock_that_jumps(folder: Path, tmp_path: Path) -> None:
    """By days, forwards and back, whenever it is asked; even so a limit of a minute ends nobody."""
    program = (
        "import time, random, sys\n"
        "now, rng = time.time, random.Random(0)\n"
        "time.time = lambda: now() + rng.uniform(-1e6, 1e6)\n"
        f"sys.argv = ['mlcdr', 'run', 'e.yaml', '--out', {str(tmp_path)!r}, '--set', 'limits.seconds=60']\n"
        "from mlcdr.cli import main\n"
        "main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert " -" not in done.stdout.splitlines()[-1]  # seconds that are none
    assert whole(tmp_path / "small" / "trials.sqlite")
    for name in ("scores.csv", "summary.csv"):
        assert (tmp_path / "small" / name).read_bytes() == (folder / "undisturbed" / "small" / name).read_bytes()
    goes_on(folder, tmp_path)


def test_two_runs_that_begin_at_once(folder: Path, tmp_path: Path) -> None:
    """One of them does all the work, the other says so and leaves."""
    runs = [Run(folder, tmp_path, "-j", "1", "-q") for _ in range(2)]
    ends = sorted(run.end() for run in runs)
    if ends[1][0] == 0:  # one came when the other was done
        assert ends[0][0] == 0
    else:
        assert [code for code, _ in ends] == [0, 2]
        assert "another run is writing this folder" in ends[1][1]
    for run in runs:
        run.nobody_stays()
    goes_on(folder, tmp_path)


def test_one_or_two_blas_threads(folder: Path, tmp_path: Path) -> None:
    """The environment may allow BLAS more threads: a run uses one, so that no sum is taken in another order."""
    changes = ("--set", "splits.repeats=2", "--set", "limits.seconds=500")  # a worker, for the limit
    line = ("run", "e.yaml", "--out", tmp_path, "-q", "-j", "1", *changes)
    done = small.command(*line, cwd=folder, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    ours, undisturbed = (pd.read_csv(out / "small" / "scores.csv") for out in (tmp_path, folder / "undisturbed"))
    expected = undisturbed[undisturbed["split"] < 2].reset_index(drop=True)
    assert set(ours["split"]) == {0, 1}
    pd.testing.assert_frame_equal(ours, expected, check_exact=True)


@pytest.mark.slow
def test_a_scheduler_ends_the_whole_session(folder: Path, tmp_path: Path) -> None:
    """SIGTERM to the run and all its workers, as at the end of an allocation: interrupted, nothing crashed."""
    run = Run(folder, tmp_path, "-j", "2", "-q", forked=False)
    until(run.workers, "workers", run.process)
    for pid in run.members():
        with contextlib.suppress(ProcessLookupError):  # gone with those that were told before it
            os.kill(pid, signal.SIGTERM)
    code, errors = run.end()
    assert code in (130, -signal.SIGTERM), errors
    run.nobody_stays()
    goes_on(folder, tmp_path)
