"""What other installed packages offer: components and metrics, in groups of entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoints, entry_points

_read = cache(entry_points)  # of all groups: each call reads the metadata of every package


def plug_ins(group: str) -> EntryPoints:
    """The entry points of a group (`mlcdr.learner`, `mlcdr.metric` ...)."""
    return _read().select(group=group)
