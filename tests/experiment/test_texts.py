"""Data sets of texts, and of numbers with gaps: what makes numbers of them learns from the training rows alone."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier

import mlcdr
from mlcdr.data.dataset import load_dataset
from mlcdr.errors import ConfigError
from mlcdr.execution.runner import run
from mlcdr.experiment.data_checks import compare_with_data
from mlcdr.experiment.loading import experiment_from, experiment_yaml
from mlcdr.experiment.model import Experiment
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.numerics.moments import Moments
from tests import small
from tests.small import Outcome

TEXT = "sklearn.feature_extraction.text"
VECTORIZER = f"{TEXT}.TfidfVectorizer"
WORDS = {VECTORIZER: {"min_df": 2, "ngram_range": [1, 2]}}
LOGISTIC = {"binary_relevance": {"estimator": "sklearn.linear_model.LogisticRegression"}}
IMPUTER = "sklearn.impute.SimpleImputer"
SPLITS = {"kind": "kfold", "folds": 3, "seed": 1}
K, ROUNDED = 3, 1e-12


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Ninety texts, whose words depend on their labels; with quotes, commas and line breaks."""
    rng = np.random.default_rng(3)
    labels = rng.random((90, K)) < 0.4
    rows = []
    for row in labels:
        own = [f"word{k}{rng.integers(4)}" for k in np.flatnonzero(row) for _ in range(2)]
        words = [*own, *(f"other{rng.integers(40)}" for _ in range(4))]
        rows.append([rng.choice([" ", ", ", ' "', "\n"]).join(rng.permutation(words)), *row.astype(int)])
    path = tmp_path / "texts.csv"
    pd.DataFrame(rows, columns=["body", *(f"tag{k}" for k in range(K))]).to_csv(path, index=False)
    return path


@pytest.fixture
def gaps(tmp_path: Path) -> Path:
    """Numbers of which every tenth is missing."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 5))
    Y = (X[:, :K] + rng.normal(size=(60, K)) > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    path = tmp_path / "gaps.csv"
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*"abcde", *(f"tag{k}" for k in range(K))])
    frame.astype({f"tag{k}": int for k in range(K)}).to_csv(path, index=False)
    return path


def experiment(path: Path, methods: dict[str, Any], **changes: Any) -> Experiment:
    options = {"labels": "tag*", **({"text": "body"} if path.name == "texts.csv" else {"missing": "keep"})}
    content = {"name": "e", "datasets": [{str(path): options}], "splits": SPLITS, "metrics": ["hamming_loss", "f1"]}
    return experiment_from({**content, "methods": methods, **changes})


def scores(path: Path, methods: dict[str, Any], out: Path, **changes: Any) -> pd.DataFrame:
    """Method and split → metrics."""
    report = run(experiment(path, methods, **changes), out)
    assert not report.failures
    found = pd.read_csv(report.folder / "scores.csv")
    return found.pivot_table(index=["method", "split"], columns="metric", values="value")


class Counted:
    """The sizes of the training sets that vectorizers were fitted to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.sizes: list[int] = []
        plain = TfidfVectorizer.fit

        def fit(vectorizer: Any, documents: Any, y: Any = None) -> Any:
            self.sizes.append(len(documents))
            return plain(vectorizer, documents, y)

        monkeypatch.setattr(TfidfVectorizer, "fit", fit)


def test_scores_are_those_of_a_plain_loop(texts: Path, tmp_path: Path) -> None:
    """A vectorizer fitted to the training rows and logistic regression for each label, written out."""
    methods = {
        "LR": {"feature_space": WORDS, "learner": LOGISTIC},
        "Ridge": {"feature_space": WORDS, "learner": "ridge"},
    }
    found = scores(texts, methods, tmp_path, keep={"scores": True})
    dataset = load_dataset(texts, labels="tag*", text="body")
    with (tmp_path / "e/kept/index.csv").open(newline="") as file:
        kept = [line for line in csv.DictReader(file) if line["method"] == "LR"]
    for line in kept:
        with np.load(tmp_path / "e/kept" / line["scores"]) as arrays:
            test, of_scores, labels = arrays["rows"], arrays["scores"], arrays["labels"]
        train = np.setdiff1d(np.arange(90), test)
        vectorizer = TfidfVectorizer(min_df=2, ngram_range=(1, 2))
        X = vectorizer.fit_transform(dataset.X[train, 0])
        model = OneVsRestClassifier(LogisticRegression()).fit(X, dataset.Y[train])
        Z = vectorizer.transform(dataset.X[test, 0])
        predicted = model.predict(Z)
        row = found.loc["LR", int(line["split"])]
        assert row["hamming_loss"] == pytest.approx(hamming_loss(dataset.Y[test], predicted), abs=ROUNDED)
        f1 = f1_score(dataset.Y[test], predicted, average="samples", zero_division=1)
        assert row["f1"] == pytest.approx(f1, abs=ROUNDED)
        np.testing.assert_array_equal(labels, predicted)
        np.testing.assert_allclose(of_scores, model.decision_function(Z), atol=ROUNDED)
    assert len(kept) == 3
    assert found["hamming_loss"].max() < 0.4


