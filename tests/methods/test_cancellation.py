"""Data that make quick sums lie: offsets, vanished features, outliers, small integers. The oracle is NumPy's SVD."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer

from mlcdr import CPLST, PLST, ComposedClassifier, Ridge
from mlcdr.numerics import factorisation, linalg, regression
from mlcdr.numerics.moments import Moments

RNG = np.random.default_rng


def labels(X, seed=1):
    """Three labels that depend on the first features."""
    return (X[:, :3] - X[:, :3].mean(0) + RNG(seed).standard_normal((len(X), 3)) > 0).astype(np.uint8)


def predictions(m: Moments, X):
    """Scores of X by least squares from moments."""
    return (X - m.mean_x) @ regression.coefficients(m) + m.mean_y


def expected(X, Y, X_test):
    """The same by NumPy: features centred twice, rounding relative to the offset."""
    mean = X.mean(0)
    x = X - mean
    x -= x.mean(0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    keep = s > max(X.shape) * 2.2e-16 * max(s[0], np.sqrt(len(X)) * np.linalg.norm(mean))
    W = vt[keep].T @ ((u[:, keep].T @ (Y - Y.mean(0))) / s[keep, None])
    return (X_test - mean) @ W + Y.mean(0)


def test_settled_moments_survive_their_factorisation():
    X = RNG(0).standard_normal((60, 5))
    m = Moments.from_arrays(X, labels(X))
    before = m.xx.copy()
    settled = m.settled()
    first = regression.coefficients(settled)
    np.testing.assert_array_equal(settled.xx, before)
    np.testing.assert_array_equal(m.xx, before)
    np.testing.assert_allclose(regression.coefficients(settled, 1.0), regression.coefficients(m, 1.0))
    np.testing.assert_allclose(first, regression.coefficients(m))
    assert not m.uncentred().settled().centred


@pytest.mark.parametrize("sparse", [False, True])
def test_a_feature_that_vanishes_from_training(sparse):
    X = RNG(0).poisson(1.0, (60, 6)).astype(float)
    X[5:, 1] = 0  # present in the fold only
    X[5:, 2] = 3  # constant in training
    Y = labels(X)
    fold = np.arange(5)
    m = Moments.from_arrays(sp.csr_array(X) if sparse else X, Y).without(fold)
    assert m.mean_x[1] == 0.0
    assert m.mean_x[2] == 3.0
    assert not m.xx[1:3].any()
    assert not m.xy[1:3].any()
    fresh = Moments.from_arrays(X[5:], Y[5:])
    for ours in (m, m.uncentred()):
        theirs = fresh if ours is m else fresh.uncentred()
        assert factorisation.factor(ours).rank == factorisation.factor(theirs).rank
        np.testing.assert_allclose(regression.explained_scatter(ours), regression.explained_scatter(theirs), atol=1e-9)
    np.testing.assert_allclose(predictions(m, X), expected(X[5:], Y[5:].astype(float), X), atol=1e-9)


def test_a_sparse_feature_constant_in_many_training_rows():
    X = RNG(0).standard_normal((5500, 5))
    X[3:, 1], X[3:, 2], X[3:, 3] = 0.1, 0.9, 0.17
    Y = labels(X)
    m = Moments.from_arrays(sp.csr_array(X), Y).without(np.arange(3))
    assert not m.xx[1:4].any()
    assert np.abs(regression.coefficients(m)).max() < 10


@pytest.mark.parametrize("offset", [0.0, 1e2, 5e3, 9e3, 1e5])
def test_offsets_of_sparse_features_cost_no_rank(offset):
    X = RNG(0).standard_normal((400, 10)) + offset
    X[:, 3] = X[:, 1] + X[:, 2]
    Y = labels(X)
    m = Moments.from_arrays(sp.csr_array(X), Y)
    assert factorisation.factor(m).rank == 9
    np.testing.assert_allclose(predictions(m, X), expected(X, Y.astype(float), X), atol=1e-6)
    X[:, 3] += 1e-3 * RNG(5).standard_normal(400)
    m = Moments.from_arrays(sp.csr_array(X), Y)
    np.testing.assert_allclose(predictions(m, X), expected(X, Y.astype(float), X), atol=1e-5)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e7])
def test_offsets_where_features_outnumber_rows(offset, ridge):
    X = RNG(0).standard_normal((30, 80)) + offset
    Y = labels(X)
    m = Moments.from_arrays(sp.csr_array(X), Y)
    x = X - X.mean(0)
    x -= x.mean(0)
    W = np.linalg.solve(x.T @ x + ridge * np.eye(80), x.T @ (Y - Y.mean(0))) if ridge else None
    scores = (X - m.mean_x) @ regression.coefficients(m, ridge) + m.mean_y
    theirs = x @ W + Y.mean(0) if ridge else expected(X, Y.astype(float), X)
    np.testing.assert_allclose(scores, theirs, atol=1e-4)
    assert ridge or factorisation.factor(m).rank == 29


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, bool, np.float32])
@pytest.mark.parametrize("shape", [(20, 50), (60, 8)])
def test_small_types_do_not_overflow(shape, kind):
    counts = RNG(0).integers(0, 2 if kind is bool else 120, shape)
    X, Y = counts.astype(float), labels(counts.astype(float))
    reference = Moments.from_arrays(X, Y)
    for features in (counts.astype(kind), sp.csr_array(counts.astype(kind))):
        m = Moments.from_arrays(features, sp.csr_array(Y.astype(np.int8)))
        for ridge in (0.0, 1.0):
            np.testing.assert_allclose(
                regression.coefficients(m, ridge), regression.coefficients(reference, ridge), atol=1e-8
            )
        step = FunctionTransformer(lambda a, f=features: f)
        model = ComposedClassifier(Ridge(1.0), CPLST(2), [step]).fit(X, Y)
        plain = ComposedClassifier(Ridge(1.0), CPLST(2)).fit(X, Y)
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("outlier", [1e4, 1e6, 1e8, 1e10])
def test_an_outlier_in_the_fold(outlier):
    X = RNG(0).standard_normal((100, 6))
    X[7, 2] = outlier
    Y = labels(X)
    rest = np.delete(np.arange(100), 7)
    m = Moments.from_arrays(X, Y).without(np.array([7]))
    np.testing.assert_allclose(
        regression.coefficients(m), regression.coefficients(Moments.from_arrays(X[rest], Y[rest])), atol=1e-8
    )
    difference = Moments.from_arrays(X, Y) - Moments.from_arrays(X[[7]], Y[[7]])
    if outlier == 1e6:  # from 1e8 on, what is left cannot be told from nothing
        with pytest.raises(linalg.IllConditioned, match="use `without`"):
            regression.coefficients(difference)


def test_rows_to_leave_out_are_distinct():
    X = RNG(0).standard_normal((60, 5))
    with pytest.raises(ValueError, match="named twice"):
        Moments.from_arrays(X, labels(X)).without(np.array([0, 0, 1]))


def test_empty_columns_cost_no_dense_copy():
    """20000×2000 with 1900 empty columns: a dense copy would take 320 MB."""
    import tracemalloc

    X = sp.random_array((20000, 100), density=0.01, rng=RNG(0), format="csr")
    X = sp.csr_array(sp.hstack([X, sp.csr_array((20000, 1900))]))
    tracemalloc.start()
    m = Moments.from_arrays(X, np.ones((20000, 1))).without(np.arange(2000))
    regression.coefficients(m)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 160e6  # S itself is 32 MB


def test_large_label_spaces_with_nothing_to_find_have_directions_all_the_same():
    X, Y = RNG(0).standard_normal((300, 20)), (RNG(1).random((300, 1200)) < 0.02).astype(np.uint8)
    assert PLST(5).fit(X, 0 * Y).directions_.shape == (5, 1200)
    assert CPLST(5).fit(np.ones((300, 2)), Y).directions_.shape == (5, 1200)
