"""Chains of linear models found all at once, beside the plain loop: one fit of the base to the rows for each link."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from mlcdr import BinaryRelevance, BRPlus, ClassifierChain, LeastSquares, Ridge
from mlcdr.methods.chains.links import Link
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments, beside
from tests.methods.problems import NAMES, as_sparse, problem

ORDER = [3, 0, 5, 1, 4, 2]
CHAINS = {
    "BR": (BinaryRelevance, {}, lambda k: []),
    "BR+": (BRPlus, {}, lambda k: [j for j in range(6) if j != k]),
    "CC": (ClassifierChain, {}, lambda k: list(range(k))),
    "CC, shuffled": (ClassifierChain, {"order": ORDER}, lambda k: ORDER[: ORDER.index(k)]),
}
BASES = [
    LeastSquares(),
    LeastSquares("drop_aliased"),
    Ridge(0.3),
    Ridge(0.3, intercept="penalised"),
    Ridge(0.3, intercept="none"),
]
LABELS = ["as they are", "repeated", "opposite", "sum", "explained", "rare"]


def labels_of(kind, X, Y):
    """Label sets (n×6) whose columns depend on each other, on the features, or vanish from the rows kept."""
    Y = Y.copy()
    if kind == "repeated":
        Y[:, 3] = Y[:, 0]
    if kind == "opposite":
        Y[:, 2] = 1 - Y[:, 5]
    if kind == "sum":
        Y[:, 3] = Y[:, 0] & Y[:, 1]
        Y[:, 5] = Y[:, 0] | Y[:, 1]  # 0 + 1 = 3 + 5
    if kind == "explained":
        X[:, 1] = Y[:, 1]
    if kind == "rare":  # positive in rows left out alone, and everywhere but there
        Y[:, 2], Y[:, 0] = 0, 1
        Y[-12:, 2], Y[-12:, 0] = 1, 0
    return X, Y


def link_by_rows(base, X, Y, k, inputs):
    return clone(base).fit(np.hstack([X, Y[:, inputs]]), Y[:, [k]].astype(float))


def decided(name, link, new):
    """Scores (n×6) of new instances, by plain loops; `link(k, inputs)` is the model of a label."""
    alone = np.column_stack([link(k).predict(new) for k in range(6)])
    inputs, scores = CHAINS[name][2], np.empty_like(alone)
    for k in ORDER if "shuffled" in name else range(6):
        said = (alone if name == "BR+" else scores) > 0.5
        scores[:, k] = link(k, tuple(inputs(k))).predict(np.hstack([new, said[:, inputs(k)]])).ravel()
    return scores


def cases():
    """All bases on all problems; by default those with a ridge, which no rank troubles, on the plain labels alone.

    And those without an intercept that is free, which are other moments of the same ridge, on three problems.
    """
    problems = [(name, "as they are") for name in NAMES]
    problems += [(name, kind) for name in ("dependent", "wide") for kind in LABELS[1:]]
    for base in BASES:
        for name, kind in problems:
            ridge = isinstance(base, Ridge)
            quick = not ridge or base.intercept == "free" or name in ("plain", "dependent", "wide")
            marks = [] if quick and not (ridge and kind != "as they are") else [pytest.mark.slow]
            yield pytest.param(base, name, kind, id=f"{base}-{name}-{kind}", marks=marks)


@pytest.mark.parametrize(("base", "problem_name", "kind"), list(cases()))
def test_links_are_those_of_the_plain_loop(base, problem_name, kind):
    X, Y = labels_of(kind, *problem(problem_name))
    train, new = slice(0, len(X) - 12), X[-12:]
    moments = Moments.from_arrays(X, Y).without(np.arange(len(X) - 12, len(X)))
    plain = cache(lambda k, inputs=(): link_by_rows(base, X[train], Y[train], k, list(inputs)))  # chains share links
    for name, (cls, options, inputs) in CHAINS.items():
        model = cls(base, **options).fit_moments(moments)
        assert model._linear is not None, name
        for k, link in zip(getattr(model, "order_", range(6)), model.links_, strict=True):
            exact, case = plain(k, tuple(inputs(k))), f"{name}, label {k}"
            assert link.model.coef_.shape == exact.coef_.shape, case
            size = 1 + np.abs(exact.coef_).max()
            np.testing.assert_allclose(link.model.coef_, exact.coef_, atol=1e-8 * size, err_msg=case)
            rows = np.hstack([X, Y[:, inputs(k)]])
            size = 1 + np.abs(rows).max(axis=0) @ np.abs(exact.coef_[0])
            found, expected = link.model.predict(rows) / size, exact.predict(rows) / size
            np.testing.assert_allclose(found, expected, atol=1e-8, err_msg=case)
        expected = decided(name, plain, new)
        clear = np.abs(expected - 0.5) > 1e-6
        found = model.decision_function(new) > 0
        np.testing.assert_array_equal(found[clear], (expected > 0.5)[clear], err_msg=name)


@pytest.mark.parametrize("name", CHAINS)
def test_links_predict_what_the_chain_does(name):
    X, Y = problem("sparse counts")
    cls, options, inputs = CHAINS[name]
    for x in (X, as_sparse(X)):
        model = cls(Ridge(2.0), **options).fit(x, Y)
        scores = model.decision_function(x)
        alone = BinaryRelevance(Ridge(2.0)).fit(x, Y).decision_function(x) > 0
        said = (alone if name == "BR+" else scores > 0).astype(float)
        for k, link in zip(getattr(model, "order_", range(6)), model.links_, strict=True):
            np.testing.assert_allclose(link.score(beside(x, said[:, inputs(k)])), scores[:, k], atol=1e-12)


class Doubled(LeastSquares):
    """A learner of somebody's own, which solves otherwise."""

    def _solve(self, moments):
        weights, intercepts = super()._solve(moments)
        return 2 * weights, intercepts


