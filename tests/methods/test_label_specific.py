"""LLSF and LIFT: the papers' steps written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity

from mlcdr import LIFT, LLSF, LinearSVM, Ridge
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem


def objective(W, X, Y, alpha, beta):
    R = 1 - cosine_similarity(Y.T.astype(float))
    np.fill_diagonal(R, 0)
    loss = 0.5 * np.linalg.norm(X @ W - Y) ** 2 + 0.5 * alpha * np.trace(R @ W.T @ W)
    return loss + beta * np.abs(W).sum()


def test_llsf_takes_the_papers_steps():
    X, Y = problem("plain")
    alpha, beta, gamma, d = 0.5, 2.0, 0.01, X.shape[1]
    R = 1 - cosine_similarity(Y.T.astype(float))
    np.fill_diagonal(R, 0)
    before = W = np.linalg.inv(X.T @ X + gamma * np.eye(d)) @ X.T @ Y
    L = np.sqrt(2 * (np.linalg.norm(X.T @ X, 2) ** 2 + np.linalg.norm(alpha * R, 2) ** 2))
    b_before = b = 1.0
    values = []
    for _ in range(25):
        ahead = W + (b_before - 1) / b * (W - before)
        G = ahead - (X.T @ (X @ ahead - Y) + alpha * ahead @ R) / L
        b_before, b = b, (1 + np.sqrt(4 * b**2 + 1)) / 2
        before, W = W, np.sign(G) * np.maximum(np.abs(G) - beta / L, 0)
        values.append(objective(W, X, Y, alpha, beta))
    found = LLSF(alpha=alpha, beta=beta, gamma=gamma, max_iter=25, tol=0).fit(X, Y)
    np.testing.assert_allclose(found.coef_.T, W, atol=1e-10)
    assert found.n_iter_ == 25
    assert 0 < np.count_nonzero(W) < W.size
    changes = np.abs(np.diff(values)) / np.abs(values[1:])
    for tol in (1e-2, 1e-3, 1e-4):
        stopped = LLSF(alpha=alpha, beta=beta, gamma=gamma, max_iter=25, tol=tol).fit(X, Y)
        assert stopped.n_iter_ == 2 + np.argmax(changes <= tol)


def test_llsf_takes_the_same_steps_on_rows_with_few_entries():
    rng = np.random.default_rng(8)
    X = rng.random((30, 120)) * (rng.random((30, 120)) < 0.03)
    Y = (rng.random((30, 4)) < 0.3).astype(float)
    dense, sparse = (LLSF(beta=0.01, tol=0).fit(rows, Y) for rows in (X, as_sparse(X)))
    assert 0 < np.count_nonzero(dense.coef_) < dense.coef_.size
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-10)


def test_llsf_without_likeness_is_the_lasso():
    X, Y = problem("plain")
    found = LLSF(alpha=0.0, beta=3.0, max_iter=5000, tol=0).fit(X, Y)
    for k in range(Y.shape[1]):
        lasso = Lasso(alpha=3.0 / len(X), fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, Y[:, k])
        np.testing.assert_allclose(found.coef_[k], lasso.coef_, atol=1e-6)


@pytest.mark.parametrize("base", [None, Ridge(0.5), LinearSVM()], ids=["none", "ridge", "svm"])
def test_llsf_fits_each_label_to_its_own_features(base):
    X, Y = problem("plain")
    Y[:, 3] = 1
    found = LLSF(base, beta=4.0).fit(X[:90], Y[:90])
    assert any(0 < len(chosen) < X.shape[1] for chosen in found.features_)
    said = found.predict(X[90:])
    for k, chosen in enumerate(found.features_):
        if k in (3, 4) or not len(chosen):
            expected = np.full(30, Y[:90, k].mean() > 0.5)
        elif base is None:
            expected = X[90:] @ found.coef_[k] > 0.5
        elif k == 0 or isinstance(base, Ridge):
            model = base.fit(X[:90][:, chosen], Y[:90, k])
            scores = model.predict(X[90:][:, chosen])
            expected = scores > 0.5
        else:
            continue
        np.testing.assert_array_equal(said[:, k], expected)
    nothing = LLSF(base, beta=1e6).fit(X, Y)
    assert not any(len(chosen) for chosen in nothing.features_)
    np.testing.assert_array_equal(nothing.predict(X), np.repeat([Y.mean(axis=0) > 0.5], len(X), axis=0))


@pytest.mark.parametrize(("seed", "shared"), [(0, True), (None, False)])
def test_points_of_a_search_with_the_same_features_of_a_label_share_its_model(seed, shared):
    X, Y = problem("plain")
    base = LinearSVM(random_state=seed)
    moments = Moments.from_arrays(X, Y)
    first, same, other = (LLSF(base, beta=beta).fit_moments(moments) for beta in (1e-9, 1e-8, 4.0))
    anew = LLSF(base, beta=4.0).fit(X, Y)
    for k, (mine, yours) in enumerate(zip(first.links_, same.links_, strict=True)):
        if len(np.unique(Y[:, k])) == 2:
            assert len(same.features_[k]) == X.shape[1]
            assert (mine.model is yours.model) == shared
    assert any(0 < len(chosen) < X.shape[1] for chosen in other.features_)
    if shared:
        np.testing.assert_array_equal(other.decision_function(X), anew.decision_function(X))


def test_lift_is_that_of_plain_loops():
    X, Y = problem("plain")
    Y[:, 3] = 1
    found = LIFT(LogisticRegression(max_iter=5000), ratio=0.3, random_state=0).fit(X[:90], Y[:90])
    rng = np.random.RandomState(0)
    said = found.predict(X[90:])
    assert said[:, 3].all()
    assert not said[:, 4].any()
    for k in (0, 1, 2, 5):
        y = Y[:90, k]
        m = int(np.ceil(0.3 * min(y.sum(), (1 - y).sum())))
        centres = []
        for value in (1, 0):
            rows = X[:90][y == value]
            seed = rng.randint(np.iinfo(np.int32).max)
            start = KMeans(m, init="random", n_init=1, max_iter=100, random_state=seed).fit(rows).cluster_centers_
            nearest = cdist(rows, start).argmin(axis=1)
            for c in range(m):  # a fixed point of k-means
                np.testing.assert_allclose(start[c], rows[nearest == c].mean(axis=0), atol=1e-8)
            centres.append(start)
        centres = np.vstack(centres)
        np.testing.assert_allclose(found.centres_[k], centres, atol=1e-12)
        model = LogisticRegression(max_iter=5000).fit(cdist(X[:90], centres), y)
        np.testing.assert_array_equal(said[:, k], model.predict(cdist(X[90:], centres)))


def test_lift_takes_the_share_for_what_it_is():
    X = np.random.default_rng(0).standard_normal((200, 3))
    Y = (np.arange(200) < 100).astype(np.uint8)[:, None]
    assert 0.07 * 100 > 7  # in binary fractions
    assert len(LIFT(ratio=0.07, random_state=0).fit(X, Y).centres_[0]) == 14
    Y[1:] = 0
    assert len(LIFT(ratio=1e-12, random_state=0).fit(X, Y).centres_[0]) == 2


def test_lift_of_equal_rows_goes_by_frequency():
    X, Y = problem("plain")
    X[:, :] = X[0]
    said = LIFT(ratio=1.0, random_state=0).fit(X, Y).predict(X)
    np.testing.assert_array_equal(said, np.repeat([Y.mean(axis=0) > 0.5], len(X), axis=0))


@pytest.mark.parametrize("sparse", [False, True])
def test_lift_sees_through_an_offset(sparse):
    """Distances do not depend on it; squares of 1e16, from which they are found, would leave nothing of them."""
    rng = np.random.default_rng(0)
    X = rng.integers(-(2**20), 2**20, (120, 5)) / 2**18
    Y = (X[:, :3] + rng.standard_normal((120, 3)) > 1).astype(int)
    scores = []
    for offset in (0.0, 2.0**26):  # without rounding
        features = as_sparse(X + offset) if sparse else X + offset
        fitted = LIFT(Ridge(0.1), random_state=0).fit(features, Y)
        scores.append(fitted.decision_function(features))
        assert fitted.centres_[0].min() >= offset - 4
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-7)
