"""The unpruned tree: where to split, and what goes left.

Source: Wang & Witten 1997, with the score, the limits and the order of summation of WEKA's implementation. The fifth
root in the score turns a rounding error of 1e-17 in a variance that is 0 into 1e-4, so the order in which targets are
summed decides which of two good attributes wins. It is therefore a part of the definition: see `_best_cut`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlcdr.methods.learners.m5.columns import Array, Columns, Indices
from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.numerics.java_random import java_shuffle
from mlcdr.numerics.sums import frozen

SAME = 1e-6  # values nearer than this are not cut apart, and scores nearer than this are equal
ROW, BELOW = 1 << 32, (1 << 32) - 1  # a key to sort by: a value's code times ROW, and the row in the bits below
PARTS, MOST_PARTS = 256, 6 * 256  # of the table of roots: how many to 1, and in all
SLACK = 1e-9  # what rounding may do to a bound is less
LEAST_SPREAD = 1e-290  # a variance that is less, or one over it, is not divided by
FEW = 128  # equal keys fewer than these are put in order by a table
MIN_SPREAD = 0.05  # a node whose standard deviation is below this share of the root's is a leaf


@dataclass(frozen=True, eq=False)
class Grown:
    """A binary tree; nodes in preorder, so that a subtree is a run of nodes and its rows a run of `order`.

    Attributes
    ----------
    order : array of shape (n,)
        The rows.
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
    """

    order: Indices
    feature: Indices
    threshold: Array
    right: Indices
    end: Indices
    start: Indices
    stop: Indices


def grow(columns: Columns, y: Array, min_instances: int, ties: str = "weka") -> Grown:
    """The unpruned tree of one output y (n,).

    Rows of equal value are summed in the order of the file ("rows"), or in WEKA's ("weka"): it shuffles the rows, and
    at each node sorts them by one attribute after the other, each time from the order that the last one left.

    Cost, for each level of the tree: once over the non-zeros, and over the rows for each attribute that can be cut;
    "weka": a sort of the rows for each attribute.
    """
    n = len(y)
    order = java_shuffle(n, 1) if ties == "weka" else frozen(np.arange(n, dtype=np.int32))
    stored = (columns.starts, columns.rows, columns.values)
    count, order, *nodes = _grow(*stored, y, min_instances, order, ties == "weka", _chords(), _equals())
    return Grown(order, *(each[:count].copy() for each in nodes))


@compiled
def _best_cut(x, y, n, reach, spread, root, below, to_beat):  # type: ignore[no-untyped-def]
    """The best cut of y, sorted by x: (score, last index of the left part), index −1 if none is above `to_beat`.

    Score: v^.2 − (n_l/n) v_l^.2 − (n_r/n) v_r^.2 with population variances. Each side has more than `reach` rows.
    Sums of the left part grow from the first row on; those of the right are summed from its first row on, once, and
    then lose a row with each step. v is computed from the sums over all rows in this order.

    Most cuts cannot be the best, and the roots are the expensive part. So a score is computed only if an upper bound of
    it is above `to_beat`. `spread` is about v, `root` its fifth root, and `below` a table of values not above the
    root's chords (`_chords`); the root of v itself is not above its tangent there. With `spread` 0 every score is
    computed.
    """
    total = square = sum_r = square_r = 0.0
    for i in range(reach):
        total += y[i]
        square += y[i] * y[i]
    sum_l, square_l = total, square
    for i in range(reach, n):
        total += y[i]
        square += y[i] * y[i]
        sum_r += y[i]
        square_r += y[i] * y[i]
    va = abs((square - total * total / n) / n)
    bounded = spread > 0.0
    share = root / n
    per_spread = PARTS / spread if bounded else 0.0
    highest = root + 0.2 * root * (va / spread - 1.0) + SLACK * root if bounded else 0.0
    whole = -1.0
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
        if bounded:
            u_l, u_r = v_l * per_spread, v_r * per_spread
            if u_l < MOST_PARTS and u_r < MOST_PARTS:
                k_l, k_r = int(u_l), int(u_r)
                root_l = below[k_l] + (u_l - k_l) * (below[k_l + 1] - below[k_l])
                root_r = below[k_r] + (u_r - k_r) * (below[k_r + 1] - below[k_r])
                if highest - share * (n_l * root_l + n_r * root_r) <= best:
                    continue
        if whole < 0.0:
            whole = va**0.2
        score = whole - n_l / n * v_l**0.2 - n_r / n * v_r**0.2
        if score > best:
            best, at = score, i
    return best, at


@lru_cache(maxsize=1)
def _chords() -> Array:
    """The fifth root at multiples of 1/`PARTS`; it is concave, so it is not below its chords between them."""
    return (np.arange(MOST_PARTS + 2) / PARTS) ** 0.2


@compiled
def _variance(y, n):  # type: ignore[no-untyped-def]
    """The population variance of y[:n], by its sums in that order."""
    total = square = 0.0
    for i in range(n):
        total += y[i]
        square += y[i] * y[i]
    return abs((square - total * total / n) / n)


@compiled
def _value(values, below, zeros, i):  # type: ignore[no-untyped-def]
    """The i-th smallest value of a node; the first `below` of its stored `values` come before the zeros."""
    if i < below:
        return values[i]
    return 0.0 if i < below + zeros else values[i - zeros]


@compiled
def _ranked(rows, values, below, zeros, row_sum, ranked, tied):  # type: ignore[no-untyped-def]
    """Write a node's rows by value into `ranked`; into `tied`, for each rank, how many up to it equal the value before.

    The rows of tied zeros are left out. `row_sum`: the sum of the numbers of all the node's rows.
    """
    count = 0
    for i in range(len(rows)):
        r = i if i < below else i + zeros
        ranked[r] = rows[i]
        row_sum -= rows[i]
        if i > 0 and (i != below or zeros == 0):
            count += values[i] == values[i - 1]
        if i == below:
            count += max(zeros - 1, 0)
        tied[r] = count
    if zeros > 0:
        ranked[below] = row_sum
        before = tied[below - 1] if below > 0 else 0
        for i in range(zeros):
            tied[below + i] = before + i


@compiled
def _quicksort(keys, n, ranked, tied, lows, highs, equal, aside):  # type: ignore[no-untyped-def]
    """Sort keys[:n] on their high halves: median of three, not stable, equal ones as WEKA leaves them.

    Up to three keys are sorted by exchanges. Of more, the first, middle and last are put in order, the middle one is
    the pivot and waits in the last place but one while those between are divided, equal ones going to either side.

    The result is known for a part without equal keys (`ranked`), and for a small part in which all keys are equal:
    `equal[m, i]` is where the i-th of m comes from.
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
        if tied[min(high + 1, n - 1)] == tied[max(low - 1, 0)]:
            for i in range(low, high + 1):
                keys[i] = ranked[i]
            continue
        m = high - low + 1
        if m < len(equal) and tied[high] - tied[low] == high - low:
            for i in range(m):
                aside[i] = keys[low + i]
            for i in range(m):
                keys[low + i] = aside[equal[m, i]]
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


