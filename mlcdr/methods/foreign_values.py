"""Which values a config may give to a parameter of a class of another package: none that could name a place.

What such a class does with its parameters is not known, and some load pickles: a config must not run code. So a
parameter whose name means a place (a path) gets only numbers, true, false and null. Any other also gets components,
which are checked by themselves, texts, and lists and mappings of all these. A text, also a key of a mapping, has only
letters, digits, `_`, `-`, `+` and spaces, and is not `filename` (vectorizers would open files).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from mlcdr.methods.parts_file import read_definitions

NESTED = "estimator"
"""The family of a component that a parameter of another package's class is, and that a dotted path names."""

# Names that mean a place to load from or to write to: `memory`, `cache_dir`, `log_file`, `model_path`.
_PLACES = re.compile(
    r"(.*_)?(memory|cache.*|.*(file|path|dir|folder)s?|.*(filename|director(y|ies))s?|locations?|ur[il]s?)(_.*)?", re.I
)
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
# Text that names no file but perhaps one without a suffix in the folder the command is run in.
_WORDS = re.compile(r"[\w+ -]*")


def is_component(written: Any) -> bool:
    """Whether a value is a component by its form: a mapping with one key, which is a dotted path to a class.

    Or which is the name of a component of mlcdr, with a mapping of its parameters: `{ridge: {}}`. A class that has a
    parameter of that name is not mistaken for it where the value is no mapping, or a component itself.
    """
    if not isinstance(written, Mapping) or len(written) != 1:
        return False
    ((name, inner),) = written.items()
    return _is_dotted(name) or (name in _families() and isinstance(inner, Mapping) and not is_component(inner))


def family_of(written: Mapping[str, Any]) -> str:
    """The family of a component; `NESTED` for a dotted path."""
    return _families().get(next(iter(written)), NESTED)


@cache
def _families() -> dict[str, str]:
    """The name of each component of mlcdr → its family; a name in several families is that of a learner."""
    found: dict[str, str] = {}
    for place in read_definitions():
        family, _, name = place.partition(".")
        if family == "learner" or name not in found:
            found[name] = family
    return found


def _is_dotted(text: Any) -> bool:
    return isinstance(text, str) and _DOTTED.fullmatch(text) is not None


def find_place(shown: str, parameter: str, written: Any) -> str | None:
    """Why a parameter may not be given a value that could name a file to load; None if it may.

    Parameters
    ----------
    shown : str
        The parameter as the message begins with it: "The 'file' parameter of Own".
    parameter : str
        The parameter's name, or the key of the mapping in it that contains the value.
    written : object
    """
    if written is None or isinstance(written, bool | int | float):
        return None
    if _PLACES.fullmatch(parameter):
        return f"{shown} names a place to load from or to write to, which no config may set"
    if is_component(written):
        return None
    if isinstance(written, str):
        return _find_place_in_text(shown, written)
    if isinstance(written, Mapping):
        return _find_place_in_mapping(shown, written)
    problems = (find_place(shown, parameter, each) for each in written)
    return next(filter(None, problems), None)


def _find_place_in_mapping(shown: str, written: Mapping[Any, Any]) -> str | None:
    for key, value in written.items():
        name = str(key)
        inner = f"{shown}, in {name!r}," if _PLACES.fullmatch(name) else shown
        why = find_place(inner, name, value) or _find_place_in_text(shown, name)
        if why:
            return why
    return None


def _find_place_in_text(shown: str, text: str) -> str | None:
    if text == "filename":  # of a vectorizer's `input`
        return f"{shown} would make it open files that the data name, which no config may set. Got 'filename'."
    if _WORDS.fullmatch(text):
        return None
    hint = f" (A component is a mapping: `{{{text}: {{}}}}`.)" if _is_dotted(text) else ""
    return (
        f"{shown} must be no text that could name a file: a config may give a class of another package words "
        f"only (letters, digits, `_`, `-`, `+`, spaces). Got {text!r} instead.{hint}"
    )
