"""openml.org on this machine: a server that answers as its API does, and an opener that leads requests there.

What is asked and answered goes through a socket: JSON on a data set, its features and qualities, packed by gzip where
that is accepted; its ARFF; status 412 with a JSON body for a number that it does not have.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mlcdr.data.dataset import Dataset


def arff_of(dataset: Dataset) -> str:
    """The ARFF of a dense data set of numbers, with labels in words, as openml.org has them."""
    lines = [f"@relation {dataset.name}", *(f"@attribute {name} numeric" for name in dataset.feature_names)]
    lines += [*(f"@attribute {name} {{FALSE,TRUE}}" for name in dataset.label_names), "@data"]
    for x, y in zip(dataset.X.tolist(), dataset.Y.tolist(), strict=True):
        lines.append(",".join([*map(repr, x), *(("FALSE", "TRUE")[label] for label in y)]))
    return "\n".join(lines) + "\n"


def answers(number: int, arff: str, targets: list[str]) -> dict[str, bytes]:
    """What the API answers on a data set, by path."""
    attributes = [line.split(None, 2)[1:] for line in arff.splitlines() if line.startswith("@attribute")]
    features = [
        {
            "index": str(k),
            "name": name,
            "data_type": "numeric" if kind == "numeric" else "nominal",
            "is_target": str(name in targets).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for k, (name, kind) in enumerate(attributes)
    ]
    about = {
        "id": str(number),
        "name": "r",
        "version": "1",
        "format": "ARFF",
        "file_id": "9",
        "url": "https://api.openml.org/data/v1/download/9/r.arff",
        "default_target_attribute": ",".join(targets),
        "description": "",
        "status": "active",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
    }
    n_rows = arff.partition("@data\n")[2].count("\n")
    quality = [{"name": "NumberOfInstances", "value": str(n_rows)}]
    said: dict[str, Any] = {
        f"/api/v1/json/data/{number}": {"data_set_description": about},
        f"/api/v1/json/data/features/{number}": {"data_features": {"feature": features}},
        f"/api/v1/json/data/qualities/{number}": {"data_qualities": {"quality": quality}},
    }
    return {path: json.dumps(content).encode() for path, content in said.items()} | {
        "/data/v1/download/9/r.arff": arff.encode()
    }


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")
        body, status = self.server.answers.get(self.path), 200
        if body is None:
            body, status = b'{"error": {"code": "111", "message": "Unknown dataset"}}', 412
        packed = "gzip" in self.headers.get("Accept-Encoding", "")
        body = gzip.compress(body) if packed else body
        self.send_response(status)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, content: Mapping[str, bytes]):
        self.answers = content
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _ToServer(urllib.request.HTTPSHandler):
    """Leads what is asked of https://….openml.org to a server of this machine; other hosts are not reached."""

    def __init__(self, port: int):
        super().__init__()
        self._port = port

    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        def connect(host: str, **options: Any) -> HTTPConnection:
            assert host.endswith("openml.org")
            return HTTPConnection("127.0.0.1", self._port, timeout=options.get("timeout"))

        return self.do_open(connect, request)


@contextlib.contextmanager
def answering(content: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Let openml.org be a server of this machine that has `content`, by path; what it is asked is listed."""
    before = urllib.request._opener  # type: ignore[attr-defined]
    with _Server(content) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        urllib.request.install_opener(urllib.request.build_opener(_ToServer(server.server_port)))
        try:
            yield server.asked
        finally:
            urllib.request.install_opener(before)
            server.shutdown()
            thread.join()
