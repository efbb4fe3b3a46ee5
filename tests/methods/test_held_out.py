"""Held-out scores of every fold and α: against plain loops over scikit-learn's KernelRidge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge as Sklearns
from sklearn.metrics.pairwise import pairwise_kernels

import mlcdr.numerics.held_out
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.label_space.cplst import CPLST
from mlcdr.methods.label_space.kernel_cplst import KernelCPLST
from mlcdr.methods.label_space.kernel_occa import KernelOCCA
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.kernel_ridge import KernelRidge
from mlcdr.numerics.held_out import held_out
from mlcdr.numerics.kernels import Kernel, KernelRegression
from mlcdr.numerics.linalg import leading_eigenvectors
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem

ALPHAS = [2.0**-8, 0.1, 1.0, 30.0]


def folds_of(n, kind):
    order = np.random.default_rng(1).permutation(n)
    return {
        "five": np.array_split(order, 5),
        "uneven": [order[:50], order[50:53], order[53:]],
        "of one row": [[i] for i in range(0, n, 10)],
        "not all rows": [order[:10], order[20:40]],
        "overlapping": [order[:30], order[20:60]],
    }[kind]


def loop(K, Y, folds, alphas):
    """The same by refitting: α, fold, f(x) − ȳ, ȳ, ZᵀZ, and the matrix of (8)."""
    for alpha in alphas:
        for i, fold in enumerate(folds):
            train = np.setdiff1d(np.arange(len(Y)), fold)
            mean = Y[train].mean(0)
            Z = Y[train] - mean
            model = Sklearns(alpha=alpha, kernel="precomputed").fit(K[np.ix_(train, train)], Z)
            F = model.predict(K[np.ix_(train, train)])
            yield alpha, i, model.predict(K[np.ix_(fold, train)]), mean, Z.T @ Z, Z.T @ F + F.T @ Z - F.T @ F


@pytest.mark.parametrize("few", [0, 10], ids=["decomposed", "inverted"])
@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        *((Kernel("linear"), kind) for kind in ("five", "uneven", "of one row", "not all rows", "overlapping")),
        (Kernel("gaussian", 0.1), "uneven"),
        (Kernel("poly", 0.1, 2), "overlapping"),
    ],
    ids=str,
)
def test_a_plain_loop_gives_the_same(kernel, kind, few, monkeypatch):
    X, Y = problem("plain")
    Y = Y.astype(float)
    K, folds = kernel.matrix(X), folds_of(120, kind)
    monkeypatch.setattr(mlcdr.numerics.held_out, "_FEW", few)
    before = K.copy()
    found = list(held_out(K, Y, folds, ALPHAS))
    np.testing.assert_array_equal(K, before)
    assert len(found) == len(folds) * len(ALPHAS)
    for held, (alpha, fold, deviations, mean, scatter, explained) in zip(found, loop(K, Y, folds, ALPHAS), strict=True):
        assert (held.alpha, held.fold) == (alpha, fold)
        np.testing.assert_array_equal(held.rows, folds[fold])
        assert held.n_training == 120 - len(folds[fold])
        np.testing.assert_allclose(held.deviations, deviations, atol=1e-9)
        np.testing.assert_allclose(held.mean, mean, atol=1e-12)
        np.testing.assert_allclose(held.scatter, scatter, atol=1e-9)
        np.testing.assert_allclose(held.explained, explained, atol=1e-8)


@pytest.mark.parametrize("name", ["wide", "dependent", "sparse counts"])
@pytest.mark.parametrize("few", [0, 10], ids=["decomposed", "inverted"])
def test_awkward_problems(name, few, monkeypatch):
    monkeypatch.setattr(mlcdr.numerics.held_out, "_FEW", few)
    X, Y = problem(name)
    X, Y = np.vstack([X, X[:20]]), np.vstack([Y, Y[:20]])  # rows that stand on both sides of a fold, too
    K, folds = pairwise_kernels(X, metric="rbf", gamma=0.3), folds_of(len(X), "five")
    for held, plain in zip(
        held_out(K, sp.csr_array(Y), folds, [1e-4, 1.0]), loop(K, Y.astype(float), folds, [1e-4, 1.0]), strict=True
    ):
        np.testing.assert_allclose(held.deviations, plain[2], atol=1e-8)
        np.testing.assert_allclose(held.deviations[:, 4], 0.0, atol=1e-12)  # the label that is never positive
        np.testing.assert_allclose(held.explained, plain[5], atol=1e-8)


def test_the_methods_themselves_give_the_same_scores():
    """Every number of dimensions, and every reducer, from one `HeldOut`."""
    X, Y = problem("plain")
    folds = folds_of(120, "five")
    whole = Moments.from_arrays(X, Y)
    for held in held_out(Kernel("gaussian", 0.1).of_moments(whole), Y, folds, [0.05, 2.0]):
        learner = KernelRidge(held.alpha, gamma=0.1)
        spaces = ((PLST, held.scatter), (KernelCPLST, held.explained), (KernelOCCA, held.explained - held.scatter))
        for cls, matrix in spaces:
            directions = leading_eigenvectors(matrix, 6)[1]
            model = ComposedClassifier(learner, cls()).fit_moments(whole.without(held.rows))
            output = model.output(X[held.rows])
            space = cls() if cls is PLST else cls(regression=learner)
            space.fit_moments(held.training(learner.kernel_regression()))
            np.testing.assert_array_equal(space.directions_, directions)
            np.testing.assert_allclose(space.mean_, model.label_space_.mean_, atol=1e-12)
            for m, scores in enumerate(held.scores(directions), start=1):
                if m < 5 or cls is not KernelOCCA:  # with its last two, any basis is as good
                    np.testing.assert_allclose(scores, model.label_space_.decode(output[:, :m]), atol=1e-7)


def test_a_label_space_that_asks_for_features_is_refused():
    X, Y = problem("plain")
    kernel = Kernel("gaussian", 0.1)
    held = next(held_out(kernel.matrix(X), Y, [np.arange(9)], [1.0]))
    with pytest.raises(ValueError, match="have no moments of the features"):
        CPLST().fit_moments(held.training(KernelRegression(kernel)))
    with pytest.raises(ValueError, match="no longer have their rows"):  # another kernel than that of the scores
        KernelCPLST(regression=KernelRidge(gamma=3)).fit_moments(held.training(KernelRegression(kernel)))


def test_an_alpha_below_rounding_is_the_limit():
    X, Y = problem("mostly dependent")
    Y = Y.astype(float)
    K, folds = X @ X.T, folds_of(120, "five")
    for held in held_out(K, Y, folds, [1e-200]):
        train = np.setdiff1d(np.arange(120), held.rows)
        W = np.linalg.pinv(X[train], rcond=1e-10) @ (Y[train] - held.mean)
        np.testing.assert_allclose(held.deviations, X[held.rows] @ W, atol=1e-8)
        Z = Y[train] - held.mean
        np.testing.assert_allclose(held.explained, Z.T @ X[train] @ W, atol=1e-8)


def test_only_the_lower_triangle_is_read():
    X, Y = problem("plain")
    K, folds = Kernel("gaussian", 0.1).matrix(X), folds_of(120, "uneven")
    for whole, half in zip(
        held_out(K, Y, folds, [1e-200, 1.0]), held_out(np.tril(K), Y, folds, [1e-200, 1.0]), strict=True
    ):
        np.testing.assert_allclose(whole.deviations, half.deviations, atol=1e-8)


def test_what_cannot_be_is_refused():
    X, Y = problem("plain")
    K = Kernel("gaussian", 0.1).matrix(X)
    for folds in ([[]], [np.arange(120)], [[1, 1]]):
        with pytest.raises(ValueError, match="fold 0 must hold some of the 120 rows"):
            next(held_out(K, Y, folds, [1.0]))
    with pytest.raises(ValueError, match="alpha must be positive, found 0"):
        next(held_out(K, Y, [[1]], [1.0, 0.0]))
    for alphas in ([0.5], [0.5 + 0.01 * i for i in range(20)]):
        with pytest.raises(ValueError, match="not positive definite"):
            next(held_out(-K, Y, [[1]], alphas))
