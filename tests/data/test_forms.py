"""Every form of data, read from files that other software wrote and compared with the arrays; and what is refused."""

import csv
import gzip
import io
import json
import socket
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import io as matlab
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_multilabel_classification

from mlcdr.data import cache, frames, held, packed, texts
from mlcdr.data.content import named
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.errors import ConfigError, DataError
from mlcdr.experiment.imports import Imports
from mlcdr.experiment.loading import experiment_from
from mlcdr.methods.registry import judging_imports
from tests import openml, small

RNG = np.random.default_rng(18)
X = RNG.normal(size=(12, 4)) * 10.0 ** RNG.integers(-9, 9, size=(12, 4))
Y = RNG.random((12, 3)) < 0.4
Y[:3] = np.eye(3)
X[0] = [1e-300, -0.0, 2**53, 0.1]
FRAME = pd.DataFrame(X, columns=["a", "b,c", 'd "q"', "é"]).assign(colour=["red", "blue"] * 6, rare=["no"] * 12)
for _j, _name in enumerate(("tag_x", "tag_y", "other")):
    FRAME[_name] = Y[:, _j].astype(int)
NAMES = ("a", "b,c", 'd "q"', "é", "colour=blue", "colour=red", "rare")
TAGS = {"labels": ["other", "tag_x", "tag_y"]}
SPARSE = sparse.csr_array(np.where(X > 0, X, 0) * (RNG.random((12, 4)) < 0.7))
SPARSE = sparse.csr_array(sparse.vstack([[[1.0, 0, 0, 2.0]], SPARSE[1:]]))


def _tagged(frame: pd.DataFrame) -> pd.DataFrame:
    tags = ["; ".join(f"t{k}" for k in np.flatnonzero(row)) for row in Y]
    return frame.drop(columns=TAGS["labels"]).assign(tags=tags)


def _xmc(features: sparse.csr_array, labels: np.ndarray) -> str:
    rows = [f"{len(labels)} {features.shape[1]} {labels.shape[1]}"]
    for i, row in enumerate(labels):
        _, columns = features[[i]].nonzero()
        entries = [f"{j}:{float(features[i, j])!r}" for j in columns]
        rows.append(" ".join([",".join(map(str, np.flatnonzero(row))), *entries]))
    return "\n".join(rows) + "\n"


TABLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "data.csv": (lambda path: FRAME.to_csv(path, index=False), TAGS),
    "data.tsv": (lambda path: FRAME.to_csv(path, index=False, sep="\t"), {"labels": -3}),
    "gz.csv.gz": (lambda path: FRAME.to_csv(path, index=False), TAGS),
    "xz.csv.xz": (lambda path: FRAME.to_csv(path, index=False), TAGS),
    "zip.csv.zip": (lambda path: FRAME.to_csv(path, index=False), TAGS),
    "latin.csv": (lambda path: FRAME.to_csv(path, index=False, encoding="latin-1"), TAGS | {"encoding": "latin-1"}),
    "wide.csv": (lambda path: FRAME.to_csv(path, index=False, encoding="utf-16"), TAGS | {"encoding": "utf-16"}),
    "bom.csv": (lambda path: FRAME.to_csv(path, index=False, encoding="utf-8-sig"), TAGS),
    "comma.csv": (
        lambda path: FRAME.to_csv(path, index=False, sep=";", decimal=","),
        TAGS | {"delimiter": ";", "decimal": ","},
    ),
    "data.parquet": (lambda path: FRAME.to_parquet(path), TAGS),
    "data.feather": (lambda path: FRAME.astype({"colour": "category"}).to_feather(path), TAGS),
    "tags.csv": (lambda path: _tagged(FRAME).to_csv(path, index=False), {"labels": "tags", "separator": ";"}),
    "dropped.csv": (lambda path: FRAME.assign(id=10**18).to_csv(path, index=False), TAGS | {"drop": ["id"]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_pandas_and_pyarrow_wrote(name: str, tmp_path: Path) -> None:
    write, options = TABLES[name]
    write(tmp_path / name)
    found = load_dataset(tmp_path / name, **options)
    assert found.feature_names == NAMES
    np.testing.assert_array_equal(found.X[:, :4], X)
    np.testing.assert_array_equal(
        found.X[:, 4:], np.column_stack([np.tile([0, 1], 6), np.tile([1, 0], 6), np.zeros(12)])
    )
    np.testing.assert_array_equal(found.Y, Y)
    assert (found.declared_features, found.declared_nominal, found.name) == (6, 2, name.split(".")[0])
    assert load_dataset(tmp_path / name, **options).checksum == found.checksum


def _labels_of(found: Dataset) -> np.ndarray:
    return found.Y.toarray() if sparse.issparse(found.Y) else found.Y


MATRICES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "dense.npz": (lambda path: np.savez(path, X=X, Y=Y, label_names=np.array([b"a", b"b", b"c"])), X, {}),
    "packed.npz": (
        lambda path: np.savez_compressed(path, data=X, target=np.where(Y, 1, -1)),
        X,
        {"X": "data", "Y": "target"},
    ),
    "sparse.npz": (
        lambda path: np.savez(
            path, X_data=SPARSE.data, X_indices=SPARSE.indices, X_indptr=SPARSE.indptr, X_shape=SPARSE.shape, Y=Y
        ),
        SPARSE,
        {},
    ),
    "dense.mat": (lambda path: matlab.savemat(path, {"data": X, "target": Y.T.astype(float)}), X, {}),
    "sparse.mat": (
        lambda path: matlab.savemat(path, {"A": sparse.csc_matrix(SPARSE), "B": Y.astype(int)}),
        SPARSE,
        {"X": "A", "Y": "B"},
    ),
    "one.svm": (lambda path: dump_svmlight_file(SPARSE, Y, str(path), multilabel=True, zero_based=False), SPARSE, {}),
    "zero.libsvm": (lambda path: dump_svmlight_file(SPARSE, Y, str(path), multilabel=True), SPARSE, {}),
    "xmc.txt": (lambda path: path.write_text(_xmc(SPARSE, Y)), SPARSE, {}),
    "xmc.txt.gz": (lambda path: path.write_bytes(gzip.compress(_xmc(SPARSE, Y).encode())), SPARSE, {}),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_that_numpy_scipy_and_scikit_learn_wrote(name: str, tmp_path: Path) -> None:
    write, wanted, options = MATRICES[name]
    write(tmp_path / name)
    found = load_dataset(tmp_path / name, **options)
    digits = 1e-15 if name in ("one.svm", "zero.libsvm") else 0  # scikit-learn writes 16 digits
    values = found.X.toarray() if sparse.issparse(found.X) else found.X
    np.testing.assert_allclose(values, wanted.toarray() if sparse.issparse(wanted) else wanted, rtol=digits)
    assert sparse.issparse(found.X) == sparse.issparse(found.Y) == sparse.issparse(wanted)
    np.testing.assert_array_equal(_labels_of(found), Y)
    assert name != "dense.npz" or found.label_names == ("a", "b", "c")


def test_svmlight_with_names_beside_it_and_rows_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("3 4 2\n1 0:2\n\n0,1 3:0.5\n")
    found = load_dataset(tmp_path / "t.txt")
    assert (found.X.toarray().tolist(), _labels_of(found).tolist()) == (
        [[2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0.5]],
        [[0, 1], [0, 0], [1, 1]],
    )
    (tmp_path / "t.labels.txt").write_text("no\nyes\n")
    (tmp_path / "t.features.txt").write_text("a\nb\nc\nd\n")
    assert load_dataset(tmp_path / "t.txt").label_names == ("no", "yes")
    assert load_dataset(tmp_path / "t.txt").feature_names == ("a", "b", "c", "d")


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.npz", "d.svm"])
def test_train_and_test_files_are_a_division(name: str, tmp_path: Path) -> None:
    stem, ending = name.split(".")
    for part, rows in (("train", slice(0, 8)), ("test", slice(8, 12))):
        path = tmp_path / f"{stem}-{part}.{ending}"
        if ending == "npz":
            np.savez(path, X=X[rows], Y=Y[rows])
        elif ending == "svm":
            dump_svmlight_file(SPARSE[rows], Y[rows], str(path), multilabel=True)
        else:
            frame = FRAME.iloc[rows]
            (frame.to_csv if ending == "csv" else frame.to_parquet)(path, index=False)
    options = TAGS if ending in ("csv", "parquet") else {}
    found = load_dataset(tmp_path / f"d-train.{ending}", part="predefined", **options)
    assert (found.n_train, found.n_instances, found.name) == (8, 12, "d")
    np.testing.assert_array_equal(_labels_of(found), Y)


def test_what_is_in_memory(tmp_path: Path) -> None:
    of_arrays = Dataset.of(X, Y, label_names=["p", "q", "r"])
    np.testing.assert_array_equal(of_arrays.X, X)
    assert (of_arrays.label_names, of_arrays.feature_names[0]) == (("p", "q", "r"), "feature1")
    of_sparse = Dataset.of(sparse.coo_matrix(SPARSE), sparse.csc_matrix(Y.astype(int)), name="mine")
    assert (of_sparse.X != SPARSE).nnz == 0
    assert (of_sparse.Y.dtype, of_sparse.name) == (np.int8, "mine")
    features, labels = FRAME.drop(columns=TAGS["labels"]), FRAME[TAGS["labels"]]
    for made in (Dataset.of(FRAME, **TAGS), Dataset.of(features, labels), Dataset.of(features, labels.to_numpy())):
        assert made.feature_names == NAMES
    assert repr(of_arrays).count("\n") == 2
    np.testing.assert_array_equal(Dataset.of(features, 2 * labels - 1).Y, labels)
    with pytest.raises(DataError, match=r"^mine: X has 12 rows and Y has 11$"):
        Dataset.of(X, Y[1:], name="mine")


BODIES = ["a, b", 'say "a"', " blank before", "two\nlines", "NA", "null", "12", "été", "a\tb", "x" * 5000, "?", "1e5"]
TEXTS = pd.DataFrame({"body": BODIES}).assign(id=range(12), **{f"tag{k}": Y[:, k].astype(int) for k in range(3)})
SAID = {"labels": "tag*", "text": "body", "drop": ["id"]}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "tags.csv"])
def test_a_column_of_text(name: str, tmp_path: Path) -> None:
    """The texts as they are, from the file and from the cache; words that stand for gaps elsewhere are words here."""
    options = SAID
    frame = TEXTS
    if name == "tags.csv":
        tags = ["; ".join(f"t{k}" for k in np.flatnonzero(row)) for row in Y]
        frame, options = TEXTS[["body"]].assign(t=tags), {"labels": "t", "separator": ";", "text": "body"}
    if "sv" in name:
        quoted = {"sep": "\t"} if "tsv" in name else {}
        frame.to_csv(tmp_path / name, index=False, quoting=csv.QUOTE_NONNUMERIC, **quoted)
    else:
        (frame.to_parquet if "parquet" in name else frame.to_feather)(tmp_path / name)
    for found in (load_dataset(tmp_path / name, **options) for _ in range(2)):
        assert found.X[:, 0].tolist() == BODIES
        assert (found.feature_names, found.kind_of_features, found.statistics()["format"]) == (
            ("body",),
            "texts",
            "text",
        )
        np.testing.assert_array_equal(found.Y, Y)
    assert "1 feature (texts), 3 labels" in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mising": "mean"}, "mine: mising: unknown option of a data set; did you mean 'missing'"),
        ({"missing": "men"}, "mine: missing: must be one of error, keep, mean, zero, .* did you mean 'mean'"),
        ({"path": "a.csv"}, "mine: memory: the data come from one place, and there is path already"),
        ({"drop": ["a"]}, "mine: the option drop is of CSV, .* a DataFrame, and this is memory"),
    ],
)
def test_options_of_what_is_in_memory_are_checked(options: dict[str, Any], message: str) -> None:
    X, Y = np.array([[1.0], [np.nan]]), np.eye(2)
    with pytest.raises(DataError, match=message):
        Dataset.of(X, Y, name="mine", **options)


