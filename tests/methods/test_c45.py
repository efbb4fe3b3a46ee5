"""C4.5's trees: those that WEKA's J48 prints for known data, and the rules by plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from mlcdr import C45, M5P
from mlcdr.methods.learners.m5.compiled import WARM_UP
from tests.methods.problems import NAMES, as_sparse, problem

pytest.importorskip("numba", reason="C4.5's trees need numba")


def written(model, node=0):
    """A tree as nested tuples (feature, threshold, left, right); a leaf is its class."""
    tree = model.tree_
    if tree.feature[node] < 0:
        return int(model.classes_[tree.shares[node].argmax()])
    return (
        int(tree.feature[node]),
        round(float(tree.threshold[node]), 6),
        written(model, tree.left[node]),
        written(model, tree.right[node]),
    )


def test_its_trees_are_those_that_j48_prints():
    """As WEKA's J48 prints them (-C 0.25 -M 2) for iris: 5 leaves, 3 of 150 rows wrong; and for wine: 5 leaves."""
    X, y = load_iris(return_X_y=True)
    found = C45().fit(X, y)
    assert written(found) == (3, 0.6, 0, (3, 1.7, (2, 4.9, 1, (3, 1.5, 2, 1)), 2))
    assert (found.predict(X) != y).sum() == 3
    X, y = load_wine(return_X_y=True)
    assert written(C45().fit(X, y)) == (6, 1.57, (9, 3.8, 1, 2), (12, 720.0, 1, (9, 3.4, 1, 0)))


# -------------------------------------------------------------------- the rules by plain loops


def entropy(y):
    shares = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(shares * np.log2(shares)).sum()) if len(y) else 0.0


def best_test(X, y, n_classes, min_instances, apart):
    """(feature, cut) of a node, or None; `apart`: the least gap of each feature."""
    n = len(y)
    least = max(min_instances, min(0.1 * n / n_classes, 25))
    if n < 2 * min_instances or len(set(y.tolist())) == 1:
        return None
    found = []
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        best, cuts = (0.0, None), 0
        for low, high in pairwise(values):
            left = X[:, j] <= low
            if low + apart[j] >= high or min(left.sum(), n - left.sum()) < least:
                continue
            cuts += 1
            gain = entropy(y) - left.mean() * entropy(y[left]) - (1 - left.mean()) * entropy(y[~left])
            if gain > best[0] + 1e-6:
                best = gain, (low + high) / 2
        if cuts and best[1] is not None and best[0] - np.log2(cuts) / n > 1e-6:
            left = X[:, j] <= best[1]
            gain = best[0] - np.log2(cuts) / n
            found.append((j, best[1], gain, gain / entropy(left)))
    if not found:
        return None
    average = np.mean([gain for _, _, gain, _ in found])
    chosen, highest = None, 0.0
    for j, cut, gain, ratio in found:
        if gain >= average - 1e-3 and ratio > highest + 1e-6:
            chosen, highest = (j, cut), ratio
    return chosen


RAISED: list[int] = []  # rows of the nodes that gave their place to a child


def expected_errors(y, confidence=0.25):
    n = len(y)
    if n == 0:
        return 0.0
    e = n - np.unique(y, return_counts=True)[1].max()
    if e == 0:
        return n * (1 - confidence ** (1 / n))
    if e + 0.5 >= n:
        return float(n)
    z, f = norm.ppf(1 - confidence), (e + 0.5) / n
    return n * (f + z**2 / (2 * n) + z * np.sqrt(f / n - f**2 / n + z**2 / (4 * n**2))) / (1 + z**2 / n)


def grown(X, y, rows, n_classes, min_instances=2):
    """A node is a list [rows, test or None, left, right]."""
    test = best_test(X[rows], y[rows], n_classes, min_instances, 1e-5 * np.ptp(X, axis=0))
    if test is None:
        return [rows, None]
    j, cut = test
    cut = X[:, j][X[:, j] <= cut].max()
    left = X[rows, j] <= cut
    return [rows, (j, cut), grown(X, y, rows[left], n_classes), grown(X, y, rows[~left], n_classes)]


def wrong(node, y):
    if node[1] is None:
        return len(node[0]) - np.unique(y[node[0]], return_counts=True)[1].max(initial=0)
    return wrong(node[2], y) + wrong(node[3], y)


def collapsed(node, y):
    if node[1] is not None:
        if wrong(node, y) >= wrong([node[0], None], y) - 1e-3:
            return [node[0], None]
        return [node[0], node[1], collapsed(node[2], y), collapsed(node[3], y)]
    return node


def total(node, y):
    return expected_errors(y[node[0]]) if node[1] is None else total(node[2], y) + total(node[3], y)


