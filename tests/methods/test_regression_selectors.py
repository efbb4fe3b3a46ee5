"""MFS-MCDM and GRRO: outputs of public programs, their formulas by loops, and features and labels of no use."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import solve_sylvester

from mlcdr import GRRO, MFSMCDM
from mlcdr.methods.feature_space.grro import _label_distances
from mlcdr.methods.feature_space.mfs_mcdm import closeness
from mlcdr.numerics.discretise import discretised
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem
from tests.methods.test_information import by_counting as h
from tests.methods.test_occ import mi, small


@pytest.fixture
def given(real_dataset, reference):
    """`given(name)`: what the programs were given, folds 1 to 4 (X, Y), and what they put out (a mapping)."""
    folder = reference("selection")
    folds = Path(os.environ.get("MLCDR_FOLDS", "").split(os.pathsep)[0])

    def get(name):
        if not (folds / f"{name}.5fold.csv").is_file():
            pytest.skip(f"set MLCDR_FOLDS to a folder with {name}.5fold.csv")
        dataset = real_dataset(name)
        train = np.loadtxt(folds / f"{name}.5fold.csv", skiprows=1, dtype=int) != 0
        return dataset.X[train], dataset.Y[train], np.load(folder / f"{name}_selection.npz")

    return get


def scaled(X):
    """Each feature from 0 to 1."""
    X = X.toarray() if sp.issparse(X) else X
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)


# Largest differences found: 3e-12 (emotions, raw), 3e-13 (scene), 2e-14 (medical).
@pytest.mark.parametrize("features", ["raw", "minmax"])
@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_weights_and_closeness_of_mfs_mcdm_are_the_programs(given, name, features):
    """The program leaves out the labels' weights and the lengths of columns, which are checked by the loops below."""
    X, Y, put_out = given(name)
    fitted = MFSMCDM(alpha=1.0).fit(X if features == "raw" else scaled(X), Y)
    np.testing.assert_allclose(closeness(fitted.coef_), put_out[f"mfsmcdm_{features}_closeness"], atol=1e-10)


# Largest differences found: W 1e-17 (of 9e-4), information 1e-15, D 2e-15, scores 5e-19 (before they are rounded).
def test_grro_is_its_authors_program(given):
    X, Y, put_out = given("emotions")
    moments, fitted = Moments.from_arrays(X, Y), GRRO().fit(X, Y)
    np.testing.assert_array_equal(discretised(X, "median")[:20] + 1, put_out["grro_disc_train_first20rows"])
    np.testing.assert_allclose(fitted._redundancy(moments), put_out["grro_FF"], atol=1e-13)
    np.testing.assert_allclose(fitted._information(moments), put_out["grro_FL"], atol=1e-13)
    np.testing.assert_allclose(_label_distances(moments), put_out["grro_LL"], atol=1e-13)
    np.testing.assert_allclose(fitted.coef_, put_out["grro_W"], atol=1e-15)
    np.testing.assert_array_equal(fitted.ranking_, put_out["grro_rank"])


def topsis(D, weights):
    """The textbook's four steps, entry by entry."""
    d, labels = D.shape
    V = np.zeros_like(D)
    for k in range(labels):
        length = sum(D[j, k] ** 2 for j in range(d)) ** 0.5
        for j in range(d):
            V[j, k] = weights[k] * D[j, k] / length if length > 0 else 0.0
    scores = []
    for j in range(d):
        best = sum((V[j, k] - max(V[:, k])) ** 2 for k in range(labels)) ** 0.5
        worst = sum((V[j, k] - min(V[:, k])) ** 2 for k in range(labels)) ** 0.5
        scores.append(worst / (best + worst))
    return scores


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_mfs_mcdm_is_topsis_of_ridge_weights(name, form):
    X, Y = problem(name)
    Y = Y.astype(float)
    D = np.linalg.solve(X.T @ X + 2 * np.eye(X.shape[1]), X.T @ Y)
    fitted = MFSMCDM(alpha=2.0).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.coef_, D, atol=1e-10)
    np.testing.assert_allclose(fitted.scores_, topsis(D, [h(y) for y in Y.T]), atol=1e-10)


