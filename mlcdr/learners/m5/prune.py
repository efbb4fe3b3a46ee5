"""Pruning and smoothing: from the full tree and its models to the tree that predicts.

Source: Quinlan 1992, sections 2.3 and 2.4; Wang & Witten 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.learners.m5.columns import Array, Indices
from mlcdr.learners.m5.grow import Grown
from mlcdr.learners.m5.models import Models

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
        said = np.empty(X.shape[0])
        waiting = [(0, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            j = self.feature[node]
            if j < 0:
                features, coefficients, intercept = self.models[node]
                part = block[np.ix_(rows, np.searchsorted(used, features))]
                said[rows] = part @ coefficients + intercept
                continue
            left = block[rows, np.searchsorted(used, j)] <= self.threshold[node]
            waiting += [(node + 1, rows[left]), (int(self.right[node]), rows[~left])]
        return said


def prune(tree: Grown, models: Models, y: Array) -> NDArray[np.intp]:
    """The leaves of the pruned tree.

    From the bottom up a node becomes a leaf if its model's error is not above that of its subtree, or below 1e-5 of
    the root's standard deviation. Error: the root mean square over the node's rows times (n + 2v)/(n − v), or 10 where
    n ≤ v; v is the number of coefficients and the intercept, of a subtree that of its leaves and of its cuts.
    """
    is_leaf = tree.feature < 0
    weight = models.sizes() + 1
    current, target = np.empty_like(y), y[tree.order]
    negligible = HARMLESS * np.std(y)
    for node in range(len(is_leaf) - 1, -1, -1):
        rows = slice(tree.start[node], tree.stop[node])
        fitted = models.fitted[models.fitted_starts[node] : models.fitted_starts[node + 1]]
        if not is_leaf[node]:
            n = len(fitted)
            both = weight[node + 1] + weight[tree.right[node]] + 1
            error = _root_mean_square(fitted - target[rows]) * _penalty(n, weight[node])
            subtree = _root_mean_square(current[rows] - target[rows]) * _penalty(n, both)
            if not (error <= subtree or error < negligible):
                weight[node] = both
                continue
            is_leaf[node + 1 : tree.end[node]] = False
            is_leaf[node] = True
        current[rows] = fitted
    return np.flatnonzero(is_leaf)


def assemble(tree: Grown, models: Models, leaves: NDArray[np.intp], smooth: bool) -> ModelTree:
    """The tree that ends in `leaves`, which are nodes of the full tree.

    Smoothing: from a leaf to the root, what the child says, p, becomes (n p + 15 q)/(n + 15), where n is the child's
    number of rows and q what its parent's model says. That is linear in the models, so it is done to the leaf's.
    """
    size = tree.stop - tree.start
    ends = set(leaves.tolist())
    feature: list[int] = []
    threshold: list[float] = []
    right: list[int] = []
    found: dict[int, tuple[Indices, Array, float]] = {}
    waiting: list[tuple[int, int, tuple[int, ...]]] = [(0, -1, ())]  # node, its parent's number in the new tree, path
    while waiting:
        node, parent, above = waiting.pop()
        number = len(feature)
        if parent >= 0:
            right[parent] = number
        inner = node not in ends
        feature.append(tree.feature[node] if inner else -1)
        threshold.append(tree.threshold[node] if inner else 0.0)
        right.append(0)
        if inner:
            path = (*above, node)
            waiting += [(int(tree.right[node]), number, path), (node + 1, -1, path)]
            continue
        shares = {node: 1.0}
        child = node
        for ancestor in reversed(above) if smooth else ():
            keep = size[child] / (size[child] + SMOOTHING)
            shares = {part: share * keep for part, share in shares.items()}
            shares[ancestor] = 1.0 - keep
            child = ancestor
        found[number] = _combined(models, shares)
    return ModelTree(np.array(feature, dtype=np.int32), np.array(threshold), np.array(right, dtype=np.int32), found)


def _combined(models: Models, shares: dict[int, float]) -> tuple[Indices, Array, float]:
    """The sum of some nodes' models, each times its share."""
    runs = [slice(models.starts[node], models.starts[node + 1]) for node in shares]
    features, place = np.unique(np.concatenate([models.features[run] for run in runs]), return_inverse=True)
    weighted = [models.coefficients[run] * share for run, share in zip(runs, shares.values(), strict=True)]
    coefficients = np.bincount(place, np.concatenate(weighted), minlength=len(features)).astype(np.float64)
    return features, coefficients, float(sum(models.intercepts[node] * share for node, share in shares.items()))


def _root_mean_square(residuals: Array) -> float:
    return float(np.sqrt(np.mean(residuals * residuals)))


def _penalty(n: int, parameters: int) -> float:
    return 10.0 if n <= parameters else (n + 2 * parameters) / (n - parameters)
