"""Growing and pruning of C4.5's trees (`mlcdr/methods/learners/c45.py`), compiled by numba.

The rules are those of C4.5 Release 8 (Quinlan 1993, 1996) for numeric attributes; in details those of WEKA's J48.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.learners.m5.columns import Array, Columns, Indices
from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.numerics.sums import dense

APART = 1e-5  # values nearer than this are not cut apart
SAME = 1e-6  # gains nearer than this are equal
GAIN_SLACK = 1e-3  # how far below the average the gain of a chosen attribute may lie
PRUNING_SLACK = 0.1  # how many more errors a simpler tree may have


@dataclass(frozen=True, eq=False)
class ClassTree:
    """A binary tree of numeric tests; the root is node 0.

    Attributes
    ----------
    feature : array of shape (m,)
        What a node tests; −1 in a leaf, and in what pruning has left without a parent.
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

    def leaf_of(self, X: Any) -> NDArray[np.intp]:
        """The leaf (n,) that each row of X (n×d, dense or sparse) comes to."""
        tested = np.unique(self.feature[self.feature >= 0])
        block, place = dense(X[:, tested]), np.searchsorted(tested, self.feature)
        found = np.zeros(X.shape[0], dtype=np.intp)
        waiting = [(0, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            if self.feature[node] < 0:
                found[rows] = node
                continue
            left = block[rows, place[node]] <= self.threshold[node]
            waiting += [(int(self.left[node]), rows[left]), (int(self.right[node]), rows[~left])]
        return found


def fit_tree(X: Any, y: NDArray[np.intp], n_classes: int, min_instances: int, confidence: float) -> ClassTree:
    """The tree of classes y (n,) of {0, …, C − 1}; `confidence` 0: unpruned."""
    columns = Columns.of(X)
    y = y.astype(np.int64)
    below = np.concatenate(([0], np.cumsum(columns.values < 0)))  # of each column, where the first not negative stands
    negatives = columns.starts[:-1] + np.diff(below[columns.starts])
    stored = (columns.starts, negatives, columns.rows, columns.values)
    count, order, *nodes = _grow(*stored, y, n_classes, min_instances)
    feature, threshold, left, right, start, stop = (each[:count].copy() for each in nodes)
    if confidence > 0:
        by_row = (columns.row_starts, columns.row_columns, columns.row_values)
        z = NormalDist().inv_cdf(1 - confidence)
        _prune(*by_row, y, n_classes, feature, threshold, left, right, start, stop, order, confidence, z)
    inner = feature >= 0
    feature[inner] = columns.features[feature[inner]]
    shares = np.zeros((len(feature), n_classes))
    tree = ClassTree(feature, threshold, left, right, shares)
    for node in tree.reached():  # parents first
        rows = order[start[node] : stop[node]]
        if len(rows):
            shares[node] = np.bincount(y[rows], minlength=n_classes) / len(rows)
        for child in (left[node], right[node]) if feature[node] >= 0 else ():
            shares[child] = shares[node]
    return tree


@compiled
def _best_cut(run, negatives_end, rows, values, y, size, whole, zero, table, least, left, right):  # type: ignore[no-untyped-def]
    """The best cut of a node by one attribute: (gain in bits, cuts that were possible, rows left, threshold).

    `run` are the places of the stored values, ascending; the zeros, of which `zero` counts the classes, stand before
    `run[negatives_end]`. `whole` counts the node's classes, and table[c] = c log₂ c. The gain is 0 without a cut.
    """
    n_classes = len(whole)
    sum_left = sum_right = 0.0
    for c in range(n_classes):
        left[c], right[c] = 0, whole[c]
        sum_right += table[whole[c]]
    before = table[size] - sum_right
    zeros = size - len(run)
    best, cuts, best_left, cut = 0.0, 0, 0, 0.0
    n_left, i = 0, 0
    waiting = zeros > 0
    while n_left < size:
        if waiting and i == negatives_end:
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
            value = values[run[i]]
            c = y[rows[run[i]]]
            sum_left += table[left[c] + 1] - table[left[c]]
            sum_right += table[right[c] - 1] - table[right[c]]
            left[c] += 1
            right[c] -= 1
            n_left += 1
            i += 1
        if n_left == size:
            break
        following = 0.0 if waiting and i == negatives_end else values[run[i]]
        if value + APART < following and n_left >= least and size - n_left >= least:
            cuts += 1
            gain = (before - (table[n_left] - sum_left) - (table[size - n_left] - sum_right)) / size
            if gain > best + SAME:
                best, best_left = gain, n_left
                cut = value / 2 + following / 2  # to the bit (value + following) / 2, which can overflow
                if cut == following:
                    cut = value
    return best, cuts, best_left, cut


@compiled
def _largest_below(starts, negatives, values, n, j, cut):  # type: ignore[no-untyped-def]
    """The largest value of a column in the whole training set that is not above `cut`."""
    low, high = starts[j], starts[j + 1]
    has_zeros = high - low < n
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= cut:
            low = middle + 1
        else:
            high = middle
    found = values[low - 1] if low > starts[j] else -np.inf
    if has_zeros and cut >= 0.0 and found < 0.0:
        found = 0.0
    return found


@compiled
def _grow(starts, negatives, rows, values, y, n_classes, min_instances):  # type: ignore[no-untyped-def]
    """The unpruned tree; nodes in preorder, the rows of node v are order[start[v]:stop[v]]."""
    n, d = len(y), len(starts) - 1
    most = 2 * n
    feature = np.full(most, -1, dtype=np.int32)
    threshold = np.zeros(most)
    left, right = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    start, stop = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    order = np.arange(n).astype(np.int32)
    # As in m5/grow.py: in the segment of a column, the places of a node's stored values are a run, ascending. Leaves
    # are finished from left to right: `begin` is where the current node's run begins, `ends[level]` where that of a
    # node that waits on the stack ends.
    positions = np.arange(len(rows)).astype(np.int64)
    begin = starts[:-1].copy()
    ends = np.zeros((64, d), dtype=np.int64)
    ends[0] = starts[1:]
    waiting_stop = np.zeros(64, dtype=np.int64)
    waiting_parent = np.zeros(64, dtype=np.int64)
    waiting_stop[0], waiting_parent[0] = n, -1
    level, count, first = 0, 0, 0
    table = np.zeros(n + 1)
    for i in range(2, n + 1):
        table[i] = i * np.log2(i)
    whole, zero = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    on_left, on_right = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    gains, ratios, cuts = np.zeros(d), np.zeros(d), np.zeros(d)
    aside = np.empty(max(n, 1), dtype=np.int64)
    goes_left = np.zeros(n, dtype=np.bool_)
    while level >= 0:
        node, last = count, int(waiting_stop[level])
        count += 1
        if waiting_parent[level] >= 0:
            right[waiting_parent[level]] = node
        start[node], stop[node] = first, last
        size = last - first
        whole[:] = 0
        for i in range(first, last):
            whole[y[order[i]]] += 1
        chosen = -1
        if size >= 2 * min_instances and whole.max() < size:
            least = max(float(min_instances), min(0.1 * size / n_classes, 25.0))
            total, valid = 0.0, 0
            for j in range(d):
                gains[j] = 0.0
                run = positions[begin[j] : ends[level, j]]
                stored = len(run)
                if stored == 0 or (stored == size and values[run[0]] + APART >= values[run[stored - 1]]):
                    continue
                middle = 0
                if stored < size:
                    zero[:] = whole
                    for i in range(stored):
                        zero[y[rows[run[i]]]] -= 1
                        middle += run[i] < negatives[j]
                else:
                    middle = stored
                gain, possible, n_left, cut = _best_cut(
                    run, middle, rows, values, y, size, whole, zero, table, least, on_left, on_right
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
            best = 0.0
            for j in range(d):
                if gains[j] > 0 and gains[j] >= total / valid - GAIN_SLACK and ratios[j] > best + SAME:
                    best, chosen = ratios[j], j
        if chosen < 0:
            for j in range(d):
                begin[j] = ends[level, j]
            first = last
            level -= 1
            continue
        feature[node] = chosen
        left[node] = node + 1
        threshold[node] = _largest_below(starts, negatives, values, n, chosen, cuts[chosen])
        for i in range(first, last):
            goes_left[order[i]] = threshold[node] >= 0.0
        for i in range(begin[chosen], ends[level, chosen]):
            goes_left[rows[positions[i]]] = values[positions[i]] <= threshold[node]
        if level + 2 > len(ends):
            ends = np.concatenate((ends, np.zeros_like(ends)))
            waiting_stop = np.concatenate((waiting_stop, np.zeros_like(waiting_stop)))
            waiting_parent = np.concatenate((waiting_parent, np.zeros_like(waiting_parent)))
        # The right child takes the node's place on the stack, the left one comes on top and is next.
        for j in range(d):
            k, a = begin[j], 0
            for i in range(begin[j], ends[level, j]):
                if goes_left[rows[positions[i]]]:
                    positions[k] = positions[i]
                    k += 1
                else:
                    aside[a] = positions[i]
                    a += 1
            ends[level + 1, j] = k
            for i in range(a):
                positions[k + i] = aside[i]
        middle = _part(order, first, last, goes_left, aside)
        waiting_parent[level] = node
        waiting_stop[level + 1], waiting_parent[level + 1] = middle, -1
        level += 1
    return count, order, feature, threshold, left, right, start, stop


@compiled
def _part(order, first, last, goes_left, aside):  # type: ignore[no-untyped-def]
    """Bring the rows that go left to the front of order[first:last], each side in its order; where the others begin."""
    k, a = first, 0
    for i in range(first, last):
        if goes_left[order[i]]:
            order[k] = order[i]
            k += 1
        else:
            aside[a] = order[i]
            a += 1
    for i in range(a):
        order[k + i] = aside[i]
    return k


@compiled
def _ask(row_starts, row_columns, row_values, order, first, last, j, threshold, goes_left):  # type: ignore[no-untyped-def]
    """Which rows of order[first:last] have x_j ≤ threshold."""
    for i in range(first, last):
        low, high = row_starts[order[i]], row_starts[order[i] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if row_columns[middle] < j:
                low = middle + 1
            else:
                high = middle
        value = row_values[low] if low < end and row_columns[low] == j else 0.0
        goes_left[order[i]] = value <= threshold


@compiled
def _expected(y, order, first, last, counts, confidence, z):  # type: ignore[no-untyped-def]
    """Errors of a leaf with these rows: those there are, and those that the upper confidence limit adds."""
    size = last - first
    if size == 0:
        return 0.0
    errors = size - _most(y, order, first, last, counts)
    if errors < 1:
        return errors + size * (1 - confidence ** (1 / size))
    if errors + 0.5 >= size:
        return float(size)
    f = (errors + 0.5) / size
    root = np.sqrt(f / size - f * f / size + z * z / (4 * size * size))
    return size * (f + z * z / (2 * size) + z * root) / (1 + z * z / size)


@compiled
def _most(y, order, first, last, counts):  # type: ignore[no-untyped-def]
    """How many rows the most frequent class has."""
    counts[:] = 0
    for i in range(first, last):
        counts[y[order[i]]] += 1
    return counts.max()


@compiled
def _prune(  # type: ignore[no-untyped-def]
    row_starts, row_columns, row_values, y, n_classes, feature, threshold, left, right, start, stop, order,
    confidence, z,
):  # fmt: skip
    """Collapse what has no fewer training errors than a leaf; then, bottom up, put a leaf, or the larger child, in the
    place of a subtree that is not expected to err less.
    """
    n, m = len(y), len(feature)
    counts = np.zeros(n_classes, dtype=np.int64)
    aside = np.empty(n, dtype=np.int64)
    goes_left = np.zeros(n, dtype=np.bool_)
    errors = np.zeros(m)
    for v in range(m - 1, -1, -1):  # preorder: children come after
        own = stop[v] - start[v] - _most(y, order, start[v], stop[v], counts)
        errors[v] = own
        if feature[v] >= 0:
            below = errors[left[v]] + errors[right[v]]
            errors[v] = min(below, own)
            if below >= own - GAIN_SLACK:
                feature[v] = -1
    expected = np.zeros(m)  # of the subtree, as it is
    scratch = np.empty(n, dtype=np.int32)
    nodes = np.empty(m + 8, dtype=np.int64)
    stages = np.empty(m + 8, dtype=np.int64)
    below_nodes, firsts, lasts = np.empty(m + 8, np.int64), np.empty(m + 8, np.int64), np.empty(m + 8, np.int64)
    nodes[0], stages[0] = 0, 0
    depth = 1
    while depth > 0:
        depth -= 1
        v, stage = nodes[depth], stages[depth]
        as_leaf = _expected(y, order, start[v], stop[v], counts, confidence, z)
        if feature[v] < 0:
            expected[v] = as_leaf
            continue
        if stage == 0:
            nodes[depth], stages[depth] = v, 1
            nodes[depth + 1], stages[depth + 1] = left[v], 0
            nodes[depth + 2], stages[depth + 2] = right[v], 0
            depth += 3
            continue
        as_tree = expected[left[v]] + expected[right[v]]
        branch = left[v] if stop[left[v]] - start[left[v]] >= stop[right[v]] - start[right[v]] else right[v]
        # what the branch would err on all rows of the node
        scratch[start[v] : stop[v]] = order[start[v] : stop[v]]
        as_branch = 0.0
        below_nodes[0], firsts[0], lasts[0] = branch, start[v], stop[v]
        pending = 1
        while pending > 0:
            pending -= 1
            u, first, last = below_nodes[pending], firsts[pending], lasts[pending]
            if feature[u] < 0:
                as_branch += _expected(y, scratch, first, last, counts, confidence, z)
                continue
            _ask(row_starts, row_columns, row_values, scratch, first, last, feature[u], threshold[u], goes_left)
            middle = _part(scratch, first, last, goes_left, aside)
            below_nodes[pending], firsts[pending], lasts[pending] = left[u], first, middle
            below_nodes[pending + 1], firsts[pending + 1], lasts[pending + 1] = right[u], middle, last
            pending += 2
        if as_leaf <= as_tree + PRUNING_SLACK + SAME and as_leaf <= as_branch + PRUNING_SLACK + SAME:
            feature[v] = -1
            expected[v] = as_leaf
        elif as_branch <= as_tree + PRUNING_SLACK + SAME:
            feature[v], threshold[v] = feature[branch], threshold[branch]
            left[v], right[v] = left[branch], right[branch]
            below_nodes[0] = v
            pending = 1
            while pending > 0:  # the rows go down again
                pending -= 1
                u = below_nodes[pending]
                if feature[u] < 0:
                    continue
                first, last = start[u], stop[u]
                _ask(row_starts, row_columns, row_values, order, first, last, feature[u], threshold[u], goes_left)
                middle = _part(order, first, last, goes_left, aside)
                start[left[u]], stop[left[u]] = first, middle
                start[right[u]], stop[right[u]] = middle, last
                below_nodes[pending], below_nodes[pending + 1] = left[u], right[u]
                pending += 2
            nodes[depth], stages[depth] = v, 0
            depth += 1
        else:
            expected[v] = as_tree
