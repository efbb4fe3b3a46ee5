"""LPP against the program ML-FSDR; its graph, its limits, and rows of which it knows nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mlcdr import LPP
from tests.methods.problems import as_sparse, problem
from tests.methods.test_hypergraphs import relative


# The largest differences found: of λ 2e-13, relative to each, of UUᵀ 3e-12, relative to its norm. Of 60 λ by a dense
# solver, beside them, 2e-11. Of emotions the program also lists negative ones: it takes the largest by magnitude.
@pytest.mark.parametrize("alpha", [1, 100])
@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_the_projections_are_ml_fsdrs(given, name, alpha):
    X, _, put_out = given(name, "fsdr")
    fitted = LPP(20, weights="cosine", alpha=float(alpha), norm="unit").fit(X)
    key, step = f"lpp_g{alpha}", 8 if name == "medical" else 1
    values = put_out[f"{key}_values"].ravel()
    m = np.count_nonzero(values > 0)
    assert m == (20 if name != "emotions" else {1: 15, 100: 14}[alpha])
    np.testing.assert_allclose(fitted.eigenvalues_[:m], values[:m], rtol=1e-10)
    largest = put_out[f"{key}_dense_values"].ravel()
    largest = largest[largest > 0]
    np.testing.assert_allclose(fitted.eigenvalues_[: len(largest)], largest, rtol=1e-9)
    P, U = fitted.components_.T[::step, :m], put_out[f"{key}_U" if step == 1 else f"{key}_U_every8throw"][:, :m]
    assert relative(P @ P.T, U @ U.T) < 1e-10


def test_the_graph_is_ml_fsdrs(given):
    """Of emotions all edges are stored, of scene those of the first 200 rows. Largest difference of a weight: 2e-15."""
    for name in ("emotions", "scene"):
        X, _, put_out = given(name, "graph")
        i, j = put_out["Wx"][:, :2].astype(int).T
        graph = LPP(weights="cosine")._graph(X, X)[: i.max() + 1].toarray()
        expected = np.zeros_like(graph)
        expected[i, j] = put_out["Wx"][:, 2]
        np.testing.assert_allclose(graph, expected, atol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, as_sparse, sp.csc_matrix], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("name", ["plain", "sparse counts", "wide"])
@pytest.mark.parametrize("weights", ["heat", "cosine"])
def test_weights_by_loops(weights, name, form):
    """A row of zeros has no cosine with any, and a negative cosine is no edge."""
    X, _ = problem(name)
    X[:2] = 0
    n, k, alpha = len(X), 4, 0.3
    W = np.zeros((n, n))
    for i in range(n):
        apart = sorted((np.sum((X[i] - X[j]) ** 2), j) for j in range(n) if j != i)
        for square, j in apart[:k]:
            sizes = np.linalg.norm(X[i]) * np.linalg.norm(X[j])
            cosine = max(0.0, X[i] @ X[j] / sizes) if sizes else 0.0
            W[i, j] = W[j, i] = cosine if weights == "cosine" else np.exp(-square / 5.0**2)
    x = X - X.mean(axis=0)
    G, M = x.T @ W @ x, x.T @ np.diag(W.sum(axis=1)) @ x + alpha * np.eye(X.shape[1])
    exact = scipy.linalg.eigh(G, M, eigvals_only=True)[::-1]
    fitted = LPP(n_neighbors=k, weights=weights, sigma=5.0, alpha=alpha).fit(form(X))
    np.testing.assert_allclose(fitted.eigenvalues_, exact[exact > 1e-9], rtol=1e-8)
    P = fitted.components_.T
    np.testing.assert_allclose(P.T @ M @ P, np.eye(P.shape[1]), atol=1e-8)
    np.testing.assert_allclose(G @ P, M @ P * fitted.eigenvalues_, atol=1e-7)


@pytest.mark.parametrize("name", ["plain", "dependent", "mostly dependent", "wide"])
@pytest.mark.parametrize("weights", ["binary", "heat"])
def test_without_ridge_the_smallest_of_the_papers_problem_come_first(name, weights):
    """XᵀLX p = λ'XᵀDX p among principal components, of which there are as many as the rank; λ = 1 − λ'."""
    X, _ = problem(name)
    fitted = LPP(n_neighbors=3, weights=weights, sigma=4.0, alpha=0.0).fit(X)
    W = LPP(n_neighbors=3, weights=weights, sigma=4.0)._graph(X, X).toarray()
    D = np.diag(W.sum(axis=1))
    x = X - X.mean(axis=0)
    components = x @ scipy.linalg.orth(x.T)
    left, right = components.T @ (D - W) @ components, components.T @ D @ components
    exact = scipy.linalg.eigh(left, right, eigvals_only=True)
    assert exact.min() > -1e-12
    np.testing.assert_allclose(1 - fitted.eigenvalues_, exact[exact < 1 - 1e-9], atol=1e-9)
    P = fitted.components_.T
    np.testing.assert_allclose((x @ P).T @ D @ (x @ P), np.eye(P.shape[1]), atol=1e-8)


def test_neighbours_stay_neighbours():
    """Of two features one is noise of the same size: the other, along which neighbours agree, is the direction."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.uniform(-5, 5, 200))
    X = np.column_stack([place, place, place, rng.uniform(-1, 1, 200)])
    fitted = LPP(1, n_neighbors=4).fit(X)
    assert fitted.eigenvalues_[0] > 0.99
    assert abs(fitted.components_[0, 3]) < 0.05 * abs(fitted.components_[0, 0])


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_rows_without_edges_count_for_nothing(alpha):
    """Far from all others, with heat weights: what only they span has no spread to measure by."""
    X, _ = problem("plain")
    far = np.hstack([X, np.zeros((len(X), 1))])
    far[3], far[3, -1] = 0, 1e4
    fitted = LPP(n_neighbors=3, weights="heat", sigma=4.0, alpha=alpha).fit(far)
    assert np.isfinite(fitted.components_).all()
    assert (fitted.eigenvalues_ <= 1 + 1e-9).all()
    none = LPP(n_neighbors=3, weights="heat", sigma=1e-3, alpha=alpha).fit(X)
    assert none.transform(X).shape == (len(X), 0)


