"""The experiments that commands are about, read and checked before slow imports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.cli.printing import print_notice
from mlcdr.errors import UserError

if TYPE_CHECKING:
    from mlcdr.experiment.model import Experiment


def load_to_run(config: Path, overrides: list[str] | None, quiet: bool = False) -> Experiment:
    """The experiment of a file, to be run, whatever it names; each module is printed before it is imported."""
    from mlcdr.api.loading import load_experiment

    return load_experiment(config, overrides or (), announce=None if quiet else print_notice)


def all_different(configs: list[Path], names: list[str]) -> None:
    """Raise a UserError where two experiments would write into the same results folder."""
    for i, name in enumerate(names):
        if name in names[:i]:
            first = configs[names.index(name)]
            raise UserError(
                f"{configs[i]}: name: {name!r} is the name of {first} too; they would share a results folder"
            )


def size(experiment: Experiment) -> str:
    """`1 data set × 4 methods (20 points) × 100 splits`, or `× 1 split of each fold of the file`."""
    from mlcdr.experiment.splits import number_of_splits

    points = sum(map(experiment.n_points, experiment.methods))
    splits = number_of_splits(experiment.splits)
    several = "" if experiment.splits.kind != "file" else " of each fold of the file"
    counts = [(len(experiment.datasets), "data set"), (len(experiment.methods), "method"), (splits, "split")]
    sets, methods_, splits_ = (f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
    return f"{sets} × {methods_} ({points} {'point' if points == 1 else 'points'}) × {splits_}{several}"
