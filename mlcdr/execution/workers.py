"""Worker processes that may die: the groups of a run are computed by processes that can be killed one by one.

Each worker has a pipe of its own, and shares nothing else: a worker that is killed, at whatever point, leaves no lock
behind, and the run knows which group it was computing. The trials of that group are tried again when no other worker
computes: first the trials of each fit together, then each trial alone. A trial that ends its worker again is recorded
as `crashed`.

Limits are enforced from outside, so that they also end a trial in compiled code: every twentieth of a second the run
checks the time (by a clock that does not jump when the system's time is set) and the worker's resident memory (in
/proc, or by psutil), and kills a worker that has passed a limit. A worker that takes all memory of the machine within
that time is killed by the system. The clock of a task starts when its worker has imported and compiled what the task
needs, and has read the data set.

That a worker is dead is seen from its process, too, not only from the end of its pipe: a child that a method has forked
may keep the pipe open. A worker leads a process group, which is killed with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky.backend import get_context
from threadpoolctl import threadpool_limits

from mlcdr.data import held
from mlcdr.errors import DataError, UserError
from mlcdr.execution.computing import Computer, Group, GroupResult
from mlcdr.execution.executors import ExecutorLost
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.model import LimitsSpec
from mlcdr.experiment.trials import Score, by_family
from mlcdr.processes import (
    ENDING_SIGNALS,
    Stop,
    block_signals,
    close_in_forks,
    hold_signals,
    raise_if_stopped,
    watch_parent,
)
from mlcdr.standard_streams import protect_streams

_PROC = Path("/proc")  # macOS and Windows have none
_LOOK = 0.05  # seconds between two checks of a worker's memory
_REST = 1.0  # seconds between two checks whether workers live, and whether the run is to stop
_PREPARING = 600.0  # seconds that a worker has to import, compile and read, before the clock of its task starts
_BEGUN = "begun"  # the message that a worker sends then
_STARTS = 3  # the run ends if so many workers in a row die before they are ready
_LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "NUMEXPR_NUM")
_SAFE_PATH, _OURS = "PYTHONSAFEPATH", "mlcdr"  # any text works; this one marks that mlcdr set it
_ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}


@contextlib.contextmanager
def _libraries_first() -> Iterator[None]:
    """Processes started in the `with` block do not search the working directory for modules (Python 3.11 or later)."""
    if os.environ.get(_SAFE_PATH):
        yield
        return
    os.environ[_SAFE_PATH] = _OURS
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]


@dataclass(frozen=True)
class _Task:
    """A group to be computed; `again`: how often its trials have ended a worker."""

    group: Group
    again: int = 0
    fresh: bool = False  # needs a worker that has computed nothing yet


class _Tasks:
    """The tasks that are left, by data set and in their order."""

    def __init__(self, tasks: Iterable[_Task]):
        self._of: dict[str, deque[_Task]] = {}
        for task in tasks:
            self._of.setdefault(task.group.source.name, deque()).append(task)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def first(self, worker: _Worker, workers: Iterable[_Worker]) -> _Task:
        """A task for a worker: of the data set that it has read, or else of one that no worker has read yet.

        What all splits of a data set share is computed once then. When all data sets are taken, it is a task of the
        first of them.
        """
        if worker.dataset in self._of:
            return self._of[worker.dataset][0]
        taken = {each.dataset for each in workers}
        return next((tasks for name, tasks in self._of.items() if name not in taken), next(iter(self._of.values())))[0]

    def remove(self, task: _Task) -> None:
        """Take away a task that was the first of its data set."""
        tasks = self._of[task.group.source.name]
        tasks.popleft()
        if not tasks:
            del self._of[task.group.source.name]


def _families(group: Group) -> list[Group]:
    """A group for each fit, which may serve several trials."""
    return [replace(group, trials=tuple(trials)) for trials in by_family(group.trials)]


class _Worker:
    """A process and the run's end of its pipe."""

    def __init__(self) -> None:
        context = get_context("loky")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()), env=_ONE_THREAD)
        try:
            with block_signals(), _libraries_first():  # the new process inherits that they are blocked
                self.process.start()
        except BaseException:
            if self.process.pid is not None:
                self.kill()
            raise
        theirs.close()  # so that the pipe ends when the worker dies
        self.task: _Task | None = None
        self.dataset = ""  # the one that it has read last
        self.given = 0.0
        self.begun: float | None = None
        self.ready = False
        self.used = False

    def give(self, task: _Task) -> bool:
        """Hand it a task; False if it is dead."""
        given = time.monotonic()  # before it can begin
        try:
            self.pipe.send(task.group)
        except OSError:
            return False
        self.task, self.given, self.begun, self.used = task, given, None, True
        self.dataset = task.group.source.name
        return True

    def kill(self) -> None:
        """End it, with all that it may have started, and wait until it is gone."""
        lives, pid = self.process.exitcode is None, self.process.pid
        with contextlib.suppress(OSError, AttributeError):  # it leads no process group yet, or the system has none
            os.killpg(pid, signal.SIGKILL)
        if lives:  # the process number of a dead worker may belong to another process
            with contextlib.suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.join()
        self.pipe.close()

    def died_of(self) -> str:
        """The signal, or the exit code, of a worker that is dead, or whose pipe has ended."""
        end = time.monotonic() + 5.0
        while (code := self.process.exitcode) is None and time.monotonic() < end:
            time.sleep(0.01)  # not `join`, which waits for a pipe that a child may keep open
        if code is None:  # it lives, and has closed its pipe
            return "a closed pipe"
        if code >= 0:
            return f"exit {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"


