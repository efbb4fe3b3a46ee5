"""MFS-MCDM, MGFS, GRRO, MDFS: outputs of public programs, their formulas written out, features and labels of no use."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import solve_sylvester

from mlcdr import GRRO, MDFS, MFSMCDM, MGFS
from mlcdr.methods.feature_space.grro import _label_distances
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.discretise import discretised
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem
from tests.methods.test_information import by_counting as h
from tests.methods.test_occ import mi, small


def scaled(X):
    """Each feature from 0 to 1."""
    X = X.toarray() if sp.issparse(X) else X
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)


# Largest differences found: 3e-12 (emotions, raw), 3e-13 (scene), 2e-14 (medical).
@pytest.mark.parametrize("features", ["raw", "minmax"])
@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_mfs_mcdm_is_its_authors_program(given, name, features):
    """As others distribute it, with α = 1."""
    X, Y, put_out = given(name, "selection", "selection")
    fitted = MFSMCDM(alpha=1.0, variant="published_code").fit(X if features == "raw" else scaled(X), Y)
    np.testing.assert_allclose(fitted.scores_, put_out[f"mfsmcdm_{features}_closeness"], atol=1e-10)


# Largest differences found: W 1e-17 (of 9e-4), information 1e-15, D 2e-15, scores 5e-19 (before they are rounded).
def test_grro_is_its_authors_program(given):
    X, Y, put_out = given("emotions", "selection", "selection")
    moments, fitted = Moments.from_arrays(X, Y), GRRO().fit(X, Y)
    np.testing.assert_array_equal(discretised(X, "median")[:20] + 1, put_out["grro_disc_train_first20rows"])
    np.testing.assert_allclose(fitted._redundancy(moments), put_out["grro_FF"], atol=1e-13)
    np.testing.assert_allclose(fitted._information(moments), put_out["grro_FL"], atol=1e-13)
    np.testing.assert_allclose(_label_distances(moments), put_out["grro_LL"], atol=1e-13)
    np.testing.assert_allclose(fitted.coef_, put_out["grro_W"], atol=1e-15)
    np.testing.assert_array_equal(fitted.ranking_, put_out["grro_rank"])


def topsis(D, weights):
    """The textbook's four steps, entry by entry."""
    d, labels = D.shape
    V = np.zeros_like(D)
    for k in range(labels):
        length = sum(D[j, k] ** 2 for j in range(d)) ** 0.5
        for j in range(d):
            V[j, k] = weights[k] * D[j, k] / length if length > 0 else 0.0
    scores = []
    for j in range(d):
        best = sum((V[j, k] - max(V[:, k])) ** 2 for k in range(labels)) ** 0.5
        worst = sum((V[j, k] - min(V[:, k])) ** 2 for k in range(labels)) ** 0.5
        scores.append(worst / (best + worst))
    return scores


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_mfs_mcdm_is_topsis_of_ridge_weights(name, form):
    X, Y = problem(name)
    Y = Y.astype(float)
    D = np.linalg.solve(X.T @ X + 2 * np.eye(X.shape[1]), X.T @ Y)
    fitted = MFSMCDM(alpha=2.0).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.coef_, D, atol=1e-10)
    np.testing.assert_allclose(fitted.scores_, topsis(D, [h(y) for y in Y.T]), atol=1e-10)


def test_mfs_mcdm_takes_weights_with_their_sign_and_no_label_without_entropy():
    rng = np.random.default_rng(0)
    y = (rng.random(80) < 0.4).astype(float)
    X = np.column_stack([rng.standard_normal(80), y, -3 * y, np.zeros(80)])
    Y = np.column_stack([y, np.zeros(80), np.ones(80)])
    fitted = MFSMCDM(alpha=1.0).fit(X, Y)
    assert np.argmin(fitted.coef_[:, 0]) == fitted.ranking_[-1] == 2
    assert fitted.scores_[2] == 0
    np.testing.assert_array_equal(fitted.scores_, MFSMCDM(alpha=1.0).fit(X, Y[:, :1]).scores_)
    np.testing.assert_array_equal(MFSMCDM().fit(X, Y[:, 1:]).scores_, 0.0)