@lru_cache(maxsize=1)
def _equals() -> Indices:
    """Where quicksort leaves m equal keys, for each m below `FEW`: the i-th was number [m, i] before."""
    found = np.zeros((FEW, FEW), dtype=np.int32)
    stack, tied, none = np.empty((2, 128), dtype=np.int64), np.arange(FEW), frozen(found[:0])
    for m in range(FEW):
        keys = np.arange(m)
        _quicksort(keys, m, keys, tied, *stack, none, keys)
        found[m, :m] = keys
    return frozen(found)


@compiled
def _find_cycles(size, cycles, keys, tied, lows, highs, equal, aside):  # type: ignore[no-untyped-def]
    """The permutation of the rows by a sort on a constant key, as cycles, one after the other.

    `cycles`: the members, and for each the place where its cycle begins, and where it ends.
    """
    for i in range(size):
        keys[i], tied[i] = i, i
    _quicksort(keys, size, keys, tied, lows, highs, equal, aside)
    k = 0
    for i in range(size):
        if keys[i] < 0:
            continue
        low = k
        j = i
        while keys[j] >= 0:
            cycles[0, k] = j
            k += 1
            after = keys[j]
            keys[j] = -1
            j = after
        for q in range(low, k):
            cycles[1, q], cycles[2, q] = low, k


