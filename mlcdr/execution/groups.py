"""The work of a run, as it is handed to what computes it: groups of trials, and what comes back of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.warned import Warned
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Trial, TrialResult


@dataclass(frozen=True)
class Group:
    """The trials of one split, to be computed by one worker, with what it needs to do so."""

    experiment: Experiment
    source: DataSource
    split: int
    trials: tuple[Trial, ...]
    keeping: Keeping | None = None
    alone: bool = True
    """Whether nothing else computes in the process, so that its memory is that of these trials."""


def group_by_split(
    experiment: Experiment,
    source: DataSource,
    trials: Iterable[Trial],
    keeping: Keeping | None = None,
) -> Iterator[Group]:
    """The trials by split, in order of the splits."""
    by_split = group_pairs((trial.split, trial) for trial in trials)
    for split in sorted(by_split):
        yield Group(experiment, source, split, tuple(by_split[split]), keeping)


def split_up(groups: Iterable[Group], keys: Set[str]) -> Iterator[Group]:
    """A group of its own for each of the trials with these keys."""
    for group in groups:
        for trial in group.trials:
            if trial.key in keys:
                yield replace(group, trials=(trial,))


@dataclass(frozen=True)
class GroupResult:
    """The result of a group, or of a part of one.

    Attributes
    ----------
    results : sequence of TrialResult
    seconds : float
        How long the process took for it.
    crashed : str
        Why the worker with these trials ended: a signal's name (`SIGKILL`), `exit 3`, `seconds` or `memory` (the limit
        that was passed); empty if it did not.
    warned : sequence of Warned
        The warnings that were given.
    peak : int
        The most bytes that the worker has had resident at once since it began; 0 of what the run computes itself.
    """

    results: Sequence[TrialResult]
    seconds: float
    crashed: str = ""
    warned: Sequence[Warned] = ()
    peak: int = 0

    def without(self, keys: Set[str]) -> GroupResult:
        """The part of it that is of other trials."""
        left = [each for each in self.results if each.key not in keys]
        return replace(self, results=left, seconds=self.seconds * len(left) / max(len(self.results), 1))
