"""Logistic regression: against scikit-learn's solvers, which minimise the same with C = 1/λ; awkward rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

from mlcdr import LogisticRegression
from mlcdr.methods.chains.links import with_labels
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem


def test_the_objective_of_the_thesis_has_its_minimum_there():
    """λw + Σ(p − y)x = 0 is (3.6) with its derivative set to nought."""
    X, Y = problem("plain")
    for intercept in ("penalised", "free", "none"):
        model = LogisticRegression(0.3, intercept, tol=1e-12).fit(X, Y[:, 0])
        w, b = model.coef_[0], model.intercept_[0]
        miss = expit(X @ w + b) - Y[:, 0]
        np.testing.assert_allclose(0.3 * w + X.T @ miss, 0, atol=1e-6)
        if intercept == "none":
            assert b == 0
        else:
            assert abs(miss.sum() + (0.3 * b if intercept == "penalised" else 0)) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_scikit_learn(name):
    X, Y = problem(name)
    X = X / np.abs(X).max(axis=0).clip(1e-300)
    for intercept, solver in (("penalised", "liblinear"), ("free", "newton-cholesky")):
        theirs = Theirs(C=10.0, solver=solver, tol=1e-9, max_iter=1000).fit(X, Y[:, 1])
        for rows in (X, as_sparse(X)):
            ours = LogisticRegression(0.1, intercept, tol=1e-12).fit(rows, Y[:, 1])
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
            np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(X), atol=1e-5)
            np.testing.assert_array_equal(ours.predict(rows), theirs.predict(X))


def test_a_penalty_on_features_of_unit_variance_is_one_on_standardised_features():
    X, Y = problem("scales")
    X[:, 9] = 3.0
    standard = StandardScaler(with_mean=True).fit_transform(X) * np.sqrt(119 / 120)
    theirs = Theirs(C=5.0, solver="newton-cholesky", tol=1e-10).fit(standard, Y[:, 1])
    for rows in (X, as_sparse(X)):
        ours = LogisticRegression(0.2, "free", "unit_variance", tol=1e-13).fit(rows, Y[:, 1])
        np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(standard), atol=1e-4)
        smaller = LogisticRegression(0.2, "free", "unit_variance", tol=1e-13).fit(rows * 1e-3, Y[:, 1])
        np.testing.assert_allclose(smaller.predict_proba(rows * 1e-3), ours.predict_proba(rows), atol=1e-4)


def test_features_of_any_scale_and_labels_that_the_features_separate():
    X, Y = problem("scales, dependent")
    y = (X[:, 7] > np.median(X[:, 7])).astype(int)
    for rows in (X, as_sparse(X)):
        assert (LogisticRegression(1e-6).fit(rows, y).predict(rows) == y).mean() > 0.99
    dense, sparse = (LogisticRegression(tol=1e-12).fit(r, Y[:, 0]).predict_proba(X) for r in (X, as_sparse(X)))
    np.testing.assert_allclose(dense, sparse, atol=1e-3)


def test_two_values_of_any_kind():
    X, Y = problem("plain")
    named = np.where(Y[:, 0], "there", "absent")
    plain = LogisticRegression().fit(X, Y[:, 0]).predict(X)
    np.testing.assert_array_equal(LogisticRegression().fit(X, named).predict(X) == "there", plain)


def test_dense_rows_that_are_mostly_zeros_are_as_sparse_ones():
    X, Y = problem("wide")
    X *= np.random.default_rng(1).random(X.shape) < 0.05
    np.testing.assert_array_equal(
        LogisticRegression().fit(X, Y[:, 0]).coef_, LogisticRegression().fit(sp.csr_array(X), Y[:, 0]).coef_
    )


def test_labels_fitted_at_once_are_those_fitted_alone():
    X, Y = problem("wide")
    Y = np.hstack([Y, Y[:, :1], np.zeros((len(Y), 1))])
    chain = np.random.default_rng(0).permutation(Y.shape[1])
    earlier = [chain[: list(chain).index(k)] for k in range(Y.shape[1])]
    for rows in (X, as_sparse(X)):
        for inputs in (None, earlier):
            for k, model in enumerate(LogisticRegression(0.1, "free", "unit_variance").fit_each(rows, Y, inputs)):
                alone = LogisticRegression(0.1, "free", "unit_variance").fit_moments(
                    with_labels(Moments.from_arrays(rows, Y), [] if inputs is None else inputs[k], [k])
                )
                np.testing.assert_array_equal(model.coef_, alone.coef_)
                assert (model.intercept_, model.n_iter_) == (alone.intercept_, alone.n_iter_)
