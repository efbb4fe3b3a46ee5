"""An experiment while it is read: pydantic's context, which collects what is right and all that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError, ValidationInfo

from mlcdr.errors import ConfigError, join_words
from mlcdr.experiment.problems import KeyPath, Problem, problems_of
from mlcdr.experiment.yaml_reader import Document

ENTRIES = ("datasets", "metrics", "tables", "figures")
"""The keys of an experiment that hold lists of entries."""

MAX_PROBLEMS = 500


@dataclass
class Draft:
    """An experiment while it is read; `raise_any` reports all that is wrong with it, in the file's order.

    Attributes
    ----------
    document : Document
        What is written.
    folder : Path
        The config's folder, in which files may stand that it names.
    held : mapping
        Data sets in memory, name → digest.
    values : dict
        Key → what was read; None for what is wrong, also for a single entry of a list, or a method.
    found : dict
        Each problem → the methods in which it is, if it stands in `defaults`.
    """

    document: Document = field(default_factory=Document)
    folder: Path = field(default_factory=Path.cwd)
    held: Mapping[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    found: dict[Problem, dict[str, None]] = field(default_factory=dict)

    @property
    def sweep(self) -> Mapping[str, Any]:
        """What is written as `sweep`; empty if that is no mapping."""
        sweep = self.document.data.get("sweep")
        return sweep if isinstance(sweep, dict) else {}

    def add(self, path: KeyPath, text: str) -> None:
        """Report what is wrong at `path`."""
        self.report(Problem(path, text))

    def report(self, problem: Problem) -> None:
        """Record a problem (a key that is missing is placed where its mapping is).

        Raises
        ------
        ConfigError
            When there are more problems than are useful: to look for the rest could take very long.
        """
        path = self.document.origin(problem.path)
        methods = self.found.setdefault(Problem(path, problem.text), {})
        if path != problem.path:
            methods[str(problem.path[1])] = None
        if len(self.found) >= MAX_PROBLEMS:
            source = self.document.place(()).source
            self.raise_any([f"{source}: more than {MAX_PROBLEMS} mistakes; the others are not listed"])

    def report_error(self, error: ValidationError, *at: str | int) -> None:
        """Report what pydantic found wrong with what stands at `at`."""
        for problem in problems_of(error):
            self.report(problem.below(*at))

    def raise_any(self, more: Sequence[str] = ()) -> None:
        """Raise ConfigError if there are problems, by line (those of `--set` come last), or lines of `more`."""
        lines = []
        for problem in sorted(self.found, key=self.document.order):
            methods = [*self.found[problem]]
            text = problem.text
            if methods:
                text += f" (in {join_words(methods)})"
            lines.append(self.document.tell(Problem(problem.path, text)))
        lines += more
        if lines:
            raise ConfigError(lines)

    def read(self, key: str, written: Any, validate: Callable[[Any], Any]) -> Any:
        """Validate the value of a key; the entries of a list, and methods, each by itself."""
        if key in ENTRIES and isinstance(written, list) and written:
            entries = []
            for i, each in enumerate(written):
                found = self._read([each], validate, key, i)
                entries.append(None if found is None else found[0])
            self.values[key] = tuple(entries)
        elif key == "methods" and isinstance(written, dict) and written:
            methods = {}
            for name, each in written.items():
                found = self._read({name: each}, validate, key)
                methods[name] = None if found is None else found[name]
            self.values[key] = methods
        else:
            self.values[key] = self._read(written, validate, key)
        return self.values[key]

    def _read(self, written: Any, validate: Callable[[Any], Any], *at: str | int) -> Any:
        """The validated value; None, and the problems reported, if it is wrong."""
        try:
            return validate(written)
        except ValidationError as error:
            for problem in problems_of(error):
                # An entry was the only one of a list that was made for it; its own number replaces 0.
                inner = problem.path[len(at) - 1 :]
                self.add((*at, *inner), problem.text)
            return None

    def entries(self, key: str) -> dict[int, Any]:
        """The entries of a list that could be read, by their numbers."""
        entries = self.values.get(key) or ()
        return {i: each for i, each in enumerate(entries) if each is not None}

    def methods(self) -> dict[str, Any]:
        """The methods that could be read."""
        methods = self.values.get("methods") or {}
        return {name: spec for name, spec in methods.items() if spec is not None}


def draft_of(info: ValidationInfo) -> Draft:
    """The draft for which a validator reads; a new one where there is none."""
    return info.context if isinstance(info.context, Draft) else Draft()
