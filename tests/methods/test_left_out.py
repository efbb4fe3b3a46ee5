"""What the regression on a split's training rows predicts of the rows left out, in closed form: against refitting."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mlcdr.numerics.left_out
from mlcdr import CPLST, OCCA, PCA, PLST, ComposedClassifier, LeastSquares, Maximise, Ridge
from mlcdr.numerics.left_out import left_out, predict_left_out
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.regression import explained_scatter
from tests.methods.problems import NAMES, problem

LEFT = np.array([80, 3, 41, 40, 119, 7, 10, 0])  # in no order
FEW = np.array([31, 3, 20, 39, 7, 10, 0])  # of 40 rows


def refitted(X, Y, left, ridge):
    """f(x) − ȳ of the rows left out, and ZᵀHZ, from the training rows: the shortest solution for ridge 0."""
    train = np.setdiff1d(np.arange(len(X)), left)
    mean = X[train].mean(0)
    x, z = X[train] - mean, Y[train] - Y[train].mean(0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    kept = s > 1e-10 * s[0]
    shrunk = u[:, kept].T @ z * (s[kept] / (s[kept] ** 2 + ridge))[:, None]
    half = u[:, kept].T @ z * (s[kept] / np.sqrt(s[kept] ** 2 + ridge))[:, None]
    return (X[left] - mean) @ vt[kept].T @ shrunk, half.T @ half


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", [*NAMES, "words", "few words"])
def test_refitting_gives_the_same(name, form, ridge):
    X, Y = problem("wide" if "words" in name else name)
    if name == "words":  # some stand in one row only, left out or not, and rows depend on each other
        X = np.random.default_rng(3).binomial(1, 0.02, X.shape).astype(float)
    if name == "few words":
        X = np.hstack([X[:, :5], X[:, :5] @ np.random.default_rng(3).standard_normal((5, 40))])
        X[20, 44] += 1.0
    Y[3, 4] = 1  # a label that has no positive row but one left out
    left = FEW if len(X) == 40 else LEFT
    moments = Moments.from_arrays(form(X), Y).without(left)
    found = left_out(moments, ridge)
    deviations, explained = refitted(X, Y, left, ridge)
    np.testing.assert_allclose(found.deviations, deviations, atol=1e-9)
    np.testing.assert_allclose(found.explained, explained, atol=1e-9)
    assert not found.deviations[:, 4].any()
    assert not found.explained[4].any()
    assert not found.explained[:, 4].any()
    np.testing.assert_array_equal(explained_scatter(moments, ridge), found.explained)


def test_nearly_dependent_features_cost_no_digits():
    X, Y = problem("plain")
    X[:, 1] = X[:, 0] + 3e-4 * X[:, 1]
    found = left_out(Moments.from_arrays(X, Y).without(LEFT))
    deviations, explained = refitted(X, Y, LEFT, 0)
    np.testing.assert_allclose(found.deviations, deviations, atol=1e-11)
    np.testing.assert_allclose(found.explained, explained, atol=1e-11)


def test_it_gives_way_to_a_fit():
    X, Y = problem("plain")
    whole = Moments.from_arrays(X, Y)
    assert left_out(whole.without(LEFT)) is not None
    assert left_out(whole) is None
    assert left_out(whole.without(np.arange(17))) is None  # as many as features
    assert left_out(whole.without(LEFT[:2]).without(np.arange(9))) is None  # of a part of the rows
    assert left_out(whole.without(LEFT).uncentred()) is None
    assert left_out(whole.without(LEFT).with_targets(np.eye(6), np.ones((17, 6)), np.zeros(6))) is None
    wide = Moments.from_arrays(*problem("wide"))
    assert left_out(wide.without(np.arange(10))) is not None
    assert left_out(wide.without(np.arange(11))) is None  # more than a quarter of the rows


def test_it_gives_way_where_the_training_rows_lose_a_dimension():
    X, Y = problem("plain")
    X[:, 6] = 0
    X[41, 6] = 2.0  # known from a row left out alone: its coefficient is 0, not what fits that row
    whole = Moments.from_arrays(X, Y)
    assert left_out(whole.without(LEFT)) is None
    assert left_out(whole.without(np.delete(LEFT, 2))) is not None
    assert left_out(whole.without(LEFT), 0.1) is not None  # a penalty decides by itself


def test_it_gives_way_where_a_direction_far_larger_than_the_least_is_lost():
    """A large feature that stands in the rows left out alone: along it rounding is all that the inverse knows."""
    Y = np.array([[1.0], [0], [1], [0], [0]])
    present = np.random.default_rng(79).random((5, 6)) > 0.6
    for unit, gives_way in ((1.0, False), (1e-2, True), (1e-4, True)):
        moments = Moments.from_arrays(present * np.array([1, unit, 1 / unit, 1, unit, 1]), Y).without(np.array([1]))
        assert (left_out(moments) is None) == gives_way


@pytest.mark.parametrize("shape", [(12, 2), (12, 20)])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_it_gives_way_where_no_feature_varies(shape, ridge):
    moments = Moments.from_arrays(np.full(shape, 3.7), np.resize([[0, 1], [1, 0], [1, 1.0]], (12, 2)))
    assert left_out(moments.without(np.array([1])), ridge) is None


def test_it_gives_way_where_its_basis_would_be_large(monkeypatch):
    monkeypatch.setattr(mlcdr.numerics.left_out, "_ENTRIES", 120 * 23 - 1)
    assert left_out(Moments.from_arrays(*problem("plain")).without(LEFT)) is None


@pytest.mark.parametrize("learner", [LeastSquares(), Ridge(0.3)])
@pytest.mark.parametrize("space", [None, PLST(3), CPLST(), OCCA(2)], ids=repr)
def test_a_classifier_predicts_as_if_it_were_fitted(learner, space):
    X, Y = problem("dependent")
    whole = Moments.from_arrays(X, Y)
    fitted = ComposedClassifier(learner, space).fit_moments(whole.without(LEFT))
    classifier = ComposedClassifier(learner, space)
    output = classifier.output_left_out(whole.without(LEFT))
    expected = fitted.output(X[LEFT])
    np.testing.assert_allclose(np.abs(output), np.abs(expected), atol=1e-9)  # directions may be turned round
    np.testing.assert_array_equal(classifier.labels_of(output), fitted.predict(X[LEFT]))


@pytest.mark.parametrize(
    "classifier",
    [
        ComposedClassifier(LeastSquares(rank_deficient="drop_aliased")),
        ComposedClassifier(Ridge(intercept="penalised")),
        ComposedClassifier(LeastSquares(), feature_space=[PCA(3)]),
        ComposedClassifier(LeastSquares(), threshold=Maximise("f1")),
    ],
    ids=["aliased", "penalised", "feature space", "threshold"],
)
def test_a_classifier_with_more_to_fit_says_so(classifier):
    assert classifier.output_left_out(Moments.from_arrays(*problem("plain")).without(LEFT)) is None


def test_codes_are_predicted_as_their_labels_are():
    X, Y = problem("plain")
    moments = Moments.from_arrays(X, Y).without(LEFT)
    matrix = np.random.default_rng(0).standard_normal((6, 2))
    codes = moments.map_labels(np.full(6, 0.2), matrix)
    expected = LeastSquares().fit_moments(codes).predict_valid(X[LEFT])
    np.testing.assert_allclose(predict_left_out(codes), expected, atol=1e-11)
