"""READER: the author's program, (6.17)-(6.46) written out, what is proved of its objectives, and the estimator."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mlcdr import READER, RFS
from mlcdr.methods.feature_space import reader as reader_module
from mlcdr.methods.feature_space.reader import Problem, alternating, constrained, without_embedding
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.moments import Moments


def data(seed: int = 0, n: int = 30, more: int = 20, d: int = 12, labels: int = 8):
    """Labelled rows, label sets that depend on them (some empty, some equal), and rows without labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + more, d)) * 0.6
    Y = (X @ rng.standard_normal((d, labels)) + rng.standard_normal((n + more, labels)) > 1.2).astype(float)
    return X[:n], Y[:n], X[n:]


def problem(X, Y, unlabelled, **params) -> Problem:
    params = {"beta": 0.1, "gamma": 1.0, **params}
    return READER(**params)._problem(Moments.from_arrays(X, Y).with_unlabelled(unlabelled))


# -------------------------------------------------------------------- graphs


def neighbours(squares: np.ndarray, p: int) -> np.ndarray:
    """Who is among the p nearest of whom or the other way round, by loops; ties to the earlier row."""
    n = len(squares)
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = sorted((round(squares[i, j], 12), j) for j in range(n) if j != i)
        for _, j in others[:p]:
            near[i, j] = near[j, i] = True
    return near


@pytest.mark.parametrize("sparse", [False, True])
def test_the_graph_of_rows_is_the_papers(sparse):
    X = data()[0]
    X[7] = X[3]
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.where(neighbours(squares, 5), np.exp(-squares / 0.7**2), 0.0)
    graph = graphs.heat_graph(sp.csr_array(X) if sparse else X, 5, 0.7)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-14)
    assert graph.nnz <= 2 * 5 * len(X)


def test_the_graph_of_labels_is_the_papers_and_ties_go_to_the_earlier_row():
    Y = data(n=60, labels=4)[1]
    squares = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
    lengths = np.sqrt(Y.sum(axis=1))
    with np.errstate(invalid="ignore"):
        cosines = np.nan_to_num((Y @ Y.T) / np.outer(lengths, lengths))
    expected = np.where(neighbours(squares, 5), cosines, 0.0)
    for given in (Y, sp.csr_array(Y)):
        np.testing.assert_allclose(graphs.label_graph(given, 5).toarray(), expected, atol=1e-14)


def test_a_laplacian_is_the_sum_over_pairs():
    X = data()[0]
    graph = graphs.heat_graph(X, 4, 1.0)
    pairs = sum(graph[i, j] * np.sum((X[i] - X[j]) ** 2) for i in range(len(X)) for j in range(len(X)))
    np.testing.assert_allclose(np.trace(X.T @ graphs.laplacian(graph) @ X), pairs / 2)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_graphs_of_fewer_rows_than_neighbours(n):
    X, Y, _ = data(n=n)
    assert graphs.heat_graph(X, 5, 1.0).shape == (n, n)
    assert graphs.label_graph(np.ones_like(Y), 5).nnz == n * (n - 1)


# -------------------------------------------------------------------- the author's program


SETTINGS = {"a1_b0.1_g10": (1, 0.1, 10), "a1_b1_g1": (1, 1, 1), "a0.1_b0.01_g1": (0.1, 0.01, 1)}
WITHOUT = {"a1_b0_g10": (1, 0, 10), "a1_b0.1_g0": (1, 0.1, 0)}


def of_program(sun2017, alpha, beta, gamma) -> Problem:
    X, Y = sun2017("reader_Xw"), sun2017("reader_Y_Lxn").T
    # the program's weights exp(−d²/2)
    return problem(X[:24], Y, X[24:], alpha=alpha, beta=beta, gamma=gamma, sigma=np.sqrt(2))


def test_graphs_of_the_authors_program(sun2017):
    X, Y = sun2017("reader_Xw"), sun2017("reader_Y_Lxn").T
    np.testing.assert_allclose(graphs.heat_graph(X, 5, np.sqrt(2)).toarray(), sun2017("reader_Sx"), atol=1e-14)
    np.testing.assert_allclose(graphs.label_graph(Y, 5).toarray(), sun2017("reader_Sy"), atol=1e-14)


@pytest.mark.parametrize("name", [*SETTINGS, *WITHOUT])
def test_algorithm_13_is_the_authors(sun2017, name):
    this = of_program(sun2017, *(SETTINGS | WITHOUT)[name])
    if name.endswith("g0"):
        W, found = without_embedding(this, sun2017("reader_Y_Lxn").T, 1e-5, 100)
    else:
        W, V, found = alternating(this, sun2017("reader_W0"), 1e-5, 100)
        np.testing.assert_allclose(V, sun2017(f"reader_alg2_{name}_eps1e-05_V"), atol=1e-8)
    np.testing.assert_allclose(found, sun2017(f"reader_alg2_{name}_eps1e-05_Q").ravel(), rtol=1e-8)
    np.testing.assert_allclose(W, sun2017(f"reader_alg2_{name}_eps1e-05_W"), atol=1e-8)
    ranking = np.argsort(-row_sparse.lengths(W), kind="stable") + 1
    assert ranking.tolist() == sun2017(f"reader_alg2_{name}_eps1e-05_ranking").ravel().tolist()


@pytest.mark.parametrize("name", list(SETTINGS))
def test_algorithm_12_is_the_authors(sun2017, name):
    """To 1e-8. With α = 0.1 the program's own numbers are off by 3.3e-8, ours by 5e-15: so forty digits say."""
    W, _, found = constrained(of_program(sun2017, *SETTINGS[name]), 3, "published_code", 1e-5, 100)
    close = 1e-8 if name != "a0.1_b0.01_g1" else 5e-8
    np.testing.assert_allclose(found, sun2017(f"reader_alg1_{name}_eps1e-05_Q").ravel(), rtol=close)
    np.testing.assert_allclose(np.abs(W), np.abs(sun2017(f"reader_alg1_{name}_eps1e-05_W_upto_sign")), atol=1e-7)
    ranking = np.argsort(-row_sparse.lengths(W), kind="stable") + 1
    assert ranking.tolist() == sun2017(f"reader_alg1_{name}_eps1e-05_ranking").ravel().tolist()


# -------------------------------------------------------------------- the formulas


def block_matrices(this: Problem, X, unlabelled, h, penalty):
    """F and E of (6.19) or (6.44), made as they are printed."""
    r, d = this.X.shape
    A = np.block([[this.c[:, None] * this.X, -np.diag(this.c)], [this.alpha * np.eye(d), np.zeros((d, r))]])
    H = np.r_[h / this.c**2, penalty / this.alpha**2]
    F = A.T @ (H[:, None] * A) + scipy.linalg.block_diag(this.manifold, this.embedding.toarray())
    everything = np.vstack([X, unlabelled])
    degrees = np.diag(graphs.degrees(graphs.heat_graph(everything, 5, 1.0)))
    return F, scipy.linalg.block_diag(everything.T @ degrees @ everything, np.diag(this.root_y**2))


@pytest.mark.parametrize("version", ["plain", "improved"])
@pytest.mark.parametrize("scaled_by", ["constraint", "objective"])
def test_the_eigenproblem_is_that_of_the_text(version, scaled_by):
    X, Y, unlabelled = data(1)
    this = problem(X, Y, unlabelled, version=version, label_weights=(1.0, 0.3))
    rng = np.random.default_rng(0)
    h, penalty = rng.uniform(0.1, 5, this.X.shape[0]), rng.uniform(0.1, 5, this.X.shape[1])
    F, E = block_matrices(this, X, unlabelled, h, penalty)
    expected = scipy.linalg.eigh(E, F)[0][::-1][:4]
    root = sp.diags_array(this.root_y)
    values, W, V = row_sparse.coupled_eigenvectors(
        this.X, None, h, penalty, this.manifold, this.embedding, this.root_x, root, 4, scaled_by
    )
    U = np.vstack([W, V])
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(E @ U, (F @ U) * values, atol=1e-9)
    metric = E if scaled_by == "constraint" else F
    np.testing.assert_allclose(U.T @ metric @ U, np.eye(4), atol=1e-9)


def test_the_eigenproblem_by_lanczos_iteration():
    X, Y, unlabelled = data(2, n=300, more=260)
    this = problem(X, Y, unlabelled)
    h, penalty = np.ones(len(X)), np.ones(X.shape[1])
    F, E = block_matrices(this, X, unlabelled, h, penalty)
    assert len(X) + len(this.root_y) + len(unlabelled) > 500
    root = sp.diags_array(this.root_y)
    values, W, V = row_sparse.coupled_eigenvectors(
        sp.csr_array(this.X), None, h, penalty, this.manifold, this.embedding, this.root_x, root, 3, "constraint"
    )
    np.testing.assert_allclose(values, scipy.linalg.eigh(E, F)[0][::-1][:3], rtol=1e-9)
    U = np.vstack([W, V])
    np.testing.assert_allclose(U.T @ E @ U, np.eye(3), atol=1e-8)


@pytest.mark.parametrize("version", ["plain", "improved"])
@pytest.mark.parametrize("loss", ["l21", "squared"])
def test_two_alternations_by_dense_formulas(version, loss):
    """(6.37) and (6.46), H_M of the rows of αW; READER-F has H_n = I throughout."""
    X, Y, unlabelled = data(3)
    this = problem(X, Y, unlabelled, alpha=0.4, version=version, loss=loss, label_weights=(2.0, 0.5))
    everything = np.vstack([X, unlabelled])
    S = graphs.heat_graph(everything, 5, 1.0).toarray()
    L = 0.1 * everything.T @ (np.diag(S.sum(axis=1)) - S) @ everything
    rows, C = (X, np.eye(len(X))) if version == "plain" else (everything, np.diag(this.c))
    LY = this.embedding.toarray()
    Hn, HM = np.eye(len(rows)), np.eye(X.shape[1])
    W = start = np.random.default_rng(0).uniform(size=(X.shape[1], 3))
    expected = []
    for _ in range(2):
        CHC = C.T @ Hn @ C
        V = np.linalg.inv(CHC + LY) @ CHC @ rows @ W
        W = np.linalg.inv(rows.T @ CHC @ rows + 0.4**2 * HM + L) @ rows.T @ CHC @ V
        lengths = np.linalg.norm(C @ (rows @ W - V), axis=1)
        if loss == "l21":
            Hn = np.diag(1 / (2 * np.sqrt(lengths**2 + np.finfo(float).eps)))
        HM = np.diag(1 / (2 * np.sqrt(np.sum((0.4 * W) ** 2, axis=1) + np.finfo(float).eps)))
        fit = lengths.sum() if loss == "l21" else np.sum(lengths**2)
        norm = 0.4 * np.linalg.norm(W, axis=1).sum()
        expected.append(fit + norm + np.trace(W.T @ L @ W) + np.trace(V.T @ LY @ V))
    ours, _, found = alternating(this, start, 0.0, 2)
    # rows of V that are free of neighbours have weights of 3e7
    np.testing.assert_allclose(ours, W, atol=1e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_the_extended_laplacian_is_the_sum_over_pairs():
    """(6.42): first line against its last, for any V."""
    X, Y, unlabelled = data(4)
    n, total = len(X), len(X) + len(unlabelled)
    this = problem(X, Y, unlabelled, version="improved", label_weights=(1.0, 0.3), gamma=1.0)
    rows = graphs.heat_graph(np.vstack([X, unlabelled]), 5, 1.0).toarray()
    labels = graphs.label_graph(Y, 5).toarray()
    V = np.random.default_rng(0).standard_normal((total, 3))
    apart = ((V[:, None] - V[None]) ** 2).sum(axis=2)
    both = np.zeros((total, total))
    both[:n, :n] = labels
    both[n:, :] = 0.3 * rows[n:, :]
    both[:, n:] = 0.3 * rows[:, n:]
    np.testing.assert_allclose(np.trace(V.T @ this.embedding @ V), (both * apart).sum() / 2)


# -------------------------------------------------------------------- what is proved


def rise(objective: np.ndarray, rows: int) -> float:
    """By how much an objective rises, beyond what ε in the weights allows."""
    return float(np.max(np.diff(objective), initial=-np.inf)) - rows * np.sqrt(row_sparse.EPSILON)


@pytest.mark.parametrize("problems", [10, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["constrained", "alternating", "squared", "improved", "no embedding", "no manifold"])
def test_objectives_do_not_rise(kind, problems):
    for seed in range(problems):
        X, Y, unlabelled = data(seed, n=20, more=10, d=9)
        rng = np.random.default_rng(seed)
        params = {"alpha": 10.0 ** rng.uniform(-1, 1), "beta": 10.0 ** rng.uniform(-2, 1)}
        params["gamma"] = 10.0 ** rng.uniform(-1, 1)
        changes = {"squared": {"loss": "squared"}, "improved": {"version": "improved"}, "no manifold": {"beta": 0.0}}
        this = problem(X, Y, unlabelled, **{**params, **changes.get(kind, {})})
        if kind == "constrained":
            found = constrained(this, 3, "text", 0.0, 6)[2]
        elif kind == "no embedding":
            found = without_embedding(this, Y, 0.0, 12)[1]
        else:
            found = alternating(this, rng.uniform(size=(X.shape[1], 3)), 0.0, 12)[2]
        assert rise(found, sum(this.X.shape)) <= 1e-9 * found[0], seed


def test_different_starts_end_differently_and_equal_seeds_equally():
    X, Y, _ = data(6)
    one, two, other = (READER(algorithm="alternating", random_state=s).fit(X, Y) for s in (0, 0, 1))
    assert np.array_equal(one.coef_, two.coef_)
    assert not np.allclose(one.scores_, other.scores_)


# -------------------------------------------------------------------- the estimator


def test_one_fit_serves_all_numbers_of_features(monkeypatch):
    X, Y, unlabelled = data()
    moments = Moments.from_arrays(X, Y).with_unlabelled(unlabelled)
    calls = []
    original = READER._find_scores
    monkeypatch.setattr(READER, "_find_scores", lambda self, m: calls.append(1) or original(self, m))
    kept = [READER(n_features=share, random_state=0).fit_moments(moments) for share in (0.05, 0.25, 0.5, 1.0)]
    assert len(calls) == 1
    assert [step.n_components_ for step in kept] == [1, 3, 6, 12]
    for few, many in itertools.pairwise(kept):
        assert set(np.flatnonzero(few.get_support())) < set(np.flatnonzero(many.get_support()))
    assert np.array_equal(kept[1].transform(X), X[:, np.sort(kept[1].ranking_[:3])])
    READER(n_features=0.5, random_state=0, alpha=2.0).fit_moments(moments)
    assert len(calls) == 2


@pytest.mark.parametrize("algorithm", ["constrained", "alternating"])
def test_sparse_and_dense_rows_alike(algorithm):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (40, 15)).astype(float)
    Y = (X[:, :6] > 0).astype(float)
    dense = READER(algorithm=algorithm, sigma=2.0, random_state=0, max_iter=20).fit(X[:25], Y[:25], X[25:])
    sparse = READER(algorithm=algorithm, sigma=2.0, random_state=0, max_iter=20).fit(
        sp.csr_array(X[:25]), sp.csr_array(Y[:25]), sp.csr_array(X[25:])
    )
    np.testing.assert_allclose(sparse.scores_, dense.scores_, atol=1e-6)


def test_without_embedding_and_manifold_it_is_rfs():
    X, Y, unlabelled = data()
    ours = READER(alpha=0.7, beta=0, gamma=0, tol=1e-9).fit(X, Y, unlabelled)
    np.testing.assert_allclose(ours.coef_, RFS(alpha=0.7, tol=1e-9).fit(X, Y).coef_, atol=1e-10)


def test_an_improved_version_that_gives_unlabelled_rows_no_weight_is_the_plain_one():
    X, Y, unlabelled = data()
    plain = READER(algorithm="alternating", random_state=0).fit(X, Y, unlabelled)
    improved = READER(algorithm="alternating", random_state=0, version="improved", label_weights=(1, 0))
    np.testing.assert_allclose(improved.fit(X, Y, unlabelled).scores_, plain.scores_)


def test_the_objective_is_told_to_the_metric_of_that_name():
    X, Y, _ = data()
    step = READER(algorithm="alternating", random_state=0, max_iter=4).fit(X, Y)
    assert step.n_iter_ == 4
    assert step.final_objective_ == step.objective_[3]


def test_rows_too_far_apart_are_told():
    X, Y, _ = data(n=1)
    with pytest.raises(ValueError, match="take a larger sigma"):
        READER(algorithm="constrained").fit(X, Y)


def test_the_default_algorithm_goes_by_the_size(monkeypatch):
    X, Y, _ = data()
    fitted = READER(random_state=0).fit(X, Y)
    assert np.array_equal(fitted.coef_, READER(algorithm="constrained").fit(X, Y).coef_)
    monkeypatch.setattr(reader_module, "_SMALL", 10)
    fitted = READER(random_state=0).fit(X, Y)
    assert np.array_equal(fitted.coef_, READER(algorithm="alternating", random_state=0).fit(X, Y).coef_)


@pytest.mark.parametrize("weights", [(1, 1), (0.5, 1), (1, -0.1), (1,), (3, 2, 1), ("b", "a"), (np.inf, 1)])
def test_weights_of_rows_are_checked(weights):
    X, Y, _ = data()
    with pytest.raises(ValueError, match="c_a > c_b >= 0"):
        READER(label_weights=weights).fit(X, Y)
