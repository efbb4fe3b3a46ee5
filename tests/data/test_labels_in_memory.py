"""Y in every form that Python has is the same to a data set in memory, to a run and to an estimator."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import mlcdr
from mlcdr import BinaryRelevance, DataError, Dataset
from mlcdr.numerics.label_forms import read_label_sets
from tests import small

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
Y = (X[:, :2] + RNG.standard_normal((20, 2)) > 0).astype(int)
Y[0] = 1, 0
LABELS = ["a", "b"]
FRAME = pd.DataFrame(Y, columns=LABELS)
YES_NO = FRAME.replace({0: "no", 1: "Yes"}).astype(object)


class Unknown:
    """A frame of a library that does not exist."""

    columns = LABELS


def polars_frame(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].tolist() for name in frame})


FORMS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: Y,
    "float32": lambda: Y.astype(np.float32),
    "booleans": lambda: Y.astype(bool),
    "minus one": lambda: 2 * Y - 1,
    "objects": lambda: Y.astype(object),
    "words": lambda: YES_NO.to_numpy(str),
    "nested lists": Y.tolist,
    "nested lists of words": YES_NO.to_numpy().tolist,
    "nested lists, each column its own": lambda: [[["no", "yes"][a], ["off", "on"][b]] for a, b in Y],
    "arrays in a list": lambda: list(Y),
    "masked": lambda: np.ma.masked_array(Y),
    "csr": lambda: sparse.csr_array(Y),
    "csc of booleans": lambda: sparse.csc_matrix(Y.astype(bool)),
    "frame": lambda: FRAME,
    "frame of booleans": lambda: FRAME.astype(bool),
    "nullable whole numbers": lambda: FRAME.astype("Int64"),
    "nullable booleans": lambda: FRAME.astype("boolean"),
    "frame of objects": lambda: FRAME.astype(object),
    "frame of yes and no": lambda: YES_NO,
    "frame of categories": lambda: YES_NO.astype("category"),
    "categories that are numbers": lambda: FRAME.astype("category"),
    "a category without rows": lambda: YES_NO.astype(pd.CategoricalDtype(["no", "perhaps", "Yes"])),
    "each column its own": lambda: FRAME.astype({"a": bool}).assign(b=YES_NO["b"].astype("category")),
    "sparse frame": lambda: FRAME.astype(pd.SparseDtype(int, 0)),
    "sparse frame of booleans": lambda: FRAME.astype(pd.SparseDtype(bool, False)),
    "sparse frame filled with ones": lambda: FRAME.astype(pd.SparseDtype(int, 1)),
    "pyarrow": lambda: pa.table({name: YES_NO[name].tolist() for name in LABELS}),
    "polars": lambda: polars_frame(FRAME),
    "polars, booleans": lambda: polars_frame(FRAME.astype(bool)),
    "polars, words": lambda: polars_frame(YES_NO),
}
if not small.READS_ALL_SPARSE_LABELS:
    del FORMS["sparse frame filled with ones"]
NAMES: dict[str, Callable[[], Any]] = {
    "lists": lambda: [[name for name, there in zip(LABELS, row, strict=True) if there] for row in Y],
    "sets": lambda: [{name for name, there in zip(LABELS, row, strict=True) if there} for row in Y],
    "Series": lambda: pd.Series(NAMES["lists"]()),
    "polars Series": lambda: pytest.importorskip("polars").Series(NAMES["lists"]()),
}


def learned_by(part: Any, given: Any) -> Any:
    fitted = part.fit(X, given)
    return fitted.scores_ if isinstance(part, mlcdr.FScore) else fitted.directions_


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_y_is_the_same_to_data_sets_and_estimators(form: str) -> None:
    given = FORMS[form]()
    expected = BinaryRelevance().fit(X, Y)
    model = BinaryRelevance().fit(X, given)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    predicted = expected.predict(X) if form != "minus one" else 2 * expected.predict(X) - 1
    np.testing.assert_array_equal(model.predict(X), predicted)
    for part in (mlcdr.FScore(n_features=2), mlcdr.PLST(1)):
        if form != "minus one" or not isinstance(part, mlcdr.PLST):  # a label space takes any numbers as they are
            np.testing.assert_allclose(learned_by(part, given), learned_by(part, Y))
    for features in (X, pd.DataFrame(X, columns=["p", "q", "r"]), sparse.csr_array(X)):
        found = Dataset.of(features, given)
        labels = found.Y.toarray() if sparse.issparse(found.Y) else found.Y
        np.testing.assert_array_equal(labels, Y)
        assert found.label_names == (("a", "b") if hasattr(given, "columns") else ("label1", "label2"))
    assert mlcdr.evaluate(given, Y) == mlcdr.evaluate(Y, Y)


@pytest.mark.parametrize("form", [form for form in FORMS if "frame" in form or "categor" in form])
def test_labels_among_the_columns_of_a_frame_are_read_alike(form: str) -> None:
    given = FORMS[form]()
    whole = pd.concat([pd.DataFrame(X, columns=["p", "q", "r"]), given], axis=1)
    found = Dataset.of(whole, labels=LABELS)
    np.testing.assert_array_equal(found.Y.toarray() if sparse.issparse(found.Y) else found.Y, Y)


@pytest.mark.parametrize("form", NAMES)
def test_lists_of_names_are_their_matrix_with_the_names_sorted(form: str) -> None:
    given = NAMES[form]()
    for features in (X, pd.DataFrame(X, columns=["p", "q", "r"])):
        found = Dataset.of(features, given)
        np.testing.assert_array_equal(found.Y, Y)
        assert found.label_names == ("a", "b")
    with pytest.raises(DataError, match=r"^data: Y has the names of its labels: leave label_names out$"):
        Dataset.of(X, given, label_names=LABELS)
    model = BinaryRelevance().fit(X, given)
    np.testing.assert_array_equal(model.predict(X), BinaryRelevance().fit(X, Y).predict(X))
    with pytest.raises(mlcdr.UserError, match=r"^Y: must be a matrix"):
        mlcdr.evaluate(given, Y)


def test_a_run_of_names_gives_the_scores_of_their_matrix() -> None:
    config = {
        "name": "names",
        "datasets": ["mine"],
        "splits": {"kind": "kfold", "folds": 2, "seed": 0},
        "metrics": ["hamming_loss"],
        "methods": {"Ridge": {"learner": "ridge"}},
    }
    found = [
        mlcdr.run(config, datasets={"mine": (X, given)}, out=None, quiet=True, jobs=1).scores["value"]
        for given in (NAMES["sets"](), FRAME.astype("boolean"))
    ]
    np.testing.assert_array_equal(*found)


WRONG: dict[str, tuple[Any, str]] = {
    "a number": (Y + 1, r"row 1: label 'label1' has the value 2; a label must be 0 or 1"),
    "sparse": (sparse.csr_array(3 * np.eye(20)), "row 1: label 'label1' has the value 3; a label must be 0 or 1"),
    "missing": (
        FRAME.astype("Int64").where(FRAME.index.to_series() != 4),
        "row 5: label 'a' has no value; missing labels cannot be filled",
    ),
    "missing word": (YES_NO.assign(b=[*YES_NO["b"][:19], None]), "row 20: label 'b' has no value"),
    "other words": (
        FRAME.assign(b=["red", "blue"] * 10),
        r"label 'b' has the values \{red, blue\}; a label must be \{0,1\}, \{NO,YES\} or another such pair",
    ),
    "two spellings": (YES_NO.assign(a=["yes", "YES"] * 10), r"label 'a' has the values \{yes, YES\}"),
    "dates": (FRAME.assign(a=pd.Timestamp("2024-01-01")), "label 'a' has the values"),
    "three axes": (Y[:, :, None], r"Y has the shape \(20, 2, 1\); needed are rows and columns"),
    "lists": (pd.DataFrame({"a": [["x"], ["y"]] * 10, "b": 1}), "label 'a' has lists in its cells; lists of names"),
    "one name twice": (FRAME.set_axis(["a", "a"], axis=1), "column 'a' is there twice"),
    "no column": (Y[:, :0], r"Y has the shape \(20, 0\); needed are rows and columns"),
    "rows of different lengths": ([[0, 1], [1]], "the rows of Y are of different lengths"),
    "complex": (Y * 1j, "Y has the shape .* and the type complex128; needed is a matrix of 0 and 1"),
    "another library": (Unknown(), "a Unknown cannot be read; give one of pandas"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_label_is_refused_in_the_same_words_with_its_place(case: str) -> None:
    given, message = WRONG[case]
    with pytest.raises(DataError, match=f"^mine: {message}"):
        Dataset.of(X, given, name="mine")
    with pytest.raises(ValueError, match=f"^y: {message}"):
        BinaryRelevance().fit(X, given)


WRONG_NAMES: dict[str, tuple[Any, str]] = {
    "a number": ([["a"], ["b", 0.5]], "row 2: 0.5 where the name of a label is expected"),
    "blank": ([["a"], ["b", " "]], "row 2: ' ' where the name of a label is expected"),
    "twice": ([["a", "a"], ["b"]], r"row 1: the name of a label twice in \['a', 'a'\]"),
    "none": ([[], []], "no row of Y has the name of a label"),
}


@pytest.mark.parametrize("case", WRONG_NAMES)
def test_names_that_are_none_are_refused_with_their_row(case: str) -> None:
    given, message = WRONG_NAMES[case]
    with pytest.raises(DataError, match=f"^data: {message}"):
        Dataset.of(X[:2], given)


NOT_OF_DATA: dict[str, tuple[Any, str]] = {
    "one label": (Y[:, 0], r"Y has the shape \(20,\); needed are rows and columns"),
    "texts": (
        ["a;b", "c"] * 10,
        "Y has one cell a row; needed is a matrix of 0 and 1, or a list of names",
    ),
    "a blank name": (FRAME.set_axis(["a", " "], axis=1), "Y: column 2 has no name"),
}


@pytest.mark.parametrize("case", NOT_OF_DATA)
def test_labels_without_columns_or_names_are_refused_by_a_data_set(case: str) -> None:
    given, message = NOT_OF_DATA[case]
    for features in (X, pd.DataFrame(X, columns=["p", "q", "r"])):
        with pytest.raises(DataError, match=f"^data: {message}"):
            Dataset.of(features, given)


def test_labels_of_other_rows_are_refused() -> None:
    with pytest.raises(DataError, match=r"^data: X has 20 rows and Y has 19$"):
        Dataset.of(X, NAMES["sets"]()[1:])
    with pytest.raises(ValueError, match=r"^X has 20 rows and y has 19$"):
        BinaryRelevance().fit(X, YES_NO[1:])
    with pytest.raises(DataError, match="have different indexes"):
        Dataset.of(pd.DataFrame(X, columns=list("pqr")), YES_NO.set_axis(range(1, 21)))


@pytest.mark.parametrize("estimator", [BinaryRelevance(), mlcdr.Ridge(), mlcdr.CPLST(), mlcdr.LabelCCA()], ids=repr)
def test_rows_of_other_names_are_refused_by_each_kind_of_estimator(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"^X and y have different indexes"):
        estimator.fit(pd.DataFrame(X), FRAME.set_axis(range(1, 21)))


def test_labels_are_in_x_or_in_y() -> None:
    frame = pd.DataFrame(X, columns=list("pqr")).join(FRAME)
    with pytest.raises(DataError, match=r"^data: labels: for label sets among the columns of X, and Y is given"):
        Dataset.of(frame, FRAME, labels=["a", "b"])


def test_a_regressor_refuses_missing_targets_in_an_array_of_objects() -> None:
    with pytest.raises(ValueError, match="Input y contains NaN"):
        mlcdr.Ridge().fit(X, np.array([[0, None]] * 20))


def test_numbers_are_names_of_labels_unless_they_only_count_the_columns() -> None:
    assert Dataset.of(X, FRAME.set_axis([2019, 2020], axis=1)).label_names == ("2019", "2020")
    assert Dataset.of(X, FRAME.set_axis([0, 1], axis=1)).label_names == ("label1", "label2")
    assert Dataset.of(X, FRAME.set_axis([0, 1], axis=1), label_names=["u", "v"]).label_names == ("u", "v")


def test_the_labels_of_names_are_sorted_and_sparse() -> None:
    found = read_label_sets([("b", "a"), set(), {"c"}, {10, 9}])
    assert found.names == ["10", "9", "a", "b", "c"]
    assert sparse.issparse(found.matrix)
    np.testing.assert_array_equal(found.matrix.toarray()[:3, 2:], [[1, 1, 0], [0, 0, 0], [0, 0, 1]])


def test_objects_that_are_numbers_are_numbers() -> None:
    frame = pd.DataFrame({"p": [1, None, 3], "q": [1, 0.5, pd.NA], "r": [True, False, None], "a": [1, 0, 1]})
    found = Dataset.of(frame.astype(object), labels=["a"], missing="keep")
    np.testing.assert_array_equal(found.X, [[1, 1, 1], [np.nan, 0.5, 0], [3, np.nan, np.nan]])
    for number in (2**60, 2**70):
        with pytest.raises(DataError, match=r"^data: row 2: column 'p' has the value .* beyond 2\^53"):
            Dataset.of(frame.assign(p=pd.Series([1, number, None], dtype=object)), labels=["a"], missing="keep")


@pytest.mark.parametrize("cells", [["no", "yes"], pd.Categorical([0, 1]), np.array([0, 1], dtype=object)], ids=str)
def test_a_column_may_be_called_self(cells: Any) -> None:
    found = Dataset.of(pd.DataFrame({"x": 1.0, "self": cells}), labels="self")
    assert found.Y.tolist() == [[0], [1]]


class Frame:
    """As much of polars as is used: a frame whose columns give arrays."""

    def __init__(self, **columns: Any):
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def get_column(self, name: str) -> Any:
        return Column(self._columns[name])


class Column:
    def __init__(self, cells: list[Any]):
        self._cells = cells
        self.dtype = self

    def is_integer(self) -> bool:
        return all(isinstance(each, int) for each in self._cells if each is not None)

    def null_count(self) -> int:
        return self._cells.count(None)

    def to_list(self) -> list[Any]:
        return self._cells

    def to_numpy(self) -> Any:
        return np.array(self._cells)


def test_a_frame_of_polars_is_read_column_by_column() -> None:
    frame = Frame(size=[1, None, 3], colour=["red", None, "blue"], a=["yes", "no", "no"])
    found = Dataset.of(frame, labels=["a"], missing="keep")
    assert found.feature_names == ("size", "colour=blue", "colour=red")
    np.testing.assert_array_equal(found.X, [[1, 0, 1], [np.nan, np.nan, np.nan], [3, 1, 0]])
    large = Frame(number=[2**60 + 1, None, 3], a=[0, 1, 0])
    with pytest.raises(DataError, match=f"column 'number' has the value {2**60 + 1}, which is beyond 2"):
        Dataset.of(large, labels=["a"], missing="keep")


def test_frames_of_polars_all_the_way() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "size": [1.5, None, 3.0, 4.0],
            "colour": polars.Series(["red", "blue", "red", None], dtype=polars.Categorical),
            "new": [True, False, None, True],
            "tags": [["x"], [], ["x", "y"], ["y"]],
        }
    )
    found = Dataset.of(frame, labels="tags", separator=";", missing="keep")
    assert found.feature_names == ("size", "colour=blue", "colour=red", "new")
    assert found.label_names == ("x", "y")
    np.testing.assert_array_equal(found.Y, [[1, 0], [0, 0], [1, 1], [0, 1]])
    np.testing.assert_array_equal(found.X[0], [1.5, 0, 1, 1])
    with pytest.raises(DataError, match=r"^data: a LazyFrame cannot be read; give its `\.collect\(\)`"):
        Dataset.of(frame.lazy(), labels="tags")
    numbers = polars.DataFrame(X, schema=["p", "q", "r"])
    model = BinaryRelevance().fit(numbers, polars_frame(YES_NO))
    assert model.feature_names_in_.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(model.predict(numbers), BinaryRelevance().fit(X, Y).predict(X))


def test_the_local_selector_that_keeps_its_training_set_is_kept_with_it() -> None:
    selector = mlcdr.LocalMLFS(2).fit(X, YES_NO)
    again = pickle.loads(pickle.dumps(selector))
    assert again.beside(0, [1]).tolist() == selector.beside(0, [1]).tolist()
    assert pickle.loads(pickle.dumps(mlcdr.LocalMLFS(2))).n_features == 2
