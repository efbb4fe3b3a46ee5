"""HOMER: its tree by a loop, and clusters that are balanced."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mlcdr import HOMER, BinaryRelevance, ClassifierChain, LabelPowerset, Ridge
from mlcdr.methods.instance_space.homer import Node, clusters


def labels_below(child):
    return {child} if isinstance(child, int) else set().union(*map(labels_below, child.children))


def nodes(node):
    yield node
    for child in node.children:
        if isinstance(child, Node):
            yield from nodes(child)


def many_labels(n_labels=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 10))
    Y = X @ rng.standard_normal((10, n_labels)) + 0.5 * rng.standard_normal((150, n_labels)) > 1.5
    return X, Y.astype(np.uint8)


def by_recursion(node, base, X, Y, new, rows):
    """Label sets of new rows: the node's classifier, fitted anew, and then its children where it says so."""
    said = np.zeros((len(new), Y.shape[1]), dtype=int)
    groups = [sorted(labels_below(child)) for child in node.children]
    meta = np.column_stack([Y[rows][:, group].max(axis=1) for group in groups])
    predicted = base.fit(X[rows], meta).predict(new)
    for i, (child, group) in enumerate(zip(node.children, groups, strict=True)):
        down = np.flatnonzero(predicted[:, i])
        if isinstance(child, int):
            said[:, child] = predicted[:, i]
        elif len(down):
            below = by_recursion(child, base, X, Y, new[down], rows[meta[:, i] > 0])
            said[np.ix_(down, group)] = below[:, group]
    return said


@pytest.mark.parametrize(
    ("clustering", "base"),
    [
        ("balanced", BinaryRelevance(Ridge(0.5))),
        ("kmeans", LabelPowerset()),
        ("random", ClassifierChain(LogisticRegression())),
    ],
    ids=["balanced", "kmeans", "random"],
)
def test_the_tree_is_walked_as_the_paper_says(clustering, base):
    X, Y = many_labels()
    found = HOMER(base, k=3, clustering=clustering, random_state=1).fit(X[:110], Y[:110])
    expected = by_recursion(found.root_, base, X[:110], Y[:110], X[110:], np.arange(110))
    np.testing.assert_array_equal(found.predict(X[110:]), expected)
    np.testing.assert_array_equal(found.decision_function(X[110:]) > 0, expected)


@pytest.mark.parametrize("clustering", ["balanced", "random"])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 7, 11, 20])
def test_children_have_as_many_labels(clustering, n_labels):
    X, Y = many_labels(n_labels)
    root = HOMER(k=3, clustering=clustering, random_state=0).fit(X, Y).root_
    assert labels_below(root) == set(range(n_labels))
    for node in nodes(root):
        sizes = [len(labels_below(child)) for child in node.children]
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) == min(3, sum(sizes))


def test_balanced_assignment_is_the_cheapest():
    rng = np.random.default_rng(0)
    for n, k in ((5, 2), (7, 3), (6, 3)):
        Y = (rng.random((30, n)) < 0.4).astype(float)
        start = rng.permutation(n)[:k]
        found = clusters(Y.T @ Y, start, balanced=True, steps=1)
        assert sorted(np.concatenate(found).tolist()) == list(range(n))
        distances = ((Y.T[:, None] - Y.T[start][None]) ** 2).sum(axis=2)
        cost = sum(distances[label, c] for c, group in enumerate(found) for label in group)
        places = [c for c in range(k) for _ in range(n // k)]
        spare = [[c] for c in range(k)] if n % k == 1 else [[]]
        options = [p for extra in spare for p in set(permutations([*places, *extra]))]
        assert cost == pytest.approx(min(sum(distances[i, c] for i, c in enumerate(p)) for p in options))


def test_plain_clusters_are_those_of_k_means():
    """The same as scikit-learn's from the same start, on columns of which no two are as far away."""
    Y = many_labels(30)[0].T @ np.random.default_rng(1).standard_normal((150, 30))
    start = np.array([3, 11, 20, 29])
    found = clusters(Y.T @ Y, start, balanced=False, steps=300)
    theirs = KMeans(4, init=Y.T[start], n_init=1, algorithm="lloyd", tol=0).fit(Y.T).labels_
    for group in found:
        assert len(set(theirs[group].tolist())) == 1
    assert len({int(theirs[group[0]]) for group in found}) == 4
    same = clusters(np.ones((5, 5)), np.array([0, 1, 2]), balanced=False, steps=10)
    assert sorted(len(group) for group in same) == [1, 1, 3], "an empty cluster takes a label"


def test_labels_without_instances_are_not_predicted():
    X, Y = many_labels()
    Y[:, :12] = 0
    found = HOMER(KNeighborsClassifier(3), random_state=0).fit(X, Y)
    assert any(node.model is None for node in nodes(found.root_))
    assert not found.predict(X)[:, :12].any()
    assert (found.decision_function(X)[:, :12] < 0).all()


def test_one_node_is_its_classifier():
    X, Y = many_labels()
    whole = HOMER(BinaryRelevance(Ridge(0.5)), k=20).fit(X, Y)
    np.testing.assert_array_equal(whole.predict(X), BinaryRelevance(Ridge(0.5)).fit(X, Y).predict(X))
