"""The catalogue, and downloads from a local HTTP server that can misbehave."""

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlcdr.data import catalog, sources
from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import cache_folder
from mlcdr.errors import DataError

NAMED = [
    "emotions",
    "yeast",
    "scene",
    "enron",
    "medical",
    "genbase",
    "bibtex",
    "corel5k",
    "birds",
    "flags",
    "cal500",
    "delicious",
]
NAMED += ["mediamill", "bookmarks", "tmc2007", "tmc2007-500", "languagelog"]
NAMED += [f"rcv1s{i}" for i in range(1, 6)] + [f"corel16k{i}" for i in range(1, 11)]

ARFF = b"@relation r\n@attribute l {0,1}\n@attribute x numeric\n@data\n1,2\n0,3\n"
XML = b'<labels><label name="l"/></labels>'


class Server(ThreadingHTTPServer):
    """Serves `content`, counts the requests; `trouble` names the fault to simulate."""

    def __init__(self) -> None:
        self.content = {"/c/d/tiny.arff": ARFF, "/c/d/tiny.xml": XML}
        self.requests: list[str] = []
        self.trouble = ""
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        body = self.server.content.get(self.path)
        if body is None or self.server.trouble == "missing":
            self.send_error(404)
            return
        if self.server.trouble == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://example.invalid/")
            self.end_headers()
            return
        self.send_response(200)
        if self.server.trouble == "endless":
            self.end_headers()
            with contextlib.suppress(OSError):  # until the other side has had enough
                while True:
                    self.wfile.write(body * 1000)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.trouble == "wrong":
            body = body.replace(b"l", b"k")
        self.wfile.write(body[: len(body) // 2] if self.server.trouble == "cut" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    def file(name: str, content: bytes) -> sources.SourceFile:
        return sources.SourceFile(name, f"c/d/{name}", hashlib.sha256(content).hexdigest(), len(content))

    facts = {"n_instances": 2, "n_features": 1, "n_labels": 1, "cardinality": 0.5, "format": "dense"}
    entry = sources.Entry(
        name="tiny",
        domain="toy",
        citation="none",
        page="https://example.org",
        statistics=facts,
        measured=True,
        files=(file("tiny.arff", ARFF), file("tiny.xml", XML)),
    )
    root, entries = sources._catalogue()
    monkeypatch.setattr(sources, "_catalogue", lambda: (root, {**entries, "tiny": entry}))
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


# --- the facts ----------------------------------------------------------------------------------------------------


def test_every_data_set_of_the_papers_is_there() -> None:
    assert sorted(NAMED) == sorted(sources.entry_names())


@pytest.mark.parametrize("name", NAMED)
def test_entries_are_complete(name: str) -> None:
    entry = sources.entry(name)
    assert entry.name == name
    assert all([entry.domain, entry.citation, entry.page.startswith("http"), entry.statistics])
    facts = entry.statistics
    if "cardinality" in facts:
        # Both numbers are rounded, so their ratio is K only within the density's last digit.
        half = 0.5e-6 if entry.measured else 0.5e-3
        assert abs(facts["cardinality"] / facts["n_labels"] - facts["density"]) <= half * 1.01
        assert facts["nominal"] + facts["numeric"] == facts["n_features"]
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert re.fullmatch(r"[0-9a-f]{40}/data/multi-label/[\w/.-]+", file.path)
        assert file.name.lower().startswith(name)
    assert {Path(file.name).suffix for file in entry.files} in ({".arff", ".xml"}, set())


def test_unknown_names() -> None:
    with pytest.raises(DataError, match=r"the catalogue has no data set 'bibtx'; did you mean bibtex\?$"):
        sources.entry("bibtx")
    assert sources.entry("CAL500").name == "cal500"


def test_info_of_the_embedded_data_set() -> None:
    facts = catalog.info("yeast")
    assert facts["expected_from"] == "measured"
    assert facts["statistics"]["n_instances"] == facts["expected"]["n_instances"] == 2417
    assert len(facts["labels"]) == 14
    assert facts["urls"][0].startswith("https://")


def test_info_of_one_that_is_not_here() -> None:
    facts = catalog.info("cal500")
    assert facts["folder"] is None
    assert not facts["fetchable"]
    assert "statistics" not in facts
    with pytest.raises(DataError, match="unknown data set 'nonesuch'"):
        catalog.info("nonesuch")


def test_the_embedded_data_set_verifies() -> None:
    checks = catalog.verify("yeast")
    assert all(check.ok for check in checks)
    assert {"cardinality", "distinct", "sha256 of yeast.arff", "sha256 of yeast.xml"} <= {
        check.fact for check in checks
    }


def test_verify_finds_what_differs(server: Server) -> None:
    folder = catalog.fetch("tiny", progress=False, source=server.url)
    assert all(check.ok for check in catalog.verify("tiny"))
    (folder / "tiny.arff").write_bytes(ARFF + b"1,4\n")
    differ = {check.fact: check for check in catalog.verify("tiny") if not check.ok}
    assert set(differ) == {"n_instances", "cardinality", "sha256 of tiny.arff"}
    assert differ["n_instances"][1:] == (2, 3)
    assert differ["cardinality"][1:] == (0.5, 0.666667)


# --- downloads ----------------------------------------------------------------------------------------------------


def test_fetch_then_load(server: Server, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_SOURCE", server.url + "/")
    folder = catalog.fetch("Tiny", progress=False)
    assert folder == cache_folder() / "datasets" / "tiny"
    assert load_dataset("tiny").X.ravel().tolist() == [2, 3]
    assert capfd.readouterr() == ("", "")


def test_progress_goes_to_standard_error(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    catalog.fetch("tiny", source=server.url)
    out, err = capfd.readouterr()
    assert out == ""
    assert "100%" in err


def test_fetch_again_downloads_nothing(server: Server) -> None:
    catalog.fetch("tiny", progress=False, source=server.url)
    assert len(server.requests) == 2
    catalog.fetch("tiny", progress=False, source=server.url)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("wrong", r"/c/d/tiny\.arff: the content does not have the SHA-256 [0-9a-f]{64}; nothing was kept$"),
        (
            "redirect",
            r"/c/d/tiny\.arff: the server redirects to http://example\.invalid/, which is not followed; nothing .*$",
        ),
        ("endless", r"/c/d/tiny\.arff: the content has more than the 66 bytes expected; nothing was kept$"),
        ("missing", r"/c/d/tiny\.arff: the server answers 404; nothing was kept$"),
        ("cut", r"/c/d/tiny\.arff: cannot be downloaded \(the connection was cut\); nothing was kept, try again$"),
    ],
)
def test_broken_downloads_leave_nothing(trouble: str, message: str, server: Server) -> None:
    server.trouble = trouble
    with pytest.raises(DataError, match=f"^{server.url}{message}"):
        catalog.fetch("tiny", progress=False, source=server.url)
    assert not (cache_folder() / "datasets" / "tiny").exists()
    server.trouble = ""
    catalog.fetch("tiny", progress=False, source=server.url)
    assert all(check.ok for check in catalog.verify("tiny"))


def test_a_partial_file_is_downloaded_again(server: Server) -> None:
    folder = cache_folder() / "datasets" / "tiny"
    folder.mkdir(parents=True)
    (folder / "tiny.arff").write_bytes(ARFF[:40])
    (folder / "tiny.xml").write_bytes(XML)
    catalog.fetch("tiny", progress=False, source=server.url)
    assert (folder / "tiny.arff").read_bytes() == ARFF
    assert server.requests == ["/c/d/tiny.arff"]  # resumed: what was whole is kept


def test_no_server_is_one_line(server: Server) -> None:
    server.server_close()
    with pytest.raises(DataError, match=r"tiny\.arff: cannot be downloaded \(.*\); nothing was kept, try again$"):
        catalog.fetch("tiny", progress=False, source=server.url)


def test_an_unwritable_folder_is_one_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"tiny: cannot be written: "):
        catalog.fetch("tiny", progress=False, source=server.url, folder=tmp_path / "file")


@pytest.mark.parametrize(
    "source", ["http://example.org", "ftp://example.org", "file:///tmp", "http://localhost.example.org"]
)
def test_only_https(source: str) -> None:
    with pytest.raises(DataError, match="over https only"):
        catalog.fetch("flags", progress=False, source=source)


def test_no_checksum_no_download() -> None:
    with pytest.raises(
        DataError,
        match=r"^cal500: no checksum .* get them from https://\S+/cal500 and put cal500\.arff and cal500\.xml into ",
    ):
        catalog.fetch("cal500")
