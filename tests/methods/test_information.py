"""Information measures: by loops over pairs and rows, in closed form, and the author's program's own numbers."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr.numerics import information
from mlcdr.numerics.discretise import at_deviations, discretised, equal_frequency
from mlcdr.numerics.information import (
    Variables,
    conditional_on,
    conditional_on_each,
    entropy,
    joint_entropy,
    mutual_information,
)


def table(name: str, n: int = 70, d: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = {
        "binary": lambda: (rng.random((n, d)) < 0.3).astype(float),
        "ternary": lambda: rng.integers(-1, 2, (n, d)).astype(float),
        "many values": lambda: rng.integers(0, 9, (n, d)) * rng.integers(0, 2, (n, d)) * 1.5,
        "awkward": lambda: np.column_stack([np.zeros(n), np.ones(n), *[rng.integers(0, 3, n)] * 2, rng.random(n)]),
    }[name]()
    X[:, -1] = np.where(rng.random(n) < 0.7, X[:, 0], X[:, -1])
    return X


NAMES = ("binary", "ternary", "many values", "awkward")


def by_counting(*columns):
    """The joint entropy of columns."""
    return _entropy_of_rows(tuple(np.asarray(column, dtype=float).tobytes() for column in columns))


@cache  # loops over formulas ask for the same columns again and again
def _entropy_of_rows(columns):
    counts = np.array(sorted(Counter(zip(*(np.frombuffer(c).tolist() for c in columns), strict=True)).values()))
    p = counts / counts.sum()
    return float(-(p * np.log2(p)).sum())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("first", NAMES)
def test_all_pairs_by_counting_each(first, second, form):
    A, B, h = table(first), table(second, d=4, seed=1), by_counting
    a, b = form(A), form(B)
    z = B[:, -1]
    np.testing.assert_allclose(entropy(a), [h(x) for x in A.T], atol=1e-13)
    np.testing.assert_allclose(joint_entropy(a, b), [[h(x, y) for y in B.T] for x in A.T], atol=1e-13)
    expected = [[h(x) + h(y) - h(x, y) for y in B.T] for x in A.T]
    np.testing.assert_allclose(mutual_information(a, b), expected, atol=1e-12)
    expected = [[h(x, z) + h(y, z) - h(x, y, z) - h(z) for y in B.T] for x in A.T]
    np.testing.assert_allclose(conditional_on(a, b, z), expected, atol=1e-12)
    expected = [[h(x, y) + h(z, y) - h(x, y, z) - h(y) for y in B.T] for x in A.T]
    np.testing.assert_allclose(conditional_on_each(a, z, b), expected, atol=1e-12)
    np.testing.assert_allclose(conditional_on_each(a, z, b, joint_entropy(a, b)), expected, atol=1e-12)


def test_coins_and_their_exclusive_or_have_whole_bits():
    coins = np.array([[a, b, a ^ b] for a in (0, 1) for b in (0, 1)] * 5)
    np.testing.assert_allclose(entropy(coins), 1.0)
    np.testing.assert_allclose(mutual_information(coins, coins), np.eye(3), atol=1e-15)
    assert conditional_on(coins[:, :1], coins[:, 1:2], coins[:, 2])[0, 0] == pytest.approx(1.0)  # exclusive or
    assert entropy(np.zeros((1, 2))).tolist() == [0.0, 0.0]
    assert mutual_information(np.zeros((5, 0)), coins[:5]).shape == (0, 3)


def test_tables_by_blocks_are_the_same(monkeypatch):
    A, B = table("ternary", d=11), table("many values")
    whole = mutual_information(A, B), conditional_on_each(A, B[:, 0], B)
    monkeypatch.setattr(information, "_CELLS", 40)
    np.testing.assert_array_equal(mutual_information(A, B), whole[0])
    np.testing.assert_array_equal(conditional_on_each(A, B[:, 0], B), whole[1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_some_variables_and_some_rows(form):
    A = table("many values")
    taken = Variables.from_values(form(A)).take([4, 0, 4])
    np.testing.assert_allclose(entropy(taken), entropy(A[:, [4, 0, 4]]), atol=1e-14)
    index = np.arange(0, 70, 3)
    np.testing.assert_allclose(entropy(Variables.from_values(form(A)).rows(index)), entropy(A[index]), atol=1e-15)


def test_sparse_variables_stay_sparse():
    variables = Variables.from_values(sp.random_array((2000, 500), density=0.01, rng=np.random.default_rng(0)))
    assert sp.issparse(variables.indicators)
    assert variables.indicators.nnz == 10_000


def test_the_numbers_of_the_authors_program(sun2017):
    X, Y = (sun2017(f"occ_disc_{name}") for name in ("X", "Y_NxL"))
    for name, first in (("XY", X), ("YY", Y)):
        theirs = sun2017(f"occ_disc_MI_{name}_bits")
        np.testing.assert_allclose(mutual_information(first, Y), theirs, atol=1e-12)
    theirs = sun2017("occ_disc_CMI_examples_bits")
    np.testing.assert_allclose(conditional_on_each(Y[:, :1], Y[:, 1], X)[0], theirs[:, 0], atol=1e-12)
    np.testing.assert_allclose(conditional_on_each(X[:, :1], Y[:, 0], X)[0], theirs[:, 1], atol=1e-12)
    np.testing.assert_allclose(conditional_on_each(Y[:, 2:3], Y[:, 3], X)[0], theirs[:, 2], atol=1e-12)


def test_discretisation_of_the_authors_program(sun2017):
    X = sun2017("occ_myDisc_in")
    for widths, name in (((0.5,), "3"), ((0.5, 1.0), "5")):
        theirs = sun2017(f"occ_myDisc_out{name}_factor0.5")
        np.testing.assert_array_equal(at_deviations(X, widths, decimals=3), theirs)
        sparse = at_deviations(sp.csr_array(X), widths, decimals=3)
        np.testing.assert_allclose(mutual_information(sparse, theirs), mutual_information(theirs, theirs), atol=1e-14)
    np.testing.assert_array_equal(discretised(X, "published_code"), at_deviations(X, (0.5,), decimals=3))


@pytest.mark.parametrize("rule", ["mean_std", "published_code", "equal_frequency"])
def test_sparse_features_are_cut_as_dense_ones(rule):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 8)) * (rng.random((60, 8)) < [0.1, 0.3, 0.5, 0.9, 1, 0.5, 0, 1])
    X[:, 4] = np.abs(X[:, 4]) + 0.1
    X[:, 5], X[:, 7] = -np.abs(X[:, 5]), 2.5
    dense, sparse = discretised(X, rule), discretised(sp.csr_array(X), rule)
    assert sp.issparse(sparse)
    assert sparse.nnz <= np.count_nonzero(X)
    np.testing.assert_allclose(
        conditional_on_each(sparse, X[:, 0] > 0, sparse), conditional_on_each(dense, X[:, 0] > 0, dense), atol=1e-13
    )
    for j in range(8):  # one code for each interval: the same rows share one
        pairs = {(a, b) for a, b in zip(dense[:, j], sparse.toarray()[:, j], strict=True)}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        assert np.all(np.diff(dense[np.argsort(X[:, j]), j]) >= 0)


def test_cuts_at_mean_and_deviation():
    x = np.array([[0.0], [1], [2], [3], [4]])  # σ = 1.58 with n − 1
    assert at_deviations(x)[:, 0].tolist() == [-1, 0, 0, 0, 1]
    two = np.array([[5.0], [7], [5], [5]])
    np.testing.assert_array_equal(at_deviations(two), two)


def test_equal_frequency_cuts_into_equal_parts_and_not_between_equals():
    x = np.random.default_rng(0).permutation(100.0 * np.arange(100))[:, None]
    np.testing.assert_array_equal(equal_frequency(x, 4)[:, 0], x[:, 0] // 2500)
    many_zeros = np.where(np.arange(100) < 80, 0.0, np.arange(100))[:, None]
    assert len(np.unique(equal_frequency(many_zeros, 5))) == 2
