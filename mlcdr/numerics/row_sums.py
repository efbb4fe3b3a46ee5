"""The centred sums S, C and T (see `Moments`) from rows: of all rows, of the rest after a removal, of weighted rows.

Each class has the means, and functions that compute a sum when it is needed. Sums that suffer cancellation are computed
again from the rows (`sums.ExactColumns`), so that constant columns give exact zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

from mlcdr.numerics import linalg, sums
from mlcdr.numerics.sums import ExactColumns

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# A feature that keeps less than this share of its sum of squares when rows are taken away is summed again.
_CANCELLED = 1e-4
_KEPT = 1e6  # entries of a block that is kept at most


class AllRows:
    """From X (n×d) and Y (n×K), dense or sparse. Cost of S: nd², or Σ nnz(row)² if sparse.

    The means are exact where a feature or label is constant.
    """

    def __init__(self, X: Any, Y: Any):
        n = X.shape[0]
        self.X, self.Y = X.astype(np.float64, copy=False), Y  # products of small integers would overflow
        self.mean_x, self.mean_y = sums.total(self.X) / n, sums.total(Y) / n
        self.exact = ExactColumns.find(self.X, self.mean_x)
        self.exact.put_means(self.mean_x)
        self.constant = np.flatnonzero(sums.constant(Y))  # labels
        self.mean_y[self.constant] = sums.dense(Y[:1])[0, self.constant]

    def xx(self) -> Array:
        """S (d×d), its lower triangle."""
        lower = sums.scatter(self.X, self.mean_x)
        self.exact.put_scatter(lower)
        return lower

    def xy(self) -> Array:
        """C (d×K)."""
        product = sums.cross(self.X, self.mean_x, self.Y, self.mean_y)
        self.exact.put_cross(product, self.Y)
        product[:, self.constant] = 0.0
        return product

    def yy(self) -> Array:
        """T (K×K)."""
        return _clear(sums.symmetric(sums.scatter(self.Y, self.mean_y)), self.constant)

    def spread(self) -> Array:
        """The diagonal of S (d,), without S."""
        if sp.issparse(self.X):
            squares = sums.squares(self.X) - self.X.shape[0] * self.mean_x**2
            self.exact.put_spreads(squares)
            return squares
        return np.sum([np.einsum("ij,ij->j", b, b) for b in sums.centred_blocks(self.X, self.mean_x)], axis=0)


class CentredRows:
    """Rows of A (m×d, dense or sparse) less a mean (d,), and one row more, which is not: their sums.

    Dense rows less their mean are kept if they make one small block, since every sum needs them.
    """

    def __init__(self, rows: Any, mean: Array, extra: Array):
        self.rows, self.mean, self.extra = rows, mean, extra
        self._kept: list[Array] | None = None

    def blocks(self) -> Iterable[Array]:
        """The rows in dense blocks, the row more at the end."""
        if self._kept is not None:
            return self._kept
        blocks = sums.centred_blocks(self.rows, self.mean, self.extra)
        if self.rows.shape[0] > sums.BLOCK or self.rows.shape[0] * len(self.mean) > _KEPT:
            return blocks
        self._kept = list(blocks)
        return self._kept

    def spread(self) -> Array:
        """The sum of squares of each column (d,)."""
        if sp.issparse(self.rows):
            raw = sums.squares(self.rows)
            return raw - self.mean * (2 * sums.total(self.rows) - self.rows.shape[0] * self.mean) + self.extra**2
        # of the squares of a itself nothing is left where the mean is large
        return np.sum([np.einsum("ij,ij->j", block, block) for block in self.blocks()], axis=0)

    def cross(self, other: CentredRows) -> Array:
        """AᵀB (d×q), B the same rows of another matrix (m×q)."""
        if sp.issparse(self.rows) or sp.issparse(other.rows):
            return sums.cross(self.rows, self.mean, other.rows, other.mean) + np.outer(self.extra, other.extra)
        result = np.zeros((len(self.mean), len(other.mean)))
        for block, of_other in zip(self.blocks(), other.blocks(), strict=True):
            # NumPy takes another routine for an array with itself, with other last digits than for two arrays
            result += block.T @ (of_other.copy() if of_other is block else of_other)
        return result


class RowsLeft:
    """Sums over the rows of X (n×d) and Y (n×K) that stay when others are removed, from the sums of all rows and these
    others.

    With A the left-out rows less x̄ and one row more, their sum over √(n − |index|), S becomes S − AᵀA, and C and T
    likewise; the extra row moves the centre to the new mean. Features whose remaining sum is small are summed again
    over the rows that stay; labels that are constant there get exact zeros. Cost: |index|·d² and a copy for S.

    Parameters
    ----------
    index : array of int
        The rows to remove.
    out : (X, Y)
        Those rows.
    means, spread, label_spread
        x̄ and ȳ of all rows, and the diagonals of S and T.
    entries : function
        The number of stored entries of each column of X, if it is sparse.

    Raises
    ------
    ValueError
        When no row is left, or one is named twice.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        index: Index,
        out: tuple[Any, Any],
        means: tuple[Array, Array],
        spread: Array,
        label_spread: Callable[[], Array],
        entries: Callable[[], Index],
    ):
        self.keep = rows_left(X.shape[0], index)
        self.n = n = int(self.keep.sum())
        self.Y, (self.X_out, self.Y_out) = Y, out
        self.old_mean_x, self.old_mean_y = means
        sum_x = sums.total(self.X_out) - len(index) * self.old_mean_x
        sum_x[spread == 0] = 0.0  # what is constant stays so, without rounding
        sum_y = sums.total(self.Y_out) - len(index) * self.old_mean_y
        self.shift_x, self.shift_y = sum_x / np.sqrt(n), sum_y / np.sqrt(n)
        self.mean_x, self.mean_y = self.old_mean_x - sum_x / n, self.old_mean_y - sum_y / n
        self.gone_x = CentredRows(self.X_out, self.old_mean_x, self.shift_x)
        self.gone_y = CentredRows(self.Y_out, self.old_mean_y, self.shift_y)
        self.left = np.where(spread == 0, 0.0, spread - self.gone_x.spread())
        self.exact = _find_weakened(X, self.X_out, self.left, spread, self.keep, entries)
        self.exact.put_means(self.mean_x)
        self.constant = _find_constant_labels(Y, self.gone_y.spread(), label_spread(), self.keep)
        self.mean_y[self.constant] = sums.dense(Y[np.flatnonzero(self.keep)[:1]])[0, self.constant]

    def xx(self, of_all: Array) -> Array:
        """S (d×d), its lower triangle."""
        lower = np.array(of_all, order="F")
        for block in self.gone_x.blocks():
            lower = blas.dsyrk(-1.0, block.T, beta=1.0, c=lower, lower=1, overwrite_c=1)
        self.exact.put_scatter(lower)
        return lower

    def xy(self, of_all: Array) -> Array:
        """C (d×K)."""
        product = of_all - self.gone_x.cross(self.gone_y)
        self.exact.put_cross(product, self.Y)
        product[:, self.constant] = 0.0
        return product

    def yy(self, of_all: Array) -> Array:
        """T (K×K)."""
        return _clear(of_all - self.gone_y.cross(self.gone_y), self.constant)

    def spread(self) -> Array:
        """The diagonal of S (d,), without S."""
        self.exact.put_spreads(self.left)
        return self.left


