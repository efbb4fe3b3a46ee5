"""M5P: WEKA's own predictions, a plain and slow M5P, awkward data, dense and sparse."""

from __future__ import annotations

import functools
import itertools
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr import M5P, PLST, UserError
from mlcdr.experiment.families import families_of
from mlcdr.experiment.model import MethodSpec
from mlcdr.methods.component import Component
from mlcdr.methods.learners import weka_m5p
from mlcdr.numerics.entry import checked
from mlcdr.numerics.java_random import java_shuffle
from tests.methods.problems import as_sparse, problem

pytest.importorskip("numba", reason="needs numba: pip install 'mlcdr[trees]'")

from mlcdr.methods.learners.m5 import compiled
from mlcdr.methods.learners.m5 import grow as growing
from mlcdr.methods.learners.m5.columns import Columns
from mlcdr.methods.learners.m5.grow import _best_cut as best_cut
from mlcdr.methods.learners.m5.grow import grow
from mlcdr.methods.learners.m5.models import _solve as solve

# ---------------------------------------------------------------- WEKA's own


@pytest.mark.parametrize("ties", ["weka", "rows"])
@pytest.mark.parametrize("name", ["emotions", "yeast", "genbase"])
def test_predictions_are_wekas(name, ties, real_dataset, reference):
    """WEKA 3.9.7 on code dimensions of PLST: the same number of leaves, the same predictions."""
    folder = reference("m5p")
    X = real_dataset(name).X
    X = X.toarray() if sp.issparse(X) else X
    X = 1 - X if name == "genbase" else X  # the file lists YES before NO, and WEKA codes by position
    rows, new = (np.loadtxt(folder / f"{name}_s0_{part}_rows.csv", dtype=int) for part in ("train", "test"))
    targets, expected, leaves = (
        np.loadtxt(folder / f"{name}_s0_{part}.csv", delimiter=",", ndmin=2)
        for part in ("targets", "predictions", "leaves")
    )
    model = M5P(ties=ties).fit(X[rows], targets)
    assert [tree.n_leaves for tree in model.trees_] == leaves.ravel().tolist()
    np.testing.assert_allclose(model.predict(X[new]), expected, rtol=1e-9)


def test_predictions_are_wekas_where_ties_decide():
    """WEKA 3.9.7's predictions (`weka`; of the full tree, not smoothed: `full`) for features that nearly are twins.

    Four outputs. The trees of three of them hang on the order in which rows of equal value are summed.
    """
    table = np.genfromtxt(Path(__file__).parent / "m5p_ties.csv", delimiter=",", names=True)

    def columns(kind):
        return np.column_stack([table[name] for name in table.dtype.names if name.startswith(kind)])

    X, Y = columns("x"), columns("y")
    for kind, options, hang in (
        ("weka", {}, [False, True, True, True]),
        ("full", {"pruned": False, "smoothed": False}, [False, False, True, False]),
    ):
        np.testing.assert_allclose(M5P(**options).fit(X, Y).predict(X), columns(kind), rtol=1e-9, atol=1e-9)
        by_row = M5P(**options, ties="rows").fit(X, Y).predict(X)
        assert (np.abs(by_row - columns(kind)).max(axis=0) > 1e-3).tolist() == hang


def test_rows_are_shuffled_as_java_does():
    """What a Java program with `new java.util.Random(1)` printed."""
    assert java_shuffle(10, 1).tolist() == [6, 9, 7, 8, 4, 2, 0, 3, 1, 5]
    assert java_shuffle(16, 1).tolist() == [10, 5, 0, 12, 3, 8, 6, 7, 14, 4, 15, 2, 9, 1, 13, 11]


def twins(n=120):
    """Binary features of which many cut the rows of a node alike, and a side with one target: rounding decides."""
    rng = np.random.default_rng(3)
    X = (rng.random((n, 30)) < rng.uniform(0.05, 0.5, 30)).astype(float)
    X[:, 15:] = X[:, :15] * (rng.random((n, 15)) < 0.97)
    return X, np.round(X[:, :4] @ [0.37, -0.21, 0.53, 0.11], 1) * (X[:, 17] + 0.1)


