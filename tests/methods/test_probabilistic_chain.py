"""Probabilistic classifier chains: exact search is that over all 2^K label sets; the others approach it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from mlcdr import ClassifierChain, LogisticRegression, ProbabilisticClassifierChain, Ridge
from tests.methods.problems import as_sparse, problem


def in_a_chain(order):
    """The labels before each, by label."""
    return {k: order[:i] for i, k in enumerate(order)}


def by_brute_force(base, parents, X, Y, new):
    """p(y | x) (n×2^K) of all label sets, and the label sets (2^K×K), each link by itself."""
    K = Y.shape[1]
    sets = np.array(list(product([0.0, 1.0], repeat=K)))
    p = np.ones((len(new), len(sets)))
    for k, inputs in parents.items():
        if Y[:, k].min() == Y[:, k].max():
            p *= sets[:, k] == Y[0, k]
            continue
        model = clone(base).fit(np.hstack([X, Y[:, inputs]]), Y[:, k])
        for s, labels in enumerate(sets):
            beside = np.hstack([new, np.tile(labels[inputs], (len(new), 1))])
            p[:, s] *= model.predict_proba(beside)[:, int(labels[k])]
    return p, sets


@pytest.mark.parametrize("base", [LogisticRegression(tol=1e-12), GaussianNB()], ids=["logistic", "naive Bayes"])
def test_exact_search_is_brute_force(base):
    X, Y = problem("plain")
    order = [3, 0, 5, 4, 1, 2]
    p, sets = by_brute_force(base, in_a_chain(order), X[:90], Y[:90], X[90:])
    for rows, new in ((X[:90], X[90:]), (as_sparse(X[:90]), as_sparse(X[90:]))):
        if isinstance(base, GaussianNB) and rows is not X[:90] and not isinstance(rows, np.ndarray):
            continue  # it takes no sparse rows
        model = ProbabilisticClassifierChain(base, order).fit(rows, Y[:90])
        np.testing.assert_array_equal(model.predict(new), sets[p.argmax(axis=1)])
        np.testing.assert_allclose(model.predict_proba(new), p @ sets, atol=1e-9)
        hamming = ProbabilisticClassifierChain(base, order, minimise="hamming").fit(rows, Y[:90])
        np.testing.assert_array_equal(hamming.predict(new), p @ sets > 0.5)


def test_wide_beams_and_small_epsilons_are_exact_and_narrow_ones_greedy():
    X, Y = problem("plain")
    exact = ProbabilisticClassifierChain().fit(X, Y)
    for same in (
        ProbabilisticClassifierChain(search="beam", width=64),
        ProbabilisticClassifierChain(search="epsilon", epsilon=1e-30),
    ):
        same.fit(X, Y)
        np.testing.assert_array_equal(same.predict(X), exact.predict(X))
        np.testing.assert_allclose(same.predict_proba(X), exact.predict_proba(X), atol=1e-12)
    greedy = ClassifierChain(LogisticRegression()).fit(X, Y).predict(X)
    np.testing.assert_array_equal(ProbabilisticClassifierChain(search="beam", width=1).fit(X, Y).predict(X), greedy)
    np.testing.assert_array_equal(
        ProbabilisticClassifierChain(search="epsilon", epsilon=1.0).fit(X, Y).predict(X), greedy
    )


def test_an_epsilon_finds_every_label_set_as_probable_as_that():
    X, Y = problem("plain")
    X = X[:, :4]  # less is certain
    p, sets = by_brute_force(LogisticRegression(), in_a_chain(list(range(6))), X, Y, X)
    said = ProbabilisticClassifierChain(search="epsilon", epsilon=0.2).fit(X, Y).predict(X)
    sure = p.max(axis=1) >= 0.2
    assert 0 < sure.sum() < len(X)
    np.testing.assert_array_equal(said[sure], sets[p.argmax(axis=1)][sure])
    index = (said @ 2 ** np.arange(6)[::-1]).astype(int)
    greedy = ClassifierChain(LogisticRegression()).fit(X, Y).predict(X) @ 2 ** np.arange(6)[::-1]
    rows = np.arange(len(X))
    assert (p[rows, index] >= p[rows, greedy.astype(int)] - 1e-12).all()


@pytest.mark.parametrize("options", [{}, {"search": "beam", "width": 3}, {"search": "epsilon"}], ids=str)
def test_probabilities_lie_between_0_and_1(options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    Y = (X[:, :1] + rng.standard_normal((60, 4)) > 0).astype(np.uint8)
    Y[:, 3] = 1
    found = ProbabilisticClassifierChain(**options).fit(X, Y).predict_proba(X)
    assert found.min() >= 0
    assert found.max() <= 1


def test_more_labels_than_an_exact_search_is_for():
    X, Y = problem("plain")
    many = np.hstack([Y, Y, Y])
    with pytest.raises(ValueError, match="15 labels at most, found 18"):
        ProbabilisticClassifierChain(search="exact").fit(X, many)
    auto, beam = ProbabilisticClassifierChain().fit(X, many), ProbabilisticClassifierChain(search="beam").fit(X, many)
    np.testing.assert_array_equal(auto.predict(X), beam.predict(X))
    with pytest.raises(ValueError, match="'estimator' parameter"):
        ProbabilisticClassifierChain(Ridge()).fit(X, Y)


def test_one_label_is_its_base():
    X, Y = problem("plain")
    model, base = ProbabilisticClassifierChain().fit(X, Y[:, 0]), LogisticRegression().fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict(X), base.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), base.predict_proba(X), atol=1e-12)
