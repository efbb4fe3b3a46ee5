"""The unpruned tree: where to split, and what goes left.

Source: Wang & Witten 1997, with the score, the limits and the order of summation of WEKA's implementation. The fifth
root in the score turns a rounding error of 1e-17 in a variance that is 0 into 1e-4, so the order in which targets are
summed decides which of two good attributes wins. It is therefore a part of the definition: see `_best_cut`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlcdr.learners.m5.columns import Array, Columns, Indices
from mlcdr.learners.m5.compiled import compiled

SAME = 1e-6  # values nearer than this are not cut apart, and scores nearer than this are equal
ROW, BELOW = 1 << 32, (1 << 32) - 1  # a key to sort by: a value's code times ROW, and the row in the bits below
MIN_SPREAD = 0.05  # a node whose standard deviation is below this share of the root's is a leaf


@dataclass(frozen=True, eq=False)
class Grown:
    """A binary tree; nodes in preorder, so that a subtree is a run of nodes and its rows a run of `order`.

    Attributes
    ----------
    feature : array of shape (m,)
        What the node tests; −1 in a leaf.
    threshold : array of shape (m,)
        x ≤ threshold goes left, to the next node.
    right : array of shape (m,)
        The other child (0 in a leaf).
    end : array of shape (m,)
        The first node after the subtree.
    start, stop : arrays of shape (m,)
        The rows of the node are `order[start:stop]`.
    order : array of shape (n,)
    """

    feature: Indices
    threshold: Array
    right: Indices
    end: Indices
    start: Indices
    stop: Indices
    order: Indices


def grow(columns: Columns, y: Array, min_instances: int, ties: str = "weka") -> Grown:
    """The unpruned tree of one output y (n,).

    Rows of equal value are summed in the order of the file ("rows"), or in WEKA's ("weka"): it shuffles the rows, and
    at each node sorts them by one attribute after the other, each time from the order that the last one left.

    Cost, for each level of the tree: once over the non-zeros, and over the rows for each attribute that can be cut;
    "weka": a sort of the rows for each attribute.
    """
    n = len(y)
    order = java_shuffle(n, 1) if ties == "weka" else np.arange(n, dtype=np.int32)
    stored = (columns.starts, columns.negatives, columns.rows, columns.values)
    return Grown(*_grow(*stored, y, min_instances, order, ties == "weka"))


@lru_cache(maxsize=8)
def java_shuffle(n: int, seed: int) -> Indices:
    """0, …, n − 1 as java.util.Random shuffles them: from the last on, each changes places with one up to itself."""
    order = np.arange(n, dtype=np.int32)
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
    for last in range(n - 1, 0, -1):
        bound = last + 1
        while True:
            state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = state >> 17
            if bound & last == 0:
                chosen = bound * bits >> 31
                break
            chosen = bits % bound
            if bits - chosen + last < 1 << 31:
                break
        order[last], order[chosen] = order[chosen], order[last]
    order.setflags(write=False)
    return order


@compiled
def _best_cut(x, y, n, reach, va, to_beat):  # type: ignore[no-untyped-def]
    """The best cut of y, sorted by x: (score, last index of the left part), index −1 if none is above `to_beat`.

    Score: v^.2 − (n_l/n) v_l^.2 − (n_r/n) v_r^.2 with population variances. Each side has more than `reach` rows.
    Sums of the left part grow from the first row on; those of the right are summed from its first row on, once, and
    then lose a row with each step.
    """
    sum_l = square_l = sum_r = square_r = 0.0
    for i in range(reach):
        sum_l += y[i]
        square_l += y[i] * y[i]
    for i in range(reach, n):
        sum_r += y[i]
        square_r += y[i] * y[i]
    whole = va**0.2
    best, at = to_beat, -1
    for i in range(reach, n - reach - 1):
        sum_l += y[i]
        sum_r -= y[i]
        square_l += y[i] * y[i]
        square_r -= y[i] * y[i]
        if x[i + 1] - x[i] < SAME:
            continue
        n_l, n_r = i + 1.0, n - i - 1.0
        v_l = abs((n_l * square_l - sum_l * sum_l) / (n_l * n_l))
        v_r = abs((n_r * square_r - sum_r * sum_r) / (n_r * n_r))
        score = whole - n_l / n * v_l**0.2 - n_r / n * v_r**0.2
        if score > best:
            best, at = score, i
    return best, at


@compiled
def _variance(y, n):  # type: ignore[no-untyped-def]
    """The population variance of y[:n], by its sums in that order."""
    total = square = 0.0
    for i in range(n):
        total += y[i]
        square += y[i] * y[i]
    return abs((square - total * total / n) / n)


@compiled
def _first_from(run, bound):  # type: ignore[no-untyped-def]
    """The first index whose position is not below `bound` (positions ascend)."""
    low, high = 0, len(run)
    while low < high:
        middle = (low + high) // 2
        if run[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _value(values, run, below, zeros, i):  # type: ignore[no-untyped-def]
    """The i-th smallest value of a node, of whose stored values, at `run`, the first `below` come before the zeros."""
    if i < below:
        return values[run[i]]
    return 0.0 if i < below + zeros else values[run[i - zeros]]


@compiled
def _codes(starts, negatives, values):  # type: ignore[no-untyped-def]
    """Whole numbers in the order of each column's values, equal for equal ones, 0 for 0; times ROW."""
    codes = np.empty(len(values), dtype=np.int64)
    for j in range(len(starts) - 1):
        code = 0
        for i in range(negatives[j] - 1, starts[j] - 1, -1):
            if i == negatives[j] - 1 or values[i] != values[i + 1]:
                code -= 1
            codes[i] = code * ROW
        code = 0
        for i in range(negatives[j], starts[j + 1]):
            if i == negatives[j] or values[i] != values[i - 1]:
                code += 1
            codes[i] = code * ROW
    return codes


