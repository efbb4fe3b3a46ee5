"""Second moments of a data set: what nearly every linear method of these papers sees of the data.

With X (n×d) the features and Y (n×K) the labels, `Moments` holds n, the means x̄ and ȳ, and the centred sums

    S = Σ(x−x̄)(x−x̄)ᵀ (d×d),    C = Σ(x−x̄)(y−ȳ)ᵀ (d×K),    T = Σ(y−ȳ)(y−ȳ)ᵀ (K×K).

They add up over disjoint sets of rows (Chan, Golub & LeVeque 1983), so the moments of a training set are those of the
whole data set minus the test fold's: the data are read once, and a split costs its test rows. Centred sums are what is
kept, since subtracting large raw sums would cancel.

A `Moments` of arrays still has its rows at hand (`rows()`), for the parts of a method that need them, and for the
solver: it factorises S where d ≤ n, the n×n side where d > n, and the rows themselves where rounding in S hides the
rank. What one split's methods can share (the factorisation, X⁺Y, ZᵀHZ) is computed once and kept in the `Memo`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

from mlcdr import linalg
from mlcdr.numerics import file_order, principal, sums
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.sums import ExactColumns

Array = NDArray[np.float64]
T = TypeVar("T")
# A feature that keeps less than this share of its sum of squares when rows are taken away is summed anew.
_CANCELLED = 1e-4
# C with more entries than this is not formed where X and Y are sparse: it would be dense, and XᵀY is not.
WIDE = 2e8


@dataclass(frozen=True)
class RankCoordinates:
    """S (r×r), C (r×K) and the rows (n×r) in r coordinates of the features; `lift` turns directions (r×m) into d×m."""

    moments: Moments
    lift: Callable[[Array], Array]

    @property
    def xx(self) -> Array:
        """S (r×r)."""
        return self.moments.xx

    @property
    def xy(self) -> Array:
        """C (r×K)."""
        return self.moments.xy

    def rows(self) -> tuple[Any, Array]:
        """The rows (n×r) less an origin that is 0 but for large offsets (see `sums.less_offsets`), and their mean."""
        X, origin = self.moments.rows_less_offsets()
        return X, self.moments.mean_x - origin


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of n rows; made by `from_arrays`, `from_blocks`, `+`, `-`, `without`, or one of the maps below.

    Attributes
    ----------
    n : int
        Number of rows.
    mean_x, mean_y : arrays of shape (d,) and (K,)
        The means.
    centred : bool
        Whether S is taken about x̄ (as C and T always are about the means), or about the origin: see `uncentred`.
    """

    n: int
    mean_x: Array
    mean_y: Array
    _xx: Callable[[], Array]
    _xy: Callable[[], Array]
    _yy: Callable[[], Array]
    _rows: Callable[[], tuple[Any, Any]] | None = None
    _spread: Callable[[], Array] | None = None  # Σ(x−x̄)² of each feature, known without S; where there are rows
    centred: bool = True
    memo: Memo = field(default_factory=Memo)
    _image: tuple[Moments, Array, Array] | None = None  # by `map_labels`: of which moments, with what offset and matrix
    _part_of: Moments | None = None  # the larger set of rows these were taken from, by `without`
    _kept: NDArray[np.intp] | None = None  # and which of its rows they are
    _variances: Array | None = None  # the diagonal of S, where S is diagonal
    _unlabelled: Callable[[], Any] | None = None  # rows of the training set that came without labels

    # ---------------------------------------------------------------- construction

    @classmethod
    def from_arrays(cls, X: Any, Y: Any, memo: Memo | None = None) -> Moments:
        """Moments of X (n×d) and Y (n×K), dense or sparse, keeping the rows. Cost of S: nd², or Σ nnz(row)² if sparse.

        Raises
        ------
        ValueError
            When X and Y differ in their number of rows, or there is none.
        """
        n = X.shape[0]
        if n != Y.shape[0] or n == 0:
            raise ValueError(f"X has {n} rows and Y has {Y.shape[0]}: they must agree, and there must be one at least")
        X = X.astype(np.float64, copy=False)  # products of small integers would overflow
        mean_x, mean_y = sums.total(X) / n, sums.total(Y) / n
        exact = ExactColumns.of(X, mean_x)
        exact.put_means(mean_x)
        constant = np.flatnonzero(sums.constant(Y))
        mean_y[constant] = sums.dense(Y[:1])[0, constant]

        def xx() -> Array:
            lower = sums.scatter(X, mean_x)
            exact.put_scatter(lower)
            return lower

        def xy() -> Array:
            product = sums.cross(X, mean_x, Y, mean_y)
            exact.put_cross(product, Y)
            product[:, constant] = 0.0
            return product

        def spread() -> Array:
            if sp.issparse(X):
                squares = sums.squares(X) - n * mean_x**2
                exact.put_spreads(squares)
                return squares
            return np.sum([np.einsum("ij,ij->j", b, b) for b in sums.centred_blocks(X, mean_x)], axis=0)

        return cls(
            n,
            mean_x,
            mean_y,
            xx,
            xy,
            lambda: _emptied(sums.symmetric(sums.scatter(Y, mean_y)), constant),
            lambda: (X, Y),
            spread,
            memo=memo or Memo(),
        )

    @classmethod
    def weighted(cls, X: Any, Y: Any, weights: Array, mean: Array | None = None) -> Moments:
        """Σ w(x−m)(x−m)ᵀ and Σ w(x−m)yᵀ of rows X (n×d, dense or sparse) and Y (n×K, dense), w > 0.

        With m the `mean` (d,), or Σwx/Σw: the moments, about the origin, of the rows √w(x−m) and √w y. Cost of S: as
        in `from_arrays`.
        """
        n, d = X.shape
        root = np.sqrt(weights)[:, None]
        near = np.zeros(d) if sp.issparse(X) else X[0]  # about it constant features leave exact zeros
        about = sums.cross(X, near, weights[:, None], np.zeros(1))[:, 0]
        weighted_mean = near + about / weights.sum()
        mean = weighted_mean if mean is None else mean
        targets = root * Y
        spread_out = sp.csr_array(X.multiply(root)) if sp.issparse(X) else root * (X - mean)

        def xx() -> Array:
            if not sp.issparse(X):
                return sums.scatter(spread_out, np.zeros(d))
            # a sparse matrix stays it: Σwxxᵀ − (Σw)ccᵀ about c = Σwx/Σw, moved to m
            lower = sums.scatter(spread_out, weighted_mean * np.sqrt(weights.sum() / n))
            return lower + weights.sum() * np.outer(weighted_mean - mean, weighted_mean - mean)

        def xy() -> Array:
            product = spread_out.T @ targets
            return product - np.outer(mean, root[:, 0] @ targets) if sp.issparse(X) else product

        return cls(
            n,
            np.zeros(d),
            np.zeros(Y.shape[1]),
            xx,
            xy,
            lambda: targets.T @ targets,
            lambda: (root * (sums.dense(X) - mean), targets),
            centred=False,
        )

    @classmethod
    def from_blocks(cls, blocks: Iterable[tuple[Any, Any]]) -> Moments:
        """Moments of a stream of (X, Y) row blocks, in memory that does not grow with their number.

        Raises
        ------
        ValueError
            When there is no block.
        """
        total = None
        for X, Y in blocks:
            block = cls.from_arrays(X, Y).settled()
            total = block if total is None else (total + block).settled()
        if total is None:
            raise ValueError("there is no block of rows")
        return total

    def settled(self) -> Moments:
        """The same moments with every sum computed and the rows let go, ready to be sent or added up."""
        xx, xy, yy = self.xx_lower, self.xy, self.yy
        return Moments(self.n, self.mean_x, self.mean_y, lambda: xx, lambda: xy, lambda: yy, centred=self.centred)

    # ---------------------------------------------------------------- what it holds

    @property
    def xx_lower(self) -> Array:
        """S (d×d), of which only the lower triangle is defined."""
        return self.memo.get("xx", self._xx)

    @property
    def xx(self) -> Array:
        """S (d×d)."""
        return sums.symmetric(self.xx_lower)

    @property
    def xy(self) -> Array:
        """C (d×K)."""
        return self.once("xy", self._xy)

    @property
    def yy(self) -> Array:
        """T (K×K)."""
        return self.once("yy", self._yy)

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """`compute()`, kept under `key` for whoever asks these moments again (images of labels keep nothing)."""
        return compute() if self._image is not None else self.memo.get(key, compute)

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.mean_x)

    @property
    def n_labels(self) -> int:
        """K."""
        return len(self.mean_y)

    def rows(self) -> tuple[Any, Any]:
        """The rows X (n×d) and Y (n×K) that these moments are of, as they came (not centred).

        Raises
        ------
        ValueError
            When they are no longer at hand (after `settled`, `+` or `-`).
        """
        if self._rows is None:
            raise ValueError("these moments no longer have their rows")
        return self.memo.get("rows", self._rows) if self._image is None else self._rows()

    def rows_less_offsets(self) -> tuple[Any, Array]:
        """The rows X (n×d) less an origin, and this (d,), as in `sums.less_offsets`: for what no shift changes."""
        X = self.rows()[0]
        return self.memo.get("rows less offsets", lambda: sums.less_offsets(X, self.mean_x))

    def whole(self) -> tuple[Moments, NDArray[np.intp] | None]:
        """The largest set of rows that these are a part of, and which of its rows they are, in order (None: all).

        What is computed for pairs of rows (a kernel matrix) can be kept there, and serves every part.
        """
        larger, index = self._labelled, None
        while larger._part_of is not None:
            assert larger._kept is not None
            index = larger._kept if index is None else larger._kept[index]
            larger = larger._part_of._labelled
        return larger, index

    def source(self) -> tuple[Moments, Array | None]:
        """The moments of the labels, and the matrix (K×M) that makes these codes of them; (self, None) if none does.

        What is linear in the labels, as the coefficients of a regression are, is best computed (`once`) for the labels,
        and times the matrix it is that of the codes.
        """
        if self._shares_root:
            root, _, matrix = self._image  # type: ignore[misc]
            return root, matrix
        return self, None

    @property
    def _labelled(self) -> Moments:
        """These moments before their labels were mapped."""
        return self if self._image is None else self._image[0]

    # ---------------------------------------------------------------- arithmetic

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        n = self.n + other.n
        return self._merged(other, n, 1.0, self.n * other.n / n)

    def __sub__(self, other: Moments) -> Moments:
        """The moments of the rows that are in this set but not in `other` (which must be a part of it).

        Raises
        ------
        ValueError
            When no row is left.
        """
        n = self.n - other.n
        if n < 1:
            raise ValueError(f"no row is left: {self.n} - {other.n}")
        return self._merged(other, n, -1.0, self.n * other.n / n)

    def _merged(self, other: Moments, n: int, sign: float, weight: float) -> Moments:
        if not (self.centred and other.centred):
            raise ValueError("only centred moments can be added and subtracted")
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y

        def xx() -> Array:
            merged = self.xx_lower + sign * (other.xx_lower + weight * np.outer(dx, dx))
            return merged if sign > 0 else _after_subtraction(merged, np.diag(self.xx_lower))

        return Moments(
            n,
            self.mean_x + sign * (other.n / n) * dx,
            self.mean_y + sign * (other.n / n) * dy,
            xx,
            lambda: self.xy + sign * (other.xy + weight * np.outer(dx, dy)),
            lambda: self.yy + sign * (other.yy + weight * np.outer(dy, dy)),
        )

    @property
    def unlabelled(self) -> Any:
        """The rows (u×d) of the training set that came without labels; None where there are none.

        No sum here has them in it: only a method that asks for them learns from them.
        """
        if self._unlabelled is None:
            return None
        return self.memo.get("unlabelled", self._unlabelled) if self._image is None else self._unlabelled()

    def with_unlabelled(self, rows: Any) -> Moments:
        """The same moments with rows (u×d, or a function that returns them) that have no labels at hand."""
        return replace(self, _unlabelled=rows if callable(rows) else lambda: rows, memo=Memo())

    def without(self, index: NDArray[np.intp]) -> Moments:
        """The moments of the rows not in `index` (distinct row numbers): a training set, at the price of the test rows.

        With A the left-out rows less x̄ and one row more, their sum over √(n − |index|), S becomes S − AᵀA, and C and T
        likewise; the extra row moves the centre to the new mean. Features of which little is left by that are summed
        anew over the rows that stay; labels that are constant there get exact zeros. Cost: |index|·d² and a copy for S.

        Raises
        ------
        ValueError
            When the rows are not at hand, none is left, one is named twice, or the sums are not centred.
        """
        if not self.centred:
            raise ValueError("take rows away before `uncentred`")
        X, Y = self.rows()
        keep = np.ones(self.n, dtype=bool)
        keep[index] = False
        n = int(keep.sum())
        if n < 1:
            raise ValueError("no row is left to train on")
        if n != self.n - len(index):
            raise ValueError("a row is named twice among those to leave out")
        X_out, Y_out = X[index], Y[index]
        sum_x = sums.total(X_out) - len(index) * self.mean_x
        sum_x[self.spread() == 0] = 0.0  # what is constant stays so, without rounding
        sum_y = sums.total(Y_out) - len(index) * self.mean_y
        shift_x, shift_y = sum_x / np.sqrt(n), sum_y / np.sqrt(n)
        mean_x, mean_y = self.mean_x - sum_x / n, self.mean_y - sum_y / n
        left = self._spread_left(X_out, shift_x)
        exact = self._weakened(X, X_out, left, keep)
        exact.put_means(mean_x)
        constant = self._labels_left_constant(Y, Y_out, shift_y, keep)
        mean_y[constant] = sums.dense(Y[np.flatnonzero(keep)[:1]])[0, constant]

        def xx() -> Array:
            lower = np.array(self.xx_lower, order="F")
            for block in sums.centred_blocks(X_out, self.mean_x, shift_x):
                lower = blas.dsyrk(-1.0, block.T, beta=1.0, c=lower, lower=1, overwrite_c=1)
            exact.put_scatter(lower)
            return lower

        def xy() -> Array:
            product = self.xy - sums.cross(X_out, self.mean_x, Y_out, self.mean_y, shift_x, shift_y)
            exact.put_cross(product, Y)
            product[:, constant] = 0.0
            return product

        def spread() -> Array:
            exact.put_spreads(left)
            return left

        return Moments(
            n,
            mean_x,
            mean_y,
            xx,
            xy,
            lambda: _emptied(self.yy - sums.cross(Y_out, self.mean_y, Y_out, self.mean_y, shift_y, shift_y), constant),
            lambda: (sums.frozen(X[keep]), sums.frozen(Y[keep])),
            spread,
            _part_of=self,
            _kept=np.flatnonzero(keep),
            _unlabelled=self._unlabelled,
        )

    def _labels_left_constant(self, Y: Any, Y_out: Any, shift: Array, keep: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The labels that are constant on the rows kept: these are asked where T's diagonal keeps next to nothing."""
        spread = self.label_spread()
        gone = sums.squares(Y_out) - self.mean_y * (2 * sums.total(Y_out) - Y_out.shape[0] * self.mean_y) + shift**2
        weak = np.flatnonzero((spread == 0) | (spread - gone <= 1e-8 * spread))
        return weak[sums.constant(Y[:, weak][keep])]

    def _spread_left(self, X_out: Any, shift: Array) -> Array:
        """Σ(x−x̄)² of each feature when the rows `X_out` go, but for what rounding leaves of those that become weak."""
        spread = self.spread()
        if sp.issparse(X_out):
            gone = sums.squares(X_out) - self.mean_x * (2 * sums.total(X_out) - X_out.shape[0] * self.mean_x) + shift**2
        else:  # of the squares of x themselves nothing is left where the mean is large
            blocks = sums.centred_blocks(X_out, self.mean_x, shift)
            gone = np.sum([np.einsum("ij,ij->j", block, block) for block in blocks], axis=0)
        return np.where(spread == 0, 0.0, spread - gone)

    def _weakened(self, X: Any, X_out: Any, left: Array, keep: NDArray[np.bool_]) -> ExactColumns:
        """The features to sum anew when the rows `X_out` go: little or nothing of them is left in the others."""
        spread = self.spread()
        weak = left < _CANCELLED * spread
        if not sp.issparse(X):
            return ExactColumns(X, np.flatnonzero(weak), np.zeros(0, dtype=np.intp), keep)
        weak |= spread == 0  # the quick sums of what is constant but not 0 leave rounding
        entries = self.memo.get("entries", lambda: _entries(X)) - _entries(X_out)
        return ExactColumns(X, np.flatnonzero(weak & (entries > 0)), np.flatnonzero(entries == 0), keep)

    # ---------------------------------------------------------------- maps

    def map_labels(self, offset: Array, matrix: Array) -> Moments:
        """The moments of the codes t = (y − offset) @ matrix, with `matrix` K×M; the features' side stays shared."""

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return X, (Y - offset) @ matrix if not sp.issparse(Y) else Y @ matrix - offset @ matrix

        return replace(
            self,
            mean_y=(self.mean_y - offset) @ matrix,
            _xy=lambda: self.xy @ matrix if self.cross is None else self.cross.times(matrix),
            _yy=lambda: matrix.T @ (self.yy @ matrix if self.cross is None else self.label_operator()(matrix)),
            _rows=rows if self._rows is not None else None,
            _image=(self, offset, matrix),
        )

    def map_features(self, matrix: Array, offset: Array | None = None) -> Moments:
        """The moments of x' = (x − offset) @ matrix, with `matrix` d×m: S' = PᵀSP, C' = PᵀC. Cost: d²m.

        The labels' side stays as it is; what is factorised of S' is kept apart from what is kept of S.
        """
        if self._image is not None:
            return self._mapped_like(self, self._image[0].map_features(matrix, offset))
        shift = np.zeros(matrix.shape[1]) if offset is None else offset @ matrix

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return X @ matrix - shift, Y

        mapped = Moments(
            self.n,
            self.mean_x @ matrix - shift,
            self.mean_y,
            lambda: np.asfortranarray(matrix.T @ self._times_xx(matrix)),
            lambda: matrix.T @ self.xy if self.cross is None else self.cross.transposed(matrix).T,
            lambda: self.yy,
            rows if self._rows is not None else None,
            lambda: np.diag(mapped.xx_lower).copy(),
            centred=self.centred,
        )
        return mapped

    def select_features(self, index: NDArray[np.intp]) -> Moments:
        """The moments of the features `index` (ascending): blocks of S and C; sums anew where d > n and rows are there.

        What is factorised of them is not shared. Sparse rows stay sparse.
        """
        if self._image is not None:
            return self._mapped_like(self, self._image[0].select_features(index))
        if self.n_features > self.n and self._rows is not None and self.centred:
            X, Y = self.rows()
            return Moments.from_arrays(sums.frozen(X[:, index]), Y)

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return sums.frozen(X[:, index]), Y

        return Moments(
            self.n,
            self.mean_x[index],
            self.mean_y,
            lambda: np.asfortranarray(self.xx_lower[np.ix_(index, index)]),
            lambda: self.xy[index],
            lambda: self.yy,
            rows if self._rows is not None else None,
            lambda: self.spread()[index],
            centred=self.centred,
        )

    def standardised(self) -> Moments:
        """The moments of the features at unit scatter, x_j/√S_jj: S is their correlation matrix. Cost: d².

        A constant feature becomes 0: it has no correlation, with itself neither. Sparse rows stay sparse.
        """
        if not self.centred or self._image is not None:
            raise ValueError("standardise centred features, before the labels are mapped")
        return self.memo.get("standardised", self._standardised)

    def _standardised(self) -> Moments:
        unit = inverse_root(self._spreads())

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return sums.frozen(sp.csr_array(X @ sp.diags_array(unit)) if sp.issparse(X) else X * unit), Y

        return Moments(
            self.n,
            self.mean_x * unit,
            self.mean_y,
            lambda: np.multiply(self.xx_lower * unit, unit[:, None], order="F"),
            lambda: self.xy * unit[:, None],
            lambda: self.yy,
            rows if self._rows is not None else None,
            lambda: (unit > 0).astype(np.float64),
        )

    def _spreads(self) -> Array:
        """Σ(x−x̄)² of each feature (d,), exactly 0 where it is constant; without S where that is the larger side."""
        if (self.n_features <= self.n and not self._both_large) or self._rows is None:
            return np.diag(self.xx_lower)
        of = self if self._spread is not None else Moments.from_arrays(*self.rows())
        return self.memo.get("spread", of._spread)  # type: ignore[arg-type]

    def _times_xx(self, matrix: Array) -> Array:
        """S @ matrix (d×m); without S where there are more features than rows at hand."""
        if (self.n_features <= self.n and not self._both_large) or self._rows is None:
            return blas.dsymm(1.0, self.xx_lower, np.asfortranarray(matrix), lower=1)
        return self.scatter_operator()(matrix)

    def with_labels(self, inputs: Sequence[int], targets: Sequence[int]) -> Moments:
        """The moments of the labels `targets`, with the labels `inputs` as features behind the others: all blocks of S,
        C and T, nothing is summed anew. Of an input that is constant on these rows exact zeros are left, not rounding.
        """
        if not self.centred or self._image is not None:
            raise ValueError("labels become features before the features are uncentred or the labels mapped")
        if not len(inputs):
            return self.map_labels(np.zeros(self.n_labels), np.eye(self.n_labels)[:, list(targets)])
        i, t = np.asarray(inputs), np.asarray(targets)
        before = np.diag(self.yy if self._part_of is None else self._part_of.yy)[i]
        live = (np.diag(self.yy)[i] > 1e-14 * before).astype(np.float64)
        scatter = self.yy[np.ix_(i, i)] * np.outer(live, live)

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return beside(X, sums.dense(Y[:, i])), Y[:, t]

        return Moments(
            self.n,
            np.append(self.mean_x, self.mean_y[i]),
            self.mean_y[t],
            lambda: np.block([[self.xx_lower, live * self.xy[:, i]], [(live * self.xy[:, i]).T, scatter]]),
            lambda: np.vstack([self.xy[:, t], live[:, None] * self.yy[np.ix_(i, t)]]),
            lambda: self.yy[np.ix_(t, t)],
            rows if self._rows is not None else None,
        )

    def with_targets(self, of_labels: Array, of_features: Array, offset: Array) -> Moments:
        """The moments of targets t = yA + xB + c in the labels' place (A is K×q, B d×q, c has q entries). Cost: d²q.

        S stays as it is, but what is factorised of it is not shared.
        """
        if not self.centred or self._image is not None:
            raise ValueError("targets come before the features are uncentred or the labels mapped")

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return X, Y @ of_labels + X @ of_features + offset

        def yy() -> Array:
            mixed = of_labels.T @ self.xy.T @ of_features
            own = of_labels.T @ self.yy @ of_labels + of_features.T @ self._times_xx(of_features)
            return own + mixed + mixed.T

        return replace(
            self,
            mean_y=self.mean_y @ of_labels + self.mean_x @ of_features + offset,
            _xx=lambda: self.xx_lower,
            _xy=lambda: self.xy @ of_labels + self._times_xx(of_features),
            _yy=yy,
            _rows=rows if self._rows is not None else None,
            memo=Memo(),
        )

    def principal_directions(self, n: int) -> tuple[Array, Array]:
        """The `n` largest eigenvalues of S, descending, and their eigenvectors as rows; fewer if S has not that rank.

        A Gram matrix knows an eigenvalue to about 1e-16 of the largest. Where those asked for reach below 1e-10 of it,
        or d ≥ n, they come from an SVD of the centred rows (if at hand), which knows them to the square of that. One
        decomposition serves every n, but where few of very many are wanted: these come from Lanczos iterations, for
        d ≥ n with the rows alone (about 50 products with them for one).
        """
        values, directions = self._leading(n)
        return values[:n], directions[:n]

    def principal_moments(self, n: int) -> Moments:
        """The moments of the features in the `n` leading principal directions (uncentred); S is diagonal there."""
        found = self._leading(n)[1]
        n_found = len(found)
        values, directions = self.principal_directions(n)

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return self.memo.get(("principal rows", n_found), lambda: sums.frozen(X @ found.T))[:, : len(values)], Y

        return Moments(
            self.n,
            directions @ self.mean_x,
            self.mean_y,
            lambda: np.diag(values),
            lambda: self.once(("principal xy", n_found), lambda: found @ self.xy)[: len(values)],
            lambda: self.yy,
            rows if self._rows is not None else None,
            _variances=values,
        )

    def _leading(self, n: int) -> tuple[Array, Array]:
        if not self.centred or self._image is not None:
            raise ValueError("principal directions are those of centred features, before the labels are mapped")
        if self.n_features < self.n:
            few = self.n_features >= 1000 and 10 * n <= self.n_features
        else:
            few = self.n >= 500 and 20 * n <= self.n and self._rows is not None
        size = n if few else self.n_features
        return self.memo.get(("principal directions", size), lambda: self._decompose(size))

    def _decompose(self, n: int) -> tuple[Array, Array]:
        if self.n_features < self.n or self._rows is None:
            values, directions = linalg.leading_eigenvectors(self.xx, n)
            if self._rows is None or values[0] <= 0 or values[-1] >= 1e-10 * values[0]:
                rank = np.count_nonzero(values > self.n_features * np.finfo(float).eps * values[0])
                return np.maximum(values, 0.0)[: max(rank, 1)], directions[: max(rank, 1)]
        elif n < self.n_features and self.spread().any():
            with contextlib.suppress(linalg.IllConditioned):
                values, vectors = principal.lanczos(self.scatter_operator(), self.n_features, n)
                if values[-1] >= 1e-10 * values[0]:
                    return values, linalg.signed(vectors)
        svd = self._thin_svd() if self.n_features > self.n else self._svd_of_rows()
        return principal.axes(svd, self.n_features)

    def uncentred(self) -> Moments:
        """The same rows with S = Σxxᵀ about the origin: for methods that do not centre the features."""
        if self._image is not None:
            return self._mapped_like(self, self._image[0].uncentred())
        raw = self.mean_x if self.centred else np.zeros_like(self.mean_x)
        return self.memo.get(
            "uncentred",
            lambda: replace(
                self,
                _xx=lambda: self.xx_lower + self.n * np.outer(raw, raw),
                _rows=self.rows if self._rows is not None else None,
                centred=False,
                memo=Memo(),
                _part_of=None,
                _variances=None,
            ),
        )

    def with_constant(self) -> Moments:
        """The moments with one more feature, constant 1: an intercept that is penalised like any other coefficient."""
        if self._image is not None:
            return self._mapped_like(self, self._image[0].with_constant())
        if not self.centred:
            raise ValueError("add the constant before `uncentred`")

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            ones = np.ones((X.shape[0], 1))
            return (sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])), Y

        return self.memo.get(
            "with constant",
            lambda: replace(
                self,
                mean_x=np.append(self.mean_x, 1.0),
                _xx=lambda: np.pad(self.xx_lower, (0, 1)),
                _xy=lambda: np.pad(self.xy, ((0, 1), (0, 0))),
                _yy=lambda: self.yy,
                _rows=rows if self._rows is not None else None,
                memo=Memo(),
                _part_of=None,
                _variances=None,
                _unlabelled=None,
            ),
        )

    @staticmethod
    def _mapped_like(codes: Moments, root: Moments) -> Moments:
        assert codes._image is not None
        _, offset, matrix = codes._image
        return root.map_labels(offset, matrix)

    def rank_coordinates(self) -> RankCoordinates:
        """S and C in coordinates of the features in which they are no larger than need be.

        They are the features themselves where d ≤ n (or the rows are not at hand), and else the r principal axes of the
        rows, from a thin SVD of X: what a method finds in the range of Xᵀ it finds there exactly. Cost where d > n:
        about 9n³ + ndr (sparse: n² inner products of rows), or the SVD of the dense rows, 6n²d.
        """
        if self.n_features <= self.n or self._rows is None:
            return RankCoordinates(self, lambda a: a)
        root = self if self._image is None else self._image[0]
        svd = root._thin_svd()
        s = svd.singular_values
        inner = Moments(
            self.n,
            np.zeros(svd.rank),
            self.mean_y,
            lambda: np.diag(s**2),
            lambda: s[:, None] * (svd.left.T @ self.centred_labels()),
            lambda: self.yy,
            lambda: (svd.left * s, self.rows()[1]),
            lambda: s**2,
            centred=self.centred,
        )
        return RankCoordinates(inner, svd.apply_right)

    def _thin_svd(self) -> linalg.Spectral:
        """X = U diag(s) Vᵀ of the rows less their origin, for d > n: one for all who want principal axes."""
        return self.memo.get("thin svd", lambda: principal.thin_svd(self.rows()[0], self._origin, self.centred))

    def _svd_of_rows(self) -> linalg.Spectral:
        """The same of the rows made dense, which is what knows most of small singular values."""
        return self.memo.get("svd of rows", lambda: principal.svd_of_rows(self.rows()[0], self._origin, self.centred))

    def scatter_operator(self) -> principal.Operator:
        """A ↦ SA (d×q), from the rows: S is not formed."""
        if not self.centred:
            return principal.scatter_operator(self.rows()[0], self._origin)
        X, origin = self.rows_less_offsets()
        return principal.scatter_operator(X, self.mean_x - origin)

    def label_operator(self) -> principal.Operator:
        """A ↦ TA (K×q), from the rows: T is not formed."""
        return principal.scatter_operator(self.rows()[1], self.mean_y)

    @property
    def cross(self) -> principal.Cross | None:
        """C as an operator, where it is too large to be formed and X and Y are sparse; else None."""
        if self._image is not None or self._rows is None or self.n_features * self.n_labels <= WIDE:
            return None
        X, Y = self.rows()
        if not (sp.issparse(X) and sp.issparse(Y) and self.centred):
            return None
        return self.memo.get("cross", lambda: principal.Cross.of(X, self.mean_x, Y, self.mean_y))

    @property
    def _both_large(self) -> bool:
        """Whether rows and features are both so many that no square matrix of either size is wanted."""
        return self._rows is not None and min(self.n, self.n_features) >= principal.GRADIENTS_FROM

    def solved(self, right: Array, ridge: float, tolerance: float = 1e-14) -> Array:
        """(S + αI)⁻¹B (d×q) for B (d×q) and α > 0, by conjugate gradients on the rows: S is not formed.

        Raises
        ------
        linalg.IllConditioned
            When they do not converge.
        """
        times = self.scatter_operator()
        return principal.conjugate_gradients(
            lambda a: times(a) + ridge * a, self.spread() + ridge, right, tolerance=tolerance
        )

    def spread(self) -> Array:
        """The diagonal of S (d,), without S where the rows are at hand."""
        if self._rows is None:
            return np.diag(self.xx_lower).copy()
        if not self.centred:
            return sums.squares(self.rows()[0])
        spread = self._spread or Moments.from_arrays(*self.rows()).spread
        return self.memo.get("spread", spread)

    def label_spread(self) -> Array:
        """The diagonal of T (K,), without T where the rows are at hand."""
        if self._rows is None or self._image is not None or not self.centred:
            return np.diag(self.yy).copy()
        Y = self.rows()[1]
        return self.memo.get(
            "label spread", lambda: np.where(sums.constant(Y), 0.0, sums.squares(Y) - self.n * self.mean_y**2)
        )

    @property
    def has_rows(self) -> bool:
        """Whether the rows are at hand."""
        return self._rows is not None

    # ---------------------------------------------------------------- solving

    def factor(self, ridge: float = 0.0) -> linalg.Factor:
        """The factorisation of S + αI that fits the shape and rank of the data; chosen here and nowhere else.

        Raises
        ------
        linalg.IllConditioned
            When the rank cannot be told from S and the rows are not at hand.
        """
        return self.memo.get(("factor", ridge), lambda: self._factorise(ridge))

    def _factorise(self, ridge: float) -> linalg.Factor:
        if self._variances is not None:
            return linalg.Diagonal.of(self._variances, ridge)
        try:
            if self.n_features > self.n and self._rows is not None:
                return self._factorise_dual(ridge)
            try:
                return linalg.Cholesky.of(self.xx_lower, ridge, self._dependent() if ridge == 0 else None)
            except linalg.IllConditioned:
                if ridge > 0:
                    raise
                return self._confirmed(linalg.PivotedCholesky.of(self.xx_lower))
        except linalg.IllConditioned:
            if self._rows is None:
                raise
        return self._svd_of_rows().with_ridge(ridge)

    def _confirmed(self, factor: linalg.PivotedCholesky) -> linalg.PivotedCholesky:
        """The factorisation, once the rows have confirmed which features depend on others (if they are at hand)."""
        if self._rows is not None:
            residual = self.rows()[0] @ factor.probe - self._origin @ factor.probe
            if not linalg.confirmed(residual, np.sqrt(len(factor.dependent))):
                raise linalg.IllConditioned("the rows do not confirm the rank of the Gram matrix")
        return factor

    def _dependent(self) -> NDArray[np.intp] | None:
        """Features known beforehand to depend on others: those that do in the larger set these rows are a part of."""
        if self._part_of is None:
            return None
        whole = self._part_of.factor()
        if isinstance(whole, linalg.PivotedCholesky) and len(whole.dependent) < whole.rank:
            return whole.dependent
        return None

    def _factorise_dual(self, ridge: float) -> linalg.Factor:
        X, _ = self.rows()
        mean = self._origin
        outer = sums.outer(X, mean)
        raw = sums.squares(X)
        # taking the mean off XXᵀ leaves rounding of the size of the raw rows: it must be small beside what is left
        largest, raw_largest = np.max(np.diag(outer)), float((X * X).sum(axis=1).max())
        if sp.issparse(X) and largest < 1e-3 * raw_largest:
            raise linalg.IllConditioned("centring cancels too much of the matrix of inner products")

        def transpose_apply(a: Array) -> Array:
            return X.T @ a - np.outer(mean, a.sum(axis=0))

        if ridge > 0:
            spectral = self.memo.get("spectral", lambda: linalg.Spectral.of_outer(outer, transpose_apply))
            # eigenvalues of XXᵀ are known to about n·ε of the largest; the ridge must drown that
            if ridge < 1e-9 * np.max(spectral.singular_values, initial=0.0) ** 2:
                raise linalg.IllConditioned("the ridge is too small for the matrix of inner products")
            return spectral.with_ridge(ridge)
        factor = linalg.Dual.of(outer, transpose_apply)
        # each feature (but for those nearly constant), at unit size, must lie in the range that was found
        squares = raw - self.n * mean * (2 * self.mean_x - mean)
        sizes = np.sqrt(np.where((raw > 0) & (squares > 1e-10 * raw), squares, np.inf))
        probe = linalg.random_signs(self.n_features) / sizes[:, None]
        image = X @ probe - mean @ probe
        if not linalg.confirmed(image - factor.basis @ (factor.basis.T @ image), float(np.linalg.norm(image))):
            raise linalg.IllConditioned("the rows do not confirm the rank of the matrix of inner products")
        return factor

    @property
    def _origin(self) -> Array:
        return self.mean_x if self.centred else np.zeros_like(self.mean_x)

    def whitened(self, ridge: float = 0.0) -> Array:
        """B (r×K) with BᵀB = ZᵀHZ, the labels' scatter that a (ridge) regression on the features explains."""
        if self._shares_root:
            root, _, matrix = self._image  # type: ignore[misc]
            return root.whitened(ridge) @ matrix
        if self._image is not None:
            return self._whiten(ridge)
        return self.memo.get(("whitened", ridge), lambda: self._whiten(ridge))

    def explained(self, ridge: float = 0.0) -> Array:
        """ZᵀHZ (K×K), H = X(XᵀX + αI)⁺Xᵀ the hat matrix."""

        def compute() -> Array:
            b = self.whitened(ridge)
            return b.T @ b

        return compute() if self._image is not None else self.memo.get(("explained", ridge), compute)

    def coefficients(self, ridge: float = 0.0) -> Array:
        """W (d×K): coefficients of the centred labels on the features, least squares of minimum norm, or ridge.

        A ridge regression on many features (from 15,000) of more rows yet is solved by conjugate gradients, which form
        no d×d matrix; if they converge.
        """
        if self._shares_root:
            root, _, matrix = self._image  # type: ignore[misc]
            return root.coefficients(ridge) @ matrix
        if self._image is not None:
            return self._coefficients(ridge)
        return self.memo.get(("coefficients", ridge), lambda: self._coefficients(ridge))

    def _coefficients(self, ridge: float) -> Array:
        if ridge > 0 and self._both_large and self._variances is None:
            with contextlib.suppress(linalg.IllConditioned):
                return self.solved(self.xy, ridge)
        return self.factor(ridge).coefficients(self.whitened(ridge))

    def basic_coefficients(self) -> Array:
        """W (d×K): least squares by the rule of R's `lm`: features that depend on those before them get 0.

        Where S shows clearly which do, a Cholesky factorisation of the others decides, of which that of the larger set
        of rows that these are a part of may be known beforehand; elsewhere a QR factorisation of the rows (see
        `numerics.file_order`).

        Raises
        ------
        ValueError
            When the rows are needed and not at hand.
        """
        if self._image is not None:
            root, _, matrix = self._image
            return root.basic_coefficients() @ matrix
        return self.memo.get("basic coefficients", lambda: self._basic_factor().coefficients(self.basic_whitened()))

    def basic_whitened(self) -> Array:
        """B (r×K) with BᵀB the labels' scatter that the features kept by the rule of R's `lm` explain."""
        if self._image is not None:
            root, _, matrix = self._image
            return root.basic_whitened() @ matrix
        return self.memo.get("basic whitened", lambda: self._basic_factor().whiten(self.xy, self.centred_labels))

    def _basic_factor(self) -> linalg.Factor:
        if not self.centred:
            raise ValueError("the intercept comes first: features must be centred")
        return self.memo.get("basic factor", self._factorise_in_file_order)

    def _factorise_in_file_order(self) -> linalg.Factor:
        if self._variances is not None:  # uncorrelated features: only the intercept can explain one
            sizes = self._variances + self.n * self.mean_x**2
            kept = self._variances > file_order.TOLERANCE**2 * sizes
            return linalg.Diagonal.of(np.where(kept, self._variances, 0.0))
        # beyond that the Gram matrix is larger than the rows by far
        if self.n_features <= 4 * self.n or self._rows is None:
            with contextlib.suppress(linalg.IllConditioned):
                factor = file_order.FileOrderCholesky.of(
                    self.xx_lower, np.diag(self.xx_lower), self._sizes, self._known_aliased()
                )
                if not len(factor.aliased) or linalg.confirmed(
                    self._residual(factor.probe()), np.sqrt(len(factor.aliased))
                ):
                    return factor
        return self._file_order_of_rows()

    def _file_order_of_rows(self) -> file_order.FileOrder:
        X = self.rows()[0]
        by_columns = sp.csc_array(X) if sp.issparse(X) else X

        def columns(start: int, stop: int) -> Array:
            block = sums.dense(by_columns[:, start:stop]) - self.mean_x[start:stop]
            return block - block.mean(axis=0)

        return file_order.FileOrder.of_columns(columns, self.n, np.sqrt(sums.squares(X)))

    @property
    def _sizes(self) -> Array:
        """Σx² of each feature."""
        return np.diag(self.xx_lower) + self.n * self.mean_x**2

    def _residual(self, directions: Array) -> Array:
        """The rows, less their mean, in these directions (n×m)."""
        return self.rows()[0] @ directions - self._origin @ directions

    def _known_aliased(self) -> NDArray[np.intp]:
        """Features known beforehand to be aliased: those that are in the larger set these rows are a part of.

        What the features before it leave of one is no larger in a part of the rows. There it was less than 1e-8 of its
        norm, so it is less than 1e-7 here, unless little of the feature itself is left.
        """
        if self._part_of is None:
            return np.zeros(0, dtype=np.intp)
        whole = self._part_of
        known = whole.memo.get("aliased", whole._clearly_aliased)
        return known[self._sizes[known] >= 0.1 * whole._sizes[known]]

    def _clearly_aliased(self) -> NDArray[np.intp]:
        """Features of which the intercept and those before them leave next to nothing."""
        factor = self._basic_factor()
        if isinstance(factor, file_order.FileOrder):
            return np.flatnonzero(factor.left < 1e-2 * file_order.TOLERANCE)
        if isinstance(factor, file_order.FileOrderCholesky):
            return np.union1d(self._known_aliased(), factor.aliased)
        return np.zeros(0, dtype=np.intp)

    def constant_coefficients(self, ridge: float = 0.0) -> Array:
        """W (d,): coefficients of the constant target 1 on the features (0 where these are centred).

        With it, targets that are not centred can be regressed on features that are not: W + w ȳᵀ.
        """
        if self._image is not None:
            return self._image[0].constant_coefficients(ridge)
        factor = self.factor(ridge)
        product = self.n * (self.mean_x - self._origin)
        whitened = factor.whiten(product[:, None], lambda: np.ones((self.n, 1)))
        return factor.coefficients(whitened)[:, 0]

    @property
    def _shares_root(self) -> bool:
        # Codes are linear in the labels, so one solve for the labels serves the codes of every method. For label spaces
        # far larger than the code that is the dearer way. The rule looks at shapes alone: the same bits in any order.
        root = self._image[0] if self._image is not None else None
        return root is not None and root.n_labels <= max(1000, 4 * self.n_labels) and root.cross is None

    def _whiten(self, ridge: float) -> Array:
        return self.factor(ridge).whiten(self.xy, self.centred_labels)

    def centred_labels(self) -> Array:
        """Z = Y − ȳ (n×K), dense.

        Raises
        ------
        ValueError
            When the rows are no longer at hand.
        """
        return sums.dense(self.rows()[1]) - self.mean_y


