"""Work that several methods share: done once, and charged in full to each method that uses it."""

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
                    with metered() as frame:
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


class Meter:
    """What a block costs: the time it took, that of it spent on memoised values, and the memoised values used."""

    def __init__(self) -> None:
        self.alone = float("nan")  # set when the block ends
        self.elsewhere = 0.0
        self.needs: set[_Cost] = set()

    @property
    def seconds(self) -> float:
        """Wall time, as if nothing it used had been shared: every memoised value at its full price."""
        return self.alone + sum(cost.seconds for cost in self.needs)


class _Thread(threading.local):
    """The open measurements of each thread, the innermost last."""

    def __init__(self) -> None:
        self.frames: list[Meter] = []


_thread = _Thread()


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure a block, no matter which method computed the memoised values that it uses."""
    meter, start = Meter(), time.perf_counter()
    _thread.frames.append(meter)
    try:
        yield meter
    finally:
        _thread.frames.pop()
        meter.alone = time.perf_counter() - start - meter.elsewhere
