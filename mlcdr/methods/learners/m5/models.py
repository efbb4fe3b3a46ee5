"""The linear models at the inner nodes of a tree, which pruning and smoothing use.

Source: Quinlan 1992, section 2.2 (simplification), with the criterion of WEKA's linear regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.learners.m5.columns import Array, Columns, Indices
from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.methods.learners.m5.grow import Grown

RIDGE = 1e-8  # added to the diagonal of the standardised features' Gram matrix
LARGEST = 1.5  # a standardised coefficient above this means collinear features
DOUBTFUL = 1e6  # an inverse is computed again when a feature with a variance inflation above this leaves it
DENSE = 0.25  # share of non-zeros from which a node's features are centred before they are multiplied
EXACT = 1e-3  # share of the targets' squares below which an error is summed again, row by row
ROWS = 32  # are multiplied together
TOGETHER = 32  # pivots of an inverse
OFFSET = 100.0  # as they are where a mean is this many standard deviations away from 0


@dataclass(frozen=True, eq=False)
class Models:
    """A linear model for each node; constants, the mean of the targets, in the leaves.

    Attributes
    ----------
    starts : array of shape (m + 1,)
        Node i's coefficients are `coefficients[starts[i]:starts[i + 1]]`, of the features `features[...]`.
    features, coefficients : arrays
    intercepts : array of shape (m,)
    fitted_starts : array of shape (m + 1,)
        `fitted[fitted_starts[i]:...]` are the model's values for the node's rows, in the tree's order.
    fitted : array
    """

    starts: NDArray[np.int64]
    features: Indices
    coefficients: Array
    intercepts: Array
    fitted_starts: NDArray[np.int64]
    fitted: Array

    def sizes(self) -> NDArray[np.int64]:
        """How many coefficients each model has."""
        return np.diff(self.starts)


def fit_models(columns: Columns, tree: Grown, y: Array) -> Models:
    """The models of all nodes of a tree grown on y (n,).

    A model uses the p features that are tested anywhere below its node. It is the ridge solution (1e-8, on
    standardised features) with a free intercept. While the largest standardised coefficient is above 1.5 its feature
    is dropped; with what is left (k₀ parameters, error SSE₀) the feature of the smallest one is dropped while
    SSE / SSE₀ · (n − k₀) + 2k falls. Cost of a node: the Gram matrix (np², less for sparse features) and p³ for its
    inverse, out of which a feature is dropped in p².
    """
    fields = (tree.feature, tree.end, tree.start, tree.stop, tree.order)
    return Models(
        *_fit_models(columns.row_starts, columns.row_columns, columns.row_values, columns.n_features, y, *fields)
    )


@compiled
def _subtract(row, factors, pivots, count, low, high):  # type: ignore[no-untyped-def]
    """From `row[low:high]` the first `count` rows of `pivots` times the factors, one after the other."""
    k = 0
    while k < count:
        many = k + 8 <= count
        for i in range(k, min(k + 8, count)):
            many &= factors[i] != 0.0
        if many:  # eight in one walk over the row
            f_0, f_1, f_2, f_3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
            f_4, f_5, f_6, f_7 = factors[k + 4], factors[k + 5], factors[k + 6], factors[k + 7]
            x_0, x_1, x_2, x_3 = pivots[k], pivots[k + 1], pivots[k + 2], pivots[k + 3]
            x_4, x_5, x_6, x_7 = pivots[k + 4], pivots[k + 5], pivots[k + 6], pivots[k + 7]
            for j in range(low, high):
                some = row[j] - f_0 * x_0[j] - f_1 * x_1[j] - f_2 * x_2[j] - f_3 * x_3[j]
                row[j] = some - f_4 * x_4[j] - f_5 * x_5[j] - f_6 * x_6[j] - f_7 * x_7[j]
            k += 8
            continue
        factor, x = factors[k], pivots[k]
        if factor != 0.0:
            for j in range(low, high):
                row[j] -= factor * x[j]
        k += 1


@compiled
def _solve(gram, b, kept, work):  # type: ignore[no-untyped-def]
    """G⁻¹ and G⁻¹b of the features `kept` by Gauss-Jordan, into the corner of `work` and the column beside it.

    Some pivots are taken together, so that the other rows are read from memory once for them all; the operations on
    each number, and their order, are the same as with one pivot at a time.
    """
    m = len(kept)
    for i in range(m):
        for j in range(m):
            work[i, j] = gram[kept[i], kept[j]]
        work[i, m] = b[kept[i]]
    pivots, factors = np.empty((TOGETHER, m + 1)), np.empty(TOGETHER)
    for first in range(0, m, TOGETHER):
        last = min(first + TOGETHER, m)
        for k in range(first, last):
            pivot = 1.0 / work[k, k]
            work[k, k] = 1.0
            for j in range(m + 1):
                work[k, j] *= pivot
                pivots[k - first, j] = work[k, j]
            for i in range(first, last):
                factor = work[i, k]
                if i != k and factor != 0.0:
                    work[i, k] = 0.0
                    for j in range(m + 1):
                        work[i, j] -= factor * work[k, j]
        for i in range(m):
            if first <= i < last:
                continue
            row = work[i]
            for k in range(first, last):
                factor = row[k]
                factors[k - first] = factor
                if factor != 0.0:
                    row[k] = 0.0
                    for j in range(first, last):
                        row[j] -= factor * pivots[k - first, j]
            _subtract(row, factors, pivots, last - first, 0, first)
            _subtract(row, factors, pivots, last - first, last, m + 1)


@compiled
def _without(gram, b, kept, at, work):  # type: ignore[no-untyped-def]
    """The features `kept` without the one at place `at`, also removed from the inverse and solution in `work`."""
    m = len(kept)
    left = np.empty(m - 1, dtype=np.int64)
    left[:at], left[at:] = kept[:at], kept[at + 1 :]
    if work[at, at] * gram[kept[at], kept[at]] > DOUBTFUL:  # the inverse has few digits left
        _solve(gram, b, left, work)
        return left
    pivot = 1.0 / work[at, at]
    for i in range(m):
        factor = work[i, at] * pivot
        if i != at and factor != 0.0:
            for j in range(m + 1):
                work[i, j] -= factor * work[at, j]
    for i in range(m - 1):
        row = i if i < at else i + 1
        for j in range(at):
            work[i, j] = work[row, j]
        for j in range(at, m):
            work[i, j] = work[row, j + 1]
    return left


@compiled
def _extreme(solution, sd_y, largest):  # type: ignore[no-untyped-def]
    """The place of the largest standardised coefficient above `LARGEST` (−1: none is), or of the smallest."""
    at, extreme = -1, LARGEST
    for i in range(len(solution)):
        size = abs(solution[i] / sd_y)
        if size > extreme if largest else (i == 0 or size < extreme):
            at, extreme = i, size
    return at


@compiled
def _part(source_starts, source_columns, source_values, rows, place):  # type: ignore[no-untyped-def]
    """Some rows, with their entries in the columns that have a place: where each row begins, the places, and the
    values.
    """
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    most = 0
    for row in rows:
        most += source_starts[row + 1] - source_starts[row]
    columns, values = np.empty(most, dtype=np.int64), np.empty(most)
    k = 0
    for i in range(len(rows)):
        for q in range(source_starts[rows[i]], source_starts[rows[i] + 1]):
            if place[source_columns[q]] >= 0:
                columns[k], values[k] = place[source_columns[q]], source_values[q]
                k += 1
        starts[i + 1] = k
    return starts, columns, values


@compiled
def _evaluate(row_starts, columns, values, coefficients, intercept, found):  # type: ignore[no-untyped-def]
    """The linear model's value for each row."""
    for i in range(len(found)):
        value = intercept
        for q in range(row_starts[i], row_starts[i + 1]):
            value += coefficients[columns[q]] * values[q]
        found[i] = value