class LocalWorkers:
    """Processes of this machine, each of which may die; see the module's docstring.

    With limits, the trials that one fit serves are a task of their own, to which the limits apply; they share nothing
    with those of other methods then. If a trial is ended, only the work of its task is lost.

    Parameters
    ----------
    jobs : int
        How many processes.
    limits : LimitsSpec

    Raises
    ------
    UserError
        When this system cannot enforce the limits.
    """

    def __init__(self, jobs: int, limits: LimitsSpec):
        if limits.memory is not None and _resident(os.getpid()) is None:
            raise UserError("limits.memory: cannot be enforced here; it needs /proc or psutil (pip install psutil)")
        self._jobs, self._limits = jobs, limits
        self._workers: list[_Worker] = []
        self._stillborn = 0

    def compute(self, pending: Sequence[Group], data: DividedData | None = None) -> Generator[GroupResult, None, None]:
        """See `Executor`; each worker reads the data sets that it needs."""
        parts = (part for group in pending for part in (_families(group) if self._limits.any else [group]))
        with held.shared():
            try:
                suspects: list[_Task] = []
                yield from self._work((_Task(part) for part in parts), suspects, self._jobs)
                while suspects:  # alone, so that no other worker takes memory or disturbs it
                    again, suspects = suspects, []
                    yield from self._work(again, suspects, 1)
            except Stop:
                yield from self._finished()
                raise
            finally:
                for worker in self._workers:
                    worker.kill()
                self._workers.clear()

    def _work(self, tasks: Iterable[_Task], suspects: list[_Task], jobs: int) -> Iterator[GroupResult]:
        """The results of tasks; a task whose worker died, and that is to be tried again, is added to `suspects`."""
        left = _Tasks(tasks)
        while len(self._workers) > jobs:
            self._workers.pop().kill()
        while left or any(worker.task for worker in self._workers):
            raise_if_stopped()
            idle = sum(worker.task is None for worker in self._workers)
            for _ in range(min(jobs - len(self._workers), len(left) - idle)):
                try:
                    self._workers.append(_Worker())
                except OSError as error:  # no more processes, files or memory: go on with fewer workers
                    if not self._workers:
                        raise ExecutorLost(f"no worker process can be started ({error.strerror or error})") from error
                    jobs = len(self._workers)
                    break
            for worker in [each for each in self._workers if each.ready and each.task is None]:
                if not left:
                    break
                task = left.first(worker, self._workers)
                if task.fresh and worker.used:
                    self._workers.remove(worker)
                    worker.kill()
                elif worker.give(task):
                    left.remove(task)  # a worker that is dead has an end of file in its pipe, which is seen below
            if not self._workers:
                continue
            watching = self._limits.any and any(worker.task for worker in self._workers)
            wait([worker.pipe for worker in self._workers], _LOOK if watching else _REST)
            for worker in list(self._workers):
                with hold_signals():  # a message is read whole, and a result is recorded
                    yield from self._heard(worker, suspects)
            for worker in list(self._workers):
                yield from self._limited(worker, suspects)

    def _finished(self) -> Iterator[GroupResult]:
        """The results that workers have sent when a run is stopped, and that were not read yet."""
        for worker in self._workers:
            with hold_signals(), contextlib.suppress(EOFError, OSError):  # the worker was ended, too
                while worker.pipe.poll():
                    if isinstance(message := worker.pipe.recv(), GroupResult):
                        yield message

    def _heard(self, worker: _Worker, suspects: list[_Task]) -> Iterator[GroupResult]:
        """Handle a message of a worker (it is ready, or has the result of its task), or its death."""
        try:
            if not worker.pipe.poll():
                if worker.process.exitcode is None:
                    return
                raise EOFError
            message = worker.pipe.recv()
        except (EOFError, OSError):  # in the middle of a message, even
            self._workers.remove(worker)
            cause, task = worker.died_of(), worker.task
            worker.kill()
            if task is not None:
                yield from _ended(task, cause, suspects)
            elif not worker.ready:
                self._stillborn += 1
                if self._stillborn == _STARTS:
                    raise ExecutorLost(f"worker processes end while they start ({cause})") from None
            return
        self._stillborn = 0
        if message == _BEGUN:
            worker.begun = time.monotonic()
            return
        worker.ready, worker.task = True, None
        if isinstance(message, Exception):
            raise message
        if message is not None:
            yield message

    def _limited(self, worker: _Worker, suspects: list[_Task]) -> Iterator[GroupResult]:
        """End a worker whose task has passed a limit."""
        task = worker.task
        if task is None or not self._limits.any:
            return
        seconds, memory = self._limits.seconds, self._limits.bytes
        cause = ""
        begun = worker.given + _PREPARING if worker.begun is None else worker.begun
        if seconds is not None and time.monotonic() - begun > seconds:
            cause = "seconds"
        elif memory is not None and (_resident(worker.process.pid) or 0) > memory:
            cause = "memory"
        if cause and not worker.pipe.poll():  # it may just have finished
            self._workers.remove(worker)
            worker.kill()
            yield from _ended(task, cause, suspects, self._limits)


