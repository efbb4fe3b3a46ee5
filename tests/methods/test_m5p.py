"""M5P: WEKA's own predictions, a plain and slow M5P, awkward data, dense and sparse."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr.experiment.config import Experiment
from mlcdr.experiment.trials import _families
from mlcdr.composition import ComposedClassifier
from mlcdr.errors import UserError
from mlcdr.label_space.plst import PLST
from tests.methods.problems import as_sparse, problem

pytest.importorskip("numba", reason="needs numba: pip install 'mlcdr[trees]'")

from mlcdr.learners.m5.columns import Columns
from mlcdr.learners.m5.grow import grow
from mlcdr.learners.m5.models import fit_models
from mlcdr.learners.m5.prune import prune
from mlcdr.learners.m5p import M5P


# ---------------------------------------------------------------- WEKA's own


@pytest.mark.parametrize("ties", ["weka", "rows"])
@pytest.mark.parametrize("name", ["emotions", "yeast", "genbase"])
def test_predictions_of_weka(name, ties, real_dataset, reference):
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


def test_shuffled_as_java_does():
    """Collections of 10 by new java.util.Random(1), and the first numbers below 10 that its documentation gives."""
    assert java_shuffle(10, 1).tolist() == SHUFFLED


# ---------------------------------------------------------------- plain and slow


def slow_cut(X, y):
    """(feature, threshold) by the definition: two-pass sums of each side of each cut, no running sums."""
    n, best, found = len(y), -np.inf, None
    least = max(1, n // 5) + 1
    for j in range(X.shape[1]):
        cuts = np.unique(X[:, j])
        scores = []
        for low, high in zip(cuts[:-1], cuts[1:], strict=True):
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
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("pruned", "smoothed"), [(True, True), (True, False), (False, True), (False, False)])
def test_by_the_definition(seed, pruned, smoothed, ties):
    X, y = rough(seed)
    tree = slow_tree(X, y, np.std(y))
    if pruned:
        slow_prune(tree, X, y, np.std(y))
    new = rough(seed + 100)[0]
    expected = [slow_predict(tree, x, smoothed) for x in new]
    model = M5P(pruned=pruned, smoothed=smoothed, ties=ties).fit(X, y)
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_first_cut(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    X, y = rng.integers(-2, 3, (n, 3)) / 2.0, rng.standard_normal(n)
    grown = grow(Columns.of(X), y, 4)
    found = slow_cut(X, y)
    assert (grown.feature[0], grown.threshold[0]) == (found or (-1, 0.0))
