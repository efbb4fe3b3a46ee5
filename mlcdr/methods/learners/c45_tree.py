"""Growing and pruning of C4.5's trees (`mlcdr/methods/learners/c45.py`), compiled by numba.

The rules are those of C4.5 Release 8 (Quinlan 1993, 1996) for numeric attributes; in details those of WEKA's J48.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.learners.m5.columns import Array, Columns, Indices
from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.numerics.sums import dense

APART = 1e-5  # values nearer than this, as a share of the feature's range, are not cut apart
SAME = 1e-6  # gains nearer than this are equal
GAIN_SLACK = 1e-3  # how far below the average the gain of a chosen attribute may lie
PRUNING_SLACK = 0.1  # how many more errors a simpler tree may have


@dataclass(frozen=True, eq=False)
class ClassTree:
    """A binary tree of numeric tests; the root is node 0.

    Attributes
    ----------
    feature : array of shape (m,)
        The feature that a node tests; −1 in leaves, and in nodes that pruning has cut off.
    threshold : array of shape (m,)
        x ≤ threshold goes left.
    left, right : arrays of shape (m,)
        The children.
    shares : array of shape (m, C)
        In leaves, each class's share of the training rows (of the parent's, in a leaf that has none).
    """

    feature: Indices
    threshold: Array
    left: Indices
    right: Indices
    shares: Array

    def reached(self) -> NDArray[np.intp]:
        """The nodes, parents first."""
        found = [0]
        for node in found:
            if self.feature[node] >= 0:
                found += [int(self.left[node]), int(self.right[node])]
        return np.array(found)

    def tested_columns(self, X: Any) -> tuple[Array, NDArray[np.intp]]:
        """The columns of X (n×d, dense or sparse) that are tested, dense, and which of them each node tests."""
        tested = np.unique(self.feature[self.feature >= 0])
        return np.ascontiguousarray(dense(X[:, tested])), np.searchsorted(tested, self.feature)

    def descend(
        self, block: Array, place: NDArray[np.intp], node: int, rows: NDArray[Any]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """A node and its descendants, each with those of the given rows that reach it, by `tested_columns`."""
        waiting = [(node, rows)]
        while waiting:
            u, here = waiting.pop()
            yield u, here
            if self.feature[u] >= 0:
                goes_left = block[here, place[u]] <= self.threshold[u]
                waiting += [(int(self.left[u]), here[goes_left]), (int(self.right[u]), here[~goes_left])]

    def leaf_of(self, X: Any) -> NDArray[np.intp]:
        """The leaf (n,) that each row of X (n×d, dense or sparse) comes to."""
        found = np.zeros(X.shape[0], dtype=np.intp)
        for node, rows in self.descend(*self.tested_columns(X), 0, np.arange(X.shape[0])):
            found[rows] = node  # a child's number stands over its parent's
        return found


def fit_tree(
    X: Any, y: NDArray[np.intp], n_classes: int, min_instances: int, confidence: float, absolute: bool = False
) -> ClassTree:
    """The tree of classes y (n,) of {0, …, C − 1}; `confidence` 0: unpruned; `absolute`: `APART` itself is the gap."""
    columns, n = Columns.of(X), len(y)
    apart = np.full(columns.n_features, APART) if absolute else APART * _ranges(columns, n)
    y, table, goes_left = y.astype(np.int64), _table(n), np.zeros(n, dtype=np.bool_)
    rows, values = columns.rows.copy(), columns.values.copy()
    feature, threshold, right_of, rows_of = list[int](), list[float](), list[int](), list[Indices]()
    # of the nodes that wait: their rows, where their runs begin and end in each column, and whose right child they are
    waiting = [(np.arange(n, dtype=np.int32), columns.starts[:-1], columns.starts[1:], -1)]
    while waiting:
        here, begin, end, parent = waiting.pop()
        node, whole, j, cut = len(feature), np.bincount(y[here], minlength=n_classes), -1, 0.0
        if parent >= 0:
            right_of[parent] = node
        if len(here) >= 2 * min_instances and whole.max() < len(here):
            j, cut = _best_test(rows, values, begin, end, y, whole, table, min_instances, apart)
        if j >= 0:
            cut = _largest_below(columns, j, cut, n)
            goes_left[here] = cut >= 0.0
            goes_left[rows[begin[j] : end[j]]] = values[begin[j] : end[j]] <= cut
            middle, left = _divide(rows, values, begin, end, goes_left), goes_left[here]
            waiting += [(here[~left], middle, end, node), (here[left], begin, middle, -1)]
        feature.append(j if j < 0 else int(columns.features[j]))
        threshold.append(cut)
        right_of.append(0)
        rows_of.append(here)
    shares = np.zeros((len(feature), n_classes))
    tested, right = np.array(feature, dtype=np.int32), np.array(right_of, dtype=np.int32)
    tree = ClassTree(tested, np.array(threshold), np.arange(1, len(tested) + 1, dtype=np.int32), right, shares)
    if confidence > 0:
        _prune(tree, X, y, rows_of, n_classes, confidence)
    for node in tree.reached():  # parents first
        if len(rows_of[node]):
            shares[node] = np.bincount(y[rows_of[node]], minlength=n_classes) / len(rows_of[node])
        for child in (tree.left[node], tree.right[node]) if tree.feature[node] >= 0 else ():
            shares[child] = shares[node]
    return tree


def _ranges(columns: Columns, n: int) -> Array:
    """The largest less the smallest value of each column (d,); those that are not stored are 0."""
    first, last = columns.values[columns.starts[:-1]], columns.values[columns.starts[1:] - 1]
    has_zeros = np.diff(columns.starts) < n
    lowest = np.where(has_zeros, np.minimum(first, 0.0), first)
    highest = np.where(has_zeros, np.maximum(last, 0.0), last)
    return highest - lowest


@compiled
def _table(n):  # type: ignore[no-untyped-def]
    """The numbers c log₂ c of c = 0, …, n."""
    table = np.zeros(n + 1)
    for i in range(2, n + 1):
        table[i] = i * np.log2(i)
    return table


@compiled
def _best_cut(rows, values, y, size, whole, zero, table, least, left, right, apart):  # type: ignore[no-untyped-def]
    """The best cut of a node by one attribute: (gain in bits, cuts that were possible, rows left, threshold).

    The stored `values` of the node's `rows` are ascending; `zero` counts the other rows' classes, `whole` those of
    all; table[c] = c log₂ c. Values nearer than `apart` are not cut. The gain is 0 without a cut.
    """
    n_classes = len(whole)
    sum_left = sum_right = 0.0
    for c in range(n_classes):
        left[c], right[c] = 0, whole[c]
        sum_right += table[whole[c]]
    before = table[size] - sum_right
    zeros, negatives = size - len(rows), np.searchsorted(values, 0.0)
    best, cuts, best_left, cut = 0.0, 0, 0, 0.0
    n_left, i = 0, 0
    waiting = zeros > 0
    while n_left < size:
        if waiting and i == negatives:
            value = 0.0
            for c in range(n_classes):
                if zero[c] > 0:
                    sum_left += table[left[c] + zero[c]] - table[left[c]]
                    sum_right += table[right[c] - zero[c]] - table[right[c]]
                    left[c] += zero[c]
                    right[c] -= zero[c]
            n_left += zeros
            waiting = False
        else:
            value = values[i]
            c = y[rows[i]]
            sum_left += table[left[c] + 1] - table[left[c]]
            sum_right += table[right[c] - 1] - table[right[c]]
            left[c] += 1
            right[c] -= 1
            n_left += 1
            i += 1
        if n_left == size:
            break
        following = 0.0 if waiting and i == negatives else values[i]
        if value + apart < following and n_left >= least and size - n_left >= least:
            cuts += 1
            gain = (before - (table[n_left] - sum_left) - (table[size - n_left] - sum_right)) / size
            if gain > best + SAME:
                best, best_left = gain, n_left
                cut = value / 2 + following / 2  # to the bit (value + following) / 2, which can overflow
                if cut == following:
                    cut = value
    return best, cuts, best_left, cut


def _largest_below(columns: Columns, j: int, cut: float, n: int) -> float:
    """The largest value of a column in the whole training set that is not above `cut`."""
    values = columns.values[columns.starts[j] : columns.starts[j + 1]]
    below = values[: np.searchsorted(values, cut, side="right")]
    return float(max([*below[-1:], 0.0])) if len(values) < n and cut >= 0 else float(below[-1])


@compiled
def _divide(rows, values, begin, end, goes_left):  # type: ignore[no-untyped-def]
    """Move the rows that go left to the front of each column's run of rows and values; return where the rest begins."""
    middles = begin.copy()
    rows_aside, values_aside = np.empty(len(goes_left), dtype=rows.dtype), np.empty(len(goes_left))
    for j in range(len(begin)):
        k, m = begin[j], 0
        for i in range(begin[j], end[j]):
            row, value = rows[i], values[i]
            rows[k], values[k] = row, value
            rows_aside[m], values_aside[m] = row, value
            k += goes_left[row]
            m += 1 - goes_left[row]
        for i in range(m):
            rows[k + i], values[k + i] = rows_aside[i], values_aside[i]
        middles[j] = k
    return middles