def test_predictions_are_those_of_weka_itself():
    """WEKA itself, on data where ties decide and at awkward sizes; dense and sparse."""
    try:
        weka_m5p.require_weka()
    except UserError as error:
        pytest.skip(str(error))
    cases = [twins(), rough(1), *(rough(n, n) for n in (1, 2, 3, 4, 5, 9)), (np.ones((20, 2)), rough(0, 20)[1])]
    for X, y in cases:
        for options in ({}, {"pruned": False}, {"smoothed": False}, {"min_instances": 9}, {"min_instances": 1}):
            theirs, ours = weka_m5p.WekaM5P(**options).fit(X, y), M5P(**options).fit(X, y)
            np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-12)
            sparse = weka_m5p.WekaM5P(**options).fit(as_sparse(X), y)
            np.testing.assert_allclose(sparse.predict(as_sparse(X)), theirs.predict(X), rtol=1e-9, atol=1e-12)
            sparse = weka_m5p.WekaM5P(**options).fit(disordered(X), y)
            np.testing.assert_allclose(sparse.predict(disordered(X)), theirs.predict(X), rtol=1e-9, atol=1e-12)
    both = np.column_stack([cases[0][1], -cases[0][1]])
    model = weka_m5p.WekaM5P().fit(cases[0][0], both)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(cases[0][0]), model.predict(cases[0][0]))


def disordered(X):
    """X as CSR with each row's columns in descending order, and each value as the sum of two."""
    rows = sp.csr_matrix(X)
    indices, data = [], []
    for i in range(rows.shape[0]):
        stored = slice(rows.indptr[i], rows.indptr[i + 1])
        indices += [np.repeat(rows.indices[stored][::-1], 2)]
        data += [np.repeat(rows.data[stored][::-1] / 2, 2)]
    found = sp.csr_matrix((np.concatenate(data), np.concatenate(indices), 2 * rows.indptr), rows.shape)
    assert not found.has_sorted_indices
    return found


class RecordingJava:
    """Stands in for Java's classes where instances are made: keeps what it is given."""

    def __init__(self, name, *arguments):
        self.name, self.arguments, self.added = name, arguments, []

    def add(self, each):
        self.added.append(each)

    def setClassIndex(self, index):
        self.class_index = index


def test_weka_is_given_ascending_columns_each_once():
    """What WEKA is given of a row that the learner has checked: ascending columns, each once, whatever the caller's."""
    X = rough(0, 12)[0]
    X[np.abs(X) < 0.5] = 0
    given = disordered(X)
    before = given.indices.copy()
    taken = checked(M5P(), given)
    rows = weka_m5p._instances(lambda name: functools.partial(RecordingJava, name), taken)
    assert (rows.class_index, len(rows.added)) == (X.shape[1], len(X))
    for row, expected in zip(rows.added, X, strict=True):
        weight, values, indices, size = row.arguments
        assert (row.name, weight, size) == ("weka.core.SparseInstance", 1.0, X.shape[1] + 1)
        assert indices.tolist() == np.flatnonzero(expected).tolist()
        assert values.tolist() == expected[expected != 0].tolist()
    np.testing.assert_array_equal(given.indices, before)


@pytest.mark.parametrize(("name", "extra"), [("weka_m5p", "weka"), ("m5p", "trees")])
def test_what_is_missed_is_named(monkeypatch, name, extra):
    package = {"weka": "python-weka-wrapper3", "trees": "numba"}[extra]
    monkeypatch.setitem(sys.modules, "weka", None)
    monkeypatch.setattr(compiled, "numba", None)
    told = f"{name} needs {package}, which is not installed: pip install 'mlcdr[{extra}]'"
    with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
        Component.parse("learner", name).build().fit([[0.0], [1.0]], [0.0, 1.0])


# ---------------------------------------------------------------- plain and slow


