"""Collects everything that is wrong with a document, and tells it line by line."""

from __future__ import annotations

from collections.abc import Sequence

from mlcdr.errors import ConfigError, join_words
from mlcdr.experiment.problems import KeyPath, Problem, dotted
from mlcdr.experiment.yaml_reader import Document, Place

MAX_PROBLEMS = 500


class Problems:
    """The problems of one document; `raise_any` reports them all, in the file's order.

    Attributes
    ----------
    document : Document
    written : dict
        Path of a method's part (`methods.A.learner`, `methods.A.tune.folds`) that was written elsewhere → where.
    """

    def __init__(self, document: Document):
        self.document = document
        self.written: dict[KeyPath, KeyPath] = {}
        self._found: dict[Problem, dict[str, None]] = {}  # and the methods in which it is, if elsewhere

    def __len__(self) -> int:
        return len(self._found)

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
        path, methods = problem.path, {}
        for n in (3, 4):
            if path[:n] in self.written:
                methods = {str(path[1]): None}
                path = (*self.written[path[:n]], *path[n:])
                break
        self._found.setdefault(Problem(path, problem.text), {}).update(methods)
        if len(self._found) >= MAX_PROBLEMS:
            source = self.document.place(()).source
            self.raise_any([f"{source}: more than {MAX_PROBLEMS} mistakes; the others are not listed"])

    def lines(self) -> list[str]:
        """`file:line: key.path: text`, sorted by line; those of `--set` options come last."""
        placed = [(self.document.place(problem.path), problem, methods) for problem, methods in self._found.items()]
        placed.sort(key=lambda item: (item[0].line == 0, item[0].line, item[0].column))
        lines = []
        for place, problem, methods in placed:
            key = dotted(problem.path)
            # "--set splits.repeats" contains the key already.
            parts = [str(place)] if not key or str(place).endswith(f" {key}") else [str(place), key]
            within = f" (in {join_words(list(methods))})" if methods else ""
            lines.append(": ".join([*parts, problem.text + within]))
        return lines

    def places(self) -> dict[KeyPath, Place]:
        """The place of each key path, also of what was written elsewhere."""
        places = dict(self.document.places)
        shared = {path: place for path, place in places.items() if path[:1] == ("defaults",)}
        for part, origin in self.written.items():
            for path, place in shared.items():
                if path[: len(origin)] == origin:
                    places[(*part, *path[len(origin) :])] = place
        return places

    def raise_any(self, more: Sequence[str] = ()) -> None:
        """Raise ConfigError if there are problems here, or lines of `more`."""
        lines = [*self.lines(), *more]
        if lines:
            raise ConfigError(lines)
