"""Loading data sets: labels, encoding, lookup, the predefined split, the cache."""

import contextlib
import io
import json
import os
import random
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mlcdr.data import cache, files, reading
from mlcdr.data.arff_header import meka_label_count
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.label_xml import read_label_xml
from mlcdr.errors import DataError


def _xml(*names: str) -> str:
    return "<labels>" + "".join(f'<label name="{name}"/>' for name in names) + "</labels>"


def _write(folder: Path, stem: str, arff: str, xml: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.arff").write_text(arff)
    if xml is not None:
        (folder / f"{stem}.xml").write_text(xml)
    return folder / f"{stem}.arff"


def _toarray(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


MIXED = """@relation r
@attribute l2 {0,1}
@attribute yes {YES,NO}
@attribute true {false,True}
@attribute place {3,10,2}
@attribute l1 {NO,YES}
@attribute size numeric
@data
"""
MIXED_DENSE = MIXED + "1,YES,false,10,NO,1.5\n0,NO,True,3,YES,0\n0,NO,false,10,NO,-2\n1,YES,True,2,YES,7\n"
# The same rows: what is omitted is the first declared value, YES for the feature `yes`.
MIXED_SPARSE = MIXED + "{0 1,3 10,5 1.5}\n{1 NO,2 True,4 YES}\n{1 NO,3 10,5 -2}\n{0 1,2 True,3 2,4 YES,5 7}\n"


@pytest.mark.parametrize("text", [MIXED_DENSE, MIXED_SPARSE], ids=["dense", "sparse"])
def test_nominals_keep_their_meaning(text: str, tmp_path: Path) -> None:
    path = _write(tmp_path, "m", text, _xml("l1", "l2"))
    for data in (load_dataset(path), load_dataset(path)):  # parsed, then from the cache
        assert data.feature_names == ("yes", "true", "place=3", "place=10", "place=2", "size")
        expected = [[1, 0, 0, 1, 0, 1.5], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, -2], [1, 1, 0, 0, 1, 7]]
        assert_array_equal(_toarray(data.X), expected)
        assert_array_equal(_toarray(data.Y), [[1, 0], [0, 1], [0, 0], [1, 1]])
        assert (data.label_names, data.xml_label_names) == (("l2", "l1"), ("l1", "l2"))
        assert (data.declared_features, data.declared_nominal, data.declared_numeric) == (4, 3, 1)
        assert (data.X.dtype, data.n_train) == (np.float64, None)
        if text is MIXED_DENSE:
            assert (type(data.X), type(data.Y), data.Y.dtype) == (np.ndarray, np.ndarray, np.uint8)
        else:
            assert (type(data.X), type(data.Y), data.Y.dtype) == (sparse.csr_array, sparse.csr_array, np.int8)
            assert data.X.indices.dtype == np.int32
            assert data.X.has_sorted_indices
            assert (data.X.data != 0).all()


@pytest.mark.parametrize(("n", "extra", "dropped"), [(4, 0, True), (4, 9, False), (60, 9, True)])
def test_identifiers_are_dropped(n: int, extra: int, dropped: bool, tmp_path: Path) -> None:
    values = ",".join(f"P{i}" for i in range(n + extra))
    rows = "".join(f"P{i},{i % 2},{i}\n" for i in range(n))
    text = f"@relation r\n@attribute id {{{values}}}\n@attribute l {{0,1}}\n@attribute x numeric\n@data\n{rows}"
    data = load_dataset(_write(tmp_path, "i", text, _xml("l")))
    assert data.declared_features == 2
    if dropped:
        assert data.feature_names == ("x",)
        assert data.notices == (f"feature 'id' dropped: an identifier ({n} values in {n} rows)",)
    else:
        assert data.n_features == n + extra + 1
        assert data.notices == ()


GAPS = "@relation r\n@attribute l {0,1}\n@attribute x numeric\n@attribute c {a,b,c}\n@attribute y {NO,YES}\n@data\n"


@pytest.mark.parametrize(
    "rows",
    ["1,2,a,YES\n0,?,b,?\n1,6,?,NO\n0,1,a,YES\n", "{0 1,1 2,3 YES}\n{1 ?,2 b,3 ?}\n{0 1,1 6,2 ?}\n{1 1,3 YES}\n"],
    ids=["dense", "sparse"],
)
def test_missing_values_are_filled_as_the_option_asks(rows: str, tmp_path: Path) -> None:
    path = _write(tmp_path, "g", GAPS + rows, _xml("l"))
    expected = np.array([[2, 1, 0, 0, 1], [0, 0, 1, 0, 0], [6, 0, 0, 0, 0], [1, 1, 0, 0, 1]], dtype=float)
    zero = load_dataset(path, missing="zero")
    assert_array_equal(_toarray(zero.X), expected)
    mean = load_dataset(path, missing="mean")
    expected[1, 0], expected[1, 4], expected[2, 1:4] = 3, 2 / 3, [2 / 3, 1 / 3, 0]
    assert_allclose(_toarray(mean.X), expected, rtol=1e-15)
    assert mean.checksum != zero.checksum


# --- which attributes are labels ----------------------------------------------------------------------------------

FOUR = "@attribute a {0,1}\n@attribute b {0,1}\n@attribute c {0,1}\n@attribute d {0,1}\n@data\n1,0,1,0\n"


MEKA = {"'name: -C 2'": 2, "'name: -C -1'": -1, "name -C 3": 3, "name-C2": None, "'no -Cats'": None}
MEKA[f"'name: -C {'9' * 5000}'"] = None
MEKA["'MEDC: -C 45 -I 0-weka.filters.unsupervised.attribute.Remove-R1-45'"] = 45


@pytest.mark.parametrize(("relation", "count"), MEKA.items())
def test_meka_relations(relation: str, count: int | None) -> None:
    assert meka_label_count(relation.strip("'")) == count


@pytest.mark.parametrize(
    ("relation", "option", "labels"),
    [("-C 1", None, "a"), ("-C 3", None, "abc"), ("-C -2", None, "cd"), ("-C 1", -1, "d"), ("none", 2, "ab")],
)
def test_meka_labels(relation: str, option: int | None, labels: str, tmp_path: Path) -> None:
    data = load_dataset(_write(tmp_path, "k", f"@relation 'r: {relation}'\n{FOUR}"), labels=option)
    assert data.label_names == tuple(labels)
    assert data.xml_label_names == data.label_names


def test_xml_decides_over_the_relation(tmp_path: Path) -> None:
    data = load_dataset(_write(tmp_path, "k", f"@relation 'r: -C 2'\n{FOUR}", _xml("d", "c")))
    assert data.label_names == ("c", "d")


def test_xml_forms(tmp_path: Path) -> None:
    path = tmp_path / "l.xml"
    path.write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<!-- a comment -->\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
        '<label name="a">\n <label name="b &amp; c"/>\n <label name=\'d\'></label>\n</label>'
        '<label name="Swainson\'s"/></labels>'
    )
    assert read_label_xml(path) == (("a", 4), ("b & c", 5), ("d", 6), ("Swainson's", 7))


