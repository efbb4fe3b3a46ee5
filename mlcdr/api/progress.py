"""Progress of a run: a live bar on a terminal or in a notebook, plain lines when piped, nothing if quiet."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mlcdr.errors import plural
from mlcdr.execution.listener import Listener
from mlcdr.standard_streams import print_notice

_PAUSE = 0.2  # seconds between two changes of a bar


@contextmanager
def make_listener(quiet: bool) -> Iterator[Listener]:
    """The listener for a notebook, a terminal, or standard error as a pipe; with `quiet`, one that shows nothing."""
    if quiet:
        yield Listener()
    elif _in_notebook():
        yield NotebookBar()
    elif sys.stderr.isatty():
        bar = Bar()
        with bar.shown:
            yield bar
    else:
        yield Lines()


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Counting(Listener):
    """A listener that counts the trials of an experiment; subclasses show the counts.

    Attributes
    ----------
    name : str
        The experiment's.
    total, kept, done : int
        Trials that are planned; computed before; and computed, with those before.
    failed : str
        `, 4 failed`, if some did.
    before : str
        `, 4 of them done before`, if some were.
    """

    def begin(self, name: str, total: int, kept: int) -> None:
        """Begin to count."""
        self.name = name
        self.total = total
        self.kept = self.done = kept
        self.before = f", {kept} of them done before" if kept else ""
        self.failed = ""
        self._n_failed = 0
        self._start = time.monotonic()

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Count the trials of a group."""
        self.done += done
        self._n_failed += failed
        if self._n_failed:
            self.failed = f", {self._n_failed} failed"

    @property
    def seconds(self) -> float:
        """The time since the beginning."""
        return time.monotonic() - self._start

    def notice(self, text: str) -> None:
        """Print a line."""
        print_notice(text)


class NotebookBar(Counting):
    """A progress bar in the output of a notebook's cell; at the end a line stays."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """Show the bar."""
        from IPython.display import display

        super().begin(name, total, kept)
        self._shown = 0.0  # seconds since the beginning
        self._handle: Any = display(self, display_id=True)

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Advance the bar."""
        super().advance(dataset, done, failed)
        if self.done == self.total or self.seconds - self._shown > _PAUSE:
            self._shown = self.seconds
            self._handle.update(self)

    def __repr__(self) -> str:
        seconds = f", {self._shown:.1f} s" if self.done > self.kept else ""
        return f"{self.name}: {self.done}/{self.total} trials{self.before}{self.failed}{seconds}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.done}" max="{self.total}"></progress> ' if self.done < self.total else ""
        return f"<div>{bar}{html.escape(repr(self))}</div>"


class Bar(Counting):
    """A progress bar with rate and remaining time, on a terminal, while `shown` is entered."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.shown = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,  # by a thread; with one in the process no worker is a fork
            transient=True,
        )

    def begin(self, name: str, total: int, kept: int) -> None:
        """Add the bar of an experiment."""
        super().begin(name, total, kept)
        self._drawn = 0.0  # seconds since the beginning
        self._task = self.shown.add_task(name, total=total, completed=kept, rate="")

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Advance the bar."""
        super().advance(dataset, done, failed)
        rate = (self.done - self.kept) / max(self.seconds, 1e-9)
        text = f"{rate:,.0f} trials/s{self.failed}"
        self.shown.update(self._task, advance=done, description=f"{self.name}: {dataset}", rate=text)
        if self.done == self.total or self.seconds - self._drawn > _PAUSE:
            self._drawn = self.seconds
            self.shown.refresh()


class Lines(Counting):
    """A line at the beginning and after each tenth of the trials, for logs."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """Print the first line."""
        super().begin(name, total, kept)
        self._tenth = 10 * kept // max(total, 1)  # the last tenth that is finished
        print_notice(f"{name}: {plural(total, 'trial')}{self.before}")

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Print a line after each tenth."""
        super().advance(dataset, done, failed)
        tenth = 10 * self.done // self.total
        if tenth == self._tenth:
            return
        self._tenth = tenth
        left = self.seconds * (self.total - self.done) / max(self.done - self.kept, 1)
        times = f"{self.seconds:.0f} s, about {left:.0f} s left"
        print_notice(f"{self.name}: {self.done}/{self.total} ({dataset}), {times}{self.failed}")