@compiled
def _add_products(rows, m, target, gram, b):  # type: ignore[no-untyped-def]
    """Add the products of m rows with each other to the lower half of `gram`, and with the target to b; row by row."""
    p = len(gram)
    for k in range(m):
        for a in range(p):
            b[a] += rows[k, a] * target[k]
    for a in range(p):
        gram_a = gram[a, : a + 1]
        for k in range(0, m - 3, 4):  # four at a time: the sums are read and written once
            f_0, f_1, f_2, f_3 = rows[k, a], rows[k + 1, a], rows[k + 2, a], rows[k + 3, a]
            x_0, x_1, x_2, x_3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            for c in range(a + 1):
                gram_a[c] = gram_a[c] + f_0 * x_0[c] + f_1 * x_1[c] + f_2 * x_2[c] + f_3 * x_3[c]
        for k in range(m - m % 4, m):
            factor, x = rows[k, a], rows[k]
            for c in range(a + 1):
                gram_a[c] += factor * x[c]


@compiled
def _moments(row_starts, columns, values, p, target):  # type: ignore[no-untyped-def]
    """Means (p,), the features' centred Gram matrix (p×p) and products with the centred target, of a node's rows."""
    n = len(target)
    mean, gram, b = np.zeros(p), np.zeros((p, p)), np.zeros(p)
    for q in range(row_starts[0], row_starts[n]):
        a = columns[q]
        mean[a] += values[q]
        gram[a, a] += values[q] * values[q]
    for a in range(p):  # loops instead of operations on whole arrays: they compile in a fraction of the time
        mean[a] /= n
    centre = row_starts[n] - row_starts[0] > DENSE * n * p
    for a in range(p):
        spread = gram[a, a] - n * mean[a] * mean[a]
        if n * mean[a] * mean[a] > OFFSET * OFFSET * spread:
            centre = True
        gram[a, a] = 0.0
    if centre:
        some = np.empty((ROWS, p))
        for first in range(0, n, ROWS):
            m = min(ROWS, n - first)
            for k in range(m):
                for a in range(p):
                    some[k, a] = -mean[a]
                for q in range(row_starts[first + k], row_starts[first + k + 1]):
                    a = columns[q]
                    some[k, a] = values[q] - mean[a]
            _add_products(some, m, target[first : first + m], gram, b)
    else:
        for i in range(n):
            for q in range(row_starts[i], row_starts[i + 1]):
                a = columns[q]
                b[a] += values[q] * target[i]
                for r in range(row_starts[i], q + 1):  # columns ascend in a row, and places with them
                    gram[a, columns[r]] += values[q] * values[r]
    for a in range(p):
        for c in range(a + 1):
            if not centre:
                gram[a, c] -= n * mean[a] * mean[c]
            gram[c, a] = gram[a, c]
    return mean, gram, b


