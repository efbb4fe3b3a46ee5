"""Lines of text files: error messages with file and line, strict decoding, quoted tokens."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from mlcdr.errors import DataError, escape_control_characters

BLANKS = " \t\r\n"
QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
"""A token within quotes, as a pattern with two groups, of which one matches."""


def _token_before(ends: str) -> re.Pattern[str]:
    """The pattern of a token, quoted or not, with the blanks around it."""
    unquoted = rf"""[^'" \t\r\n{ends}][^{ends}]*|(?=[{ends}]|$)"""
    return re.compile(rf"[ \t\r\n]*(?:{QUOTED}|({unquoted}))[ \t\r\n]*")


IN_BRACES = _token_before(",}")
IN_ROW = _token_before(",")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"} | {char: char for char in "\\'\"%{},"}


@contextlib.contextmanager
def gathering(errors: list[DataError]) -> Iterator[None]:
    """Add an error of a `with` block to a list instead of raising it, so that the next one is found as well."""
    try:
        yield
    except DataError as error:
        errors.append(error)


def raise_all(errors: Sequence[DataError]) -> None:
    """Raise the only error of a list, or one DataError with a line for each; nothing if there is none."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise DataError("\n".join(map(str, errors)))


def fail(path: Path, message: str) -> NoReturn:
    """Raise DataError about a file; control characters in the message are escaped."""
    Line(path, 0).fail(message)


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
        """Raise an error about this line; control characters in the message are escaped."""
        raise error(f"{self}: {escape_control_characters(message)}")

    def decode(self, raw: bytes) -> str:
        """The text without blanks at its ends, and without the mark of UTF-8 at the beginning of a file.

        UTF-8 only: in another encoding, label names would not match the XML.

        Raises
        ------
        DataError
            When there is a NUL byte, or a byte that is not UTF-8.
        """
        if self.number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if b"\0" in raw:
            self.fail("a NUL byte; an ARFF file is text in UTF-8")
        try:
            return raw.decode("utf-8").strip(BLANKS)
        except UnicodeDecodeError as error:
            self.fail(f"byte 0x{raw[error.start]:02X} is not UTF-8; convert the file (iconv -f latin1 -t utf-8)")

    def read_token(self, text: str, start: int, pattern: re.Pattern[str] = IN_BRACES) -> tuple[str, bool, int]:
        """Read the value that begins at `start`, quoted or not, in the text of this line.

        Returns
        -------
        tuple
            The token, whether it was quoted, and the position after it and the blanks that follow.
        """
        match = pattern.match(text, start)
        if match is None:
            self.fail(f"the quote opened by {quote(text[start:].strip(BLANKS))} is never closed")
        if match[3] is None:
            return self.unescape(match[1] or match[2] or ""), True, match.end()
        return match[3].rstrip(BLANKS), False, match.end()

    def unescape(self, text: str) -> str:
        """Replace the backslash escapes of a quoted token; an unknown escape stays as written."""
        plain = _ESCAPE.sub(_replace_escape, text)
        try:
            return plain.encode("utf-16", "surrogatepass").decode("utf-16")  # joins the two `\u` of one character
        except UnicodeDecodeError:
            self.fail(f"{quote(text)} has a half of a character")

    def expect_end(self, text: str, start: int, what: str) -> None:
        """Fail if anything but blanks and a % comment follows from `start` on."""
        rest = text[start:].lstrip(BLANKS)
        if rest and rest[0] != "%":
            self.fail(f"unexpected {quote(rest)} after {what}")


def _replace_escape(match: re.Match[str]) -> str:
    code, octal, char = match.groups()
    if char:
        return _ESCAPES.get(char, match.group())
    return chr(int(octal, 8) if octal else int(code, 16))


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def quote(text: str) -> str:
    """A piece of text for a message: in quotes, and shortened to 40 characters."""
    return repr(_shorten(text))


def list_values(values: Iterable[str]) -> str:
    """The first five values, as text for a message."""
    shown = [_shorten(value) for value in values]
    if len(shown) > 5:
        shown[5:] = ["..."]
    return f"{{{', '.join(shown)}}}"
