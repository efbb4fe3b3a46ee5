"""What Y may be: the same label sets in every form that a user holds, for estimators and for data sets."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mlcdr
from mlcdr.errors import DataError
from tests import small

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5))
Y = (X[:, :3] + RNG.standard_normal((40, 3)) > 0).astype(int)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(Y, columns=NAMES)
WORDS = pd.DataFrame(np.where(Y, "Yes", "No"), columns=NAMES)
SETS = [{name for name, there in zip(NAMES, row, strict=True) if there} for row in Y]

NAMED: dict[str, Any] = {
    "numbers": FRAME,
    "booleans": FRAME.astype(bool),
    "nullable integers": FRAME.astype("Int64"),
    "nullable booleans": FRAME.astype(bool).astype("boolean"),
    "categories of numbers": FRAME.astype("category"),
    "categories of words": WORDS.astype("category"),
    "words": WORDS,
    "texts of numbers": FRAME.astype(str),
    "objects": FRAME.astype(object),
    "sparse columns": pd.DataFrame.sparse.from_spmatrix(sp.csr_array(Y), columns=NAMES),
    "sparse columns filled with gaps": FRAME.astype(float).astype(pd.SparseDtype(float)),
    "sets of names": SETS,
    "lists of names": [sorted(each) for each in SETS],
    "an array of lists": pd.Series([tuple(each) for each in SETS]).to_numpy(),
}
if not small.READS_ALL_SPARSE_LABELS:
    del NAMED["sparse columns filled with gaps"]
UNNAMED: dict[str, Any] = {
    "an array": Y,
    "booleans": Y.astype(bool),
    "lists": Y.tolist(),
    "objects": Y.astype(object),
    "words": np.where(Y, "true", "false"),
    "lists of words": np.where(Y, "yes", "no").tolist(),
    "CSR": sp.csr_array(Y),
    "minus one and one": 2 * Y - 1,
}


EVERY = NAMED | {f"{name}, without names": given for name, given in UNNAMED.items()}


@pytest.mark.parametrize("given", EVERY.values(), ids=EVERY)
def test_estimators_take_label_sets_in_any_form(given: Any) -> None:
    found = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.PLST(2)).fit(X, given).predict(X)
    wanted = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.PLST(2)).fit(X, Y).predict(X)
    np.testing.assert_array_equal(found > 0, wanted > 0)
    codes = mlcdr.PLST(2).fit(X, given).encode(Y)
    if given is not UNNAMED["minus one and one"]:  # a label space takes numbers as they are
        np.testing.assert_allclose(codes, mlcdr.PLST(2).fit(X, Y).encode(Y))


@pytest.mark.parametrize("features", [X, pd.DataFrame(X).add_prefix("x")], ids=["array", "frame"])
@pytest.mark.parametrize("given", NAMED.values(), ids=NAMED)
def test_data_sets_take_label_sets_with_names_in_any_form(given: Any, features: Any) -> None:
    data = mlcdr.Dataset.of(features, given)
    assert data.label_names == ("a", "b", "c")
    np.testing.assert_array_equal(data.Y.toarray() if sp.issparse(data.Y) else data.Y, Y)


@pytest.mark.parametrize("features", [X, pd.DataFrame(X).add_prefix("x")], ids=["array", "frame"])
@pytest.mark.parametrize("given", UNNAMED.values(), ids=UNNAMED)
def test_data_sets_take_label_sets_without_names_in_any_form(given: Any, features: Any) -> None:
    data = mlcdr.Dataset.of(features, given, label_names=["u", "v", "w"])
    assert data.label_names == ("u", "v", "w")
    np.testing.assert_array_equal(data.Y.toarray() if sp.issparse(data.Y) else data.Y, Y)


def _with_gap(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.copy()
    changed.loc[3, "a"] = None
    return changed


REFUSED = {
    "y: label 'b' has the values {No, maybe}; a label must be {0,1}, {NO,YES}": WORDS.replace({"b": {"Yes": "maybe"}}),
    "y: row 4: label 'a' has no value; missing labels cannot be filled": _with_gap(WORDS),
    "y: row 4: label 'a' has no value": _with_gap(FRAME.astype("Int64")),
    "y: label 'label1' has the values {red}; a label must be {0,1}": np.array([["red", "red", "red"]] * 40),
}


@pytest.mark.parametrize(("said", "given"), REFUSED.items(), ids=REFUSED)
def test_other_columns_are_refused_by_name(said: str, given: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        mlcdr.PLST(2).fit(X, given)
    with pytest.raises(DataError, match=re.escape(said.replace("y: ", "data: "))):
        mlcdr.Dataset.of(X, given)


def test_a_single_label_keeps_its_words() -> None:
    """As scikit-learn's classifiers do."""
    words = np.where(Y[:, 0], "present", "absent")
    model = mlcdr.MLkNN(3).fit(X, words)
    assert model.classes_.tolist() == ["absent", "present"]
    assert set(model.predict(X)) <= {"absent", "present"}


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    whole = pd.DataFrame(X).add_prefix("x").assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    whole = whole.assign(tag_a=Y[:, 0], tag_b=Y[:, 1])
    wanted = mlcdr.Dataset.of(whole, labels="tag_*")
    in_polars = polars.DataFrame({name: whole[name].tolist() for name in whole})
    apart = in_polars.drop("tag_a", "tag_b"), in_polars.select("tag_a", "tag_b").cast(polars.Boolean)
    for found in (mlcdr.Dataset.of(in_polars, labels="tag_*"), mlcdr.Dataset.of(*apart)):
        assert found.label_names == wanted.label_names
        assert found.feature_names == wanted.feature_names
        assert found.checksum == wanted.checksum
    numbers, plain = apart[0].drop("colour"), whole.drop(columns=["colour", "tag_a", "tag_b"])
    by_polars = mlcdr.MLkNN(3).fit(numbers, apart[1]).predict(numbers)
    by_pandas = mlcdr.MLkNN(3).fit(plain, whole[["tag_a", "tag_b"]]).predict(plain)
    np.testing.assert_array_equal(by_polars > 0, by_pandas > 0)
