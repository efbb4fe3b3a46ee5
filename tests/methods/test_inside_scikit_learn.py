"""Multi-label classifiers where scikit-learn uses MLPClassifier: cross-validation, scorers and stacking."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

from mlcdr import BinaryRelevance, ClassifierChain, ComposedClassifier, MLkNN

X, Y = make_multilabel_classification(90, 6, n_classes=4, allow_unlabeled=False, random_state=0)
CLASSIFIERS = [
    MLkNN(5),
    BinaryRelevance(LogisticRegression()),
    ClassifierChain(LogisticRegression()),
    ComposedClassifier(BinaryRelevance(LogisticRegression())),
]
FOLDS = KFold(3)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_classes_are_the_numbers_of_the_labels(classifier):
    assert classifier.fit(X, Y).classes_.tolist() == [0, 1, 2, 3]
    assert classifier.fit(X, Y > 0).predict(X).dtype == bool
    assert classifier.fit(X, Y[:, 1]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_probabilities_and_scores_are_cross_validated(classifier):
    for method in ("predict_proba", "decision_function"):
        found = cross_val_predict(classifier, X, Y, method=method, cv=FOLDS)
        for train, test in FOLDS.split(X):
            own = classifier.fit(X[train], Y[train])
            np.testing.assert_allclose(found[test], getattr(own, method)(X[test]))


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_scorers_ask_for_probabilities(classifier):
    scorers = {
        "neg_log_loss": lambda there, p: -log_loss(there, p),
        make_scorer(roc_auc_score, response_method="predict_proba"): roc_auc_score,
    }
    for scorer, function in scorers.items():
        found = cross_val_score(classifier, X, Y, scoring=scorer, cv=FOLDS)
        for score, (train, test) in zip(found, FOLDS.split(X), strict=True):
            own = classifier.fit(X[train], Y[train]).predict_proba(X[test])
            assert score == pytest.approx(function(Y[test], own))


def test_stacking():
    stack = StackingClassifier([("near", MLkNN(5)), ("linear", BinaryRelevance(LogisticRegression()))], MLkNN(3))
    assert stack.fit(X, Y).predict(X).shape == Y.shape
