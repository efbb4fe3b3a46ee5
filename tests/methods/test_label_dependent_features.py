"""MLIG, MLCFS and both in chains: by loops, by an exhaustive search, and in a config."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

import mlcdr
from mlcdr.methods.component import Component
from mlcdr.methods.local_features.mlig import shares_kept
from mlcdr.numerics.discretise import discretised
from tests.methods.problems import as_sparse, problem

ALL = [
    mlcdr.BinaryRelevance,
    mlcdr.BRPlus,
    mlcdr.ClassifierChain,
    mlcdr.BayesianClassifierChain,
    mlcdr.PolytreeChain,
    mlcdr.ProbabilisticClassifierChain,
]


def uncertainty(a, b):
    """2I / (H + H), 0 for constants (scikit-learn gives 1 for two of them)."""
    return 0.0 if len(set(a)) == 1 or len(set(b)) == 1 else normalized_mutual_info_score(a, b)


def uncertainties(columns):
    """Those of all pairs of columns, scikit-learn's."""
    found = np.zeros((len(columns), len(columns)))
    for a, b in combinations(range(len(columns)), 2):
        found[a, b] = found[b, a] = uncertainty(columns[a], columns[b])
    return found


def merit(members, table):
    """(3.11) as printed, with the sum of (3.12) over each pair once; the label is the last column of the table."""
    n = len(members)
    with_label = 2 / n * sum(table[-1, z] / 2 for z in members)
    pairs = sum(table[a, b] / 2 for a, b in combinations(members, 2))
    among = 4 / (n * (n - 1)) * pairs if n > 1 else 0.0
    return n * with_label / np.sqrt(n + n * (n - 1) * among)


# -------------------------------------------------------------------- MLIG


def test_gains_are_the_information_of_discretised_features():
    X, Y = problem("plain")
    codes = discretised(X, "mean_std")
    for rows in (X, as_sparse(X)):
        found = mlcdr.MLIG().fit(rows, Y).gains_
        for k in range(17):
            assert found[k, 1] == pytest.approx(mutual_info_score(codes[:, k], Y[:, 1]) / np.log(2), abs=1e-12)
    top = mlcdr.MLIG(0.2).fit(X, Y).alone(1)
    assert set(top) == set(np.argsort(-found[:, 1], kind="stable")[: len(top)])
    assert (np.diff(top) > 0).all()


def test_the_share_of_features_follows_the_imbalance():
    """(3.9) and (3.10) written out."""
    counts = np.array([100.0, 50.0, 10.0, 2.0])
    ratio = 100 / counts
    mean = ratio.mean()
    cvir = np.sqrt(((ratio - mean) ** 2).sum() / 3) / mean
    beta = mean / (ratio * (cvir + 1))
    expected = 2 * 0.1 * (np.exp(beta) - 1) / (np.exp(beta) + 1) + 0.1
    found = shares_kept(counts, 0.1)
    np.testing.assert_allclose(found, expected)
    assert (np.diff(found) < 0).all()
    assert (found > 0.1).all()
    assert (found < 0.3).all()
    with_empty = shares_kept(np.append(counts, 0.0), 0.1)
    np.testing.assert_allclose(with_empty, [*expected, 0.1])  # a label without positives changes nothing
    np.testing.assert_allclose(shares_kept(np.array([7.0]), 0.1), 0.1 + 0.2 * np.tanh(0.5))
    np.testing.assert_array_equal(shares_kept(np.zeros(3), 0.2), 0.2)
    one_rare = shares_kept(np.array([1e9] * 99 + [1.0]), 0.1)
    np.testing.assert_allclose(one_rare[[0, 98, 99]], [0.3, 0.3, 0.1], atol=1e-3)


# -------------------------------------------------------------------- MLCFS


@pytest.mark.parametrize("parents", [[], [0], [3, 5]])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_a_patient_search_finds_the_best_subset(seed, parents):
    X, Y = problem("plain", seed)
    X = X[:, :7]
    table = uncertainties([*discretised(X, "mean_std").T, *Y[:, parents].T, Y[:, 1]])
    known = list(range(7, 7 + len(parents)))
    best, chosen = -1.0, None
    for size in range(0 if parents else 1, 8):
        for members in combinations(range(7), size):
            value = merit([*members, *known], table)
            if value > best + 1e-12:
                best, chosen = value, members
    found = mlcdr.MLCFS(patience=200).fit(X, Y).beside(1, parents)
    if chosen:
        assert found.tolist() == list(chosen)
    else:  # the parents alone are best: the feature kept all the same is the most correlated
        assert found.tolist() == [int(np.argmax(table[-1, :7]))]


def test_the_search_is_forward_until_patience_ends():
    """With patience 1 it is greedy: stop at the first subset that no feature makes better."""
    X, Y = problem("plain")
    table = uncertainties([*discretised(X, "mean_std").T, Y[:, 0], Y[:, 1]])
    members, value = [], merit([17], table)
    while True:
        scores = {k: merit([*members, k, 17], table) for k in range(17) if k not in members}
        k = max(scores, key=scores.get)
        if scores[k] <= value + 1e-12:
            break
        members, value = [*members, k], scores[k]
    found = mlcdr.MLCFS(patience=1).fit(X, Y).beside(1, [0])
    assert found.tolist() == (sorted(members) or [int(np.argmax(table[-1, :17]))])


