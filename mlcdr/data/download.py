"""Downloads of public files: from the first host that has them, resumed if interrupted, checked by their SHA-256."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

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
        Called with each number of bytes received; with a negative one when bytes are discarded or a file fails.

    Raises
    ------
    DataError
        When $MLCDR_MIRROR is neither a folder nor an address that is allowed.
    """

    def __init__(self, advance: Callable[[int], None]) -> None:
        import requests

        mirror = os.environ.get(MIRROR, "").rstrip("/")
        self._folder = None if "://" in mirror or not mirror else Path(mirror).expanduser()
        if self._folder is not None and not self._folder.is_dir():
            raise DataError(f"{MIRROR}: {mirror}: no such folder")
        if "://" in mirror and not _is_allowed(mirror):
            raise DataError(f"{MIRROR}: {mirror}: neither a folder nor an address with https (or http on this machine)")
        own = f"{mirror.replace('{', '{{').replace('}', '}}')}/{{repository}}/{{commit}}/{{path}}"
        self._hosts = (own,) if mirror else hosts()
        self._advance = advance
        self._session = requests.Session()
        self._refusals: dict[str, str] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all downloads when their next bytes arrive; the bytes received are kept."""
        self._stopped.set()

    def get(self, file: SourceFile) -> bytes:
        """Download a file's content. Bytes received before a failure are kept, and the next call continues after them.

        Raises
        ------
        DataError
            When no host sends it; the message has the reason of each host.
        """
        content = bytearray()
        with contextlib.suppress(OSError):
            content += _kept(file).read_bytes()
        self._advance(len(content))
        if self._is_whole(file, content):
            return bytes(content)
        reasons = []
        for host in self._hosts:
            site = _site(host)
            try:
                if self._stopped.is_set():
                    raise _FileRefusedError("was not asked")
                if site in self._refusals:
                    raise _HostRefusedError(self._refusals[site])
                if self._folder is None:
                    self._from_host(file.address(host), file, content)
                else:
                    self._from_folder(self._folder, file, content)
                return bytes(content)
            except _HostRefusedError as error:
                self._refusals[site] = str(error)
                reasons.append(f"{site} {error}")
            except _FileRefusedError as error:
                reasons.append(f"{site} {error} ({file.path})")
        self.keep(file, bytes(content))
        self._advance(-len(content))
        raise DataError("; ".join(reasons))

    def keep(self, file: SourceFile, content: bytes) -> None:
        """Store the bytes received of a file, for the next call."""
        with contextlib.suppress(ResultsError):
            if content:
                write_atomically(_kept(file), content)

    def forget(self, file: SourceFile) -> None:
        """Remove the stored bytes of a file."""
        with contextlib.suppress(OSError):
            _kept(file).unlink()

    def _is_whole(self, file: SourceFile, content: bytearray) -> bool:
        """Whether the content is complete and has the right SHA-256; complete but wrong content is cleared."""
        if len(content) < file.n_bytes:
            return False
        if hashlib.sha256(content).hexdigest() == file.sha256:
            return True
        self._clear(content)
        return False

    def _clear(self, content: bytearray) -> None:
        self._advance(-len(content))
        content.clear()

    def _from_folder(self, folder: Path, file: SourceFile, content: bytearray) -> None:
        self._clear(content)
        try:
            content += (folder / file.repository / file.commit / file.path).read_bytes()
        except OSError as error:
            raise _FileRefusedError(f"has no such file: {error.strerror}") from None
        self._advance(len(content))
        if not self._is_whole(file, content):
            self._clear(content)
            raise _FileRefusedError(f"has a file without the SHA-256 {file.sha256}")

    def _from_host(self, address: str, file: SourceFile, content: bytearray) -> None:
        for _ in range(_TRIES):
            before = len(content)
            come = self._receive(address, file, content)
            if self._is_whole(file, content):
                return
            if not content and come >= file.n_bytes and not before:
                raise _FileRefusedError(f"sends a file without the SHA-256 {file.sha256}")
            if len(content) <= before and (content or not before):
                break  # nothing new came: further requests would not help
        raise _FileRefusedError("cuts the connection")

    def _receive(self, address: str, file: SourceFile, content: bytearray) -> int:
        """Append the bytes received for one request to the content; return their number."""
        import requests
        from urllib3.exceptions import HTTPError, ReadTimeoutError

        come = 0
        try:
            with self._request(address, len(content)) as response:
                if response.status_code in (206, 416):
                    if not response.headers.get("Content-Range", "").startswith(f"bytes {len(content)}-"):
                        self._clear(content)
                        return 0
                elif response.ok:
                    self._clear(content)
                elif response.status_code in _NOT_THERE:
                    raise _FileRefusedError(f"answers {response.status_code}")
                else:
                    raise _HostRefusedError(f"answers {response.status_code}")
                start = time.monotonic()
                while piece := response.raw.read1(1 << 16, decode_content=False):
                    content += piece
                    come += len(piece)
                    self._advance(len(piece))
                    seconds = time.monotonic() - start
                    if len(content) > file.n_bytes:
                        self._clear(content)
                        raise _FileRefusedError(f"sends more than the {file.n_bytes} bytes expected")
                    if seconds > _SECONDS and come < _SLOWEST * seconds:
                        raise _HostRefusedError("is too slow")
                    if self._stopped.is_set():
                        raise _HostRefusedError("was interrupted")
        except (requests.Timeout, ReadTimeoutError):
            raise _HostRefusedError(f"does not answer within {_SECONDS:g} seconds") from None
        except requests.RequestException as error:
            raise _HostRefusedError(f"gives no connection ({type(error).__name__})") from None
        except (HTTPError, OSError):
            pass  # the connection was cut
        return come

    def _request(self, address: str, received: int) -> Any:
        """Request the bytes after the first `received`; return the response. Redirects are followed where allowed."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={received}-"} if received else {})
        for _ in range(_REDIRECTS):
            response = self._session.get(address, headers=headers, stream=True, timeout=_SECONDS, allow_redirects=False)
            if not response.is_redirect:
                return response
            response.close()
            to = urljoin(address, response.headers["Location"])
            if not _is_allowed(to) or (_is_here(to) and not _is_here(address)):
                raise _HostRefusedError(f"redirects to {to[:200]}, which is not followed")
            address = to
        raise _HostRefusedError("redirects without end")


def _kept(file: SourceFile) -> Path:
    return cache_folder() / "downloads" / file.sha256


def _is_here(address: str) -> bool:
    return urlsplit(address).hostname in _THIS_MACHINE


def _is_allowed(address: str) -> bool:
    """Whether an address is one with https, or one with http on this machine."""
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and _is_here(address)))
    except ValueError:
        return False


def _site(host: str) -> str:
    """The host and port of an address, without user name and password; for a folder, its path."""
    parts = urlsplit(host)
    if not parts.hostname:
        return host.partition("/{repository}")[0]
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
