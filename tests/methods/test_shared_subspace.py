"""Shared-subspace learning against its authors' program MLDR, its objective, and what it becomes at the limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mlcdr import OPLS, SharedSubspace
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem
from tests.methods.test_hypergraphs import relative

CASES = [("ssl_r3_a0.1_b0.01", 3, 0.1, 0.01), ("ssl_r5_a1_b0.1", 5, 1.0, 0.1)]


def with_ones(X):
    """X and a last column of ones, as MLDR is given it."""
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])


def best_for(theta, x, Y, alpha, beta):
    """U (d×K) that minimises the objective for a given Θ, and the objective there."""
    n, d = x.shape
    gram = x.T @ x / n + (alpha + beta) * np.eye(d) - alpha * theta.T @ theta
    U = np.linalg.solve(gram, x.T @ Y / n)
    outside = U - theta.T @ (theta @ U)
    loss = np.sum((x @ U - Y) ** 2) / n + alpha * np.sum(outside**2) + beta * np.sum(U**2)
    return U, loss


# The largest differences found, relative to the norm: of ΘᵀΘ 2e-10, 2e-13 and 9e-14 (emotions, scene, medical); of U,
# the best for Θ, 1e-10; of the objective 4e-16.
@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_the_subspace_is_mldrs(given, name):
    """The program's own U is not the best for its Θ, as a formula in it is wrong; the U compared was solved for."""
    X, Y, put_out = given(name, "mldr")
    moments = Moments.from_arrays(with_ones(X), Y)
    step = 8 if name == "medical" else 1
    for key, m, alpha, beta in CASES:
        theta = SharedSubspace(m, alpha=alpha, beta=beta, centred=False).fit_moments(moments).components_
        expected = put_out[f"{key}_theta"]
        assert relative(theta.T @ theta, expected.T @ expected) < 1e-9
        if name == "medical":  # 1,450 features: solving for U would take the time of all the rest
            continue
        U, loss = best_for(theta, with_ones(X), Y, alpha, beta)
        assert relative(U[::step], put_out[f"{key}_exactU"]) < 1e-9
        assert loss == pytest.approx(put_out[f"{key}_objective_program_then_exact"][1], rel=1e-12)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_no_other_subspace_has_a_lower_objective(name, centred):
    X, Y = problem(name)
    x, y = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if centred else (X, Y.astype(float))
    alpha, beta = 0.7, 0.05
    fitted = SharedSubspace(2, alpha=alpha, beta=beta, centred=centred).fit(X, Y)
    theta = fitted.components_
    np.testing.assert_allclose(theta @ theta.T, np.eye(2), atol=1e-12)
    least = best_for(theta, x, y, alpha, beta)[1]
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            other = scipy.linalg.orth((theta + size * rng.standard_normal(theta.shape)).T).T
            assert best_for(other, x, y, alpha, beta)[1] > least
    # each direction lowers it by αλ
    without = best_for(theta[:0], x, y, alpha, beta)[1]
    assert without - least == pytest.approx(alpha * fitted.eigenvalues_[:2].sum(), rel=1e-9)


@pytest.mark.parametrize("name", ["plain", "mostly dependent", "wide"])
def test_a_large_penalty_outside_of_it_makes_it_that_of_opls(name):
    X, Y = problem(name)
    n = len(X)
    for beta in (0.02, 0.5):
        opls = OPLS(2, alpha=n * beta).fit(X, Y).components_
        shared = SharedSubspace(2, alpha=1e9, beta=beta).fit(X, Y).components_
        assert scipy.linalg.subspace_angles(shared.T, opls.T).max() < 1e-6


@pytest.mark.parametrize("name", ["plain", "dependent", "mostly dependent", "wide"])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_without_a_penalty_on_all_it_lies_in_the_range_of_the_rows(name, alpha):
    X, Y = problem(name)
    x, y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n = len(X)
    fitted = SharedSubspace(alpha=alpha, beta=0.0).fit(X, Y)
    axes = scipy.linalg.orth(x.T)
    assert fitted.n_positive_ == np.linalg.matrix_rank(x.T @ y)
    np.testing.assert_allclose(axes @ (axes.T @ fitted.components_.T), fitted.components_.T, atol=1e-10)
    inverse = np.linalg.inv(axes.T @ x.T @ x @ axes / n + alpha * np.eye(axes.shape[1]))
    half = inverse @ axes.T @ x.T @ y / n
    exact = scipy.linalg.eigh(half @ half.T, np.eye(len(inverse)) - alpha * inverse, eigvals_only=True)[::-1]
    np.testing.assert_allclose(fitted.eigenvalues_, exact[: fitted.n_positive_], rtol=1e-7)
    # of all subspaces, α → 0 chooses this
    if alpha == 0:
        near = SharedSubspace(2, alpha=1e-9, beta=0.0).fit(X, Y).components_
        assert scipy.linalg.subspace_angles(near.T, fitted.components_[:2].T).max() < 1e-6


@pytest.mark.parametrize("name", ["plain", "wide", "sparse counts"])
def test_about_the_origin_sparse_and_summed_rows_give_the_same(name):
    X, Y = problem(name)
    estimator = SharedSubspace(3, centred=False)
    expected = estimator.fit(X, Y).components_
    projector = expected.T @ expected
    for moments in (Moments.from_arrays(as_sparse(X), sp.csr_array(Y)), Moments.from_arrays(X, Y).settled()):
        found = estimator.fit_moments(moments).components_
        np.testing.assert_allclose(found.T @ found, projector, atol=1e-9)
    shifted = estimator.fit(X + 5, Y).components_
    assert not np.allclose(shifted.T @ shifted, projector, atol=1e-2)


@pytest.mark.parametrize("centred", [True, False])
def test_without_labels_there_is_no_subspace_and_one_label_has_one_direction(centred):
    X, Y = problem("plain")
    estimator = SharedSubspace(centred=centred)
    assert estimator.fit(X, np.zeros_like(Y)).transform(X).shape == (len(X), 0)
    assert estimator.fit(X, Y[:, :1]).transform(X).shape == (len(X), 1)
    # one for each label but the fifth, which no instance has
    assert estimator.fit(X, Y).n_positive_ == 5


def test_duplicated_rows_change_nothing():
    """The loss is a mean over the instances."""
    X, Y = problem("plain")
    once = SharedSubspace().fit(X, Y)
    twice = SharedSubspace().fit(np.vstack([X, X]), np.vstack([Y, Y]))
    np.testing.assert_allclose(twice.components_, once.components_, atol=1e-10)
    np.testing.assert_allclose(twice.eigenvalues_, once.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1e3, 1e8])
def test_units_are_those_of_the_penalties(scale):
    """Features c times as large, and penalties c² times, leave the subspace."""
    X, Y = problem("dependent")
    expected = SharedSubspace(alpha=2.0, beta=0.5).fit(X, Y)
    found = SharedSubspace(alpha=2.0 * scale**2, beta=0.5 * scale**2).fit(X * scale, Y)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
    np.testing.assert_allclose(found.eigenvalues_ * scale**2, expected.eigenvalues_, rtol=1e-9)
