"""Bayesian chains and polytree-augmented chains: structure by hand and by networkx' rules, inference by brute force."""

from __future__ import annotations

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import mlcdr
from mlcdr.methods.chains.bayesian_classifier_chain import dependence
from mlcdr.methods.chains.conditional_information import conditional_information
from mlcdr.methods.chains.max_sum import FactorTree
from mlcdr.methods.chains.trees import (
    in_order,
    independent_pairs,
    polytree,
    rooted,
    spanning_forest,
    weakly_bound_pairs,
)
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem
from tests.methods.test_probabilistic_chain import by_brute_force


def random_polytree(K, seed, most=4):
    """The parents of K labels: a random tree with random directions."""
    rng = np.random.default_rng(seed)
    parents = [[] for _ in range(K)]
    for k in range(1, K):
        other = int(rng.integers(k))
        if rng.random() < 0.1:
            continue  # another tree
        a, b = (k, other) if rng.random() < 0.7 else (other, k)
        if len(parents[b]) < most:
            parents[b] = sorted([*parents[b], a])
    return parents


def joint(parents, tables):
    """Σ log p (n×2^K) of all label sets, and these."""
    sets = np.array(list(product([0, 1], repeat=len(parents))))
    total = sum(tables[k][(slice(None), *sets[:, [k, *each]].T)] for k, each in enumerate(parents))
    return total, sets


# -------------------------------------------------------------------- trees


def test_the_spanning_tree_is_the_heaviest():
    rng = np.random.default_rng(0)
    for K in (2, 5, 9):
        weights = np.triu(rng.random((K, K)), 1)
        weights += weights.T
        found = spanning_forest(weights)
        total = sum(weights[j, k] for j in range(K) for k in found[j]) / 2
        assert total == pytest.approx(-minimum_spanning_tree(-weights).sum())
    assert spanning_forest(np.zeros((3, 3))) == [[], [], []]
    assert spanning_forest(np.ones((4, 4))) == [[1, 2, 3], [0], [0], [0]]  # of equal edges the first


def test_a_tree_is_directed_away_from_its_root():
    neighbours = [[1, 2], [0], [0, 3], [2], []]
    assert rooted(neighbours, [3, 4]) == [[2], [0], [3], [], []]
    assert in_order(rooted(neighbours, [3, 4])) == [3, 4, 2, 0, 1]
    with pytest.raises(ValueError, match="in a circle"):
        in_order([[1], [0]])


def test_independent_neighbours_are_parents_and_the_flow_goes_on():
    """0 → 2 ← 1 by a test; then 2 → 3 → 4; 5 – 6 by themselves, from the stronger."""
    neighbours = [[2], [2], [0, 1, 3], [2, 4], [3], [6], [5]]
    weights, p = np.ones((7, 7)), np.zeros((7, 7))
    p[0, 1] = p[1, 0] = 0.5

    def directed(level, most):
        return polytree(neighbours, weights, independent_pairs(neighbours, p, level), most)

    assert directed(0.05, 6) == [[], [], [0, 1], [2], [3], [], [5]]
    for no_two in (directed(0.6, 6), directed(0.05, 1)):  # no test accepts, or one parent is the most
        assert no_two == rooted(neighbours, [2, 5])
    p[:] = 0.5
    assert directed(0.05, 6)[2] == [0, 1, 3]


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_polytrees_keep_their_skeleton_and_the_bound(seed, most):
    rng = np.random.default_rng(seed)
    K = 12
    weights = np.triu(rng.random((K, K)), 1)
    weights += weights.T
    p = rng.random((K, K)) ** 4
    p = np.maximum(p, p.T)
    neighbours = spanning_forest(weights)
    parents = polytree(neighbours, weights, independent_pairs(neighbours, p, 0.05), most)
    assert max(len(each) for each in parents) <= most
    edges = {frozenset((a, b)) for b, each in enumerate(parents) for a in each}
    skeleton = {frozenset((a, b)) for a in range(K) for b in neighbours[a]}
    assert edges <= skeleton
    assert sum(len(each) for each in parents) == len(edges)  # no edge goes both ways
    for missing in skeleton - edges:  # only where neither end may have one more
        assert all(len(parents[k]) == most for k in missing)
    in_order(parents)
    if most == 1:
        assert edges == skeleton


