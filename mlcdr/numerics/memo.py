"""Work that several methods share: done once, and charged in full to each who uses it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Values computed once, each with what it cost, so that a `meter` can charge every user in full.

    Timings of methods that share work would otherwise depend on their order: the first would pay for the rest.

    Parameters
    ----------
    charged : bool
        False for work done once for a whole data set, which no method pays for.
    """

    def __init__(self, charged: bool = True) -> None:
        self._values: dict[Any, Any] = {}
        self._needs: dict[Any, frozenset[_Cost]] = {}
        self._charged = charged
        self._latest: dict[str, dict[Any, None]] = {}  # of each kind of `latest`, its keys in the order of their use
        self._lock = threading.RLock()  # threads that share a data set's sums must not all compute them

    def get(self, key: Any, compute: Callable[[], T]) -> T:
        """The value under `key`, computed on first use."""
        outer = _thread.frames
        if key not in self._values:
            start = time.perf_counter()
            with self._lock:
                if key not in self._values:
                    with _watch() as frame:
                        value = compute()
                    self._needs[key] = frozenset(frame.needs | {_Cost(frame.alone)}) if self._charged else frozenset()
                    self._values[key] = value
            if outer:
                outer[-1].elsewhere += time.perf_counter() - start
        if outer:
            outer[-1].needs |= self._needs[key]
        return self._values[key]

    def latest(self, kind: str, key: Any, compute: Callable[[], T], at_most: int) -> T:
        """As `get`; but of all values of a `kind` only the `at_most` used last are kept: for those that fill memory."""
        start = time.perf_counter()
        with self._lock:
            if outer := _thread.frames:
                outer[-1].elsewhere += time.perf_counter() - start  # waiting for another thread
            value = self.get((kind, key), compute)
            order = self._latest.setdefault(kind, {})
            order.pop(key, None)
            order[key] = None
            for old in list(order)[:-at_most]:
                del order[old], self._values[kind, old], self._needs[kind, old]
        return value


@dataclass(frozen=True, eq=False)
class _Cost:
    """What one memoised value took to compute, apart from the memoised values it was made of."""

    seconds: float


@dataclass
class Meter:
    """What a block cost, as if nothing it used had been shared; `seconds` is set when the block ends."""

    seconds: float = float("nan")


class _Frame:
    """An open measurement: time passed, time of it spent on memoised values, and the memoised values used."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.seconds = 0.0
        self.elsewhere = 0.0
        self.needs: set[_Cost] = set()

    @property
    def alone(self) -> float:
        return self.seconds - self.elsewhere


class _Thread(threading.local):
    """The open measurements of each thread, the innermost last."""

    def __init__(self) -> None:
        self.frames: list[_Frame] = []


_thread = _Thread()


@contextmanager
def _watch() -> Iterator[_Frame]:
    frame = _Frame()
    _thread.frames.append(frame)
    try:
        yield frame
    finally:
        _thread.frames.pop()
        frame.seconds = time.perf_counter() - frame.start


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure a block: wall time, with every memoised value it uses at its full price, whoever computed it first."""
    meter = Meter()
    with _watch() as frame:
        yield meter
    meter.seconds = frame.alone + sum(cost.seconds for cost in frame.needs)
