"""What tables of all pairs save: OCC's choices, information measures and ECC beside plain loops, in one run.

    python -m tools.benchmarks occ

CPU seconds:

occ       the order, the parents and 80 % of the features of OCC, as the text has it, on medical, beside a loop that
          counts each pair and triple of columns by itself, and adds up (4.31), (4.41) and (4.45) from choice to choice;
          of this loop the first five features of one label are timed, and the rest is reckoned from the number of
          triples that it would count (some 75 million);
program   the same with the author's program's options, which never come to (4.41), beside the whole of the loop, which
          is given the principal component (NumPy's SVD of the centred rows; its time on no side) where ours finds it;
measures  I(X_m; Y_j) of all pairs on corel5k, and I(Y_k; Y_1 | X_m) of all k and m, beside a loop over them;
ecc       an ensemble of ten ridge chains (75 % of the instances, 50 % of the features) on yeast, fit and prediction,
          beside scikit-multilearn-ng's chains with scikit-learn's ridge, with the same rows, columns and orders.

Both sides must choose, measure and predict the same.
"""

from __future__ import annotations

import itertools

import numpy as np

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.chains.occ import OCC
from mlcdr.methods.ensembles.ensemble import Ensemble
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.numerics.information import conditional_on_each, mutual_information
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense
from tools.benchmarks.measuring import timed
from tools.benchmarks.ratios import Ratio


def h(*columns):
    """Joint entropy of columns of {0, 1}."""
    code = columns[0]
    for column in columns[1:]:
        code = 2 * code + column
    p = np.bincount(code) / len(code)
    p = p[p > 0]
    return -(p @ np.log2(p))


def mi(x, y):
    return h(x) + h(y) - h(x, y)


def cmi(x, y, z):
    return h(x, z) + h(y, z) - h(x, y, z) - h(z)


def first_best(scores):
    return int(np.argmax(np.array(scores) >= max(scores) - 1e-12))


def choices_by_loops(X, Y, component, k, n_features):
    """Order, parents and features, with labels by themselves (the component is of −1, 0, 1)."""
    K = Y.shape[1]
    live = [0 < y.sum() < len(y) for y in Y.T]
    given = np.zeros((K, K))
    for i, j in itertools.permutations(range(K), 2):
        given[i, j] = cmi(Y[:, i], Y[:, j], component)
    order, scores = [first_best(given.sum(axis=0))], np.zeros(K)
    while len(order) < K:
        scores += given[order[-1]]
        scores[order] = -np.inf
        order.append(first_best(scores))
    parents, features = [[] for _ in range(K)], [[0] for _ in range(K)]
    before = []
    for j in order:
        if not live[j]:
            continue
        relevance = {c: mi(Y[:, c], Y[:, j]) for c in before}
        added = dict.fromkeys(before, 0.0)
        left = list(before)
        while left and len(parents[j]) < k:
            m = max(len(parents[j]), 1)
            chosen = left[first_best([relevance[c] + added[c] / m for c in left])]
            parents[j].append(chosen)
            left.remove(chosen)
            for c in left:
                added[c] += cmi(Y[:, j], Y[:, chosen], Y[:, c])
        gains = np.round([mi(x, Y[:, j]) for x in X.T], 12)
        features[j] = sorted(np.argsort(-gains, kind="stable")[:n_features].tolist())
        before.append(j)
    return order, parents, features


def occ():
    dataset = load_dataset("medical")
    X, Y = dataset.X, dense(dataset.Y).astype(np.int64)
    d, K = X.shape[1], Y.shape[1]
    moments = Moments.from_arrays(X, Y)
    model = OCC()

    def ours():
        selector = model._selector(moments)
        order, parents = model._structure(None, moments, selector)
        return selector, order, parents, [selector.beside(j, pa) for j, pa in enumerate(parents)]

    cost, (selector, order, parents, _) = timed(ours)
    columns = dense(X).astype(np.int64)
    j = order[-1]
    y, given = Y[:, j], parents[j][:3]

    def first_five():
        relevance = np.zeros(d)
        for c, x in enumerate(columns.T):
            relevance[c] = mi(x, y) + np.mean([cmi(y, Y[:, k], x) for k in given])
        added, chosen, scores = np.zeros(d), [], relevance
        for m in range(5):
            chosen.append(first_best(np.where(np.isin(np.arange(d), chosen), -np.inf, scores)))
            added += [cmi(y, columns[:, chosen[-1]], x) for x in columns.T]
            scores = relevance + added / (m + 1)
        return chosen

    loop, chosen = timed(first_five)
    assert chosen == selector.select(j, given)[:5].tolist()
    per_triple = loop / ((len(given) + 5) * d)
    of_order = K * (K - 1) / 2 * d + K**3 / 6
    in_order = [parents[j] for j in order]
    of_parents = sum(len(pa) * (place - len(pa) / 2) for place, pa in enumerate(in_order))
    of_features = sum((len(pa) + round(0.8 * d)) * d for pa in parents)
    whole = per_triple * (of_order + of_parents + of_features)
    return Ratio("a loop / OCC's choices, as the text has them", whole, cost, at_least=20)


