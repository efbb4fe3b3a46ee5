"""Every output by itself: the same predictions, from fits that see one output each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVR

from mlcdr import ClassifierChain, LeastSquares, Ridge, Separate
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sparse", [False, True])
def test_outputs_are_fitted_as_they_are_together(name, sparse):
    X, Y = problem(name)
    Z = Y @ np.random.default_rng(1).normal(size=(Y.shape[1], 4))
    X = as_sparse(X) if sparse else X
    ridges = [Ridge(0.1, intercept) for intercept in ("free", "penalised", "none")]
    for learner in (LeastSquares(), LeastSquares("drop_aliased"), *ridges):
        together, alone = learner.fit(X, Z).predict(X), Separate(learner).fit(X, Z).predict(X)
        np.testing.assert_allclose(alone, together, rtol=1e-6, atol=1e-7)
    from_moments = Separate().fit_moments(Moments.from_arrays(X, as_sparse(Z) if sparse else Z))
    np.testing.assert_array_equal(from_moments.predict(X), Separate().fit(X, Z).predict(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_a_chain_of_them_is_the_chain(name, intercept):
    X, Y = problem(name)
    together, alone = (
        ClassifierChain(base, order="random", random_state=1)
        for base in (Ridge(0.1, intercept), Separate(Ridge(0.1, intercept)))
    )
    for make in (np.asarray, as_sparse):
        expected = together.fit(make(X), Y).decision_function(make(X))
        np.testing.assert_allclose(alone.fit(make(X), Y).decision_function(make(X)), expected, atol=1e-10)


@pytest.mark.parametrize("learner", [KNeighborsRegressor(3), LinearSVR(random_state=0)])
def test_it_is_scikit_learns_own_loop(learner):
    X, Y = problem("plain")
    expected = MultiOutputRegressor(learner).fit(X, Y).predict(X)
    np.testing.assert_array_equal(Separate(learner).fit(X, Y).predict(X), expected)


def test_without_outputs_there_is_nothing_to_fit():
    X, _ = problem("plain")
    assert Separate().fit_moments(Moments.from_arrays(X, np.zeros((len(X), 0)))).predict(X).shape == (len(X), 0)


def test_whole_numbers_are_solved_as_the_same_in_floating_point():
    X = np.arange(12).reshape(4, 3) % 5
    expected = np.linalg.solve(X.T @ X + 0.1 * np.eye(3), X.T @ np.ones(4))
    for rows in (X, sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        found = Ridge(alpha=0.1, intercept="none").fit_alone(rows, np.ones(4))
        np.testing.assert_allclose(found.coef_.ravel(), expected, rtol=1e-6 if rows.dtype == np.float32 else 1e-12)