def test_copies_constants_and_labels_that_never_vary():
    X, Y = problem("dependent")  # 9 is constant, 12 a copy of 3
    selector = mlcdr.MLCFS().fit(X, Y)
    for label in range(6):
        found = selector.beside(label, [])
        assert len(found) >= 1
        assert not {3, 12} <= set(found.tolist())
        if label != 4:
            assert 9 not in found
    assert len(selector.beside(4, [0, 1])) == 1
    assert mlcdr.MLCFS().fit(X[:1], Y[:1]).beside(0, []).tolist() == [0]


@pytest.mark.parametrize("selector", [mlcdr.MLIG(0.15), mlcdr.MLCFS(), mlcdr.LabelDependentFeatures(0.2)])
def test_of_features_equal_but_for_rounding_the_first_go_first(selector):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = (rng.random((60, 12)) < 0.3).astype(float)
        X[:, 5], X[:, 7] = X[:, 2], 1 - X[:, 2]  # a copy, and one that tells as much
        Y = (rng.random((60, 2)) < 0.3).astype(np.uint8)
        Y[:, 1] |= X[:, 2] > 0
        dense = clone(selector).fit(X, Y)
        found = [dense.beside(k, [1 - k]).tolist() for k in range(2)]
        assert all(7 not in each or 2 in each for each in found)
        sparse = clone(selector).fit(as_sparse(X), as_sparse(Y))
        assert found == [sparse.beside(k, [1 - k]).tolist() for k in range(2)]


def test_both_stages_are_one_after_the_other():
    X, Y = problem("wide")
    both = mlcdr.LabelDependentFeatures(0.2).fit(X, Y)
    first, second = mlcdr.MLIG(0.2).fit(X, Y), mlcdr.MLCFS().fit(X, Y)
    for label, parents in ((0, []), (1, [0]), (2, [0, 5])):
        np.testing.assert_array_equal(both.alone(label), first.alone(label))
        found = both.beside(label, parents)
        np.testing.assert_array_equal(found, second.beside(label, parents, first.alone(label)))
        assert set(found) <= set(first.alone(label))


# -------------------------------------------------------------------- in chains


@pytest.mark.parametrize("features", ["mlig", "mlcfs", {"ldf": {"ratio": 0.2}}])
@pytest.mark.parametrize("cls", ALL)
def test_links_look_at_the_selected_features_alone(cls, features):
    X, Y = problem("plain")
    selector = Component.parse("local_features", features).build()
    random = {} if cls in (mlcdr.BinaryRelevance, mlcdr.BRPlus) else {"random_state": 0}
    model = cls(mlcdr.LogisticRegression(tol=1e-9), features=selector, **random).fit(X, Y)
    selector.fit(X, Y)
    for k, link in zip(getattr(model, "order_", range(6)), model.links_, strict=True):
        parents = getattr(
            model, "parents_", [[j for j in range(6) if j != k and cls is mlcdr.BRPlus] for k in range(6)]
        )[k]
        np.testing.assert_array_equal(link.columns, selector.beside(k, parents))
        rest = np.setdiff1d(np.arange(17), link.columns)
        assert link.model.n_features_in_ == len(link.columns) + len(parents)
        assert len(rest)
    changed = X.copy()
    unused = np.setdiff1d(np.arange(17), np.concatenate([each.columns for each in model.links_]))
    changed[:, unused] = 99.0
    if cls is not mlcdr.BRPlus:
        np.testing.assert_array_equal(model.decision_function(changed), model.decision_function(X))


def test_a_structure_is_learned_from_what_the_first_stage_leaves():
    X, Y = problem("plain")
    first = mlcdr.PolytreeChain(random_state=0, features=mlcdr.MLIG(0.1)).fit(X, Y)
    both = mlcdr.PolytreeChain(random_state=0, features=mlcdr.LabelDependentFeatures(0.1)).fit(X, Y)
    second = mlcdr.PolytreeChain(random_state=0, features=mlcdr.MLCFS()).fit(X, Y)
    alone = mlcdr.PolytreeChain(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(first.weights_, both.weights_)
    np.testing.assert_array_equal(second.weights_, alone.weights_)
    assert not np.array_equal(first.weights_, alone.weights_)


def test_a_selector_for_each_label_by_itself():
    X, Y = problem("plain")
    written = {"for_each_label": {"selector": "gain_ratio", "n_features": 0.3}}
    selector = Component.parse("local_features", written).build()
    for rows in (X, as_sparse(X)):
        model = mlcdr.BinaryRelevance(mlcdr.LogisticRegression(), features=selector).fit(rows, Y)
        for k in range(6):
            alone = mlcdr.GainRatio(0.3).fit(X, Y[:, [k]])
            np.testing.assert_array_equal(model.links_[k].columns, np.flatnonzero(alone.get_support()))
    assert (
        mlcdr.BinaryRelevance(mlcdr.LogisticRegression(), features=mlcdr.ForEachLabel()).fit(X, Y).links_[0].columns
        is None
    )


@pytest.mark.parametrize("name", ["for_each_label", "same_for_all"])
def test_a_selector_in_another_keeps_its_own_number_of_features_where_that_says_none(name):
    X, Y = problem("plain")
    own = {name: {"selector": {"gain_ratio": {"n_features": 3}}}}
    other = {name: {"selector": {"gain_ratio": {"n_features": 3}}, "n_features": 5}}
    none = {name: {"selector": "gain_ratio"}}
    for written, expected in ((own, 3), (other, 5), (none, 17)):
        assert len(Component.parse("local_features", written).build().fit(X, Y).alone(0)) == expected
