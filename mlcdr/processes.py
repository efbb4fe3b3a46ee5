"""Signals that end a run or a worker, child processes that a method forks, and commands that it runs.

An exception raised by a signal handler may be lost: Python drops exceptions raised in a callback of a weak reference
(imports have some), in `__del__` and in callbacks of C code, and a method may catch them. Therefore a signal is also
recorded, and `raise_if_stopped` is called wherever a run waits or begins a new piece of work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

if TYPE_CHECKING:
    from subprocess import Popen

ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a run; SIGHUP is sent when its terminal is closed."""

_LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "NUMEXPR_NUM")
ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}
"""The environment in which numerical libraries use one thread."""

_received: list[int] = []
_PATIENCE = 2.0  # seconds; two signals within them may be one, sent by the terminal and by another program
_holding: list[None] = []  # one for each `hold_signals` that is open


class Stop(BaseException):
    """A signal to end the run has been received."""


def raise_if_stopped() -> None:
    """Raise `Stop` if a signal to end the run has been received.

    Raises
    ------
    Stop
    """
    if _received:
        raise Stop


def record_ctrl_c() -> list[int]:
    """Record every SIGINT from now on in the returned list, and raise KeyboardInterrupt as usual."""
    _received.clear()

    def record(number: int, frame: Any) -> None:
        _received.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a background job of a shell ignores it
        with contextlib.suppress(ValueError):  # only the main thread can set a handler
            signal.signal(signal.SIGINT, record)
    return _received


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn the first signal of `ENDING_SIGNALS`, even one recorded before, into `Stop`; later ones have no effect, but
    for those that end a block of `hold_signals` that does not come to its end.

    Outside the main thread, where no signal handler can be set, only recorded signals count.

    Raises
    ------
    Stop
        At the signal; or at the end of the block, if the first `Stop` was lost or replaced by another exception.
    """
    since = time.monotonic()  # of the first signal

    def stop(number: int, frame: Any) -> None:
        nonlocal since
        if not _received:
            _received.append(number)
            since = time.monotonic()
            if not _holding:
                raise Stop
        elif _holding and time.monotonic() - since > _PATIENCE:
            raise Stop

    before: dict[int, Any] = {}
    try:
        for each in ENDING_SIGNALS:
            if signal.getsignal(each) != signal.SIG_IGN:  # a background job of a shell ignores Ctrl-C
                with contextlib.suppress(ValueError):
                    before[each] = signal.signal(each, stop)
        raise_if_stopped()
        try:
            yield
        except Exception:
            raise_if_stopped()
            raise
        raise_if_stopped()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        _received.clear()


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """Do the work of this block whole: a signal raises no `Stop` in it, and the next `raise_if_stopped` does.

    A second signal, some seconds after the first, ends the block: what it waits for may never come.
    """
    _holding.append(None)
    try:
        yield
    finally:
        _holding.pop()


@contextlib.contextmanager
def block_signals() -> Iterator[None]:
    """Block `ENDING_SIGNALS` until the end; threads and processes started within keep them blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def protect_process() -> Iterator[None]:
    """Run code of a method, and continue in the same process and the same working directory afterwards.

    If the method forks, the child process ends here, so that nothing is computed or recorded twice.
    """
    process = os.getpid()
    try:
        folder: str | Path = Path.cwd()
    except OSError:  # it was removed; all paths that are still needed are absolute
        folder = ""
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)
        with contextlib.suppress(OSError):
            os.chdir(folder)


def is_daemonic() -> bool:
    """Whether this process may start no process, as those of `multiprocessing.Pool` and of Dask's nannies."""
    from multiprocessing import current_process

    return current_process().daemon


_FORKABLE = {"jemalloc_bg_thd"}
"""The names of threads that libraries stop and start around a fork: those of the memory allocator of pyarrow."""


def may_fork() -> bool:
    """Whether a fork of this process can go on with its work, as only the thread that forks is in it.

    That is so on Linux, where this process has no other thread that may hold a lock: none of Python's, and none of a
    library's. The threads of OpenBLAS are no hindrance. They end when a process forks, and start again when they are
    needed: so a first fork, which ends at once, shows whether there are others.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    if _other_threads():
        with without_fork_warning():
            child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    return not _other_threads()


@contextlib.contextmanager
def without_fork_warning() -> Iterator[None]:
    """Fork without Python's warning of threads, where `may_fork` has found that there are none that matter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* is multi-threaded, use of fork", DeprecationWarning)
        yield


def _other_threads() -> bool:
    """Whether this process has threads of libraries, but for those that do not matter."""
    n_threads = 0
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            n_threads += (thread / "comm").read_text().strip() not in _FORKABLE
    return n_threads > 1


def watch_parent(parent: int) -> None:
    """End this process when `parent` is gone: a run that was killed must leave no process behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        with contextlib.suppress(OSError, AttributeError):
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


class Ended(NamedTuple):
    """How a command ended.

    Attributes
    ----------
    code : int or None
        The exit code, or the number of the signal that ended it, below 0; None if it was ended after the timeout.
    error : str
        Why the program could not be started; empty if it could.
    """

    code: int | None
    error: str = ""


def run_command(command: Sequence[str], folder: Path, scratch: Path, timeout: float) -> Ended:
    """Run a command without a shell, and wait until it ends.

    All processes that it has started end with it, and with this process, however that ends; but for those that leave
    their process group. It reads nothing, numerical libraries use one thread, and its temporary files are in `scratch`.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    folder : Path
        The folder in which it is run.
    scratch : Path
        A folder for this call, which gets what the command prints: `stdout` and `stderr`.
    timeout : float
        In seconds.
    """
    import subprocess

    guard = Path(__file__).with_name("command_guard.py")
    told = scratch / "ended"
    environment = {**os.environ, **ONE_THREAD, "TMPDIR": str(scratch)}
    with (scratch / "stdout").open("wb") as out, (scratch / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-IS", str(guard), str(told), *command],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    assert process.stdin is not None
    close_in_forks(process.stdin)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return Ended(None)
    finally:
        _end_tree(process)
    text = told.read_text("utf-8") if told.exists() else "its guard was ended"
    try:
        return Ended(int(text))
    except ValueError:
        return Ended(0, text)


def _end_tree(process: Popen[bytes]) -> None:
    """End a process that leads a group, and its group."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            import psutil

            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
        process.kill()
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    process.wait()


_own: WeakSet[Any] = WeakSet()


def close_in_forks(file: Any) -> None:
    """Close a file in every process forked from this one, so that a child holds no lock and no end of a pipe."""
    _own.add(file)


def _close_all() -> None:
    for file in list(_own):
        with contextlib.suppress(OSError):
            file.close()
    _own.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
