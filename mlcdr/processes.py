"""What a run and its workers hold to as processes: signals that ask for the end, and children that a method forks.

An exception that the handler of a signal raises may be lost: Python drops what is raised in a callback of a weak
reference (an import has some), in `__del__` and in callbacks of C code, and a method may catch it. So a signal is noted
as well, and `stop_if_asked` is called wherever a run waits for something or begins something new.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a run to end; SIGHUP comes when its terminal is closed."""

_heard: list[int] = []


class Stop(BaseException):
    """A signal asks the run to end."""


def stop_if_asked() -> None:
    """Go no further where a signal has asked for the end.

    Raises
    ------
    Stop
    """
    if _heard:
        raise Stop


def note_ctrl_c() -> list[int]:
    """Note every SIGINT from now on, in the list that is returned, and raise KeyboardInterrupt as ever."""
    _heard.clear()

    def note(number: int, frame: Any) -> None:
        _heard.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        with contextlib.suppress(ValueError):  # outside the main thread it is not ours to take
            signal.signal(signal.SIGINT, note)
    return _heard


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """Turn the first signal of `ENDING`, even one noted before, into `Stop`; those that follow change nothing.

    Outside the main thread signals are not ours to take.

    Raises
    ------
    Stop
        At the signal; or at the end of the block, where what was raised then was lost or became another exception.
    """

    def stop(number: int, frame: Any) -> None:
        if not _heard:
            _heard.append(number)
            raise Stop

    before: dict[int, Any] = {}
    try:
        for each in ENDING:
            if signal.getsignal(each) != signal.SIG_IGN:  # a shell's background job is not to stop at Ctrl-C
                with contextlib.suppress(ValueError):
                    before[each] = signal.signal(each, stop)
        stop_if_asked()
        try:
            yield
        except Exception:
            stop_if_asked()
            raise
        stop_if_asked()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        _heard.clear()


@contextlib.contextmanager
def signals_held_back() -> Iterator[None]:
    """The signals of `ENDING` wait until the block ends; what is started in it hears them only if it asks to."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # costs `mlcdr --help` some time

    resource_tracker.ensure_running()  # or else it is started with the first worker, and lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Run code of others, and be the same process in the same folder afterwards.

    A method that forks may come back twice; the child ends here, so that nothing is computed or recorded twice.
    """
    process = os.getpid()
    try:
        folder: str | Path = Path.cwd()
    except OSError:  # it was removed; every path that is still needed is absolute then
        folder = ""
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)
        with contextlib.suppress(OSError):
            os.chdir(folder)


class _Closable(Protocol):
    def close(self) -> None: ...


_own: WeakSet[Any] = WeakSet()


def keep_from_children(file: _Closable) -> None:
    """Close a file in every process that is forked from this one: what a lock or a pipe's end is held by lives on."""
    _own.add(file)


def _close_all() -> None:
    for file in list(_own):
        with contextlib.suppress(OSError):
            file.close()
    _own.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