@pytest.mark.parametrize("name", CHAINS)
def test_other_bases_go_by_the_loop(name):
    X, Y, base = *problem("plain"), Doubled()
    model = CHAINS[name][0](base, **CHAINS[name][1]).fit(X[:100], Y[:100])
    assert model._linear is None
    expected = decided(name, lambda k, inputs=(): link_by_rows(base, X[:100], Y[:100], k, list(inputs)), X[100:])
    np.testing.assert_allclose(model.decision_function(X[100:]) + 0.5, expected, atol=1e-8)


@pytest.mark.parametrize("name", CHAINS)
def test_moments_without_rows_serve_where_nothing_is_aliased(name):
    X, Y = problem("plain")
    cls, options, _ = CHAINS[name]
    for base in BASES:
        whole, settled = (cls(base, **options).fit_moments(m) for m in both(X, Y))
        np.testing.assert_allclose(settled.decision_function(X), whole.decision_function(X), atol=1e-10)


def both(X, Y):
    return Moments.from_arrays(X, Y), Moments.from_arrays(X, Y).settled()


@pytest.mark.parametrize(("name", "data"), [("BR+", "emotions"), ("BR+", "genbase"), ("CC", "medical")])
def test_real_data_as_link_by_link(real_dataset, data, name):
    """On genbase features explain labels wholly; medical has more features than instances."""
    dataset = real_dataset(data)
    out = np.arange(4, dataset.n_instances, 10)
    moments = Moments.from_arrays(dataset.X, dataset.Y).without(out)
    base = LeastSquares("drop_aliased")
    model = CHAINS[name][0](base).fit_moments(moments)
    K, test = dataset.n_labels, dataset.X[out]
    for k in (1, K // 3, K - 1):
        inputs = list(range(k)) if name == "CC" else [j for j in range(K) if j != k]
        link, exact = model.links_[k], Link.fitted(base, moments, k, inputs)
        rows = beside(test, as_dense(dataset.Y)[out][:, inputs].astype(float))
        np.testing.assert_allclose(link.score(rows), exact.score(rows), atol=1e-6)


@pytest.mark.parametrize("base", BASES[:3], ids=repr)
@pytest.mark.parametrize("name", CHAINS)
def test_a_base_may_have_been_fitted_before(name, base):
    """As scikit-learn has it: a prototype is a prototype, whatever it has learned elsewhere."""
    X, Y = problem("plain")
    chain, parameters, _ = CHAINS[name]
    used = clone(base).fit(X[:40], Y[:40].astype(float))
    found, expected = (chain(each, **parameters).fit(X, Y).decision_function(X) for each in (used, base))
    np.testing.assert_array_equal(found, expected)