@pytest.mark.parametrize("labels", [FRAME.columns[-3:], FRAME.columns[-3:].to_numpy(), np.int64(-3)])
def test_labels_may_be_values_of_pandas_and_numpy(labels: Any, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for found in (Dataset.of(FRAME, labels=labels), load_dataset(tmp_path / "a.csv", labels=labels)):
        assert found.label_names == ("tag_x", "tag_y", "other")


@pytest.mark.parametrize("kind", ["string", "object", "category"])
def test_a_missing_text_is_empty_and_missing_tags_are_none(kind: str) -> None:
    column = pd.Series(["a b", "b", pd.NA]).astype(kind)
    texts = Dataset.of(pd.DataFrame({"text": column, "y": [0, 1, 1]}), labels=["y"], text="text", missing="keep")
    assert texts.X.tolist() == [["a b"], ["b"], [""]]
    tagged = Dataset.of(pd.DataFrame({"x": [1, 2, 3], "tags": column}), labels="tags", separator=" ")
    np.testing.assert_array_equal(_labels_of(tagged), [[1, 1], [0, 1], [0, 0]])


def test_a_text_in_csv_may_be_as_long_as_a_book(tmp_path: Path) -> None:
    book = "word " * 30_000
    (tmp_path / "a.csv").write_text(f"text,y,z\n{book}end,0,1\nshort,1,0\n")
    assert load_dataset(tmp_path / "a.csv", labels=["y", "z"], text="text").X.tolist() == [[f"{book}end"], ["short"]]


def test_columns_of_a_frame_that_are_only_numbered_get_names() -> None:
    dataset = Dataset.of(pd.DataFrame([[1.0, 2.0], [3.0, 5.0]]), pd.DataFrame(np.eye(2)))
    assert dataset.feature_names == ("feature1", "feature2")
    assert dataset.label_names == ("label1", "label2")


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("labels", ["dense", "sparse", "tags"])
def test_sparse_columns_of_a_frame_stay_sparse(labels: str, fill: float) -> None:
    """Stored and loaded again, as for a worker process."""
    X = pd.DataFrame(SPARSE.toarray(), columns=list("abcd")).astype(pd.SparseDtype(float, fill))
    if labels == "tags":
        frame = X.assign(tags=[" ".join(f"t{k}" for k in np.flatnonzero(row)) for row in Y])
        made = Dataset.of(frame, labels="tags", separator=" ")
    else:
        if fill != 0 and not small.READS_ALL_SPARSE_LABELS:
            labels = "dense"
        kind = float if labels == "dense" else pd.SparseDtype(float, fill)
        made = Dataset.of(X, pd.DataFrame(Y, columns=["p", "q", "r"]).astype(kind))
    assert (made.X != SPARSE).nnz == 0
    np.testing.assert_array_equal(made.Y.toarray(), Y)
    with held.holding([made]), held.shared():
        held._held.clear()  # another process has none
        again = load_dataset("mine", memory=made.checksum)
        assert (again.X != SPARSE).nnz == (again.Y != made.Y).nnz == 0


@pytest.mark.parametrize("kind", ["int", "Int64", "float32", "Sparse[int]"])
def test_categories_are_words_in_a_column_of_numbers(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": [3, 10, 3, 2], "weight": [0.5, 1.0, 2.0, 0.0], "label": [0, 1, 1, 0]})
    frame = frame.astype({"size": kind})
    made = [Dataset.of(frame, labels=["label"], categories=["size"])]
    if "Sparse" not in kind:
        frame.to_parquet(tmp_path / "a.parquet")
        made.append(load_dataset(tmp_path / "a.parquet", labels=["label"], categories=["size"]))
    for found in made:
        assert found.feature_names == ("size=10", "size=2", "size=3", "weight")
        assert found.X[:, :3].tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_texts_in_memory() -> None:
    made = [
        Dataset.of(BODIES, Y),
        Dataset.of(np.array(BODIES), Y),
        Dataset.of(pd.Series(BODIES, index=range(5, 17)), pd.DataFrame(Y, columns=["p", "q", "r"])),
        Dataset.of(np.array(BODIES, dtype=object)[:, None], sparse.csr_array(Y.astype(int))),
        Dataset.of(TEXTS, **SAID),
    ]
    for each in made:
        assert each.X[:, 0].tolist() == BODIES
        np.testing.assert_array_equal(each.Y, Y)
    assert made[0].checksum == made[3].checksum != Dataset.of([*BODIES[1:], "1e6"], Y).checksum


def test_texts_of_any_characters_come_back_from_the_cache() -> None:
    column = texts.as_column([*BODIES, "\0", "\ud800"])
    Y = np.ones(column.shape, dtype=np.uint8)
    made = named(Dataset("", column, Y, ("body",), ("\ud800",), ("\ud800",), "", 1, 0, 0, ()), "texts")
    cache.save("texts", made)
    stored = cache.load("texts")
    assert stored is not None
    assert (stored.X.tolist(), stored.label_names) == (column.tolist(), made.label_names)


def test_gaps_are_kept_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("a,b,colour,tag_x\n1,2,red,0\n,3,?,1\n,4,blue,1\n2,5,green,0\n")
    kept = load_dataset(path, labels="tag_x", missing="keep")
    assert dict(kept.missing) == {"a": 2, "colour": 1}
    np.testing.assert_array_equal(np.isnan(kept.X), [[0] * 5, [1, 0, 1, 1, 1], [1, 0, 0, 0, 0], [0] * 5])
    filled = load_dataset(path, labels="tag_x", missing="mean")
    assert (filled.missing, filled.kind_of_features, filled.X[1, 0]) == (kept.missing, "numbers", 1.5)
    assert load_dataset(path, labels="tag_x", missing="keep").kind_of_features == "gaps"  # from the cache
    gapped = sparse.csr_array(np.where(X > 0, X, 0))
    gapped.data[:2] = np.nan
    assert sum(Dataset.of(gapped, Y, missing="keep").missing.values()) == 2
    for part, rows in (("train", slice(0, 8)), ("test", slice(8, 12))):
        np.savez(tmp_path / f"n-{part}.npz", X=np.where(np.arange(12)[:, None] % 5 == 0, np.nan, X)[rows], Y=Y[rows])
    both = load_dataset(tmp_path / "n-train.npz", part="predefined", missing="mean")
    np.testing.assert_allclose(both.X[0], X[np.arange(12) % 5 > 0].mean(axis=0))


def test_a_function_of_a_dotted_path_and_the_rule_for_it(tmp_path: Path) -> None:
    """It is called by what runs a config; a config that is only looked at needs trust, as for a class of others."""
    arguments = {"n_samples": 20, "n_classes": 3, "random_state": 4}
    spec = {"made": {"function": "sklearn.datasets.make_multilabel_classification", "arguments": arguments}}
    config = {
        "name": "f",
        "datasets": [spec],
        "splits": {"kind": "kfold", "folds": 2, "repeats": 1, "seed": 1},
        "metrics": ["hamming_loss"],
        "methods": {"A": {"learner": "least_squares"}},
    }
    (read,) = experiment_from(config).datasets
    found = load_dataset(read.name, **read.params)
    wanted = make_multilabel_classification(**arguments)
    np.testing.assert_array_equal(found.X, wanted[0])
    np.testing.assert_array_equal(found.Y, wanted[1])
    with judging_imports(Imports(tmp_path, trust=False)), pytest.raises(ConfigError, match="is not imported: sklearn"):
        experiment_from(config)
    with pytest.raises(DataError, match=r"^x: math\.cos failed: TypeError"):
        load_dataset("x", function="math.cos", arguments={})


def test_openml_by_a_server_that_answers_as_its_own() -> None:
    arff = "@relation r\n@attribute a numeric\n@attribute c {u,v}\n@attribute l1 {FALSE,TRUE}\n"
    arff += "@attribute l2 {FALSE,TRUE}\n@data\n1.5,u,TRUE,FALSE\n2,v,FALSE,TRUE\n3,u,TRUE,TRUE\n"
    with openml.answering(openml.answers(7, arff, ["l1", "l2"])) as asked:
        found = load_dataset("openml:7")
        assert (found.label_names, found.feature_names) == (("l1", "l2"), ("a", "c=u", "c=v"))
        assert (found.X.tolist(), found.Y.tolist()) == ([[1.5, 1, 0], [2, 0, 1], [3, 1, 0]], [[1, 0], [0, 1], [1, 1]])
        assert load_dataset("openml:7", labels=["l2"], drop=["l1"]).label_names == ("l2",)
        assert len(asked) == len(set(asked)) > 1, "once each: scikit-learn keeps them in the cache"
        with pytest.raises(DataError, match=r"^openml:8: cannot be had from openml\.org: .*not found"):
            load_dataset("openml:8")
    damaged = openml.answers(9, arff.replace("1.5,u", "1.5,w"), ["l1", "l2"])
    with openml.answering(damaged), pytest.raises(DataError, match=r"^openml:9: cannot be had from openml\.org: "):
        load_dataset("openml:9")
    with pytest.raises(DataError, match="openml: must be a whole number"):
        load_dataset(f"openml:{'9' * 5000}")


OPENML = "@relation r\n@attribute a numeric\n@attribute l {FALSE,TRUE}\n@data\n1,TRUE\n2,FALSE\n"


def _changed(path: str, **changes: Any) -> dict[str, bytes]:
    """The answers of openml.org with other values in the description of data set 7."""
    said = openml.answers(7, OPENML, ["l"])
    whole = json.loads(said[path])
    whole["data_set_description"] |= changes
    return said | {path: json.dumps(whole).encode()}


ABOUT = "/api/v1/json/data/7"
HOSTILE: dict[str, Callable[[], dict[str, bytes]]] = {
    "no JSON": lambda: openml.answers(7, OPENML, ["l"]) | {ABOUT: b"\x1b[2J<html>"},
    "JSON of another shape": lambda: openml.answers(7, OPENML, ["l"]) | {ABOUT: b"[1, [2]]"},
    "nested without end": lambda: openml.answers(7, OPENML, ["l"]) | {ABOUT: b"[" * 200_000},
    "another checksum": lambda: _changed(ABOUT, md5_checksum="0" * 32),
    "a target that is not there": lambda: openml.answers(7, OPENML, ["z"]),
    "commands to the terminal": lambda: openml.answers(7, OPENML.replace("2,", "2,\x1b[2J"), ["l"]),
    "an answer without a body": lambda: openml.answers(7, OPENML, ["l"]) | {"/data/v1/download/9/r.arff": b""},
    "binary data": lambda: openml.answers(7, OPENML, ["l"]) | {"/data/v1/download/9/r.arff": bytes(range(256)) * 9},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_answers_of_openml_are_one_line(case: str) -> None:
    with openml.answering(HOSTILE[case]()), pytest.raises(DataError) as failed:
        load_dataset("openml:7")
    text = str(failed.value)
    assert text.startswith("openml:7: ")
    assert text.isprintable()
    assert len(text) < 400


@pytest.mark.parametrize(
    "scheme", ["file:", "https://api.openml.org/../../../..", "https://api.openml.org/..\\\\..", "x:"]
)
def test_openml_cannot_name_files_of_this_machine(scheme: str, tmp_path: Path) -> None:
    """scikit-learn reads such a file as the data, or as what it has kept, and removes what it cannot read."""
    path = tmp_path / "mine.arff"
    path.write_text(OPENML)
    kept = tmp_path / "mine.arff.gz"
    kept.write_bytes(b"mine")
    address = f"{scheme}{path}" if scheme.endswith(":") else f"{scheme}/mine.arff"
    said = _changed(ABOUT, url=address)
    said[address.removeprefix("https://api.openml.org")] = OPENML.encode()
    told = r"^openml:7: .* it says that the data are at .*, which is no file of openml\.org"
    with openml.answering(said) as asked, pytest.raises(DataError, match=told):
        load_dataset("openml:7")
    assert len(asked) == 1
    assert kept.read_bytes() == b"mine"


def test_openml_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_SECONDS", 0.2)
    wait = threading.Event()
    monkeypatch.setattr(openml._Handler, "do_GET", lambda self: wait.wait(10))
    with (
        openml.answering({}),
        pytest.raises(DataError, match=r"^openml:7: cannot be had from openml\.org: .*timed out"),
    ):
        load_dataset("openml:7")
    wait.set()
    assert socket.getdefaulttimeout() is None


# -------------------------------------------------------------------- what is refused


C = "a,b,tag_x,tag_y\n"  # rows begin on line 2
L = {"labels": "tag_*"}
V = "1 0:1 2:5\n"
G = {"X": X, "Y": Y}


def _npz(**changes: Any) -> bytes:
    with io.BytesIO() as file:
        np.savez(file, **{key: value for key, value in (G | changes).items() if value is not None})
        return file.getvalue()


def _mat(**changes: Any) -> bytes:
    with io.BytesIO() as file:
        matlab.savemat(file, {key: value for key, value in (G | {"Y": Y * 1.0} | changes).items() if value is not None})
        return file.getvalue()


def _arrow(kind: str = "parquet", **columns: Any) -> bytes:
    with io.BytesIO() as file:
        getattr(FRAME.assign(**columns), f"to_{kind}")(file)
        return file.getvalue()


def _zeros(kind: str) -> bytes:
    """Two million rows of zeros, which take less than a 250th of their size."""
    options = {"compression": "zstd"} if kind == "feather" else {}
    with io.BytesIO() as file:
        getattr(pd.DataFrame({"a": np.zeros(2_000_000)}), f"to_{kind}")(file, **options)
        return file.getvalue()


def _zip(*names: str) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, C + "1,2,0,1\n")
        return file.getvalue()


def _texts(cells: list[Any]) -> bytes:
    with io.BytesIO() as file:
        pd.DataFrame({"body": cells, "tag": [0, 1]}).to_parquet(file)
        return file.getvalue()


T, S = "body,tag\n", {"labels": "tag", "text": "body"}
BIG = np.full(12, 2**60)
REFUSED: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    # texts
    "empty text": ("t.csv", T + "a,1\n,0\n", S, ":3: row 2: column 'body' has no text; `missing: keep` takes it"),
    "mean of texts": ("t.csv", T + "a,1\n,0\n", S | {"missing": "mean"}, ": missing: mean is for numbers; `missing"),
    "more than text": ("t.csv", "n," + T + "1,a,1\n", S, ":1: text: a set of texts has no other features than its te"),
    "no such text": ("t.csv", T + "a,1\n", S | {"text": "bdy"}, ":1: text: no column is called 'bdy'; did you mean '"),
    "text that is a label": ("t.csv", T + "a,1\n", S | {"text": "tag"}, ":1: text: column 'tag' is a label"),
    "numbers for text": ("t.parquet", _texts([1, 2]), S, ": row 1: column 'body' has '1', which is a int and no text"),
    "text of arff": ("t.arff", "", S, ": the option text is of CSV, Parquet, Feather, OpenML, a DataFrame, and"),
    # CSV: the file
    "empty": ("c.csv", "", L, ":1: an empty file; a CSV file begins with the names of its columns"),
    "no rows": ("c.csv", C, L, ": no row after the names"),
    "no names": ("c.csv", "1,2,0,1\n3,4,1,0\n", L, ":1: a row ({1, 2, 0, 1}) where the names of the columns belong; s"),
    "index of pandas": ("c.csv", "," + C + "0,1,2,0,1\n", L, ":1: column 1 has no name; pandas writes its index so"),
    "name twice": ("c.csv", "a,a,tag_x\n1,2,0\n", L, ":1: column 'a' is there twice"),
    "other delimiter": ("c.csv", C.replace(",", ";") + "1;2;0;1\n", L, ":1: one column, 'a;b;tag_x;tag_y'; features"),
    "NUL": ("c.csv", C + "1,2,0,1\n1,\0,0,1\n", L, ":3: a NUL byte"),
    "UTF-16": ("c.csv", C.encode("utf-16"), L, ":1: a NUL byte; it is text in UTF-8 (`encoding: utf-16` reads"),
    "UTF-16 without its mark": ("c.csv", C.encode("utf-16-le"), L | {"encoding": "utf-16"}, ": is not utf-16"),
    "half of UTF-16": ("c.csv", C.encode("utf-16") + b"1", L | {"encoding": "utf-16"}, ": is not utf-16"),
    "latin 1": ("c.csv", (C + "1,2,0,1\né,2,0,1\n").encode("latin-1"), L, ":3: byte 0xE9 is not utf-8; say `encoding"),
    "cut gzip": ("c.csv.gz", gzip.compress(C.encode() * 99)[:-9], L, ": cannot be unpacked: Compressed file ended"),
    "no zip": ("c.csv.zip", C, L, ": cannot be unpacked: File is not a zip file"),
    "zip of two": ("c.csv.zip", _zip("a.csv", "b.csv"), L, ": a zip file of 2 files; one is needed"),
    "gzip bomb": ("c.csv.gz", gzip.compress(b"a" * 3_000_000), L, ": unpacks to more than 250 times its size; unpack"),
    # CSV: rows
    "too few cells": ("c.csv", C + "1,2,0,1\n1,2,0\n", L, ":3: 3 cells, but there are 4 columns"),
    "too many cells": ("c.csv", C + "1,2,0,1\n\n1,2,0,1,5\n", L, ":4: 5 cells, but there are 4 columns"),
    "open quote": ("c.csv", C + '1,2,0,1\n1,"2,0,1\n', L, ":3: no row of CSV: unexpected end of data"),
    "after a quoted line end": ("c.csv", C + '1,"x\ny",0,1\n1,z,0\n', L, ":4: 3 cells, but there are 4 columns"),
    # CSV: cells
    "word": ("c.csv", C + "1,2,0,1\nx,2,0,1\n", L, ":3: row 2: column 'a' has the value 'x', which is not a number; "),
    "late": ("c.csv", C + "1,2,0,1\n" * 40_000 + "x,2,0,1\n", L, ":40002: row 40001: column 'a' has the value 'x'"),
    "decimal comma": ("c.csv", C + '"1,5",2,0,1\n', L, ":2: row 1: column 'a' has the value '1,5', which is not a nu"),
    "date": ("c.csv", C + "2020-01-31,2,0,1\n", L, ":2: row 1: column 'a' has the date '2020-01-31'; say what "),
    "infinite": ("c.csv", C + "1,2,0,1\ninf,2,0,1\n", L, ":3: row 2: feature 'a' has a value that is infinite"),
    "huge integer": ("c.csv", C + f"1,2,0,1\n{2**53 + 1},2,0,1\n", L, ":3: row 2: column 'a' has the value 900719925"),
    "huger integer": ("c.csv", C + f"{10**30},2,0,1\n", L,
        f":2: row 1: column 'a' has the value {10**30}, which is beyond"),
    "gap": ("c.csv", C + "1,2,0,1\n,2,0,1\n", L, ":3: row 2: feature 'a' has no value; `missing: keep`"),
    "gaps": ("c.csv", C + "1,,0,1\n,NA,0,1\n", L, ":2: row 1: feature 'b' has no value (3 are missing: a (1), b (2))"),
    "all gaps": ("c.csv", C + ",2,0,1\n,3,0,1\n", L | {"missing": "mean"}, ": feature 'a' has no value in any row"),
    "gap of a label": ("c.csv", C + "1,2,0,\n", L | {"missing": "zero"}, ":2: row 1: label 'tag_y' has no value"),
    "label 2": ("c.csv", C + "1,2,0,1\n1,2,2,1\n", L, ":3: row 2: label 'tag_x' has the value 2; a label must be 0 o"),
    "label of words": ("c.csv", C + "1,2,ham,1\n1,2,spam,1\n", L, ":1: label 'tag_x' has the values {ham, spam}; a l"),
    "text": ("c.csv", C + "".join(f"w{chr(65 + i)}{chr(65 + j)},2,0,1\n" for i in range(8) for j in range(8)), L,
        ": column 'a' has"),
    # CSV: options
    "no labels said": ("c.csv", C + "1,2,0,1\n", {}, ":1: which of the columns {a, b, tag_x, tag_y} are labels? Say "),
    "unknown label": ("c.csv", C + "1,2,0,1\n", {"labels": ["tag_z"]}, ":1: labels: no column is called 'tag_z'; did"),
    "label twice": ("c.csv", C + "1,2,0,1\n", {"labels": ["tag_x", "tag_x"]}, ":1: labels: a name is given twice"),
    "all labels": ("c.csv", C + "1,2,0,1\n", {"labels": "*"}, ":1: labels: all columns are labels"),
    "too many labels": ("c.csv", C + "1,2,0,1\n", {"labels": 4}, ": 4 labels (MEKA's -C), but the file has 4 attribu"),
    "unknown category": ("c.csv", C + "1,2,0,1\n", L | {"categories": ["z"]}, ":1: categories: no column is called '"),
    "two columns of tags": ("c.csv", C + "1,2,0,1\n", L | {"separator": ";"}, ":1: separator: is for one column of t"),
    "tag twice": ("c.csv", "a,t\n1,x\n1,x;x\n", {"labels": "t", "separator": ";"}, ":3: row 2: a tag is there twice "),
    "no tag": ("c.csv", "a,t\n1,\n1,;\n", {"labels": "t", "separator": ";"}, ":2: no tag in column 't'"),
    "option of others": ("c.csv", C + "1,2,0,1\n", L | {"X": "a"}, ": the option X is of NumPy, MATLAB, and this is "),
    "unknown option": ("c.csv", C, {"lables": 1}, ": lables: unknown option of a data set; did you mean 'labels'?"),
    "two delimiters": ("c.csv", C, {"delimiter": "::"}, ": delimiter: must be one character, found the text '::'"),
    # Parquet and Feather
    "no parquet": ("c.parquet", b"PAR1" + bytes(99), TAGS, ": no parquet file, or a damaged one (Arrow"),
    "empty feather": ("c.feather", b"", TAGS, ": no feather file, or a damaged one (Arrow"),
    "dates": ("c.parquet", _arrow(a=pd.Timestamp("2020-01-31")), TAGS, ": row 1: column 'a' has the date '2020-01-31 "),
    "lists": ("c.parquet", _arrow(a=[[1, 2]] * 12), TAGS, ": column 'a' holds list<element: int64>; numbers, word"),
    "large integers": ("c.parquet", _arrow(a=BIG), TAGS, ": row 1: column 'a' has the value 1152921504606846976, whi"),
    "gap in parquet": ("c.parquet", _arrow(a=[None, *X[1:, 0]]), TAGS, ": row 1: feature 'a' has no value"),
    "labels not said": ("c.parquet", _arrow(), {}, ": which of the columns {a, b,c,"),
    "parquet that grows": ("c.parquet", _zeros("parquet"), TAGS, ": unpacks to more than 250 times its size"),
    "feather that grows": ("c.feather", _zeros("feather"), TAGS, ": unpacks to more than 250 times its size"),
    # NumPy
    "cut npz": ("c.npz", _npz()[:-30], {}, ": no .npz of numbers, or a damaged one (BadZipFile"),
    "no Y": ("c.npz", _npz(Y=None), {}, ": has no array 'Y', nor its CSR parts; it has X"),
    "objects": ("c.npz", _npz(X=np.array([[print]])), {}, ": no .npz of numbers, or a damaged one (ValueError: Objec"),
    "texts": ("c.npz", _npz(X=np.array([["1"]])), {}, ": X is no matrix of numbers: it is of type <U1"),
    "rows differ": ("c.npz", _npz(Y=Y[1:]), {}, ": X has 12 rows and Y has 11"),
    "vector": ("c.npz", _npz(Y=Y[:, 0]), {}, ": Y has the shape (12,); needed are rows and columns"),
    "gap in X": ("c.npz", _npz(X=np.where(X[2, 1] == X, np.nan, X)), {}, ": row 3: feature 'feature2' has no value; "),
    "labels of -1, 0, 1": ("c.npz", _npz(Y=Y * 1 - np.eye(12, 3)[::-1]), {}, ": row 12: label 'label1' has the value"),
    "indices beyond": ("c.npz", _npz(X=None, X_data=[1.0], X_indices=[9], X_indptr=[0, 1], X_shape=[1, 2]), {},
        ": no .npz of num"),
    "pointers beyond": ("c.npz", _npz(X=None, X_data=[1.0], X_indices=[0], X_indptr=[0, 10**6, 0], X_shape=[2, 2]), {},
        ": no .npz of num"),
    "columns without end": ("c.npz", _npz(X=None, X_data=[1.0], X_indices=[0], X_indptr=[0, 1], X_shape=[1, 10**9]), {},
        ": X has 1,000,00"),
    "names too few": ("c.npz", _npz(feature_names=np.array(["a"])), {}, ": 1 names of features, of type"),
    # MATLAB
    "no target": ("c.mat", _mat(Y=None), {}, ": no variable 'target'"),
    # svmlight and the repository's text
    "empty svm": ("c.svm", "", {}, ": "),
    "no svm": ("c.svm", V + "hello\n", {}, ":2: label 'hello' is not a whole number from 0 on"),
    "label given twice": ("c.svm", V + "1,1 0:1\n", {}, ":2: a label is there twice"),
    "no colon": ("c.svm", V + "1 3\n", {}, ":2: '3' is not `index:value`"),
    "value nan": ("c.svm", V + "1 3:nan\n", {}, ":2: '3:nan' is not `index:value`"),
    "value inf": ("c.svm", V + "1 3:1e999\n", {}, ":2: index 3 has a value that is too large"),
    "index without end": ("c.svm", V + "1 99999999999:1\n", {}, ":2: '99999999999:1' is not `index:value`"),
    "large index": ("c.svm", V + "1 2000000000:1\n", {}, ":2: index 2000000000, but the last of the 10,000,000 featu"),
    "no labels": ("c.svm", "0:1\n0:2\n", {}, ": no label in any row; a row begins with its labels"),
    "rows too few": ("c.txt", "3 5 2\n1 0:1\n0 2:1\n", {}, ":1: says 3 rows, but 2 follow"),
    "index beyond d": ("c.txt", "2 5 2\n1 0:1\n0 5:1\n", {}, ":3: index 5, but the last of the 5 features is 4"),
    "label beyond K": ("c.txt", "2 5 2\n1 0:1\n2 4:1\n", {}, ":3: label 2, but there are 2, numbered from 0"),
    "no features": ("c.txt", "2 0 2\n1 0:1\n", {}, ":1: 2 rows, 0 features and 2 labels; none is 0"),
    "sizes without end": ("c.txt", "1 1000000000000 2\n1 0:1\n", {}, ":1: 1 rows, 1000000000000 features and 2 labels"),
    "rows too many": ("c.txt", "1 5 2\n1 0:1\n0 2:1\n", {}, ":1: says 1 rows, but 2 follow"),
    "negative index": ("c.txt", "1 5 2\n1 -1:1\n", {}, ":2: '-1:1' is not `index:value`"),
    "negative size": ("c.txt", "-1 5 2\n1 0:1\n", {}, ":1: label '-1' is not a whole number from 0 on"),
    "features without end": ("c.txt", "1 999999999 2\n1 0:1\n", {}, ":1: 1 rows, 999999999 features and 2 labels; no"),
    # other forms
    "pickle": ("c.pkl", b"cos\nsystem\n(S'x'\ntR.", {}, ": its form is not known by its suffix; read are ARFF"),
}  # fmt: skip


for _word in ("12%", "1_000", "0x1F", "٣", "1.2.3", "1e", "--1"):
    _right = f":3: row 2: column 'a' has the value {_word!r}, which is not a number"
    REFUSED[f"{_word} for a number"] = ("c.csv", f"{C}1,2,0,1\n{_word},2,0,1\n", L, _right)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with the file and, in text, the line."""
    name, content, options, message = REFUSED[case]
    monkeypatch.setattr(packed, "FREE_BYTES", 1 << 20)
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as raised:
        load_dataset(path, **options)
    text = str(raised.value)
    assert text.startswith(f"{path}{message}")
    assert "\n" not in text
    assert len(text) < len(str(path)) + 500
