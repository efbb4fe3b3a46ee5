"""Compressed sensing: sparse recovery against scikit-learn's and against all supports, then the label space."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.linear_model import orthogonal_mp

from mlcdr import CompressedSensing
from mlcdr.methods.label_space.sparse_recovery import cosamp, orthogonal_matching_pursuit
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem


def unit_columns(m, size, seed=0):
    columns = np.random.default_rng(seed).standard_normal((m, size))
    return columns / np.linalg.norm(columns, axis=0)


def sparse_vectors(n, size, k, seed=0):
    """n rows with k entries of 1 each."""
    rng = np.random.default_rng(seed)
    return np.array([np.isin(np.arange(size), rng.choice(size, k, replace=False)) for _ in range(n)]).astype(float)


def best_support(a, t, k):
    """The least-squares solution of all supports of size k that leaves least of t."""
    best, least = np.zeros(a.shape[1]), np.inf
    for support in map(list, itertools.combinations(range(a.shape[1]), k)):
        values = np.linalg.lstsq(a[:, support], t, rcond=None)[0]
        error = np.sum((t - a[:, support] @ values) ** 2)
        if error < least:
            least, best = error, np.zeros(a.shape[1])
            best[support] = values
    return best


@pytest.mark.parametrize("k", [1, 3, 8])
def test_orthogonal_matching_pursuit_is_scikit_learns(k):
    a = unit_columns(12, 30)
    t = np.random.default_rng(1).standard_normal((50, 12))
    found = orthogonal_matching_pursuit(a.T @ a, t @ a, k)
    np.testing.assert_allclose(found, orthogonal_mp(a, t.T, n_nonzero_coefs=k).T, atol=1e-10)
    assert (np.count_nonzero(found, axis=1) == k).all()


@pytest.mark.parametrize("recover", [orthogonal_matching_pursuit, cosamp])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_recovery_finds_the_best_of_all_supports(recover, noise):
    """Where columns are nearly orthogonal, greedy is best; brute force over all supports says so."""
    a = unit_columns(60, 12)
    for k in (1, 2, 3):
        t = sparse_vectors(15, 12, k) @ a.T + noise * np.random.default_rng(2).standard_normal((15, 60))
        found = recover(a.T @ a, t @ a, k)
        np.testing.assert_allclose(found, [best_support(a, row, k) for row in t], atol=1e-9)


def test_cosamp_goes_no_further_than_it_helps():
    """In few dimensions: never more than k entries, never farther than 0, and the same code decoded alone."""
    a = unit_columns(5, 20)
    t = np.random.default_rng(3).standard_normal((40, 5))
    found = cosamp(a.T @ a, t @ a, 3)
    assert (np.count_nonzero(found, axis=1) <= 3).all()
    assert (np.linalg.norm(t - found @ a.T, axis=1) <= np.linalg.norm(t, axis=1)).all()
    assert np.count_nonzero(found) > 40
    for row, alone in zip(t, found, strict=True):
        np.testing.assert_allclose(cosamp(a.T @ a, row[None] @ a, 3)[0], alone, atol=1e-9)


@pytest.mark.parametrize("recover", [orthogonal_matching_pursuit, cosamp])
def test_codes_of_nothing_and_of_equal_columns_are_recovered(recover):
    a = unit_columns(60, 8)
    a[:, 5] = a[:, 2]  # no telling which of the two
    t = np.vstack([np.zeros(60), a[:, 2], a[:, 0] + a[:, 5]])
    found = recover(a.T @ a, t @ a, 3)
    np.testing.assert_allclose(found[:, 2] + found[:, 5], [0, 1, 1], atol=1e-9)
    np.testing.assert_allclose(found[:, [0, 1, 3, 4, 6, 7]], [[0] * 6, [0] * 6, [1, *[0] * 5]], atol=1e-9)
    assert recover(a.T @ a, np.zeros((0, 8)), 2).shape == (0, 8)
    assert not recover(a.T @ a, np.zeros((3, 8)), 2).any()
    assert np.isfinite(recover(a.T @ a, np.ones((3, 8)), 8)).all()


@pytest.mark.parametrize("code", ["gaussian", "hadamard"])
@pytest.mark.parametrize("decoder", ["omp", "cosamp", "lasso"])
def test_small_label_sets_survive_compression(code, decoder):
    """40 dimensions of 100 labels, three of them present: found again, by scores on the right side of ½."""
    Y = sparse_vectors(60, 100, 3)
    X = np.zeros((60, 1))
    space = CompressedSensing(40, code, decoder, random_state=0).fit(X, Y)
    assert space.sparsity_ == 3
    scores = space.decode(space.encode(Y))
    np.testing.assert_array_equal(scores > 0.5, Y > 0)
    if decoder != "lasso":
        np.testing.assert_allclose(scores, Y, atol=1e-9)


@pytest.mark.parametrize("code", ["gaussian", "hadamard"])
def test_codes_are_nested(code):
    """The first m dimensions are those that m alone would have, and are decoded as these would be."""
    X, Y = problem("plain")
    whole = CompressedSensing(None, code, random_state=5).fit(X, Y)
    said = np.random.default_rng(0).standard_normal((20, 6))
    for m in range(1, 7):
        part = CompressedSensing(m, code, random_state=5).fit(X, Y)
        np.testing.assert_array_equal(part.directions_, whole.directions_[:m])
        np.testing.assert_array_equal(part.decode(said[:, :m]), whole.decode(said[:, :m]))
    assert np.any(whole.directions_ != CompressedSensing(None, code, random_state=6).fit(X, Y).directions_)


def test_hadamard_codes_are_distinct_rows_of_the_hadamard_matrix():
    X, Y = np.zeros((20, 1)), sparse_vectors(20, 11, 2)
    V = CompressedSensing(code="hadamard", random_state=0).fit(X, Y).directions_
    matrix = scipy.linalg.hadamard(16)[:, :11]
    rows = [int(np.flatnonzero((matrix == v).all(axis=1))[0]) for v in V]
    assert len(set(rows)) == 11
    assert rows != sorted(rows)
    one = CompressedSensing(code="hadamard", random_state=0).fit(X, Y[:, :1])
    np.testing.assert_array_equal(one.decode(one.encode(Y[:, :1])), Y[:, :1])


def test_the_sparsity_is_the_cardinality_rounded():
    X, Y = problem("plain")
    cardinality = Y.sum(axis=1).mean()
    assert CompressedSensing().fit(X, Y).sparsity_ == round(cardinality)
    assert CompressedSensing().fit_moments(Moments.from_arrays(X, Y).settled()).sparsity_ == round(cardinality)
    assert CompressedSensing().fit(X, np.zeros_like(Y)).sparsity_ == 1
    assert CompressedSensing(sparsity=99).fit(X, Y).sparsity_ == 6
    space = CompressedSensing(sparsity=2, random_state=0).fit(X, Y)
    said = np.random.default_rng(0).standard_normal((20, 6))
    assert (np.count_nonzero(space.decode(said), axis=1) == 2).all()
    assert (np.count_nonzero(space.decode(said[:, :1]), axis=1) == 1).all()


def test_a_larger_penalty_leaves_less_of_the_labels():
    Y = sparse_vectors(30, 40, 2)
    spaces = [CompressedSensing(20, decoder="lasso", penalty=p, random_state=0).fit(Y, Y) for p in (0.01, 0.2, 100.0)]
    sizes = [np.abs(s.decode(s.encode(Y))).sum() for s in spaces]
    assert sizes[0] > sizes[1] > sizes[2] == 0.0
    # the conditions of optimality of ½‖t − As‖² + λ‖s‖₁, for λ = 0.2
    V = spaces[1].directions_
    s, a, t = spaces[1].decode(spaces[1].encode(Y)), V / np.sqrt(20), Y @ V.T / np.sqrt(20)
    slope = (t - s @ a.T) @ a
    assert np.max(np.abs(slope)) < 0.2 + 1e-2
    np.testing.assert_allclose(slope[s != 0], 0.2 * np.sign(s[s != 0]), atol=1e-2)
    assert spaces[1].decode(np.zeros((0, 20))).shape == (0, 40)


def test_error_terms_are_what_decoding_loses():
    X, Y = problem("plain")
    space = CompressedSensing(random_state=0, sparsity=3).fit(X[:80], Y[:80])
    codes = space.encode(Y[80:]) + 0.3 * np.random.default_rng(0).standard_normal((40, 6))
    encoding, prediction = space.error_terms(sp.csr_array(Y[80:]), codes)
    for m in range(1, 7):
        best, said = space.decode(space.encode(Y[80:])[:, :m]), space.decode(codes[:, :m])
        assert encoding[m - 1] == pytest.approx(np.sum((Y[80:] - best) ** 2) / 40)
        assert prediction[m - 1] == pytest.approx(np.sum((best - said) ** 2) / 40)
        assert np.sum((Y[80:] - said) ** 2) / 40 <= 2 * (encoding[m - 1] + prediction[m - 1]) + 1e-9
