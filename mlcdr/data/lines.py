"""Lines of text files: error messages with file and line, strict decoding, quoted tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

from mlcdr.errors import DataError, escape_control_characters

BLANKS = " \t\r\n"
_QUOTED = {"'": re.compile(r"'((?:[^'\\]|\\.)*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"')}
IN_BRACES = re.compile(r"[^,}]*")
IN_ROW = re.compile(r"[^,]*")
"""An unquoted token within braces, and of a row without them."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"} | {char: char for char in "\\'\"%{},"}


def fail(path: Path, message: str) -> NoReturn:
    """Raise DataError about a file; control characters in the message are escaped."""
    raise DataError(f"{path}: {escape_control_characters(message)}")


def fail_unreadable(path: Path, error: OSError) -> NoReturn:
    """Raise DataError for a file that cannot be opened or read."""
    fail(path, f"cannot be read: {error.strerror or error}")


class Line(NamedTuple):
    """A line of a file, for messages; line 0 means the file itself."""

    path: Path
    number: int

    def __str__(self) -> str:
        return f"{self.path}:{self.number}" if self.number else str(self.path)

    def fail(self, message: str, error: type[DataError] = DataError) -> NoReturn:
        """Raise an error about this line, as `fail` does about a file."""
        raise error(f"{self}: {escape_control_characters(message)}")

    def decode(self, raw: bytes) -> str:
        """The text without blanks at its ends. UTF-8 only: in another encoding, label names would not match the XML.

        Raises
        ------
        DataError
            When there is a NUL byte, or a byte that is not UTF-8.
        """
        if b"\0" in raw:
            self.fail("a NUL byte; an ARFF file is text in UTF-8")
        try:
            return raw.decode("utf-8").strip(BLANKS)
        except UnicodeDecodeError as error:
            wrong = f"byte 0x{raw[error.start]:02X} is not UTF-8"
            self.fail(f"{wrong}; convert the file (iconv -f latin1 -t utf-8)")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def quote(text: str) -> str:
    """A piece of text for a message: in quotes, and shortened to 40 characters."""
    return repr(_shorten(text))


def list_values(values: Iterable[str]) -> str:
    """The first five values, as text for a message."""
    shown = [_shorten(value) for value in values]
    return "{" + ", ".join(shown[:5] + ["..."] * (len(shown) > 5)) + "}"


def _unescape(text: str) -> str:
    """Replace the backslash escapes of a quoted token; an unknown escape stays as written."""

    def replace(match: re.Match[str]) -> str:
        code, octal, char = match.groups()
        if char:
            return _ESCAPES.get(char, match.group())
        return chr(int(octal, 8) if octal else int(code, 16))

    return _ESCAPE.sub(replace, text)


def read_quoted(line: Line, text: str, start: int) -> tuple[str, int]:
    """The quoted token that begins at `start`, unescaped, and the position after its closing quote."""
    match = _QUOTED[text[start]].match(text, start)
    if match is None:
        line.fail(f"the quote opened by {quote(text[start:].rstrip(BLANKS))} is never closed")
    return _unescape(match.group(1)), match.end()


def read_token(line: Line, text: str, start: int, unquoted: re.Pattern[str] = IN_BRACES) -> tuple[str, bool, int]:
    """Read a value: a quoted token, or the text that matches `unquoted`, without blanks at its ends.

    Returns
    -------
    tuple
        The token, whether it was quoted, and the position after it: of `,` or `}`, of an unexpected character after a
        quoted token, or of the end of `text`.
    """
    start = skip_blanks(text, start)
    if start < len(text) and text[start] in _QUOTED:
        token, end = read_quoted(line, text, start)
        return token, True, skip_blanks(text, end)
    match = unquoted.match(text, start)
    assert match is not None
    return match.group().strip(BLANKS), False, match.end()


def skip_blanks(text: str, start: int) -> int:
    """The first position from `start` on that is not a blank."""
    while start < len(text) and text[start] in BLANKS:
        start += 1
    return start


def expect_end(line: Line, text: str, start: int, what: str) -> None:
    """Fail if anything but blanks and a % comment follows from `start` on."""
    start = skip_blanks(text, start)
    if start < len(text) and text[start] != "%":
        line.fail(f"unexpected {quote(text[start:])} after {what}")