def beside(X: Any, columns: Array) -> Any:
    """X (n×d, dense or CSR) with more columns (n×q, dense) behind its own; as sparse as it came."""
    return sp.csr_array(sp.hstack([X, columns])) if sp.issparse(X) else np.hstack([X, columns])


def inverse_root(squares: Array, rounding: float = 0.0) -> Array:
    """1/√s of each, and 0 where s is no more than `rounding`."""
    return np.divide(1.0, np.sqrt(np.maximum(squares, 0.0)), out=np.zeros(len(squares)), where=squares > rounding)


def _emptied(square: Array, index: NDArray[np.intp]) -> Array:
    """The matrix, with 0 in the rows and columns of `index`."""
    square[index, :] = 0.0
    square[:, index] = 0.0
    return square


def _entries(X: Any) -> NDArray[np.intp]:
    """Number of stored entries of each column of a CSR matrix."""
    return np.bincount(X.indices, minlength=X.shape[1])


def _after_subtraction(lower: Array, before: Array) -> Array:
    """Exact zeros for features that a subtraction left constant but for rounding (a share of 1e-14, or nothing).

    Raises
    ------
    linalg.IllConditioned
        When so little of a feature is left that its rounding error counts: its rows must be summed anew.
    """
    left = np.diag(lower)
    constant = left <= 1e-14 * before
    if np.any(~constant & (left < 1e-8 * before)):
        raise linalg.IllConditioned("the subtraction leaves too little of a feature; use `without`, which has the rows")
    lower[constant, :] = 0.0
    lower[:, constant] = 0.0
    return lower
