"""Logistic regression by BFGS: its minimum, WEKA's coefficients after some steps, and the lengths of steps."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy.special import expit

from mlcdr import LogisticBFGS, LogisticRegression
from mlcdr.numerics.step_length import find_step_length
from tests.methods.problems import as_sparse, problem


def test_after_enough_steps_it_is_the_minimum_that_newton_has():
    X, Y = problem("scales")
    X[:, 9] = 3.0
    y = Y[:, 1]
    exact = LogisticRegression(0.2, "free", "unit_variance", tol=1e-13).fit(X, y)
    for rows in (X, as_sparse(X)):
        found = LogisticBFGS(0.1, 1000).fit(rows, y)
        assert found.n_iter_ < 1000
        np.testing.assert_allclose(found.predict_proba(rows), exact.predict_proba(X), atol=2e-5)


def test_fewer_steps_end_before_it_and_each_lowers_the_objective():
    X, Y = problem("plain")
    y = Y[:, 0]
    standard = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)

    def objective(steps):
        model = LogisticBFGS(0.1, steps).fit(X, y)
        weights = model.coef_[0] * X.std(axis=0, ddof=1)
        scores = standard @ weights + model.intercept_ + model.coef_[0] @ X.mean(axis=0)
        return np.logaddexp(0, np.where(y, -scores, scores)).sum() + 0.1 * weights @ weights

    reached = [objective(steps) for steps in (1, 2, 4, 8, 16, 200)]
    assert np.all(np.diff(reached) < 0)


def test_weka_has_the_same_coefficients_after_five_steps():
    """Of weka.classifiers.functions.Logistic 3.7.12, -R 0.1 -M 5, on 40 rows; its coefficients are of "no", hence −."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(40, 3)) * [1, 10, 0.1] + [0, 5, 1], 3)
    y = (X[:, 0] + X[:, 1] / 10 + np.round(rng.normal(size=40), 3) > 0.5).astype(int)
    found = LogisticBFGS(0.1, 5).fit(X, y)
    np.testing.assert_allclose(-found.coef_[0], [-2.4977, -0.1841, 4.7896], atol=6e-5)
    np.testing.assert_allclose(-found.intercept_, -4.4903, atol=6e-5)


def test_a_bfgs_matrix_kept_whole_gives_the_same_weights():
    """The plain formula: B grows by yyᵀ/yᵀs − (Bs)(Bs)ᵀ/sᵀBs, and the direction is −B⁻¹g."""
    X, Y = problem("plain")
    y = Y[:, 0].astype(float)
    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.ones(len(X))])
    penalty = np.append(np.full(X.shape[1], 0.1), 0.0)

    def value(v):
        scores = Z @ v
        return float(np.logaddexp(0, np.where(y, -scores, scores)).sum() + penalty @ v**2)

    def gradient(v):
        return Z.T @ (expit(Z @ v) - y) + 2 * penalty * v

    v = np.append(np.zeros(X.shape[1]), np.log((y.sum() + 1) / (len(y) - y.sum() + 1)))
    B = np.eye(len(v))
    for _ in range(6):
        g = gradient(v)
        d = -np.linalg.solve(B, g)

        def along(t, v=v, d=d):
            return value(v + t * d)

        def slope(t, v=v, d=d):
            return gradient(v + t * d) @ d

        length = find_step_length(along, slope, value(v), g @ d, 1e-9, 100)
        s = length * d
        change = gradient(v + s) - g
        B += np.outer(change, change) / (change @ s) - np.outer(B @ s, B @ s) / (s @ B @ s)
        v = v + s
    found = LogisticBFGS(0.1, 6).fit(X, Y[:, 0])
    np.testing.assert_allclose(found.coef_[0] * X.std(axis=0, ddof=1), v[:-1], rtol=1e-8, atol=1e-10)


def test_a_label_that_is_constant_is_certain():
    X, _ = problem("plain")
    model = LogisticBFGS().fit(X, np.ones(len(X), dtype=int))
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.predict(X), 1)


@pytest.mark.parametrize(
    ("value", "slope", "descent"),
    [
        pytest.param(lambda t: (t - 0.1) ** 2, lambda t: 2 * (t - 0.1), -0.2, id="too long"),
        pytest.param(lambda t: (t - 50) ** 2, lambda t: 2 * (t - 50), -100.0, id="too short"),
        pytest.param(lambda t: t**4 - t**3 - 0.01 * t, lambda t: 4 * t**3 - 3 * t**2 - 0.01, -0.01, id="two bends"),
        pytest.param(lambda t: inf if t > 0.3 else -t, lambda t: -1.0 + 2 * (t > 0.2), -1.0, id="infinite"),
    ],
)
def test_a_step_lowers_the_value_enough_and_is_not_too_steep(value, slope, descent):
    length = find_step_length(value, slope, value(0), descent, 1e-9, 100)
    assert value(length) <= value(0) + 1e-4 * length * descent
    assert slope(length) >= 0.9 * descent


def test_without_a_lower_value_there_is_no_step():
    assert find_step_length(lambda t: t, lambda t: 1.0, 0.0, -1.0, 1e-6, 100) == 0