def program():
    from mlcdr.numerics.discretise import discretised

    dataset = load_dataset("medical")
    X, Y = dataset.X, dense(dataset.Y).astype(np.int64)

    def ours():
        model = OCC(variant="published_code")
        moments = Moments.from_arrays(X, Y)
        selector = model._selector(moments)
        order, parents = model._structure(None, moments, selector)
        return order, parents, [selector.beside(j, pa).tolist() for j, pa in enumerate(parents)]

    cost, found = timed(ours)
    rows = dense(X) - dense(X).mean(axis=0)
    axis = np.linalg.svd(rows, full_matrices=False)[2][:1]
    codes = discretised(rows @ axis.T, "published_code").astype(np.int64)[:, 0] + 1
    component = 8 * codes  # room for two labels beside it
    k, n_features = round(0.8 * Y.shape[1]), round(0.8 * X.shape[1])
    loop, expected = timed(lambda: choices_by_loops(dense(X).astype(np.int64), Y, component, k, n_features))
    assert found[0] == expected[0]
    assert [sorted(pa) for pa in found[1]] == [sorted(pa) for pa in expected[1]]
    assert found[2] == expected[2]
    return Ratio("a loop / OCC's choices, as the program has them", loop, cost, at_least=20)


def measures():
    dataset = load_dataset("corel5k")
    X, Y = dataset.X, dataset.Y
    cost, (pairs, triples) = timed(lambda: (mutual_information(X, Y), conditional_on_each(Y, Y[:, [0]], X)))
    columns, labels = dense(X).astype(np.int64).T.copy(), dense(Y).astype(np.int64).T.copy()

    def by_loops():
        some = [[mi(x, y) for y in labels] for x in columns[:20]]
        return some, [[cmi(y, labels[0], x) for x in columns[:10]] for y in labels]

    loop, (some, of_some) = timed(by_loops)
    assert np.allclose(pairs[:20], some, atol=1e-12)
    assert np.allclose(triples[:, :10], of_some, atol=1e-12)
    share = (20 * len(labels) + 10 * len(labels)) / (pairs.size + triples.size)
    return Ratio("a loop / information of all pairs", loop / share, cost, at_least=20)


def ecc():
    from sklearn.linear_model import RidgeClassifier
    from skmultilearn.problem_transform import ClassifierChain as TheirChain

    dataset = load_dataset("yeast")
    X, Y = np.asarray(dataset.X), dense(dataset.Y).astype(int)
    train, test = np.arange(1500), np.arange(1500, len(X))

    def ours():
        model = Ensemble(ClassifierChain(Ridge(1.0), "random"), random_state=0).fit(X[train], Y[train])
        return model, model.predict(X[test])

    cost, (model, found) = timed(ours)
    rows = [r for r, _, _ in model._draws(len(train), X.shape[1])]

    def theirs():
        votes = 0
        for r, columns, member in zip(rows, model.features_, model.members_, strict=True):
            chain = TheirChain(RidgeClassifier(1.0), require_dense=[True, True], order=member.order_)
            chain.fit(X[train][r][:, columns], Y[train][r])
            votes = votes + chain.predict(X[test][:, columns]).toarray()
        return votes / len(rows) >= 0.5

    loop, expected = timed(theirs)
    assert np.array_equal(found, expected), f"{np.sum(found != expected)} cells differ"
    return Ratio("ten chains of scikit-multilearn / ours", loop, cost, at_least=3)


PARTS = {"medical": (occ, program), "corel5k": (measures,), "yeast": (ecc,)}


def measure(name: str) -> list[Ratio]:
    """Measure what there is for a data set."""
    return [part() for part in PARTS[name]]