# --- lookup -------------------------------------------------------------------------------------------------------


def test_the_embedded_data_set_needs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = load_dataset("yeast")
    assert (data.n_instances, data.n_features, data.n_labels) == (2417, 103, 14)
    assert data.label_names[:4] == ("Class1", "Class2", "Class3", "Class4")
    assert data.xml_label_names[:5] == ("Class1", "Class2", "Class3", "Class6", "Class4")
    facts = data.statistics()
    assert (round(facts["cardinality"], 6), facts["distinct"]) == (4.237071, 198)


def test_the_predefined_split_of_the_embedded_data_set() -> None:
    full, split = load_dataset("yeast"), load_dataset("yeast", part="predefined")
    assert split.n_train == 1500
    assert_array_equal(split.X, np.concatenate([full.X[917:], full.X[:917]]))
    assert_array_equal(split.Y, np.concatenate([full.Y[917:], full.Y[:917]]))
    assert split.checksum != full.checksum  # the rows stand in another order


def test_folders_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("one", "two", "here/datasets", "cache/datasets"):
        rows = f"@relation r\n@attribute a {{0,1}}\n@attribute x numeric\n@data\n1,{len(place)}\n"
        _write(tmp_path / place / "Mine", "mine-SPARSE", rows, _xml("a"))
    (tmp_path / "here" / "datasets" / "Mine" / "mine-SPARSE.xml").rename(
        tmp_path / "here" / "datasets" / "Mine" / "MINE.XML"
    )
    monkeypatch.setenv(
        "MLCDR_DATASETS", os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "two"), str(tmp_path / "one")])
    )
    (tmp_path / "here").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    for place in ("two", "one", "here/datasets", "cache/datasets"):
        assert load_dataset("mine").X.item() == len(place)
        for child in (tmp_path / place / "Mine").iterdir():
            child.unlink()
        (tmp_path / place / "Mine").rmdir()
    with pytest.raises(DataError, match=r"^unknown data set 'mine': not in .*two.*put its folder into one of them$"):
        load_dataset("mine")


