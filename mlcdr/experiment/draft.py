"""An experiment while it is read: pydantic's context, which collects what is right and reports what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError, ValidationInfo

from mlcdr.experiment.problems import KeyPath, Problem, problems_of

ENTRIES = ("datasets", "metrics", "tables", "figures")
"""The keys of an experiment that hold lists of entries."""


@dataclass
class Draft:
    """An experiment while it is read.

    Attributes
    ----------
    written : mapping
        What is written, by key.
    folder : Path
        The config's folder, in which files may stand that it names.
    recorded : bool
        Whether it is the experiment of a results folder, which is read to interpret the results and not to be run. Only
        its form is checked: no class is imported, and its components, metrics and keys may be those of another version
        of mlcdr or of another program (an unknown key is left out).
    tell : callable
        Called with each problem.
    values : dict
        Key → what was read; None for what is wrong, also for a single entry of a list, or a method.
    complete : bool
        Whether all that was read could be judged without instances of classes.
    wrong : set
        The key paths at which something is wrong.
    """

    written: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path.cwd)
    recorded: bool = False
    tell: Callable[[Problem], object] = repr  # where nobody asks
    values: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    wrong: set[KeyPath] = field(default_factory=set)

    @property
    def sweep(self) -> Mapping[str, Any]:
        """What is written as `sweep`; empty if that is no mapping."""
        sweep = self.written.get("sweep")
        return sweep if isinstance(sweep, dict) else {}

    def report(self, problem: Problem) -> None:
        """Note a problem, and tell it."""
        self.wrong.add(problem.path)
        self.tell(problem)

    def add(self, path: KeyPath, text: str) -> None:
        """Report what is wrong at `path`."""
        self.report(Problem(path, text))

    def read(self, key: str, written: Any, validate: Callable[[Any], Any]) -> Any:
        """Validate the value of a key; the entries of a list, and methods, each by itself."""
        value: Any
        if key in ENTRIES and isinstance(written, list) and written:
            found = [self._read([each], validate, key, i) for i, each in enumerate(written)]
            value = tuple(each and each[0] for each in found)
        elif key == "methods" and isinstance(written, dict) and written:
            value = {}
            for name, each in written.items():
                method = self._read({name: each}, validate, key)
                value[name] = method and method[name]
        else:
            value = self._read(written, validate, key)
        self.values[key] = value
        return value

    def _read(self, written: Any, validate: Callable[[Any], Any], *at: str | int) -> Any:
        """The validated value; None, and the problems reported, if it is wrong."""
        try:
            return validate(written)
        except ValidationError as error:
            for problem in problems_of(error):
                in_list = len(at) > 1  # the only one of a list that was made for it
                below = Problem(problem.path[1:], problem.text, problem.code) if in_list else problem
                self.report(below.below(*at))
            return None

    def entries(self, key: str) -> dict[int, Any]:
        """The entries of a list that could be read, by their numbers."""
        return {i: each for i, each in enumerate(self.values.get(key) or ()) if each is not None}

    def methods(self) -> dict[str, Any]:
        """The methods that could be read."""
        return {name: spec for name, spec in (self.values.get("methods") or {}).items() if spec is not None}


def draft_of(info: ValidationInfo) -> Draft:
    """The draft for which a validator reads; a new one where there is none."""
    return info.context if isinstance(info.context, Draft) else Draft()
