"""Worker processes that may die: the groups of a run are computed by processes that can be killed one by one.

Each worker has a pipe of its own, and shares nothing else: a worker that is killed, at whatever point, leaves no lock
behind, and the run knows which group it was computing. The trials of that group are computed again, once, each alone
and when no other worker computes. A trial that ends its worker again is recorded as `crashed`.

Limits are enforced from outside, so that they also end a trial in compiled code: every twentieth of a second the run
checks the time (by a clock that does not jump when the system's time is set) and the worker's resident memory,
and kills a worker that has passed a limit. A worker that takes all memory of the machine within
that time is killed by the system. The clock of a group starts when its worker has imported and compiled what the group
needs, and has read the data set. It stands still while the run is suspended, which the run sees by a check that comes
too late.

That a worker is dead is seen from its process, too, not only from the end of its pipe: a child that a method has forked
may keep the pipe open. A worker leads a process group, which is killed with it.

A worker is a fork of the run where that is safe (`mlcdr.processes.may_fork`): it has all imports and the data set at
once, and costs hundredths of a second. Elsewhere it is a new interpreter, which imports and reads by itself. It is one
too where memory is limited, since a fork has all that the run has in memory.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from mlcdr.data import held
from mlcdr.errors import DataError, UserError
from mlcdr.execution import new_worker
from mlcdr.execution.computing import Computer
from mlcdr.execution.executors import PART_SECONDS, ExecutorLost
from mlcdr.execution.groups import Group, GroupResult, split_up
from mlcdr.execution.memory import peak
from mlcdr.experiment.commands import runs_command
from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.model import LimitsSpec
from mlcdr.experiment.trials import TrialResult, by_family
from mlcdr.processes import (
    ENDING_SIGNALS,
    ONE_THREAD,
    Stop,
    block_signals,
    close_in_forks,
    hold_signals,
    is_daemonic,
    may_fork,
    raise_if_stopped,
    watch_parent,
    without_fork_warning,
)
from mlcdr.standard_streams import protect_streams

_LOOK = 0.05  # seconds between two checks of a worker's memory
_PAUSE = 1.0  # seconds between two checks; beyond that the run was suspended
_REST = 1.0  # seconds between two checks whether workers live, and whether the run is to stop
_PREPARING = 600.0  # seconds that a worker has to import, compile and read, before the clock of its task starts
# The messages of a worker that has started, of one whose clock starts, and of one that has given all of its group.
_READY, _BEGUN, _DONE = "ready", "begun", "done"
_STARTS = 3  # the run ends if so many workers in a row die before they are ready
_SAFE_PATH, _OURS = "PYTHONSAFEPATH", "mlcdr"  # any text works; this one marks that mlcdr set it


@contextlib.contextmanager
def _libraries_first() -> Iterator[None]:
    """Processes started in the `with` block do not search the working directory for modules."""
    if os.environ.get(_SAFE_PATH):
        yield
        return
    os.environ[_SAFE_PATH] = _OURS
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]


def _fork(pipe: Connection, data: DividedData | None) -> Any:
    """A process that is to be a fork of this one."""
    return multiprocessing.get_context("fork").Process(target=serve, args=(pipe, os.getpid(), data))


def _spawn(pipe: Connection) -> Any:
    """A process that is to be a new interpreter, which does not run the `__main__` of this one again."""
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import get_context

    if sys.platform != "win32":
        resource_tracker.ensure_running()  # otherwise it is started with the process, which unblocks the signals
    return get_context("loky").Process(target=new_worker.serve, args=(pipe, os.getpid()), env=ONE_THREAD)


class _Worker:
    """A process and the run's end of its pipe.

    Parameters
    ----------
    fork : bool
        Whether it is a fork of this process, or a new interpreter.
    data : DividedData or None
        The data set that this process has read, for a fork.

    Attributes
    ----------
    ready : bool
        Whether it has started.
    group : Group or None
        What it was given to compute, without the trials that it has finished.
    dataset : str
        The data set that it has read last.
    runs_commands : bool
        Whether a method of its group runs a command, whose memory is counted with its own.
    clock : float
        When it began to compute its group.
    """

    def __init__(self, fork: bool, data: DividedData | None) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process: Any = _fork(theirs, data) if fork else _spawn(theirs)
        self.ready = False
        self.group: Group | None = None
        self.dataset = ""
        self.runs_commands = False
        self.clock = 0.0
        close_in_forks(self.pipe)  # of the workers to come, and of methods'
        try:
            # the new process inherits that they are blocked
            with block_signals(), _libraries_first(), without_fork_warning():
                self.process.start()
        except BaseException:
            if self.process.pid is not None:
                self.kill()
            raise
        theirs.close()  # so that the pipe ends when the worker dies

    def give(self, group: Group) -> None:
        """Hand it a group.

        Raises
        ------
        OSError
            When it is dead.
        """
        self.clock = time.monotonic() + _PREPARING  # until it says that it has begun
        self.pipe.send(group)
        self.group = group
        self.dataset = group.source.name
        self.runs_commands = any(runs_command(fit[0].family) for fit in by_family(group.trials))

    def forget(self, finished: GroupResult) -> None:
        """Take the trials of a result from what is lost if it dies."""
        assert self.group is not None
        keys = {each.key for each in finished.results}
        left = [trial for trial in self.group.trials if trial.key not in keys]
        self.group = replace(self.group, trials=tuple(left))

    def receive(self) -> Any:
        """Its next message; None if it has sent none.

        Raises
        ------
        EOFError, OSError
            When it is dead, even if that was in the middle of a message.
        """
        if self.pipe.poll():
            return self.pipe.recv()
        if self.process.exitcode is not None:
            raise EOFError
        return None

    def kill(self) -> str:
        """End it, with all that it may have started, and wait until it is gone.

        Returns
        -------
        str
            The signal, or the exit code, with which it ended, now or before.
        """
        pid = self.process.pid
        lives = self.process.exitcode is None
        with contextlib.suppress(OSError, AttributeError):  # it leads no process group yet, or the system has none
            os.killpg(pid, signal.SIGKILL)
        if lives:  # the process number of a dead worker may belong to another process
            with contextlib.suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode
        if code >= 0:
            return f"exit {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"


class LocalWorkers:
    """Processes of this machine, each of which may die; see the module's docstring.

    With limits, the trials that one fit serves are a group of their own, to which the limits apply; they share nothing
    with those of other methods then. If a trial is ended, only the work of its group is lost.

    Parameters
    ----------
    jobs : int
        How many processes.
    limits : LimitsSpec

    Raises
    ------
    UserError
        When this process may start no others.
    """

    def __init__(self, jobs: int, limits: LimitsSpec):
        if is_daemonic():
            need = "limits, `check --try` and trials that crashed before"
            raise UserError(f"{need} need a worker, and a daemonic process may start none")
        self._jobs = jobs
        self._limits = limits
        self._forks = limits.memory is None and may_fork()
        self._data: DividedData | None = None  # which forks have at once
        self._workers: list[_Worker] = []
        self._looked = 0.0  # when the workers were checked last
        self._stillborn = 0  # workers in a row that died before they were ready

    def compute(self, pending: Sequence[Group], data: DividedData | None = None) -> Generator[GroupResult, None, None]:
        """See `Executor`; a worker that has not inherited the data set that it needs reads it."""
        self._data = data
        groups = list(pending)
        if self._limits.any:  # each fit by itself, so that what exceeds a limit takes nothing else with it
            groups = []
            for group in pending:
                groups += [replace(group, trials=tuple(fit)) for fit in by_family(group.trials)]
        lost: set[str] = set()  # keys of the trials that had a worker that died
        # forks have what is held in memory
        with contextlib.nullcontext() if self._forks else held.shared():
            try:
                for result in self._work(groups, self._jobs):
                    # What took too long would take as long again.
                    if result.crashed in ("", "seconds"):
                        yield result
                    else:
                        lost.update(each.key for each in result.results)

                # Alone, so that no other worker takes memory or disturbs it.
                self._end_workers()
                for group in split_up(groups, lost):
                    yield from self._work([group], 1)
                    if self._limits.memory is not None:  # a trial leaves some memory in use
                        self._end_workers()
            except (Stop, Exception):
                yield from self._finished()
                raise
            finally:
                self._end_workers()

    def _work(self, groups: Sequence[Group], jobs: int) -> Iterator[GroupResult]:
        """The results of groups; of one that has ended its worker, that its trials have crashed."""
        left = list(groups)
        self._looked = time.monotonic()
        while left or any(worker.group for worker in self._workers):
            raise_if_stopped()
            jobs = self._start_workers(left, jobs)
            self._hand_out(left)
            busy = any(worker.group for worker in self._workers)
            pause = _LOOK if self._limits.any and busy else _REST
            wait([worker.pipe for worker in self._workers], pause)
            self._stop_clocks()
            for worker in list(self._workers):
                with hold_signals():  # a message is read whole, and a result is recorded
                    result = self._listen(worker) or self._end_at_limit(worker)
                    if result is not None:
                        yield result

    def _stop_clocks(self) -> None:
        """Take the time in which this run was suspended, since the last call, from that of each group."""
        now = time.monotonic()
        suspended = now - self._looked - _PAUSE
        if suspended > 0:
            for worker in self._workers:
                worker.clock += suspended
        self._looked = now

    def _start_workers(self, left: Sequence[Group], jobs: int) -> int:
        """Start as many workers as there is work for, up to `jobs`; returns how many the system allows."""
        busy = sum(worker.group is not None for worker in self._workers)
        while len(self._workers) < min(jobs, busy + len(left)):
            try:
                self._workers.append(_Worker(self._forks, self._data))
            except OSError as error:  # no more processes, files or memory: go on with fewer workers
                if not self._workers:
                    raise ExecutorLost(f"no worker process can be started ({error.strerror or error})") from error
                return len(self._workers)
        return jobs

    def _hand_out(self, left: list[Group]) -> None:
        """Give a group to each worker that is ready for one."""
        for worker in self._workers:
            if left and worker.ready and worker.group is None:
                group = self._choose(worker, left)
                with contextlib.suppress(OSError):  # it is dead, which its pipe will tell
                    worker.give(group)
                    left.remove(group)

    def _choose(self, worker: _Worker, left: Sequence[Group]) -> Group:
        """A group of the data set that the worker has read, or else of one that no worker has read yet.

        What all splits of a data set share is computed once then. When all data sets are taken, it is the first group.
        """
        taken = {each.dataset for each in self._workers}
        own = (group for group in left if group.source.name == worker.dataset)
        free = (group for group in left if group.source.name not in taken)
        return next(own, None) or next(free, None) or left[0]

    def _listen(self, worker: _Worker) -> GroupResult | None:
        """The result that a worker has sent; if it is dead, that its other trials have crashed.

        Raises
        ------
        Exception
            An error that is not a trial's.
        """
        try:
            message = worker.receive()
        except (EOFError, OSError):
            return self._lose(worker)
        if isinstance(message, Exception):
            raise message
        if isinstance(message, GroupResult):
            worker.forget(message)
            return message
        if message == _DONE:
            worker.group = None
        elif message == _READY:
            worker.ready = True
            self._stillborn = 0
        elif message == _BEGUN:
            worker.clock = time.monotonic()
        return None

    def _end_at_limit(self, worker: _Worker) -> GroupResult | None:
        """End a worker whose group has passed a limit, unless it is lost already."""
        if worker.group is None or worker not in self._workers:
            return None
        seconds, memory = self._limits.seconds, self._limits.bytes
        passed = ""
        if memory is not None and _resident(worker.process.pid, worker.runs_commands) > memory:
            passed = "memory"
        if seconds is not None and self._looked - worker.clock > seconds:
            passed = "seconds"
        if not passed or worker.pipe.poll():  # it may just have finished
            return None
        return self._lose(worker, passed)

    def _lose(self, worker: _Worker, limit: str = "") -> GroupResult | None:
        """Take leave of a worker that is dead, or has passed a limit: the trials that it still had have crashed."""
        self._workers.remove(worker)
        ended_by = worker.kill()
        cause = limit or ended_by
        if worker.group is not None and worker.group.trials:
            error = f"crashed: {self._explain(cause)}"
            return GroupResult([TrialResult(trial.key, None, error) for trial in worker.group.trials], 0.0, cause)
        if not worker.ready:
            self._stillborn += 1
            if self._stillborn == _STARTS:
                raise ExecutorLost(f"worker processes end while they start ({cause})")
        return None

    def _explain(self, cause: str) -> str:
        if cause == "seconds":
            return f"took longer than limits.seconds, {self._limits.seconds:g} s"
        if cause == "memory":
            return f"took more memory than limits.memory, {self._limits.memory}"
        likely = " (out of memory?)" if cause == "SIGKILL" else ""
        return f"its worker process was ended by {cause}{likely}, and again when it was tried alone"

    def _finished(self) -> Iterator[GroupResult]:
        """The results that workers have sent when a run is stopped, or ends by an error, and that were not read yet."""
        for worker in self._workers:
            with hold_signals(), contextlib.suppress(EOFError, OSError):  # the worker was ended, too
                while worker.pipe.poll():
                    if isinstance(message := worker.pipe.recv(), GroupResult):
                        yield message

    def _end_workers(self) -> None:
        while self._workers:
            self._workers.pop().kill()


def _resident(pid: int | None, with_children: bool = False) -> int:
    """The bytes of memory that a process has in use, and perhaps all that it has started; 0 if it is gone."""
    found = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        found = int(process.memory_info().rss)
        for child in process.children(recursive=True) if with_children else ():
            with contextlib.suppress(psutil.Error):  # it has just ended
                found += int(child.memory_info().rss)
    return found


# -------------------------------------------------------------------- in the worker


def serve(pipe: Connection, parent: int, data: DividedData | None = None) -> None:
    """The loop of a worker: compute the groups that come through the pipe, one after another.

    What a fork has inherited and a new interpreter has not is made good: the state of the random generator that a
    method may use without a seed, objects that the garbage collector would look through, and signal handlers.
    """
    np.random.seed()  # noqa: NPY002
    gc.freeze()
    gc.enable()
    os.environ |= ONE_THREAD
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
    for each in ENDING_SIGNALS:
        if signal.getsignal(each) != signal.SIG_IGN:  # as with nohup
            signal.signal(each, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends the workers
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    watch_parent(parent)
    # As within joblib's own workers: a trial that asks for several jobs gets threads, not processes of its own.
    with threadpool_limits(1), joblib.parallel_config("threading", n_jobs=1):
        computer = Computer(data)
        with contextlib.suppress(EOFError, OSError):  # the run is gone
            pipe.send(_READY)
            while True:
                group = pipe.recv()
                try:
                    computer.prepare(group)
                    pipe.send(_BEGUN)
                    for part in computer.parts(group, PART_SECONDS):
                        pipe.send(replace(part, peak=peak()))
                    answer: Any = _DONE
                except UserError as error:  # what is more than a text would be lost on the way
                    answer = (DataError if isinstance(error, DataError) else UserError)(str(error))
                except Exception as error:  # a bug of ours, whose traceback is lost on the way
                    answer = RuntimeError("".join(traceback.format_exception(error)))
                pipe.send(answer)
