"""What computes the groups of a run: this process, local workers (`workers`), or a Dask cluster (`dask_backend`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import Group, GroupResult
from mlcdr.experiment.data_source import DividedData
from mlcdr.processes import raise_if_stopped


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
