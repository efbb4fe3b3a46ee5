"""Least squares by the rule of R's `lm`: columns in file order, those that depend on the ones before them left out.

The intercept comes first. A column is *aliased*, and gets coefficient 0, where the intercept and the columns kept
before it leave less than 1e-7 of its norm (LINPACK's dqrdc2 as R changed it; the norm is that before centring). Two
`Factor`s (see `numerics.linalg`) go by that rule: `FileOrderCholesky` from second moments, which works with *squared*
residuals and so refuses all but clear cases, and `FileOrder` from the rows, a QR factorisation that decides every case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from mlcdr.numerics.linalg import DEPENDENT, INDEPENDENT, SINGULAR, IllConditioned, inverse_root, random_signs

Array = NDArray[np.float64]
Index = NDArray[np.intp]

TOLERANCE = 1e-7  # R's

# Which share of a column's sum of squares about 0 is left; R's rule asks for 1e-14, what is known of it is 1e-15.
_KEPT = 1e-13
_BLOCK = 64


@dataclass(frozen=True)
class FileOrderCholesky:
    """S of the kept columns = D L Lᵀ D. Cost dr² at most (r³/3 where the aliased are known), then r²K for B and for W.

    Attributes
    ----------
    kept : array of int of shape (r,)
        The columns kept, ascending.
    aliased : array of int of shape (a,)
        The columns found to depend on kept ones before them, to be confirmed on the rows. Constant columns and those
        known beforehand to be aliased are not among them.
    lower : array of shape (r, r)
        L.
    shares : array of shape (r, a)
        L⁻¹D⁻¹ of the aliased columns of S: for each, scaled to unit length, its components along the kept columns
        before it.
    inverse_scale : array of shape (d,)
        1/D; 0 for constant columns.
    """

    kept: Index
    aliased: Index
    lower: Array
    shares: Array
    inverse_scale: Array

    @classmethod
    def factorise(cls, gram: Array, spread: Array, raw: Array, known: Index | None = None) -> FileOrderCholesky:
        """Factorise the lower triangle of `gram` (d×d, left as it is).

        Parameters
        ----------
        spread : array of shape (d,)
            The columns' sums of squares about their means: the diagonal of `gram`, or, where `gram` is that of
            residuals given other columns, the diagonal before that. 0 means a constant column.
        raw : array of shape (d,)
            Their sums of squares about 0.
        known : array of int, or None
            Columns known to be aliased.

        Raises
        ------
        IllConditioned
            When a pivot does not show whether its column is aliased, or the kept columns are nearly dependent.
        """
        inverse = inverse_root(spread)
        wanted = inverse > 0
        if known is not None:
            wanted[known] = False
        columns = np.flatnonzero(wanted)
        scaled = gram if len(columns) == len(gram) else gram[np.ix_(columns, columns)]
        scaled = np.multiply(scaled, inverse[columns], order="F")
        scaled *= inverse[columns, None]
        enough = np.maximum(INDEPENDENT, _KEPT * raw[columns] * inverse[columns] ** 2)
        kept, factor = _factorise(scaled, enough)
        lower = np.asfortranarray(factor[kept])
        if len(kept) and lapack.dpocon(lower, 1.0, uplo="L")[0] < SINGULAR:
            raise IllConditioned("the columns kept are nearly dependent")
        out = np.setdiff1d(np.arange(len(columns)), kept)
        shares = factor[out].T
        shares[kept[:, None] > out] = 0.0
        return cls(columns[kept], columns[out], lower, shares, inverse)

    @property
    def rank(self) -> int:
        """Number of columns kept."""
        return len(self.kept)

    def combinations(self) -> Array:
        """For each aliased column its coefficients on the kept ones (r×a), all at unit length; 0 on later ones."""
        return blas.dtrsm(1.0, self.lower, self.shares, lower=1, trans_a=1) if self.shares.size else self.shares

    def probe(self) -> Array:
        """Random combinations (d×4) of the columns that are 0 if the aliased ones are dependent; each enters at unit
        length.
        """
        signs = random_signs(len(self.aliased))
        probe = np.zeros((len(self.inverse_scale), signs.shape[1]))
        probe[self.aliased] = signs * self.inverse_scale[self.aliased, None]
        probe[self.kept] = -(self.combinations() @ signs) * self.inverse_scale[self.kept, None]
        return probe

    def whiten(self, xy: Array, z: object) -> Array:
        """B = L⁻¹D⁻¹C."""
        right = np.multiply(xy[self.kept], self.inverse_scale[self.kept, None], order="F")
        return blas.dtrsm(1.0, self.lower, right, lower=1, overwrite_b=1) if right.size else right

    def coefficients(self, whitened: Array) -> Array:
        """W = D⁻¹L⁻ᵀB for the columns kept, 0 for the others."""
        w = np.zeros((len(self.inverse_scale), whitened.shape[1]))
        if whitened.size:
            solved = blas.dtrsm(1.0, self.lower, whitened, lower=1, trans_a=1)
            w[self.kept] = solved * self.inverse_scale[self.kept, None]
        return w


def _factorise(scaled: Array, enough: Array) -> tuple[Index, Array]:
    """Cholesky in the given order, columns whose pivots are not `enough` left out: those kept, and the factor (m×r).

    By blocks of columns, each by LAPACK where it keeps all its columns. Above the kept rows' diagonal the factor is 0;
    a row left out holds L⁻¹ of its column, and undefined values at later kept columns. Only the lower triangle of
    `scaled` (m×m) is read.

    Raises
    ------
    IllConditioned
        When a pivot is neither `enough` nor clearly 0.
    """
    m = len(scaled)
    factor = np.zeros((m, m), order="F")
    kept: list[int] = []
    for start in range(0, m, _BLOCK):
        stop, r = min(start + _BLOCK, m), len(kept)
        panel = scaled[start:, start:stop] - factor[start:, :r] @ factor[start:stop, :r].T
        width = stop - start
        square = np.asfortranarray(panel[:width])
        block, info = lapack.dpotrf(square, lower=1, clean=1)
        chosen = np.arange(width)
        if info != 0 or np.any(np.diag(block) ** 2 < enough[start:stop]):
            chosen = _choose_columns(square, enough[start:stop])
            block, _ = lapack.dpotrf(np.asfortranarray(square[np.ix_(chosen, chosen)]), lower=1, clean=1)
        if len(chosen):
            behind = np.asfortranarray(panel[:, chosen])
            factor[start:, r : r + len(chosen)] = blas.dtrsm(1.0, block, behind, side=1, lower=1, trans_a=1)
            factor[start + chosen, r : r + len(chosen)] = block
            kept += (start + chosen).tolist()
    return np.array(kept, dtype=np.intp), factor[:, : len(kept)]


def _choose_columns(square: Array, enough: Array) -> Index:
    """Which columns of a diagonal block to keep: column by column."""
    w = len(square)
    factor = np.zeros((w, w), order="F")
    kept: list[int] = []
    for i in range(w):
        r = len(kept)
        column = square[i:, i] - factor[i:, :r] @ factor[i, :r]
        if column[0] < enough[i]:
            if abs(column[0]) > DEPENDENT:
                raise IllConditioned("the Gram matrix does not show whether a column is aliased")
            continue
        factor[i:, r] = column / np.sqrt(column[0])
        kept.append(i)
    return np.array(kept, dtype=np.intp)


@dataclass(frozen=True)
class FileOrder:
    """X = QR on the kept columns. Cost about 4ndr.

    Q is found by Gram-Schmidt, twice for each block of columns, and once more for a column with a small residual given
    its own block, which keeps Q orthonormal to rounding (Giraud, Langou & Rozložník 2005).

    Attributes
    ----------
    kept : array of int of shape (r,)
        The columns kept, ascending.
    basis, upper : arrays of shape (n, r) and (r, r)
        Q and R.
    left : array of shape (d,)
        The share of each column's norm that the columns before it leave (NaN for those behind the last that can be
        kept).
    """

    basis: Array
    upper: Array
    kept: Index
    left: Array

    @property
    def rank(self) -> int:
        """Number of columns kept."""
        return len(self.kept)

    @classmethod
    def of_columns(cls, columns: Callable[[int, int], Array], n: int, norms: Array, width: int = _BLOCK) -> FileOrder:
        """From a function that gives the centred columns start, …, stop − 1 of X, so that a sparse X need never be
        dense, and the norms (d,) that the columns had before centring.
        """
        d = len(norms)
        limit = min(n - 1, d)  # the intercept takes one of the n dimensions
        q, upper = np.empty((n, limit), order="F"), np.zeros((limit, limit))
        left = np.full(d, np.nan)
        kept: list[int] = []
        for start in range(0, d, width):
            before = len(kept)
            if before == limit:
                break
            block = np.array(columns(start, min(start + width, d)), order="F")
            shares = _take_off(q[:, :before], block)
            shares += _take_off(q[:, :before], block)
            for i in range(block.shape[1]):
                r, column = len(kept), block[:, i]
                length = float(np.linalg.norm(column))
                within = _take_off(q[:, before:r], column)
                within += _take_off(q[:, before:r], column)
                norm = float(np.linalg.norm(column))
                if norm < 0.1 * length and norm > TOLERANCE * norms[start + i]:
                    again = _take_off(q[:, :r], column)
                    shares[:, i] += again[:before]
                    within += again[before:]
                    norm = float(np.linalg.norm(column))
                left[start + i] = norm / norms[start + i] if norms[start + i] > 0 else 0.0
                if r == limit or norm <= TOLERANCE * norms[start + i]:
                    continue
                upper[:before, r], upper[before:r, r], upper[r, r] = shares[:, i], within, norm
                q[:, r] = column / norm
                kept.append(start + i)
        r = len(kept)
        return cls(q[:, :r], upper[:r, :r], np.array(kept, dtype=np.intp), left)

    def whiten(self, xy: Array, z: Callable[[], Array]) -> Array:
        """B = QᵀZ."""
        return self.basis.T @ z()

    def coefficients(self, whitened: Array) -> Array:
        """W = R⁻¹B for the columns kept, 0 for the others."""
        w = np.zeros((len(self.left), whitened.shape[1]))
        w[self.kept] = scipy.linalg.solve_triangular(self.upper, whitened, check_finite=False)
        return w


def _take_off(q: Array, columns: Array) -> Array:
    """Subtract from the columns, in place, their projection on the range of q; returns the coefficients qᵀcolumns."""
    shares = q.T @ columns
    columns -= q @ shares
    return shares
