"""Model files: every method's model says the same when it comes back, and none is loaded without the user's word."""

from __future__ import annotations

import csv
import json
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy import sparse
from sklearn.base import ClassifierMixin

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.rows import Columns
from mlcdr.errors import UserError
from mlcdr.execution.models import Model, load_model, write_model
from mlcdr.experiment.estimators import build
from mlcdr.experiment.loading import experiment_from, experiment_yaml
from mlcdr.methods import registry
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.multilabel import MultilabelClassifier
from mlcdr.numerics.moments import Moments
from mlcdr.testing.subject import make_problem
from tests import small
from tests.small import Outcome

ABOUT = {"dataset": "tiny", "method": "mine"}
COMPILED = ("c45", "m5p")  # plain arrays, too, and a minute of compiling
LEARNERS = [("learner", name) for name in registry.names("learner") if name not in COMPILED]
SPACES = ("label_space", "feature_space", "dual_space", "instance_space")
REDUCERS = [(family, name) for family in SPACES for name in registry.names(family)]
THRESHOLDS = [("threshold", name) for name in registry.names("threshold")]
NEEDS = {"separate": {"estimator": "ridge"}}


def fitted(family: str, name: str, X: Any, Y: Any) -> ComposedClassifier:
    """A method with this component at its defaults."""
    small.skip_without_extra(family, name)
    parts: dict[str, Any] = {family: {name: NEEDS[name]} if name in NEEDS else name}
    cls = registry.resolve(family, name)
    if family == "learner" and issubclass(cls, ClassifierMixin) and not issubclass(cls, MultilabelClassifier):
        parts = {"learner": {"binary_relevance": {"estimator": name}}}  # for one label
    if family != "learner":
        parts["learner"] = "kernel_ridge" if name.startswith("kernel") else "ridge"
    experiment = experiment_from(
        {
            "name": "e",
            "datasets": ["yeast"],
            "splits": {"kind": "kfold", "folds": 2, "seed": 0},
            "metrics": ["f1"],
            "methods": {"M": parts},
        }
    )
    return build(experiment.methods["M"]).fit_moments(Moments.from_arrays(X, Y)).settled()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_dataset(small.write_dataset(tmp_path_factory.mktemp("data"), n=40, d=4, labels=4))


@pytest.mark.parametrize(("family", "name"), [*LEARNERS, *REDUCERS, *THRESHOLDS])
def test_every_methods_model_says_the_same_when_it_comes_back(
    family: str, name: str, tiny: Any, tmp_path: Path
) -> None:
    model = fitted(family, name, tiny.X, tiny.Y)
    path = write_model(tmp_path / "m", Model(model, tiny.feature_names, tiny.label_names, ABOUT), tiny.X)
    back = load_model(path, trust=True)
    np.testing.assert_array_equal(back.classifier.predict(tiny.X), model.predict(tiny.X))
    assert back.classifier.has_scores == model.has_scores
    if model.has_scores:
        said = back.classifier.decision_function(tiny.X)
        np.testing.assert_allclose(said, model.decision_function(tiny.X), rtol=1e-12)
    assert (back.feature_names, back.label_names) == (tiny.feature_names, tiny.label_names)
    assert back.about["method"] == "mine"


@pytest.mark.parametrize("learner", ["least_squares", "ridge"])
@pytest.mark.parametrize("label_space", ["plst", "cplst", "pbr", "occa"])
def test_the_model_of_a_linear_method_holds_no_training_rows(learner: str, label_space: str, tmp_path: Path) -> None:
    """It is as large for 2,000 rows as for 200."""
    sizes = []
    for n in (200, 2000):
        arff = small.write_dataset(tmp_path / str(n), n=n)
        data = load_dataset(arff)
        method = {"label_space": label_space, "learner": learner, "threshold": {"maximise": "f1"}}
        spec = small.experiment(arff, methods={"M": method}, sweep={}).methods["M"]
        model = build(spec).fit_moments(Moments.from_arrays(data.X, data.Y)).settled()
        path = write_model(tmp_path / f"m{n}", Model(model, data.feature_names, data.label_names, ABOUT), data.X)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 1.1 * sizes[0]


