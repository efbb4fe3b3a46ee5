"""The features as growing and modelling use them: columns sorted once for all outputs, without their zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.methods.learners.m5.compiled import compiled
from mlcdr.numerics.sums import frozen

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Pointers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Non-zero values by column, sorted by value (equal ones by row), and by row; the same for dense and sparse X.

    Only of the d features that are not constant: the others play no part. Cost: X once, and nnz log n for columns that
    are not in order already, as those of zeros and ones are. In the sorted order of a column the zeros, which are one
    block in the order of the rows, stand between the negative and the positive values.

    Attributes
    ----------
    features : array of shape (d,)
        Their numbers in X, ascending.
    starts : array of shape (d + 1,)
        Column j is `rows[starts[j]:starts[j + 1]]`, `values[...]`.
    rows, values : arrays of shape (nnz,)
    row_starts, row_columns, row_values : arrays
        The same values by row, columns ascending.
    """

    features: Indices
    starts: Pointers
    rows: Indices
    values: Array
    row_starts: Pointers
    row_columns: Indices
    row_values: Array

    @classmethod
    def of(cls, X: Any) -> Columns:
        """From X (n×d), dense or sparse."""
        n = X.shape[0]
        if sp.issparse(X):
            by_row = sp.csr_array(X, dtype=np.float64, copy=True)
            by_row.sum_duplicates()
            by_row.eliminate_zeros()
            features = np.flatnonzero(_varies_sparse(by_row.indices, by_row.data, *X.shape))
            if len(features) < X.shape[1]:
                by_row = by_row[:, features]
            row_starts = by_row.indptr.astype(np.int64)
            row_columns, row_values = by_row.indices.astype(np.int32), by_row.data
        else:
            X = frozen(np.ascontiguousarray(X, dtype=np.float64)[:])  # a view, always the same to numba
            features = np.flatnonzero(_varies(X))
            row_starts, row_columns, row_values = _rows_of(X, features)
        starts, rows, values, in_order = _columns_of(row_starts, row_columns, row_values, len(features))
        group = np.empty(n, dtype=np.int64)
        for j in np.flatnonzero(~in_order):
            column = slice(starts[j], starts[j + 1])
            _sort_column(rows[column], values[column], np.argsort(values[column]), group)
        return cls(features.astype(np.int32), starts, rows, values, row_starts, row_columns, row_values)

    @property
    def n_features(self) -> int:
        """The number of features that are not constant, d."""
        return len(self.features)


@compiled
def _varies(X):  # type: ignore[no-untyped-def]
    """Which columns of a dense X are not constant."""
    n, d = X.shape
    found = np.zeros(d, dtype=np.bool_)
    for i in range(1, n):
        for j in range(d):
            found[j] |= X[i, j] != X[0, j]
    return found


@compiled
def _varies_sparse(columns, values, n, d):  # type: ignore[no-untyped-def]
    """Which columns are not constant, from the non-zeros of X (n×d)."""
    count, differs, one = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.bool_), np.zeros(d)
    for q in range(len(columns)):
        j = columns[q]
        if count[j] == 0:
            one[j] = values[q]
        count[j] += 1
        differs[j] |= values[q] != one[j]
    for j in range(d):
        differs[j] |= 0 < count[j] < n
    return differs


@compiled
def _rows_of(X, features):  # type: ignore[no-untyped-def]
    """The non-zeros of some columns of a dense X by row: starts, places of the columns, values."""
    n, d = len(X), len(features)
    starts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        count = 0
        for a in range(d):
            count += X[i, features[a]] != 0.0
        starts[i + 1] = starts[i] + count
    columns, values = np.empty(starts[n], dtype=np.int32), np.empty(starts[n])
    for i in range(n):
        q = starts[i]
        for a in range(d):
            value = X[i, features[a]]
            if value != 0.0:
                columns[q], values[q] = a, value
                q += 1
    return starts, columns, values


@compiled
def _columns_of(row_starts, row_columns, row_values, d):  # type: ignore[no-untyped-def]
    """By column, rows ascending: starts, rows, values; and which columns ascend in value as they are."""
    starts = np.zeros(d + 1, dtype=np.int64)
    for j in row_columns:
        starts[j + 1] += 1
    for j in range(d):
        starts[j + 1] += starts[j]
    rows, values = np.empty(len(row_columns), dtype=np.int32), np.empty(len(row_columns))
    free = starts[:-1].copy()
    in_order = np.ones(d, dtype=np.bool_)
    for i in range(len(row_starts) - 1):
        for q in range(row_starts[i], row_starts[i + 1]):
            j, value = row_columns[q], row_values[q]
            k = free[j]
            rows[k], values[k] = i, value
            free[j] = k + 1
            if k > starts[j] and value < values[k - 1]:
                in_order[j] = False
    return starts, rows, values, in_order


@compiled
def _sort_column(rows, values, order, group):  # type: ignore[no-untyped-def]
    """Sort a column in place: by `order`, but equal values as they stand. `group` is room for n numbers."""
    m = len(order)
    ascending, next_of = np.empty(m), np.empty(m, dtype=np.int64)
    count = 0
    for i in range(m):
        ascending[i] = values[order[i]]
        if i == 0 or ascending[i] != ascending[i - 1]:
            next_of[count] = i
            count += 1
        group[order[i]] = count - 1
    before = rows.copy()
    for i in range(m):
        k = group[i]
        rows[next_of[k]] = before[i]
        next_of[k] += 1
    for i in range(m):
        values[i] = ascending[i]