def test_mfs_mcdm_takes_weights_with_their_sign_and_no_label_without_entropy():
    rng = np.random.default_rng(0)
    y = (rng.random(80) < 0.4).astype(float)
    X = np.column_stack([rng.standard_normal(80), y, -3 * y, np.zeros(80)])
    Y = np.column_stack([y, np.zeros(80), np.ones(80)])
    fitted = MFSMCDM().fit(X, Y)
    assert np.argmin(fitted.coef_[:, 0]) == fitted.ranking_[-1] == 2
    assert fitted.scores_[2] == 0
    np.testing.assert_array_equal(fitted.scores_, MFSMCDM().fit(X, Y[:, :1]).scores_)
    np.testing.assert_array_equal(MFSMCDM().fit(X, Y[:, 1:]).scores_, 0.0)


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_labels", [1, 5])
def test_grro_solves_its_equation(n_labels, form):
    X, Y = small(3)
    Y = Y[:, :n_labels].astype(float)
    M = [[mi(x, y) for y in Y.T] for x in X.T]
    R = [[1.0 if i == j else mi(X[:, i], X[:, j]) for j in range(7)] for i in range(7)]
    D = [[1 - a @ b / np.sqrt((a @ a) * (b @ b)) for b in Y.T] for a in Y.T]
    expected = solve_sylvester(np.eye(7) + 3 * np.array(R), 0.7 * np.array(D), np.array(M))
    fitted = GRRO(alpha=3.0, beta=0.7, discretise=None).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.coef_, expected, atol=1e-12)
    np.testing.assert_allclose(fitted.scores_, expected.sum(axis=1), atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_labels_without_instances_and_constant_features_are_nothing_to_grro(name):
    X, Y = problem(name)
    assert not Y[:, 4].any()
    X[:, 4] = 3.0
    fitted = GRRO(beta=2.0).fit(X, Y)
    np.testing.assert_allclose(fitted.coef_[4], 0, atol=1e-17)
    np.testing.assert_allclose(fitted.coef_[:, 4], 0, atol=1e-17)
    fewer = GRRO(beta=2.0).fit(np.delete(X, 4, axis=1), np.delete(Y, 4, axis=1))
    np.testing.assert_allclose(np.delete(fitted.scores_, 4), fewer.scores_, atol=1e-11 * np.abs(fewer.scores_).max())


def test_grro_without_redundancy_and_labels_is_relevance():
    X, Y = problem("plain")
    codes = discretised(X, "median")
    expected = [sum(mi(x, y) for y in Y.T) for x in codes.T]
    np.testing.assert_allclose(GRRO(alpha=0.0, beta=0.0).fit(X, Y).scores_, expected, atol=1e-12)


def test_grro_shares_the_spectrum_among_its_weights(monkeypatch):
    X, Y = problem("plain")
    moments, calls = Moments.from_arrays(X, Y), []
    find = GRRO._redundancy
    monkeypatch.setattr(GRRO, "_redundancy", lambda self, m: calls.append(m) or find(self, m))
    for alpha in (1.0, 100.0):
        shared = GRRO(alpha=alpha).fit_moments(moments).scores_
        np.testing.assert_array_equal(shared, GRRO(alpha=alpha).fit(X, Y).scores_)
    assert len(calls) == 3


@pytest.mark.parametrize("estimator", [MFSMCDM(), GRRO(), GRRO(alpha=1e8)], ids=str)
def test_copies_of_a_feature_have_equal_scores(estimator):
    for seed in range(5):
        X, Y = problem("plain", seed)
        X[:, [5, 11]] = X[:, [2]]
        scores = estimator.fit(X, Y).scores_
        assert scores[2] == scores[5] == scores[11]
        assert len(np.unique(scores)) == X.shape[1] - 2
