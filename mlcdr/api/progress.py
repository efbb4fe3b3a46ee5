"""Progress of a run: a live bar on a terminal or in a notebook, plain lines when piped, nothing if quiet."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mlcdr.errors import escape_control_characters
from mlcdr.execution.listener import Listener


@contextmanager
def make_listener(quiet: bool) -> Iterator[Listener]:
    """The listener for a notebook, a terminal, or standard error as a pipe; with `quiet`, one that shows nothing."""
    if quiet:
        yield Listener()
    elif _in_notebook():
        yield NotebookBar()
    elif sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Lines()


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def print_line(text: str) -> None:
    """Print a line to standard error."""
    print(escape_control_characters(text), file=sys.stderr, flush=True)


class NotebookBar(Listener):
    """A progress bar in the output of a notebook's cell; at the end a line stays."""

    _PAUSE = 0.2  # seconds between two changes of the bar

    def begin(self, name: str, total: int, kept: int) -> None:
        """Show the bar."""
        from IPython.display import display

        self._name, self._total, self._done, self._kept, self._failed = name, total, kept, kept, 0
        self._start = self._shown = time.monotonic()
        self._handle: Any = display(self, display_id=True)

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Advance the bar."""
        self._done += done
        self._failed += failed
        if self._done == self._total or time.monotonic() - self._shown > self._PAUSE:
            self._shown = time.monotonic()
            self._handle.update(self)

    def notice(self, text: str) -> None:
        """Print a line."""
        print_line(text)

    def __repr__(self) -> str:
        before = f", {self._kept} of them done before" if self._kept else ""
        failures = f", {self._failed} failed" if self._failed else ""
        seconds = f", {self._shown - self._start:.1f} s" if self._done > self._kept else ""
        return f"{self._name}: {self._done}/{self._total} trials{before}{failures}{seconds}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self._done}" max="{self._total}"></progress> ' if self._done < self._total else ""
        return f"<div>{bar}{html.escape(repr(self))}</div>"


class Bar(Listener):
    """A progress bar with rate and remaining time, on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def begin(self, name: str, total: int, kept: int) -> None:
        """Add the bar of an experiment."""
        self._name, self._failed, self._computed, self._start = name, 0, 0, time.monotonic()
        self._task = self._bar.add_task(name, total=total, completed=kept, rate="")

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Advance the bar."""
        self._failed += failed
        self._computed += done
        rate = self._computed / max(time.monotonic() - self._start, 1e-9)
        text = f"{rate:,.0f} trials/s" + (f", {self._failed} failed" if self._failed else "")
        self._bar.update(self._task, advance=done, description=f"{self._name}: {dataset}", rate=text)

    def notice(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, highlight=False, markup=False)


class Lines(Listener):
    """A line at the beginning and after each tenth of the trials, for logs."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """Print the first line."""
        self._name, self._total, self._done, self._failed = name, total, kept, 0
        self._first, self._start, self._tenth = kept, time.monotonic(), 10 * kept // max(total, 1)
        before = f", {kept} of them done before" if kept else ""
        print(f"{name}: {total} trials{before}", file=sys.stderr, flush=True)

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Print a line after each tenth."""
        self._done += done
        self._failed += failed
        tenth = 10 * self._done // self._total
        if tenth > self._tenth:
            self._tenth = tenth
            seconds = time.monotonic() - self._start
            left = seconds * (self._total - self._done) / max(self._done - self._first, 1)
            failures = f", {self._failed} failed" if self._failed else ""
            so_far = f"{self._name}: {self._done}/{self._total} ({dataset})"
            print(f"{so_far}, {seconds:.0f} s, about {left:.0f} s left{failures}", file=sys.stderr, flush=True)

    def notice(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)