@compiled
def _error(row_starts, columns, values, kept, solution, sd, mean, target):  # type: ignore[no-untyped-def]
    """The sum of squared residuals of a standardised solution, row by row."""
    coefficients, intercept = np.zeros(len(sd)), 0.0
    for i in range(len(kept)):
        coefficients[kept[i]] = solution[i] / sd[kept[i]]
        intercept -= coefficients[kept[i]] * mean[kept[i]]
    found = np.empty(len(target))
    _evaluate(row_starts, columns, values, coefficients, intercept, found)
    error = 0.0
    for i in range(len(target)):
        error += (target[i] - found[i]) ** 2
    return error


@compiled
def _mean(y):  # type: ignore[no-untyped-def]
    total = 0.0
    for value in y:
        total += value
    return total / len(y)


@compiled
def _linear(row_starts, columns, values, p, y):  # type: ignore[no-untyped-def]
    """The model of one node from its p features: coefficients (p,), 0 for those dropped, and the intercept."""
    n = len(y)
    coefficients = np.zeros(p)
    mean_y = _mean(y)
    target = np.empty(n)
    square_y = 0.0
    for i in range(n):
        target[i] = y[i] - mean_y
        square_y += target[i] * target[i]
    mean, gram, b = _moments(row_starts, columns, values, p, target)
    sd_y = np.sqrt(square_y / (n - 1))
    sd = np.empty(p)
    kept = np.empty(p, dtype=np.int64)
    m = 0
    for a in range(p):
        sd[a] = np.sqrt(gram[a, a] / (n - 1))
        if sd[a] > 0:
            kept[m] = a
            m += 1
    kept = kept[:m].copy()
    for i in range(m):
        for j in range(m):
            gram[kept[i], kept[j]] /= sd[kept[i]] * sd[kept[j]]
        gram[kept[i], kept[i]] += RIDGE
        b[kept[i]] /= sd[kept[i]]
    work = np.empty((m, m + 1))
    _solve(gram, b, kept, work)
    while True:
        at = _extreme(work[: len(kept), len(kept)], sd_y, True)
        if at < 0:
            break
        kept = _without(gram, b, kept, at, work)
    k_first = len(kept) + 1
    solution = work[: len(kept), len(kept)].copy()
    first = _error(row_starts, columns, values, kept, solution, sd, mean, target)
    error, criterion = first, n + float(k_first)
    dropped = False
    while len(kept) > 0:
        at = _extreme(solution, sd_y, False)
        penalised = error + solution[at] * solution[at] / work[at, at]
        for i in range(len(kept)):
            penalised += RIDGE * solution[i] * solution[i]
        fewer = _without(gram, b, kept, at, work)
        shorter = work[: len(fewer), len(fewer)].copy()
        error = penalised
        for i in range(len(fewer)):
            error -= RIDGE * shorter[i] * shorter[i]
        if not error > EXACT * square_y:
            error = _error(row_starts, columns, values, fewer, shorter, sd, mean, target)
        new = error / first * (n - k_first) + 2.0 * (len(fewer) + 1)
        if not new < criterion:
            break
        kept, solution, criterion, dropped = fewer, shorter, new, True
    if dropped:  # the rounding errors of many steps are not to stay
        _solve(gram, b, kept, work)
        solution = work[: len(kept), len(kept)].copy()
    intercept = mean_y
    for i in range(len(kept)):
        coefficients[kept[i]] = solution[i] / sd[kept[i]]
        intercept -= coefficients[kept[i]] * mean[kept[i]]
    return coefficients, intercept


