"""Pruning and smoothing: from the full tree and its models to the tree that predicts.

Source: Quinlan 1992, sections 2.3 and 2.4; Wang & Witten 1997.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.methods.learners.m5.columns import Array, Columns, Indices
from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.methods.learners.m5.grow import Grown
from mlcdr.methods.learners.m5.models import Models

HARMLESS = 1e-5  # a model whose error is below this share of the root's standard deviation needs no subtree
SMOOTHING = 15.0


@dataclass(frozen=True, eq=False)
class ModelTree:
    """A tree that predicts: nodes in preorder, smoothing already within the leaves' models.

    Attributes
    ----------
    feature, threshold, right : arrays of shape (m,)
        x ≤ threshold goes to the next node, others to `right`; feature −1: a leaf.
    models : dict
        Leaf → (features, their coefficients, intercept).
    """

    feature: Indices
    threshold: Array
    right: Indices
    models: dict[int, tuple[Indices, Array, float]]

    @property
    def n_leaves(self) -> int:
        """The number of leaves: WEKA's number of rules."""
        return len(self.models)

    def predict(self, X: Any) -> Array:
        """Values (n,) for X (n×d, dense, or CSC)."""
        tested = self.feature[self.feature >= 0]
        used = np.unique(np.concatenate([tested, *(model[0] for model in self.models.values())]))
        block = X[:, used]
        block = block.toarray() if sp.issparse(block) else block
        predicted = np.empty(X.shape[0])
        waiting = [(0, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            j = self.feature[node]
            if j < 0:
                features, coefficients, intercept = self.models[node]
                part = block[np.ix_(rows, np.searchsorted(used, features))]
                predicted[rows] = part @ coefficients + intercept
                continue
            left = block[rows, np.searchsorted(used, j)] <= self.threshold[node]
            waiting += [(node + 1, rows[left]), (int(self.right[node]), rows[~left])]
        return predicted


def prune(tree: Grown, models: Models, y: Array) -> NDArray[np.intp]:
    """The leaves of the pruned tree.

    From the bottom up a node becomes a leaf if its model's error is not above that of its subtree, or below 1e-5 of
    the root's standard deviation. Error: the root mean square over the node's rows times (n + 2v)/(n − v), or 10 where
    n ≤ v; v is the number of coefficients and the intercept, of a subtree that of its leaves and of its cuts.
    """
    shape = (tree.feature, tree.right, tree.end, tree.start, tree.stop, tree.order)
    is_leaf = _prune(*shape, models.sizes() + 1, models.fitted_starts, models.fitted, y, HARMLESS * float(np.std(y)))
    return np.flatnonzero(is_leaf)


def assemble(columns: Columns, tree: Grown, models: Models, leaves: NDArray[np.intp], smooth: bool) -> ModelTree:
    """The tree that ends in `leaves`, which are nodes of the full tree; its features are those of X.

    Smoothing: from a leaf to the root, the child's prediction p becomes (n p + 15 q)/(n + 15), where n is the child's
    number of rows and q the prediction of its parent's model. That is linear in the models, so it is done to the
    leaf's.
    """
    is_leaf = np.zeros(len(tree.feature), dtype=np.bool_)
    is_leaf[leaves] = True
    shape = (tree.feature, tree.threshold, tree.end, tree.start, tree.stop)
    model = (models.starts, models.features, models.coefficients, models.intercepts)
    feature, threshold, right, starts, used, coefficients, intercepts = _assemble(
        *shape, *model, is_leaf, columns.n_features, smooth
    )
    numbers, used = np.flatnonzero(feature < 0).tolist(), columns.features[used]
    runs = [slice(low, high) for low, high in itertools.pairwise(starts.tolist())]
    found = [(used[run], coefficients[run], value) for run, value in zip(runs, intercepts.tolist(), strict=True)]
    feature[feature >= 0] = columns.features[feature[feature >= 0]]
    return ModelTree(feature, threshold, right, dict(zip(numbers, found, strict=True)))


@compiled
def _penalty(n, parameters):  # type: ignore[no-untyped-def]
    return 10.0 if n <= parameters else (n + 2.0 * parameters) / (n - parameters)


@compiled
def _root_mean_square(predicted, target):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(predicted)):
        total += (predicted[i] - target[i]) * (predicted[i] - target[i])
    return np.sqrt(total / len(predicted))


@compiled
def _prune(feature, right, end, start, stop, order, weight, fitted_starts, fitted, y, negligible):  # type: ignore[no-untyped-def]
    """Which nodes are leaves of the pruned tree. `weight` comes as the models' numbers of parameters, and is lost."""
    is_leaf = feature < 0
    current, target = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        target[i] = y[order[i]]
    for node in range(len(feature) - 1, -1, -1):
        rows = slice(start[node], stop[node])
        own = fitted[fitted_starts[node] : fitted_starts[node + 1]]
        if not is_leaf[node]:
            both = weight[node + 1] + weight[right[node]] + 1
            error = _root_mean_square(own, target[rows]) * _penalty(len(own), weight[node])
            subtree = _root_mean_square(current[rows], target[rows]) * _penalty(len(own), both)
            if not (error <= subtree or error < negligible):
                weight[node] = both
                continue
            is_leaf[node + 1 : end[node]] = False
            is_leaf[node] = True
        current[rows] = own
    return is_leaf


@compiled
def _assemble(feature, threshold, end, start, stop, starts, features, coefficients, intercepts, is_leaf, d, smooth):  # type: ignore[no-untyped-def]
    """The tree without what is below its leaves, and the leaves' models: starts, features, coefficients, intercepts."""
    m = len(feature)
    new_feature, new_threshold = np.full(m, -1, dtype=np.int32), np.zeros(m)
    new_right = np.zeros(m, dtype=np.int32)
    new_starts = np.zeros(m + 1, dtype=np.int64)
    new_features, new_coefficients = np.empty(1024, dtype=np.int32), np.empty(1024)
    new_intercepts = np.zeros(m)
    value, touched, is_used = np.zeros(d), np.empty(d, dtype=np.int32), np.zeros(d, dtype=np.bool_)
    # the way from the root: nodes, their numbers in the new tree, their models' shares in a leaf's
    way, numbers, shares = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty(m)
    level = count = n_leaves = node = 0
    while node < m:
        while level > 0 and end[way[level - 1]] <= node:
            level -= 1
        if level > 0 and node != way[level - 1] + 1:
            new_right[numbers[level - 1]] = count
        way[level], numbers[level] = node, count
        count += 1
        if not is_leaf[node]:
            new_feature[numbers[level]], new_threshold[numbers[level]] = feature[node], threshold[node]
            level += 1
            node += 1
            continue
        lowest = 0 if smooth else level
        shares[level] = 1.0
        for above in range(level - 1, lowest - 1, -1):
            size = stop[way[above + 1]] - start[way[above + 1]]
            keep = size / (size + SMOOTHING)
            for i in range(above + 1, level + 1):
                shares[i] *= keep
            shares[above] = 1.0 - keep
        p = 0
        for i in range(level, lowest - 1, -1):
            part = way[i]
            new_intercepts[n_leaves] += intercepts[part] * shares[i]
            for q in range(starts[part], starts[part + 1]):
                j = features[q]
                value[j] += coefficients[q] * shares[i]
                if not is_used[j]:
                    is_used[j] = True
                    touched[p] = j
                    p += 1
        touched[:p].sort()
        k = new_starts[n_leaves]
        while k + p > len(new_features):
            new_features = np.concatenate((new_features, np.empty_like(new_features)))
            new_coefficients = np.concatenate((new_coefficients, np.empty_like(new_coefficients)))
        for i in range(p):
            j = touched[i]
            new_features[k + i], new_coefficients[k + i] = j, value[j]
            value[j], is_used[j] = 0.0, False
        n_leaves += 1
        new_starts[n_leaves] = k + p
        node = end[node]
    k = new_starts[n_leaves]
    return (
        new_feature[:count].copy(),
        new_threshold[:count].copy(),
        new_right[:count].copy(),
        new_starts[: n_leaves + 1].copy(),
        new_features[:k].copy(),
        new_coefficients[:k].copy(),
        new_intercepts[:n_leaves].copy(),
    )