def rows_left(n: int, index: Index) -> NDArray[np.bool_]:
    """Which of n rows stay when those of `index` are removed.

    Raises
    ------
    ValueError
        When none stays, or one is named twice.
    """
    keep = np.ones(n, dtype=bool)
    keep[index] = False
    if not keep.any():
        raise ValueError("no row is left to train on")
    if keep.sum() != n - len(index):
        raise ValueError("a row is named twice among those to leave out")
    return keep


def _find_constant_labels(Y: Any, gone: Array, spread: Array, keep: NDArray[np.bool_]) -> Index:
    """The labels that are constant on the rows kept: the rows are compared where T's diagonal is next to 0."""
    weak = np.flatnonzero((spread == 0) | (spread - gone <= 1e-8 * spread))
    return weak[sums.constant(Y[:, weak][keep])] if len(weak) else weak


def _find_weakened(
    X: Any, X_out: Any, left: Array, spread: Array, keep: NDArray[np.bool_], entries: Callable[[], Index]
) -> ExactColumns:
    """The features to sum again when the rows `X_out` are removed: their remaining variation is small or 0."""
    weak = left < _CANCELLED * spread
    if not sp.issparse(X):
        return ExactColumns(X, np.flatnonzero(weak), np.zeros(0, dtype=np.intp), keep)
    weak |= spread == 0  # the quick sums of what is constant but not 0 leave rounding
    stored = entries() - stored_entries(X_out)
    return ExactColumns(X, np.flatnonzero(weak & (stored > 0)), np.flatnonzero(stored == 0), keep)


def stored_entries(X: Any) -> Index:
    """Number of stored entries of each column of a CSR matrix."""
    return np.bincount(X.indices, minlength=X.shape[1])


def after_subtraction(lower: Array, before: Array) -> Array:
    """Set features to exactly 0 that are constant up to rounding after a subtraction (a share of 1e-14, or none).

    Raises
    ------
    linalg.IllConditioned
        When so little of a feature is left that its rounding error counts: its rows must be summed again.
    """
    left = np.diag(lower)
    constant = left <= 1e-14 * before
    if np.any(~constant & (left < 1e-8 * before)):
        raise linalg.IllConditioned("the subtraction leaves too little of a feature; use `without`, which has the rows")
    lower[constant, :] = 0.0
    lower[:, constant] = 0.0
    return lower


def _clear(square: Array, index: Index) -> Array:
    """The matrix, with 0 in the rows and columns of `index`."""
    square[index, :] = 0.0
    square[:, index] = 0.0
    return square