def test_without_skops_a_model_is_a_pickle(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("learner", "ridge", tiny.X, tiny.Y)
    whole = Model(model, tiny.feature_names, tiny.label_names, ABOUT)
    pytest.importorskip("skops")
    assert write_model(tmp_path / "m", whole, tiny.X).suffix == ".skops"
    monkeypatch.setitem(sys.modules, "skops.io", None)
    path = write_model(tmp_path / "m", whole, tiny.X)
    assert [each.name for each in tmp_path.iterdir()] == ["m.joblib"]  # the other, older, is gone
    np.testing.assert_array_equal(load_model(path, True).classifier.predict(tiny.X), model.predict(tiny.X))
    (tmp_path / "m.skops").write_bytes(b"x")
    with pytest.raises(UserError, match=r"m\.skops: needs skops: pip install 'mlcdr\[models\]'"):
        load_model(tmp_path / "m.skops", True)


class Evil:
    """Runs a program when it is unpickled."""

    def __init__(self, touched: Path):
        self.touched = touched

    def __reduce__(self) -> Any:
        return Path.touch, (self.touched,)


def test_nothing_is_loaded_without_trust(tiny: Any, tmp_path: Path) -> None:
    path, touched = tmp_path / "evil.joblib", tmp_path / "touched"
    joblib.dump({"format": "mlcdr model 3", "classifier": Evil(touched)}, path)
    with pytest.raises(UserError, match=r"evil\.joblib: a model file can run any program .*; --trust"):
        load_model(path, trust=False)
    assert not touched.exists()
    with pytest.raises(UserError, match="cannot be loaded: KeyError"):
        load_model(path, trust=True)
    assert touched.exists()  # so it is
    pytest.importorskip("skops")
    model = fitted("learner", "ridge", tiny.X, tiny.Y)
    kept = write_model(tmp_path / "m", Model(model, tiny.feature_names, tiny.label_names, ABOUT), tiny.X)
    with pytest.raises(UserError, match=r"--trust .*\(it names parts of mlcdr and its libraries only\)"):
        load_model(kept, trust=False)


def test_a_model_without_trust_is_not_unpacked(tiny: Any, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model = fitted("learner", "ridge", tiny.X, tiny.Y)
    kept = write_model(tmp_path / "m", Model(model, tiny.feature_names, tiny.label_names, ABOUT), tiny.X)
    with zipfile.ZipFile(kept) as packed:
        schema, names = packed.read("schema.json"), packed.namelist()
    for size, said in (((2**26, 0), "its libraries only"), ((0, 2**23), "its list of parts is too large")):
        with zipfile.ZipFile(tmp_path / "huge.skops", "w", zipfile.ZIP_DEFLATED) as packed:
            for name in names:
                content = schema + b" " * size[1] if name == "schema.json" else bytes(size[0])
                packed.writestr(name, content)
        tracemalloc.start()
        with pytest.raises(UserError, match=said):
            load_model(tmp_path / "huge.skops", trust=False)
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


def _list_of(parts: list[Any], number: int) -> dict[str, Any]:
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": parts,
        "__id__": number,
        "protocol": 2,
    }


def _invented(name: str) -> dict[str, Any]:
    return {"__class__": name, "__module__": "no.where", "__loader__": "ObjectNode", "content": None}


def _shared(reference: dict[str, Any]) -> dict[str, Any]:
    """Lists in lists, each of which has the last one twice: 2^60 steps to one who follows each of them."""
    whole = _list_of([_invented("Evil")], 0)
    for number in range(1, 60):
        whole = _list_of([whole, reference | {"__id__": number - 1}], number)
    return whole


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (_shared({}), " (it names {no.where.Evil})"),
        (_shared(_invented("Evil")), " (it names {no.where.Evil})"),
        (_shared(_invented("Evil") | {"__loader__": "CachedNode"}), " (it names {no.where.Evil})"),
        (
            _list_of([_invented(f"{k:02}" + "x" * 1000) for k in range(99)], 0),
            f" (it names {{{', '.join(f'no.where.{k:02}' + 'x' * 26 + '...' for k in range(5))}, ...}})",
        ),
        (_list_of([_invented("\x1b[2J")], 0), r" (it names {no.where.\x1b[2J})"),
    ],
    ids=["shared", "shared and written out", "cached", "names", "control characters"],
)
def test_what_a_model_names_is_a_short_line_soon(schema: dict[str, Any], said: str, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", json.dumps(schema))
    begin = time.monotonic()
    with pytest.raises(UserError) as failed:
        load_model(path)
    assert time.monotonic() - begin < 20
    assert str(failed.value).endswith(f"if you know its origin{said}")


# -------------------------------------------------------------------- mlcdr predict


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]) -> Path:
    """A folder with a data set, and the model of a run on it."""
    monkeypatch.chdir(tmp_path)
    arff = small.write_dataset(tmp_path / "data")
    methods = {"Ridge": {"learner": "ridge"}}
    experiment = small.experiment(arff, methods=methods, sweep={}, metrics=["f1"])
    (tmp_path / "e.yaml").write_text(experiment_yaml(experiment))
    assert mlcdr("run", "e.yaml", "-q", "-j", 1, "--set", "keep.models=true").code == 0
    return next((tmp_path / "results" / "small" / "kept").rglob("split0-*"))


