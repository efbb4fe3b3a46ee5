"""Binary relevance, BR+ and classifier chains: by plain loops over scikit-learn's models, dense, sparse, by moments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import ClassifierChain as TheirChain
from sklearn.tree import DecisionTreeClassifier

from mlcdr import BinaryRelevance, BRPlus, ClassifierChain, MLkNN
from mlcdr import LogisticRegression as OurLogistic
from mlcdr import Ridge as OurRidge
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem
from tests.methods.test_linear_links import CHAINS, decided, link_by_rows

ALL = [BinaryRelevance, BRPlus, ClassifierChain]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chain", ["BR", "BR+", "CC"])
def test_links_are_scikit_learns_ridge_regressions(chain, name):
    X, Y = problem(name)
    X = X / np.abs(X).max(axis=0).clip(1e-300)
    cls = CHAINS[chain][0]
    expected = decided(chain, lambda k, inputs=(): link_by_rows(Ridge(0.5), X[:-12], Y[:-12], k, list(inputs)), X[-12:])
    for model in (OurRidge(0.5), Ridge(0.5)):  # by moments, by rows
        found = cls(model).fit(X[:-12], Y[:-12])
        np.testing.assert_allclose(found.decision_function(X[-12:]) + 0.5, expected, atol=1e-8)
        np.testing.assert_array_equal(found.predict(X[-12:]), expected > 0.5)
    found = cls(OurRidge(0.5)).fit(as_sparse(X[:-12]), sp.csr_array(Y[:-12]))
    np.testing.assert_allclose(found.decision_function(as_sparse(X[-12:])) + 0.5, expected, atol=1e-8)


@pytest.mark.parametrize("order", [None, [3, 0, 4, 1, 2]])
@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(random_state=0)], ids=["linear", "tree"])
def test_a_chain_of_classifiers_is_scikit_learns(base, order):
    X, Y = problem("plain")
    Y = Y[:, [0, 1, 2, 3, 5]]
    theirs = TheirChain(base, order=order or list(range(5))).fit(X[:80], Y[:80])
    ours = ClassifierChain(base, order).fit(X[:80], Y[:80])
    np.testing.assert_array_equal(ours.predict(X[80:]), theirs.predict(X[80:]))
    if order:
        with pytest.raises(ValueError, match="each of the 5 labels"):
            ClassifierChain(base, [0, 1, 1, 2, 3]).fit(X, Y)


def test_a_random_order_is_drawn_by_its_seed():
    X, Y = problem("plain")
    first, again, other = (ClassifierChain(OurRidge(), "random", seed).fit(X, Y) for seed in (0, 0, 1))
    assert first.order_ == again.order_ != other.order_
    given = ClassifierChain(OurRidge(), first.order_).fit(X, Y)
    np.testing.assert_array_equal(first.decision_function(X), given.decision_function(X))


@pytest.mark.parametrize("base", [OurLogistic(0.1), LogisticRegression(C=10, tol=1e-9)], ids=["ours", "scikit-learn's"])
@pytest.mark.parametrize("cls", ALL)
def test_probabilities_are_those_of_the_links_at_what_was_predicted(cls, base):
    X, Y = problem("plain")
    Y[:, 3] = 1
    model = cls(base).fit(X[:90], Y[:90])
    found, said = model.predict_proba(X[90:]), model.predict(X[90:]).astype(float)
    np.testing.assert_array_equal(found > 0.5, said)
    for k in (0, 1, 2, 5):
        seen = {BinaryRelevance: [], BRPlus: [j for j in range(6) if j != k], ClassifierChain: list(range(k))}[cls]
        if cls is BRPlus:
            said = BinaryRelevance(base).fit(X[:90], Y[:90]).predict(X[90:])
        theirs = LogisticRegression(C=10, tol=1e-9) if isinstance(base, LogisticRegression) else clone(base)
        theirs.fit(np.hstack([X[:90], Y[:90, seen]]), Y[:90, k])
        expected = theirs.predict_proba(np.hstack([X[90:], said[:, seen]]))[:, 1]
        np.testing.assert_allclose(found[:, k], expected, atol=1e-9)
    assert (found[:, 3] == 1).all()
    assert found[:, 4].max() < 1e-300
    vector = cls(base).fit(X, Y[:, 0])
    np.testing.assert_allclose(vector.predict_proba(X).sum(axis=1), 1)
    assert not hasattr(cls(OurRidge()), "predict_proba")


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("rows", [np.asarray, as_sparse], ids=["dense", "sparse"])
def test_a_multilabel_classifier_is_a_base_by_its_vectors(cls, rows):
    X, Y = problem("plain")
    Y[:, 3] = 1  # and 4 is never there
    model = cls(MLkNN(5)).fit(rows(X), Y)
    scores, said = model.decision_function(rows(X)), model.predict(rows(X))
    assert scores.shape == model.predict_proba(rows(X)).shape == Y.shape
    first = MLkNN(5).fit(X, Y[:, 0])
    if cls is not BRPlus:  # of which the first looks at labels, too
        np.testing.assert_allclose(scores[:, 0], first.decision_function(X), atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(rows(X))[:, 0], first.predict_proba(X)[:, 1], atol=1e-12)
    assert said[:, 3].all()
    assert not said[:, 4].any()
    if cls is ClassifierChain:
        second = MLkNN(5).fit(np.hstack([X, Y[:, :1]]), Y[:, 1])
        np.testing.assert_array_equal(said[:, 1], second.predict(np.hstack([X, said[:, :1]])))


@pytest.mark.parametrize("cls", [BinaryRelevance, ClassifierChain])
def test_probabilities_where_no_feature_is_left(cls):
    """One feature of zeros, as a step leaves it where no label depends on any: Σ(y − p) = λb, for log-odds b."""
    _, Y = problem("plain")
    nothing = np.zeros((len(Y), 1))
    model = cls(OurLogistic()).fit_moments(Moments.from_arrays(nothing, Y))
    found = model.predict_proba(nothing)
    np.testing.assert_array_equal(found > 0.5, model.predict(nothing) > 0)
    p = found[0, 0]
    np.testing.assert_array_equal(found[:, 0], p)
    assert Y[:, 0].sum() - len(Y) * p == pytest.approx(0.1 * np.log(p / (1 - p)), abs=1e-4)
