"""Pruning and smoothing: from the full tree and its models to the tree that predicts.

Source: Quinlan 1992, sections 2.3 and 2.4; Wang & Witten 1997.
"""

from __future__ import annotations

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
    n ≤ v; v is the number of parameters: of a model, its coefficients and intercept; of a subtree, those of its leaves,
    and one for each cut.
    """
    shape = (tree.feature, tree.right, tree.end, tree.start, tree.stop, tree.order)
    is_leaf = _prune(*shape, models.sizes() + 1, models.fitted_starts, models.fitted, y, HARMLESS * float(np.std(y)))
    return np.flatnonzero(is_leaf)


def assemble(columns: Columns, tree: Grown, models: Models, leaves: NDArray[np.intp], smooth: bool) -> ModelTree:
    """The tree that ends in `leaves`, which are nodes of the full tree; its features are those of X.

    Smoothing: from a leaf to the root, the child's prediction p becomes (n p + 15 q)/(n + 15), where n is the child's
    number of rows and q the prediction of its parent's model. That is linear in the models, so it is applied to the
    leaf's model.
    """
    feature, threshold = np.full(len(tree.feature), -1, dtype=np.int32), np.zeros(len(tree.feature))
    right, found = np.zeros(len(tree.feature), dtype=np.int32), {}
    numbers: dict[int, int] = {}  # of the nodes in the new tree
    way: list[int] = []  # from the root
    ends, node = set(leaves.tolist()), 0
    while node < len(tree.feature):
        while way and tree.end[way[-1]] <= node:
            way.pop()
        number = numbers[node] = len(numbers)
        if way and node != way[-1] + 1:
            right[numbers[way[-1]]] = number
        way.append(node)
        if node in ends:
            found[number] = _smoothed(columns, tree, models, way if smooth else way[-1:])
            node = int(tree.end[way.pop()])
        else:
            feature[number], threshold[number] = columns.features[tree.feature[node]], tree.threshold[node]
            node += 1
    size = len(numbers)
    return ModelTree(feature[:size], threshold[:size], right[:size], found)


def _smoothed(columns: Columns, tree: Grown, models: Models, way: list[int]) -> tuple[Indices, Array, float]:
    """The model of a leaf, combined from those on the path to it: features, their coefficients, intercept."""
    shares = np.ones(len(way))
    for above in range(len(way) - 2, -1, -1):
        size = tree.stop[way[above + 1]] - tree.start[way[above + 1]]
        keep = size / (size + SMOOTHING)
        shares[above + 1 :] *= keep
        shares[above] = 1.0 - keep
    runs = [slice(models.starts[node], models.starts[node + 1]) for node in way]
    value, intercept = np.zeros(columns.n_features), 0.0
    for node, run, share in zip(way[::-1], runs[::-1], shares[::-1], strict=True):
        value[models.features[run]] += models.coefficients[run] * share
        intercept += models.intercepts[node] * share
    used = np.unique(np.concatenate([models.features[run] for run in runs]))
    return columns.features[used], value[used], float(intercept)


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
    """Which nodes are leaves of the pruned tree. `weight`: the models' numbers of parameters; overwritten."""
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
