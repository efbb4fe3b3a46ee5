"""Collects everything that is wrong with a config and puts it into words."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mlcdr.config.yaml_reader import Document, KeyPath, Place, dotted
from mlcdr.errors import ConfigError, describe, join_words, suggest_name

MAX_PROBLEMS = 500


class Problems:
    """The problems of one document, each with its key path; `raise_any` reports them all, in the file's order.

    Attributes
    ----------
    importing : bool
        Whether the classes of components may be imported to find more.
    complete : bool
        False if a check was left out because it needs such a class.
    written : dict
        Path of a method's part (`methods.A.learner`, `methods.A.tune.folds`) that was written elsewhere → where.
    """

    def __init__(self, document: Document):
        self.document, self.importing, self.complete = document, False, True
        self.written: dict[KeyPath, KeyPath] = {}
        self._found: dict[tuple[KeyPath, str], dict[str, None]] = {}  # and the methods in which it is, if elsewhere

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: KeyPath, message: str) -> None:
        """Record what is wrong at `path` (a key that is missing is placed where its mapping is).

        Raises
        ------
        ConfigError
            When there are more problems than are useful: to look for the rest could take very long.
        """
        part = next((path[:n] for n in (3, 4) if path[:n] in self.written), ())
        methods = self._found.setdefault(((*self.written.get(part, ()), *path[len(part) :]), message), {})
        methods |= {str(path[1]): None} if part else {}
        if len(self._found) >= MAX_PROBLEMS:
            self.raise_any(
                [f"{self.document.place(()).source}: more than {MAX_PROBLEMS} mistakes; the others are not listed"]
            )

    def places(self) -> set[KeyPath]:
        """The key paths at which something is wrong."""
        return {path for path, _ in self._found}

    def lines(self) -> list[str]:
        """`file:line: key.path: message`, sorted by line; those of `--set` options come last."""
        found = [
            (self.document.place(path), path, f"{message} (in {join_words(list(methods))})" if methods else message)
            for (path, message), methods in self._found.items()
        ]
        found.sort(key=lambda item: (item[0].line == 0, item[0].line, item[0].column))
        return [_line(place, dotted(path), message) for place, path, message in found]

    def raise_any(self, more: Sequence[str] = ()) -> None:
        """Raise ConfigError if there are problems here, or lines of `more`."""
        lines = [*self.lines(), *more]
        if lines:
            raise ConfigError(lines)

    def add_validation(
        self, error: ValidationError, data: Any, path: KeyPath, known_keys: Callable[[KeyPath], Iterable[str]]
    ) -> None:
        """Record pydantic's errors in `data`, which stands at `path`, in our words.

        `known_keys` gives the keys allowed in the mapping at a location (pydantic's), for the "did you mean".
        """
        found = error.errors(include_url=False)
        unknown = [tuple(item["loc"]) for item in found if item["type"] == "extra_forbidden"]
        for item in found:
            location: KeyPath = tuple(item["loc"])
            misspelt = (near(other[-1], [str(location[-1])]) for other in unknown if other[:-1] == location[:-1])
            if item["type"] == "missing" and any(misspelt):
                continue
            suffix = ("kind",) if item["type"] in ("union_tag_not_found", "union_tag_invalid") else ()
            self.add((*path, *_as_written(location, data), *suffix), describe_finding(item, known_keys(location[:-1])))


def _line(place: Place, key: str, message: str) -> str:
    # "--set splits.repeats" contains the key already.
    parts = [str(place), key, message] if key and not str(place).endswith(f" {key}") else [str(place), message]
    return ": ".join(parts)


def near(name: object, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if one of `known` is close to `name`, else nothing."""
    return suggest_name(str(name), known)


_LIMITS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_EXPECTED = {
    "bool": "true or false",
    "float": "a number",
    "finite_number": "a finite number",
    "int": "a whole number",
    "string_type": "text",
    "dict": "a mapping (`key: value`)",
    "model": "a mapping (`key: value`)",
    "tuple": "a list",
    "list": "a list",
}
"""The type of a pydantic error, or its beginning → what is right."""


def describe_finding(item: Any, known: Iterable[str] = ()) -> str:
    """One of pydantic's errors in our words; `known` are the keys that are allowed at that place."""
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing":
        return "this key is missing"
    if kind == "extra_forbidden":
        known = list(known)
        return f"unknown key{near(item['loc'][-1], known)} (known: {', '.join(known)})"
    if kind == "union_tag_not_found":
        return "this key is missing (one of: shuffle, kfold, predefined, file)"
    if kind == "union_tag_invalid":
        tags = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        return f"unknown kind {context['tag']!r}{near(context['tag'], tags)} (one of: {', '.join(tags)})"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind == "literal_error":
        known = [each.strip("'") for each in re.findall(r"'[^']*'|[^\s,']+", context["expected"]) if each != "or"]
        return f"must be one of {', '.join(known)}, found {describe(value)}{near(value, known)}"
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"must be {words} {context[limit]}, found {describe(value)}"
    expected = _EXPECTED.get(kind) or _EXPECTED.get(kind.partition("_")[0])
    if expected is None:
        return f"{item['msg'][0].lower()}{item['msg'][1:]}, found {describe(value)}"
    hint = " (put it in quotes)" if expected == "text" and isinstance(value, bool | int | float) else ""
    return f"must be {expected}, found {describe(value)}{hint}"


def _as_written(location: KeyPath, data: Any) -> KeyPath:
    """Pydantic's location without the names of union members, which are not written."""
    path: list[str | int] = []
    for i, step in enumerate(location):
        written = (isinstance(data, Mapping) and step in data) or (
            isinstance(data, list | tuple) and isinstance(step, int) and step < len(data)
        )
        if written:
            data = data[step]
        elif step == "[key]" or i < len(location) - 1 or not isinstance(data, Mapping):
            continue  # "[key]" is pydantic's word for the key itself
        path.append(step)
    return tuple(path)
