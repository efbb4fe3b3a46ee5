"""Files as other programs and people write them: lists as text, parts in one file, line ends, headers, words."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.io import savemat

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.files import NoDivisionError
from mlcdr.data.rows import Columns
from mlcdr.errors import DataError

TAGGED = {"labels": "t", "separator": ","}


@pytest.mark.parametrize(
    "cells",
    [
        ["['drama', 'comedy']", "['comedy']", "[]"],
        ['["drama", "comedy"]', '["comedy"]', "[]"],
        ["('drama', 'comedy')", "('comedy',)", "()"],
        ["{'drama', 'comedy'}", "{'comedy'}", "set()"],
        ["drama, comedy", "comedy", ""],
    ],
)
def test_lists_as_text_are_tags(cells: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1, 2, 3], "t": cells}).to_csv(path, index=False)
    found = load_dataset(path, **TAGGED)
    assert (found.label_names, found.Y.tolist()) == (("comedy", "drama"), [[1, 1], [1, 0], [0, 0]])


def test_tags_in_lists_are_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    tags = [["it's", 'a "b"', "c, d"], ["\\", "é"], [28, 18]]
    pd.DataFrame({"x": [1, 2, 3], "t": tags}).to_csv(path, index=False)
    assert set(load_dataset(path, **TAGGED).label_names) == {"it's", 'a "b"', "c, d", "\\", "é", "28", "18"}


@pytest.mark.parametrize("cell", ["['a' 'b']", "[a, b]", "[['a']]", "['a'", "['a', '']", "[{'id': 1}]", "['a\\u12']"])
def test_what_looks_like_a_list_and_is_none_is_refused(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1, 2], "t": ["['a']", cell]}).to_csv(path, index=False)
    with pytest.raises(DataError) as failed:
        load_dataset(path, **TAGGED)
    assert str(failed.value) == (
        f"{path}:3: row 2: column 't' has {cell!r}, which is no text of tags, nor a list such as ['a', 'b']"
    )


# -------------------------------------------------------------------- parts in one file

TRAIN = np.arange(12.0).reshape(6, 2)
TEST = -np.arange(1.0, 7).reshape(3, 2)
OF_TRAIN = np.array([[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0], [1, 0, 0, 0, 1, 1]]).T
OF_TEST = np.array(
    [[1, 1, 0], [0, 0, 1], [0, 1, 1]]
).T  # as many rows as labels: only the other part shows what is what
PARTS = {"train_data": TRAIN, "train_target": OF_TRAIN.T, "test_data": TEST, "test_target": OF_TEST.T}
DIVIDED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "labels in rows": ("a.mat", PARTS, {}),
    "rows in rows": ("a.mat", PARTS | {"train_target": OF_TRAIN, "test_target": OF_TEST}, {}),
    "sparse, of other names": (
        "a.mat",
        {
            "Xa_train": sparse.csc_matrix(TRAIN),
            "Xa_test": sparse.csc_matrix(TEST),
            "B_train": OF_TRAIN,
            "B_test": OF_TEST,
        },
        {"X": "Xa", "Y": "B"},
    ),
    "a whole name for the training part": (
        "a.mat",
        {"data": TRAIN, "target": OF_TRAIN.T, "test_data": TEST, "test_target": OF_TEST.T},
        {},
    ),
    "NumPy's": ("a.npz", {"X_train": TRAIN, "Y_train": OF_TRAIN, "X_test": TEST, "Y_test": OF_TEST}, {}),
}


@pytest.mark.parametrize("case", DIVIDED)
def test_a_file_with_both_parts_is_one_data_set_with_its_division(case: str, tmp_path: Path) -> None:
    name, arrays, options = DIVIDED[case]
    folder = tmp_path / "a"
    folder.mkdir()
    if name.endswith("mat"):
        savemat(folder / name, {key: value * 1.0 for key, value in arrays.items()})
    else:
        np.savez(folder / name, **arrays)
    for place in (folder / name, folder):
        for part, n_train in (("full", None), ("predefined", 6)):
            found = load_dataset(place, part=part, **options)
            X, Y = (each.toarray() if sparse.issparse(each) else each for each in (found.X, found.Y))
            assert_array_equal(X, np.vstack([TRAIN, TEST]))
            assert_array_equal(Y, np.vstack([OF_TRAIN, OF_TEST]))
            assert found.n_train == n_train


def test_a_part_without_its_other_half_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"data": TRAIN, "target": OF_TRAIN, "test_data": TEST})
    with pytest.raises(DataError, match=r"a\.mat: 'data' and 'test_data' for X, but 'target' for Y$"):
        load_dataset(path)
    savemat(path, {"data": TRAIN, "target": OF_TRAIN, "fold_test": TEST})
    assert load_dataset(path).n_instances == 6
    with pytest.raises(NoDivisionError, match=r"a\.mat: the predefined split needs a train and a test part of X and Y"):
        load_dataset(path, part="predefined")


# -------------------------------------------------------------------- marks, line ends, headers

ARFF = "@relation r\n@attribute x numeric\n@attribute v {0,1}\n@data\n2,1\n0,0\n"
TEXTS = {
    "a.arff": (ARFF, {"labels": -1}),
    "a.svm": ("1 1:2\n0 1:0\n", {}),
    "a.csv": ("x,v\n2,1\n0,0\n", {"labels": "v"}),
}


@pytest.mark.parametrize("change", ["BOM", "CR", pytest.param("CR, long", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TEXTS)
def test_marks_and_line_ends(name: str, change: str, tmp_path: Path) -> None:
    text, options = TEXTS[name]
    if change == "BOM":
        text = f"\ufeff{text}"
    else:
        rows = text.splitlines(keepends=True)
        text = "".join([*rows, *rows[-2:] * (100_000 if "long" in change else 0)]).replace("\n", "\r")
    (tmp_path / name).write_bytes(text.encode())
    found = load_dataset(tmp_path / name, **options)
    assert found.X[[0, 1]].sum() == 2
    assert found.n_labels == (2 if name == "a.svm" else 1)
    assert found.n_instances == (200_002 if "long" in change else 2)


def test_a_mistake_in_a_file_of_old_line_ends_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes(ARFF.replace("\n", "\r").replace("0,0", "0,2").encode())
    with pytest.raises(DataError, match=f"^{path}:6: attribute 'v' has the value '2'"):
        load_dataset(path, labels=-1)


def test_a_first_line_that_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("red,5,0,1\nblue,6,1,0\nred,7,1,1\n")
    with pytest.raises(DataError) as failed:
        load_dataset(path, labels=-2)
    assert str(failed.value) == (
        f"{path}:1: a row ({{red, 5, 0, 1}}) where the names of the columns belong; "
        "say `header: false`, or `header: true` if these are the names"
    )
    assert load_dataset(path, labels=-2, header=False).n_instances == 3
    assert load_dataset(path, labels=-2, header=True).label_names == ("0", "1")
    path.write_text("x,2015,2016,tag\na,1,2,0\nb,3,4,1\n")  # `tag` is a word, and what is below it are numbers
    assert load_dataset(path, labels="tag").n_instances == 2


def test_categories_of_one_spelling_are_refused() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([1, "1", 2, "1"]), "v": [0, 1, 0, 1]})
    with pytest.raises(DataError, match=r"^data: column 'c' has two categories that are written '1'$"):
        Dataset.of(frame, labels="v")


# -------------------------------------------------------------------- words of two values


@pytest.mark.parametrize(
    "pair", [("nein", "ja"), ("Nee", "Ja"), ("non", "oui"), ("no", "sí"), ("нет", "да"), ("absent", "present")]
)
def test_pairs_of_words_are_one_column(pair: tuple[str, str], tmp_path: Path) -> None:
    """Also in a model's new rows, which may have only one of them, and as a label."""
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"x": [1, 2, 3], "member": [pair[1], pair[0], pair[1]], "v": [pair[0], pair[1], pair[0]]})
    frame.to_csv(path, index=False)
    found = load_dataset(path, labels="v")
    assert (found.feature_names, found.X[:, 1].tolist(), found.Y[:, 0].tolist()) == (
        ("x", "member"),
        [1, 0, 1],
        [0, 1, 0],
    )
    model = Columns(found.feature_names, found.nominal)
    for rows in ([0], [1], [1, 0]):
        assert_array_equal(model.read(frame.iloc[rows]), found.X[rows])


