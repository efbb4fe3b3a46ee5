"""Pieces for reading text files strictly: places in messages, decoding, quoted tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mlcdr.errors import DataError, printable

BLANKS = " \t\r\n"
_QUOTED = {"'": re.compile(r"'((?:[^'\\]|\\.)*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"')}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))")
_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "b": "\b",
    "f": "\f",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "%": "%",
    "}": "}",
    "{": "{",
    ",": ",",
}


def fail(path: Path | str, line: int | None, message: str) -> NoReturn:
    """Raise DataError with the message behind `file:line:` (or `file:` where no line can be named).

    The message may quote the file, so it is shown without anything that a terminal would obey.
    """
    place = f"{path}:" if line is None else f"{path}:{line}:"
    raise DataError(f"{place} {printable(message)}")


def decode(path: Path, line: int, raw: bytes) -> str:
    """Decode one line: UTF-8 only, because a wrong guess would give label names that match no XML."""
    if b"\0" in raw:
        fail(path, line, "a NUL byte; an ARFF file is text in UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        fail(path, line, f"byte 0x{raw[error.start]:02X} is not UTF-8; convert the file (iconv -f latin1 -t utf-8)")


def listed(values: Sequence[str]) -> str:
    """The first values of a declaration, as a message shows them."""
    shown = [value if len(value) <= 40 else value[:37] + "..." for value in values[:5]]
    return "{" + ", ".join([*shown, *(["..."] if len(values) > 5 else [])]) + "}"


def short(text: str) -> str:
    """A piece of the file for a message: quoted, and cut where long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _unescape(text: str) -> str:
    """Undo the backslashes of a quoted token; an escape the format does not know stays as written."""
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        code, octal, char = match.groups()
        if octal:
            return chr(int(octal, 8))
        return chr(int(code, 16)) if code else _ESCAPES.get(char, match.group(0))

    return _ESCAPE.sub(plain, text)


def read_quoted(path: Path, line: int, text: str, start: int) -> tuple[str, int]:
    """The quoted token that begins at `start`, unescaped, and the position behind its closing quote."""
    match = _QUOTED[text[start]].match(text, start)
    if match is None:
        fail(path, line, f"the quote opened by {short(text[start:].rstrip(BLANKS))} is never closed")
    return _unescape(match.group(1)), match.end()


def read_token(path: Path, line: int, text: str, start: int) -> tuple[str, bool, int]:
    """A value within braces: a quoted token, or what stands before the next `,` or `}` with no blanks around it.

    Returns
    -------
    tuple
        The token, whether it was quoted, and where it ends: at `,` or `}`, at something else that has no place behind
        a quoted token, or at the end of `text`.
    """
    start = skip_blanks(text, start)
    if start < len(text) and text[start] in _QUOTED:
        token, end = read_quoted(path, line, text, start)
        return token, True, skip_blanks(text, end)
    end = start
    while end < len(text) and text[end] not in ",}":
        end += 1
    return text[start:end].strip(BLANKS), False, end


def skip_blanks(text: str, start: int) -> int:
    """The first position from `start` on that holds no blank."""
    while start < len(text) and text[start] in BLANKS:
        start += 1
    return start


def expect_end(path: Path, line: int, text: str, start: int, what: str) -> None:
    """Fail if anything but blanks and a % comment follows from `start` on."""
    start = skip_blanks(text, start)
    if start < len(text) and text[start] != "%":
        fail(path, line, f"unexpected {short(text[start:])} after {what}")
