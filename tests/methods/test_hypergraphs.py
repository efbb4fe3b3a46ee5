"""HSL against the package MLDR of its authors, MHSL against ML-FSDR; rows and labels for which these programs fail."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr import HSL, MHSL
from mlcdr.methods.feature_space.hsl import label_factor
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem

EXPANSIONS = ("clique", "star", "zhou")


def relative(found, expected):
    """The norm of the difference, relative to that of what is expected."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# In the comments: the largest differences found, relative to ‖WWᵀ‖ and, of λ, to each value.
@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.parametrize(
    ("name", "expansion"),
    [
        *(("emotions", each) for each in EXPANSIONS),  # 1e-12, 3e-13
        *(("scene", each) for each in ("clique", "star")),  # 8e-12, 3e-13
        ("medical", "clique"),  # 1e-11, 1e-12 (with alpha 1: 1e-13, 7e-15)
    ],
)
def test_hsl_is_mldrs(given, name, expansion, alpha):
    """With a ridge MLDR returns K columns, also those of value 0. Of medical every eighth row was kept."""
    X, Y, put_out = given(name, "mldr")
    fitted = HSL(expansion=expansion, alpha=float(alpha)).fit(X, Y)
    m, P = fitted.n_positive_, fitted.components_.T
    key, step = f"hsl_{expansion}_eig_reg{alpha}", 8 if name == "medical" else 1
    values = put_out[f"{key}_values"].ravel()
    W = put_out[key if step == 1 else f"{key}_every8throw"][:, :m]
    assert m == np.count_nonzero(values > 1e-20)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:m], rtol=1e-11)
    assert relative(P[::step] @ P[::step].T, W @ W.T) < 1e-10
    H = label_factor(Y, expansion).toarray()
    np.testing.assert_allclose(H[:40] - H.mean(axis=0), put_out[f"hsl_{expansion}_H"], atol=1e-14)


@pytest.mark.parametrize("expansion", ["star", "zhou"])
def test_labels_without_instances_are_those_that_mldr_must_be_spared(given, expansion):
    """On medical, two labels have no instance: MLDR fails, and was given the others. Differences: 1e-13, 8e-15."""
    X, Y, put_out = given("medical", "nonempty")
    fitted = HSL(expansion=expansion, alpha=1.0).fit(X, Y)
    key = f"{expansion}_eig_reg1_nonempty"
    P, W = fitted.components_.T[::8], put_out[f"{key}_every8throw"]
    np.testing.assert_allclose(fitted.eigenvalues_, put_out[f"{key}_values"].ravel(), rtol=1e-12)
    assert relative(P @ P.T, W @ W.T) < 1e-11


@pytest.mark.parametrize("alpha", [1, 100])
@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_mhsl_is_what_ml_fsdr_calls_hsl(given, name, alpha):
    """ML-FSDR has MLC Toolbox's graph, and lists by signed value. Differences: 2e-11 of UUᵀ, 7e-13 of |λ|."""
    X, Y, put_out = given(name, "fsdr")
    fitted = MHSL(20, alpha=float(alpha), norm="unit", variant="mlc_toolbox").fit(X, Y)
    key, step = f"hsl_g{alpha}", 8 if name == "medical" else 1
    P, U = fitted.components_.T[::step], put_out[f"{key}_U" if step == 1 else f"{key}_U_every8throw"]
    values = np.sort(np.abs(put_out[f"{key}_values"].ravel()))[::-1]
    np.testing.assert_allclose(fitted.eigenvalues_[:20], values, rtol=1e-11)
    assert relative(P @ P.T, U @ U.T) < 1e-10


@pytest.mark.parametrize("form", [np.asarray, as_sparse, sp.csc_matrix], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_labels_without_instances_count_for_nothing_and_instances_without_labels_have_no_weight(expansion, form):
    X, Y = problem("plain")
    assert not Y[:, 4].any()
    assert not Y[::7].any()
    fitted = HSL(expansion=expansion).fit(form(X), form(Y))
    without = HSL(expansion=expansion).fit(X, Y[:, Y.any(axis=0)])
    np.testing.assert_allclose(fitted.eigenvalues_, without.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(fitted.components_, without.components_, atol=1e-12)
    H = label_factor(form(Y), expansion).toarray()
    assert not H[::7].any()
    # a part of them, taken from all
    some = Moments.from_arrays(form(X), form(Y)).without(np.flatnonzero(Y[:, 0]))
    left = HSL(expansion=expansion).fit_moments(some)
    np.testing.assert_allclose(left.eigenvalues_, HSL(expansion=expansion).fit(*some.rows()).eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_the_similarity_is_a_normalised_graphs(expansion):
    """HHᵀ has the eigenvalue 1 with D^½1, and none above it."""
    Y = problem("plain")[1]
    Y = Y[Y.any(axis=1)]
    H = label_factor(Y, expansion).toarray()
    values, vectors = np.linalg.eigh(H @ H.T)
    assert values[-1] == pytest.approx(1, rel=1e-12)
    graph = {"clique": Y @ Y.sum(axis=0), "zhou": Y.sum(axis=1), "star": Y @ (1 / np.maximum(Y.sum(axis=0), 1))}
    expected = np.sqrt(graph[expansion] / graph[expansion].sum())
    np.testing.assert_allclose(np.abs(vectors[:, -1]), expected, atol=1e-10)


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_one_label_each_is_discriminant_analysis(expansion):
    """Where no instance has two labels, the three are one: λ is the share of a feature's scatter between the labels."""
    X, _ = problem("plain")
    Y = np.eye(4)[[0, 1, 1, 2, 2, 2, 3, 3, 3, 3] * 12]
    x = X - X.mean(axis=0)
    means = np.array([x[y > 0].mean(axis=0) for y in Y.T])
    between = means.T @ np.diag(Y.sum(axis=0)) @ means
    exact = np.linalg.eigvals(np.linalg.solve(x.T @ x, between)).real
    fitted = HSL(expansion=expansion, alpha=0.0).fit(X, Y)
    assert fitted.n_positive_ == 3
    np.testing.assert_allclose(fitted.eigenvalues_, np.sort(exact)[::-1][:3], rtol=1e-9)


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("sparse", [False, True])
def test_units_of_features_hide_no_direction(sparse, expansion):
    X, Y = problem("plain")
    units = X * 10.0 ** (np.arange(X.shape[1]) % 7 - 3)
    plain = HSL(expansion=expansion, alpha=0.0).fit(X, Y)
    for alpha in (0.0, 1.0):
        fitted = HSL(expansion=expansion, alpha=alpha).fit(as_sparse(units) if sparse else units, Y)
        assert fitted.n_positive_ == plain.n_positive_ == 5
        if alpha == 0:
            np.testing.assert_allclose(fitted.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
