"""Docstrings of parts: a class inherits the descriptions of parameters and fitted attributes from its bases."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

_HEADING = re.compile(r"(?:\A|\n\n)(\w[\w ]*)\n-{3,}\n")
_ENTRY = re.compile(r"\n+(?=\S)")


def complete_docstring(cls: type, parameters: Iterable[str]) -> None:
    """Give a class's docstring all its parameters, in order, and fitted attributes, as it or its bases describe them.

    The description nearest in the method resolution order is taken. A class without a docstring is left without.
    """
    if not cls.__dict__.get("__doc__"):
        return
    first, sections = _read(cls)
    inherited = [_read(base)[1] for base in cls.__mro__[1:] if base.__dict__.get("__doc__")]

    def merged(title: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in (sections, *inherited):
            for names, text in _entries(each.get(title, "")):
                found |= {name: text for name in names if name not in found}
        return found

    described, attributes = merged("Parameters"), merged("Attributes")
    own = {name for names, _ in _entries(sections.get("Attributes", "")) for name in names}
    sections["Parameters"] = _write({name: described[name] for name in parameters if name in described})
    sections["Attributes"] = _write({n: text for n, text in attributes.items() if n in own or n.endswith("_")})
    titles = dict.fromkeys(("Parameters", "Attributes", *sections))
    shown = [f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in titles if sections[title]]
    cls.__doc__ = "\n\n".join([first, *shown]) + "\n"


def _read(cls: type) -> tuple[str, dict[str, str]]:
    """A docstring's text before its sections, and the sections by their titles."""
    text = inspect.cleandoc(cls.__dict__["__doc__"])
    headings = [*_HEADING.finditer(text), None]
    first = text[: headings[0].start()] if headings[0] else text
    return first, {
        one[1]: text[one.end() : other.start() if other else None] for one, other in pairwise(headings) if one
    }


def _entries(section: str) -> Iterable[tuple[list[str], str]]:
    """The names that each entry of a section describes, and what it says after them: type and description."""
    for entry in _ENTRY.split(section) if section else ():
        head, line, about = entry.partition("\n")
        names, colon, kind = head.partition(" : ")
        yield names.split(", "), f"{colon}{kind}{line}{about}"


def _write(entries: Mapping[str, str]) -> str:
    """A section of such entries; neighbours that say the same are one entry."""
    lines: list[tuple[list[str], str]] = []
    for name, text in entries.items():
        if lines and lines[-1][1] == text:
            lines[-1][0].append(name)
        else:
            lines.append(([name], text))
    return "\n".join(f"{', '.join(names)}{text}" for names, text in lines)
