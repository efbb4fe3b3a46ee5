"""Runs the experiments of the record, with all cores busy to the end."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib

from mlcdr.processes import stop_on_signals
from tools.plan import PlannedRun

_AT_ONCE = 2


class Runner:
    """Runs what is planned, each in a process of its own.

    Parameters
    ----------
    out : Path
        The folder of the results folders.
    jobs : int
        Workers in all; 0: one for each core.
    ended : callable
        Called with each run, and with its error, which is empty if there is none.
    """

    def __init__(self, out: Path, jobs: int, ended: Callable[[PlannedRun, str], None]):
        self.out, self.ended = out, ended
        self.workers = jobs or joblib.cpu_count()
        self.processes: list[subprocess.Popen[str]] = []
        self.ending = False
        self.starting = threading.Lock()  # a run is either among the processes to end, or it never starts

    def run_all(self, planned: Sequence[PlannedRun]) -> None:
        """Run two at a time, each with half of the workers.

        A run that would still compute when all others have ended is given all workers, before the others.
        """
        at_once = min(_AT_ONCE, self.workers)
        total = math.fsum(run.seconds for run in planned if not math.isnan(run.seconds))
        long = [run for run in planned if run.seconds > total / at_once and not run.timed]
        rest = [run for run in planned if run not in long]
        pool = ThreadPoolExecutor(at_once)
        try:
            with stop_on_signals():  # runs would go on without this process
                for run in long:
                    pool.submit(self._run, run, self.workers).result()
                share = max(1, self.workers // at_once)
                futures = [pool.submit(self._run, run, share) for run in rest]
                for future in futures:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            with self.starting:
                self.ending = True
            for process in self.processes:
                if process.poll() is None:
                    process.terminate()  # it saves what is finished
            raise

    def _run(self, run: PlannedRun, workers: int) -> None:
        line = [sys.executable, "-m", "mlcdr", "run", str(run.step.recipe.path), "--out", str(self.out), "--quiet"]
        line += ["--jobs", str(1 if run.timed else workers)]
        for change in run.step.overrides:
            line += ["--set", change]
        with self.starting:
            if self.ending:
                return
            process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.processes.append(process)
        _, errors = process.communicate()
        error = errors.strip() or f"exit code {process.returncode}"
        self.ended(run, error if process.returncode else "")
