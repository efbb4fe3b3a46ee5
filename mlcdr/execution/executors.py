"""What computes the groups of a run: this process, local workers (`workers`), or a Dask cluster (`dask_backend`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import Group, GroupResult
from mlcdr.experiment.data_source import DividedData

PART_SECONDS = 0.2
"""Work of so many seconds is recorded in one transaction; of longer work each fit, or each trial, in its own."""


class ExecutorLost(Exception):
    """No worker, or no scheduler, is left; what was finished is recorded."""


class Executor(Protocol):
    """Computes groups of trials."""

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """The results of trials soon after they are finished, in any order; closing the generator ends the work.

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
            yield from computer.parts(group, PART_SECONDS)
