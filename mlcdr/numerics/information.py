"""Entropies and (conditional) mutual information of discrete variables, in bits, for all pairs of columns at once.

Probabilities are shares of the rows (Sun 2017, (4.42)). All pairs of two sets of columns come from products of their
indicator matrices: of each column one value, the *reference* (0 where the matrix is sparse), has no indicator, since
its counts follow from those of the others. So a sparse matrix stays sparse, and pairs cost a sparse product and a
look-up of each count, without a loop over pairs.

Notation: A and B are sets of variables (columns), y and z single ones.

    entropy(A)_i                            H(A_i)
    joint_entropy(A, B)_ij                  H(A_i, B_j)
    mutual_information(A, B)_ij             I(A_i; B_j)
    conditional_on(A, B, z)_ij              I(A_i; B_j | z)
    conditional_on_each(A, y, B)_ij         I(A_i; y | B_j)

Values of information that rounding makes negative are set to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

TIE = 1e-12
"""Values of information that differ by no more are treated as equal: the difference is rounding error."""

_CELLS = 2**18  # of a table of counts, computed at a time


@dataclass(frozen=True, eq=False)
class Variables:
    """Discrete variables: the columns of a matrix, as indicators of all their values but one.

    Attributes
    ----------
    indicators : array of shape (n, s), dense or CSR, of {0, 1}
        A column for each value of each variable but its reference, in the order of the variables; a constant variable
        has one, of zeros.
    starts : array of shape (d,)
        The first indicator of each variable.
    """

    indicators: Any
    starts: NDArray[np.intp]

    @classmethod
    def from_values(cls, values: Any) -> Variables:
        """The columns of a matrix (n×d, dense or sparse) of numbers; each distinct number is a value.

        Cost: a sort of the entries (of a sparse matrix: those that are not 0).
        """
        if isinstance(values, cls):
            return values
        sparse = sp.issparse(values)
        if sparse:
            coo = sp.coo_array(values)
            there = coo.data != 0
            rows, columns, entries = coo.row[there], coo.col[there], coo.data[there]
        else:
            values = np.asarray(values)
            values = values[:, None] if values.ndim == 1 else values
            rows, columns = (index.ravel() for index in np.indices(values.shape))
            entries = values.ravel()
        n, d = values.shape
        levels, level = np.unique(entries, return_inverse=True)
        found, place = np.unique(columns.astype(np.int64) * max(len(levels), 1) + level, return_inverse=True)
        owner = found // max(len(levels), 1)
        if not sparse:  # the largest value of each column is the reference
            largest = np.append(owner[1:] != owner[:-1], True)[: len(owner)]
            shown = ~largest[place]
            rows, place, owner = rows[shown], (np.cumsum(~largest) - 1)[place[shown]], owner[~largest]
        owners = np.append(owner, np.setdiff1d(np.arange(d), owner))  # constant variables come last, with nothing
        order = np.argsort(owners, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        indicators = sp.csr_array((np.ones(len(rows)), (rows, rank[place])), shape=(n, len(owners)))
        starts = np.searchsorted(owners[order], np.arange(d))
        return cls(indicators if sparse else indicators.toarray(), starts)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.indicators.shape[0])

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def _stops(self) -> NDArray[np.intp]:
        return np.append(self.starts[1:], self.indicators.shape[1])

    @cached_property
    def _by_column(self) -> Any:
        """The indicators in a format fast to take columns from and to multiply from the left by."""
        return sp.csc_array(self.indicators) if sp.issparse(self.indicators) else self.indicators

    @cached_property
    def counts(self) -> Counts:
        """How many rows have each value that is not a reference (s,)."""
        return np.rint(np.asarray(self.indicators.sum(axis=0)).ravel()).astype(np.int64)

    def take(self, columns: Any) -> Variables:
        """Some of the variables, in that order."""
        columns = np.asarray(columns, dtype=np.intp)
        sizes = (self._stops - self.starts)[columns]
        starts = np.append(0, np.cumsum(sizes)[:-1])[: len(columns)].astype(np.intp)
        index = np.repeat(self.starts[columns] - starts, sizes) + np.arange(sizes.sum())
        part = self._by_column[:, index]
        return Variables(sp.csr_array(part) if sp.issparse(part) else part, starts)

    def rows(self, index: Any) -> Variables:
        """The same variables on some of the rows; a value may have no row there."""
        return Variables(self.indicators[index], self.starts)

    def values_of(self, column: int) -> Iterator[NDArray[np.intp]]:
        """The rows that have each value of one variable that is not its reference."""
        for j in range(self.starts[column], self._stops[column]):
            indicator = self._by_column[:, [j]]
            yield indicator.indices if sp.issparse(indicator) else np.flatnonzero(indicator[:, 0])

    def blocks(self, width: int) -> Iterator[tuple[slice, Variables]]:
        """The variables, some at a time, with at most `_CELLS` cells in a table that has `width` columns."""
        step = max(1, int(_CELLS / max(width, 1) * len(self) / max(self.indicators.shape[1], 1)))
        if step >= len(self):
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), step):
            part = slice(start, min(start + step, len(self)))
            yield part, self.take(np.arange(part.start, part.stop))

    def sums(self, table: Any, axis: int) -> Any:
        """A table with a row (column) for each indicator, summed to one for each variable along `axis`."""
        return table if table.shape[axis] == len(self) else np.add.reduceat(table, self.starts, axis=axis)


def entropy(a: Any) -> Array:
    """H(A_i) (d,)."""
    a = Variables.from_values(a)
    terms = _terms(a.n)
    return a.sums(terms[a.counts], 0) + terms[a.n - a.sums(a.counts, 0)]


def joint_entropy(a: Any, b: Any) -> Array:
    """H(A_i, B_j) (d_A × d_B)."""
    a, b = Variables.from_values(a), Variables.from_values(b)
    found = np.empty((len(a), len(b)))
    terms = _terms(a.n)
    for part, block in a.blocks(b.indicators.shape[1]):
        found[part] = _Table.count(block, b).entropies(block, b, terms)
    return found


def mutual_information(a: Any, b: Any) -> Array:
    """I(A_i; B_j) (d_A × d_B)."""
    a, b = Variables.from_values(a), Variables.from_values(b)
    return np.maximum(entropy(a)[:, None] + entropy(b) - joint_entropy(a, b), 0.0)


def conditional_on(a: Any, b: Any, z: Any) -> Array:
    """I(A_i; B_j | z) (d_A × d_B), of a single variable z (n, or n×1)."""
    a, b, z = Variables.from_values(a), Variables.from_values(b), Variables.from_values(z)
    found = _joint_with(a, b, z)
    # H(A,z) + H(B,z) − H(A,B,z) − H(z)
    found *= -1.0
    found += joint_entropy(a, z)
    found += joint_entropy(b, z)[:, 0]
    found -= entropy(z)
    return np.maximum(found, 0.0, out=found)


def conditional_on_each(a: Any, y: Any, b: Any, joint: Array | None = None) -> Array:
    """I(A_i; y | B_j) (d_A × d_B), of a single variable y (n, or n×1).

    `joint`: H(A_i, B_j), if it is there already: it is the same for every y.
    """
    a, b, y = Variables.from_values(a), Variables.from_values(b), Variables.from_values(y)
    found = _joint_with(a, b, y)
    # H(A,B) + H(y,B) − H(B) − H(A,B,y)
    found *= -1.0
    found += joint_entropy(a, b) if joint is None else joint
    found += joint_entropy(b, y)[:, 0] - entropy(b)
    return np.maximum(found, 0.0, out=found)


def first_best(scores: Array) -> int:
    """The first index with the largest score up to rounding."""
    return int(np.argmax(scores >= np.max(scores) - TIE))


def _joint_with(a: Variables, b: Variables, y: Variables) -> Array:
    """H(A_i, B_j, y) (d_A × d_B), by the rows of each value of y; those of its reference follow by subtraction."""
    terms = _terms(a.n)
    found = np.zeros((len(a), len(b)))
    parts = [(index, b.rows(index)) for index in y.values_of(0)]
    for part, block in a.blocks(b.indicators.shape[1]):
        left = _Table.count(block, b)
        for index, b_there in parts:
            there = _Table.count(block.rows(index), b_there)
            found[part] += there.entropies(block, b, terms)
            left = left - there
        found[part] += left.entropies(block, b, terms)
    return found


@dataclass(frozen=True)
class _Table:
    """How many of some rows have each pair of values of two sets of variables, references left out.

    Attributes
    ----------
    both : array of shape (s_A, s_B)
    of_a, of_b : arrays of shape (s_A,) and (s_B,)
    n : int
    """

    both: Any
    of_a: Counts
    of_b: Counts
    n: int

    @classmethod
    def count(cls, a: Variables, b: Variables) -> _Table:
        """The counts on all rows that the variables have."""
        left = a.indicators.T
        if sp.issparse(left):
            left = sp.csr_array(left)  # or else it is the right one, often much the larger, that SciPy would convert
        both = (left @ b.indicators).astype(np.int64)  # sums of ones are whole numbers
        return cls(both, a.counts, b.counts, a.n)

    def __sub__(self, other: _Table) -> _Table:
        """The counts on the other rows."""
        return _Table(self.both - other.both, self.of_a - other.of_a, self.of_b - other.of_b, self.n - other.n)

    def entropies(self, a: Variables, b: Variables, terms: Array) -> Array:
        """Σ −p log₂ p over all pairs of values of A_i and B_j (d_A × d_B)."""
        if sp.issparse(self.both) and self.both.shape == (len(a), len(b)):
            return self._of_rare(terms)
        both = self.both.toarray() if sp.issparse(self.both) else self.both
        with_any_b, with_any_a = b.sums(both, 1), a.sums(both, 0)
        found = np.array(a.sums(b.sums(terms[both], 1), 0))
        found += a.sums(terms[self.of_a[:, None] - with_any_b], 0)  # B_j has its reference
        found += b.sums(terms[self.of_b - with_any_a], 1)  # A_i has
        neither = self.n - a.sums(self.of_a, 0)[:, None] - b.sums(self.of_b, 0) + a.sums(with_any_b, 0)
        found += terms[neither]
        return found

    def _of_rare(self, terms: Array) -> Array:
        """The same for binary variables: computed as if no row had both values, and corrected where some have."""
        neither = self.n - self.of_a[:, None] - self.of_b  # may be below 0 where it is put right
        found = terms[neither]
        found += terms[self.of_a][:, None]
        found += terms[self.of_b]
        coo = sp.coo_array(self.both)
        i, j, n = coo.row, coo.col, coo.data
        of_a, of_b, neither = self.of_a[i], self.of_b[j], neither[i, j]
        found[i, j] = terms[n] + terms[of_a - n] + terms[of_b - n] + terms[neither + n]
        return found


@lru_cache(maxsize=8)
def _terms(n: int) -> Array:
    """−p log₂ p of p = 0, 1/n, …, 1."""
    p = np.arange(n + 1) / max(n, 1)
    found = -p * np.log2(p, out=np.zeros_like(p), where=p > 0)
    found.flags.writeable = False
    return found
