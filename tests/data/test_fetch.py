"""Downloads of a small catalogue from servers of this machine that stand in for its hosts, and can misbehave."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.testing import assert_array_equal
from scipy import sparse

from mlcdr.data import catalog, download, sources
from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import cache_folder
from mlcdr.errors import DataError
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.splits import FromFile
from tests import small
from tests.data.public import Server, serve, write_repositories
from tests.small import Outcome

N, D, K = 60, 8, 3
ARFF_SET = {"statistics": {"from": "measured", "n_instances": N}, "files": [{"path": "plain/plain.arff"}]}
RECIPES: dict[str, dict[str, Any]] = {
    "counted": {"features": "Att1", "labels": "Label1"},
    "in_xml": {"features": "tok0"},
    "leading": {"features": "f1", "labels": ["one", "two", "three"], "leading_labels": K},
    "parts": {"features": "x9", "labels": "y1", "n_train": 40},
}
HOLDS = {"format": "sparse", "n_instances": N, "n_features": D, "n_labels": K}


def _made(name: str) -> SimpleNamespace:
    drawn = np.random.default_rng(len(name))
    X, Y = drawn.random((N, D)).round(3) * (drawn.random((N, D)) < 0.4), (drawn.random((N, K)) < 0.4).astype(np.uint8)
    if name != "parts":
        X, Y = sparse.csr_array(X > 0, dtype=float), sparse.csr_array(Y, dtype=np.int8)
    return SimpleNamespace(X=X, Y=Y, n_features=D)


def _folds(_: str, k: int) -> np.ndarray:
    return np.random.default_rng(k).permutation(np.arange(N) % k)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repositories of the small catalogue, with a copy of it that has no hosts."""
    root = tmp_path_factory.mktemp("public")
    own = root / "sets"
    arff = small.write_dataset(own / "plain", "plain", n=N)
    arff.write_text(arff.read_text().replace("@relation plain", "@relation 'plain: -C -6'"))
    for name in RECIPES:
        (own / name).mkdir()
    (own / "in_xml" / "in_xml.xml").write_text(
        "<labels>" + "".join(f'<label name="l{c}"/>' for c in "cab") + "</labels>"
    )
    about = {"domain": "toy", "citation": "none", "page": "https://example.org"}
    entries = {"plain": about | ARFF_SET | {"folds": {3: {"path": "index/3/plain.mat"}}}}
    for name, recipe in RECIPES.items():
        holds = HOLDS | {"from": "measured", "format": "dense" if name == "parts" else "sparse"}
        files = [{"from": "toolbox", "path": f"matfile/{name}.mat"}]
        files += [{"path": "odd path/Names.xml", "name": "in_xml.xml"}] if name == "in_xml" else []
        entries[name] = about | {"statistics": holds, "matlab": recipe, "files": files}
    for entry in entries.values():
        for file in [*entry["files"], *entry.get("folds", {}).values()]:
            file |= {"n_bytes": 0, "sha256": ""}
    repositories = {
        name: {"repository": f"owner/{name}", "commit": "c0ffee", "folder": "data"} for name in ("mulan", "toolbox")
    }
    write_repositories(root, {"hosts": [], "repositories": repositories, "entries": entries}, own, _made, _folds)
    return root


