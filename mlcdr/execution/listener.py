"""The interface by which a run reports its progress."""

from __future__ import annotations


class Listener:
    """A listener that does nothing; subclasses show the progress."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """The run begins: `total` trials are planned, of which `kept` were computed before."""

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Trials of a data set are recorded: `done` more, of which `failed` failed."""

    def notice(self, text: str) -> None:
        """Something worth a line."""
