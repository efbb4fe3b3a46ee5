"""The experiments that commands are about, read and checked before slow imports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.cli.printing import print_notice
from mlcdr.errors import UserError

if TYPE_CHECKING:
    from mlcdr.config.consistency import Asked
    from mlcdr.experiment.model import Experiment


def load(
    config: Path, overrides: list[str] | None, trust: bool = False, announce: Callable[[str], None] | None = None
) -> Experiment:
    """The experiment, with its layouts looked up, so that nothing is found wrong after hours of computing.

    `trust`: whether modules may be imported that are not below the config's folder; `announce` gets a line on each.
    """
    from mlcdr.config.imports import Imports
    from mlcdr.config.loading import load_experiment
    from mlcdr.methods.registry import judging_imports

    if (config / "experiment.yaml").exists():
        raise UserError(f"{config}: a results folder; its experiment is {config / 'experiment.yaml'}")
    import_from_here()
    with judging_imports(Imports(config.absolute().parent.resolve(), trust, announce)):
        return load_experiment(config, overrides or (), also=_layout_problems)


def load_to_run(config: Path, overrides: list[str] | None, quiet: bool = False) -> Experiment:
    """As `load`, of an experiment to be run, whatever it names; each module is printed before it is imported."""
    return load(config, overrides, trust=True, announce=None if quiet else print_notice)


def _layout_problems(asked: Asked) -> Iterable[str]:
    """What is wrong with the tables and figures of an experiment; `tables` is imported where there are any."""
    if not (asked.tables or asked.figures):
        return []
    from mlcdr.tables import checks

    return checks.find_problems(asked)


def import_from_here() -> None:
    """Let a dotted path lead to a module in the current folder."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last: a file here must not stand in for a library's module


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