@pytest.fixture
def choose_hosts(public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def choose(*hosts: str) -> None:
        raw = yaml.safe_load((public / "catalog.yaml").read_text())
        raw["hosts"] = [f"{host}/{{repository}}/{{commit}}/{{path}}" for host in hosts]
        (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(raw))
        monkeypatch.setattr(sources, "CATALOGUE", tmp_path / "catalog.yaml")
        sources._catalogue.cache_clear()

    monkeypatch.delenv("MLCDR_MIRROR", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return choose


@pytest.fixture
def server(public: Path, choose_hosts: Callable[..., None]) -> Iterator[Server]:
    with serve(public) as running:
        choose_hosts(running.url)
        yield running


def _plain() -> Path:
    return cache_folder() / "datasets" / "plain" / "plain.arff"


# -------------------------------------------------------------------- what comes


def test_fetched_sets_are_what_the_files_were_made_of(server: Server) -> None:
    folders = catalog.fetch(["PLAIN", *RECIPES, "plain"], progress=False, folds=True)
    assert list(folders) == ["plain", *RECIPES]
    names = {
        "counted": ("Att1", "Att8", "Label1", "Label3"),
        "in_xml": ("tok0", "tok7", "lc", "lb"),
        "leading": ("f1", "f8", "one", "three"),
        "parts": ("x9", "x16", "y1", "y3"),
    }
    for name in RECIPES:
        data, made = load_dataset(name), _made(name)
        assert type(data.X) is type(made.X)
        assert (data.Y.dtype, data.X.dtype) == (made.Y.dtype, np.float64)
        for ours, theirs in ((data.X, made.X), (data.Y, made.Y)):
            assert_array_equal(*(each.toarray() if sparse.issparse(each) else each for each in (ours, theirs)))
        found = (data.feature_names[0], data.feature_names[-1], data.label_names[0], data.label_names[-1])
        assert found == names[name]
        assert (data.declared_nominal, data.declared_numeric) == ((0, D) if name == "parts" else (D, 0))
        assert data.n_train is None
    assert load_dataset("parts", part="predefined").n_train == 40
    assert {name: all(check.ok for check in catalog.verify(name)) for name in folders} == dict.fromkeys(folders, True)
    # the folds are found without being named, and the other draws of the file are further columns
    spec = FromFile(kind="file", path="{dataset}.3fold.csv")
    assert_array_equal(make_splits(spec, "plain", N)[1].test, np.flatnonzero(_folds("", 3) == 1))
    assert len(make_splits(spec.model_copy(update={"column": "fold10"}), "plain", N)) == 3
    asked = len(server.requests)
    assert asked == 7
    catalog.fetch([*folders], progress=False, folds=True)
    assert len(server.requests) == asked, "what is here is not asked for"


def test_one_progress_bar_goes_to_standard_error(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    catalog.fetch(["plain", "counted"])
    out, err = capfd.readouterr()
    assert out == ""
    assert "2 of 2 fetched" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("form", ["folder", "address"])
def test_a_mirror_stands_in_for_all_hosts(
    form: str, server: Server, choose_hosts: Callable[..., None], public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_hosts("http://127.0.0.1:1")
    monkeypatch.setenv("MLCDR_MIRROR", str(public) if form == "folder" else f"{server.url}/")
    catalog.fetch(["plain", "in_xml"], progress=False)
    assert load_dataset("in_xml").n_labels == K
    assert bool(server.requests) == (form == "address")


def test_checksums_hold_for_a_mirror(
    choose_hosts: Callable[..., None], public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_hosts()
    shutil.copytree(public, tmp_path / "mirror")
    monkeypatch.setenv("MLCDR_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror/owner/mulan/c0ffee/data/plain/plain.arff").write_bytes(b"x" * 5000)
    (tmp_path / "mirror/owner/toolbox/c0ffee/data/matfile/parts.mat").unlink()
    with pytest.raises(DataError) as failed:
        catalog.fetch(["plain", "parts", "counted"], progress=False)
    wrong, absent = sorted(str(failed.value).splitlines(), reverse=True)
    assert wrong.startswith(f"plain: not fetched: {tmp_path}/mirror has a file without the SHA-256 ")
    assert absent.startswith(f"parts: not fetched: {tmp_path}/mirror has no such file: ")
    assert sorted(path.name for path in (cache_folder() / "datasets").iterdir()) == ["counted"]


@pytest.mark.parametrize(
    "mirror",
    [
        *("http://example.org", "ftp://example.org", "file:///tmp", "http://localhost.example.org", "https://", "no"),
        *("http://127.0.0.1:99999", "http://[::1", "https://\xe9.example"),
    ],
)
def test_only_folders_and_https(
    mirror: str, choose_hosts: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_hosts()
    monkeypatch.setenv("MLCDR_MIRROR", mirror)
    with pytest.raises(DataError, match=f"^MLCDR_MIRROR: {re.escape(mirror.rstrip('/'))}: (neither|no such folder)"):
        catalog.fetch(["plain"], progress=False)


# -------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("wrong", r"sends a file without the SHA-256 [0-9a-f]{64} \(data/plain/plain\.arff\)"),
        ("longer", r"sends more than the \d+ bytes expected \(data/plain/plain\.arff\)"),
        ("answer 404", r"answers 404 \(data/plain/plain\.arff\)"),
        ("answer 403", "answers 403"),
        ("cut 0", r"cuts the connection \(data/plain/plain\.arff\)"),
        ("silent 1.5", r"does not answer within 0\.2 seconds"),
        ("slow 0.05", "is too slow"),
        ("redirect file:///etc/passwd", "redirects to file:///etc/passwd, which is not followed"),
        ("redirect http://example.invalid/x", "redirects to http://example.invalid/x, which is not followed"),
        ("redirect {path}", "redirects without end"),
    ],
)
def test_trouble_is_one_line_and_writes_nothing(
    trouble: str, message: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_SECONDS", 0.2)
    server.trouble = trouble
    with pytest.raises(DataError, match=rf"^plain: not fetched: 127\.0\.0\.1:{server.server_port} {message}$"):
        catalog.fetch(["plain"], progress=False)
    assert not _plain().exists()
    server.trouble = ""
    catalog.fetch(["plain"], progress=False)
    assert _plain().is_file()
    assert list((cache_folder() / "downloads").glob("*")) == []


def test_a_host_that_refuses_is_one_line_for_all_sets(server: Server) -> None:
    server.trouble = "answer 503"
    with pytest.raises(DataError) as failed:
        catalog.fetch(["plain", *RECIPES], progress=False)
    named, _, reason = str(failed.value).partition(": not fetched: ")
    assert (sorted(named.split(", ")), reason) == (
        sorted(["plain", *RECIPES]), f"127.0.0.1:{server.server_port} answers 503"
    )  # fmt: skip
    assert len(server.requests) <= 4, "it is not asked again"


def test_a_cut_is_resumed(server: Server) -> None:
    size = sources.entry("plain").files[0].n_bytes
    server.trouble = f"cut {size // 3}"
    catalog.fetch(["plain"], progress=False)
    third = size // 3
    assert server.ranges == [None, *(f"bytes={k * third}-" for k in range(1, len(server.ranges)))]
    assert load_dataset("plain").n_instances == N


@pytest.mark.parametrize("trouble", ["", "no-ranges"])
def test_the_next_command_goes_on(trouble: str, server: Server) -> None:
    server.trouble = "cut 20"
    with pytest.raises(DataError, match="cuts the connection"):
        catalog.fetch(["plain"], progress=False)
    server.trouble, server.ranges = trouble, []
    catalog.fetch(["plain"], progress=False)
    assert server.ranges == ["bytes=100-"]
    assert load_dataset("plain").n_instances == N


def test_what_was_kept_wrong_is_fetched_anew(server: Server) -> None:
    (file,) = sources.entry("plain").files
    kept = cache_folder() / "downloads" / file.sha256
    kept.parent.mkdir(parents=True)
    for content in (b"x" * 10, b"x" * file.n_bytes, b"x" * (file.n_bytes + 10)):
        kept.write_bytes(content)
        catalog.fetch(["plain"], progress=False)
        assert catalog.verify("plain")[-1].ok
        _plain().write_bytes(b"cut")


def test_the_next_host_is_asked(server: Server, public: Path, choose_hosts: Callable[..., None]) -> None:
    with serve(public) as first:
        first.trouble = "answer 500"
        choose_hosts("http://127.0.0.1:1", first.url, server.url)
        catalog.fetch(["plain", *RECIPES], progress=False)
        assert len(first.requests) <= 4
        assert len(server.requests) == 6
        # what the first of two began the second completes
        first.trouble, server.ranges = "cut 50", []
        choose_hosts(first.url, server.url)
        _plain().unlink()
        catalog.fetch(["plain"], progress=False)
        assert server.ranges == ["bytes=250-"]


def test_a_redirect_is_followed(server: Server, public: Path) -> None:
    with serve(public) as other:
        server.trouble = f"redirect {other.url}{{path}}"
        catalog.fetch(["plain"], progress=False)
        assert len(server.requests) == len(other.requests) == 1


def test_a_set_comes_wholly_or_not_at_all(server: Server, public: Path) -> None:
    names = public / "owner/mulan/c0ffee/data/odd path/Names.xml"
    names.rename(names.with_suffix(".gone"))
    try:
        with pytest.raises(DataError, match=r"^in_xml: not fetched: .* answers 404 \(data/odd path/Names\.xml\)$"):
            catalog.fetch(["in_xml", "counted"], progress=False)
    finally:
        names.with_suffix(".gone").rename(names)
    assert sorted(path.name for path in (cache_folder() / "datasets").iterdir()) == ["counted"]
    server.requests.clear()
    catalog.fetch(["in_xml"], progress=False)
    assert server.requests == ["/owner/mulan/c0ffee/data/odd%20path/Names.xml"], "the other file was kept"


# -------------------------------------------------------------------- the command


def test_run_offers_what_is_missing_in_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLCDR_MIRROR", server.url)
    text = "name: e\ndatasets: [plain, counted]\nsplits: {kind: file, path: '{dataset}.3fold.csv'}\n"
    text += "metrics: [hamming_loss]\nmethods: {PCA: {feature_space: {pca: {n_components: 2}}, learner: ridge}}\n"
    Path("e.yaml").write_text(text)
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert done.code == 2
    sets, *_ = done.err.splitlines()
    assert sets.endswith(
        "datasets: plain, counted are not in the data folders; `mlcdr datasets fetch plain counted` downloads them"
    )
    assert mlcdr("datasets", "fetch", "plain", "counted").code == 0
    Path("e.yaml").write_text(text.replace("plain, counted", "plain"))
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert done.err.strip().endswith("; `mlcdr datasets fetch plain --folds` downloads it")
    assert mlcdr("datasets", "fetch", "plain", "--folds").code == 0
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert done.code == 0, done.err
    assert "3 trials, all newly computed" in done.err


def test_verify_says_what_differs(server: Server, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("datasets", "fetch", "plain")
    assert (done.code, done.out, done.err) == (0, f"plain: {_plain().parent}\n", "")
    right = mlcdr("datasets", "verify", "plain")
    assert (right.code, right.out, right.err) == (0, "plain: OK (2 checks passed)\n", "")
    with _plain().open("a") as file:
        file.write("1,1,1,1,1,0,0,0,0,0,0\n")
    wrong = mlcdr("datasets", "verify", "plain")
    assert wrong.code == 1
    lines = wrong.out.splitlines()
    assert lines[:2] == ["plain: differs (2 of 2 checks failed)", "  n_instances: expected 60, found 61"]
    assert lines[2].startswith("  sha256 of plain.arff: expected ")


def test_a_cache_that_cannot_be_written_is_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path / "file"))
    done = mlcdr("datasets", "fetch", "plain")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "plain.arff: cannot be written: " in done.err


def test_what_to_fetch(server: Server, mlcdr: Callable[..., Outcome]) -> None:
    for wrong in ([], ["plain", "--all"], ["--all", "--paper", "chen_lin_2012"]):
        assert "give names of data sets, or --paper, or --all" in mlcdr("datasets", "fetch", *wrong).err
    done = mlcdr("datasets", "fetch", "--all")
    assert (done.code, done.err) == (0, "")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == sorted(["plain", *RECIPES])


# -------------------------------------------------------------------- servers that send a little now and then


def _drip(connection: socket.socket, first: bytes, again: bytes) -> None:
    """Send something, and then something else until the other side has gone."""
    connection.recv(1 << 16)
    with contextlib.suppress(OSError):
        connection.sendall(first)
        while True:
            connection.sendall(again)
            threading.Event().wait(0.02)


@contextlib.contextmanager
def _dripping(first: bytes, again: bytes) -> Iterator[str]:
    """The address of a server that never ends its answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_one() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        _drip(connection, first, again)

        thread = threading.Thread(target=serve_one)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b"H"),
        (OK, b"X: a\r\n"),
        (OK, b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"X: a\r\n"),
    ],
    ids=["status", "headers", "a header", "continue", "chunk size", "trailers"],
)
def test_a_server_that_never_ends_its_answer_is_given_up(
    first: bytes, again: bytes, choose_hosts: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_SECONDS", 0.3)
    with _dripping(first, again) as address:
        choose_hosts(address)
        begin = time.monotonic()
        with pytest.raises(DataError) as failed:
            catalog.fetch(["plain"], progress=False)
        assert time.monotonic() - begin < 5
    assert re.fullmatch(
        r"plain: not fetched: 127\.0\.0\.1:\d+ (is too slow|does not answer within 0\.3 seconds)", str(failed.value)
    )


@pytest.mark.parametrize(
    "location", ["http://[::1", "http://127.0.0.1:99999/", "http://\xe9.example/\xff", "https://\xe9"]
)
def test_a_redirect_to_no_address_is_one_line(location: str, server: Server) -> None:
    server.trouble = f"redirect {location}"
    with pytest.raises(DataError) as failed:
        catalog.fetch(["plain"], progress=False)
    assert str(failed.value) == (
        f"plain: not fetched: 127.0.0.1:{server.server_port} redirects to {location}, which is not followed"
    )


def test_a_redirect_to_any_bytes_of_the_same_host(server: Server) -> None:
    server.trouble = "redirect /\xff\xe9"
    with pytest.raises(DataError) as failed:
        catalog.fetch(["plain"], progress=False)
    assert "\n" not in str(failed.value)
