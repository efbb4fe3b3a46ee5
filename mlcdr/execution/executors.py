"""What computes the groups of a run: this process, local workers (`workers`), or a Dask cluster (`dask_backend`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from mlcdr.execution.computing import Computer, Group, GroupResult
from mlcdr.experiment.data_source import DividedData


class ExecutorLost(Exception):
    """Nothing is left that could compute; what was finished is recorded."""


class Executor(Protocol):
    """Computes groups of trials."""

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """What comes of each group as it is finished, in any order; to close the generator is to end the work.

        `data` is a data set that has been read already, for an executor that can use it.

        Raises
        ------
        UserError
            When a data set cannot be had any more.
        ExecutorLost
            When nothing is left that could compute.
        """


class ThisProcess:
    """One group after another, in this process."""

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """See `Executor`."""
        computer = Computer(data)
        for group in pending:
            yield computer.compute(group)
