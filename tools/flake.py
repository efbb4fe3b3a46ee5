"""`make flake`: the tests of concurrent runs, again and again on a loaded machine; the exit code is 1 if any fails.

A test that depends on how fast the machine is fails here at last. A round that is not over in its time is ended, and
pytest shows before that where each thread stood.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Those that start processes or threads. What hostile files do (tests/faults/test_hostile_*.py) waits for none.
TESTS = (
    *(f"tests/faults/test_{name}.py" for name in ("interruption", "kills", "processes", "surroundings")),
    "tests/faults/test_hostile_configs.py::test_a_pipe_with_a_writer_is_read_to_its_end",
    "tests/execution/test_machines.py",
    "tests/execution/test_runner.py",
    "tests/results/test_store.py",
    "tests/execution/test_workers.py",
    "tests/cli/test_status.py",
)
# They do what the first of the many do.
FEW = ("test_runs_killed_at_random_moments[few]", "test_writers_killed_at_random_moments[few]")
STUCK = 900  # seconds that one test may take
PATIENCE = 7200  # seconds that a round may take


def compute() -> None:
    """Load a core for ever."""
    while True:
        sum(range(10**6))


def run_round(tests: list[str]) -> tuple[str, str]:
    """(`passed`, `failed` or `hung`, what pytest printed)."""
    # a file's tests stay together: they share a cluster, or a results folder
    options = ["-n", "2", "--dist", "loadfile", "-m", "", "-o", f"faulthandler_timeout={STUCK}"]
    options += [f"--deselect=tests/faults/test_kills.py::{each}" for each in FEW]
    line = [sys.executable, "-m", "pytest", *options, *tests]
    process = subprocess.Popen(
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return "hung", process.communicate()[0]
    return "failed" if process.returncode else "passed", printed


def main() -> int:
    """Run the rounds and print what failed; the exit code."""
    parser = argparse.ArgumentParser(prog="make flake")
    parser.add_argument("tests", nargs="*", default=list(TESTS))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--load", type=int, default=6)
    options = parser.parse_args()
    load = [multiprocessing.Process(target=compute, daemon=True) for _ in range(options.load)]
    for process in load:
        process.start()
    outcomes: Counter[str] = Counter()
    for number in range(1, options.rounds + 1):
        start = time.monotonic()
        outcome, printed = run_round(options.tests)
        outcomes[outcome] += 1
        print(f"round {number}: {outcome}, {time.monotonic() - start:.0f} s", flush=True)
        if outcome != "passed":
            print(printed, flush=True)
    for process in load:
        process.kill()
    print(", ".join(f"{outcomes[name]} {name}" for name in ("passed", "failed", "hung")))
    return 0 if set(outcomes) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
