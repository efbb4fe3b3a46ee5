"""Selectors by information, ReliefF and the wrapper: formulas by loops, and Table 4.1's special cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.k_dependence_chain import KDependenceChain
from mlcdr.methods.feature_space.d2f import D2F
from mlcdr.methods.feature_space.gain_ratio import GainRatio
from mlcdr.methods.feature_space.global_mlfs import GlobalMLFS
from mlcdr.methods.feature_space.information_gain import InformationGain
from mlcdr.methods.feature_space.jmi import JMI
from mlcdr.methods.feature_space.mdmr import MDMR
from mlcdr.methods.feature_space.mim import MIM
from mlcdr.methods.feature_space.mrmr import MRMR
from mlcdr.methods.feature_space.pmu import PMU
from mlcdr.methods.feature_space.relieff import ReliefF
from mlcdr.methods.feature_space.scls import SCLS
from mlcdr.methods.feature_space.wrapper import Wrapper
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.local_features.mlfs import LocalMLFS
from mlcdr.numerics.discretise import discretised
from tests.methods.problems import problem
from tests.methods.test_information import by_counting as h
from tests.methods.test_occ import cmi, greedy, mi, small


def ranked(selector, X, Y):
    return selector.fit(X, Y).ranking_.tolist()


@pytest.mark.parametrize("n_labels", [1, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_by_plain_loops(n_labels, form):
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
    assert ranked(MIM(**none), form(X), Y) == sorted(d, key=lambda m: -relevance(m))
    assert ranked(MRMR(**none), form(X), Y) == greedy(7, d, relevance, redundant)
    assert ranked(JMI(**none), form(X), Y) == greedy(7, d, relevance, joint)
    parents = KDependenceChain(Ridge()).fit(X, Y).parents_

    def with_parents(m):
        of = [sum(cmi(Y[:, j], Y[:, k], X[:, m]) for k in pa) / max(len(pa), 1) for j, pa in enumerate(parents)]
        return relevance(m) + sum(of)

    found = ranked(GlobalMLFS(**none), form(X), Y)
    assert found == greedy(7, d, with_parents, lambda m, s: with_parents(m) + joint(m, s) - relevance(m))
    np.testing.assert_allclose(
        GainRatio(over="max", **none).fit(form(X), Y).scores_,
        [max(mi(x, y) / h(x) for y in Y.T) for x in X.T],
        atol=1e-11,
    )


@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_lee_and_kims_by_plain_loops(n_labels, form):
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
    assert ranked(D2F(**none), form(X), Y) == greedy(7, d, relevance, d2f)
    assert ranked(PMU(**none), form(X), Y) == greedy(7, d, pmu, pmu)
    assert ranked(MDMR(**none), form(X), Y) == greedy(7, d, relevance, mdmr)
    assert ranked(SCLS(**none), form(X), Y) == greedy(7, d, relevance, scls)


def test_interactions_of_three_are_joint_informations():
    """With one label the first two of D2F, with two labels the first of PMU, are best by I of the joint variables."""
    X, Y = small(5)
    both = Y[:, 0] + 2 * Y[:, 1]
    first = ranked(PMU(discretise=None), X, Y[:, :2])[0]
    assert first == np.argmax([mi(x, both) for x in X.T])
    chosen = ranked(D2F(discretise=None), X, Y[:, :1])
    joint = [mi(X[:, chosen[0]] + 10 * X[:, m], Y[:, 0]) if m != chosen[0] else -1 for m in range(7)]
    assert chosen[1] == np.argmax(joint)


@pytest.mark.parametrize("name", ["plain", "sparse counts"])
@pytest.mark.parametrize("n_labels", [1, 6])
def test_special_cases_of_the_framework(n_labels, name):
    """Table 4.1: MIM, JMI and their multi-label forms are settings of (4.40); with one label, so is (4.41)."""
    X, Y = problem(name)
    Y = Y[:, :n_labels]
    cases = {
        "mim": (ranked(MIM(), X, Y), ranked(GlobalMLFS(beta=0.0, gamma=0.0), X, Y)),
        "gain": (ranked(MIM(), X, Y), ranked(InformationGain(), X, Y)),
        "jmi": (ranked(JMI(), X, Y), ranked(GlobalMLFS(beta=0.0), X, Y)),
        "d2f": (ranked(PMU(), X, Y), ranked(D2F(), X, Y)) if n_labels == 1 else (0, 0),
        "no parents": (ranked(JMI(), X, Y), ranked(GlobalMLFS(n_parents=0), X, Y)),
    }
    if n_labels == 1:
        local = LocalMLFS(None).fit(X, Y).select(0).tolist()
        cases["local"] = (ranked(GlobalMLFS(), X, Y), local)
        cases["local mim"] = (ranked(MIM(), X, Y), LocalMLFS(None, gamma=0.0).fit(X, Y).select(0).tolist())
    for case, (one, other) in cases.items():
        assert one == other, case
    if n_labels > 1:
        assert ranked(GlobalMLFS(), X, Y) != ranked(JMI(), X, Y)
    assert MIM(3).fit(X, Y).transform(X).shape == (len(X), 3)


def test_information_gain_is_scikit_learns():
    X, Y = problem("plain")
    codes = discretised(X, "mean_std")
    theirs = mutual_info_classif(codes, Y[:, 0], discrete_features=True) / np.log(2)
    np.testing.assert_allclose(InformationGain().fit(X, Y[:, 0]).scores_, theirs, atol=1e-12)


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
def test_relieff_by_loops(name, monkeypatch):
    X, Y = problem(name)
    X, Y = X[:40], Y[:40, [0, 2, 4]]
    Y[3:, 1] = 0  # a label with fewer instances than neighbours are asked for
    expected = relief_by_loops(X, Y, 4)
    np.testing.assert_allclose(ReliefF(n_neighbors=4).fit(X, Y).scores_, expected, atol=1e-8)
    monkeypatch.setattr("mlcdr.methods.feature_space.relieff._DISTANCES", 300)
    monkeypatch.setattr("mlcdr.methods.feature_space.relieff._DIFFERENCES", 200)
    np.testing.assert_allclose(ReliefF(n_neighbors=4).fit(sp.csr_array(X), Y).scores_, expected, atol=1e-8)


def test_relieff_finds_what_matters_and_no_noise():
    rng = np.random.default_rng(0)
    X = rng.random((150, 6))
    y = ((X[:, 1] > 0.5) ^ (X[:, 4] > 0.5)).astype(int)  # neither tells anything by itself
    assert set(ReliefF(2).fit(X, y).ranking_[:2].tolist()) == {1, 4}


@pytest.mark.parametrize("learner", [None, BinaryRelevance(LinearSVM(random_state=0))], ids=["regressor", "classifier"])
def test_wrapper_finds_the_features_that_make_the_labels(learner):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 7))
    Y = (X[:, [2, 5]] > 0).astype(int)
    selector = Wrapper(2, learner, "macro_f1", random_state=0).fit(X, Y)
    assert np.flatnonzero(selector.get_support()).tolist() == [2, 5]
    sparse = Wrapper(2, learner, "macro_f1", random_state=0).fit(sp.csr_array(X), Y)
    np.testing.assert_array_equal(sparse.ranking_, selector.ranking_)
    assert ranked(Wrapper(None, random_state=0), X, Y) == list(range(7))
