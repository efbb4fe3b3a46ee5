"""A deadline for a whole request: a server that sends a little now and then is given up as one that sends nothing.

The time-outs of `requests` are for each read from the socket, however little it brings: of a header, of one of many
`100 Continue`, of the size of a chunk. So a thread looks at what came on the whole, and shuts the connection.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

_LOOKS = 0.05  # seconds
_of_this_thread = threading.local()


class Deadline:
    """Shuts the connections that are opened in the `with` block when the server has become too slow.

    Parameters
    ----------
    seconds : float
        After so long,
    least : float
        so many bytes per second must have come since the beginning.
    """

    def __init__(self, seconds: float, least: float):
        self._seconds = seconds
        self._least = least
        self._begin = time.monotonic()
        self.n_bytes = 0
        self._sockets: list[socket.socket] = []
        self._done = threading.Event()
        self.has_passed = False

    def __enter__(self) -> Deadline:
        _of_this_thread.deadline = self
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def received(self, n_bytes: int) -> None:
        """Count bytes of the content."""
        self.n_bytes += n_bytes

    def watch(self, connection: socket.socket) -> None:
        """Shut this connection, too. A copy is kept: TLS takes the socket itself over."""
        self._sockets.append(socket.socket(fileno=socket.dup(connection.fileno())))

    def _watch(self) -> None:
        while not self._done.wait(min(_LOOKS, self._seconds)):
            seconds = time.monotonic() - self._begin
            if seconds > self._seconds and self.n_bytes < self._least * seconds:
                self.has_passed = True
                for each in self._sockets:
                    with contextlib.suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
        for each in self._sockets:
            each.close()


class _Watched:
    """A connection of urllib3, new or used again, that the deadline of this thread can shut."""

    sock: socket.socket | None

    def _new_conn(self) -> socket.socket:
        connection: socket.socket = super()._new_conn()  # type: ignore[misc]
        _of_this_thread.deadline.watch(connection)
        return connection

    def putrequest(self, *args: Any, **options: Any) -> None:
        if self.sock is not None:
            _of_this_thread.deadline.watch(self.sock)
        super().putrequest(*args, **options)  # type: ignore[misc]


def session() -> Any:
    """A session of `requests`, for requests within the `with` block of a `Deadline`."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

    def watched(pool: Any) -> Any:
        connection = type(pool.ConnectionCls.__name__, (_Watched, pool.ConnectionCls), {})
        return type(pool.__name__, (pool,), {"ConnectionCls": connection})

    pools = {"http": watched(HTTPConnectionPool), "https": watched(HTTPSConnectionPool)}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **options: Any) -> None:
            super().init_poolmanager(*args, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
            manager = super().proxy_manager_for(proxy, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    class Session(requests.Session):
        def get_redirect_target(self, resp: Any) -> None:
            """None: the caller looks at what a redirect says, which may be no address."""

    made = Session()
    for scheme in ("http://", "https://"):
        made.mount(scheme, Adapter())
    return made
