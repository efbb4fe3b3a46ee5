"""mlcdr's estimators inside scikit-learn's, as methods of `run`: the same predictions as by hand, and found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mlcdr
from mlcdr.methods.component import Component

RNG = np.random.default_rng(1)
X = RNG.standard_normal((60, 6))
Y = (X[:, :4] + RNG.standard_normal((60, 4)) > 0).astype(int)
STEPS = [StandardScaler(), mlcdr.PCA(4)]
LINE = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.CPLST(2), feature_space=STEPS)
GRID = {"learner__alpha": [0.1, 100.0], "label_space": [mlcdr.PLST(1), mlcdr.PLST(3)]}
METHODS: dict[str, Any] = {
    "grid": GridSearchCV(mlcdr.Ridge(), {"alpha": [0.1, 100.0]}, cv=2),
    "pipeline": make_pipeline(StandardScaler(), mlcdr.Ridge()),
    "bagging": BaggingRegressor(mlcdr.Ridge(), n_estimators=3, random_state=0),
    "grid of a line": GridSearchCV(LINE, GRID, cv=2),
    "clmlc": mlcdr.CLMLC(mlcdr.BinaryRelevance(mlcdr.LogisticRegression()), n_clusters=2, random_state=0),
    "cbmlc": mlcdr.CBMLC(mlcdr.MLkNN(3), random_state=0),
}


def _run(method: Any, out: Path) -> mlcdr.Results:
    config = {
        "name": "nested",
        "datasets": ["mine"],
        "splits": {"kind": "kfold", "folds": 2, "seed": 1},
        "metrics": ["hamming_loss"],
        "methods": {"M": method},
    }
    return mlcdr.run(config, datasets={"mine": (X, Y)}, out=out, quiet=True, jobs=1)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("in_learner", [False, True], ids=["alone", "learner"])
def test_an_estimator_stands_as_a_method(name: str, in_learner: bool, tmp_path: Path) -> None:
    method = METHODS[name]
    results = _run({"learner": method} if in_learner else method, tmp_path)
    assert results.failures.empty
    by_hand = []
    for split in results.splits(data=(X, Y)):
        model = mlcdr.ComposedClassifier(method).fit(X[split.train], Y[split.train])
        by_hand.append(float(np.mean(model.predict(X[split.test]) != Y[split.test])))
    assert results.scores["value"].tolist() == pytest.approx(by_hand)
    again = _run({"learner": method} if in_learner else method, tmp_path)
    assert again.manifest["trials"]["computed"] == 0


def test_a_name_of_ours_is_a_component_in_a_class_of_another_package(tmp_path: Path) -> None:
    written = {"sklearn.ensemble.BaggingRegressor": {"estimator": {"ridge": {}}, "n_estimators": 3, "random_state": 0}}
    by_name = _run({"learner": written}, tmp_path / "name").scores["value"].tolist()
    by_object = _run(METHODS["bagging"], tmp_path / "object").scores["value"].tolist()
    assert by_name == by_object


NAMED_STEPS: list[tuple[Any, dict[str, str]]] = [
    ([{"ridge": {"sklearn.linear_model.Ridge": {}}}], {"steps.ridge": "sklearn.linear_model.Ridge"}),
    ([{"a": {"pca": {}}}, {"b": {"ridge": {"alpha": 2}}}], {"steps.a": "pca", "steps.b": "ridge"}),
]


@pytest.mark.parametrize(("steps", "parts"), NAMED_STEPS)
def test_the_name_of_a_step_is_none_of_a_component(steps: Any, parts: dict[str, str]) -> None:
    found = Component.parse("learner", {"sklearn.pipeline.Pipeline": {"steps": steps}}).parts()
    assert {name: part.name for name, part in found.items()} == parts
