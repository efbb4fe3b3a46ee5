"""Downloads of public files: from the first host that has them, resumed if interrupted, checked by their SHA-256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from mlcdr.data.deadline import Deadline, session
from mlcdr.data.files import cache_folder
from mlcdr.data.sources import SourceFile, hosts
from mlcdr.errors import DataError, ResultsError
from mlcdr.whole_files import write_atomically

MIRROR = "MLCDR_MIRROR"
"""The environment variable with a folder or an address that has OWNER/REPOSITORY/COMMIT/PATH and replaces all hosts."""

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_SECONDS = 20.0  # after so long without an answer, or with less than _SLOWEST on average, a host is given up
_SLOWEST = 1024  # bytes per second
_TRIES = 5  # requests for one file to one host
_REDIRECTS = 5
_SILENT = "does not answer within {:g} seconds"
_NOT_THERE = (400, 404, 410)


class _FileRefusedError(Exception):
    """A host does not send this file."""


class _HostRefusedError(Exception):
    """A host sends no file at all."""


class Downloader:
    """The downloads of one command, in several threads; a host that sends no file at all is not used again.

    Parameters
    ----------
    advance : callable
        Called with each number of bytes received.

    Raises
    ------
    DataError
        When $MLCDR_MIRROR is neither a folder nor an address that is allowed.
    """

    def __init__(self, advance: Callable[[int], None]) -> None:
        mirror = os.environ.get(MIRROR, "").rstrip("/")
        self._folder = None
        self._hosts = hosts()
        if "://" in mirror:
            if not _is_allowed(mirror):
                raise DataError(
                    f"{MIRROR}: {mirror}: neither a folder nor an address with https (or http on this machine)"
                )
            escaped = mirror.replace("{", "{{").replace("}", "}}")
            self._hosts = (f"{escaped}/{{repository}}/{{commit}}/{{path}}",)
        elif mirror:
            self._folder = Path(mirror).expanduser()
            if not self._folder.is_dir():
                raise DataError(f"{MIRROR}: {mirror}: no such folder")
        self._advance = advance
        self._session = session()
        self._refusals: dict[str, str] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all downloads when their next bytes arrive; the bytes received are kept."""
        self._stopped.set()

    def get_all(self, files: Mapping[Path, SourceFile]) -> None:
        """Download some files, and write them when all are complete.

        Raises
        ------
        DataError
            When no host sends one of them; what came is kept for the next call.
        """
        come: dict[Path, bytes] = {}
        try:
            for path, file in files.items():
                come[path] = self._get(file)
        except DataError:
            for path, content in come.items():
                _keep(files[path], content)
            raise
        for path, content in come.items():
            write_atomically(path, content)
            with contextlib.suppress(OSError):
                _kept(files[path]).unlink()

    def _get(self, file: SourceFile) -> bytes:
        """A file's content, begun with the bytes kept of an earlier download; DataError with each host's reason."""
        if self._folder is not None:
            return self._copy(self._folder, file)
        content = bytearray()
        with contextlib.suppress(OSError):
            content += _kept(file).read_bytes()
        self._advance(len(content))
        if _is_whole(file, content):
            return bytes(content)
        if len(content) >= file.n_bytes:
            content.clear()
        reasons = []
        for host in self._hosts:
            site = _site(host)
            try:
                if self._stopped.is_set():
                    raise _FileRefusedError("was not asked")
                if site in self._refusals:
                    raise _HostRefusedError(self._refusals[site])
                self._from_host(file.address(host), file, content)
                return bytes(content)
            except _HostRefusedError as error:
                self._refusals[site] = str(error)
                reasons.append(f"{site} {error}")
            except _FileRefusedError as error:
                reasons.append(f"{site} {error} ({file.path})")
        _keep(file, bytes(content))
        raise DataError("; ".join(reasons))

    def _copy(self, folder: Path, file: SourceFile) -> bytes:
        """A file's content in the folder that is the mirror."""
        try:
            content = (folder / file.repository / file.commit / file.path).read_bytes()
        except OSError as error:
            raise DataError(f"{folder} has no such file: {error.strerror} ({file.path})") from None
        if not _is_whole(file, content):
            raise DataError(f"{folder} has a file without the SHA-256 {file.sha256} ({file.path})")
        self._advance(len(content))
        return content

    def _from_host(self, address: str, file: SourceFile, content: bytearray) -> None:
        """Complete the content of a file, with as many requests as bring new bytes."""
        for _ in range(_TRIES):
            before = len(content)
            self._receive(address, file, content)
            if _is_whole(file, content):
                return
            if len(content) >= file.n_bytes:
                content.clear()
                if not before:
                    raise _FileRefusedError(f"sends a file without the SHA-256 {file.sha256}")
            elif len(content) <= before and (content or not before):
                break  # nothing new came: further requests would not help
        raise _FileRefusedError("cuts the connection")

    def _receive(self, address: str, file: SourceFile, content: bytearray) -> None:
        """Append the bytes received for one request to the content."""
        import requests
        from urllib3.exceptions import HTTPError, ReadTimeoutError

        deadline = Deadline(_SECONDS, _SLOWEST)
        try:
            with deadline, self._request(address, len(content)) as response:
                if not _continues(response, len(content)):
                    content.clear()
                    if response.status_code != 200:
                        return
                while piece := response.raw.read1(1 << 16, decode_content=False):
                    content += piece
                    self._advance(len(piece))
                    deadline.received(len(piece))
                    if len(content) > file.n_bytes:
                        content.clear()
                        raise _FileRefusedError(f"sends more than the {file.n_bytes} bytes expected")
                    if self._stopped.is_set():
                        raise _HostRefusedError("was interrupted")
        except (requests.Timeout, ReadTimeoutError):
            raise _HostRefusedError(_SILENT.format(_SECONDS)) from None
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            _check(deadline)
            if isinstance(error, requests.RequestException | ValueError):
                raise _HostRefusedError(f"gives no connection ({type(error).__name__})") from None
            # else the connection was cut
        _check(deadline)

    def _request(self, address: str, received: int) -> Any:
        """Request the bytes after the first `received`; return the response. Redirects are followed where allowed."""
        headers = {"Accept-Encoding": "identity"}
        if received:
            headers["Range"] = f"bytes={received}-"
        for _ in range(_REDIRECTS):
            response = self._session.get(address, headers=headers, stream=True, timeout=_SECONDS, allow_redirects=False)
            if not response.is_redirect:
                return response
            response.close()
            to = _address_after(address, response.headers["Location"])
            if not _is_allowed(to) or (_is_here(to) and not _is_here(address)):
                raise _HostRefusedError(f"redirects to {to[:200]}, which is not followed")
            address = to
        raise _HostRefusedError("redirects without end")


