"""User-facing errors.

Every error that the command line turns into one line and exit code 2 derives from `UserError`; any other exception is a
bug of this package and keeps its traceback.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

_FEW = 12  # names that a message lists

_Function = TypeVar("_Function", bound=Callable[..., Any])


class UserError(Exception):
    """A mistake in the input: the message says what is wrong, where, and what would be right."""


class DataError(UserError):
    """A data set cannot be found, read or verified. The message begins with `file:line:` where there is one."""


class ConfigError(UserError):
    """An experiment file (or a `--set` option) is wrong; holds *all* the problems found, one line each.

    Parameters
    ----------
    problems : list of str
        Each `file:line: key.path: what is wrong`.
    """

    def __init__(self, problems: list[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class ResultsError(UserError):
    """A results folder, a published table or a layout cannot be read or does not fit the request."""


class FailedTrialsWarning(UserWarning):
    """Trials of a run failed; the others were finished."""


def report_memory(read: _Function) -> _Function:
    """Decorate a function that reads the file named by its first argument: turn a MemoryError into a UserError."""

    @functools.wraps(read)
    def wrapped(what: Any, *args: Any, **options: Any) -> Any:
        try:
            return read(what, *args, **options)
        except MemoryError as error:
            raise UserError(f"{what}: not enough memory to read it") from error

    return cast("_Function", wrapped)


def escape_control_characters(text: str) -> str:
    r"""Replace each control character, which a terminal would execute instead of show, by its escape; tabs by spaces.

    Examples
    --------
    >>> print(escape_control_characters("a" + chr(27) + "[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return "".join(map(_escape, text.replace("\t", " ")))


def _escape(char: str) -> str:
    """A character, or its escape if it is a control, a direction or joining mark, a surrogate or a line's end."""
    shown = char.isprintable() or unicodedata.category(char) == "Zs"  # no-break spaces and the like
    return char if shown else char.encode("unicode_escape").decode()


def plural(number: int, what: str) -> str:
    """`1 method`, `2 methods`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """The end of a message, `; did you mean 'x'?`, if a known name is similar to `name` in any case, else nothing.

    Examples
    --------
    >>> suggest_name("haming_loss", ["hamming_loss", "f1"])
    "; did you mean 'hamming_loss'?"
    """
    import difflib

    original = {each.casefold(): each for each in known}
    similar = difflib.get_close_matches(name.casefold(), list(original), n=1)
    return f"; did you mean {original[similar[0]]!r}?" if similar else ""


def list_known(known: Collection[str], whole_list: str) -> str:
    """The end of a message on an unknown name, `known: a, b`; for a long list only the command `whole_list`."""
    return f"known: {', '.join(known)}" if len(known) <= _FEW else f"{whole_list} lists all"


def join_words(items: Sequence[str], last: str = "and") -> str:
    """Join words as in a sentence: `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def describe(value: object) -> str:
    """A short description of a value, in a config's terms."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value if len(value) <= 40 else value[:37] + '...'!r}"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return str(value)


def without_numbers(text: str) -> str:
    """A text with `#` for each number, so that texts which differ in nothing else are the same.

    Examples
    --------
    >>> without_numbers("shape (80, 1), expected (80, 5)")
    'shape (#, #), expected (#, #)'
    """
    return re.sub(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?", "#", text, flags=re.I)