@compiled
def _quicksort(keys, n, lows, highs):  # type: ignore[no-untyped-def]
    """Sort keys[:n] on their high halves: median of three, not stable, equal ones as WEKA leaves them.

    Up to three keys are sorted by exchanges. Of more, the first, middle and last are put in order, the middle one is
    the pivot and waits in the last place but one while those between are divided, equal ones going to either side.
    """
    lows[0], highs[0] = 0, n - 1
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = lows[depth], highs[depth]
        if high <= low:
            continue
        if high == low + 1:
            if keys[low] > keys[high] | BELOW:
                keys[low], keys[high] = keys[high], keys[low]
            continue
        middle = (low + high) // 2
        a, b, c = keys[low], keys[middle], keys[high]
        if a > b | BELOW:
            a, b = b, a
        if a > c | BELOW:
            a, c = c, a
        if b > c | BELOW:
            b, c = c, b
        keys[low], keys[middle], keys[high] = a, b, c
        if high == low + 2:
            continue
        keys[middle], keys[high - 1] = keys[high - 1], b
        least, most = b & ~BELOW, b | BELOW  # of the pivot's equals
        i, j = low + 1, high - 2
        while True:
            while keys[i] < least:
                i += 1
            while keys[j] > most:
                j -= 1
            if i >= j:
                break
            keys[i], keys[j] = keys[j], keys[i]
            i += 1
            j -= 1
        keys[i], keys[high - 1] = keys[high - 1], keys[i]
        # the larger part waits below, so that the stack stays small
        if i - 1 - low < high - i - 1:
            lows[depth], highs[depth] = i + 1, high
            lows[depth + 1], highs[depth + 1] = low, i - 1
        else:
            lows[depth], highs[depth] = low, i - 1
            lows[depth + 1], highs[depth + 1] = i + 1, high
        depth += 2


@compiled
def _by_row(y, order, rows, values, run, below, mark, stamp, xs, ys):  # type: ignore[no-untyped-def]
    """A node's values of a column, ascending, and its targets, into `xs` and `ys`; equal values by row."""
    k = 0
    for i in run[:below]:
        xs[k], ys[k] = values[i], y[rows[i]]
        k += 1
    if len(run) < len(order):
        for i in run:
            mark[rows[i]] = stamp
        for row in order:
            if mark[row] != stamp:
                xs[k], ys[k] = 0.0, y[row]
                k += 1
    for i in run[below:]:
        xs[k], ys[k] = values[i], y[rows[i]]
        k += 1


@compiled
def _sort_on(order, rows, codes, run, column, keys, lows, highs):  # type: ignore[no-untyped-def]
    """Sort `order`, a node's rows, by a column that is not constant in it; `column` is a place for its codes."""
    if len(run) < len(order):
        for row in order:
            column[row] = 0
    for i in run:
        column[rows[i]] = codes[i]
    for i in range(len(order)):
        keys[i] = column[order[i]] + order[i]
    _quicksort(keys, len(order), lows, highs)
    for i in range(len(order)):
        order[i] = keys[i] & BELOW


@compiled
def _permute(order, ranks, aside):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        aside[i] = order[ranks[i]]
    for i in range(len(order)):
        order[i] = aside[i]


