"""Experiments from a file, a mapping, or another experiment, checked before anything slow is imported."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mlcdr.errors import ConfigError, UserError, describe

if TYPE_CHECKING:
    from mlcdr.experiment.consistency import Asked
    from mlcdr.experiment.model import Experiment
    from mlcdr.experiment.overrides import Overrides
    from mlcdr.experiment.problems import Problem

    Config: TypeAlias = str | Path | Mapping[str, Any] | Experiment
    Changes: TypeAlias = Mapping[str, Any] | Sequence[str]


def load_experiment(
    config: Config,
    set: Changes = (),
    *,
    trust: bool = True,
    announce: Callable[[str], None] | None = None,
    held: Mapping[str, str] | None = None,
) -> Experiment:
    """Read and check an experiment, its layouts included, so that a mistake does not show after hours of computing.

    Parameters
    ----------
    config : path, mapping or Experiment
        The YAML file, the name of a config that comes with mlcdr (`yeast_cplst`), or what a file would hold.
    set : mapping of key path to value, or sequence of "key.path=value"
        Changes, put in before anything is checked: `{"splits.repeats": 10}`.
    trust : bool
        Whether modules may be imported that are not below the config's folder.
    announce : callable, optional
        Called with a line about each module of yours that is imported.
    held : mapping, optional
        Data sets in memory (`mlcdr.experiment.loading.load_experiment`).

    Returns
    -------
    Experiment

    Raises
    ------
    ConfigError
        With all mistakes, one line each.
    """
    from mlcdr.experiment import loading
    from mlcdr.experiment.imports import Imports
    from mlcdr.experiment.shipped import find_config
    from mlcdr.methods.registry import judging_imports

    overrides = _read_changes(set)
    import_from_here()
    if hasattr(config, "resolved"):
        announce = None  # the modules of an Experiment were imported, and announced, when it was read
    path = Path(config) if isinstance(config, str | Path) else None
    if path is not None and (path / "experiment.yaml").exists():
        raise UserError(f"{path}: a results folder; its experiment is {path / 'experiment.yaml'}")
    path = path and find_config(path)
    folder = Path.cwd() if path is None else path.absolute().parent
    with judging_imports(Imports(folder.resolve(), trust, announce)):
        if path is not None:
            return loading.load_experiment(path, overrides, check_layouts=_layout_problems, held=held)
        if isinstance(config, Mapping):
            plain = config
        elif hasattr(config, "resolved"):
            plain = config.resolved()
        else:
            raise ConfigError([f"config: must be a path, a mapping or an Experiment, found {describe(config)}"])
        return loading.experiment_from(plain, overrides, "config", check_layouts=_layout_problems, held=held)


def load_unknown(path: Path, trust: bool, announce: Callable[[str], None]) -> Experiment:
    """As `load_experiment`, of a file that a stranger wrote: nothing of theirs is imported or run unless it is trusted.

    Raises
    ------
    ConfigError
        With all mistakes, one line each; a module that is not installed, and a command, are mistakes without `trust`.
    """
    from mlcdr.experiment import loading
    from mlcdr.experiment.commands import refuse_commands
    from mlcdr.experiment.imports import Imports
    from mlcdr.methods.registry import judging_imports

    import_from_here()
    with judging_imports(Imports(None, trust, announce)):
        experiment = loading.load_experiment(path, check_layouts=_layout_problems)
    if not trust:
        refuse_commands(experiment)
    return experiment


def _read_changes(changes: Changes) -> Overrides:
    """Changes as texts `key.path=value`, or as plain data."""
    if isinstance(changes, str):
        return [changes]
    if not isinstance(changes, Mapping):
        return changes
    from mlcdr.experiment.from_python import copy_plain

    return {key: copy_plain(value, f"set: {key}") for key, value in changes.items()}


def _layout_problems(asked: Asked) -> Iterable[Problem]:
    """What is wrong with the tables and figures of an experiment; `tables` is imported where there are any."""
    if not (asked.tables or asked.figures):
        return []
    from mlcdr.tables import checks

    return checks.find_problems(asked)


def find_folder(results: Any, what: str = "results") -> Path:
    """The folder of `Results`, or the path that is given in their place.

    Raises
    ------
    UserError
        When it is neither; `what` is the name of the argument.
    """
    folder = getattr(results, "folder", results)
    if not isinstance(folder, str | os.PathLike):
        found = f"found an object of type {type(results).__name__}"
        raise UserError(f"{what}: must be Results, or the path of a results folder; {found}")
    return Path(folder)


def import_from_here() -> None:
    """Let a dotted path lead to a module in the current folder, even one written after this process began."""
    importlib.invalidate_caches()
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last: a file here must not stand in for a library's module
