"""Nearest rows by Euclidean distance, among dense or sparse rows, with a rule for ties.

Squared distances come a block of queries at a time, by ‖a‖² + ‖b‖² − 2ab, which rounds to about 1e-16 of the squared
lengths. That decides all rows except those whose distance equals the k-th up to rounding: for these the distance is
computed again, as Σ(a−b)², and where it is still equal to 12 digits, the first rows are taken. For whole numbers
distances are exact. So a query's neighbours do not depend on blocks, nor on whether the rows are sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import sums

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BLOCK = 1 << 22  # distances at a time
_PAIRS = 1 << 22  # numbers at a time where distances are computed again
_ROUNDING = 1e-12  # of the squared lengths, and of a distance
_EXACT = 2.0**50  # sums of whole numbers below this are exact


class Neighbours:
    """The rows to search: X (m×d, dense or CSR), kept as it is (dense rows less their mean).

    Cost of `nearest`: the product of the queries and the rows (nmd, or the products of their non-zeros), and nm to
    select; n·m numbers are never held at once.
    """

    def __init__(self, X: Any):
        self.sparse = sp.issparse(X)
        self.whole = _is_whole(X)
        self.origin = 0.0 if self.sparse or self.whole else np.asarray(X).mean(axis=0)
        self.rows, self.moved = X, X if self.sparse else X - self.origin
        self.squares = sums.row_squares(self.moved)

    def nearest(self, queries: Any, k: int, leave_out_itself: bool = False) -> sp.csr_array:
        """The k nearest rows of each query, as a matrix (n×m) with a 1 for each.

        `leave_out_itself`: the queries are the rows themselves, and none is its own neighbour.
        """
        found = list(self._blocks(queries, k, leave_out_itself)) if k > 0 and queries.shape[0] else []
        columns = np.concatenate(found) if found else np.zeros((queries.shape[0], 0), dtype=np.intp)
        n, width = columns.shape
        pointers = np.arange(n + 1) * width
        return sp.csr_array((np.ones(n * width), columns.ravel(), pointers), shape=(n, self.rows.shape[0]))

    def _blocks(self, queries: Any, k: int, leave_out_itself: bool) -> Iterator[Index]:
        """For a few queries at a time: the nearest rows of each, ascending by number."""
        if self.sparse != sp.issparse(queries):
            queries = sp.csr_array(queries) if self.sparse else sums.dense(queries)
        exact = self.whole and _is_whole(queries)
        moved = queries if self.sparse else queries - self.origin
        lengths = sums.row_squares(moved)
        m = self.rows.shape[0]
        step = max(1, _BLOCK // max(m, 1))
        transposed = self.moved.T.tocsr() if self.sparse else self.moved.T
        for start in range(0, moved.shape[0], step):
            block = slice(start, start + step)
            distances = sums.dense(moved[block] @ transposed)
            distances *= -2.0
            distances += self.squares
            distances += lengths[block, None]
            if leave_out_itself:
                index = np.arange(len(distances))
                distances[index, start + index] = np.inf
            if k >= m:
                yield np.tile(np.arange(m), (len(distances), 1))
            elif exact:
                yield np.nonzero(mark_nearest(distances, k))[1].reshape(-1, k)
            else:
                yield self._select(queries[block], lengths[block], distances, k)

    def _select(self, queries: Any, lengths: Array, distances: Array, k: int) -> Index:
        """The k columns of the smallest distances in each row, ascending; these are not exact."""
        chosen = np.argpartition(distances, k - 1, axis=1)[:, :k]
        last = np.take_along_axis(distances, chosen, axis=1).max(axis=1)
        limit = last + _ROUNDING * (lengths + self.squares.max())
        for i in np.flatnonzero(np.count_nonzero(distances <= limit[:, None], axis=1) > k):
            near = np.flatnonzero(distances[i] <= limit[i])
            chosen[i] = near[_smallest(self._differences(queries[i : i + 1], near), k)]
        chosen.sort(axis=1)
        return chosen

    def _differences(self, query: Any, near: Index) -> Array:
        """Σ(a−b)² of one query and some rows."""
        result, step = np.empty(len(near)), max(1, _PAIRS // max(1, self.rows.shape[1]))
        for start in range(0, len(near), step):
            rows = self.rows[near[start : start + step]]
            apart = rows - (sp.csr_array(np.ones((rows.shape[0], 1))) @ query if self.sparse else query)
            result[start : start + step] = sums.row_squares(apart)
        return result


def mark_nearest(distances: Array, k: int) -> NDArray[np.bool_]:
    """Which 0 < k ≤ m of each row's distances (n×m) are the smallest; of those equal to the k-th the first."""
    limit = np.partition(distances, k - 1, axis=1)[:, [k - 1]]
    nearer, tied = distances < limit, distances == limit
    return nearer | (tied & (np.cumsum(tied, axis=1) <= k - nearer.sum(axis=1, keepdims=True)))


def nearest_label_sets(Y: Any, k: int) -> tuple[Index, Index]:
    """The k ≤ n nearest rows of each distinct one of n label sets, and which of these each row is (n,).

    Nearest by the number of labels that differ; ties go to the first, so that of the rows with the same label set only
    the first k are searched. Y (n×K of {0, 1}) is dense or CSR. Cost: the products of the distinct label sets with as
    many times k rows at most.
    """
    member = _group_equal_rows(Y)
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], member[order])
    candidates = np.sort(order[np.arange(len(member)) - starts < k])
    sets = Y[order[np.unique(starts)]]
    found = Neighbours(Y[candidates]).nearest(sets, k)
    return candidates[found.indices.reshape(-1, k)], member


def _group_equal_rows(Y: Any) -> Index:
    """Which of the distinct rows of Y (n×K of {0, 1}) each row is (n,)."""
    rows = sp.csr_array(Y).sorted_indices()
    names = [rows.indices[a:b].tobytes() for a, b in pairwise(rows.indptr)]
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1]


def _smallest(distances: Array, k: int) -> Index:
    """Which k are smallest; of those as far away as the k-th (to 12 digits) the first."""
    last = np.partition(distances, k - 1)[k - 1]
    slack = _ROUNDING * last
    surely = np.flatnonzero(distances < last - slack)
    tied = np.flatnonzero((distances >= last - slack) & (distances <= last + slack))
    return np.concatenate((surely, tied[: k - len(surely)]))


def _is_whole(X: Any) -> bool:
    """Whether all values are whole numbers so small that sums of their products are exact."""
    values = X.data if sp.issparse(X) else X
    if not np.array_equal(values, np.rint(values)):
        return False
    return X.shape[1] * float(np.max(np.abs(values), initial=0.0)) ** 2 * 4 < _EXACT