def sent_down(node, X, rows):
    """The same tests, for other rows."""
    if node[1] is None:
        return [rows, None]
    left = X[rows, node[1][0]] <= node[1][1]
    return [rows, node[1], sent_down(node[2], X, rows[left]), sent_down(node[3], X, rows[~left])]


def pruned(node, X, y):
    if node[1] is None:
        return node
    node = [node[0], node[1], pruned(node[2], X, y), pruned(node[3], X, y)]
    larger = node[2] if len(node[2][0]) >= len(node[3][0]) else node[3]
    raised = sent_down(larger, X, node[0])
    leaf, tree, branch = expected_errors(y[node[0]]), total(node, y), total(raised, y)
    if leaf <= tree + 0.1 + 1e-6 and leaf <= branch + 0.1 + 1e-6:
        return [node[0], None]
    if branch <= tree + 0.1 + 1e-6:
        RAISED.append(len(node[0]))
        return pruned(raised, X, y)
    return node


def said(node, x, y, parent):
    counted = np.bincount(y[node[0]], minlength=parent.size) if len(node[0]) else parent
    if node[1] is None:
        return counted / counted.sum()
    return said(node[2] if x[node[1][0]] <= node[1][1] else node[3], x, y, counted)


@pytest.mark.parametrize("seed", [15, 22, 41, 58])
def test_larger_children_take_the_place_of_their_parents(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (150, 5)) / 2.0
    y = ((X[:, 0] > 0) ^ (rng.random(150) < 0.25) ^ (X[:, 3] * X[:, 4] > 1)).astype(int)
    RAISED.clear()
    tree = pruned(collapsed(grown(X, y, np.arange(150), 2), y), X, y)
    assert RAISED
    expected = [said(tree, x, y, np.zeros(2, dtype=int)) for x in X]
    np.testing.assert_array_equal(C45().fit(as_sparse(X), y).predict_proba(X), expected)


@pytest.mark.parametrize("name", [*NAMES, "iris", "breast cancer"])
def test_its_trees_are_those_of_the_rules_in_plain_loops(name):
    if name in NAMES:
        X, Y = problem(name)
        X, y = X[:45, :6], Y[:45, :3] @ np.array([1, 2, 4])
    else:
        X, y = (load_iris if name == "iris" else load_breast_cancer)(return_X_y=True)
        X, y = (X[::7, :5], y[::7]) if name == "breast cancer" else (X, y)
    classes, codes = np.unique(y, return_inverse=True)
    full = grown(X, codes, np.arange(len(y)), len(classes))
    none = np.zeros(len(classes), dtype=int)
    new = X + np.random.default_rng(0).normal(0, 0.1, X.shape) * X.std(axis=0)
    for prune in (False, True):
        tree = pruned(collapsed(full, codes), X, codes) if prune else full
        expected = np.array([said(tree, x, codes, none) for x in new])
        for make in (np.asarray, as_sparse):
            found = C45(pruned=prune).fit(make(X), y)
            np.testing.assert_allclose(found.predict_proba(make(new)), expected, atol=1e-12)
            np.testing.assert_array_equal(found.predict(make(new)), classes[expected.argmax(axis=1)])


def test_what_warms_up_grows_trees():
    """A leaf alone would leave most of the machine code to the first fit that is timed."""
    assert C45().fit(WARM_UP, WARM_UP[:, 0] > 2).tree_.feature[0] == 0
    for ties in ("weka", "rows"):
        (tree,) = M5P(ties=ties, pruned=False).fit(WARM_UP, WARM_UP[:, 0]).trees_
        assert (tree.feature >= 0).any()


def test_one_class_names_and_equal_rows_are_predicted_as_they_come():
    X, Y = problem("plain")
    one = C45().fit(X, np.full(len(X), "a"))
    assert set(one.predict(X)) == {"a"}
    assert one.predict_proba(X).tolist() == [[1.0]] * len(X)
    same = C45().fit(np.ones_like(X), Y[:, 0])
    assert set(same.predict(X)) == {int(Y[:, 0].mean() > 0.5)}
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(
        C45().fit(X[order], Y[order, 0]).predict_proba(X), C45().fit(X, Y[:, 0]).predict_proba(X)
    )


@pytest.mark.parametrize("make", [np.asarray, as_sparse], ids=["dense", "sparse"])
def test_a_tree_does_not_depend_on_the_unit_of_a_feature(make):
    """By C4.5's own rule, a gap of 1e-5, nothing is left to cut of small numbers."""
    X, Y = problem("plain")
    expected = C45().fit(make(X), Y[:, 0]).predict_proba(make(X))
    for unit in (2.0**-40, 2.0**40):
        np.testing.assert_array_equal(C45().fit(make(X * unit), Y[:, 0]).predict_proba(make(X * unit)), expected)
    small = C45(gap="absolute").fit(make(X * 2.0**-40), Y[:, 0])
    assert small.tree_.feature[0] < 0