def test_other_pairs_of_words_are_two_columns() -> None:
    frame = pd.DataFrame({"c": ["red", "blue"], "d": ["ja", "no"], "v": [0, 1]})
    assert Dataset.of(frame, labels="v").feature_names == ("c=blue", "c=red", "d=ja", "d=no")


# -------------------------------------------------------------------- new rows of svmlight


@pytest.mark.parametrize("first", [0, 1])
def test_new_rows_of_svmlight_are_counted_as_the_training_rows(first: int, tmp_path: Path) -> None:
    """A file leaves out what is 0, so that its own indices say neither how many features there are nor the first."""
    (tmp_path / "train.svm").write_text(f"0,1 {first}:1 {first + 1}:1 {first + 2}:2\n1 {first + 1}:3\n")
    trained = load_dataset(tmp_path / "train.svm")
    model = Columns(trained.feature_names, counted_from=trained.counted_from)
    new = tmp_path / "new.svm"
    new.write_text(f"0 {first + 1}:5 {first + 7}:9\n1 {first + 1}:1\n")
    assert model.read(new).toarray().tolist() == [[0, 5, 0], [0, 1, 0]]
    (tmp_path / "new.features.txt").write_text("feature3\nfeature2\nfeature1\nother\n")
    new.write_text(f"{first + 1}:5\n")
    assert model.read(new).toarray().tolist() == [[0, 5, 0]]
    new.write_text("1 2:1\n1 0:1\n")
    if first:
        with pytest.raises(
            DataError, match=f"^{new}:2: index 0, but the model was trained with features that are count"
        ):
            model.read(new)


def test_a_first_line_with_sizes_is_what_counts(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("2 3 2\n1 0:1\n0 2:1\n")
    trained = load_dataset(tmp_path / "train.txt")
    model = Columns(trained.feature_names, counted_from=trained.counted_from)
    (tmp_path / "new.svm").write_text("1:5\n")
    assert model.read(tmp_path / "new.svm").toarray().tolist() == [[0, 5, 0]]
    (tmp_path / "new.txt").write_text("1 2 2\n0:5\n")
    with pytest.raises(DataError, match="the model was trained with a column 'feature3', which is not there"):
        model.read(tmp_path / "new.txt")