def test_a_path_object_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "yeast", "yeast", f"@relation 'r: -C 1'\n{FOUR}")
    monkeypatch.chdir(tmp_path)
    assert load_dataset(Path("yeast")).n_instances == load_dataset("./yeast").n_instances == 1
    assert load_dataset("yeast").n_instances == 2417
    with pytest.raises(DataError, match="unknown data set ''"):
        load_dataset("")


def test_messages_for_data_sets_that_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"unknown data set 'yeats'.* did you mean 'yeast'\?$"):
        load_dataset("yeats")
    with pytest.raises(
        DataError,
        match=r"data set 'mediamill' is not found in the folders .*`mlcdr datasets info mediamill` says how to get it",
    ):
        load_dataset("MediaMill")
    with pytest.raises(DataError, match=r"^\./none\.arff: no such file or folder$"):
        load_dataset("./none.arff")
    (tmp_path / "datasets" / "partial").mkdir(parents=True)
    (tmp_path / "datasets" / "partial" / "partial-train.arff").write_text("")
    with pytest.raises(
        DataError,
        match=r"partial: needs partial\.arff, or .* and partial-test\.arff \(or .*\), has partial-train\.arff$",
    ):
        load_dataset("partial")
    (tmp_path / "datasets" / "partial" / "partial.arff").write_text("")
    (tmp_path / "datasets" / "partial" / "partial-sparse.arff").write_text("")
    with pytest.raises(DataError, match=r"could both be the full file; keep one$"):
        load_dataset("partial")


@pytest.mark.parametrize("option", [{"missing": "median"}, {"part": "train"}])
def test_unknown_options(option: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="one of"):
        load_dataset("yeast", **option)


def _parts(folder: Path, test_header: str = FOUR) -> None:
    _write(folder, "p-train", f"@relation r\n{FOUR}0,1,1,1\n")
    _write(folder, "p-test", f"@relation r\n{test_header}")
    (folder / "p.xml").write_text(_xml("d"))


