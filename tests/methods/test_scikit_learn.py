"""What scikit-learn does with a multi-label classifier of its own, MLPClassifier, it does with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import label_ranking_loss, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.neural_network import MLPClassifier

from mlcdr import PLST, BinaryRelevance, ComposedClassifier, MLkNN, Ridge
from mlcdr import LogisticRegression as OurLogisticRegression

X, Y = make_multilabel_classification(n_samples=60, n_features=6, n_classes=3, random_state=0)
X = X.astype(float)
THEIRS = MLPClassifier((2,), max_iter=1, random_state=0)
PROBABILISTIC = [
    BinaryRelevance(OurLogisticRegression()),
    ComposedClassifier(BinaryRelevance(LogisticRegression())),
    MLkNN(),
]
OURS = [*PROBABILISTIC, ComposedClassifier(Ridge(), label_space=PLST(2))]
FOLDS = KFold(3)

pytestmark = pytest.mark.filterwarnings("ignore")  # that an MLP of one iteration has not converged


@pytest.mark.parametrize("model", OURS, ids=repr)
def test_classes_are_the_labels_and_those_of_a_vector_its_two_values(model: Any) -> None:
    theirs = THEIRS.fit(X, Y).classes_
    ours = model.fit(X, Y).classes_
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(model.fit(X, Y.astype(bool)).classes_, theirs)
    assert model.predict(X).dtype == bool
    if model.get_params().get("label_space") is None:
        words = np.array(["off", "on"])[Y[:, 0]]
        assert model.fit(X, words).classes_.tolist() == ["off", "on"]
        assert set(model.predict(X)) <= {"off", "on"}


@pytest.mark.parametrize("model", PROBABILISTIC, ids=repr)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_across_folds_are_those_of_each_fold(model: Any, method: str) -> None:
    found = cross_val_predict(model, X, Y, cv=FOLDS, method=method)
    assert found.shape == Y.shape
    for train, test in FOLDS.split(X):
        expected = getattr(model.fit(X[train], Y[train]), method)(X[test])
        np.testing.assert_array_equal(found[test], expected)


@pytest.mark.parametrize("model", PROBABILISTIC, ids=repr)
def test_scorers_of_probabilities_and_scores(model: Any) -> None:
    train, test = next(FOLDS.split(X))
    probabilities = model.fit(X[train], Y[train]).predict_proba(X[test])
    losses = cross_val_score(model, X, Y, cv=FOLDS, scoring="neg_log_loss", error_score="raise")
    assert losses[0] == pytest.approx(-log_loss(Y[test], probabilities))
    for response in ("predict_proba", ("decision_function", "predict_proba")):
        scorer = make_scorer(label_ranking_loss, response_method=response)
        assert cross_val_score(model, X, Y, cv=FOLDS, scoring=scorer, error_score="raise").shape == (3,)
    for scoring in ("roc_auc", "average_precision", "f1_samples", "accuracy"):
        assert np.isfinite(cross_val_score(model, X, Y, cv=FOLDS, scoring=scoring, error_score="raise")).all()
    assert permutation_importance(model, X, Y, scoring="neg_log_loss", n_repeats=1).importances.shape == (6, 1)
    search = GridSearchCV(model, {}, scoring=["neg_log_loss", "f1_macro"], refit="neg_log_loss", cv=FOLDS)
    assert search.fit(X, Y).best_score_ == pytest.approx(losses.mean())


@pytest.mark.parametrize("model", OURS, ids=repr)
def test_stacking(model: Any) -> None:
    """What is stacked is our prediction for the left-out rows, as many columns as labels."""
    kinds = ["auto", "predict", "decision_function", *["predict_proba"] * (model in PROBABILISTIC)]
    for kind in kinds:
        stack = StackingClassifier([("ours", model)], THEIRS, cv=FOLDS, stack_method=kind)
        assert stack.fit(X, Y).predict(X).shape == Y.shape
        assert stack.transform(X).shape == Y.shape
    mixed = [("theirs", RandomForestClassifier(3, random_state=0)), ("ours", model)]
    final = StackingClassifier(mixed, model, cv=FOLDS, stack_method="auto").fit(X, Y)
    assert final.predict(X).shape == Y.shape
