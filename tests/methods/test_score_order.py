"""Scores keep what the order of labels is made of: probabilities far from ½, and labels that never varied."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.chains.probabilistic_classifier_chain import ProbabilisticClassifierChain
from mlcdr.methods.classifiers.label_powerset import LabelPowerset
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.label_space.cplst import CPLST
from mlcdr.methods.label_space.faie import FaIE
from mlcdr.methods.label_space.identity import Identity
from mlcdr.methods.label_space.pbr import PBR
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.learners.ridge import Ridge
from tests.methods.problems import problem

X, Y = problem("plain")
Y = Y[:, Y.min(axis=0) < Y.max(axis=0)]
# Forty copies of each feature: a naive Bayes classifier is sure of nearly everything.
SURE = np.hstack([X + 0.01 * np.random.default_rng(k).normal(size=X.shape) for k in range(40)])


def test_scores_of_sure_probabilities_are_not_tied():
    """GaussianNB has no decision function; its p − ½ is the same number for all p below 5e-17."""
    scores = BinaryRelevance(GaussianNB()).fit(SURE, Y).decision_function(SURE)
    for k, y in enumerate(Y.T):
        logs = GaussianNB().fit(SURE, y).predict_log_proba(SURE)
        np.testing.assert_array_equal(np.argsort(scores[:, k]), np.argsort(logs[:, 1] - logs[:, 0]))
        assert np.count_nonzero(logs.min(axis=1) < -40) > 10, "p − ½ would tie these"


def test_a_chain_scores_by_log_odds():
    model = ClassifierChain(GaussianNB()).fit(SURE, Y)
    scores, seen = model.decision_function(SURE), SURE
    for k in range(Y.shape[1]):
        logs = GaussianNB().fit(np.hstack([SURE, Y[:, :k]]), Y[:, k]).predict_log_proba(seen)
        np.testing.assert_allclose(scores[:, k], logs[:, 1] - logs[:, 0], rtol=1e-9)
        seen = np.hstack([seen, (scores[:, [k]] > 0).astype(float)])


def test_a_label_powerset_compares_logarithms():
    sets, classes = np.unique(Y, axis=0, return_inverse=True)
    logs = GaussianNB().fit(SURE, classes.ravel()).predict_log_proba(SURE)
    expected = np.column_stack(
        [logs[:, there].max(axis=1) - logs[:, ~there].max(axis=1) for there in sets.T.astype(bool)]
    )
    model = LabelPowerset(GaussianNB()).fit(SURE, Y)
    np.testing.assert_allclose(model.decision_function(SURE), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(SURE), expected > 0)


def test_a_probabilistic_chain_scores_by_the_odds_of_the_sums():
    model = ProbabilisticClassifierChain(GaussianNB()).fit(SURE, Y)
    scores, present = model.decision_function(SURE), model.predict_proba(SURE)
    ordinary = np.abs(scores) < 20
    assert ordinary.any()
    odds = np.log(present[ordinary]) - np.log1p(-present[ordinary])
    np.testing.assert_allclose(scores[ordinary], odds, atol=1e-6)
    assert len(np.unique(scores[scores < -40])) > 10, "p − ½ would tie these"


@pytest.mark.parametrize("make", [BinaryRelevance, ClassifierChain, LabelPowerset])
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(random_state=0), LogisticRegression(C=1e3), LinearSVM()])
def test_a_label_that_no_training_row_has_is_the_last_and_one_that_all_have_the_first(make, estimator):
    """On whatever scale the others' scores are; and all are finite."""
    labels = Y.copy()
    labels[:, 0], labels[:, 1] = 0, 1
    scores = make(estimator).fit(X, labels).decision_function(X)
    assert np.isfinite(scores).all()
    assert (scores[:, 0] == scores.min()).all()
    assert (scores[:, 1] == scores.max()).all()


@pytest.mark.parametrize("space", [PLST(2), CPLST(2), FaIE(2), FaIE(2, coding="plus_minus_one"), Identity()])
def test_a_label_that_never_varied_is_decoded_to_its_value(space):
    """Not to the value and some rounding, by which such labels would be ranked among each other."""
    labels = Y.copy()
    labels[:, 0], labels[:, 1] = 0, 1
    model = ComposedClassifier(Ridge(1.0), label_space=space).fit(X, labels)
    output = model.output(X)
    low = -1.0 if getattr(space, "coding", "") == "plus_minus_one" else 0.0
    np.testing.assert_array_equal(model.scores(X, output)[:, :2], np.tile([low, 1.0], (len(X), 1)))
    np.testing.assert_array_equal(model.predict(X)[:, :2], labels[:, :2])


def test_partial_binary_relevance_predicts_nothing_of_a_label_it_did_not_choose():
    """As its paper says, whatever the label was in training."""
    labels = Y.copy()
    labels[:, 0] = 1
    model = ComposedClassifier(LeastSquares(), label_space=PBR(1, random_state=0)).fit(X, labels)
    (chosen,) = model.label_space_.labels_
    assert chosen != 0
    assert not model.predict(X)[:, 0].any()
