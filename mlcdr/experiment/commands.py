"""Commands in a config (`learner: {external: …}`): where they are run, and whether they may be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mlcdr.errors import ConfigError
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.experiment.problems import Problem
from mlcdr.experiment.varied import list_varied
from mlcdr.methods.declarations import read_parts


def place_commands(data: dict[str, Any], folder: Path) -> None:
    """Give each command in plain data its folder (changed in place), if it has none: that of the config."""
    for key in ("methods", "sweep"):
        named = data.get(key)
        for written in named.values() if isinstance(named, dict) else ():
            _place(written, str(folder))


def without_folders(plain: Any) -> Any:
    """Plain data without the folders of commands, which decide no number: what a command names there has a digest."""
    if isinstance(plain, list):
        return [without_folders(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    found = {}
    for key, value in plain.items():
        kept = without_folders(value)
        if key in _names() and isinstance(kept, dict):
            kept.pop("folder", None)
        found[key] = kept
    return found


def _place(written: Any, folder: str) -> None:
    """`place_commands` of a part of the data."""
    if isinstance(written, list):
        for each in written:
            _place(each, folder)
    if not isinstance(written, dict):
        return
    for key, value in written.items():
        if key in _names() and isinstance(value, str):
            written[key] = {"command": value, "folder": folder}
        elif key in _names() and isinstance(value, dict) and value.get("folder") is None:
            value["folder"] = folder
        _place(value, folder)


@cache
def _names() -> frozenset[str]:
    """The names of the learners that run a command."""
    parts = read_parts()
    return frozenset(name.partition(".")[2] for name, each in parts.items() if each.runs_command)


def runs_command(spec: MethodSpec) -> bool:
    """Whether a method runs a command."""
    found = (next(component.commands(), None) for component in spec.components())
    return any(found)


def refuse_commands(experiment: Experiment) -> None:
    """Refuse an experiment that would run a command.

    Raises
    ------
    ConfigError
        With a line for each method that has a command.
    """
    problems = dict.fromkeys(_find_commands(experiment))
    if problems:
        raise ConfigError([experiment.placed(problem) for problem in problems])


def _find_commands(experiment: Experiment) -> Iterator[Problem]:
    for name, spec in experiment.methods.items():
        for path, component in spec.by_path().items():
            for each in component.commands():
                yield Problem(("methods", name, *path), _refusal(each.params.get("command")))
    for varied in list_varied(experiment.sweep, experiment.methods):
        for i, value in enumerate(varied.values):
            for part in varied.parts(value).values():
                for each in part.commands():
                    yield Problem((*varied.here, i), _refusal(each.params.get("command")))


def _refusal(command: Any) -> str:
    shown = f" {' '.join(command.split())!r}" if isinstance(command, str) else ""
    return f"runs the command{shown}; `--trust` (in Python trust=True) runs it, if you know what it does"