def slow_cut(X, y):
    """(feature, threshold) by the definition: two-pass sums of each side of each cut, no running sums."""
    n, best, found = len(y), -np.inf, None
    least = max(1, n // 5) + 1
    for j in range(X.shape[1]):
        cuts = np.unique(X[:, j])
        scores = []
        for low, high in itertools.pairwise(cuts):
            left = X[:, j] <= low
            if left.sum() < least or (~left).sum() < least:
                continue
            parts = (y[left], y[~left])
            score = np.var(y) ** 0.2 - sum(len(part) / n * np.var(part) ** 0.2 for part in parts)
            scores.append((score, (low + high) / 2))
        if scores:
            score, threshold = max(scores, key=lambda pair: pair[0])
            if score > best + 1e-6:
                best, found = score, (j, threshold)
    return found


def slow_tree(X, y, sd):
    """A nested dict of the unpruned tree, with the models of pruning at its nodes."""
    node = {"n": len(y), "cut": None, "tested": set()}
    if len(y) >= 4 and np.std(y) >= 0.05 * sd:
        node["cut"] = slow_cut(X, y)
    if node["cut"]:
        j, threshold = node["cut"]
        left = X[:, j] <= threshold
        node["children"] = [slow_tree(X[left], y[left], sd), slow_tree(X[~left], y[~left], sd)]
        node["tested"] = {j} | node["children"][0]["tested"] | node["children"][1]["tested"]
    node["model"] = slow_model(X, y, sorted(node["tested"]))
    return node


def ridge(X, y, features):
    if not features:
        return np.zeros(0), 0.0
    Z = (X[:, features] - X[:, features].mean(axis=0)) / X[:, features].std(axis=0, ddof=1)
    b = np.linalg.solve(Z.T @ Z + 1e-8 * np.eye(len(features)), Z.T @ (y - y.mean()))
    return b, float(np.sum((y - y.mean() - Z @ b) ** 2))


def slow_model(X, y, features):
    """Coefficients (d,) and intercept, every regression from the start."""
    features = list(features)
    centred = y - y.mean()
    sd = np.std(y, ddof=1) if len(y) > 1 else 1.0
    b, error = ridge(X, y, features)
    while len(b) and np.abs(b / sd).max() > 1.5:
        del features[int(np.argmax(np.abs(b)))]
        b, error = ridge(X, y, features)
    n, k0, first = len(y), len(features) + 1, error
    criterion = n - k0 + 2 * k0
    while features:
        fewer = [f for i, f in enumerate(features) if i != int(np.argmin(np.abs(b)))]
        b_fewer, error = ridge(X, y, fewer)
        error = error if fewer else float(centred @ centred)
        value = error / first * (n - k0) + 2 * (len(fewer) + 1)
        if value >= criterion:
            break
        features, b, criterion = fewer, b_fewer, value
    coefficients = np.zeros(X.shape[1])
    if features:
        coefficients[features] = b / X[:, features].std(axis=0, ddof=1)
    return coefficients, y.mean() - X.mean(axis=0) @ coefficients


def slow_prune(node, X, y, sd):
    """Prune in place; returns (fitted values of the rows, parameters)."""
    coefficients, intercept = node["model"]
    own = X @ coefficients + intercept
    own_v = np.count_nonzero(coefficients) + 1
    if not node["cut"]:
        return own, own_v
    j, threshold = node["cut"]
    left = X[:, j] <= threshold
    values, v = np.empty(len(y)), 1
    for child, side in zip(node["children"], (left, ~left), strict=True):
        values[side], part = slow_prune(child, X[side], y[side], sd)
        v += part

    def error(fitted, v):
        n = len(y)
        return np.sqrt(np.mean((fitted - y) ** 2)) * (10 if n <= v else (n + 2 * v) / (n - v))

    if error(own, own_v) <= error(values, v) or error(own, own_v) < 1e-5 * sd:
        node["cut"] = None
        return own, own_v
    return values, v


def slow_predict(node, x, smooth=True):
    path = [node]
    while path[-1]["cut"]:
        j, threshold = path[-1]["cut"]
        path.append(path[-1]["children"][int(x[j] > threshold)])
    said = x @ path[-1]["model"][0] + path[-1]["model"][1]
    for child, parent in zip(path[:0:-1], path[-2::-1], strict=True):
        if smooth:
            said = (child["n"] * said + 15 * (x @ parent["model"][0] + parent["model"][1])) / (child["n"] + 15)
    return said


def rough(seed, n=70, d=5):
    """A function with a kink, an interaction, noise; the last feature is in whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, -1] = rng.integers(-2, 3, n)
    y = np.where(X[:, 0] > 0.3, 3 * X[:, 1], -X[:, 1]) + X[:, -1] + 0.3 * rng.standard_normal(n)
    return X, y


@pytest.mark.parametrize("ties", ["weka", "rows"])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
@pytest.mark.parametrize(("pruned", "smoothed"), [(True, True), (True, False), (False, True), (False, False)])
def test_predictions_are_those_of_the_definition(seed, pruned, smoothed, ties):
    X, y = rough(seed)
    tree = slow_tree(X, y, np.std(y))
    if pruned:
        slow_prune(tree, X, y, np.std(y))
    new = rough(seed + 100)[0]
    expected = [slow_predict(tree, x, smoothed) for x in new]
    model = M5P(pruned=pruned, smoothed=smoothed, ties=ties).fit(X, y)
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_cut_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    X, y = rng.integers(-2, 3, (n, 3)) / 2.0, rng.standard_normal(n)
    grown = grow(Columns.of(X), y, 4)
    found = slow_cut(X, y)
    assert (grown.feature[0], grown.threshold[0]) == (found or (-1, 0.0))


@pytest.mark.parametrize("ties", ["weka", "rows"])
@pytest.mark.parametrize("name", ["plain", "dependent", "scales, dependent", "wide", "sparse counts"])
def test_trees_of_sparse_and_of_dense_rows_are_the_same(name, ties):
    """The same trees to the last bit, from CSR, CSC with its zeros stored, and dense."""
    X, Y = problem(name)
    Z = PLST(3).fit(X, Y).encode(Y)
    dense = M5P(ties=ties).fit(X, Z)
    stored = sp.csc_matrix(X)
    stored.data[::5] = 0
    zeroed = stored.toarray()
    for other, like in (
        (M5P(ties=ties).fit(as_sparse(X), Z), dense),
        (M5P(ties=ties).fit(stored, Z), M5P(ties=ties).fit(zeroed, Z)),
    ):
        for a, b in zip(other.trees_, like.trees_, strict=True):
            same_tree(a, b)
    np.testing.assert_array_equal(dense.predict(as_sparse(X)), dense.predict(X))


def same_tree(a, b):
    np.testing.assert_array_equal(a.feature, b.feature)
    np.testing.assert_array_equal(a.threshold, b.threshold)
    assert a.models.keys() == b.models.keys()
    for leaf, (features, coefficients, intercept) in a.models.items():
        np.testing.assert_array_equal(features, b.models[leaf][0])
        np.testing.assert_array_equal(coefficients, b.models[leaf][1])
        assert intercept == b.models[leaf][2]


@pytest.mark.parametrize("seed", range(4))
def test_runs_of_rows_are_the_nodes(seed):
    """The rows that the tree's cuts send to a node are the ones it says it has; negative, zero and positive values."""
    X, y = rough(seed, 200)
    X[np.abs(X) < 0.4] = 0
    for ties in ("weka", "rows"):
        tree = grow(Columns.of(X), y, 4, ties)
        expected = {0: np.arange(200)}
        for node in range(len(tree.feature)):
            rows = expected[node]
            assert sorted(tree.order[tree.start[node] : tree.stop[node]]) == rows.tolist()
            if tree.feature[node] >= 0:
                left = X[rows, tree.feature[node]] <= tree.threshold[node]
                expected[node + 1], expected[tree.right[node]] = rows[left], rows[~left]


# ---------------------------------------------------------------- awkward data


def test_a_constant_target_is_predicted():
    X = rough(0)[0]
    model = M5P().fit(X, np.full(len(X), 1.7))
    np.testing.assert_allclose(model.predict(10 * X), 1.7, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_of_fewer_than_four_rows_the_mean_is_predicted(n):
    X, y = rough(2, n)
    model = M5P().fit(X, y)
    assert model.trees_[0].n_leaves == 1
    np.testing.assert_allclose(model.predict(X), y.mean())


@pytest.mark.parametrize("value", [0.0, 3.5])
def test_constant_features_change_nothing(value):
    X, y = rough(3)
    constant = np.full((len(y), 2), value)
    np.testing.assert_allclose(M5P().fit(constant, y).predict(constant), y.mean())
    among = M5P().fit(np.column_stack([constant, X]), y)
    np.testing.assert_array_equal(among.predict(np.column_stack([constant, X])), M5P().fit(X, y).predict(X))


def test_of_equal_columns_the_first_is_cut():
    """Rows in three copies, targets that differ between them; every column twice, of which the first is cut."""
    X, y = rough(4)
    X, y = np.tile(X, (3, 1)), np.concatenate([y, y + 0.1, y - 0.1])
    tree = M5P(pruned=False, ties="rows").fit(X, y).trees_[0]
    twice = M5P(pruned=False, ties="rows").fit(np.hstack([X, X]), y).trees_[0]
    same_tree(tree, twice)


def test_a_threshold_between_neighbouring_numbers_ends_in_a_leaf():
    """Neighbouring floating-point numbers have no midpoint of their own: a leaf, not an endless descent."""
    top = 2.0**60
    X = np.array([top, top, top, np.nextafter(top, np.inf), np.nextafter(top, np.inf), np.nextafter(top, np.inf)])
    model = M5P().fit(X[:, None], np.arange(6.0))
    assert np.isfinite(model.predict(X[:, None])).all()


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_targets_whose_squares_overflow_are_refused(form):
    """Infinite sums of squares made every prediction not a number, and no word of it."""
    x = np.arange(-4.0, 8.0)[:, None]
    with pytest.raises(ValueError, match="one of 7e\\+160 is too large: scale them"):
        M5P().fit(form(x), x[:, 0] * 1e160)
    assert np.isfinite(M5P().fit(form(x * 1e69), x[:, 0]).predict(form(x * 1e69))).all()


def test_a_score_knows_the_rounding_of_its_sums():
    """Ten equal targets on the right have the variance 0 in exact arithmetic; the score knows the rounding of its sums.

    The right part is summed as it stands at the first cut and then loses rows one by one.
    """
    x, y = np.arange(20.0), np.where(np.arange(20) < 10, np.sin(np.arange(20)), 0.1)
    score, at = best_cut(x, y, len(y), 4, 0.0, 0.0, growing._chords(), -np.inf)
    assert at == 9
    total, square = 0.0, 0.0
    for value in y[4:]:
        total += value
        square += value * value
    for value in y[4:10]:
        total -= value
        square -= value * value
    v_r = abs((10 * square - total * total) / 100)
    assert v_r > 0
    v_l = np.var(y[:10])
    assert score == pytest.approx(np.var(y) ** 0.2 - 0.5 * v_l**0.2 - 0.5 * v_r**0.2, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hide_no_cut(seed):
    """The same score and place, to the last bit, whether roots are taken everywhere or where the bound allows."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n = int(rng.integers(4, 120))
        reach = max(1, n // 5)
        x = np.sort(rng.integers(0, 30, n) / 7.0)
        y = rng.standard_normal(n) if seed % 2 else rng.integers(0, 2, n) * 0.1
        y = (y + 3 * (x > x[n // 2]) * (seed > 3)) * 10.0 ** rng.integers(-3, 4) + rng.integers(0, 2) * 50.0
        near = growing._variance(np.sort(y), n)  # of the same targets in another order
        roots = growing._chords()
        every = best_cut(x, y, n, reach, 0.0, 0.0, roots, -np.inf)
        beaten = [-np.inf, every[0], np.nextafter(every[0], -np.inf), every[0] - 1e-6, every[0] - 1e-3]
        for to_beat in beaten:
            expected = best_cut(x, y, n, reach, 0.0, 0.0, roots, to_beat)
            if near > 0:
                assert best_cut(x, y, n, reach, near, near**0.2, roots, to_beat) == expected
    chords = growing._chords()
    fine = np.linspace(0, len(chords) - 1, 10001)[:-1]
    low = fine.astype(int)
    between = chords[low] + (fine - low) * (chords[low + 1] - chords[low])
    assert (between <= (fine / growing.PARTS) ** 0.2 * (1 + 1e-15)).all()


def plain_quicksort(keys, codes):
    """Sort `keys` on their codes as WEKA does: every part is divided down to three, and nothing is known before."""

    def sort(low, high):
        def put_in_order(i, j):
            if codes[keys[i]] > codes[keys[j]]:
                keys[i], keys[j] = keys[j], keys[i]

        if high <= low:
            return
        if high == low + 1:
            put_in_order(low, high)
            return
        middle = (low + high) // 2
        put_in_order(low, middle)
        put_in_order(low, high)
        put_in_order(middle, high)
        if high == low + 2:
            return
        keys[middle], keys[high - 1] = keys[high - 1], keys[middle]
        pivot = codes[keys[high - 1]]
        i, j = low + 1, high - 2
        while True:
            while codes[keys[i]] < pivot:
                i += 1
            while codes[keys[j]] > pivot:
                j -= 1
            if i >= j:
                break
            keys[i], keys[j] = keys[j], keys[i]
            i, j = i + 1, j - 1
        keys[i], keys[high - 1] = keys[high - 1], keys[i]
        sort(low, i - 1)
        sort(i + 1, high)

    sort(0, len(keys) - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 60, 130, 700])
@pytest.mark.parametrize("values", [1, 2, 5, 300, 10**6])
def test_rows_are_sorted_as_weka_does(n, values):
    """Columns with many and few ties, with and without zeros, one after the other: each from the last one's order."""
    rng = np.random.default_rng(n + values)
    order = rng.permutation(n).astype(np.int32)
    expected = order.tolist()
    ranked, tied, column, keys, aside = np.zeros((5, n), dtype=np.int64)
    lows, highs = np.zeros((2, 128), dtype=np.int64)
    equal = growing._equals()
    for shift in (0, values // 2, values + 1):
        x = rng.integers(0, values, n) - shift
        rows = np.flatnonzero(x).astype(np.int32)
        rows = rows[np.argsort(x[rows], kind="stable")]
        zeros = n - len(rows)
        below = int((x < 0).sum()) if zeros else len(rows)
        growing._ranked(rows, x[rows].astype(float), below, zeros, n * (n - 1) // 2, ranked, tied)
        growing._sort_on(order, rows, below, zeros, ranked, tied, column, keys, lows, highs, equal, aside)
        plain_quicksort(expected, x)
        assert order.tolist() == expected


@pytest.mark.parametrize("n", [1, 3, 4, 50, 127, 128, 300])
def test_many_sorts_by_constants_are_one_after_the_other(n):
    """Many at once, as one after the other."""
    keys, tied, aside = np.zeros((3, n), dtype=np.int64)
    stack = np.zeros((2, 128), dtype=np.int64)
    cycles = np.zeros((3, n), dtype=np.int64)
    growing._find_cycles(n, cycles, keys, tied, *stack, growing._equals(), aside)
    expected = np.random.default_rng(n).permutation(n).tolist()
    for times in range(1, 20):
        order = np.array(expected, dtype=np.int32)
        growing._permute(order, cycles, times, aside)
        again = list(expected)
        for _ in range(times):
            plain_quicksort(again, np.zeros(n))
        assert order.tolist() == again


@pytest.mark.parametrize("m", [0, 1, 2, 31, 32, 33, 70])
def test_pivots_taken_together_are_those_one_by_one(m):
    """The inverse and the solution, to the last bit as Gauss-Jordan gives them pivot by pivot; some factors are 0."""
    rng = np.random.default_rng(m)
    X = rng.standard_normal((2 * m + 5, m + 3)) * (rng.random((2 * m + 5, m + 3)) < 0.1)
    gram, b = X.T @ X + np.eye(m + 3), rng.standard_normal(m + 3)
    kept = np.sort(rng.permutation(m + 3)[:m])
    work, expected = np.zeros((m + 1, m + 2)), np.zeros((m, m + 1))
    solve(gram, b, kept, work)
    expected[:, :m], expected[:, m] = gram[np.ix_(kept, kept)], b[kept]
    for k in range(m):
        pivot = 1.0 / expected[k, k]
        expected[k, k] = 1.0
        expected[k] *= pivot
        for i in range(m):
            factor = expected[i, k]
            if i != k and factor != 0.0:
                expected[i, k] = 0.0
                expected[i] -= factor * expected[k]
    np.testing.assert_array_equal(work[:m, : m + 1], expected)
    np.testing.assert_allclose(expected[:, :m] @ gram[np.ix_(kept, kept)], np.eye(m), atol=1e-9)


def test_columns_are_sorted_and_without_constant_features():
    """By column, values ascending, and rows where they tie; by row; constant features are left out; dense, sparse."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((60, 7)), 1)
    X[:, 1], X[:, 3], X[:, 4], X[1:, 6] = 0.0, 2.5, rng.integers(0, 2, 60), 0.0
    for given in (X, np.asfortranarray(X), sp.csr_array(X), disordered(X)):
        columns = Columns.of(given)
        assert columns.features.tolist() == [0, 2, 4, 5, 6]
        for a, j in enumerate(columns.features):
            stored = slice(columns.starts[a], columns.starts[a + 1])
            rows = [i for i in np.argsort(X[:, j], kind="stable") if X[i, j] != 0]
            assert columns.rows[stored].tolist() == rows
            assert columns.values[stored].tolist() == X[rows, j].tolist()
        for i in range(60):
            stored = slice(columns.row_starts[i], columns.row_starts[i + 1])
            kept = X[i, columns.features]
            assert columns.row_columns[stored].tolist() == np.flatnonzero(kept).tolist()
            assert columns.row_values[stored].tolist() == kept[kept != 0].tolist()


def test_given_arrays_stay_writable():
    X, y = rough(0)
    M5P().fit(X, y)
    assert X.flags.writeable
    assert y.flags.writeable


# ---------------------------------------------------------------- the bench


def test_one_fit_for_nested_dimensions():
    """The points of a sweep over the size of a nested code share the fit of the largest."""
    specs = [
        MethodSpec(
            label_space=Component("label_space", "plst", {"n_components": k}), learner=Component("learner", "m5p")
        )
        for k in ("20%", "100%", "60%")
    ]
    assert families_of(specs, 14) == [specs[1]] * 3
