"""The catalogue of data sets: list them, describe one, download it, verify it. Nothing here prints results.

Downloads go to the user's cache folder, file by file, each checked against its SHA-256 before it is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mlcdr.data.files import cache_folder, find_folder, locate, sha256
from mlcdr.data.sources import Entry, SourceFile, entries, entry, find, public_root
from mlcdr.errors import DataError
from mlcdr.whole_files import write_atomically

__all__ = ["Check", "Entry", "entries", "fetch", "find", "find_folder", "info", "verify"]

_LOCAL = ("localhost", "127.0.0.1", "::1")
_SECONDS = 60  # without a byte from the server


class Check(NamedTuple):
    """One expected fact beside what was found; it holds if the two are equal."""

    fact: str
    expected: Any
    found: Any

    @property
    def ok(self) -> bool:
        """Whether the fact holds."""
        return bool(self.expected == self.found)


def info(name: str) -> dict[str, Any]:
    """Everything known about a data set, as plain data.

    Parameters
    ----------
    name : str
        A name of the catalogue, or of a data set found in the data folders, or a path.

    Returns
    -------
    dict
        name, domain, citation, page, note, fetchable, urls, expected (statistics), expected_from ("measured" or
        "mulan"): empty where the catalogue has no such entry. If the files are here also folder, and what they hold:
        statistics, labels, notices, checksum.

    Raises
    ------
    DataError
        Neither in the catalogue nor in the data folders, or files that cannot be read.
    """
    known = find(name)
    folder = find_folder(name)
    if known is None and folder is None:
        locate(name)  # raises, naming the folders
    facts: dict[str, Any] = {"name": name}
    if known is not None:
        facts = {
            "name": known.name,
            "domain": known.domain,
            "citation": known.citation,
            "page": known.page,
            "note": known.note,
            "fetchable": known.fetchable,
            "urls": [f"{public_root()}/{file.path}" for file in known.files],
            "expected": dict(known.statistics),
            "expected_from": "measured" if known.measured else "mulan",
        }
    facts["folder"] = None if folder is None else str(folder)
    if folder is not None:
        from mlcdr.data.dataset import load_dataset  # numpy and scipy only where data are read

        data = load_dataset(name)
        facts |= {
            "statistics": data.statistics(),
            "labels": list(data.label_names),
            "notices": list(data.notices),
            "checksum": data.checksum,
        }
    return facts


def verify(name: str) -> list[Check]:
    """Compare the data set found here with what the catalogue expects.

    Returns
    -------
    list of Check
        One for each statistic and one for each file that the catalogue has a checksum for and that is here.

    Raises
    ------
    DataError
        Not in the catalogue, not here, or not readable.
    """
    from mlcdr.data.dataset import load_dataset

    known = entry(name)
    found = load_dataset(known.name).statistics()
    digits = 6 if known.measured else 3
    checks = [
        Check(fact, value, round(found[fact], digits) if isinstance(value, float) else found[fact])
        for fact, value in known.statistics.items()
    ]
    folder = locate(known.name).paths[0].parent
    here = {path.name.casefold(): path for path in folder.iterdir() if path.is_file()}
    for file in known.files:
        path = here.get(file.name.casefold())
        if path is not None:
            digest = sha256(path)
            expected = digest if digest == file.embedded else file.sha256
            checks.append(Check(f"sha256 of {path.name}", expected, digest))
    return checks


def fetch(name: str, progress: bool = True, *, folder: Path | str | None = None, source: str | None = None) -> Path:
    """Download a data set's files; those already there with the right content are left alone.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    progress : bool
        Show a progress bar for each file (on standard error).
    folder : path, optional
        The folder to hold the data set's folder; `datasets` in the user's cache by default.
    source : str, optional
        Another address in place of the public root ($MLCDR_SOURCE does the same): https, or http on this machine.

    Returns
    -------
    Path
        The data set's folder.

    Raises
    ------
    DataError
        Not in the catalogue, no checksum recorded, address not allowed, no connection, a broken or redirected download,
        wrong content, a folder that cannot be written. A file that is incomplete or wrong is not kept.
    ResultsError
        A file that cannot be written.
    """
    known = entry(name)
    target = Path(folder if folder is not None else cache_folder() / "datasets") / known.name
    if not known.files:
        raise DataError(
            f"{known.name}: no checksum of its public files is recorded, so they are not downloaded; get them from "
            f"{known.page} and put {known.name}.arff and {known.name}.xml into {target}"
        )
    root = (source or os.environ.get("MLCDR_SOURCE") or public_root()).rstrip("/")
    address = urlsplit(root)
    if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOCAL):
        raise DataError(f"{root}: data sets are fetched over https only (http from this machine itself)")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in known.files:
            path = target / file.name
            if not (path.is_file() and sha256(path) == file.sha256):
                path.unlink(missing_ok=True)  # of an interrupted or other download
                write_atomically(path, _download(f"{root}/{file.path}", file, progress))
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            target.rmdir()  # if nothing came: an empty folder would pass for a data set
    return target


def _download(url: str, file: SourceFile, progress: bool) -> bytes:
    """The content of a public file, checked."""
    import requests
    from rich.console import Console
    from rich.progress import Progress

    content = bytearray()
    try:
        with (
            Progress(console=Console(stderr=True), disable=not progress) as bars,
            requests.get(url, stream=True, timeout=_SECONDS, allow_redirects=False) as response,
        ):
            if response.is_redirect:  # it could leave https, and raw files need none
                to = response.headers["Location"]
                raise DataError(f"{url}: the server redirects to {to}, which is not followed; nothing was kept")
            if not response.ok:
                raise DataError(f"{url}: the server answers {response.status_code}; nothing was kept")
            bar = bars.add_task(file.name, total=file.n_bytes)
            for piece in response.iter_content(1 << 16):
                content += piece
                if len(content) > file.n_bytes:
                    larger = f"the content has more than the {file.n_bytes} bytes expected"
                    raise DataError(f"{url}: {larger}; nothing was kept")
                bars.update(bar, completed=len(content))
    except requests.RequestException as error:
        raise DataError(f"{url}: cannot be downloaded ({_reason(error)}); nothing was kept, try again") from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise DataError(f"{url}: the content does not have the SHA-256 {file.sha256}; nothing was kept")
    return bytes(content)


def _reason(error: Exception) -> str:
    text = str(error)
    if "IncompleteRead" in text or "Connection broken" in text:
        return "the connection was cut"
    if "Max retries exceeded" in text or "ConnectionError" in type(error).__name__:
        return "no connection to the server"
    return text.splitlines()[0][:200] if text else type(error).__name__
