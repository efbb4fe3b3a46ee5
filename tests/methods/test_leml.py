"""LEML: the optimum of the nuclear norm by its certificate, closed forms, the paper's predictions, large problems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

from mlcdr import CPLST, LEML, ComposedClassifier, LeastSquares, Ridge
from mlcdr.numerics import moments as moments_module
from mlcdr.numerics import operators
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem


def centred(X, Y):
    return X - X.mean(0), Y - Y.mean(0)


def objective(x, z, W, H, alpha):
    return 0.5 * np.sum((z - x @ W @ H.T) ** 2) + 0.5 * alpha * (np.sum(W**2) + np.sum(H**2))


@pytest.mark.parametrize("name", [n for n in NAMES if n != "scales"])
def test_with_all_dimensions_it_is_the_optimum_of_the_nuclear_norm(name):
    """By the subgradient: G = X'(Z − XB) has ‖G‖₂ ≤ λ and ⟨G, B⟩ = λ‖B‖_*, and no other B has a smaller objective."""
    X, Y = problem(name)
    x, z = centred(X, Y)
    space = LEML(alpha=2.0, tol=1e-13, max_iter=10_000).fit(X, Y)
    B = space.feature_weights_ @ space.directions_
    G = x.T @ (z - x @ B)
    assert np.linalg.norm(G, 2) <= 2.0 * (1 + 1e-5)
    assert np.sum(G * B) == pytest.approx(2.0 * np.linalg.norm(B, "nuc"), rel=1e-4)
    assert space.final_objective_ == pytest.approx(
        objective(x, z, space.feature_weights_, space.directions_.T, 2.0), rel=1e-6
    )


@pytest.mark.parametrize("m", [2, 6])
def test_uncorrelated_features_soften_the_singular_values(m):
    """Where X'X = I the closed form: the singular values of X'Z less λ, the m largest of them."""
    X, Y = problem("plain")
    x, z = centred(X, Y)
    X = np.linalg.qr(x)[0]
    u, s, v = np.linalg.svd(X.T @ z, full_matrices=False)
    expected = (u * np.maximum(s - 0.7, 0.0))[:, :m] @ v[:m]
    space = LEML(m, alpha=0.7, tol=0.0, max_iter=3000).fit(X, Y)
    np.testing.assert_allclose(space.feature_weights_ @ space.directions_, expected, atol=1e-6)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_without_a_penalty_it_is_reduced_rank_regression(m):
    """As the paper says of λ → 0: CPLST with least squares, and of all matrices of that rank the best."""
    X, Y = problem("plain")
    space = LEML(m, alpha=1e-9, tol=0.0, max_iter=3000).fit(X, Y)
    found = centred(X, Y)[0] @ space.feature_weights_ @ space.directions_ + Y.mean(0)
    cplst = ComposedClassifier(LeastSquares(), CPLST(m)).fit(X, Y)
    np.testing.assert_allclose(found, cplst.decision_function(X) + 0.5, atol=1e-6)
    fitted = LinearRegression().fit(X, Y).predict(X) - Y.mean(0)
    u, s, v = np.linalg.svd(fitted, full_matrices=False)
    np.testing.assert_allclose(found - Y.mean(0), (u * s)[:, :m] @ v[:m], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_ridge_regression_of_the_codes_gives_the_papers_predictions(name):
    X, Y = problem(name)
    model = ComposedClassifier(Ridge(3.0), LEML(3, alpha=3.0)).fit(X, Y)
    space = model.label_space_
    expected = centred(X, Y)[0] @ space.feature_weights_ @ space.directions_ + Y.mean(0)
    np.testing.assert_allclose(model.decision_function(X) + 0.5, expected, atol=1e-7)
    assert np.all(np.diff(space.objective_) <= 1e-12 * space.objective_[0])
    lengths = np.linalg.norm(space.directions_, axis=1)
    assert np.all(np.diff(lengths) <= 0)
    np.testing.assert_allclose(space.directions_ @ space.directions_.T, np.diag(lengths**2), atol=1e-9)


def test_error_terms_sum_to_the_squared_error():
    X, Y = problem("plain")
    model = ComposedClassifier(Ridge(1.0), LEML(3)).fit(X[:80], Y[:80])
    codes = model.output(X[80:])
    encoding, prediction = model.label_space_.error_terms(Y[80:], codes)
    error = np.sum((Y[80:] - model.label_space_.decode(codes)) ** 2) / 40
    assert encoding[-1] + prediction[-1] == pytest.approx(error)
    assert len(encoding) == len(prediction) == 3


@pytest.mark.parametrize("wide", [True, False], ids=["C not formed", "C formed"])
def test_large_problems_are_solved_by_products_with_the_rows(wide, monkeypatch):
    """Where no d×d matrix is formed, nor d×K where that is large, the same as where they are."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.3, (150, 40)).astype(float))
    Y = (X @ rng.standard_normal((40, 25)) + rng.standard_normal((150, 25)) > 1).astype(np.uint8)
    moments = Moments.from_arrays(X, sp.csr_array(Y))
    leml = LEML(4, alpha=2.0, tol=1e-12, max_iter=1000)
    expected = ComposedClassifier(Ridge(2.0), leml).fit_moments(moments)
    monkeypatch.setattr(operators, "GRADIENTS_FROM", 10)
    if wide:
        monkeypatch.setattr(moments_module, "WIDE", 10)
    fresh = Moments.from_arrays(X, sp.csr_array(Y))
    assert fresh.both_large
    assert (fresh.cross is not None) == wide
    found = ComposedClassifier(Ridge(2.0), leml).fit_moments(fresh)
    assert found.label_space_.final_objective_ == pytest.approx(expected.label_space_.final_objective_, rel=1e-8)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-3)
    with pytest.raises(KeyError):
        fresh.memo.get("xx", lambda: {}["S was not formed"])