def test_the_programs_chain_hands_on_what_it_predicts():
    """Of a base, too, whose scores and probabilities do not agree; each link looks once."""
    X, Y = problem("plain")
    found = mlcdr.PolytreeChain(SVC(probability=True, random_state=0), mi="normalised", variant="published_code")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found.fit(X[:90], Y[:90])
    said = found.predict(X[90:])
    for k, link in zip(found.order_, found.links_, strict=True):
        scores = link.score(X[90:], said[:, found.parents_[k]].astype(float))
        np.testing.assert_array_equal(said[:, k], scores > 0)
        np.testing.assert_allclose(found.decision_function(X[90:])[:, k], scores)


@pytest.mark.parametrize("seed", range(4))
def test_the_programs_polytree_and_its_greedy_chain(seed):
    """Every earlier label that tells something is a parent, too; one label after the other is predicted."""
    X, Y = problem("plain")
    rng = np.random.default_rng(seed)
    Y = Y.copy()
    Y[:, 2] = Y[:, 0] ^ (rng.random(len(Y)) < 0.2)
    found = mlcdr.PolytreeChain(mi="normalised", variant="published_code").fit(X[:90], Y[:90])
    K = Y.shape[1]
    w = np.array(
        [[0.0 if j == k else dependence(Y[:90, [j, k]], "normalised")[0, 1] for k in range(K)] for j in range(K)]
    )
    near = spanning_forest(w)
    bound = [
        (j, a, b)
        for j in range(K)
        for a in near[j]
        for b in near[j]
        if a < b and all(w[a, b] < 0.2 * w[j, other] for other in near[j])
    ]
    assert weakly_bound_pairs(near, w, 0.2) == bound
    tree = polytree(near, w, bound, 6)
    assert sorted(found.order_) == list(range(K))
    for i, k in enumerate(found.order_):
        assert set(tree[k]) <= set(found.order_[:i])
        assert found.parents_[k] == [
            j for j in range(K) if j in tree[k] or (j in found.order_[:i] and w[j, k] > 0.0005)
        ]
    assert sum(map(len, found.parents_)) > sum(map(len, tree))
    said = np.zeros((len(X) - 90, K), dtype=int)
    for k in found.order_:
        inputs = np.hstack([X[:90], Y[:90][:, found.parents_[k]]])
        link = mlcdr.LogisticRegression().fit(inputs, Y[:90, k])
        said[:, k] = link.predict(np.hstack([X[90:], said[:, found.parents_[k]]]))
    np.testing.assert_array_equal(found.predict(X[90:]), said)
    np.testing.assert_array_equal(found.predict_proba(X[90:]) > 0.5, said == 1)


# -------------------------------------------------------------------- inference


