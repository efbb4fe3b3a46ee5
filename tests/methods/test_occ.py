"""kCC, local MLFS, chain orders and OCC: special cases, plain loops, and the author's program's own choices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from mlcdr.methods.chains.bayesian_classifier_chain import BayesianClassifierChain
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.chains.k_dependence_chain import KDependenceChain
from mlcdr.methods.chains.occ import OCC, on_components, selected_order
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.local_features import mlfs
from mlcdr.methods.local_features.mlfs import LocalMLFS
from mlcdr.numerics import principal
from mlcdr.numerics.discretise import discretised
from mlcdr.numerics.forward_selection import forward_selection, most_relevant
from mlcdr.numerics.information import Variables
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem
from tests.methods.test_information import by_counting as h

CODE = {"variant": "published_code"}


def mi(x, y):
    return h(x) + h(y) - h(x, y)


def cmi(x, y, z):
    return h(x, z) + h(y, z) - h(x, y, z) - h(z)


def greedy(n, candidates, first, later):
    """By plain loops: `first(c)`, then `later(c, chosen)`."""
    chosen = []
    while len(chosen) < min(n, len(candidates)):
        left = [c for c in candidates if c not in chosen]
        scores = [later(c, chosen) if chosen else first(c) for c in left]
        chosen.append(left[int(np.argmax(np.round(scores, 11)))])
    return chosen


def small(seed=0, n=60, d=7, k=5):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float)
    Y = (X[:, :k] + 0.8 * rng.standard_normal((n, k)) + 0.7 * X[:, [0]] > 0.4).astype(np.uint8)
    return X, Y


@pytest.fixture
def authors(reference):
    folder = reference("sun2017_small")
    return lambda name: np.loadtxt(folder / f"occ_{name}.csv", delimiter=",", ndmin=2)


# ------------------------------------------------------------------------------------- by loops over the formulas


@pytest.mark.parametrize("alpha", [None, 0.0, 0.7])
def test_parents_by_plain_loops(alpha):
    X, Y = small()
    order = [2, 0, 4, 1, 3]
    model = KDependenceChain(Ridge(), 3, order, alpha).fit(X, Y)
    for place, j in enumerate(order):
        weight = (lambda s: 1 / len(s)) if alpha is None else (lambda s: alpha)
        expected = greedy(
            3,
            order[:place],
            lambda c, j=j: mi(Y[:, c], Y[:, j]),
            lambda c, s, j=j, w=weight: mi(Y[:, c], Y[:, j]) + w(s) * sum(cmi(Y[:, j], Y[:, k], Y[:, c]) for k in s),
        )
        assert model.parents_[j] == expected


@pytest.mark.parametrize(("beta", "gamma"), [(None, None), (0.0, 0.0), (0.3, 0.6)])
@pytest.mark.parametrize("parents", [[], [1, 3]])
def test_features_by_plain_loops(parents, beta, gamma, monkeypatch):
    X, Y = small(1)
    y = Y[:, 0]

    def relevance(m):
        on_parents = sum(cmi(y, Y[:, k], X[:, m]) for k in parents)
        return mi(X[:, m], y) + on_parents * (1 / max(len(parents), 1) if beta is None else beta)

    def later(m, s):
        return relevance(m) + sum(cmi(y, X[:, n], X[:, m]) for n in s) * (1 / len(s) if gamma is None else gamma)

    selector = LocalMLFS(6, beta, gamma, discretise="none")
    expected = greedy(6, range(7), relevance, later)
    moments = Moments.from_arrays(X, Y)
    assert selector.fit_moments(moments).select(0, parents).tolist() == expected
    assert LocalMLFS(0.5, beta, gamma, discretise="none").fit(X, Y).select(0, parents).tolist() == expected[:3]
    assert selector.fit(sp.csr_array(X), Y).select(0, parents).tolist() == expected
    monkeypatch.setattr(mlfs, "_TABULATED", 3)
    assert selector.fit(X, Y).select(0, parents).tolist() == expected


def test_order_by_plain_loops():
    X, Y = small(2)
    K = 5
    mean = np.zeros((K, K))
    for j in range(K):
        for k in range(K):
            mean[j, k] = np.mean([cmi(Y[:, j], Y[:, k], x) for x in X.T]) if j != k else 0
    order = [int(np.argmax(mean.sum(axis=0)))]
    while len(order) < K:

        def score(j, order=order):
            second = [
                np.mean([cmi(Y[:, order[k]], Y[:, l_], Y[:, j]) for l_ in order[:k]]) if k else 0
                for k in range(len(order))
            ]
            return sum(mean[j, order]) + sum(second)

        left = [j for j in range(K) if j not in order]
        order.append(left[int(np.argmax([score(j) for j in left]))])
    assert OCC(Ridge(), discretise="none").fit(X, Y).order_ == order
    assert selected_order(Variables.from_values(Y), Variables.from_values(X[:, :2])) == selected_order(
        Variables.from_values(sp.csr_array(Y)), Variables.from_values(sp.csr_array(X[:, :2]))
    )


def test_ties_go_to_the_first():
    relevance = np.array([0.5, 0.7, 0.7 + 1e-14, 0.1, 0.5])
    assert forward_selection(9, relevance, lambda c: np.zeros(5)) == [1, 2, 0, 4, 3]
    assert most_relevant(relevance, 3) == [1, 2, 0]


# ------------------------------------------------------------------------------------------------- special cases


@pytest.mark.parametrize("base", [Ridge(0.5), LogisticRegression()], ids=["ridge", "logistic"])
def test_special_cases_of_k(base):
    X, Y = problem("plain")
    order = [3, 0, 5, 1, 2, 4]
    for k in (5, None, 1.0, 12):
        model = KDependenceChain(base, k, order).fit(X[:80], Y[:80])
        expected = ClassifierChain(base, order).fit(X[:80], Y[:80])
        np.testing.assert_allclose(model.decision_function(X[80:]), expected.decision_function(X[80:]), atol=1e-5)
    for k in (0, 0.0):
        model = KDependenceChain(base, k, order).fit(X[:80], Y[:80])
        expected = BinaryRelevance(base).fit(X[:80], Y[:80])
        np.testing.assert_allclose(model.decision_function(X[80:]), expected.decision_function(X[80:]), atol=1e-5)
    one = KDependenceChain(base, 1, order).fit(X, Y)
    assert all(len(pa) <= 1 for pa in one.parents_)
    for j, pa in enumerate(one.parents_):  # the label before it that tells most
        before = [c for c in order[: order.index(j)] if c != 4]
        assert not pa or mi(Y[:, pa[0]], Y[:, j]) == pytest.approx(max(mi(Y[:, c], Y[:, j]) for c in before))


@pytest.mark.parametrize("seed", range(4))
def test_one_parent_at_most_is_a_bayesian_chain(seed):
    """In an order in which the tree grows from its root by its heaviest edge, the label before that tells most is the
    parent in the tree."""
    X, Y = small(seed, n=90)
    tree = BayesianClassifierChain(Ridge(0.5), mi="marginal", root=0).fit(X, Y)
    weights, order = np.array([[mi(a, b) for b in Y.T] for a in Y.T]), [0]
    while len(order) < 5:
        rest = [j for j in range(5) if j not in order]
        order.append(max(rest, key=lambda j: weights[j, order].max()))
    chain = KDependenceChain(Ridge(0.5), 1, order).fit(X, Y)
    assert chain.parents_ == tree.parents_
    np.testing.assert_allclose(chain.decision_function(X), tree.decision_function(X), atol=1e-9)


def test_occ_with_all_features_is_kcc():
    X, Y = problem("plain")
    occ = OCC(Ridge(0.5), 3, None, order=None).fit(X[:80], Y[:80])
    kcc = KDependenceChain(Ridge(0.5), 3).fit(X[:80], Y[:80])
    np.testing.assert_allclose(occ.decision_function(X[80:]), kcc.decision_function(X[80:]), atol=1e-9)
    assert sorted(occ.features_[0].tolist()) == list(range(17))


def test_the_share_of_parents_is_rounded_as_text_and_program_have_it():
    X, Y = small()
    Y = np.hstack([Y, 1 - Y[:, :1]])  # 6 labels: .7 · 6 = 4.2
    order = [5, 4, 3, 2, 1, 0]
    assert len(KDependenceChain(Ridge(), 0.7, order).fit(X, Y).parents_[0]) == 5
    assert len(OCC(Ridge(), 0.7, order=order, **CODE).fit(X, Y).parents_[0]) == 4


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("plain", "sparse counts")]


@pytest.mark.parametrize("name", ["dependent", "wide", *SLOW])
@pytest.mark.parametrize("make", [KDependenceChain, OCC, lambda base: OCC(base, **CODE)], ids=["kcc", "text", "code"])
def test_sparse_rows_and_awkward_labels(make, name):
    X, Y = problem(name)
    Y[:, 5] = Y[:, 0]
    Y[:, 3] = 1
    dense = make(LinearSVM(tol=1e-8, random_state=0)).fit(X[:-20], Y[:-20])
    sparse = make(LinearSVM(tol=1e-8, random_state=0)).fit(sp.csr_array(X[:-20]), sp.csr_array(Y[:-20]))
    assert dense.order_ == sparse.order_
    assert dense.parents_ == sparse.parents_
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X[-20:])), dense.decision_function(X[-20:]), atol=1e-4
    )
    said = dense.predict(X[-20:])
    assert said[:, 3].all()
    assert not said[:, 4].any()
    assert not any({3, 4} & set(pa) for pa in dense.parents_)
    later = max((0, 5), key=dense.order_.index)
    assert 5 - later in dense.parents_[later]  # a copy tells most
    one = make(LinearSVM()).fit(X[:1], Y[:1])
    np.testing.assert_array_equal(one.predict(X[:3]), np.repeat(Y[:1], 3, axis=0))
    single = make(LinearSVM(random_state=0)).fit(X, Y[:, :1])
    assert single.predict(X).shape == (len(X), 1)


def test_random_orders_are_seeded():
    X, Y = small()
    orders = [OCC(Ridge(), order="random", random_state=seed).fit(X, Y).order_ for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


# ------------------------------------------------------------------------------------------ the author's program


def test_parents_of_the_authors_program(authors):
    X, Y = authors("disc_X"), authors("disc_Y_NxL")
    for k, j, *theirs in authors("disc_parents_canonical").astype(int):
        ours = [p + 1 for p in KDependenceChain(Ridge(), int(k)).fit(X, Y).parents_[j - 1]]
        theirs = [p for p in theirs if p]
        # where it takes all there are, it keeps their order
        assert ours == theirs if j - 1 > k else sorted(ours) == sorted(theirs)


def test_features_of_the_authors_program(authors):
    X, Y = authors("disc_X"), authors("disc_Y_NxL")
    moments = Moments.from_arrays(X, Y)
    parents = KDependenceChain(Ridge(), 3).fit(X, Y).parents_
    for n, j, *theirs in authors("disc_features_canonical_k3").astype(int):
        ours = LocalMLFS(int(n), **CODE).fit_moments(moments).select(j - 1, parents[j - 1])
        assert (ours + 1).tolist() == [f for f in theirs if f]
    for j, *theirs in authors("disc_features_noparent_Ms6").astype(int):
        assert (LocalMLFS(6, **CODE).fit_moments(moments).select(j - 1) + 1).tolist() == theirs


def test_its_rule_for_a_hundred_features(authors):
    moments = Moments.from_arrays(authors("wide_X"), authors("disc_Y_NxL"))
    for n, *theirs in authors("wide_features_label1_parents234").astype(int):
        ours = (LocalMLFS(int(n), **CODE).fit_moments(moments).select(0, [1, 2, 3]) + 1).tolist()
        theirs = [f for f in theirs if f]
        assert ours == theirs if n < 100 else set(ours) == set(theirs)
    text = LocalMLFS(100).fit_moments(moments).select(0, [1, 2, 3])  # there (4.41) goes on
    assert set(text.tolist()) != set(LocalMLFS(100, **CODE).fit_moments(moments).select(0, [1, 2, 3]).tolist())


def test_orders_of_the_authors_program(authors):
    X, Y = authors("disc_X"), authors("disc_Y_NxL")
    moments = Moments.from_arrays(X, Y)
    components = X @ principal.principal_directions(moments, 3)[1].T
    components = Variables.from_values(discretised(components - components.mean(axis=0), "published_code"))
    for n, with_second, *theirs in authors("disc_chain_order").astype(int):
        ours = selected_order(Variables.from_values(Y), components.take(range(n)), second_term=bool(with_second))
        assert [j + 1 for j in ours] == theirs
        if not with_second:
            assert on_components(moments, int(n), "published_code") == ours


def test_the_authors_program_as_a_whole(authors):
    X, Y, new = authors("cont_X"), authors("cont_Y_LxN").T, authors("cont_Xt")
    np.testing.assert_array_equal(discretised(X, "published_code"), authors("cont_disc_train"))
    model = OCC(LinearSVM(random_state=0), **CODE).fit(X, Y)
    # label 6, without positives, is left out there and comes last here
    assert [j + 1 for j in model.order_] == authors("cont_chain_order").astype(int)[0].tolist()
    theirs = authors("cont_pred_LxNt").T
    assert np.mean(model.predict(new) == theirs) >= 0.98  # LIBLINEAR stops there at a looser tolerance
    assert not model.predict(new)[:, 5].any()