def test_train_and_test_files(tmp_path: Path) -> None:
    _parts(tmp_path / "p")
    for which in ("p", "p/p-train.arff"):
        split = load_dataset(tmp_path / which, part="predefined")
        assert (split.name, split.n_train) == ("p", 2)
        assert_array_equal(split.X, [[1, 0, 1], [0, 1, 1], [1, 0, 1]])
    full = load_dataset(tmp_path / "p")
    assert (full.n_instances, full.n_train, full.name) == (3, None, "p")
    assert load_dataset(tmp_path / "p" / "p-test.arff").n_instances == 1


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (FOUR.replace("@attribute b", "@attribute z"), r"p-test\.arff:3: attribute 'z' where p-train\.arff:3 has 'b'"),
        (
            FOUR.replace("b {0,1}", "b {1,0}"),
            r"p-test\.arff:3: attribute 'b' is declared otherwise than in p-train\.arff:3",
        ),
        ("@attribute a {0,1}\n@data\n1\n", r"p-test\.arff: 1 attributes, but p-train\.arff has 4"),
        (FOUR.replace("1,0,1,0", "{}"), r"p-test\.arff: is sparse, unlike p-train\.arff"),
    ],
)
def test_train_and_test_must_fit(header: str, message: str, tmp_path: Path) -> None:
    _parts(tmp_path / "p", header)
    with pytest.raises(DataError, match=message):
        load_dataset(tmp_path / "p")


# --- checksum and cache -------------------------------------------------------------------------------------------


def _equal(one: Dataset, two: Dataset) -> bool:
    same = all(getattr(one, f) == getattr(two, f) for f in one.__dataclass_fields__ if f not in ("X", "Y"))
    return same and (_toarray(one.X) == _toarray(two.X)).all() and (_toarray(one.Y) == _toarray(two.Y)).all()


@pytest.mark.parametrize("text", [MIXED_DENSE, MIXED_SPARSE], ids=["dense", "sparse"])
def test_cache_gives_the_same(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path, "c", text, _xml("l1", "l2"))
    first = load_dataset(path)
    monkeypatch.setattr(reading, "read_arff", lambda *_: pytest.fail("parsed again"))
    assert _equal(first, load_dataset(path))
    copy = _write(tmp_path / "elsewhere", "other", text, _xml("l1", "l2"))  # the content counts, not the place
    assert load_dataset(copy).checksum == first.checksum
    assert load_dataset(copy).name == "other"


def test_the_checksum_is_of_what_was_read(tmp_path: Path) -> None:
    path = _write(tmp_path, "c", MIXED_DENSE, _xml("l1", "l2"))
    first = load_dataset(path)
    described = _write(tmp_path, "d", f"% the same data\n{MIXED_DENSE}", _xml("l2", "l1"))
    assert load_dataset(described).checksum == Dataset.of(first.X, first.Y).checksum == first.checksum
    path.write_text(MIXED_DENSE.replace("7\n", "8\n"))
    assert load_dataset(path).checksum != first.checksum


def test_a_copy_in_the_cache_is_of_every_byte_option_and_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path, "c", MIXED_DENSE, _xml("l1", "l2"))
    load_dataset(path)
    load_dataset(path, missing="zero")
    path.write_text(f"% a comment\n{MIXED_DENSE}")
    load_dataset(path)
    path.with_suffix(".xml").write_text(_xml("l2", "l1"))
    load_dataset(path)
    monkeypatch.setattr(reading, "readers_version", lambda: "next")
    load_dataset(path)
    assert len(list((files.cache_folder() / "parsed").iterdir())) == 5


def test_an_unwritable_cache_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path / "a file"))
    path = _write(tmp_path, "c", MIXED_DENSE, _xml("l1", "l2"))
    assert _equal(load_dataset(path), load_dataset(path))


def _npy(array: np.ndarray, header: str | None = None) -> bytes:
    """The bytes of an `.npy` file, with another header than the array's own if one is given."""
    image = io.BytesIO()
    np.save(image, array)
    if header is None:
        return image.getvalue()
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


def _store(path: Path, members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


SHAPED = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,)}"
DAMAGES = {
    "absurd shape": ("X", _npy(np.zeros(3), SHAPED % 10**15)),
    "header no Python": ("X", _npy(np.zeros(3), "{'descr': '''")),
    "no array": ("X", b"whatever"),
    "text for numbers": ("X", _npy(np.full((4, 3), "1"))),
    "labels beyond 1": ("Y", _npy(np.full((3, 2), 2, dtype=np.uint8))),
    "JSON nested": ("header", _npy(np.frombuffer(b"[" * 100_000, dtype=np.uint8))),
}