@compiled
def _fit_models(row_starts, row_columns, row_values, d, y, feature, end, start, stop, order):  # type: ignore[no-untyped-def]
    m, n = len(feature), len(y)
    starts = np.zeros(m + 1, dtype=np.int64)
    features, coefficients = np.empty(1024, dtype=np.int32), np.empty(1024)
    intercepts = np.zeros(m)
    fitted_starts = np.zeros(m + 1, dtype=np.int64)
    for node in range(m):
        fitted_starts[node + 1] = fitted_starts[node] + stop[node] - start[node]
    fitted = np.empty(fitted_starts[m])
    place, tested = np.full(d, -1, dtype=np.int64), np.empty(d, dtype=np.int32)
    in_order = np.empty(n)
    for i in range(n):
        in_order[i] = y[order[i]]
    for node in range(m):
        first, last = start[node], stop[node]
        y_here, values = in_order[first:last], fitted[fitted_starts[node] : fitted_starts[node + 1]]
        starts[node + 1] = starts[node]
        if feature[node] < 0:
            intercepts[node] = _mean(y_here)
            values[:] = intercepts[node]
            continue
        p = np.int64(0)  # a plain 0 is a type of its own at first, for which numba would compile all that is called
        for below in range(node, end[node]):
            j = feature[below]
            if j >= 0 and place[j] < 0:
                place[j] = 0
                tested[p] = j
                p += 1
        tested[:p].sort()
        for a in range(p):
            place[tested[a]] = a
        part = _part(row_starts, row_columns, row_values, order[first:last], place)
        found, intercepts[node] = _linear(*part, p, y_here)
        _evaluate(*part, found, intercepts[node], values)
        for a in range(p):
            place[tested[a]] = -1
        while starts[node] + p > len(features):
            features = np.concatenate((features, np.empty_like(features)))
            coefficients = np.concatenate((coefficients, np.empty_like(coefficients)))
        k = starts[node]
        for a in range(p):
            if found[a] != 0.0:
                features[k], coefficients[k] = tested[a], found[a]
                k += 1
        starts[node + 1] = k
    return starts, features[: starts[m]].copy(), coefficients[: starts[m]].copy(), intercepts, fitted_starts, fitted