@pytest.mark.parametrize("seed", range(6))
def test_max_sum_and_sum_product_are_brute_force(seed):
    rng = np.random.default_rng(seed)
    parents = random_polytree(8, seed)
    tables = []
    for each in parents:
        z = 3 * rng.standard_normal((25, *(2,) * len(each)))
        z[rng.random(z.shape) < 0.1] = 700.0  # what is certain
        tables.append(np.stack([log_expit(-z), log_expit(z)], axis=1))
    total, sets = joint(parents, tables)
    tree = FactorTree.of(parents)
    said = tree.most_probable(tables)
    index = said @ 2 ** np.arange(8)[::-1]
    np.testing.assert_allclose(total[np.arange(25), index], total.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(np.exp(tree.marginals(tables)[:, :, 1]), np.exp(total) @ sets, atol=1e-9)


@pytest.mark.parametrize("base", [mlcdr.LogisticRegression(tol=1e-12), GaussianNB()], ids=["logistic", "naive Bayes"])
@pytest.mark.parametrize("mi", ["conditional", "normalised", "marginal"])
def test_the_label_set_is_the_most_probable_of_all(base, mi):
    X, Y = problem("plain")
    X = X[:, :5]
    model = mlcdr.PolytreeChain(base, mi, level=0.01, random_state=0).fit(X[:90], Y[:90])
    assert max(len(each) for each in model.parents_) > 1 or mi != "normalised"
    p, sets = by_brute_force(base, dict(enumerate(model.parents_)), X[:90], Y[:90], X[90:])
    np.testing.assert_array_equal(model.predict(X[90:]), sets[p.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X[90:]), p @ sets, atol=1e-8)
    np.testing.assert_allclose(expit(model.decision_function(X[90:])), model.predict_proba(X[90:]), atol=1e-12)


def test_sparse_rows_and_many_at_once_are_as_dense_and_one_by_one():
    X, Y = problem("sparse counts")
    exact = mlcdr.LogisticRegression(tol=1e-10)  # dense rows are factorised, sparse ones iterated on
    dense, sparse = (mlcdr.PolytreeChain(exact, random_state=0).fit(rows, Y) for rows in (X, as_sparse(X)))
    assert dense.parents_ == sparse.parents_
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(as_sparse(X)), atol=1e-4)
    alone = np.vstack([sparse.predict(as_sparse(X[[i]])) for i in range(20)])
    np.testing.assert_array_equal(sparse.predict(as_sparse(X[:20])), alone)


# -------------------------------------------------------------------- information


def test_dependence_is_scikit_learns_mutual_information():
    _, Y = problem("plain")
    marginal, normalised = dependence(Y, "marginal"), dependence(Y, "normalised")
    for j, k in combinations(range(6), 2):
        assert marginal[j, k] == pytest.approx(mutual_info_score(Y[:, j], Y[:, k]) / np.log(2), abs=1e-12)
        if 4 not in (j, k):
            assert normalised[j, k] == pytest.approx(normalized_mutual_info_score(Y[:, j], Y[:, k]), abs=1e-12)
    assert not normalised[4].any()


@pytest.mark.parametrize(
    "base", [mlcdr.LogisticRegression(tol=1e-12), Theirs(C=10, tol=1e-9)], ids=["ours", "scikit-learn's"]
)
def test_conditional_information_is_that_of_loops(base):
    X, Y = problem("plain")
    held, rest = np.arange(0, 120, 3), np.setdiff1d(np.arange(120), np.arange(0, 120, 3))
    found = conditional_information(base, Moments.from_arrays(X, Y), LocalSelector(), held)
    np.testing.assert_array_equal(found, found.T)
    assert not found[4].any()
    labels = [0, 1, 2]
    alone = {j: clone(base).fit(X[rest], Y[rest, j]).predict_proba(X[held]) for j in labels}

    def estimate(j, k):
        model = clone(base).fit(np.column_stack([X[rest], Y[rest, k]]), Y[rest, j])
        total = 0.0
        for i, x in enumerate(X[held]):
            for v in (0, 1):
                given = model.predict_proba(np.append(x, v)[None])[0]
                for u in (0, 1):
                    total += alone[k][i, v] * given[u] * np.log2(given[u] / alone[j][i, u])
        return total / len(held)

    for j, k in combinations(labels, 2):
        assert found[j, k] == pytest.approx((estimate(j, k) + estimate(k, j)) / 2, abs=1e-6)


# -------------------------------------------------------------------- special cases


def test_one_parent_at_most_is_the_tree_of_a_bayesian_chain():
    X, Y = problem("plain")
    ours = mlcdr.PolytreeChain(mi="normalised", max_parents=1).fit(X, Y)
    tree = mlcdr.BayesianClassifierChain(mlcdr.LogisticRegression(), root="strongest").fit(X, Y)
    edges = [{frozenset((a, b)) for b, each in enumerate(m.parents_) for a in each} for m in (ours, tree)]
    assert edges[0] == edges[1]
    assert ours.parents_ == tree.parents_