@compiled
def _permute(order, cycles, times, aside):  # type: ignore[no-untyped-def]
    """Sort `order` by a constant `times` times."""
    for k in range(len(order)):
        low, high = cycles[1, k], cycles[2, k]
        come_from = k + times % (high - low)
        if come_from >= high:
            come_from -= high - low
        aside[cycles[0, k]] = order[cycles[0, come_from]]
    for i in range(len(order)):
        order[i] = aside[i]


@compiled
def _by_row(y, order, rows, below, mark, stamp, ys):  # type: ignore[no-untyped-def]
    """Write the targets of a node's rows into `ys`, by a column's values, ascending; equal ones by row."""
    k = 0
    for row in rows[:below]:
        ys[k] = y[row]
        k += 1
    if len(rows) < len(order):
        for row in rows:
            mark[row] = stamp
        for row in order:
            if mark[row] != stamp:
                ys[k] = y[row]
                k += 1
    for row in rows[below:]:
        ys[k] = y[row]
        k += 1


@compiled
def _sort_on(order, rows, below, zeros, ranked, tied, column, keys, lows, highs, equal, aside):  # type: ignore[no-untyped-def]
    """Sort `order`, a node's rows, by a column; `column` is a place for its codes."""
    if zeros > 0:
        code = (below - (tied[below - 1] if below > 0 else 0)) * ROW
        for row in order:
            column[row] = code
    for i in range(len(rows)):
        r = i if i < below else i + zeros
        column[rows[i]] = (r - tied[r]) * ROW
    for i in range(len(order)):
        keys[i] = column[order[i]] + order[i]
    _quicksort(keys, len(order), ranked, tied, lows, highs, equal, aside)
    for i in range(len(order)):
        order[i] = keys[i] & BELOW


@compiled
def _divide(rows, values, low, high, goes_left, rows_aside, values_aside):  # type: ignore[no-untyped-def]
    """Move the rows that go left to the front of a run of rows and values; return where the rest begins."""
    k, m = low, 0
    for i in range(low, high):
        row, value = rows[i], values[i]
        rows[k], values[k] = row, value
        rows_aside[m], values_aside[m] = row, value
        left = goes_left[row]
        k += left
        m += 1 - left
    for i in range(m):
        rows[k + i], values[k + i] = rows_aside[i], values_aside[i]
    return k