@compiled
def _grow(starts, negatives, rows, values, y, min_instances, order, sorts):  # type: ignore[no-untyped-def]
    n, d = len(y), len(starts) - 1
    most = 2 * n
    feature = np.full(most, -1, dtype=np.int32)
    threshold = np.zeros(most)
    right = np.zeros(most, dtype=np.int32)
    end = np.zeros(most, dtype=np.int32)
    start, stop = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    order = order.copy()
    # `positions` are indices into rows and values; in the segment of a column those of a node are a run, ascending.
    # Leaves are finished from left to right: `begin` is where the current node's run begins in each column, and
    # `ends[level]` where that of a node that waits on the stack ends.
    positions = np.arange(len(rows)).astype(np.int64)
    begin = starts[:-1].copy()
    ends = np.zeros((64, d), dtype=np.int64)
    ends[0] = starts[1:]
    waiting_stop = np.zeros(64, dtype=np.int64)
    waiting_parent = np.zeros(64, dtype=np.int64)
    waiting_stop[0], waiting_parent[0] = n, -1
    level = count = first = 0
    # constant columns are no attributes
    attributes = np.empty(d, dtype=np.int64)
    n_attributes = 0
    for j in range(d):
        stored = starts[j + 1] - starts[j]
        if 0 < stored < n or (stored == n and values[starts[j]] < values[starts[j + 1] - 1]):
            attributes[n_attributes] = j
            n_attributes += 1
    xs, ys = np.empty(n), np.empty(n)
    codes = _codes(starts, negatives, values) if sorts else np.empty(0, dtype=np.int64)
    column, keys, unsorted = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    lows, highs = np.empty(128, dtype=np.int64), np.empty(128, dtype=np.int64)
    aside = np.empty(max(n, 1), dtype=np.int64)
    goes_left = np.zeros(n, dtype=np.bool_)
    mark = np.full(n, -1, dtype=np.int64)
    stamp = 0
    root_sd = np.sqrt(_variance(y, n))
    while level >= 0:
        node, last = count, int(waiting_stop[level])
        count += 1
        if waiting_parent[level] >= 0:
            right[waiting_parent[level]] = node
        start[node], stop[node] = first, last
        size = last - first
        for i in range(size):
            ys[i] = y[order[first + i]]
        best, best_at = -1e20, -1
        if size >= max(min_instances, 4) and not np.sqrt(_variance(ys, size)) < MIN_SPREAD * root_sd:
            reach = max(1, size // 5)
            if sorts:  # what sorting does to equal values, of which it makes no difference what they are
                for i in range(size):
                    unsorted[i] = i
                _quicksort(unsorted, size, lows, highs)
            here = order[first:last]
            for a in range(n_attributes):
                j = int(attributes[a])
                run = positions[begin[j] : ends[level, j]]
                zeros = size - len(run)
                below = _first_from(run, negatives[j]) if zeros > 0 else len(run)
                if sorts:
                    if _value(values, run, below, zeros, 0) == _value(values, run, below, zeros, size - 1):
                        _permute(here, unsorted, aside)
                    else:
                        _sort_on(here, rows, codes, run, column, keys, lows, highs)
                # the outermost values that a cut may touch
                x_low = _value(values, run, below, zeros, reach)
                if _value(values, run, below, zeros, size - reach - 1) - x_low < SAME:
                    continue
                if sorts:
                    for i in range(size):
                        xs[i], ys[i] = _value(values, run, below, zeros, i), y[here[i]]
                else:
                    stamp += 1
                    _by_row(y, here, rows, values, run, below, mark, stamp, xs, ys)
                score, at = _best_cut(xs, ys, size, reach, _variance(ys, size), best + SAME)
                if at >= 0:
                    best, best_at = score, at
                    feature[node], threshold[node] = j, (xs[at] + xs[at + 1]) * 0.5
        n_left = 0
        if best_at >= 0:
            j = feature[node]
            for i in range(first, last):
                goes_left[order[i]] = threshold[node] >= 0.0
            for i in range(begin[j], ends[level, j]):
                goes_left[rows[positions[i]]] = values[positions[i]] <= threshold[node]
            for i in range(first, last):
                n_left += goes_left[order[i]]
        if n_left == 0 or n_left == size:  # nothing to cut, or a threshold that rounding has put on a value
            feature[node], threshold[node] = -1, 0.0
            for j in range(d):
                begin[j] = ends[level, j]
            first = last
            level -= 1
            continue
        if level + 2 > len(ends):
            ends = np.concatenate((ends, np.zeros_like(ends)))
            waiting_stop = np.concatenate((waiting_stop, np.zeros_like(waiting_stop)))
            waiting_parent = np.concatenate((waiting_parent, np.zeros_like(waiting_parent)))
        # The right child takes the node's place on the stack, the left one comes on top and is next.
        for j in range(d):
            low, high = begin[j], ends[level, j]
            k, a = low, 0
            for i in range(low, high):
                if goes_left[rows[positions[i]]]:
                    positions[k] = positions[i]
                    k += 1
                else:
                    aside[a] = positions[i]
                    a += 1
            ends[level + 1, j] = k
            for i in range(a):
                positions[k + i] = aside[i]
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
        waiting_parent[level] = node
        waiting_stop[level + 1], waiting_parent[level + 1] = k, -1
        level += 1
    for node in range(count - 1, -1, -1):
        end[node] = node + 1 if feature[node] < 0 else end[right[node]]
    return (
        feature[:count].copy(),
        threshold[:count].copy(),
        right[:count].copy(),
        end[:count].copy(),
        start[:count].copy(),
        stop[:count].copy(),
        order,
    )
