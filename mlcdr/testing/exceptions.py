"""What went wrong: exceptions, of the user's code or of a law, in a line."""

from __future__ import annotations

import inspect
import textwrap
import traceback
from pathlib import Path
from typing import Any

from mlcdr.methods.returned import ReturnedWrong, hint


class Violation(Exception):
    """A law does not hold, with which data (`case`), and why: in words, or the exception of the user's code."""

    def __init__(self, why: str | Exception, case: str = ""):
        super().__init__(f"{case}: {why}")
        self.why = why
        self.case = case


class DoesNotApply(Exception):
    """A law has no meaning for what is tested: why."""


def describe_exception(error: BaseException) -> str:
    """Describe an exception in one line."""
    text = str(error)
    if isinstance(error, ReturnedWrong):
        return text
    name = type(error).__name__
    shown = textwrap.shorten(text, 200, placeholder=" …") + hint(text)
    return f"{name}: {shown}" if shown else name


def find_file(target: Any) -> str:
    """The file of a class or a function; empty if there is none."""
    try:
        return inspect.getfile(target)
    except (OSError, TypeError):
        return ""


def find_place(error: BaseException, file: str) -> str:
    """`:12, in transform`: the last line of a file that an exception went through; empty if there is none."""
    path = Path(file).absolute()
    passed = traceback.extract_tb(error.__traceback__)
    frames = [each for each in passed if Path(each.filename).absolute() == path]
    if not frames:
        return ""
    last = frames[-1]
    inside = "" if last.name == "<module>" else f", in {last.name}"
    return f":{last.lineno}{inside}"