@compiled
def _grow(starts, rows, values, y, min_instances, order, sorts, roots, equal):  # type: ignore[no-untyped-def]
    n, d = len(y), len(starts) - 1
    most = 2 * n
    feature = np.full(most, -1, dtype=np.int32)
    threshold = np.zeros(most)
    right = np.zeros(most, dtype=np.int32)
    end = np.zeros(most, dtype=np.int32)
    start, stop = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    order = order.copy()
    # In a column's segment of `rows` and `values` those of a node are a run. Leaves are finished from left to right:
    # `begin` is where the current node's run begins in each segment, and `ends[level]` where that of a node that waits
    # on the stack ends.
    rows, values = rows.copy(), values.copy()
    begin, ends = starts[:-1].copy(), np.zeros((64, d), dtype=np.int64)
    ends[0] = starts[1:]
    waiting_stop = np.zeros(64, dtype=np.int64)
    waiting_parent = np.zeros(64, dtype=np.int64)
    waiting_stop[0], waiting_parent[0] = n, -1
    level = count = first = 0
    xs, ys = np.empty(n), np.empty(n)
    rows_aside, values_aside = np.empty(n, dtype=np.int32), np.empty(n)
    column, keys, ranked = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    tied, aside, cycles = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty((3, n), dtype=np.int64)
    lows, highs = np.empty(128, dtype=np.int64), np.empty(128, dtype=np.int64)
    goes_left = np.zeros(n, dtype=np.uint8)
    mark = np.full(n, -1, dtype=np.int64)
    stamp = 0
    fewest = max(min_instances, 4)
    root_sd = np.sqrt(_variance(y, n))
    while level >= 0:
        node, last = count, int(waiting_stop[level])
        count += 1
        if waiting_parent[level] >= 0:
            right[waiting_parent[level]] = node
        start[node], stop[node] = first, last
        size = last - first
        here = order[first:last]
        best, tested = -1e20, -1
        if size >= fewest:
            for i in range(size):
                ys[i] = y[here[i]]
            va = _variance(ys, size)
        if size >= fewest and not np.sqrt(va) < MIN_SPREAD * root_sd:
            reach = max(1, size // 5)
            spread = va if LEAST_SPREAD < va < 1.0 / LEAST_SPREAD else 0.0
            root = spread**0.2
            row_sum = 0
            for row in here:
                row_sum += row
            # Sorting by a constant does the same to the rows each time; it is put off until their order matters.
            constants, known = 0, False
            for j in range(d):
                stored = ends[level, j] - begin[j]
                zeros = size - stored
                if stored == 0 or (not sorts and stored <= reach):  # constant, or it is where it might be cut
                    constants += 1
                    continue
                run, run_values = rows[begin[j] : ends[level, j]], values[begin[j] : ends[level, j]]
                below = stored
                if zeros > 0:
                    below = np.searchsorted(run_values, 0.0) if run_values[0] < 0.0 else 0
                if _value(run_values, below, zeros, 0) == _value(run_values, below, zeros, size - 1):
                    constants += 1
                    continue
                if sorts:
                    if constants > 0:
                        if not known:
                            _find_cycles(size, cycles, keys, tied, lows, highs, equal, aside)
                            known = True
                        _permute(here, cycles, constants, aside)
                        constants = 0
                    _ranked(run, run_values, below, zeros, row_sum, ranked, tied)
                    if tied[size - 1] > 0:
                        _sort_on(here, run, below, zeros, ranked, tied, column, keys, lows, highs, equal, aside)
                    else:
                        for i in range(size):
                            here[i] = ranked[i]
                # the outermost values that a cut may touch
                x_low = _value(run_values, below, zeros, reach)
                if _value(run_values, below, zeros, size - reach - 1) - x_low < SAME:
                    continue
                xs[:below] = run_values[:below]
                xs[below : below + zeros] = 0.0
                xs[below + zeros : size] = run_values[below:]
                if sorts:
                    for i in range(size):
                        ys[i] = y[here[i]]
                else:
                    stamp += 1
                    _by_row(y, here, run, below, mark, stamp, ys)
                score, at = _best_cut(xs, ys, size, reach, spread, root, roots, best + SAME)
                if at >= 0:
                    best, tested = score, j
                    feature[node], threshold[node] = j, xs[at] * 0.5 + xs[at + 1] * 0.5  # their sum can overflow
            if sorts and constants > 0:
                if not known:
                    _find_cycles(size, cycles, keys, tied, lows, highs, equal, aside)
                _permute(here, cycles, constants, aside)
        n_left = 0
        if tested >= 0:
            for row in here:
                goes_left[row] = threshold[node] >= 0.0
            for i in range(begin[tested], ends[level, tested]):
                goes_left[rows[i]] = values[i] <= threshold[node]
            for row in here:
                n_left += goes_left[row]
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
        if max(n_left, size - n_left) >= fewest:  # else nothing will be looked for in these
            for j in range(d):
                ends[level + 1, j] = begin[j]
                if begin[j] < ends[level, j]:
                    ends[level + 1, j] = _divide(
                        rows, values, begin[j], ends[level, j], goes_left, rows_aside, values_aside
                    )
        else:
            ends[level + 1] = begin
        k = m = 0
        for i in range(size):
            row = here[i]
            here[k], aside[m] = row, row
            k += goes_left[row]
            m += 1 - goes_left[row]
        here[k:] = aside[:m]
        waiting_parent[level] = node
        waiting_stop[level + 1], waiting_parent[level + 1] = first + k, -1
        level += 1
    for node in range(count - 1, -1, -1):
        end[node] = node + 1 if feature[node] < 0 else end[right[node]]
    return count, order, feature, threshold, right, end, start, stop
