"""Data sets written in other forms, read back, and read by other software; what `info` prints of their labels."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.description import describe_dataset, imbalance_ratios, scumble
from mlcdr.data.export import WRITERS, export
from mlcdr.data.files import data_folders, list_own
from mlcdr.errors import DataError
from mlcdr.experiment.yaml_reader import read_yaml_text
from tests.small import Outcome

SHARED = os.environ.get("MLCDR_DATASETS", "")  # the tests of this folder see their own only

RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(9, 4)) * 10.0 ** RNG.integers(-8, 8, size=(9, 4)) * (RNG.random((9, 4)) < 0.6)
LABELS = RNG.random((9, 3)) < 0.4
VALUES[4], LABELS[4] = 0, 0  # a row of nothing
VALUES[8, 3], LABELS[8] = 0.1, 1
NAMES = {"feature_names": ["a b", "c,'d'", 'e"f\\', "é{1}%"], "label_names": ["x & y", "<z>", "TAG_m\\'u"]}
DENSE = Dataset.of(VALUES, LABELS, name="mine", **NAMES)
SPARSE = Dataset.of(sparse.csr_array(VALUES), LABELS, name="mine", **NAMES)


def _dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _assert_equal(found: Dataset, wanted: Dataset) -> None:
    np.testing.assert_array_equal(_dense(found.X), _dense(wanted.X))
    np.testing.assert_array_equal(_dense(found.Y), _dense(wanted.Y))
    assert (found.feature_names, found.label_names) == (wanted.feature_names, wanted.label_names)
    assert (found.name, found.n_train) == (wanted.name, wanted.n_train)


def _read(path: Path, wanted: Dataset, **options: object) -> Dataset:
    said = {"labels": -wanted.n_labels} if path.suffix in (".csv", ".parquet") else {}
    return load_dataset(path, **said, **options)


@pytest.mark.parametrize("dataset", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_every_form_by_way_of_every_other(dataset: Dataset, tmp_path: Path) -> None:
    """Each pair of forms: written in the first, read, written in the second, read: the same."""
    for first in WRITERS:
        path, *_ = export(dataset, first, tmp_path / first)
        between = _read(path, dataset)
        _assert_equal(between, dataset)
        for second in WRITERS:
            path, *_ = export(between, second, tmp_path / f"{first}-{second}")
            _assert_equal(_read(path, dataset), dataset)


def test_parquet_without_pyarrow_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"^parquet is written by pyarrow, .* pip install 'mlcdr\[parquet\]'$"):
        export(Dataset.of(VALUES, LABELS, name="mine", **NAMES), "parquet", tmp_path)


def test_texts_and_gaps(tmp_path: Path) -> None:
    """Texts are for tables, gaps for what can hold them; any other form is refused in a line."""
    texts = Dataset.of(["a, b", " c", 'say "d"', "two\nlines", "?"], LABELS[:5], name="mine", feature_names=["body"])
    gapped = np.where(VALUES > 0, np.nan, VALUES)
    gaps = Dataset.of(gapped, LABELS, name="mine", missing="keep", **NAMES)
    for form in WRITERS:
        if form in ("csv", "parquet"):
            path, *_ = export(texts, form, tmp_path / "texts")
            found = _read(path, texts, text="body")
            assert found.X.tolist() == texts.X.tolist()
            np.testing.assert_array_equal(found.Y, texts.Y)
        else:
            with pytest.raises(DataError, match=f"texts, which csv and parquet hold, and {form} does not$"):
                export(texts, form, tmp_path)
        if form in ("svmlight", "xmc"):
            with pytest.raises(DataError, match=f"^mine: has missing values, which {form} cannot hold"):
                export(gaps, form, tmp_path)
        else:
            path, *_ = export(gaps, form, tmp_path / "gaps" / form)
            np.testing.assert_array_equal(_read(path, gaps, missing="keep").X, gapped)


def test_a_config_takes_what_is_said_of_a_written_table(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "t.csv").write_text('"a: b",tag\nab cd,0\nef,1\n')
    options = ["--set", "labels=-1", "--set", "text='a: b'"]
    done = mlcdr("datasets", "export", tmp_path / "t.csv", *options, "--format", "csv", "--out", tmp_path / "x, y")
    said = read_yaml_text(done.err.partition("in a config: ")[2], "said").data
    assert said == {str(tmp_path / "x, y" / "t.csv"): {"labels": -1, "text": "a: b"}}


def test_info_counts_missing_values(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "g.csv").write_text("a,b,tag\n1,2,0\n,3,1\n,4,1\n")
    done = mlcdr("datasets", "info", tmp_path / "g.csv", "--set", "labels=tag")
    assert done.code == 0
    assert "  missing values: 2\n" in done.out
    assert "missing:\n  a: 2\n" in done.out
    assert "a run refuses this: " in done.out
    done = mlcdr("datasets", "info", tmp_path / "g.csv", "--set", "labels=tag", "--set", "missing=mean")
    assert "missing:\n  a: 2\n" in done.out
    assert "a run refuses this: " not in done.out
    (tmp_path / "t.csv").write_text("body,tag\nab cd,0\nef,1\n")
    done = mlcdr("datasets", "info", tmp_path / "t.csv", "--set", "labels=tag", "--set", "text=body")
    assert "  characters of a text: 3.5\n" in done.out
    done = mlcdr("datasets", "plot", tmp_path / "t.csv", "--set", "labels=tag", "--set", "text=body")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_a_division_that_cannot_be_read_is_no_missing_division(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    head = "@relation 't: -C -2'\n@attribute a real\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\n"
    full, train, test = (tmp_path / f"t{part}.arff" for part in ("", "-train", "-test"))
    full.write_text(head + "1,1,0\n2,0,1\n")
    out = tmp_path / "out"
    command = ("datasets", "export", full, "--format", "csv", "--out", out)
    train.write_text(head + "1,1,0\n")
    assert mlcdr(*command).out == f"{out / 't.csv'}\n", "one of the two files is no division"
    (out / "t.csv").unlink()
    test.write_text(head + "2,0,7\n")
    done = mlcdr(*command)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {test}:6: ")
    assert not (out / "t.csv").exists()
    test.write_text(head + "2,0,1\n")
    assert mlcdr(*command).out.splitlines() == [str(out / f"t{part}.csv") for part in ("", "-train", "-test")]
    assert mlcdr(*command, "--set", "part=predefined").code == 0


def test_a_division_is_kept(tmp_path: Path) -> None:
    for form in WRITERS:
        for part, rows in (("train", slice(6)), ("test", slice(6, None))):
            path, *_ = export(DENSE.rows(rows), form, tmp_path / form, part)
        found = _read(path, DENSE, part="predefined")
        assert found.n_train == 6
        np.testing.assert_array_equal(_dense(found.X), VALUES)


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITERS)
def test_all_data_sets_at_hand(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_DATASETS", SHARED)
    names = [path.parent.name for folder in SHARED.split(os.pathsep) for path in Path(folder).glob("*/*.xml") if folder]
    for name in names or ["yeast"]:
        dataset = load_dataset(name, missing="mean")
        path, *beside = export(dataset, form, tmp_path)
        _assert_equal(_read(path, dataset), dataset)
        for each in (path, *beside):
            each.unlink()


def test_other_software_reads_what_is_written(tmp_path: Path) -> None:
    frame = pd.read_csv(export(DENSE, "csv", tmp_path)[0])
    np.testing.assert_array_equal(frame.to_numpy(), np.hstack([VALUES, LABELS]))
    assert tuple(frame.columns) == DENSE.feature_names + DENSE.label_names
    X, _ = load_svmlight_file(str(export(SPARSE, "svmlight", tmp_path)[0]), multilabel=True)
    np.testing.assert_array_equal(X.toarray(), VALUES)
    with np.load(export(SPARSE, "npz", tmp_path)[0]) as stored:
        assert set(stored) == {f"{m}_{p}" for m in "XY" for p in ("data", "indices", "indptr", "shape")} | NAMES.keys()


def test_names_that_a_form_cannot_hold(tmp_path: Path) -> None:
    same = Dataset.of(VALUES, LABELS, feature_names=list("abcd"), label_names=list("xya"))
    with pytest.raises(DataError, match="a feature and a label have the same name"):
        export(same, "csv", tmp_path)
    broken = Dataset.of(VALUES, LABELS, feature_names=["a\nb", "c", "d", "e"])
    with pytest.raises(DataError, match=r"^'a\\nb' cannot be a line"):
        export(broken, "svmlight", tmp_path)
    assert not list(tmp_path.iterdir())


def test_csv_keeps_the_blank_that_a_name_begins_with(tmp_path: Path) -> None:
    dataset = Dataset.of(VALUES, LABELS, feature_names=["a", " b", "c ", "d"])
    assert _read(export(dataset, "csv", tmp_path)[0], dataset).feature_names == dataset.feature_names


def test_imbalance_and_scumble_by_their_formulas() -> None:
    Y = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=np.uint8)
    np.testing.assert_allclose(imbalance_ratios(Y), [1, 2, 4, np.nan])
    # the instances' 1 − geometric mean / mean of IRLbl: of {1, 2} twice, of {1, 4}, and 0 for one label or none
    wanted = (2 * (1 - np.sqrt(2) / 1.5) + (1 - 2 / 2.5)) / 5
    assert scumble(Y) == pytest.approx(wanted)
    assert scumble(sparse.csr_array(Y)) == pytest.approx(wanted)
    X = np.array([[1.0, 0, 0, 3, 3], [1, 0, 0, 4, 4], [1, 0, 0, 3, 3], [1, 0, 0, 3, 3], [1, 0, 0, 0, 0]])
    for values in (X, sparse.csr_array(X)):
        facts = describe_dataset(Dataset.of(values, Y))
        assert (facts["constant"], facts["duplicate"], facts["unique"], facts["zeros"]) == (3, 2, 3, 12 / 25)


def test_your_own_data_sets_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_DATASETS", str(tmp_path))
    export(DENSE, "csv", tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    assert data_folders()[0] == tmp_path
    assert [(each.name, each.form) for each in list_own()] == [("mine", "csv")]
