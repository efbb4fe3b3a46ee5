"""Commands in a config (`learner: {external: …}`): where they are run, and whether they may be."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mlcdr.errors import ConfigError
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.experiment.problems import Problem
from mlcdr.experiment.varied import list_varied
from mlcdr.methods.declarations import read_parts


def place_commands(data: dict[str, Any], folder: Path) -> None:
    """Make the folder of each command in plain data absolute (changed in place); without any, it is the config's."""

    def place(given: Any) -> Any:
        if isinstance(given, str):
            return os.path.normpath(folder / given)
        return given or str(folder)

    change_folders(data, place)


def change_folders(data: dict[str, Any], change: Callable[[Any], Any]) -> None:
    """Change the folder of each command in plain data (in place); the change gets None where there is none."""
    for written in _list_written(data):
        _change(written, change)


def _list_written(data: dict[str, Any]) -> Iterator[Any]:
    """The methods in plain data, and the values of each swept path."""
    for key in ("methods", "sweep"):
        named = data.get(key)
        yield from named.values() if isinstance(named, dict) else ()


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


def _change(written: Any, change: Callable[[Any], Any]) -> None:
    """`change_folders` of a part of the data."""
    if isinstance(written, list):
        for each in written:
            _change(each, change)
    if not isinstance(written, dict):
        return
    for key, value in written.items():
        if key in _names() and isinstance(value, str):
            written[key] = {"command": value, "folder": change(None)}
        elif key in _names() and isinstance(value, dict):
            value["folder"] = change(value.get("folder"))
        _change(value, change)


@cache
def _names() -> frozenset[str]:
    """The names of the learners that run a command."""
    parts = read_parts()
    return frozenset(name.partition(".")[2] for name, each in parts.items() if each.runs_command)


def runs_command(spec: MethodSpec) -> bool:
    """Whether a method runs a command."""
    found = (next(component.commands(), None) for component in spec.components())
    return any(found)


def has_commands(data: dict[str, Any]) -> bool:
    """Whether the methods or the sweep of plain data have a command."""
    return any(map(_has_command, _list_written(data)))


def _has_command(plain: Any) -> bool:
    if isinstance(plain, list):
        return any(map(_has_command, plain))
    if not isinstance(plain, dict):
        return False
    return not _names().isdisjoint(plain) or any(map(_has_command, plain.values()))


def refuse_commands(experiment: Experiment, methods: Collection[str] | None = None) -> None:
    """Refuse an experiment that would run a command; of its methods only some, if they are given.

    Raises
    ------
    ConfigError
        With a line for each method that has a command.
    """
    wanted = experiment.methods if methods is None else methods
    problems = dict.fromkeys(_find_commands(experiment, wanted))
    if problems:
        raise ConfigError([experiment.placed(problem) for problem in problems])


def _find_commands(experiment: Experiment, methods: Collection[str]) -> Iterator[Problem]:
    for name in methods:
        for path, component in experiment.methods[name].by_path().items():
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
