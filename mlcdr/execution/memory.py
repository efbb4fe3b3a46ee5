"""How much memory a fit takes, and a process at its peak.

Linux keeps the peak of a process's resident memory (VmHWM in /proc/self/status), and resets it to what is resident now
when `5` is written into /proc/self/clear_refs. So the rise of a fit above its beginning is exact for this process; a
forked worker shares pages with the run, which stand in both numbers and cancel. No other system resets the peak, and
samples taken by a thread would miss what is allocated between them: there the rise is not known.

Before a measurement, garbage is collected and the allocator gives free pages back: a fit that takes them again would
seem to need no memory. Since it keeps some all the same, it is made to take all that is large from the system, where it
finds no free place for it. Pages of files are left out, as far as they are resident at the end: they are mostly code,
which the first fits of a process load, and which the system takes back when it likes. So the first values of a small
fit may be wrong by a megabyte or two.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from mlcdr.numerics.memo import Memo

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_CONSOLIDATED = 65_536  # bytes of a block with which the C library puts free ones together, when it is freed
_LARGE = _CONSOLIDATED + 4096  # bytes of a block that is taken from the system, and given back, by itself
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_T = TypeVar("_T")

_before_reset: dict[int, int] = {}  # process → its peak before it was reset; a fork does not take its parent's


class Rise:
    """How far the memory of this process rises within a `with` block.

    Attributes
    ----------
    bytes : float
        The peak less what was resident at the beginning, without pages of files; NaN where it was not measured.
    """

    def __init__(self) -> None:
        self.bytes = math.nan
        self._start = 0

    def begin(self) -> None:
        """Measure from now on."""
        self.bytes = 0.0
        self._start = _settle()

    def look(self) -> None:
        """Count the peak since the beginning, or since the last reset."""
        self.bytes = max(self.bytes, float(_read_status("VmHWM") - _read_status("RssFile") - self._start))

    def leave_out(self, n_bytes: int) -> None:
        """Leave out what has become resident for the whole data set."""
        self._start += n_bytes


_open: list[Rise] = []  # the one that is being measured


@contextlib.contextmanager
def rising(wanted: bool) -> Iterator[Rise]:
    """Measure how far memory rises in this block, if it is wanted, and this system can tell."""
    rise = Rise()
    if not wanted or _open or not can_measure():  # two at once cannot be told apart
        yield rise
        return
    rise.begin()
    _open.append(rise)
    try:
        yield rise
        rise.look()
    finally:
        _open.clear()


class DataSetMemo(Memo):
    """What is computed once for a whole data set: no method is charged for its time, nor for its memory."""

    def __init__(self) -> None:
        super().__init__(charged=False)

    def get(self, key: Any, compute: Callable[[], _T]) -> _T:
        """The value under `key`, computed on first use."""
        return super().get(key, partial(_compute_uncounted, compute))


def _compute_uncounted(compute: Callable[[], _T]) -> _T:
    """Compute a value, and leave out of the measurement what that takes and what is kept."""
    if not _open:
        return compute()
    rise = _open.pop()
    rise.look()
    before = _settle()
    try:
        return compute()
    finally:
        rise.leave_out(_settle() - before)
        _open.append(rise)


@cache
def can_measure() -> bool:
    """Whether this system can tell how far memory rises."""
    try:
        _reset()
    except OSError:
        return False
    return True


def peak() -> int:
    """The most bytes of memory that this process has had resident at once since it began."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    with contextlib.suppress(OSError):
        return max(_before_reset.get(os.getpid(), 0), _read_status("VmHWM"))
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def as_megabytes(n_bytes: int) -> float | None:
    """Bytes in MB (10⁶ bytes); None for 0, which is not known."""
    return round(n_bytes / 10**6, 1) or None


def _settle() -> int:
    """Give back what is free, reset the peak to what is resident then, and return these bytes less those of files."""
    gc.collect()
    if hasattr(_c_library(), "malloc_trim"):
        _take_large_blocks_from_system()
        _c_library().malloc_trim(0)
        _trim_of_thread()
    _reset()
    return _read_status("VmRSS") - _read_status("RssFile")


def _reset() -> None:
    """Make what is resident now the peak."""
    _before_reset[os.getpid()] = peak()
    _RESET.write_text("5")


@cache
def _c_library() -> Any:
    """The C library, with types that hold its addresses."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    return library


@cache
def _take_large_blocks_from_system() -> None:
    """Let the C library map each large block by itself, unmap it when it is freed, and keep little at a heap's end.

    By default it comes to keep freed blocks of up to 32 MiB for later ones, and twice as much at the end of a heap.
    """
    _c_library().mallopt(_MMAP_THRESHOLD, _LARGE)
    _c_library().mallopt(_TRIM_THRESHOLD, _LARGE)


def _trim_of_thread() -> None:
    """Give back the free end of this thread's heap, as is done when a block of 64 KiB is freed.

    `malloc_trim` gives back that of the first heap alone. Each thread has one of its own, and so has the main thread
    after it asked for more memory than there is.
    """
    _c_library().free(_c_library().malloc(_CONSOLIDATED))


def _read_status(name: str) -> int:
    """A number of /proc/self/status, in bytes; 0 where it has none of that name."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
