"""The linear models at the inner nodes of a tree, which pruning and smoothing use.

Source: Quinlan 1992, section 2.2 (simplification), with the criterion of WEKA's linear regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlcdr.learners.m5.columns import Array, Columns, Indices
from mlcdr.learners.m5.compiled import compiled
from mlcdr.learners.m5.grow import Grown

RIDGE = 1e-8  # added to the diagonal of the standardised features' Gram matrix
LARGEST = 1.5  # a standardised coefficient above this means collinear features
DOUBTFUL = 1e6  # an inverse is computed anew when a feature with a variance inflation above this leaves it
DENSE = 0.25  # share of non-zeros from which a node's features are centred before they are multiplied
EXACT = 1e-3  # share of the targets' squares below which an error is summed anew, row by row
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

    A model looks at the p features that are tested anywhere below its node. It is the ridge solution (1e-8, on
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
def _solve(gram, b, kept, work):  # type: ignore[no-untyped-def]
    """G⁻¹ and G⁻¹b of the features `kept` by Gauss-Jordan, into the corner of `work` and the column beside it."""
    m = len(kept)
    for i in range(m):
        for j in range(m):
            work[i, j] = gram[kept[i], kept[j]]
        work[i, m] = b[kept[i]]
    for k in range(m):
        pivot = 1.0 / work[k, k]
        work[k, k] = 1.0
        for j in range(m + 1):
            work[k, j] *= pivot
        for i in range(m):
            factor = work[i, k]
            if i != k and factor != 0.0:
                work[i, k] = 0.0
                for j in range(m + 1):
                    work[i, j] -= factor * work[k, j]


@compiled
def _without(gram, b, kept, at, work):  # type: ignore[no-untyped-def]
    """The features `kept` but the one in place `at`, which is also taken out of the inverse and solution in `work`."""
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
def _evaluate(row_starts, row_columns, row_values, members, place, coefficients, intercept, values):  # type: ignore[no-untyped-def]
    """The linear model's value for each row of `members`; `place` leads from a feature to its coefficient, or is −1."""
    for i in range(len(members)):
        value = intercept
        for q in range(row_starts[members[i]], row_starts[members[i] + 1]):
            a = place[row_columns[q]]
            if a >= 0:
                value += coefficients[a] * row_values[q]
        values[i] = value


@compiled
def _moments(row_starts, row_columns, row_values, members, place, p, target):  # type: ignore[no-untyped-def]
    """Means (p,), the features' centred Gram matrix (p×p) and products with the centred target, of a node's rows."""
    n = len(members)
    mean, gram, b = np.zeros(p), np.zeros((p, p)), np.zeros(p)
    at, value = np.empty(p, dtype=np.int64), np.empty(p)
    total = 0
    for i in range(n):
        for q in range(row_starts[members[i]], row_starts[members[i] + 1]):
            a = place[row_columns[q]]
            if a >= 0:
                mean[a] += row_values[q]
                gram[a, a] += row_values[q] * row_values[q]
                total += 1
    mean /= n
    centre = total > DENSE * n * p
    for a in range(p):
        spread = gram[a, a] - n * mean[a] * mean[a]
        if n * mean[a] * mean[a] > OFFSET * OFFSET * spread:
            centre = True
        gram[a, a] = 0.0
    for i in range(n):
        count = 0
        if centre:
            for a in range(p):
                value[a] = -mean[a]
            for q in range(row_starts[members[i]], row_starts[members[i] + 1]):
                a = place[row_columns[q]]
                if a >= 0:
                    value[a] = row_values[q] - mean[a]
            for a in range(p):
                factor = value[a]
                b[a] += factor * target[i]
                for c in range(a + 1):
                    gram[a, c] += factor * value[c]
            continue
        for q in range(row_starts[members[i]], row_starts[members[i] + 1]):
            a = place[row_columns[q]]
            if a >= 0:
                at[count], value[count] = a, row_values[q]
                count += 1
        for k in range(count):
            b[at[k]] += value[k] * target[i]
            for c in range(k + 1):  # columns ascend in a row, and places with them
                gram[at[k], at[c]] += value[k] * value[c]
    for a in range(p):
        for c in range(a + 1):
            if not centre:
                gram[a, c] -= n * mean[a] * mean[c]
            gram[c, a] = gram[a, c]
    return mean, gram, b


@compiled
def _error(row_starts, row_columns, row_values, members, place, kept, solution, sd, mean, target):  # type: ignore[no-untyped-def]
    """The sum of squared residuals of a standardised solution, row by row."""
    coefficients, intercept = np.zeros(len(sd)), 0.0
    for i in range(len(kept)):
        coefficients[kept[i]] = solution[i] / sd[kept[i]]
        intercept -= coefficients[kept[i]] * mean[kept[i]]
    values = np.empty(len(members))
    _evaluate(row_starts, row_columns, row_values, members, place, coefficients, intercept, values)
    error = 0.0
    for i in range(len(members)):
        error += (target[i] - values[i]) ** 2
    return error


@compiled
def _linear(row_starts, row_columns, row_values, members, place, p, y):  # type: ignore[no-untyped-def]
    """The model of one node from its p features: coefficients (p,), 0 for those dropped, and the intercept."""
    n = len(members)
    coefficients = np.zeros(p)
    mean_y = 0.0
    for i in range(n):
        mean_y += y[members[i]]
    mean_y /= n
    target = np.empty(n)
    square_y = 0.0
    for i in range(n):
        target[i] = y[members[i]] - mean_y
        square_y += target[i] * target[i]
    if p == 0:
        return coefficients, mean_y
    mean, gram, b = _moments(row_starts, row_columns, row_values, members, place, p, target)
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
    first = _error(row_starts, row_columns, row_values, members, place, kept, solution, sd, mean, target)
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
            error = _error(row_starts, row_columns, row_values, members, place, fewer, shorter, sd, mean, target)
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
    m = len(feature)
    starts = np.zeros(m + 1, dtype=np.int64)
    features, coefficients = np.empty(1024, dtype=np.int32), np.empty(1024)
    intercepts = np.zeros(m)
    fitted_starts = np.zeros(m + 1, dtype=np.int64)
    for node in range(m):
        fitted_starts[node + 1] = fitted_starts[node] + stop[node] - start[node]
    fitted = np.empty(fitted_starts[m])
    place = np.full(d, -1, dtype=np.int64)
    for node in range(m):
        members = order[start[node] : stop[node]]
        tested = feature[node : end[node]]
        tested = np.unique(tested[tested >= 0])
        p = len(tested)
        for a in range(p):
            place[tested[a]] = a
        found, intercepts[node] = _linear(row_starts, row_columns, row_values, members, place, p, y)
        values = fitted[fitted_starts[node] : fitted_starts[node + 1]]
        _evaluate(row_starts, row_columns, row_values, members, place, found, intercepts[node], values)
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