@pytest.mark.parametrize("weights", ["binary", "heat", "cosine"])
def test_few_rows_equal_rows_and_constant_features(weights):
    """Duplicates are each other's neighbours, at distance 0; one row has none; all are neighbours where k is large."""
    X, _ = problem("plain")
    estimator = LPP(weights=weights)
    assert estimator.fit(X[:1]).transform(X[:1]).shape == (1, 0)
    assert estimator.fit(np.tile(X[:1], (20, 1))).transform(X).shape == (len(X), 0)
    few = LPP(n_neighbors=50, weights=weights).fit(X[:6])
    assert np.isfinite(few.components_).all()
    twice = LPP(n_neighbors=1, weights=weights, sigma=1.0).fit(np.vstack([X, X]))
    # each row has its duplicate alone: neighbours do not differ at all
    np.testing.assert_allclose(twice.eigenvalues_[0], 1, atol=1e-2)
    constant = np.hstack([X, np.full((len(X), 1), 7.0)])
    assert not estimator.fit(constant).components_[:, -1].any()


@pytest.mark.parametrize("sparse", [False, True])
def test_units_of_features_hide_no_direction(sparse):
    """Without ridge, scaled features with the same graph have the same λ; the graph is that of equal scales."""
    X, _ = problem("plain")
    units = 10.0 ** (np.arange(X.shape[1]) % 7 - 3)

    class Fixed(LPP):
        def _graph(self, rows, moved):
            return LPP()._graph(X, X)

    plain = Fixed(alpha=0.0).fit(X)
    scaled = Fixed(alpha=0.0).fit(as_sparse(X * units) if sparse else X * units)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
