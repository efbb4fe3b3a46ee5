"""What computes the groups of a run: this process, local workers (`workers`), or a Dask cluster (`dask_backend`)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Generator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Protocol

from mlcdr.execution.computing import Computer, Group, GroupResult
from mlcdr.experiment.data_source import DividedData
from mlcdr.processes import block_signals, raise_if_stopped, watch_parent


class ExecutorLost(Exception):
    """No worker, or no scheduler, is left; what was finished is recorded."""


class Executor(Protocol):
    """Computes groups of trials."""

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """The result of each group as it is finished, in any order; closing the generator ends the work.

        `data` is a data set that has been read already, for an executor that can use it.

        Raises
        ------
        UserError
            When a data set is not available any more.
        ExecutorLost
            When no worker, or no scheduler, is left.
        Stop
            When a signal has come; the results that are there are given before.
        """


class ThisProcess:
    """One group after another, in this process."""

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """See `Executor`."""
        computer = Computer(data)
        for group in pending:
            raise_if_stopped()
            yield computer.compute(group)


class Forked:
    """A fork of this process for each trial; a fork that dies, or is ended after some seconds, gives no scores.

    A fork has all modules imported already, so it costs little. Only on systems where it works (`is_possible`).
    """

    def __init__(self, seconds: float):
        self._seconds = seconds

    @staticmethod
    def is_possible() -> bool:
        """Whether a forked process works on this system as a new one does."""
        return sys.platform == "linux"

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """See `Executor`."""
        context = multiprocessing.get_context("fork")
        for one in (replace(group, trials=(trial,)) for group in pending for trial in group.trials):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_compute_in_fork, args=(theirs, one, data, os.getpid()), daemon=True)
            with warnings.catch_warnings(), block_signals():  # no thread of this process holds a lock that it takes
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            try:
                end = time.monotonic() + self._seconds
                while not ours.poll(0.2) and process.is_alive() and time.monotonic() < end:
                    raise_if_stopped()
                with contextlib.suppress(EOFError, OSError):
                    if ours.poll():
                        yield ours.recv()
            finally:
                process.kill()
                process.join()
                ours.close()


def _compute_in_fork(pipe: Connection, group: Group, data: DividedData, parent: int) -> None:
    watch_parent(parent)
    with contextlib.suppress(Exception):
        pipe.send(Computer(data).compute(group))