def _flipped(good: bytes) -> bytes:
    """One byte of the values is another: the archive's own checksum tells."""
    at = good.index(b"X.npy") + 150
    return good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :]


WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "empty file": lambda good: b"",
    "no archive": lambda good: b"not a zip",
    "cut": lambda good: good[: len(good) // 2],
    "flipped": _flipped,
}
# What the header says otherwise: of the key, of facts that are not there, and of facts of another type.
HEADERS: dict[str, Any] = {"digest": "that of another file", "facts": []}
FACTS = ["feature_names", "declared_features", "n_train", "notices", "more"]


def _header(members: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """The members, with a changed header."""
    header = json.loads(np.load(io.BytesIO(members["header"])).tobytes())
    change(header)
    return members | {"header": _npy(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))}


@pytest.mark.parametrize("damage", [*DAMAGES, *WHOLE, *HEADERS, *FACTS, *(f"no {key}" for key in FACTS[:-1]), "packed"])
def test_a_cache_file_is_read_anew_whatever_is_wrong_with_it(damage: str, tmp_path: Path) -> None:
    path = _write(tmp_path, "c", MIXED_DENSE, _xml("l1", "l2"))
    first = load_dataset(path)
    (stored,) = (files.cache_folder() / "parsed").iterdir()
    with zipfile.ZipFile(stored) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    _store(stored, members)
    assert cache.load(stored.stem) is not None
    if damage in DAMAGES:
        name, content = DAMAGES[damage]
        _store(stored, members | {name: content})
    elif damage in WHOLE:
        stored.write_bytes(WHOLE[damage](stored.read_bytes()))
    elif damage in HEADERS:
        _store(stored, _header(members, lambda header: header.update({damage: HEADERS[damage]})))
    elif damage in FACTS:
        _store(stored, _header(members, lambda header: header["facts"].update({damage: [1, 2, 3]})))
    elif damage == "packed":  # it would grow in memory
        _store(stored, members, zipfile.ZIP_DEFLATED)
    else:
        _store(stored, _header(members, lambda header: header["facts"].pop(damage.removeprefix("no "))))
    assert cache.load(stored.stem) is None
    assert _equal(load_dataset(path), first)
    assert cache.load(stored.stem) is not None
    assert list(stored.parent.iterdir()) == [stored]


def test_a_pipe_in_the_cache_is_not_waited_for() -> None:
    stored = cache.path_of("piped")
    stored.parent.mkdir(parents=True)
    os.mkfifo(stored)
    reading = threading.Thread(target=cache.load, args=("piped",), daemon=True)
    reading.start()
    reading.join(10)
    assert not reading.is_alive()


def test_a_cache_that_is_damaged_again_and_again_changes_nothing(tmp_path: Path) -> None:
    path = _write(tmp_path, "c", MIXED_DENSE, _xml("l1", "l2"))
    first = load_dataset(path)
    (stored,) = (files.cache_folder() / "parsed").iterdir()
    size = stored.stat().st_size
    stopped = threading.Event()
    damages = []

    def damage() -> None:
        drawn = random.Random(0)
        while not stopped.wait(0.001):
            with contextlib.suppress(OSError), stored.open("r+b") as file:
                file.seek(drawn.randrange(size))
                file.write(drawn.randbytes(64))
                file.truncate(drawn.randrange(size))
                damages.append(file.tell())

    damaging = threading.Thread(target=damage)
    damaging.start()
    try:
        assert all(_equal(load_dataset(path), first) for _ in range(50))
    finally:
        stopped.set()
        damaging.join()
    assert len(damages) > 5