def test_predict_writes_label_sets_and_scores(kept: Path, tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    data = str(tmp_path / "data" / "tiny.arff")
    done = mlcdr("predict", kept, data, "--trust")
    assert done.code == 0, done.err
    rows = list(csv.reader(done.out.splitlines()))
    names = [f"y{k}" for k in range(6)]
    assert rows[0] == ["row", *names, *(f"score:{name}" for name in names)]
    model, X = load_model(kept, True).classifier, load_dataset(data).X
    numbers = np.array(rows[1:], dtype=float)
    assert numbers[:, 0].tolist() == list(range(60))
    np.testing.assert_array_equal(numbers[:, 1:7], model.predict(X))
    whole, frame = load_model(kept, True), pd.DataFrame(X).add_prefix("x")
    for rows in (data, frame, X):
        np.testing.assert_array_equal(whole.predict(rows), model.predict(X))
    for row in (frame.loc[7], frame.loc[7].to_dict(), frame.loc[[7]]):
        np.testing.assert_array_equal(whole.predict(row), model.predict(X[[7]]))
    assert whole.predict(frame.loc[[7]]).index.tolist() == [7]
    np.testing.assert_allclose(numbers[:, 7:], model.decision_function(X), rtol=1e-8)
    written = mlcdr("predict", kept, data, "--trust", "--out", "p.csv")
    assert (written.code, written.out) == (0, "")
    assert Path("p.csv").read_text() == done.out
    assert "written: p.csv, 60 rows, predicted by Ridge" in written.err


def test_predict_rows_of_svmlight_without_the_last_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    """What svmlight leaves out is 0, and features are counted as in the training file, also by a kept model."""
    monkeypatch.chdir(tmp_path)
    Path("train.svm").write_text("0,2 0:1 1:1 2:2\n1 1:1 2:4\n0 0:3 2:1\n1 0:2 1:2 2:1\n2 0:1 2:3\n0,1 1:5 2:2\n")
    experiment = small.experiment("train.svm", methods={"Ridge": {"learner": "ridge"}}, sweep={}, metrics=["f1"])
    Path("e.yaml").write_text(experiment_yaml(experiment))
    assert mlcdr("run", "e.yaml", "-q", "-j", 1, "--set", "keep.models=true").code == 0
    kept = next(Path("results").rglob("split0-*"))
    Path("new.svm").write_text("0 1:2\n")
    done = mlcdr("predict", kept, "new.svm", "--trust")
    assert done.code == 0, done.err
    scores = np.array(done.out.splitlines()[1].split(",")[4:], dtype=float)
    wanted = load_model(kept, True).classifier.decision_function(sparse.csr_array([[0.0, 2, 0]]))
    np.testing.assert_allclose(scores, wanted[0], rtol=1e-8)


@pytest.mark.parametrize("form", ["csv", "npz", "mat", "parquet"])
def test_predict_needs_no_labels_and_no_order_of_columns(
    form: str, kept: Path, tmp_path: Path, mlcdr: Callable[..., Outcome]
) -> None:
    data = load_dataset(tmp_path / "data" / "tiny.arff")
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    path = tmp_path / f"rows.{form}"
    if form == "npz":
        np.savez(path, X=data.X, feature_names=data.feature_names)
    elif form == "mat":
        scipy.io.savemat(path, {"X": data.X})
    else:
        write = pd.DataFrame.to_csv if form == "csv" else pd.DataFrame.to_parquet
        write(frame[frame.columns[::-1]].assign(other="a word"), path, index=False)
    done = mlcdr("predict", kept, path, "--trust")
    if form == "mat":  # whose columns have no names
        assert "the model was trained with a column 'x0' (and 4 more)" in done.err
    else:
        assert done.out == mlcdr("predict", kept, tmp_path / "data" / "tiny.arff", "--trust").out != ""


def test_new_rows_are_coded_by_the_model() -> None:
    """Not by themselves: one category alone, another order of them, and numbers where the training data had words."""
    values = [[1.5, "red", "2", "no"], [2.5, "blue", "1", "yes"], [3.5, "green", "3", "yes"]]
    rows = pd.DataFrame(values * 2, columns=["size", "colour", "grade", "sure"])
    data = Dataset.of(rows, np.eye(6, 2), categories=["grade"])
    assert data.n_features == 8
    model = Columns(data.feature_names, data.nominal)
    for k in range(3):
        np.testing.assert_array_equal(model.read(rows.loc[[k], ["sure", "grade", "colour", "size"]]), data.X[[k]])
    np.testing.assert_array_equal(model.read(rows.astype({"grade": int})), data.X)
    for changes, told in (
        (
            {"colour": "pink"},
            "rows: row 1: column 'colour' has the value 'pink'; the model was trained with {blue, green, red}",
        ),
        ({"grade": 4}, "row 1: column 'grade' has the value '4'; the model was trained with {1, 2, 3}"),
        ({"size": "large"}, "column 'size' has the values {large}; the model was trained with numbers there"),
        ({"size": np.nan}, r"row 1: feature 'size' has no value \(6 are missing: size \(6\)\); the model was trained"),
        ({"size": None, "colour": None}, "row 1: feature 'size' has no value"),
    ):
        with pytest.raises(UserError, match=told):
            model.read(rows.assign(**changes))
    with pytest.raises(
        UserError, match="the model was trained with a column 'colour', which is not there; did you mean 'color'"
    ):
        model.read(rows.rename(columns={"colour": "color"}))
    for options, told in (
        ({"unknown": "ignore"}, "^unknown: must be one of error, missing, found 'ignore'"),
        ({"missing": "mean"}, "^missing: the mean of new rows depends on which of them are read together"),
    ):
        with pytest.raises(UserError, match=told):
            model.read(rows, **options)


def test_new_rows_are_had_in_the_forms_of_the_training_data() -> None:
    X, Y = make_problem(30, 3, 2)
    frame = pd.DataFrame(X)
    data = Dataset.of(frame, Y)
    model = Model.of(ComposedClassifier(Ridge()).fit(data.X, data.Y), data, {})
    found = model.predict(X)
    for rows in (frame, [dict(row) for _, row in frame.set_axis(data.feature_names, axis=1).iterrows()]):
        pd.testing.assert_frame_equal(model.predict(rows), found)
    for wrong in (None, data):
        with pytest.raises(UserError, match=r"^rows: give X, a DataFrame or the name of a data set, not "):
            model.predict(wrong)


def test_predict_says_what_is_wrong_in_one_line(kept: Path, tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    data = str(tmp_path / "data" / "tiny.arff")
    other = small.write_dataset(tmp_path / "other", d=4)
    named = small.write_dataset(tmp_path / "named", name="named")
    named.write_text(named.read_text().replace("@attribute x2 ", "@attribute z2 "))
    Path("broken.skops").write_bytes(b"PK no zip")
    Path("broken.joblib").write_bytes(b"no pickle")
    joblib.dump([1, 2], "list.joblib")
    Path("model.txt").write_text("hello")
    for arguments, told in (
        ([kept, data], "--trust loads it"),
        (["nowhere.skops", data, "--trust"], "nowhere.skops: no such model file"),
        ([tmp_path, data, "--trust"], "no such model file"),
        (["model.txt", data, "--trust"], "model.txt: not a model file, which ends in .skops or .joblib"),
        (["broken.skops", data, "--trust"], "broken.skops: cannot be loaded: "),
        (["broken.joblib", data, "--trust"], "broken.joblib: cannot be loaded: "),
        (["list.joblib", data, "--trust"], "list.joblib: not a model file of mlcdr's"),
        ([kept, "nowhere", "--trust"], "nowhere"),
        ([kept, str(other), "--trust"], "the model was trained with a column 'x4'"),
        ([kept, str(named), "--trust"], "the model was trained with a column 'x2'"),
    ):
        done = mlcdr("predict", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        (line,) = done.err.splitlines()
        assert line.startswith("error: ")
        assert told in line, line