@compiled
def _best_test(rows, values, begin, end, y, whole, table, min_instances, apart):  # type: ignore[no-untyped-def]
    """The feature with the best gain ratio and where it is cut; −1 without one. `whole` counts the node's classes,
    `apart` says how far apart two values of each feature must be.
    """
    size, n_classes, d = whole.sum(), len(whole), len(begin)
    least = max(float(min_instances), min(0.1 * size / n_classes, 25.0))
    gains, ratios, cuts = np.zeros(d), np.zeros(d), np.zeros(d)
    zero, left, right = np.zeros_like(whole), np.zeros_like(whole), np.zeros_like(whole)
    total, valid = 0.0, 0
    for j in range(d):
        run, run_values = rows[begin[j] : end[j]], values[begin[j] : end[j]]
        if len(run) == 0 or (len(run) == size and run_values[0] + apart[j] >= run_values[-1]):
            continue
        zero[:] = whole
        for row in run:
            zero[y[row]] -= 1
        gain, possible, n_left, cut = _best_cut(
            run, run_values, y, size, whole, zero, table, least, left, right, apart[j]
        )
        if possible == 0:
            continue
        gain -= np.log2(possible) / size
        if gain <= SAME:
            continue
        split = (table[size] - table[n_left] - table[size - n_left]) / size
        gains[j], ratios[j], cuts[j] = gain, gain / split, cut
        total += gain
        valid += 1
    best, chosen = 0.0, -1
    for j in range(d):
        if gains[j] > 0 and gains[j] >= total / valid - GAIN_SLACK and ratios[j] > best + SAME:
            best, chosen = ratios[j], j
    return chosen, cuts[chosen] if chosen >= 0 else 0.0


