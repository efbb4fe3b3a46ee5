"""Standard output and error: printing on them, and protection of the program against errors of writing.

What is printed may have a name or a text of a stranger's file in it, which must not command the terminal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from typing import Any, TextIO, cast

from mlcdr.errors import escape_control_characters


def print_lines(text: object, file: TextIO | None = None) -> None:
    """Print the lines of a text, control characters as their escapes; to standard output, or to `file`."""
    for line in str(text).split("\n"):
        print(escape_control_characters(line), file=file)


def print_notice(text: object) -> None:
    """Print a text to standard error, apart from the output of a command; control characters as their escapes."""
    print_lines(text, sys.stderr)


class _DroppingStream(io.FileIO):
    """A standard stream that drops all output after its first write error, which `failure` holds."""

    failure: OSError | None = None

    def __init__(self, number: int, replaced: Any):
        super().__init__(number, "w", closefd=False)
        self._replaced = replaced  # garbage collection of it would close the descriptor

    def write(self, data: Any) -> int:
        """Write or drop all or a part of the bytes; returns how many."""
        while self.failure is None:
            try:
                written = cast("int | None", super().write(data))
                if written is not None:
                    return written
                select.select([], [self], [])  # another program has made it non-blocking
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


def protect_streams() -> None:
    """Make standard output and error drop output that cannot be written, and replace unencodable characters by `?`.

    A closed standard stream is opened on the null device: otherwise the next opened file would get its descriptor, and
    with it all that libraries print.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        closed = False
        try:
            os.fstat(number)
        except OSError:
            closed = True
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
            os.set_inheritable(number, True)
        stream = getattr(sys, name)
        if number == 0:
            continue
        if closed or _uses_descriptor(stream, number):
            raw = _DroppingStream(number, stream)
            encoding = getattr(stream, "encoding", "utf-8")
            lines = name == "stderr" or raw.isatty() or getattr(stream, "write_through", False)
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), encoding, "replace", line_buffering=lines))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _uses_descriptor(stream: Any, number: int) -> bool:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        raw = getattr(stream.buffer, "raw", None)  # none with PYTHONUNBUFFERED
        return stream.fileno() == number and not isinstance(raw, _DroppingStream)
    return False


def describe_failure() -> str:
    """Why standard output is incomplete; empty if it is complete, or if the reader of a pipe closed it."""
    sys.stdout.flush()
    error = getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "failure", None)
    return "" if error is None or error.errno == errno.EPIPE else str(error.strerror)