def test_mgfs_has_the_numbers_of_the_papers_example():
    """As a notebook of others shows them (github.com/CJC-ds/mgfs), which iterates to 1e-8. Largest difference: 4e-9."""
    X = np.array(
        [
            [0.0347, 0.0897, 0.0912, -73.3024, 6.2152],
            [0.0814, 0.2727, 0.0857, -62.5844, 3.1832],
            [0.1105, 0.2736, 0.0844, -65.2353, 2.7950],
        ]
    )
    Y = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 0]])
    fitted = MGFS().fit(X, Y)
    expected = [0.17799211, 0.17996626, 0.22105117, 0.19496132, 0.22602913]
    np.testing.assert_allclose(fitted.scores_, expected, atol=2e-8)
    assert fitted.ranking_.tolist() == [4, 2, 3, 1, 0]


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("name", ["plain", "dependent", "scales", "wide", "sparse counts"])
def test_mgfs_is_a_long_walk(name, damping, form):
    X, Y = problem(name)
    d, k = X.shape[1], Y.shape[1]
    vary = [[np.ptp(x) > 0 and np.ptp(y) > 0 for y in Y.T] for x in X.T]
    R = [[1 - np.corrcoef(X[:, i], Y[:, j])[0, 1] if vary[i][j] else 1.0 for j in range(k)] for i in range(d)]
    E = np.array([[np.linalg.norm(np.subtract(a, b)) for b in R] for a in R])
    walk, steps = np.full(d, 1 / d), E / E.sum(axis=1, keepdims=True)
    for _ in range(3000):
        walk = damping * walk @ steps + (1 - damping) / d
    fitted = MGFS(damping=damping).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.scores_, walk, atol=1e-9)
    np.testing.assert_allclose(fitted.scores_.sum(), 1, atol=1e-10)


def test_mgfs_of_features_that_do_not_differ_tells_none_from_another():
    X, Y = problem("plain")
    np.testing.assert_array_equal(MGFS().fit(X, np.zeros_like(Y)).scores_, 1 / X.shape[1])
    np.testing.assert_array_equal(MGFS().fit(X[:, :1], Y).scores_, 1)
    np.testing.assert_array_equal(MGFS().fit(X[:, [2, 2, 2]], Y).scores_, 1 / 3)


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_labels", [1, 5])
def test_grro_solves_its_equation(n_labels, form):
    X, Y = small(3)
    Y = Y[:, :n_labels].astype(float)
    M = [[mi(x, y) for y in Y.T] for x in X.T]
    R = [[1.0 if i == j else mi(X[:, i], X[:, j]) for j in range(7)] for i in range(7)]
    D = [[1 - a @ b / np.sqrt((a @ a) * (b @ b)) for b in Y.T] for a in Y.T]
    expected = solve_sylvester(np.eye(7) + 3 * np.array(R), 0.7 * np.array(D), np.array(M))
    fitted = GRRO(alpha=3.0, beta=0.7, discretise=None).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.coef_, expected, atol=1e-12)
    np.testing.assert_allclose(fitted.scores_, expected.sum(axis=1), atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_labels_without_instances_and_constant_features_are_nothing_to_grro(name):
    X, Y = problem(name)
    assert not Y[:, 4].any()
    X[:, 4] = 3.0
    fitted = GRRO(beta=2.0).fit(X, Y)
    np.testing.assert_allclose(fitted.coef_[4], 0, atol=1e-17)
    np.testing.assert_allclose(fitted.coef_[:, 4], 0, atol=1e-17)
    fewer = GRRO(beta=2.0).fit(np.delete(X, 4, axis=1), np.delete(Y, 4, axis=1))
    np.testing.assert_allclose(np.delete(fitted.scores_, 4), fewer.scores_, atol=1e-11 * np.abs(fewer.scores_).max())


def test_grro_without_redundancy_and_labels_is_relevance():
    X, Y = problem("plain")
    codes = discretised(X, "median")
    expected = [sum(mi(x, y) for y in Y.T) for x in codes.T]
    np.testing.assert_allclose(GRRO(alpha=0.0, beta=0.0).fit(X, Y).scores_, expected, atol=1e-12)


def test_grro_shares_the_spectrum_among_its_weights(monkeypatch):
    X, Y = problem("plain")
    moments, calls = Moments.from_arrays(X, Y), []
    find = GRRO._redundancy
    monkeypatch.setattr(GRRO, "_redundancy", lambda self, m: calls.append(m) or find(self, m))
    for alpha in (1.0, 100.0):
        shared = GRRO(alpha=alpha).fit_moments(moments).scores_
        np.testing.assert_array_equal(shared, GRRO(alpha=alpha).fit(X, Y).scores_)
    assert len(calls) == 3


# Largest differences found, relative to ‖W‖: 2e-4 (raw; as much as two starts of the program differ), 5e-6 (zscore);
# of the objective 2e-11, 4e-13.
@pytest.mark.parametrize(("features", "close"), [("raw", 1e-3), ("zscore", 2e-5)])
def test_mdfs_is_its_authors_program(given, features, close):
    X, Y, put_out = given("emotions", "selection", "selection")
    if features == "zscore":
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    fitted = MDFS(gamma=0.1, n_neighbors=5, tol=1e-11, max_iter=500).fit(X, Y)
    key, W = f"mdfs_qust_{features}", put_out[f"mdfs_qust_{features}_tight_W"]
    graph = graphs.neighbour_graph(X, 5)
    np.testing.assert_array_equal(graphs.degrees(graph), put_out[f"{key}_Ldiag"])
    np.testing.assert_allclose(fitted.objective_[-1], put_out[f"{key}_tight_obj"][-1], rtol=1e-9)
    assert np.linalg.norm(fitted.coef_ - W) < close * np.linalg.norm(W)
    np.testing.assert_array_equal(fitted.ranking_, put_out[f"{key}_tight_rank"])


@pytest.mark.parametrize("name", ["scene", "medical"])
def test_mdfs_goes_below_where_its_authors_program_stops(given, name):
    """It stops at a relative change of 1e-3. Its graph of rows differs for 16 and 14 rows, which are duplicates."""
    X, Y, put_out = given(name, "selection", "selection")
    fitted = MDFS(gamma=0.1, n_neighbors=Y.shape[1] - 1, max_iter=15).fit(X, Y)
    for seed in (1, 2):
        reached = put_out[f"mdfs_qust_raw_seed{seed}_obj"][-1]
        assert 0.999 * reached < fitted.objective_[-1] < reached


def graph_by_loops(X, p):
    """S of the p nearest rows, one row at a time."""
    n = len(X)
    S = np.zeros((n, n))
    for i in range(n):
        near = sorted((round(np.sum((X[i] - X[j]) ** 2), 9), j) for j in range(n) if j != i)
        for _, j in near[:p]:
            S[i, j] += 0.5
            S[j, i] += 0.5
    return S


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
@pytest.mark.parametrize("label_neighbors", [None, 2])
def test_mdfs_takes_the_steps_of_plain_solves(name, form, label_neighbors):
    X, Y = problem(name)
    X, Y = X[:40] + 2, Y[:40].astype(float)
    n, k = Y.shape
    alpha, beta, gamma = 0.7, 0.4, 0.9
    S, S0 = graph_by_loops(X, 3), graph_by_loops(Y.T, label_neighbors or k)
    L, L0 = np.diag(S.sum(axis=0)) - S, np.diag(S0.sum(axis=0)) - S0
    H = np.eye(n) - 1 / n
    W, D, objective = np.zeros((X.shape[1], k)), np.eye(X.shape[1]), []
    for _ in range(4):
        system = np.kron(np.eye(k), L + alpha * H + alpha * np.eye(n)) + np.kron(beta * L0, np.eye(n))
        F = np.linalg.solve(system, (alpha * H @ X @ W + alpha * Y).ravel(order="F")).reshape(n, k, order="F")
        W = np.linalg.solve(alpha * X.T @ H @ X + gamma * D, alpha * X.T @ H @ F)
        D = np.diag(row_sparse.weights(W))
        smooth = np.trace(F.T @ L @ F) + beta * np.trace(F @ L0 @ F.T)
        fit = np.sum((H @ (X @ W - F)) ** 2) + np.sum((F - Y) ** 2)
        objective.append(smooth + alpha * fit + gamma * np.linalg.norm(W, axis=1).sum())
    given = {"alpha": alpha, "beta": beta, "gamma": gamma, "n_neighbors": 3, "n_label_neighbors": label_neighbors}
    found = MDFS(**given, tol=0, max_iter=4).fit(form(X), form(Y))
    np.testing.assert_allclose(found.objective_, objective, rtol=1e-9)
    np.testing.assert_allclose(found.coef_, W, atol=1e-8)


def test_mdfs_reaches_the_same_minimum_by_any_weights_of_its_first_step(monkeypatch):
    """The problem is convex: what the first F and W are makes no difference in the end."""
    X, Y = problem("plain")
    expected = MDFS(tol=1e-13, max_iter=3000).fit(X, Y)
    solve, calls = row_sparse.Penalised.solve, []

    def other_start(self, h, penalty, target):
        calls.append(penalty)
        start = np.random.default_rng(0).uniform(0.1, 10, len(penalty))
        return solve(self, h, start if len(calls) == 1 else penalty, target)

    monkeypatch.setattr(row_sparse.Penalised, "solve", other_start)
    found = MDFS(tol=1e-13, max_iter=3000).fit(X, Y)
    assert len(calls) > 2
    np.testing.assert_allclose(found.objective_[-1], expected.objective_[-1], rtol=1e-9)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-3 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("present", [0, 1])
def test_mdfs_of_labels_that_do_not_vary_has_no_weights(present):
    X, _ = problem("plain")
    fitted = MDFS(max_iter=5).fit(X, np.full((len(X), 3), present))
    np.testing.assert_allclose(fitted.scores_, 0, atol=1e-9)
    np.testing.assert_allclose(MDFS(max_iter=5).fit(X, np.full((len(X), 1), present)).scores_, 0, atol=1e-9)


def test_an_offset_of_the_features_changes_nothing_in_mdfs():
    for name in ("plain", "wide"):
        X, Y = problem(name)
        expected = MDFS(max_iter=10).fit(X, Y).coef_
        for rows in (X + 1e5, sp.csr_array(X + 1e5), sp.csr_array(X + 3)):
            np.testing.assert_allclose(MDFS(max_iter=10).fit(rows, Y).coef_, expected, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize(("n", "penalty"), [(9, 1.0), (30, 1.0), (9, 1e-17), (30, 1e-17)])
def test_penalised_least_squares_less_an_origin(n, penalty, form):
    """On either side, and where rounding hides the penalty."""
    rng = np.random.default_rng(0)
    X, T, origin = rng.standard_normal((n, 12)), rng.standard_normal((n, 3)), rng.standard_normal(12)
    X[:, 3] = X[:, 2]
    origin[3] = origin[2]
    h, penalties = rng.uniform(1, 2, n), np.full(12, penalty)
    expected = row_sparse.Penalised(X - origin).solve(h, penalties, T)
    found = row_sparse.Penalised(form(X), origin=origin).solve(h, penalties, T)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("estimator", [MFSMCDM(), MGFS(), GRRO(), GRRO(alpha=1e8)], ids=str)
def test_copies_of_a_feature_have_equal_scores(estimator):
    for seed in range(5):
        X, Y = problem("plain", seed)
        X[:, [5, 11]] = X[:, [2]]
        scores = estimator.fit(X, Y).scores_
        assert scores[2] == scores[5] == scores[11]
        assert len(np.unique(scores)) == X.shape[1] - 2