@compiled
def _expected(counts, confidence, quantile):  # type: ignore[no-untyped-def]
    """Errors of a leaf with these counts of classes: those there are, and those that the upper confidence limit adds.

    `quantile`: that of the normal distribution at 1 − confidence.
    """
    size, z = counts.sum(), quantile
    if size == 0:
        return 0.0
    errors = size - counts.max()
    if errors < 1:
        return errors + size * (1 - confidence ** (1 / size))
    if errors + 0.5 >= size:
        return float(size)
    f = (errors + 0.5) / size
    root = np.sqrt(f / size - f * f / size + z * z / (4 * size * size))
    return size * (f + z * z / (2 * size) + z * root) / (1 + z * z / size)


@compiled
def _expected_below(  # type: ignore[no-untyped-def]
    node, more, feature, threshold, left, right, block, place, y, classes, confidence, quantile
):
    """Errors of the leaves below a node, if the rows `more` came to it beside its own; `classes` counts those of each
    node's own. See `ClassTree.tested_columns`.
    """
    added = np.zeros_like(classes)
    for row in more:
        u = node
        while feature[u] >= 0:
            u = left[u] if block[row, place[u]] <= threshold[u] else right[u]
        added[u, y[row]] += 1
    total, waiting, n_waiting = 0.0, np.empty(len(feature), dtype=np.int64), 1
    waiting[0] = node
    while n_waiting:
        n_waiting -= 1
        u = waiting[n_waiting]
        if feature[u] < 0:
            total += _expected(classes[u] + added[u], confidence, quantile)
        else:
            waiting[n_waiting], waiting[n_waiting + 1] = left[u], right[u]
            n_waiting += 2
    return total


def _prune(
    tree: ClassTree, X: Any, y: NDArray[np.int64], rows_of: list[Indices], n_classes: int, confidence: float
) -> None:
    """Collapse subtrees with no fewer training errors than a leaf; then, bottom up, replace a subtree by a leaf, or by
    its larger child, if that adds at most `PRUNING_SLACK` to the expected errors.
    """
    feature, threshold, left, right = tree.feature, tree.threshold, tree.left, tree.right
    classes = np.array([np.bincount(y[rows], minlength=n_classes) for rows in rows_of])
    errors = classes.sum(axis=1) - classes.max(axis=1)
    for v in reversed(range(len(feature))):  # preorder: children come after
        if feature[v] >= 0:
            own, below = errors[v], errors[left[v]] + errors[right[v]]
            errors[v] = min(below, own)
            if below >= own - GAIN_SLACK:
                feature[v] = -1
    block, place = tree.tested_columns(X)
    limit = confidence, NormalDist().inv_cdf(1 - confidence)
    expected = np.zeros(len(feature))  # of the subtree, as it is
    pending = [(0, False)]
    while pending:
        v, is_below_done = pending.pop()
        if feature[v] >= 0 and not is_below_done:
            pending += [(v, True), (left[v], False), (right[v], False)]
            continue
        as_leaf = _expected(classes[v], *limit)
        if feature[v] < 0:
            expected[v] = as_leaf
            continue
        as_tree = expected[left[v]] + expected[right[v]]
        branch = max(left[v], right[v], key=lambda child: len(rows_of[child]))
        smaller = right[v] if branch == left[v] else left[v]
        # what the branch would err on all rows of the node
        as_branch = _expected_below(
            branch, rows_of[smaller], feature, threshold, left, right, block, place, y, classes, *limit
        )
        if as_leaf <= min(as_tree, as_branch) + PRUNING_SLACK + SAME:
            feature[v], expected[v] = -1, as_leaf
        elif as_branch <= as_tree + PRUNING_SLACK + SAME:
            for each in (feature, threshold, left, right, place):
                each[v] = each[branch]
            for u, here in tree.descend(block, place, v, rows_of[v]):  # the rows go down again
                rows_of[u], classes[u] = here, np.bincount(y[here], minlength=n_classes)
            pending.append((v, False))
        else:
            expected[v] = as_tree
