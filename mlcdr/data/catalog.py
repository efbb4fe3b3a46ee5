"""The catalogue of data sets: list them, describe one, download it, check it. Nothing here prints.

Downloads go to the user's cache folder, file by file, each checked against its SHA-256 before it gets its name.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from mlcdr.data.files import cache_folder, held, locate, sha256
from mlcdr.data.sources import Entry, SourceFile, entries, entry, find, public_root
from mlcdr.errors import DataError

__all__ = ["Check", "Entry", "entries", "fetch", "find", "held", "info", "verify"]

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
    """Everything known of a data set, as plain data.

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
    folder = held(name)
    if known is None and folder is None:
        locate(name)  # raises, naming the folders
    facts: dict[str, Any] = {"name": known.name if known else name}
    if known is not None:
        facts |= {
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
    folder = locate(known.name).arffs[0].parent
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
        wrong content, a folder that cannot be written. What was not complete and right is not kept.
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
                _download(f"{root}/{file.path}", file, target, progress)
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            target.rmdir()  # if nothing came: an empty folder would pass for a data set
    return target


def _download(url: str, file: SourceFile, target: Path, progress: bool) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")  # only the command line prints

    def refuse_redirect(response: requests.Response, **_: Any) -> None:
        # It could leave https, and raw files need none.
        if response.is_redirect:
            to = response.headers["Location"]
            raise DataError(f"{url}: the server redirects to {to}, which is not followed; nothing was kept")

    hooks = {"response": refuse_redirect}
    http = pooch.HTTPDownloader(progressbar=progress, timeout=_SECONDS, allow_redirects=False, hooks=hooks)

    def downloader(address: str, output: str, pooch_: Any) -> None:
        with Path(output).open("wb") as opened:
            http(address, _Bounded(opened, file.n_bytes, url), pooch_)

    existing = target / file.name
    if existing.is_file():
        existing.unlink()  # left over from an interrupted or other download: never completed, always replaced
    try:
        pooch.retrieve(url, known_hash=f"sha256:{file.sha256}", fname=file.name, path=target, downloader=downloader)
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "?"
        raise DataError(f"{url}: the server answers {status}; nothing was kept") from error
    except requests.RequestException as error:
        raise DataError(f"{url}: cannot be downloaded ({_reason(error)}); nothing was kept, try again") from error
    except ValueError as error:  # pooch's word for a wrong hash
        raise DataError(f"{url}: the content does not have the SHA-256 {file.sha256}; nothing was kept") from error


class _Bounded:
    """A file that takes so many bytes and no more."""

    def __init__(self, file: IO[bytes], n_bytes: int, url: str):
        self.file, self.left, self.url = file, n_bytes, url
        self.n_bytes = n_bytes
        self.flush = file.flush

    def write(self, content: bytes) -> int:
        """Write it, unless that is too much."""
        self.left -= len(content)
        if self.left < 0:
            raise DataError(
                f"{self.url}: the content has more than the {self.n_bytes} bytes expected; nothing was kept"
            )
        return self.file.write(content)


def _reason(error: Exception) -> str:
    text = str(error)
    if "IncompleteRead" in text or "Connection broken" in text:
        return "the connection was cut"
    if "Max retries exceeded" in text or "ConnectionError" in type(error).__name__:
        return "no connection to the server"
    return text.splitlines()[0][:200] if text else type(error).__name__
