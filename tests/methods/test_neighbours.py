"""Nearest rows, by a loop over all distances; ties by row; MLkNN by the formulas, and by scikit-multilearn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler

from mlcdr import MLkNN
from mlcdr.numerics import neighbours
from mlcdr.numerics.neighbours import Neighbours
from tests.methods.problems import NAMES, as_sparse, problem


def by_loop(rows, queries, k, leave_out_itself=False):
    """The k nearest rows of each query; of those as far away, in exact arithmetic, the first."""
    found = np.zeros((len(queries), len(rows)))
    # each float is a whole number of the smallest power of two that any of them needs
    unit = max(float(v).as_integer_ratio()[1] for v in np.concatenate([rows, queries]).flat)
    exact, wanted_rows = ([[int(Fraction(float(v)) * unit) for v in row] for row in part] for part in (rows, queries))
    for i, wanted in enumerate(wanted_rows):
        distances = [sum((a - b) ** 2 for a, b in zip(row, wanted, strict=True)) for row in exact]
        others = [j for j in range(len(rows)) if not (leave_out_itself and i == j)]
        found[i, sorted(others, key=lambda j: (distances[j], j))[:k]] = 1
    return found


@pytest.mark.parametrize("name", [*NAMES, "grid", "offset"])
def test_nearest_rows_are_those_of_exact_arithmetic(name, monkeypatch):
    X = problem("plain" if name in ("grid", "offset") else name)[0][:60, :12]
    if name == "grid":  # many rows as far away as others
        X = np.round(X[:, :3])
    if name == "offset":  # what tells rows apart is small beside what they share
        X = np.round(X[:, :3]) / 4 + 1e6
    X[7], X[31] = X[2], X[2]
    queries = np.vstack([X[:10], 0.75 * X[10:20] + 0.25 * X[20:30]])
    expected = by_loop(X, queries, 4)
    alone = by_loop(X, X, 4, leave_out_itself=True)
    for block in (1 << 22, 150):
        monkeypatch.setattr(neighbours, "_BLOCK", block)
        monkeypatch.setattr(neighbours, "_PAIRS", block)
        for make in (np.asarray, as_sparse):
            search = Neighbours(make(X))
            np.testing.assert_array_equal(search.nearest(make(queries), 4).toarray(), expected)
            np.testing.assert_array_equal(search.nearest(make(X), 4, leave_out_itself=True).toarray(), alone)


def test_nearest_rows_of_the_other_kind_and_of_none():
    X = problem("sparse counts")[0]
    dense, sparse = Neighbours(X), Neighbours(as_sparse(X))
    np.testing.assert_array_equal(dense.nearest(as_sparse(X[:9]), 3).toarray(), sparse.nearest(X[:9], 3).toarray())
    assert dense.nearest(X[:0], 3).shape == (0, len(X))
    assert dense.nearest(X[:5], 0).nnz == 0
    assert dense.nearest(X[:5], 500).nnz == 5 * len(X)


# -------------------------------------------------------------------- MLkNN


def formulas(X, Y, new, k, s, include_itself=False):
    """P(y = 1 | x) by the paper's formulas, a loop each."""
    n, n_labels = Y.shape
    k = min(k, n if include_itself else n - 1)
    near = by_loop(X, X, k, not include_itself)
    near_new = by_loop(X, new, k)
    result = np.zeros((len(new), n_labels))
    for label in range(n_labels):
        counted = {0: [0] * (k + 1), 1: [0] * (k + 1)}
        for i in range(n):
            counted[int(Y[i, label])][sum(int(Y[j, label]) for j in range(n) if near[i, j])] += 1
        prior = (s + sum(Y[:, label].tolist())) / (2 * s + n)
        for i in range(len(new)):
            j = sum(int(Y[r, label]) for r in range(n) if near_new[i, r])
            there = prior * (s + counted[1][j]) / (s * (k + 1) + sum(counted[1]))
            absent = (1 - prior) * (s + counted[0][j]) / (s * (k + 1) + sum(counted[0]))
            result[i, label] = there / (there + absent)
    return result


@pytest.mark.parametrize("include_itself", [False, True])
@pytest.mark.parametrize("name", ["plain", "sparse counts", "wide"])
def test_mlknn_has_the_probabilities_of_the_formulas(name, include_itself):
    X, Y = problem(name)
    X, Y = X[:40, :10], Y[:40]
    train, new = slice(0, 30), slice(30, 40)
    expected = formulas(X[train], Y[train], X[new], 5, 0.5, include_itself)
    for make in (np.asarray, as_sparse):
        found = MLkNN(5, 0.5, include_itself).fit(make(X[train]), Y[train])
        np.testing.assert_allclose(found.predict_proba(make(X[new])), expected, atol=1e-12)
        np.testing.assert_array_equal(found.predict(make(X[new])), expected >= 0.5)


def test_mlknn_of_few_instances_has_fewer_neighbours():
    X, Y = problem("plain")
    alone = MLkNN().fit(X[:1], Y[:1])
    np.testing.assert_array_equal(alone.predict(X[:9]), np.repeat(Y[:1], 9, axis=0))
    np.testing.assert_allclose(alone.predict_proba(X[:1])[0], (1 + Y[0]) / 3, atol=1e-12)
    few = MLkNN(10).fit(X[:4], Y[:4])
    np.testing.assert_allclose(few.predict_proba(X[5:9]), formulas(X[:4], Y[:4], X[5:9], 10, 1.0), atol=1e-12)


def test_mlknn_predicts_what_is_as_likely_as_not():
    """Two instances apart, one with the label: each one's neighbour says the opposite, or nothing."""
    model = MLkNN(1).fit(np.array([[0.0], [1.0]]), np.array([[0], [1]]))
    assert (model.decision_function(np.array([[0.0], [1.0]])) != 0).all()
    tie = MLkNN(2, include_itself=True).fit(np.array([[0.0], [1.0]]), np.array([0, 1]))
    assert tie.predict(np.array([[5.0]])).tolist() == [1]
    assert tie.predict_proba(np.array([[5.0]]))[0].tolist() == pytest.approx([0.5, 0.5])
    assert tie.decision_function(np.array([[5.0]])) > 0


@pytest.mark.parametrize("name", ["scales, dependent", "dependent", "sparse counts"])
def test_mlknn_normalises_features_as_a_scaler_does(name):
    X, Y = problem(name)
    scaler = MinMaxScaler().fit(X[:90])
    plain = MLkNN().fit(scaler.transform(X[:90]), Y[:90]).decision_function(scaler.transform(X[90:]))
    for make in (np.asarray, as_sparse):
        found = MLkNN(normalise=True).fit(make(X[:90]), Y[:90])
        np.testing.assert_allclose(found.decision_function(make(X[90:])), plain, atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "scales", "wide"])
def test_mlknn_is_scikit_multilearns(name):
    """Where no two training instances are as far away: which of them it takes there is not said."""
    theirs = pytest.importorskip("skmultilearn.adapt", reason="needs scikit-multilearn-ng").MLkNN
    X, Y = problem(name)
    n = len(X) * 3 // 4
    expected = theirs(k=7, s=0.5).fit(X[:n], sp.csr_matrix(Y[:n])).predict(X[n:]).toarray()
    np.testing.assert_array_equal(MLkNN(7, 0.5, include_itself=True).fit(X[:n], Y[:n]).predict(X[n:]), expected)