def _ended(task: _Task, cause: str, suspects: list[_Task], limits: LimitsSpec | None = None) -> Iterator[GroupResult]:
    """Have the trials of a task that ended its worker tried again, or else give them the result `crashed`.

    A trial that took too long is not tried again, since it would take as long. One that took too much memory is tried
    again in a new process, since earlier trials leave some memory in use.
    """
    fits = _families(task.group)
    if cause != "seconds" and task.again == 0:
        suspects += [_Task(fit, 1, cause == "memory") for fit in fits]
    elif cause != "seconds" and len(task.group.trials) > 1:
        suspects += [_Task(replace(task.group, trials=(t,)), 2, cause == "memory") for t in task.group.trials]
    else:
        error = f"crashed: {_explain(cause, limits)}"
        yield GroupResult([Score(trial.key, None, error) for trial in task.group.trials], 0.0, cause)


def _explain(cause: str, limits: LimitsSpec | None) -> str:
    if cause == "seconds" and limits is not None:
        return f"took longer than limits.seconds, {limits.seconds:g} s"
    if cause == "memory" and limits is not None:
        return f"took more memory than limits.memory, {limits.memory}"
    likely = " (out of memory?)" if cause == "SIGKILL" else ""
    return f"its worker process was ended by {cause}{likely}, and again when it was tried alone"


def _resident(pid: int | None) -> int | None:
    """The bytes of memory that a process has in use; None where the system does not say, or it is gone."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        if _PROC.is_dir():
            return None
    try:  # on macOS and Windows
        import psutil

        return int(psutil.Process(pid).memory_info().rss)
    except Exception:  # not installed, or the process is gone
        return None


# -------------------------------------------------------------------- in the worker


def _serve(pipe: Connection, parent: int) -> None:
    """The loop of a worker: compute the groups that come through the pipe, one after another."""
    protect_streams()
    if os.environ.get(_SAFE_PATH) == _OURS:  # removed, so that it does not affect what a method starts
        del os.environ[_SAFE_PATH]
    close_in_forks(pipe)
    if sys.platform == "win32":
        os.set_handle_inheritable(pipe.fileno(), False)
    else:
        os.set_inheritable(pipe.fileno(), False)
    with contextlib.suppress(OSError, AttributeError):
        os.setpgid(0, 0)  # so that what a trial starts ends with it
    with contextlib.suppress(OSError):  # where memory runs out, the system is to kill this process rather than the run
        Path("/proc/self/oom_score_adj").write_text("500")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends the workers
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    watch_parent(parent)
    # As within joblib's own workers: a trial that asks for several jobs gets threads, not processes of its own.
    with threadpool_limits(1), joblib.parallel_config("threading", n_jobs=1):
        computer = Computer()
        answer: Any = None
        while True:
            try:
                pipe.send(answer)
                group = pipe.recv()
            except (EOFError, OSError):  # the run is gone
                return
            try:
                answer = computer.compute(group, begin=lambda: pipe.send(_BEGUN))
            except UserError as error:  # what is more than a text would be lost on the way
                answer = (DataError if isinstance(error, DataError) else UserError)(str(error))
            except Exception as error:  # a bug of ours, whose traceback is lost on the way
                answer = RuntimeError("".join(traceback.format_exception(error)))
