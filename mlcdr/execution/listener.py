"""What a run reports to while it goes on."""

from __future__ import annotations


class Listener:
    """A no-op listener; the command line's shows the progress, a test's may look at it."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """The run begins: `total` trials are planned, of which `kept` were computed before."""

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """A group of a data set is recorded: `done` trials more, of which `failed` failed."""

    def notice(self, text: str) -> None:
        """Something worth a line."""
