"""How benchmarks measure: CPU seconds of a function or a command, peak memory, and a process of one's own."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from mlcdr.execution.groups import group_by_split
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.trials import plan_trials

ROOT = Path(__file__).parents[2]


def timed(function, *arguments):
    """CPU seconds of all threads, and what the function gives."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


@contextmanager
def timing() -> Iterator[dict[str, float]]:
    """The seconds of a block, CPU (of all threads) and wall, which are filled in at its end."""
    seconds: dict[str, float] = {}
    start, cpu = time.perf_counter(), time.process_time()
    yield seconds
    seconds["cpu"] = time.process_time() - cpu
    seconds["wall"] = time.perf_counter() - start


def least(function, times: int = 5) -> float:
    """CPU seconds, the least of several runs."""
    return min(timed(function)[0] for _ in range(times))


def alone(function, *arguments):
    """What a function gives in a new process, with one thread for the BLAS that its module loads; or its exception."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_on_one_thread, function, *arguments).result()


def _on_one_thread(function, *arguments):
    with threadpool_limits(1):
        return function(*arguments)


def work_of(experiment):
    """The first data set of an experiment, with its splits, and the groups of trials."""
    data = DataSource.of(experiment.datasets[0], experiment.splits).read()
    return data, list(group_by_split(experiment, data.source, plan_trials(experiment, data)))


def peak_memory() -> float:
    """Peak resident memory of this process, MB (getrusage would count the parent's, from before exec)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spent(arguments: list[str], folder: Path, expected: int = 0, **environment: str) -> tuple[float, float]:
    """CPU seconds, with those of the processes that it starts, and wall seconds of Python with these arguments.

    Raises
    ------
    AssertionError
        When the exit code is another than expected.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != expected:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall
