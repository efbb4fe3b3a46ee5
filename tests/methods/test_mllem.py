"""MLLEM against MLC Toolbox, and step by step in loops; graphs in parts; rows and labels at the edge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mlcdr import MLLEM, ComposedClassifier, RCut
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics import graphs
from mlcdr.numerics.graphs import laplacian_eigenvectors
from tests.methods.problems import as_sparse, problem

NEAR = ("inner_product", "jaccard", "euclidean")


# ------------------------------------------------------------------------------------- the authors' program


@pytest.fixture
def of_program(given, real_dataset, training_rows):
    """`of_program(name)`: the training rows (X, Y), fold 0 (X), and what the program put out."""

    def get(name):
        X, Y, put_out = given(name, "label_space", "label_space")
        return X, as_dense(Y), real_dataset(name).X[~training_rows(name)], put_out

    return get


def check_against_the_program(fitted, new, put_out, key, tolerance):
    """Eigenvalues (1e-9 was added to them), label and row points but for their signs, and distances less one number."""
    varying = fitted.varying_
    H, G = put_out[f"{key}_H"][varying, ::-1], put_out[f"{key}_G_first30"][:, ::-1]
    values = np.sort(put_out[f"{key}_eigenvalues"])
    values = values[values > 1e-6][: H.shape[1]] - 1e-9
    np.testing.assert_allclose(fitted.eigenvalues_, values, atol=tolerance * 100)
    np.testing.assert_allclose(np.abs(fitted.label_points_), np.abs(H), atol=tolerance)
    np.testing.assert_allclose(np.abs(fitted.row_points_[:30]), np.abs(G), atol=tolerance)
    name = f"{key}_conf" if f"{key}_conf" in put_out else f"{key}_conf_first100"
    apart = put_out[name][:, varying] - fitted.decision_function(new[: len(put_out[name])])[:, varying]
    assert np.ptp(apart) < 10 * tolerance


@pytest.mark.parametrize(("near", "normalised"), [(1, False), (2, False), (3, False), (3, True)])
def test_points_and_distances_are_mlc_toolboxs(of_program, near, normalised):
    """On emotions, where each label is among the nearest of each other one. Differences: 7e-15, 3e-14 of distances."""
    X, Y, new, put_out = of_program("emotions")
    fitted = MLLEM(5, NEAR[near - 1], normalised=normalised).fit(X, Y)
    check_against_the_program(fitted, new, put_out, f"mllem_WI1_WL{near}_SC{1 + normalised}", 1e-12)


@pytest.mark.parametrize(
    ("name", "near", "normalised", "tolerance"),
    [
        ("emotions", 1, True, 1e-12),  # 3e-14 of points, 8e-14 of distances
        ("medical", 2, False, 1e-12),  # 3e-14, 3e-14
        pytest.param("medical", 2, True, 1e-12, marks=pytest.mark.slow),  # 3e-15, 5e-15
        pytest.param(
            "scene", 2, False, 5e-6, marks=pytest.mark.slow
        ),  # 2e-6, 5e-6: it has equal rows, whose distance of 0 the program rounds
    ],
)
def test_and_so_they_are_on_the_graphs_that_it_makes(of_program, monkeypatch, name, near, normalised, tolerance):
    """Whose edges between labels are not those that it describes: see `edges_of_the_program`."""
    X, Y, new, put_out = of_program(name)
    key = f"mllem_WI1_WL{near}_SC{1 + normalised}"
    varying = (Y[0] != Y).any(axis=0)
    labels = edges_of_the_program(Y.astype(float), 5, near == 2)[np.ix_(varying, varying)]
    rows = graphs.heat_graph(X, 5, np.inf) if name == "scene" else rows_of_the_program(as_dense(X), 5)
    y = sp.csr_array(Y[:, varying].astype(float))
    graph = sp.csr_array(sp.block_array([[rows, y], [y.T, sp.csr_array(labels)]]))
    monkeypatch.setattr(MLLEM, "_graph", lambda self, X, Y: graph)
    fitted = MLLEM(put_out[f"{key}_H"].shape[1], normalised=normalised).fit(X, Y)
    check_against_the_program(fitted, new, put_out, key, tolerance)


def edges_of_the_program(Y, k, jaccard):
    """Label by label: it joins the k nearest, then takes out the places, in the order by nearness, of those without a
    common row, where the labels at these places in that order are meant."""
    common, size = Y.T @ Y, Y.sum(axis=0)
    if jaccard:
        either = size[:, None] + size - common
        far = 1 - np.divide(common, either, out=np.full_like(common, np.nan), where=either > 0)
        np.fill_diagonal(far, 1)
    else:
        far = -common
        np.fill_diagonal(far, 0)
    S = np.zeros(far.shape)
    for j, of_j in enumerate(far):
        order = np.argsort(of_j, kind="stable")
        S[j, order[:k]] = S[order[:k], j] = 1
        wrong = of_j[order] == int(jaccard)
        S[j, wrong] = S[wrong, j] = 0
    return S


def rows_of_the_program(X, k):
    """The k rows after the first, by distance; those at distance 0 are joined with none."""
    distances = cdist(X, X)
    S = np.zeros(distances.shape)
    for i, of_i in enumerate(distances):
        near = np.argsort(of_i, kind="stable")[1 : k + 1]
        S[i, near] = S[near, i] = of_i[near] > 0
    return sp.csr_array(S)


# ------------------------------------------------------------------------------------- its words


def points_by_loops(X, Y, m, near, k, k_labels, weights, normalised):
    """Eigenvalues and points, from W filled edge by edge."""
    n, size = len(X), len(X) + Y.shape[1]
    W = np.zeros((size, size))
    W[:n, n:] = Y
    W[n:, :n] = Y.T
    distances = [[np.sum((a - b) ** 2) for b in X] for a in X]
    alike = {
        "inner_product": lambda a, b: -np.sum(a * b),
        "jaccard": lambda a, b: -np.sum(a * b) / np.sum(np.maximum(a, b)),
        "euclidean": lambda a, b: np.sum((a - b) ** 2),
    }[near]
    of_labels = [[alike(a, b) for b in Y.T.astype(float)] for a in Y.T.astype(float)]
    for start, far, count, weight in ((0, distances, k, weights[0]), (n, of_labels, k_labels, weights[1])):
        for i, of_i in enumerate(far):
            others = sorted((value, j) for j, value in enumerate(of_i) if j != i)
            for _, j in others[:count]:
                W[start + i, start + j] = W[start + j, start + i] = weight
    D = np.diag(W.sum(axis=1))
    values, vectors = scipy.linalg.eigh(D - W, D if normalised else np.eye(size))
    assert abs(values[0]) < 1e-12 < values[1]  # connected
    vectors = vectors[:, 1 : m + 1]
    return values[1 : m + 1], vectors / np.linalg.norm(vectors, axis=0)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("near", NEAR)
def test_scores_are_those_of_the_words_edge_by_edge(near, normalised):
    X, Y = problem("plain")
    train, new, Y = X[:70], X[70:], np.delete(Y[:70], 4, axis=1)
    values, Z = points_by_loops(train, Y, 4, near, 6, 2, (0.7, 2.0), normalised)
    fitted = MLLEM(4, near, 6, 2, 0.7, 2.0, normalised, 3.0).fit(train, Y)
    np.testing.assert_allclose(fitted.eigenvalues_, values, atol=1e-12)
    np.testing.assert_allclose(np.abs(fitted.row_points_), np.abs(Z[:70]), atol=1e-11)
    np.testing.assert_allclose(np.abs(fitted.label_points_), np.abs(Z[70:]), atol=1e-11)
    A, B = (np.column_stack([np.ones(len(x)), x]) for x in (train, new))
    V = np.linalg.solve(A.T @ A + 3.0 * np.eye(A.shape[1]), A.T @ Z[:70])
    np.testing.assert_allclose(fitted.decision_function(new), fitted.radius_ - cdist(B @ V, Z[70:]), atol=1e-11)
    # ρ parts as many of the training rows' distances from the others as there are labels
    assert np.count_nonzero(cdist(A @ V, Z[70:]) < fitted.radius_) == Y.sum() == fitted.predict(train).sum()


# ------------------------------------------------------------------------------------- graphs in parts


def graph_in_parts(seed=0):
    """Three parts of 12, 30 and 40 nodes, and two nodes without edges, in no order."""
    rng = np.random.default_rng(seed)
    parts = [rng.random((n, n)) * (rng.random((n, n)) < 0.3) + 0.01 for n in (12, 30, 40)]
    S = scipy.linalg.block_diag(*(a + a.T for a in parts), 0.0, 0.0)
    np.fill_diagonal(S, 0)
    order = rng.permutation(len(S))
    return S[np.ix_(order, order)]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("largest_dense", [1500, 0])
def test_an_eigenvalue_0_for_each_part_is_left_out_and_nothing_else(monkeypatch, largest_dense, normalised):
    monkeypatch.setattr(graphs, "_DENSE", largest_dense)
    S = graph_in_parts()
    degrees = S.sum(axis=1)
    values, vectors = laplacian_eigenvectors(sp.csr_array(S), 6, normalised)
    live = degrees > 0
    D = np.diag(degrees[live]) if normalised else np.eye(live.sum())
    exact = scipy.linalg.eigh(np.diag(degrees[live]) - S[np.ix_(live, live)], D, eigvals_only=True)
    assert np.all(np.abs(exact[:3]) < 1e-12)
    assert exact[3] > 1e-3
    np.testing.assert_allclose(values, exact[3:9], rtol=1e-9)
    left = degrees[:, None] * vectors - S @ vectors
    np.testing.assert_allclose(left, (degrees[:, None] if normalised else 1) * vectors * values, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1, rtol=1e-12)
    assert not vectors[~live].any()
    assert len(laplacian_eigenvectors(sp.csr_array(S), 999)[0]) == live.sum() - 3


def test_the_dimension_does_not_fall_with_the_parts():
    """Three groups of rows far apart, each with labels of its own: the program gives one dimension less."""
    X, Y = problem("plain")
    Y = np.delete(Y, 4, axis=1)
    rows, labels = np.vstack([X, X + 1000, X - 1000]), scipy.linalg.block_diag(Y, Y, Y)
    fitted = MLLEM(4, label_weight=0.0).fit(rows, labels)
    assert fitted.row_points_.shape == (360, 4)
    assert fitted.eigenvalues_[0] > 1e-3


# ------------------------------------------------------------------------------------- edges


def test_labels_that_are_the_same_in_all_rows_have_no_part_in_it():
    X, Y = problem("plain")
    full = np.column_stack([Y, np.ones(len(Y), dtype=np.uint8)])
    fitted = MLLEM(4).fit(X, full)
    np.testing.assert_array_equal(fitted.varying_, [True] * 4 + [False, True, False])
    scores, alone = fitted.decision_function(X), MLLEM(4).fit(X, np.delete(Y, 4, axis=1)).decision_function(X)
    np.testing.assert_allclose(scores[:, fitted.varying_], alone, atol=1e-12)
    assert np.isfinite(scores).all()
    assert np.all(scores[:, 4] < scores.min(where=scores > -1e300, initial=0))
    assert np.all(fitted.predict(X)[:, [4, 6]] == [0, 1])
    for y in (0 * Y, 0 * Y + 1):
        np.testing.assert_array_equal(MLLEM().fit(X, y).predict(X), y)


@pytest.mark.parametrize("name", ["wide", "dependent", "sparse counts"])
@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "csr"])
def test_rows_and_labels_of_any_shape(name, form):
    X, Y = problem(name)
    expected = MLLEM(3).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(
        MLLEM(3).fit(form(X), form(Y)).decision_function(form(X)), expected, rtol=1e-6, atol=1e-9
    )
    alike = np.tile(Y[:, :1], 3)
    for x, y in (
        (X, Y[:, 0]),
        (X, alike),
        (X[:3], np.eye(3)),
        (X[:2], [[0, 1], [1, 0]]),
        (np.tile(X[:4], (9, 1)), Y[:36]),
    ):
        scores = MLLEM().fit(form(np.asarray(x)), np.asarray(y)).decision_function(form(np.asarray(x)))
        assert np.isfinite(scores).all()


def test_a_threshold_takes_the_place_of_the_radius():
    X, Y = problem("plain")
    model = ComposedClassifier(MLLEM(4), threshold=RCut(2)).fit(X, Y)
    assert np.all(model.predict(X).sum(axis=1) == 2)


def test_it_learns():
    """Better than predicting no label, and than chance by ranks, on new rows."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((4, 10))
    group = rng.integers(0, 4, 300)
    X = centres[group] + rng.standard_normal((300, 10))
    Y = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]])[group]
    fitted = MLLEM(3).fit(X[:200], Y[:200])
    assert np.mean(fitted.predict(X[200:]) != Y[200:]) < 0.1 < np.mean(Y)
