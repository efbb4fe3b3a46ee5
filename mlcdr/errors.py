"""The errors that are the user's to mend.

Everything the command line catches and turns into one clear line and exit code 2 derives from
`UserError`; anything else that escapes is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence


class UserError(Exception):
    """A mistake in the input: the message says what is wrong, where, and what would be right."""


class DataError(UserError):
    """A data set cannot be found, read or verified. The message begins with `file:line:` where there is one."""


class ConfigError(UserError):
    """An experiment file (or a `--set` option) is wrong; carries *all* the problems found, one line each.

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


def printable(text: str) -> str:
    r"""The text with every character that a terminal would obey rather than show as an escape; tabs as blanks.

    Examples
    --------
    >>> print(printable("a" + chr(27) + "[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return "".join(
        " " if char == "\t" else char.encode("unicode_escape").decode() if _obeyed(char) else char for char in text
    )


def _obeyed(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind[0] == "C" or kind in ("Zl", "Zp")  # control, direction and joining marks, surrogates; line ends


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the end of a message where something known is near `name` in any case, else nothing.

    Examples
    --------
    >>> did_you_mean("haming_loss", ["hamming_loss", "f1"])
    "; did you mean 'hamming_loss'?"
    """
    spelt = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), list(spelt), n=1)
    return f"; did you mean {spelt[near[0]]!r}?" if near else ""


def listing(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""
