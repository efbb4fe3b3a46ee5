"""The composition with parts of other makers: what they must not do goes no further."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from mlcdr.composition import ComposedClassifier
from mlcdr.label_space.cplst import CPLST
from mlcdr.label_space.plst import PLST
from mlcdr.learners.least_squares import LeastSquares
from mlcdr.moments import Moments
from mlcdr.thresholds import Fixed, Zero
from tests.methods.problems import problem


class Says(RegressorMixin, BaseEstimator):
    """A regressor that says the same whatever it is asked."""

    def __init__(self, value=None):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.value(len(X))


class Scribbles(StandardScaler):
    """A transformer that writes into what it is given."""

    def transform(self, X, copy=None):
        X[:] = 0
        return X


class Claims(ClassifierMixin, Says):
    """A classifier that does."""


@pytest.mark.parametrize(
    ("learner", "label_space", "told"),
    [
        (Says(lambda n: np.full((n, 6), np.nan)), None, "Says.predict returned nan .* where a number"),
        (Says(np.zeros), None, r"shape \(30, 1\) where \(30, 6\)"),
        (Says(lambda n: np.zeros((n, 6))), PLST(2), r"shape \(30, 6\) where \(30, 2\)"),
        (Claims(lambda n: -np.ones((n, 6))), None, "Claims.predict returned -1.0 .* where 0 or 1"),
        (Claims(lambda n: 2 * np.ones((n, 6))), None, "where 0 or 1"),
        (Claims(np.zeros), None, r"shape \(30, 1\) where \(30, 6\)"),
    ],
)
def test_an_answer_that_is_none_is_refused(learner, label_space, told):
    X, Y = problem("plain")
    model = ComposedClassifier(learner, label_space=label_space).fit(X[:90], Y[:90])
    with pytest.raises(ValueError, match=told):
        model.predict(X[90:])


def test_a_part_cannot_change_the_rows_that_others_get():
    X, Y = problem("plain")
    part = Moments.from_arrays(X, Y).without(np.arange(9))
    for scaler in (StandardScaler(copy=False), Scribbles()):
        careless = ComposedClassifier(LeastSquares(), feature_space=[scaler])
        with pytest.raises(ValueError, match="read-only") if isinstance(scaler, Scribbles) else nullcontext():
            careless.fit_moments(part)
    np.testing.assert_array_equal(part.rows()[0], X[9:])
    np.testing.assert_array_equal(part.rows()[1], Y[9:])


def test_equals_the_parts_by_hand():
    X, Y = problem("plain")
    new = problem("plain", seed=1)[0]
    space = CPLST(3).fit(X, Y)
    codes = KNeighborsRegressor(3).fit(X, space.encode(Y)).predict(new)
    model = ComposedClassifier(KNeighborsRegressor(3), label_space=CPLST(3)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), space.decode(codes) > 0.5)

    pca = PCA(4).fit(X)
    by_hand = LinearRegression().fit(pca.transform(X), Y).predict(pca.transform(new)) > 0.5
    model = ComposedClassifier(LeastSquares(), feature_space=[PCA(4)]).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), by_hand)

    model = ComposedClassifier(KNeighborsClassifier(3)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), KNeighborsClassifier(3).fit(X, Y).predict(new))
    np.testing.assert_array_equal(model.decision_function(new) > 0, model.predict(new))  # odd neighbours: no ties
    half = ComposedClassifier(KNeighborsClassifier(3), threshold=Fixed(0.9)).fit(X, Y)
    assert half.predict(new).sum() < model.predict(new).sum()


def test_a_classifier_fits_no_codes():
    X, Y = problem("plain")
    with pytest.raises(ValueError, match="fits label sets, not codes"):
        ComposedClassifier(KNeighborsClassifier(), label_space=PLST()).fit(X, Y)


def test_thresholds():
    scores = np.array([[0.5, 0.6, 0.4], [-1.0, -2.0, -0.5], [0.0, 0.0, 0.0]])
    assert Fixed(0.5).apply(scores).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert Zero().apply(scores).tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert Zero(fallback="top").apply(scores).tolist() == [[1, 1, 1], [0, 0, 1], [1, 0, 0]]
