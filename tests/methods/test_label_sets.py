"""Label powersets, RAkEL and calibrated label ranking: written out, and beside scikit-learn and scikit-multilearn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from mlcdr import CalibratedLabelRanking, LabelPowerset, LinearSVM, RAkEL
from tests.methods.problems import problem

BASES = {
    "probabilities": LogisticRegression(),
    "decision values": LinearSVC(random_state=0),
    "a tree": DecisionTreeClassifier(random_state=0),
    "naive Bayes": GaussianNB(),
}


@pytest.mark.parametrize("name", BASES)
def test_a_label_powerset_is_a_classifier_of_label_sets(name):
    X, Y = problem("plain")
    n = 90
    texts = np.array(["".join(map(str, row)) for row in Y])
    theirs = BASES[name].fit(X[:n], texts[:n]).predict(X[n:])
    expected = np.array([[int(c) for c in text] for text in theirs])
    found = LabelPowerset(BASES[name]).fit(X[:n], Y[:n])
    np.testing.assert_array_equal(found.predict(X[n:]), expected)
    np.testing.assert_array_equal(found.decision_function(X[n:]) > 0, expected)
    assert {tuple(row) for row in found.predict(X[n:])} <= {tuple(row) for row in Y[:n]}


def test_a_label_powerset_of_a_regressor_or_a_binary_classifier():
    X, Y = problem("plain")
    sets, codes = np.unique(Y[:90], axis=0, return_inverse=True)
    indicators = np.eye(len(sets))[codes.ravel()]
    scores = LinearRegression().fit(X[:90], indicators).predict(X[90:])
    for base in (None, LinearRegression()):
        found = LabelPowerset(base).fit(X[:90], Y[:90])
        np.testing.assert_array_equal(found.predict(X[90:]), sets[scores.argmax(axis=1)])
    column = np.column_stack(
        [LinearSVC(dual=False).fit(X[:90], indicators[:, c]).decision_function(X[90:]) for c in range(len(sets))]
    )
    found = LabelPowerset(LinearSVM(solver="primal")).fit(X[:90], Y[:90])
    np.testing.assert_array_equal(found.predict(X[90:]), sets[column.argmax(axis=1)])


def test_scores_of_a_label_powerset():
    """The best set with the label less the best one without it; a label on which all sets agree has ±1e300."""
    X, Y = problem("plain")
    Y[:, 3] = 1
    found = LabelPowerset(LogisticRegression()).fit(X, Y)
    of_sets = found.model_.scores(X[:7])
    scores = found.decision_function(X[:7])
    for i in range(7):
        for k in range(Y.shape[1]):
            there = [s for s, c in zip(of_sets[i], found.label_sets_, strict=True) if c[k]]
            absent = [s for s, c in zip(of_sets[i], found.label_sets_, strict=True) if not c[k]]
            expected = max(there) - max(absent) if there and absent else (1e300 if there else -1e300)
            assert scores[i, k] == pytest.approx(expected)
    single = LabelPowerset(LogisticRegression()).fit(X, np.repeat(Y[:1], len(Y), axis=0))
    np.testing.assert_array_equal(single.predict(X[:3]), np.repeat(Y[:1], 3, axis=0))


def test_a_tie_of_label_sets_has_scores_of_the_set_that_is_predicted():
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    Y = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [1, 1]])
    found = LabelPowerset(DecisionTreeClassifier()).fit(X, Y)
    np.testing.assert_array_equal(found.decision_function(X) > 0, found.predict(X))


# -------------------------------------------------------------------- RAkEL


def test_rakel_is_the_vote_of_label_powersets():
    X, Y = problem("plain")
    sets = [[0, 1, 2], [3, 2, 5], [0, 4, 5]]
    found = RAkEL(LogisticRegression(), labelsets=sets).fit(X[:90], Y[:90])
    votes, voters = np.zeros((30, 6)), np.zeros(6)
    for chosen in sets:
        votes[:, chosen] += LabelPowerset(LogisticRegression()).fit(X[:90], Y[:90][:, chosen]).predict(X[90:])
        voters[chosen] += 1
    np.testing.assert_array_equal(found.predict(X[90:]), votes > voters / 2)
    np.testing.assert_allclose(found.decision_function(X[90:]), votes / voters - 0.5)
    few = RAkEL(LogisticRegression(), labelsets=[[1, 2]]).fit(X, Y)
    assert not few.predict(X)[:, [0, 3, 4, 5]].any()
    for wrong in ([[0, 0, 1]], [[0, 6]], [[]], [[-1, 2]], [0, 1]):
        with pytest.raises(ValueError, match="some of the labels 0, …, 5, once each"):
            RAkEL(labelsets=wrong).fit(X, Y)
    with pytest.raises(ValueError, match="none is given"):
        RAkEL(labelsets=[]).fit(X, Y)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 6, 9, 40])
def test_rakel_has_distinct_sets_or_a_division_of_all_labels(n_labels):
    X = problem("plain")[0]
    Y = (X[:, [0]] > np.linspace(-1, 1, n_labels)).astype(int)
    k = min(3, n_labels)
    overlapping = [tuple(s) for s in RAkEL(k=3, random_state=1).fit(X, Y).labelsets_]
    every = set(combinations(range(n_labels), k))
    assert len(overlapping) == len(set(overlapping)) == min(2 * n_labels, len(every))
    assert set(overlapping) <= every
    disjoint = RAkEL(k=3, disjoint=True, random_state=1).fit(X, Y).labelsets_
    assert sorted(np.concatenate(disjoint).tolist()) == list(range(n_labels))
    assert len(disjoint) == -(-n_labels // 3)
    again = RAkEL(k=3, random_state=1).fit(X, Y).labelsets_
    assert [tuple(s) for s in again] == overlapping
    assert len(RAkEL(n_models=2).fit(X, Y).labelsets_) == min(2, len(every))


def test_rakel_draws_any_set_as_often():
    drawn = [tuple(s) for seed in range(60) for s in RAkEL(k=2, n_models=6, random_state=seed)._draw(9)]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 36
    assert ((counts - 10) ** 2 / 10).sum() < 70  # chi-squared of 35 degrees: 66.6 once in a thousand


@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression()], ids=["bayes", "logistic"])
def test_rakel_is_scikit_multilearns(base):
    ensemble = pytest.importorskip("skmultilearn.ensemble", reason="needs scikit-multilearn-ng")
    from skmultilearn.cluster import FixedLabelSpaceClusterer
    from skmultilearn.problem_transform import LabelPowerset as TheirPowerset

    X, Y = problem("plain")
    sets = [s.tolist() for s in RAkEL(random_state=0)._draw(6)]
    theirs = ensemble.MajorityVotingClassifier(
        classifier=TheirPowerset(base, require_dense=[True, True]), clusterer=FixedLabelSpaceClusterer(clusters=sets)
    )
    expected = theirs.fit(X[:90], sp.csr_matrix(Y[:90])).predict(X[90:]).toarray()
    np.testing.assert_array_equal(RAkEL(base, random_state=0).fit(X[:90], Y[:90]).predict(X[90:]), expected)


# -------------------------------------------------------------------- calibrated label ranking


@pytest.mark.parametrize("base", [LogisticRegression(), LinearRegression()], ids=["classifier", "regressor"])
def test_calibrated_label_ranking_by_loops(base):
    X, Y = problem("plain")
    Y = Y[:, [0, 1, 2, 3, 5]]
    votes = np.zeros((30, 6))  # the last is the virtual label
    for j in range(5):
        wins = _positive(base, X[:90], Y[:90, j], X[90:])
        votes[:, j] += wins
        votes[:, 5] += 1 - wins
        for k in range(j + 1, 5):
            rows = Y[:90, j] != Y[:90, k]
            wins = _positive(base, X[:90][rows], Y[:90, j][rows], X[90:])
            votes[:, j] += wins
            votes[:, k] += 1 - wins
    found = CalibratedLabelRanking(base).fit(X[:90], Y[:90])
    np.testing.assert_array_equal(found.predict(X[90:]), votes[:, :5] > votes[:, 5:])
    np.testing.assert_array_equal(found.votes(X[90:]), votes)


def _positive(base, X, y, new):
    said = base.fit(X, y).predict(new)
    return (said > 0.5).astype(float)


def test_calibrated_label_ranking_of_equal_and_of_single_labels():
    X, Y = problem("plain")
    twins = CalibratedLabelRanking(LogisticRegression()).fit(X, Y[:, [0, 0]])
    assert not twins.pairs_
    alone = CalibratedLabelRanking(LogisticRegression()).fit(X, Y[:, 0]).predict(X)
    np.testing.assert_array_equal(alone, LogisticRegression().fit(X, Y[:, 0]).predict(X))
    np.testing.assert_array_equal(twins.predict(X), alone[:, None].repeat(2, axis=1))