def test_texts_of_python_give_the_same_scores(texts: Path, tmp_path: Path) -> None:
    methods = {"Ridge": {"feature_space": WORDS, "learner": "ridge"}}
    of_file = scores(texts, methods, tmp_path / "file")
    dataset = load_dataset(texts, labels="tag*", text="body")
    config = {"name": "m", "splits": SPLITS, "metrics": ["hamming_loss", "f1"], "methods": methods}
    given = {"texts": (list(dataset.X[:, 0]), dataset.Y)}
    ran = mlcdr.run(config | {"datasets": ["texts"]}, datasets=given, jobs=1, out=tmp_path / "memory", quiet=True)
    found = ran.scores.pivot_table(index=["method", "split"], columns="metric", values="value")
    np.testing.assert_allclose(found[of_file.columns], of_file, atol=ROUNDED)


def test_one_vectorizer_of_a_split_serves_all_methods_that_have_it(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    methods = {
        "A": {"feature_space": [WORDS], "learner": "ridge"},
        "B": {"feature_space": [WORDS], "label_space": {"plst": {"n_components": 2}}, "learner": "ridge"},
        "C": {"feature_space": [WORDS, {"pca": {"n_components": 5}}], "learner": "ridge"},
        "Other": {"feature_space": VECTORIZER, "learner": "ridge"},
    }
    shared = scores(texts, methods, tmp_path / "a")
    assert counted.sizes == [60] * 3 * 2
    assert scores(texts, methods, tmp_path / "b", share=False).equals(shared)
    assert counted.sizes[6:] == [60] * 3 * 4


def test_a_choice_of_its_parameters_sees_the_training_rows_alone(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    tune = {"grid": {"feature_space.min_df": [1, 2, 30]}, "folds": 4, "scope": "split", "metric": "hamming_loss"}
    found = scores(texts, {"A": {"feature_space": VECTORIZER, "learner": "ridge", "tune": tune}}, tmp_path)
    assert counted.sizes == ([45] * 4 * 3 + [60]) * 3
    assert found["hamming_loss"].max() < 0.4


def test_features_stay_sparse(texts: Path) -> None:
    dataset = load_dataset(texts, labels="tag*", text="body")
    seen = []

    class Learner(Ridge):
        def fit_moments(self, moments: Moments) -> Any:
            seen.append(moments.rows()[0])
            return super().fit_moments(moments)

    model = ComposedClassifier(Learner(), feature_space=[TfidfVectorizer()]).fit(dataset.X, dataset.Y)
    assert sparse.issparse(seen[0])
    np.testing.assert_array_equal(model.predict(dataset.X[:, 0]), model.predict(list(dataset.X[:, 0])))
    with pytest.raises(ValueError, match="row 1 of X is float, not a text"):
        model.predict(["a", 1.5])
    with pytest.raises(ValueError, match="one column of texts"):
        model.predict([["a", "b"]])


def test_hidden_labels_stratified_folds_and_other_kinds_of_methods(texts: Path, tmp_path: Path) -> None:
    splits = SPLITS | {"stratified": True, "labelled": "60%"}
    steps = [{"words": {VECTORIZER: {}}}, {"ridge": {"sklearn.linear_model.Ridge": {}}}]
    methods = {
        "Chain": {"feature_space": WORDS, "learner": {"classifier_chain": {"estimator": "linear_svm"}}},
        "Dual": {"feature_space": WORDS, "dual_space": "ddsr", "learner": "ridge"},
        "Cut": {"feature_space": WORDS, "learner": "ridge", "threshold": {"maximise": "f1"}},
        "Pipe": {"learner": {"sklearn.pipeline.Pipeline": {"steps": steps}}},
        "Hash": {"feature_space": {f"{TEXT}.HashingVectorizer": {"n_features": 64}}, "learner": "ridge"},
    }
    assert len(scores(texts, methods, tmp_path, splits=splits)) == 15


def test_a_model_predicts_a_file_of_texts(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    scores(texts, {"A": {"feature_space": WORDS, "learner": "ridge"}}, tmp_path, keep={"models": True})
    model = next((tmp_path / "e/kept").rglob("split0-*"))
    warnings.simplefilter("ignore", DeprecationWarning)  # as Python does, other than pytest
    done = mlcdr("predict", model, "texts.csv", "--trust")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 91
    assert "found 'maybe'" in mlcdr("predict", model, "texts.csv", "--trust", "--set", "unknown=maybe").err
    pd.read_csv("texts.csv")[["body"]].to_csv("alone.csv", index=False)
    assert mlcdr("predict", model, "alone.csv", "--trust").out == done.out


def test_imputation_learns_from_the_training_rows(gaps: Path, tmp_path: Path) -> None:
    methods = {"A": {"feature_space": [IMPUTER, "sklearn.preprocessing.StandardScaler"], "learner": LOGISTIC}}
    found = scores(gaps, methods, tmp_path, keep={"scores": True})
    dataset = load_dataset(gaps, labels="tag*", missing="keep")
    assert np.isnan(dataset.X).sum() == sum(dataset.missing.values()) > 10
    with (tmp_path / "e/kept/index.csv").open(newline="") as file:
        kept = list(csv.DictReader(file))
    for line in kept:
        with np.load(tmp_path / "e/kept" / line["scores"]) as arrays:
            test = arrays["rows"]
        train = np.setdiff1d(np.arange(60), test)
        imputer = SimpleImputer().fit(dataset.X[train])
        X, Z = imputer.transform(dataset.X[train]), imputer.transform(dataset.X[test])
        mean, scale = X.mean(axis=0), X.std(axis=0)
        model = OneVsRestClassifier(LogisticRegression()).fit((X - mean) / scale, dataset.Y[train])
        wanted = hamming_loss(dataset.Y[test], model.predict((Z - mean) / scale))
        assert found.loc["A", int(line["split"])]["hamming_loss"] == pytest.approx(wanted, abs=ROUNDED)


MISFITS = {
    "no vectorizer": ("texts.csv", {}, "Ridge takes no texts: the first step of the feature space"),
    "not the first": ("texts.csv", {"feature_space": ["pca", WORDS]}, "PCA takes no texts: the first"),
    "clusters": ("texts.csv", {"feature_space": WORDS, "instance_space": "cbmlc"}, "CBMLC takes no texts: the first"),
    "numbers": ("tiny.arff", {"feature_space": WORDS}, "TfidfVectorizer takes texts, and the features are numbers"),
    "gaps": ("gaps.csv", {}, "Ridge takes no missing values: the first step of the feature space must"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_method_that_does_not_take_the_features_is_refused(
    name: str, texts: Path, gaps: Path, tmp_path: Path, mlcdr: Callable[..., Outcome]
) -> None:
    file, method, message = MISFITS[name]
    path = small.write_dataset(tmp_path) if file == "tiny.arff" else tmp_path / file
    changes = {"datasets": [str(path)]} if file == "tiny.arff" else {}
    asked = experiment(path, {"M": {"learner": "ridge", **method}}, **changes)
    assert [line for line in compare_with_data(asked).mistakes if str(line).startswith(f"methods.M: {message}")]
    (tmp_path / "e.yaml").write_text(experiment_yaml(asked))
    done = mlcdr("check", tmp_path / "e.yaml")
    (line,) = done.err.splitlines()
    assert (done.code, f"methods.M: {message}" in line) == (2, True)
    with pytest.raises(ConfigError, match=f"methods.M: {message}"):
        run(asked, tmp_path / "out")


def test_gaps_that_a_step_leaves_are_no_numbers(gaps: Path) -> None:
    """A scaler takes gaps, and leaves them."""
    dataset = load_dataset(gaps, labels="tag*", missing="keep")
    scaler = experiment(gaps, {"M": {"feature_space": "sklearn.preprocessing.StandardScaler", "learner": "ridge"}})
    step = scaler.methods["M"].feature_space[0].build()
    with pytest.raises(ValueError, match="Ridge takes no missing values"):
        ComposedClassifier(Ridge(), feature_space=[step]).fit(dataset.X, dataset.Y)
    whole = ~np.isnan(dataset.X).any(axis=1)
    fitted = ComposedClassifier(Ridge(), feature_space=[step]).fit(dataset.X[whole], dataset.Y[whole])
    with pytest.raises(ValueError, match="Ridge takes no missing values"):
        fitted.predict(dataset.X)
    with pytest.raises(ValueError, match="numbers of which some are missing, and have no sums"):
        PCA().fit_moments(Moments.from_arrays(dataset.X, dataset.Y))


def test_a_config_makes_no_vectorizer_open_files(texts: Path) -> None:
    with pytest.raises(ConfigError, match="would make it open files that the data name"):
        experiment(texts, {"A": {"feature_space": {VECTORIZER: {"input": "filename"}}, "learner": "ridge"}})


def test_groups_are_of_numbers(texts: Path, gaps: Path, tmp_path: Path) -> None:
    for path, feature, why in ((texts, "body", "is a text"), (gaps, "a", "has missing values")):
        asked = experiment(
            path, {"A": {"feature_space": IMPUTER, "learner": "ridge"}}, splits=SPLITS | {"groups": feature}
        )
        assert any(why in line.text for line in compare_with_data(asked).mistakes)
