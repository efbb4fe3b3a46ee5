"""The work of a run, as it is handed to what computes it: groups of trials, and what comes back of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.warned import Warned
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Score, Trial, group_by


@dataclass(frozen=True)
class Group:
    """The trials of one split, to be computed by one worker, with what it needs to do so."""

    source: DataSource
    split: int
    trials: tuple[Trial, ...]
    metrics: tuple[tuple[str, str, Mapping[str, Any]], ...]
    seed: int
    share: bool = True
    keeping: Keeping | None = None
    by_label: tuple[str, ...] = ()
    keep_top: int | None = None


def groups(
    experiment: Experiment, source: DataSource, trials: Iterable[Trial], keeping: Keeping | None = None
) -> Iterator[Group]:
    """The trials by split, in order of the splits."""
    metrics = tuple((metric.label, metric.name, metric.params) for metric in experiment.metrics)
    for of_split in group_by(sorted(trials, key=lambda trial: trial.split), lambda trial: trial.split):
        yield Group(
            source,
            of_split[0].split,
            tuple(of_split),
            metrics,
            experiment.seed,
            experiment.share,
            keeping,
            experiment.by_label,
            experiment.keep_top,
        )


@dataclass(frozen=True)
class GroupResult:
    """The result of a group, or of a part of one.

    Attributes
    ----------
    scores : sequence of Score
    seconds : float
        How long the process took for it.
    crashed : str
        Why the worker with these trials ended: a signal's name (`SIGKILL`), `exit 3`, `seconds` or `memory` (the limit
        that was passed); empty if it did not.
    warned : sequence of Warned
        The warnings that were given.
    """

    scores: Sequence[Score]
    seconds: float
    crashed: str = ""
    warned: Sequence[Warned] = ()
