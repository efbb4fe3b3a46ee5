"""The linear SVM: its optimality conditions, both solvers, and what it says of constant labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from mlcdr import BinaryRelevance, LinearSVM
from mlcdr.methods.learners import linear_svm
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem


def gradient(model, X, y):
    """Of ½‖w‖² + ½b² + C Σ max(0, 1 − m)² in (w, b), which is 0 at the minimum."""
    w, b, sign = model.coef_[0], model.intercept_[0], 2.0 * y - 1
    slack = np.maximum(0, 1 - sign * (X @ w + b))
    return np.append(w, b) - 2 * model.C * np.append(X.T @ (sign * slack), sign @ slack)


@pytest.mark.parametrize("C", [1.0, 0.1])
@pytest.mark.parametrize(
    ("solver", "name"), [("primal", "plain"), ("dual", "plain"), ("auto", "plain"), ("auto", "wide")]
)
def test_it_is_at_the_minimum(solver, name, C):
    X, Y = problem(name)
    y = Y[:, 0]
    model = LinearSVM(C, solver, tol=1e-8, random_state=0).fit(X, y)
    assert np.abs(gradient(model, X, y)).max() < 1e-5
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    sparse = LinearSVM(C, solver, tol=1e-8, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-6)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("without_private", [False, True])
@pytest.mark.parametrize("zeros_below", [0.5, 1.0])  # few enough for an array, and so many that it becomes sparse
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_it_is_that_of_scikit_learn_to_the_last_bit(solver, zeros_below, without_private, monkeypatch):
    """Its LIBLINEAR is called without its checks; where it is no longer found, `LinearSVC` is called."""
    if without_private:
        monkeypatch.setattr(linear_svm, "liblinear", None)
    X, Y = problem("plain")
    X = np.where(np.abs(X) < zeros_below, 0.0, X * np.logspace(0, 0.5, X.shape[1]))
    assert sp.issparse(linear_svm._rows(X)) == (zeros_below == 1.0)
    theirs = LinearSVC(dual=solver == "dual", max_iter=10_000, random_state=7).fit(X, Y[:, 0])
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (X, np.asfortranarray(X), sp.csr_array(X), wide, sp.csr_array(X.astype(np.float32))):
        model = LinearSVM(solver=solver, random_state=7).fit_moments(Moments.from_arrays(form, Y[:, [0]]))
        expected = (
            theirs
            if form.dtype == np.float64
            else LinearSVC(dual=solver == "dual", max_iter=10_000, random_state=7).fit(form, Y[:, 0])
        )
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.intercept_, expected.intercept_)
        assert model.n_iter_ == expected.n_iter_
    with pytest.warns(ConvergenceWarning, match="iterations"):
        LinearSVM(solver=solver, max_iter=1, random_state=7).fit(X, Y[:, 0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_labels_of_the_same_rows_share_what_is_made_of_them(form, monkeypatch):
    X, Y = problem("plain")
    of_each = [LinearSVM(random_state=0).fit(form(X), y).coef_ for y in Y.T]
    calls = []
    monkeypatch.setattr(linear_svm, "_rows", lambda X, make=linear_svm._rows: calls.append(X) or make(X))
    links = BinaryRelevance(LinearSVM(random_state=0)).fit(form(X), Y).links_
    assert len(calls) == 1
    np.testing.assert_array_equal([link.model.coef_ for link in links], of_each)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(wrong):
    X, Y = problem("plain")
    X[3, 1] = wrong
    for form in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="Input contains"):
            LinearSVM()._fit_valid(form, Y[:, 0].astype(float))


@pytest.mark.parametrize(("solver", "stops_at"), [("primal", 0.01), ("dual", 0.1)])
def test_without_a_tolerance_it_stops_where_liblinear_does(solver, stops_at):
    X, Y = problem("plain")
    X = X * np.logspace(0, 0.5, X.shape[1])
    model = LinearSVM(solver=solver, tol=None, random_state=0).fit(X, Y[:, 0])
    same = LinearSVM(solver=solver, tol=stops_at, random_state=0).fit(X, Y[:, 0])
    other = LinearSVM(solver=solver, tol=1e-4, random_state=0).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.n_iter_ < other.n_iter_


def test_without_a_tolerance_birds_has_the_printed_macro_f1(real_dataset):
    """Table 4.4 of Sun 2017: .135 ± .018 (the printed spread is a standard error); at the minimum it is .33."""
    birds = real_dataset("birds")
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(birds.X):
        model = BinaryRelevance(LinearSVM(tol=None, random_state=0)).fit(birds.X[train], birds.Y[train])
        scores.append(f1_score(birds.Y[test], model.predict(birds.X[test]), average="macro", zero_division=0))
    error = np.std(scores, ddof=1) / np.sqrt(5)
    assert abs(np.mean(scores) - 0.135) <= 2 * np.hypot(error, 0.018)
    assert error < 0.03
