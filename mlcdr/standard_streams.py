"""Standard output and error that never end a program: what cannot be written is dropped, and the work goes on."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from typing import Any, cast


class _Dropping(io.FileIO):
    """A standard stream; `failure` is the error at which it began to drop what is written to it."""

    failure: OSError | None = None

    def __init__(self, number: int, replaced: Any):
        super().__init__(number, "w", closefd=False)
        self._replaced = replaced  # it would close the descriptor if it were collected

    def write(self, data: Any) -> int:
        """Write, or else drop, all or a part of the bytes; gives how many."""
        while self.failure is None:
            try:
                written = cast("int | None", super().write(data))
                if written is not None:
                    return written
                select.select([], [self], [])  # somebody has made it one that does not wait
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


def guard() -> None:
    """Make standard output and error drop what cannot be written, and show what they cannot encode as `?`.

    A standard stream that was closed is opened on nothing: else the next file opened would have its number, and would
    get what libraries print.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        closed = False
        try:
            os.fstat(number)
        except OSError:
            closed = True
            os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free, which is this
            os.set_inheritable(number, True)
        stream = getattr(sys, name)
        if number == 0:
            continue
        if closed or _stands_for(stream, number):
            raw = _Dropping(number, stream)
            encoding = getattr(stream, "encoding", "utf-8")
            lines = name == "stderr" or raw.isatty() or getattr(stream, "write_through", False)
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), encoding, "replace", line_buffering=lines))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _stands_for(stream: Any, number: int) -> bool:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        raw = getattr(stream.buffer, "raw", None)  # none with PYTHONUNBUFFERED
        return stream.fileno() == number and not isinstance(raw, _Dropping)
    return False


def failure() -> str:
    """Why standard output was not written to its end; empty where it was, or where its reader had seen enough."""
    sys.stdout.flush()
    error = getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "failure", None)
    return "" if error is None or error.errno == errno.EPIPE else str(error.strerror)
