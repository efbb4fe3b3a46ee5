"""Selectors by information, ReliefF and the wrapper: formulas by loops, and Table 4.1's special cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif

import mlcdr
from mlcdr.numerics.discretise import discretised
from tests.methods.problems import problem
from tests.methods.test_information import by_counting as h
from tests.methods.test_occ import cmi, greedy, mi, small


def ranked(selector, X, Y):
    return selector.fit(X, Y).ranking_.tolist()


@pytest.mark.parametrize("n_labels", [1, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rankings_are_those_of_plain_loops(n_labels, form):
    X, Y = small(3)
    Y = Y[:, :n_labels]
    d = range(7)

    def relevance(m):
        return sum(mi(X[:, m], y) for y in Y.T)

    def redundant(m, s):
        return relevance(m) - sum(mi(X[:, m], X[:, n]) for n in s for _ in Y.T) / len(s)

    def joint(m, s):
        return relevance(m) + sum(cmi(y, X[:, n], X[:, m]) for n in s for y in Y.T) / len(s)

    none = {"discretise": None}
    assert ranked(mlcdr.MIM(**none), form(X), Y) == sorted(d, key=lambda m: -relevance(m))
    assert ranked(mlcdr.MRMR(**none), form(X), Y) == greedy(7, d, relevance, redundant)
    assert ranked(mlcdr.JMI(**none), form(X), Y) == greedy(7, d, relevance, joint)
    parents = mlcdr.KDependenceChain(mlcdr.Ridge()).fit(X, Y).parents_

    def with_parents(m):
        of = [sum(cmi(Y[:, j], Y[:, k], X[:, m]) for k in pa) / max(len(pa), 1) for j, pa in enumerate(parents)]
        return relevance(m) + sum(of)

    found = ranked(mlcdr.GlobalMLFS(**none), form(X), Y)
    assert found == greedy(7, d, with_parents, lambda m, s: with_parents(m) + joint(m, s) - relevance(m))
    np.testing.assert_allclose(
        mlcdr.GainRatio(over="max", **none).fit(form(X), Y).scores_,
        [max(mi(x, y) / h(x) for y in Y.T) for x in X.T],
        atol=1e-11,
    )


@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_lee_and_kims_rankings_are_those_of_plain_loops(n_labels, form):
    X, Y = small(3)
    X[:, 6] = 1  # a constant feature comes last
    Y = Y[:, :n_labels]
    labels, pairs = list(Y.T), list(combinations(Y.T, 2))

    def relevance(m):
        return sum(mi(X[:, m], y) for y in labels)

    def interaction(x, s, y):
        return mi(x, y) - cmi(x, y, s)

    def d2f(m, chosen):
        return relevance(m) - sum(interaction(X[:, m], X[:, s], y) for s in chosen for y in labels)

    def pmu(m, chosen=()):
        return d2f(m, chosen) - sum(interaction(X[:, m], a, b) for a, b in pairs)

    def mdmr(m, chosen):
        given = sum(mi(X[:, m], X[:, s]) - sum(cmi(X[:, m], y, X[:, s]) for y in labels) for s in chosen)
        return relevance(m) - given / len(chosen)

    def scls(m, chosen):
        shares = (mi(X[:, m], X[:, s]) / h(X[:, m]) for s in chosen)
        return relevance(m) * (1 - sum(shares)) if h(X[:, m]) > 0 else 0.0

    none, d = {"discretise": None}, range(7)
    assert ranked(mlcdr.D2F(**none), form(X), Y) == greedy(7, d, relevance, d2f)
    assert ranked(mlcdr.PMU(**none), form(X), Y) == greedy(7, d, pmu, pmu)
    assert ranked(mlcdr.MDMR(**none), form(X), Y) == greedy(7, d, relevance, mdmr)
    assert ranked(mlcdr.SCLS(**none), form(X), Y) == greedy(7, d, relevance, scls)


@pytest.mark.parametrize("name", ["plain", "sparse counts"])
def test_known_selectors_are_settings_of_the_framework(name):
    """Table 4.1: of (4.40), which with one label is (4.41)."""
    X, Y = problem(name)
    mim, jmi, single = ranked(mlcdr.MIM(), X, Y), ranked(mlcdr.JMI(), X, Y), Y[:, :1]
    assert ranked(mlcdr.GlobalMLFS(beta=0.0, gamma=0.0), X, Y) == ranked(mlcdr.InformationGain(), X, Y) == mim
    assert ranked(mlcdr.GlobalMLFS(beta=0.0), X, Y) == ranked(mlcdr.GlobalMLFS(n_parents=0), X, Y) == jmi
    assert ranked(mlcdr.GlobalMLFS(), X, Y) != jmi
    assert ranked(mlcdr.GlobalMLFS(), X, single) == mlcdr.LocalMLFS(None).fit(X, single).select(0).tolist()


def test_information_gain_is_scikit_learns():
    X, Y = problem("plain")
    codes = discretised(X, "mean_std")
    theirs = mutual_info_classif(codes, Y[:, 0], discrete_features=True) / np.log(2)
    np.testing.assert_allclose(mlcdr.InformationGain().fit(X, Y[:, 0]).scores_, theirs, atol=1e-12)


def relief_by_loops(X, Y, k):
    n, d = X.shape
    span = X.max(axis=0) - X.min(axis=0)
    span[span == 0] = np.inf
    scores = np.zeros(d)
    labels = [y for y in Y.T if 0 < y.sum() < n]
    for y in labels:
        for i in range(n):
            near = sorted((round(np.abs((X[i] - X[r]) / span).sum(), 9), r) for r in range(n) if r != i)
            for agree, sign in ((True, -1), (False, 1)):
                them = [r for _, r in near if (y[r] == y[i]) == agree][:k]
                if them:
                    scores += sign * np.mean([np.abs((X[i] - X[r]) / span) for r in them], axis=0)
    return scores / (n * max(len(labels), 1))


@pytest.mark.parametrize("name", ["plain", "dependent", "sparse counts"])
def test_relieff_has_the_scores_of_plain_loops(name, monkeypatch):
    X, Y = problem(name)
    X, Y = X[:40], Y[:40, [0, 2, 4]]
    Y[3:, 1] = 0  # a label with fewer instances than neighbours are asked for
    expected = relief_by_loops(X, Y, 4)
    np.testing.assert_allclose(mlcdr.ReliefF(n_neighbors=4).fit(X, Y).scores_, expected, atol=1e-8)
    monkeypatch.setattr("mlcdr.methods.feature_space.relieff._DISTANCES", 300)
    monkeypatch.setattr("mlcdr.methods.feature_space.relieff._DIFFERENCES", 200)
    np.testing.assert_allclose(mlcdr.ReliefF(n_neighbors=4).fit(sp.csr_array(X), Y).scores_, expected, atol=1e-8)


def test_relieff_finds_what_matters_and_no_noise():
    rng = np.random.default_rng(0)
    X = rng.random((150, 6))
    y = ((X[:, 1] > 0.5) ^ (X[:, 4] > 0.5)).astype(int)  # neither tells anything by itself
    assert set(mlcdr.ReliefF(2).fit(X, y).ranking_[:2].tolist()) == {1, 4}


@pytest.mark.parametrize(
    "learner", [None, mlcdr.BinaryRelevance(mlcdr.LinearSVM(random_state=0))], ids=["regressor", "classifier"]
)
def test_wrapper_finds_the_features_that_make_the_labels(learner):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 7))
    Y = (X[:, [2, 5]] > 0).astype(int)
    selector = mlcdr.Wrapper(2, learner, "macro_f1", random_state=0).fit(X, Y)
    assert np.flatnonzero(selector.get_support()).tolist() == [2, 5]
    assert ranked(mlcdr.Wrapper(None, random_state=0), X, Y) == list(range(7))
