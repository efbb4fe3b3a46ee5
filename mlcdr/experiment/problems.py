"""What is wrong with a config: each problem an object, and pydantic's errors put into our words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from mlcdr.errors import UserError, describe, suggest_name

KeyPath = tuple[str | int, ...]


def dotted(path: KeyPath) -> str:
    """The key path as text: `methods.CPLST.learner`."""
    steps = map(str, path)
    return ".".join(step if step.isprintable() else repr(step) for step in steps)


@dataclass(frozen=True)
class Problem:
    """Something that is wrong.

    Attributes
    ----------
    path : tuple
        The keys that lead to it; those of a key that is missing lead to where it should be.
    text : str
        What is wrong, and what would be right.
    code : str
        The kind of problem, for what has to tell kinds apart.
    """

    path: KeyPath
    text: str
    code: str = ""

    def __str__(self) -> str:
        """`key.path: text`."""
        return f"{dotted(self.path)}: {self.text}" if self.path else self.text

    @classmethod
    def parse(cls, line: str) -> Problem:
        """From `key.path: text`, as errors of the splits have it."""
        key, _, text = line.partition(": ")
        return cls(tuple(key.split(".")), text)

    def below(self, *path: str | int) -> Problem:
        """The same problem of a part that stands at `path`."""
        return Problem((*path, *self.path), self.text, self.code)


def refusal(*problems: Problem) -> ValidationError:
    """The error for a validator to raise; pydantic puts the path of what is validated in front of the problems'."""
    return ValidationError.from_exception_data("config", [_as_pydantic(problem) for problem in problems])


def _as_pydantic(problem: Problem) -> InitErrorDetails:
    context = {"text": problem.text, "code": problem.code}
    kind = PydanticCustomError("problem", "{text}", context)
    return InitErrorDetails(type=kind, loc=problem.path, input=None)


def problems_of(error: ValidationError) -> list[Problem]:
    """Pydantic's errors as problems."""
    return [_read_finding(item) for item in error.errors(include_url=False)]


def _read_finding(item: Any) -> Problem:
    path = tuple(step for step in item["loc"] if step != "[key]")  # pydantic's word for the key itself
    if item["type"] == "problem":
        return Problem(path, **item["ctx"])
    return Problem(path, _describe_finding(item), item["type"])


def find_by(check: Callable[[Any], object], value: Any, at: KeyPath) -> list[Problem]:
    """What is wrong with a value, which stands at `at`, if a check refuses it."""
    try:
        check(value)
    except (ValueError, UserError) as error:
        return [Problem(at, str(error))]
    return []


class Strict(BaseModel):
    """A part of a config: frozen, with no other keys than its fields, and no value of another type made to fit."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants")

    @model_validator(mode="wrap")
    @classmethod
    def _describe_unknown_keys(cls, written: Any, validate: Callable[[Any], Any]) -> Any:
        """Name the known keys where one is unknown; a key for which it was meant is then not missing, too."""
        try:
            return validate(written)
        except ValidationError as error:
            found = problems_of(error)
        known = cls.known_keys()
        unknown = [str(problem.path[-1]) for problem in found if problem.code == "extra_forbidden"]
        problems = []
        for problem in found:
            key = str(problem.path[-1]) if len(problem.path) == 1 else ""
            if problem.code == "extra_forbidden":
                text = f"unknown key{suggest_name(key, known)} (known: {', '.join(known)})"
                problems.append(Problem(problem.path, text))
            elif problem.code != "missing" or not suggest_name(key, unknown):
                problems.append(problem)
        raise refusal(*problems)

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys that it may have."""
        return [*cls.model_fields]


def as_tuple(value: object) -> object:
    """A list as the tuple that a frozen model has for it; any other value as it is."""
    return tuple(value) if isinstance(value, list) else value


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


def _describe_finding(item: Any) -> str:
    """One of pydantic's errors in our words, but for unknown keys."""
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing":
        return "this key is missing"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind == "literal_error":
        allowed = re.findall(r"'([^']*)'", context["expected"])  # 'a', 'b' or 'c'
        hint = suggest_name(str(value), allowed)
        return f"must be one of {', '.join(allowed)}, found {describe(value)}{hint}"
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"must be {words} {context[limit]}, found {describe(value)}"
    expected = _EXPECTED.get(kind) or _EXPECTED.get(kind.partition("_")[0])
    if expected is None:
        return f"{item['msg'][0].lower()}{item['msg'][1:]}, found {describe(value)}"
    hint = " (put it in quotes)" if expected == "text" and isinstance(value, bool | int | float) else ""
    return f"must be {expected}, found {describe(value)}{hint}"
