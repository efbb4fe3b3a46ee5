"""Results folders that can be moved: the paths in `experiment.yaml` are relative to it, and are found again there.

A path is written relative to the results folder where the file lies in the folder that contains `results/`, so that
both can be moved together; else it stays absolute. Keys of trials have the name and the checksum of a data set and no
path, so nothing is computed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mlcdr.data.moved import find_again
from mlcdr.experiment.commands import change_folders
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.splits import FromFile


def relative_paths(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """The experiment as plain data, as the `experiment.yaml` of a results folder has it."""
    change = partial(_make_relative, folder=folder.resolve())
    plain = _with_paths(experiment, change).resolved()
    change_folders(plain, lambda given: change(given) if isinstance(given, str) else given)
    return plain


def with_paths_found(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment that the `experiment.yaml` of a results folder has, with absolute paths."""
    return _with_paths(experiment, partial(find_again, folder=folder.resolve()))


def _with_paths(experiment: Experiment, change: Callable[[str], str]) -> Experiment:
    datasets = [spec.with_path(change) for spec in experiment.datasets]
    splits = experiment.splits
    if isinstance(splits, FromFile):
        splits = splits.model_copy(update={"folders": tuple(map(change, splits.folders))})
    return experiment.model_copy(update={"datasets": tuple(datasets), "splits": splits})


def _make_relative(path: str, folder: Path) -> str:
    """A path relative to a results folder, if it leads into the folder that contains all results folders' folder."""
    project = folder.parent.parent
    whole = Path(os.path.normpath(path))
    if not whole.is_absolute() or project == Path(folder.anchor) or project not in (whole, *whole.parents):
        return path
    return Path(os.path.relpath(whole, folder)).as_posix()
