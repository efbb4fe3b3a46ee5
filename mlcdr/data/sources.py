"""The facts of the catalogue: what is known about each data set of the papers, read from `catalog.yaml`."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mlcdr.errors import DataError


@dataclass(frozen=True)
class SourceFile:
    """One public file of a data set.

    Attributes
    ----------
    name : str
        Its name in the data set's folder here.
    path : str
        Its path below the source (`COMMIT/FOLDER/...`).
    sha256 : str
        SHA-256 (hex) of its content.
    n_bytes : int
        Its size; a longer download is stopped.
    embedded : str or None
        SHA-256 of the file of that name in this source tree, where that has other bytes (the same data).
    """

    name: str
    path: str
    sha256: str
    n_bytes: int
    embedded: str | None = None


@dataclass(frozen=True)
class Entry:
    """The facts about a data set.

    Attributes
    ----------
    name, domain, citation, page, note : str
        `page` is the web page of the data set; `note` may be empty.
    statistics : dict
        The expected facts, with the keys of `Dataset.statistics()`; facts that are not known are absent.
    measured : bool
        Whether the statistics were counted on the files; else they are those that Mulan's page prints (3 decimals).
    files : tuple of SourceFile
        The files to download; empty where no checksum of them is recorded.
    test_first : int or None
        Set if the full file is the test file (that many rows) followed by the train file.
    """

    name: str
    domain: str
    citation: str
    page: str
    statistics: dict[str, Any]
    measured: bool
    note: str = ""
    files: tuple[SourceFile, ...] = ()
    test_first: int | None = None

    @property
    def fetchable(self) -> bool:
        """Whether `fetch` can download it and check what it got."""
        return bool(self.files)


@functools.cache
def _catalogue() -> tuple[str, dict[str, Entry]]:
    """The root of the public source, and all entries by name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = yaml.load((Path(__file__).parent / "catalog.yaml").read_text(encoding="utf-8"), Loader=loader)
    entries = {}
    for name, facts in raw["entries"].items():
        measured = facts["statistics"].pop("from") == "measured"
        files = []
        for file in facts.pop("files", ()):
            folder = f"{file.pop('commit', raw['commit'])}/{raw['folder']}"
            files.append(SourceFile(**file | {"path": f"{folder}/{file['path']}"}))
        entries[name] = Entry(name=name, measured=measured, files=tuple(files), **facts)
    return raw["root"], entries


def public_root() -> str:
    """The address below which every `SourceFile.path` lies."""
    return _catalogue()[0]


def entries() -> tuple[Entry, ...]:
    """All entries, in the catalogue's order."""
    return tuple(_catalogue()[1].values())


def entry_names() -> list[str]:
    """The names of all entries (lower case)."""
    return list(_catalogue()[1])


def close_names(name: str) -> list[str]:
    """Names of entries that look like a misspelt one, best first."""
    return difflib.get_close_matches(name.casefold(), entry_names(), n=3)


def find(name: str) -> Entry | None:
    """The entry of that name (without case), None if the catalogue has none."""
    return _catalogue()[1].get(name.casefold())


def entry(name: str) -> Entry:
    """The entry of that name (without case).

    Raises
    ------
    DataError
        The catalogue has no such entry; suggests names.
    """
    found = find(name)
    if found is None:
        close = close_names(name)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(entry_names())}"
        raise DataError(f"the catalogue has no data set {name!r}; {hint}")
    return found
