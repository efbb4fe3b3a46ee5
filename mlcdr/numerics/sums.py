"""Sums over the rows of a dense or sparse matrix: means, scatter and cross products, safe against cancellation.

Σ(a−ā)(a−ā)ᵀ of a sparse matrix is its raw product less n āāᵀ, so that it stays sparse; where that, or the removal of
rows, leaves little of a column, the column is summed again (`ExactColumns`). All sums are in double precision, whatever
the matrix holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 2048  # rows made dense at a time
_COLUMNS = 256
_OFFSET = 1e-3  # a sparse column whose spread is a smaller part of its raw sum of squares is summed again


def total(a: Any) -> Array:
    """Σa of each column."""
    return np.asarray(a.sum(axis=0, dtype=np.float64)).ravel()


def squares(a: Any) -> Array:
    """Σa² of each column."""
    if sp.issparse(a):
        a = a.astype(np.float64, copy=False)
        return np.bincount(a.indices, weights=a.data**2, minlength=a.shape[1]).astype(np.float64)
    if a.dtype.kind == "f":
        a = a.astype(np.float64, copy=False)
    return np.einsum("ij,ij->j", a, a, dtype=np.float64)  # of whole numbers without a copy


def row_squares(a: Any) -> Array:
    """Σa² of each row."""
    if sp.issparse(a):
        return np.asarray(a.multiply(a).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", a, a)


def constant(a: Any) -> Mask:
    """Which columns are constant."""
    if 0 in a.shape:
        return np.ones(a.shape[1], dtype=bool)
    if sp.issparse(a):
        return np.asarray(a.max(axis=0).toarray() == a.min(axis=0).toarray()).ravel()
    return np.asarray(a.max(axis=0) == a.min(axis=0))


def inverse_ranges(a: Any) -> Array:
    """1/(max − min) of each column, 0 where it is constant."""
    low, high = (dense(edge).ravel() for edge in (a.min(axis=0), a.max(axis=0)))
    return np.divide(1.0, high - low, out=np.zeros(len(low)), where=high > low)


def symmetric(lower: Array) -> Array:
    """The symmetric matrix of which only the lower triangle is given."""
    full = np.array(lower)
    np.copyto(full, lower.T, where=~np.tri(len(full), dtype=bool))
    return full


def mirrored(lower: Array) -> Array:
    """The same in place, without a second matrix of that size."""
    for start in range(0, len(lower), BLOCK):
        stop = start + BLOCK
        lower[start:stop, stop:] = lower[stop:, start:stop].T
        lower[start:stop, start:stop] = symmetric(lower[start:stop, start:stop])
    return lower


def dense(a: Any) -> Array:
    """`a` as a dense array of doubles; a sparse one in row order, whatever its class."""
    return np.asarray(a.toarray(order="C") if sp.issparse(a) else a, dtype=np.float64)


def frozen(a: Any) -> Any:
    """`a`, dense or sparse, made read-only, since several methods share it."""
    for array in (a.data, a.indices, a.indptr) if sp.issparse(a) else (a,):
        array.flags.writeable = False
    return a


def centred_blocks(a: Any, mean: Array, extra: Array | None = None) -> Iterator[Array]:
    """Dense blocks of the rows less their mean; `extra` is appended as one row more, as it is."""
    for start in range(0, max(a.shape[0], 1), BLOCK):
        block = dense(a[start : start + BLOCK]) - mean
        if extra is not None and start + BLOCK >= a.shape[0]:
            block = np.vstack([block, extra])
        yield block


def scatter(a: Any, mean: Array) -> Array:
    """Σ(a−mean)(a−mean)ᵀ, lower triangle, in Fortran order. Cost nd², or Σ nnz(row)² + d² where `a` is sparse."""
    if sp.issparse(a):
        a = a.astype(np.float64, copy=False)
        lower = np.asfortranarray((a.T @ a).toarray())
        return blas.dsyr(-float(a.shape[0]), mean, a=lower, lower=1, overwrite_a=1)
    lower = np.zeros((a.shape[1], a.shape[1]), order="F")
    for block in centred_blocks(a, mean):
        lower = blas.dsyrk(1.0, block.T, beta=1.0, c=lower, lower=1, overwrite_c=1)
    return lower


def cross(a: Any, mean_a: Array, b: Any, mean_b: Array) -> Array:
    """Σ(a−mean_a)(b−mean_b)ᵀ."""
    if sp.issparse(a) or sp.issparse(b):
        # Σabᵀ − (Σa) mean_bᵀ − mean_a (Σb)ᵀ + n mean_a mean_bᵀ
        product = a.T.astype(np.float64) @ b.astype(np.float64)
        result = product.toarray() if sp.issparse(product) else product
        return result - np.outer(total(a), mean_b) - np.outer(mean_a, total(b) - a.shape[0] * mean_b)
    result = np.zeros((a.shape[1], b.shape[1]))
    for block_a, block_b in zip(centred_blocks(a, mean_a), centred_blocks(b, mean_b), strict=True):
        result += block_a.T @ block_b
    return result


def outer(a: Any, mean: Array) -> Array:
    """(a−mean)(a−mean)ᵀ (n×n), for matrices with more columns than rows."""
    if sp.issparse(a):
        products = (a @ a.T).toarray()
        on_mean = a @ mean
        return products - on_mean[:, None] - on_mean[None, :] + mean @ mean
    centred = a - mean
    return centred @ centred.T


@dataclass(frozen=True)
class ExactColumns:
    """Columns of `a` (n×d) to be summed again over the rows of `keep` (all: None): rounding hides them in quick sums.

    A column that is constant on those rows gets exact zeros, so that its rounding error is not taken for variation.

    Attributes
    ----------
    columns : array of int
        The columns to sum.
    absent : array of int
        Columns that are 0 on all those rows.
    """

    a: Any
    columns: NDArray[np.intp]
    absent: NDArray[np.intp]
    keep: Mask | None = None

    @classmethod
    def find(cls, a: Any, mean: Array) -> ExactColumns:
        """The columns whose spread is lost in their offset: constant ones; where sparse, all that come near that."""
        if not sp.issparse(a):
            return cls(a, np.flatnonzero(a.max(axis=0) == a.min(axis=0)), np.zeros(0, dtype=np.intp))
        raw = squares(a)
        spread = raw - a.shape[0] * mean**2
        return cls(a, np.flatnonzero((spread <= _OFFSET * raw) & (raw > 0)), np.flatnonzero(raw == 0))

    def blocks(self) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
        """For a few columns at a time: their numbers, their means, and a−ā (n×few, 0 in rows not kept)."""
        for start in range(0, len(self.columns), _COLUMNS):
            columns = self.columns[start : start + _COLUMNS]
            part = dense(self.a[:, columns])
            kept = part if self.keep is None else part[self.keep]
            first = kept[0].copy()
            kept = np.asfortranarray(kept - first)  # sums run down contiguous columns: pairwise, hence accurate
            constant = ~kept.any(axis=0)
            mean = kept.mean(axis=0)
            kept -= mean
            correction = kept.mean(axis=0)
            kept -= correction
            mean += correction
            kept[:, constant] = 0.0
            mean[constant] = 0.0
            if self.keep is None:
                centred = kept
            else:
                centred = np.zeros_like(part)
                centred[self.keep] = kept
            yield columns, first + mean, centred

    def put_means(self, mean: Array) -> None:
        """Write the means of these columns into `mean` (d,)."""
        mean[self.absent] = 0.0
        for columns, exact, _ in self.blocks():
            mean[columns] = exact

    def put_spreads(self, spread: Array) -> None:
        """Write Σ(a−ā)² of these columns into `spread` (d,)."""
        spread[self.absent] = 0.0
        for columns, _, centred in self.blocks():
            spread[columns] = np.einsum("ij,ij->j", centred, centred)

    def put_scatter(self, lower: Array) -> None:
        """Write the rows and columns of Σ(a−ā)(a−ā)ᵀ that belong to these columns into its lower triangle (d×d)."""
        lower[self.absent, :] = 0.0
        lower[:, self.absent] = 0.0
        constant = []
        for columns, _, centred in self.blocks():
            product = self._against_centred(self.a, centred)
            product[self.absent] = 0.0
            for j, column in zip(columns, product.T, strict=True):
                lower[j, :j] = column[:j]
                lower[j:, j] = column[j:]
            constant.append(columns[~centred.any(axis=0)])
        for columns in constant:  # against another of these columns rounding may have been written
            lower[columns, :] = 0.0
            lower[:, columns] = 0.0

    def put_cross(self, result: Array, b: Any) -> None:
        """Write the rows of Σ(a−ā)(b−b̄)ᵀ that belong to these columns into `result` (d×K)."""
        result[self.absent] = 0.0
        for columns, _, centred in self.blocks():
            result[columns] = self._against_centred(b, centred).T

    def _against_centred(self, b: Any, centred: Array) -> Array:
        """Σb(a−ā)ᵀ, which is Σ(b−b̄)(a−ā)ᵀ but for what rounding leaves of Σ(a−ā)."""
        weights = np.ones(len(centred)) if self.keep is None else self.keep.astype(np.float64)
        means = (b.T @ weights) / weights.sum()
        return b.T @ centred - np.outer(means, centred.sum(axis=0))


def less_offsets(a: Any, mean: Array) -> tuple[Any, Array]:
    """`a` (n×d) less an origin (d,): the mean of each column whose offset hides its spread, 0 for the others.

    Where sparse, such a column has next to no zeros to lose. One that is constant becomes exactly 0, if its mean is
    exact (where sparse, in any case). A matrix without such columns is returned unchanged.
    """
    origin = np.zeros(a.shape[1])
    if not sp.issparse(a):
        raw = squares(a)
        hidden = raw - a.shape[0] * mean**2 <= _OFFSET * raw
        origin[hidden] = mean[hidden]
        return (frozen(a - origin) if origin.any() else a), origin
    offset = ExactColumns.find(a, mean)
    if not len(offset.columns):
        return a, origin
    others = np.ones(a.shape[1])
    others[offset.columns] = 0.0
    moved = sp.csr_array(a @ sp.diags_array(others))
    for columns, exact, centred in offset.blocks():
        origin[columns] = exact
        rows, within = np.nonzero(centred)
        moved = moved + sp.csr_array((centred[rows, within], (rows, columns[within])), shape=a.shape)
    moved.eliminate_zeros()
    return frozen(moved), origin


def less(a: Any, origin: Array) -> Any:
    """`a` (n×d, dense or CSR) less an origin (d,) from `less_offsets` of other rows: sparse where that is mostly 0."""
    columns = np.flatnonzero(origin)
    if not len(columns):
        return a
    if not sp.issparse(a):
        return a - origin
    others = np.ones(a.shape[1])
    others[columns] = 0.0
    moved = sp.lil_array(a @ sp.diags_array(others))
    moved[:, columns] = dense(a[:, columns]) - origin[columns]
    return sp.csr_array(moved)


def with_short_indices(a: Any) -> Any:
    """`a`, if sparse (CSR) with indices of 32 bits: scikit-learn's distances and clusters take no others."""
    if not sp.issparse(a):
        return a
    return sp.csr_array((a.data, a.indices.astype(np.int32), a.indptr.astype(np.int32)), shape=a.shape)