def _check(deadline: Deadline) -> None:
    """Raise an error if the connection was shut because the deadline had passed."""
    if deadline.has_passed:
        raise _HostRefusedError("is too slow" if deadline.n_bytes else _SILENT.format(_SECONDS)) from None


def _address_after(address: str, location: str) -> str:
    """The address that a redirect leads to, as it is if it is none."""
    try:
        return urljoin(address, location)
    except ValueError:
        return location


def _continues(response: Any, received: int) -> bool:
    """Whether a response has the bytes after the first `received`, not the whole file; an error for a refusal."""
    status = response.status_code
    if status in (206, 416):
        return bool(response.headers.get("Content-Range", "").startswith(f"bytes {received}-"))
    if response.ok:
        return False
    if status in _NOT_THERE:
        raise _FileRefusedError(f"answers {status}")
    raise _HostRefusedError(f"answers {status}")


def _is_whole(file: SourceFile, content: bytes | bytearray) -> bool:
    return hashlib.sha256(content).hexdigest() == file.sha256


def _kept(file: SourceFile) -> Path:
    """Where the bytes received of a file are kept for the next command."""
    return cache_folder() / "downloads" / file.sha256


def _keep(file: SourceFile, content: bytes) -> None:
    with contextlib.suppress(ResultsError):
        if content:
            write_atomically(_kept(file), content)


def _is_here(address: str) -> bool:
    return urlsplit(address).hostname in _THIS_MACHINE


def _is_allowed(address: str) -> bool:
    """Whether an address is one with https, or one with http on this machine."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # ValueError for none that there is
    except ValueError:
        return False
    if not parts.hostname or not address.isascii():
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_here(address))


def _site(host: str) -> str:
    """The host and port of an address, without user name and password."""
    parts = urlsplit(host)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
