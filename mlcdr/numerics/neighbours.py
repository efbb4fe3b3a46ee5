"""Nearest rows by Euclidean distance, among dense or sparse rows, with a rule for ties.

Squared distances come a block of queries at a time, by ‖a‖² + ‖b‖² − 2ab, which rounds to about 1e-16 of the squared
lengths. That decides all but the rows that lie, as far as it can tell, as far away as the k-th: of these the distance
is computed anew, as Σ(a−b)², and where it is still the same to 12 digits, the rows that come first are taken. Whole
numbers are exact in the first place. So a query's neighbours do not depend on blocks, nor on whether the rows are
sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import sums

Array = NDArray[np.float64]

_BLOCK = 1 << 22  # distances at a time
_PAIRS = 1 << 22  # numbers at a time where distances are computed anew
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
        self.squares = _row_squares(self.moved)

    def nearest(self, queries: Any, k: int, leave_out_itself: bool = False) -> sp.csr_array:
        """The k nearest rows of each query, as a matrix (n×m) with a 1 for each.

        `leave_out_itself`: the queries are the rows themselves, and none is its own neighbour.
        """
        found = [index for _, index in self._blocks(queries, k, leave_out_itself)]
        columns = np.concatenate(found) if found else np.zeros((0, k), dtype=np.intp)
        n, width = columns.shape
        pointers = np.arange(n + 1) * width
        return sp.csr_array((np.ones(n * width), columns.ravel(), pointers), shape=(n, self.rows.shape[0]))

    def _blocks(self, queries: Any, k: int, leave_out_itself: bool) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """For a few queries at a time: the first one's number, and the nearest rows of each, ascending by number."""
        if self.sparse != sp.issparse(queries):
            queries = sp.csr_array(queries) if self.sparse else sums.dense(queries)
        exact = self.whole and _is_whole(queries)
        moved = queries if self.sparse else queries - self.origin
        lengths = _row_squares(moved)
        m = self.rows.shape[0]
        step = max(1, _BLOCK // max(m, 1))
        transposed = self.moved.T.tocsr() if self.sparse else self.moved.T
        for start in range(0, moved.shape[0], step):
            part = moved[start : start + step]
            product = part @ transposed
            distances = sums.dense(product) if self.sparse else product
            distances *= -2.0
            distances += self.squares
            distances += lengths[start : start + step, None]
            if leave_out_itself:
                index = np.arange(len(distances))
                distances[index, start + index] = np.inf
            yield start, self._select(queries, start, lengths[start : start + step], distances, k, exact)

    def _select(
        self, queries: Any, start: int, lengths: Array, distances: Array, k: int, exact: bool
    ) -> NDArray[np.intp]:
        """The k columns of the smallest distances in each row, which are those of queries[start], …; ascending."""
        n, m = distances.shape
        if k == 0 or n == 0:
            return np.zeros((n, k), dtype=np.intp)
        if k >= m:
            return np.tile(np.arange(m), (n, 1))
        chosen = np.argpartition(distances, k - 1, axis=1)[:, :k]
        last = np.take_along_axis(distances, chosen, axis=1).max(axis=1)
        slack = np.zeros(n) if exact else _ROUNDING * (lengths + self.squares.max())
        doubtful = np.flatnonzero(np.count_nonzero(distances <= (last + slack)[:, None], axis=1) > k)
        for i in doubtful:
            near = np.flatnonzero(distances[i] <= last[i] + slack[i])
            true = distances[i, near] if exact else self._differences(queries[start + i : start + i + 1], near)
            chosen[i] = near[_smallest(true, k, exact)]
        chosen.sort(axis=1)
        return chosen

    def _differences(self, query: Any, near: NDArray[np.intp]) -> Array:
        """Σ(a−b)² of one query and some rows."""
        result = np.empty(len(near))
        columns = query.indices if self.sparse else None
        for start in range(0, len(near), max(1, _PAIRS // max(1, self.rows.shape[1]))):
            some = slice(start, start + max(1, _PAIRS // max(1, self.rows.shape[1])))
            rows = self.rows[near[some]]
            if columns is None:
                result[some] = np.einsum("ij,ij->i", rows - query, rows - query)
            else:  # where the query is zero, the squares are the row's own
                shared = rows[:, columns].toarray()
                others = sp.csr_array(rows, copy=True)
                others.data[np.isin(others.indices, columns)] = 0.0
                result[some] = ((shared - query.data) ** 2).sum(axis=1) + _row_squares(others)
        return result


def _smallest(distances: Array, k: int, exact: bool) -> NDArray[np.intp]:
    """Which k are smallest; of those as far away as the k-th (to 12 digits) the first."""
    last = np.partition(distances, k - 1)[k - 1]
    slack = 0.0 if exact else _ROUNDING * last
    surely = np.flatnonzero(distances < last - slack)
    tied = np.flatnonzero((distances >= last - slack) & (distances <= last + slack))
    return np.concatenate((surely, tied[: k - len(surely)]))


def _row_squares(X: Any) -> Array:
    """Σ_j x_ij² of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def _is_whole(X: Any) -> bool:
    """Whether all values are whole numbers so small that sums of their products are exact."""
    values = X.data if sp.issparse(X) else X
    if not np.array_equal(values, np.rint(values)):
        return False
    return X.shape[1] * float(np.max(np.abs(values), initial=0.0)) ** 2 * 4 < _EXACT