def test_independent_labels_are_binary_relevance():
    X, _ = problem("plain")
    X = np.vstack([X] * 4)
    Y = np.array(list(product([0, 1], repeat=2)) * 120)
    relevance = mlcdr.BinaryRelevance(mlcdr.LogisticRegression()).fit(X, Y)
    for model in (mlcdr.PolytreeChain(mi="marginal"), mlcdr.BayesianClassifierChain(mlcdr.LogisticRegression())):
        model.fit(X, Y)
        assert model.parents_ == [[], []]
        np.testing.assert_array_equal(model.predict(X), relevance.predict(X))


@pytest.mark.parametrize(
    "make", [mlcdr.PolytreeChain, lambda: mlcdr.BayesianClassifierChain(mlcdr.LogisticRegression())]
)
def test_equal_labels_are_said_alike_and_one_row_is_repeated(make):
    X, Y = problem("plain")
    same = make().fit(X, np.column_stack([Y[:, 0], Y[:, 0], np.ones(120)]))
    assert len(same.parents_[0]) + len(same.parents_[1]) == 1
    said = same.predict(X)
    np.testing.assert_array_equal(said[:, 0], said[:, 1])
    assert said[:, 2].all()
    single = make().fit(X[:1], np.array([[0, 1, 0]]))
    np.testing.assert_array_equal(single.predict(X[:3]), [[0, 1, 0]] * 3)


def complements(seed):
    """Labels with ties that rounding could break: 5 and 6 are each other's complement, 0 and 4 are equal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    Y = (rng.random((40, 7)) < 0.3).astype(np.uint8)
    Y[:, 1] |= X[:, 2] > 0
    Y[:, 3], Y[:, 4], Y[:, 6] = 0, Y[:, 0], 1 - Y[:, 5]
    return X, Y


@pytest.mark.parametrize("mi", ["marginal", "normalised"])
@pytest.mark.parametrize("seed", range(6))
def test_labels_that_inform_equally_are_taken_in_their_order_whatever_y_is_stored_as(mi, seed):
    X, Y = complements(seed)
    weights = dependence(Y, mi)
    np.testing.assert_array_equal(weights[5, :5], weights[6, :5])
    np.testing.assert_array_equal(weights, dependence(as_sparse(Y), mi))
    for make in (
        lambda: mlcdr.BayesianClassifierChain(mlcdr.Ridge(), mi=mi, root="strongest"),
        lambda: mlcdr.PolytreeChain(mi=mi, random_state=0),
    ):
        dense, sparse = make().fit(X, Y), make().fit(X, as_sparse(Y))
        assert dense.order_ == sparse.order_
        assert dense.parents_ == sparse.parents_


def test_of_edges_equal_but_for_rounding_the_first_is_in_the_tree():
    weights = np.array([[0, 0.3, 0.2], [0.3, 0, 0.2 + 1e-15], [0.2, 0.2 + 1e-15, 0]])
    assert spanning_forest(weights) == [[1, 2], [0], [0]]


def test_a_root_is_drawn_given_or_the_strongest():
    X, Y = problem("plain")
    given = mlcdr.BayesianClassifierChain(mlcdr.Ridge(), root=2).fit(X, Y)
    assert given.parents_[2] == []
    assert given.order_[0] == 2 or given.order_[1] == 2
    assert given.parents_[4] == []
    drawn = [
        mlcdr.BayesianClassifierChain(mlcdr.Ridge(), random_state=seed).fit(X, Y).order_[0] for seed in (1, 1, 2, 3, 4)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    with pytest.raises(ValueError, match="none of the 6 labels"):
        mlcdr.BayesianClassifierChain(root=6).fit(X, Y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        mlcdr.PolytreeChain(mlcdr.Ridge()).fit(X, Y)
