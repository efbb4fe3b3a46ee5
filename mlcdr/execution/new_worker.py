"""The start of a worker that is a new interpreter, before anything is imported that takes long."""

from __future__ import annotations

from multiprocessing.connection import Connection

from mlcdr.lazy_imports import postpone


def serve(pipe: Connection, parent: int) -> None:
    """Postpone imports as the command line does, and serve; see `mlcdr.execution.workers`."""
    postpone()
    from mlcdr.execution import workers

    workers.serve(pipe, parent)
