"""The public repositories of the catalogue, stood in for by a folder, and a server of it that can misbehave.

`write_repositories` writes what a catalogue says is public, made of data sets that are here: ARFF and XML as they are,
MATLAB files by scipy. Their bytes differ from the public ones, so it also writes the catalogue with their checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import yaml
from scipy import sparse
from scipy.io import savemat

from mlcdr.data import sources
from mlcdr.data.dataset import Dataset


def matlab_variables(data: Dataset, leading_labels: bool = False, n_train: int | None = None) -> dict[str, Any]:
    """The variables of the toolbox's MATLAB file of a data set."""
    if leading_labels:
        both, d = sparse.hstack([data.Y, data.X], format="csc"), data.n_features
        return {"data": both[:, :d].astype(float), "target": both[:, d:].astype(float).toarray().T}
    if n_train is not None:
        named = {"train": slice(None, n_train), "test": slice(n_train, None)}
        return {
            f"{part}_{what}": matrix[rows].T * 2.0 - 1 if what == "target" else matrix[rows]
            for part, rows in named.items()
            for what, matrix in (("data", data.X), ("target", data.Y))
        }
    target = data.Y.astype(float)
    return {"data": data.X, "target": (target.toarray() if sparse.issparse(target) else target).T, "name": ["x"]}


def write_repositories(
    root: Path,
    raw: dict[str, Any],
    folder: Path,
    load: Callable[[str], Dataset],
    folds: Callable[[str, int], np.ndarray | None],
) -> Path:
    """Write the public files below `root`, of the data sets in `folder`; returns the path of their catalogue.

    Parameters
    ----------
    root : Path
        Below it the files are OWNER/REPOSITORY/COMMIT/PATH.
    raw : dict
        The content of a catalogue.
    folder : Path
        Has a folder of files for each data set: what has the name of a public file stands in for it.
    load : callable
        A data set by its name, for MATLAB files.
    folds : callable
        The fold numbers (from 0) of a data set's rows by its name and their number, None where there are none.
    """
    for name, facts in raw["entries"].items():
        entry = sources.read_entry(name, facts, raw["repositories"])
        here = folder / name
        for file, said in zip(entry.files, facts.get("files", ()), strict=True):
            public = root / file.repository / file.commit / file.path
            public.parent.mkdir(parents=True, exist_ok=True)
            if here.is_dir() and entry.matlab is not None and public.suffix == ".mat":
                variables = matlab_variables(load(name), bool(entry.matlab.leading_labels), entry.matlab.n_train)
                savemat(public, variables, do_compression=True)
            elif (here / file.name).is_file():
                content = (here / file.name).read_bytes()
                # corel16k's XML is the public one and a line end
                public.write_bytes(content[:-1] if len(content) == file.n_bytes + 1 else content)
            else:
                continue
            said |= _facts(public)
        for k, file in entry.folds.items():
            first = folds(name, k)
            if first is not None:
                public = root / file.repository / file.commit / file.path
                public.parent.mkdir(parents=True, exist_ok=True)
                drawn = np.random.default_rng(k)
                more = np.stack([first, *(drawn.permutation(first) for _ in range(9))], axis=1)
                savemat(public, {"indices": more + 1.0}, do_compression=True)
                facts["folds"][k] |= _facts(public)
    catalogue = root / "catalog.yaml"
    catalogue.write_text(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return catalogue


def _facts(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {"n_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


class Server(ThreadingHTTPServer):
    """Serves a folder, counts requests; `trouble` names the fault to simulate (see `Handler`)."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        self.folder, self.trouble, self.requests, self.ranges = folder, "", [], []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        trouble, _, detail = self.server.trouble.partition(" ")
        path = self.server.folder / unquote(self.path.lstrip("/"))
        if trouble == "answer" or not path.is_file():
            return self.send_error(int(detail or 404))
        if trouble == "redirect":
            self.send_response(302)
            self.send_header("Location", detail.format(path=self.path))
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if trouble == "silent":
            threading.Event().wait(float(detail))
        self._send(path.read_bytes(), trouble, detail)
        return None

    def _send(self, body: bytes, trouble: str, detail: str) -> None:
        size, start = len(body), 0
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if asked and trouble != "no-ranges":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        body = {"wrong": b"x" * size, "longer": body + b"x"}.get(trouble, body)[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            if trouble == "slow":
                for at in range(len(body)):
                    self.wfile.write(body[at : at + 1])
                    threading.Event().wait(float(detail))
            elif trouble == "cut":
                self.wfile.write(body[: int(detail)])
                self.close_connection = True
            else:
                self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """A server of a folder on this machine."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
