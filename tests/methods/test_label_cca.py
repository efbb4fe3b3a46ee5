"""CCA as label-space reduction: against the definition, against scikit-learn's, and against NumPy's pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from sklearn.cross_decomposition import CCA

from mlcdr import CanonicalCodes, ComposedClassifier, LeastSquares
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem


def centred(X, Y):
    return X - X.mean(0), Y - Y.mean(0)


@pytest.mark.parametrize("name", NAMES)
def test_codes_are_the_canonical_variates(name):
    """Uncorrelated, of unit scatter, and with the cosines between the ranges of X and Z as correlations."""
    X, Y = problem(name)
    x, z = centred(X, Y)
    space = CanonicalCodes().fit(X, Y)
    rank = np.linalg.matrix_rank(z)
    assert rank == 5  # one label is never there
    cosines = np.linalg.svd(scipy.linalg.orth(x / np.maximum(x.std(0), 1e-9), 1e-8).T @ scipy.linalg.orth(z))[1]
    expected = np.zeros(6)
    expected[: len(cosines)] = cosines
    np.testing.assert_allclose(np.sqrt(np.maximum(space.eigenvalues_, 0)), expected, atol=1e-6)
    T = space.encode(Y)
    np.testing.assert_allclose(T.T @ T, np.diag([1.0] * 5 + [0.0]), atol=1e-9)
    assert not space.directions_[5].any()
    explained = T.T @ x @ np.linalg.pinv(x) @ T
    np.testing.assert_allclose(explained, np.diag(space.eigenvalues_), atol=1e-6)


def test_codes_are_scikit_learns_canonical_variates():
    X, Y = problem("plain")
    Y = np.delete(Y, 4, axis=1)
    theirs = CCA(3, scale=False, max_iter=100_000, tol=1e-14).fit(X, Y.astype(float))
    variates = theirs.transform(X, Y.astype(float))[1]
    variates /= np.linalg.norm(variates, axis=0)
    ours = CanonicalCodes(3).fit(X, Y).encode(Y)
    np.testing.assert_allclose(np.abs(np.sum(ours * variates, axis=0)), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_decoding_is_the_pseudo_inverse_in_every_number_of_dimensions(name):
    X, Y = problem(name)
    whole = CanonicalCodes().fit(X, Y)
    codes = np.random.default_rng(0).standard_normal((20, 6))
    for m in range(1, 7):
        decoded = whole.decode(codes[:, :m])
        V = whole.directions_[:m]
        np.testing.assert_allclose(decoded, codes[:, :m] @ np.linalg.pinv(V).T + Y.mean(0), atol=1e-8)
        if name != "wide":  # where the features explain all labels, every direction is as good as another
            part = CanonicalCodes(m).fit(X, Y)
            np.testing.assert_allclose(part.directions_, V, atol=1e-7)
            np.testing.assert_allclose(part.decode(codes[:, :m]), decoded, atol=1e-6)
    # of all label vectors with that code it is the shortest
    rest = scipy.linalg.null_space(whole.directions_[:2])
    z = whole.decode(codes[:, :2]) - Y.mean(0)
    np.testing.assert_allclose(z @ rest, 0, atol=1e-9)
    np.testing.assert_allclose(z @ whole.directions_[:2].T, codes[:, :2], atol=1e-9)


def test_ridges_are_those_of_the_formula():
    X, Y = problem("plain")
    x, z = centred(X, Y)
    space = CanonicalCodes(4, alpha=3.0, label_alpha=2.0).fit(X, Y)
    H = x @ np.linalg.solve(x.T @ x + 3 * np.eye(x.shape[1]), x.T)
    values, vectors = scipy.linalg.eigh(z.T @ H @ z, z.T @ z + 2 * np.eye(6))
    np.testing.assert_allclose(space.eigenvalues_, values[:-5:-1], atol=1e-9)
    V = vectors[:, :-5:-1].T
    V *= np.sign(np.sum(V * space.directions_, axis=1))[:, None]
    np.testing.assert_allclose(space.directions_, V, atol=1e-8)


def test_least_squares_of_all_codes_is_that_of_the_labels():
    """With all dimensions nothing is lost, whatever basis the codes are in."""
    X, Y = problem("plain")
    model = ComposedClassifier(LeastSquares(), CanonicalCodes()).fit(X[:90], Y[:90])
    labels = ComposedClassifier(LeastSquares()).fit(X[:90], Y[:90])
    np.testing.assert_allclose(model.decision_function(X[90:]), labels.decision_function(X[90:]), atol=1e-9)
    fewer = ComposedClassifier(LeastSquares(), CanonicalCodes(2)).fit(X[:90], Y[:90])
    assert np.max(np.abs(fewer.decision_function(X[90:]) - labels.decision_function(X[90:]))) > 1e-2


def test_labels_that_do_not_vary_or_repeat_are_left_out():
    X, Y = problem("plain")
    twice = np.column_stack([Y, Y[:, 0], 1 - Y[:, 1], np.ones(len(Y))])
    for moments in (Moments.from_arrays(X, twice), Moments.from_arrays(X, twice).without(np.arange(5))):
        space = CanonicalCodes().fit_moments(moments)
        assert np.linalg.matrix_rank(space.directions_) == 5
        assert np.abs(space.directions_).max() < 10
        assert not space.directions_[5:].any()
        np.testing.assert_allclose(space.decode(space.encode(twice[5:])), twice[5:], atol=1e-9)
    nothing = CanonicalCodes().fit(X, np.ones((120, 3)))
    encoding, prediction = nothing.error_terms(np.zeros((4, 3)), np.ones((4, 3)))
    np.testing.assert_allclose(encoding, 3.0)
    np.testing.assert_allclose(prediction, 0.0)
    np.testing.assert_array_equal(nothing.decode(np.ones((4, 2))), np.ones((4, 3)))
