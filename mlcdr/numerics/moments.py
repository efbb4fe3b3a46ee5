"""Second moments of a data set: what nearly every linear method of these papers needs of the data.

With X (n×d) the features and Y (n×K) the labels, `Moments` holds n, the means x̄ and ȳ, and the centred sums

    S = Σ(x−x̄)(x−x̄)ᵀ (d×d),    C = Σ(x−x̄)(y−ȳ)ᵀ (d×K),    T = Σ(y−ȳ)(y−ȳ)ᵀ (K×K).

They add up over disjoint sets of rows (Chan, Golub & LeVeque 1983), so the moments of a training set are those of the
whole data set minus the test fold's: the data are read once, and a split costs its test rows. Centred sums are what is
kept, since subtracting large raw sums would cancel.

A `Moments` of arrays still has its rows at hand (`rows()`), for the parts of a method that need them, and for the
solvers. What one split's methods can share (a factorisation, X⁺Y, ZᵀHZ) is computed once and kept in the `Memo`.
`CodeMoments` are those of the codes that a label space makes of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

from mlcdr.numerics import operators, row_sums, sums
from mlcdr.numerics.entry import as_csr
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.row_sums import AllRows, RowsLeft

Array = NDArray[np.float64]
Rows = tuple[Any, Any]
T = TypeVar("T")
# C with more entries than this is not formed where X and Y are sparse: it would be dense, and XᵀY is not.
WIDE = 2e8


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
    _rows: Callable[[], Rows] | None = None
    _spread: Callable[[], Array] | None = None  # Σ(x−x̄)² of each feature, known without S; where there are rows
    centred: bool = True
    memo: Memo = field(default_factory=Memo)
    part_of: Moments | None = None  # the larger set of rows these were taken from, by `without`
    left: NDArray[np.intp] | None = None  # the rows of it that were taken away, in the order given
    _kept: NDArray[np.intp] | None = None  # and which of its rows are these
    variances: Array | None = None  # the diagonal of S, where S is diagonal
    _unlabelled: Callable[[], Any] | None = None  # rows of the training set that came without labels

    # ---------------------------------------------------------------- construction

    @classmethod
    def from_arrays(cls, X: Any, Y: Any, memo: Memo | None = None) -> Moments:
        """Moments of X (n×d) and Y (n×K), dense or sparse, keeping the rows. Cost of S: nd², or Σ nnz(row)² if sparse.

        For texts (n×1) and features with NaN the result is `UnsummedMoments`.

        Raises
        ------
        ValueError
            When X and Y differ in their number of rows, or there is none.
        """
        X, Y = as_csr(X), as_csr(Y)
        n = X.shape[0]
        if n != Y.shape[0] or n == 0:
            raise ValueError(f"X has {n} rows and Y has {Y.shape[0]}: they must agree, and there must be one at least")
        if X.dtype == object:
            return UnsummedMoments.of(X, Y, memo)
        of = AllRows(X, Y)
        if np.isnan(of.mean_x).any():
            return UnsummedMoments.of(of.X, Y, memo)
        rows = (of.X, Y)
        return cls(n, of.mean_x, of.mean_y, of.xx, of.xy, of.yy, lambda: rows, of.spread, memo=memo or Memo())

    @classmethod
    def from_blocks(cls, blocks: Iterable[Rows]) -> Moments:
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
        """The same moments with every sum computed and the rows released, ready to be sent or added up."""
        xx, xy, yy = self.xx_lower, self.xy, self.yy
        return Moments(self.n, self.mean_x, self.mean_y, lambda: xx, lambda: xy, lambda: yy, centred=self.centred)

    # ---------------------------------------------------------------- what it holds

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.mean_x)

    @property
    def n_labels(self) -> int:
        """Number of labels K, or of codes."""
        return len(self.mean_y)

    @property
    def origin(self) -> Array:
        """What the features are taken about (d,): x̄, or 0 (`uncentred`)."""
        return self.mean_x if self.centred else np.zeros_like(self.mean_x)

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

    def spread(self) -> Array:
        """The diagonal of S (d,), without S where the rows are at hand."""
        if self._rows is None:
            return np.diag(self.xx_lower).copy()
        if not self.centred:
            return sums.squares(self.rows()[0])
        return self.memo.get("spread", self._spread or (lambda: Moments.from_arrays(*self.rows()).spread()))

    def label_spread(self) -> Array:
        """The diagonal of T (K,), without T where the rows are at hand."""
        if self._rows is None or not self.centred:
            return np.diag(self.yy).copy()
        Y = self.rows()[1]
        return self.memo.get(
            "label spread", lambda: np.where(sums.constant(Y), 0.0, sums.squares(Y) - self.n * self.mean_y**2)
        )

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """`compute()`, kept under `key` for further calls; moments of codes keep nothing."""
        return self.memo.get(key, compute)

    # ---------------------------------------------------------------- rows

    @property
    def has_rows(self) -> bool:
        """Whether the rows are at hand."""
        return self._rows is not None

    @property
    def both_large(self) -> bool:
        """Whether rows (at hand) and features are both so many that no square matrix of either size is wanted."""
        return self._rows is not None and min(self.n, self.n_features) >= operators.GRADIENTS_FROM

    def rows(self) -> Rows:
        """The rows X (n×d) and Y (n×K) that these moments are of, as they came (not centred).

        Raises
        ------
        ValueError
            When they are no longer at hand (after `settled`, `+` or `-`).
        """
        if self._rows is None:
            raise ValueError("these moments no longer have their rows")
        return self.once("rows", self._rows)

    def centred_labels(self) -> Array:
        """Z = Y − ȳ (n×K), dense.

        Raises
        ------
        ValueError
            When the rows are no longer at hand.
        """
        return sums.dense(self.rows()[1]) - self.mean_y

    def rows_less_offsets(self) -> tuple[Any, Array]:
        """The rows X (n×d) less an origin, and this (d,), as in `sums.less_offsets`: for what no shift changes."""
        X = self.rows()[0]
        return self.memo.get("rows less offsets", lambda: sums.less_offsets(X, self.mean_x))

    @property
    def unlabelled(self) -> Any:
        """The rows (u×d) of the training set that came without labels; None where there are none.

        They enter no sum here: only a method that asks for them learns from them.
        """
        return None if self._unlabelled is None else self.memo.get("unlabelled", self._unlabelled)

    def with_unlabelled(self, rows: Any) -> Moments:
        """The same moments, with `unlabelled` rows (u×d, or a function that returns them)."""
        return replace(self, _unlabelled=rows if callable(rows) else lambda: rows, memo=Memo())

    def whole(self) -> tuple[Moments, NDArray[np.intp] | None]:
        """The largest set of rows that these are a part of, and which of its rows they are, in order (None: all).

        What is computed for pairs of rows (a kernel matrix) can be kept there, and serves every part.
        """
        larger, index = self.labels, None
        while larger.part_of is not None:
            assert larger._kept is not None
            index = larger._kept if index is None else larger._kept[index]
            larger = larger.part_of.labels
        return larger, index

    def scatter_operator(self) -> operators.Operator:
        """A ↦ SA (d×q), from the rows: S is not formed."""
        if not self.centred:
            return operators.scatter_operator(self.rows()[0], self.origin)
        X, origin = self.rows_less_offsets()
        return operators.scatter_operator(X, self.mean_x - origin)

    def label_operator(self) -> operators.Operator:
        """A ↦ TA (K×q), from the rows: T is not formed."""
        return operators.scatter_operator(self.rows()[1], self.mean_y)

    @property
    def cross(self) -> operators.Cross | None:
        """C as an operator, where it is too large to be formed and X and Y are sparse; else None."""
        if self._rows is None or not self.centred or self.n_features * self.n_labels <= WIDE:
            return None
        X, Y = self.rows()
        if not (sp.issparse(X) and sp.issparse(Y)):
            return None
        return self.memo.get("cross", lambda: operators.Cross.from_rows(X, self.mean_x, Y, self.mean_y))

    # ---------------------------------------------------------------- arithmetic

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        return self._merge(other, 1)

    def __sub__(self, other: Moments) -> Moments:
        """The moments of the rows that are in this set but not in `other` (which must be a part of it).

        Raises
        ------
        ValueError
            When no row is left.
        """
        if self.n <= other.n:
            raise ValueError(f"no row is left: {self.n} - {other.n}")
        return self._merge(other, -1)

    def _merge(self, other: Moments, sign: int) -> Moments:
        if not (self.centred and other.centred):
            raise ValueError("only centred moments can be added and subtracted")
        n = self.n + sign * other.n
        weight = self.n * other.n / n
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y

        def xx() -> Array:
            merged = self.xx_lower + sign * (other.xx_lower + weight * np.outer(dx, dx))
            return merged if sign > 0 else row_sums.after_subtraction(merged, np.diag(self.xx_lower))

        return Moments(
            n,
            self.mean_x + sign * (other.n / n) * dx,
            self.mean_y + sign * (other.n / n) * dy,
            xx,
            lambda: self.xy + sign * (other.xy + weight * np.outer(dx, dy)),
            lambda: self.yy + sign * (other.yy + weight * np.outer(dy, dy)),
        )

    def without(self, index: NDArray[np.intp], taken: Any = None) -> Moments:
        """The moments of the rows not in `index` (distinct row numbers): a training set, at the price of the test rows.

        For the method and its cost see `numerics.row_sums.RowsLeft`. `taken` are those rows of X, in the order of
        `index`, where they are at hand.

        Raises
        ------
        ValueError
            When the rows are not at hand, none is left, one is named twice, or the sums are not centred.
        """
        if not self.centred:
            raise ValueError("take rows away before `uncentred`")
        X, Y = self.rows()

        entries = partial(self.memo.get, "entries", lambda: row_sums.stored_entries(X))
        out = (X[index] if taken is None else taken, Y[index])
        left = RowsLeft(X, Y, index, out, (self.mean_x, self.mean_y), self.spread(), self.label_spread, entries)
        return Moments(
            left.n,
            left.mean_x,
            left.mean_y,
            lambda: left.xx(self.xx_lower),
            lambda: left.xy(self.xy),
            lambda: left.yy(self.yy),
            lambda: (sums.frozen(X[left.keep]), sums.frozen(Y[left.keep])),
            left.spread,
            part_of=self,
            left=index,
            _kept=np.flatnonzero(left.keep),
            _unlabelled=self._unlabelled,
        )

    # ---------------------------------------------------------------- other labels

    @property
    def labels(self) -> Moments:
        """The moments of the labels themselves: these, unless they are of codes."""
        return self

    def source(self) -> tuple[Moments, Array | None]:
        """The moments of the labels, and the matrix (K×M) that makes these codes of them; (self, None) if there is
        none.

        A result that is linear in the labels, such as regression coefficients, is best computed (`once`) for the
        labels; multiplied by the matrix, it is that of the codes.
        """
        return self, None

    def map_labels(self, offset: Array, matrix: Array) -> Moments:
        """The moments of the codes t = (y − offset) @ matrix, with `matrix` K×M; the features' side stays shared."""
        return CodeMoments.encode(self, offset, matrix)

    def with_targets(self, of_labels: Array, of_features: Array, offset: Array) -> Moments:
        """The moments of targets t = yA + xB + c in the labels' place (A is K×q, B d×q, c has q entries). Cost: d²q.

        S stays as it is, but what is factorised of it is not shared.
        """
        self._check_plain("targets come before the features are uncentred or the labels mapped")

        def yy() -> Array:
            scatter = self.yy @ of_labels if self.cross is None else self.label_operator()(of_labels)
            mixed = times_xy().T @ of_features
            return of_labels.T @ scatter + of_features.T @ self._times_xx(of_features) + mixed + mixed.T

        def times_xy() -> Array:
            return self.xy @ of_labels if self.cross is None else self.cross.times(of_labels)

        return replace(
            self,
            mean_y=self.mean_y @ of_labels + self.mean_x @ of_features + offset,
            _xx=lambda: self.xx_lower,
            _xy=lambda: times_xy() + self._times_xx(of_features),
            _yy=yy,
            _rows=self._rows_by(lambda X, Y: (X, Y @ of_labels + X @ of_features + offset)),
            left=None,  # of the larger set these are not the targets
            memo=Memo(),
        )

    def _check_plain(self, message: str) -> None:
        if not self.centred or self.labels is not self:
            raise ValueError(message)

    def _rows_by(self, change: Callable[[Any, Any], Rows]) -> Callable[[], Rows] | None:
        """A function that returns `change(X, Y)` of these rows; None where they are not at hand."""
        return None if self._rows is None else lambda: change(*self.rows())

    # ---------------------------------------------------------------- other features

    def with_features(
        self,
        mean_x: Array,
        xx: Callable[[], Array],
        xy: Callable[[], Array],
        change: Callable[[Any], Any],
        spread: Callable[[], Array] | None = None,
        variances: Array | None = None,
    ) -> Moments:
        """The moments of other features of the same rows, `change(X)`: their mean and functions that compute S and C.

        The labels' side stays as it is; what is factorised of the new S is kept apart from what is kept of the old one.
        """
        return Moments(
            self.n,
            mean_x,
            self.mean_y,
            xx,
            xy,
            lambda: self.yy,
            self._rows_by(lambda X, Y: (change(X), Y)),
            spread,
            centred=self.centred,
            variances=variances,
        )

    def map_features(self, matrix: Array, offset: Array | None = None) -> Moments:
        """The moments of x' = (x − offset) @ matrix, with `matrix` d×m: S' = PᵀSP, C' = PᵀC. Cost: d²m."""
        shift = np.zeros(matrix.shape[1]) if offset is None else offset @ matrix
        mapped = self.with_features(
            self.mean_x @ matrix - shift,
            lambda: np.asfortranarray(matrix.T @ self._times_xx(matrix)),
            lambda: matrix.T @ self.xy if self.cross is None else self.cross.transposed(matrix).T,
            lambda X: X @ matrix - shift,
            lambda: np.diag(mapped.xx_lower).copy(),
        )
        return mapped

    def select_features(self, index: NDArray[np.intp]) -> Moments:
        """The moments of the features `index` (ascending): blocks of S and C; new sums where d > n and rows are there.

        What is factorised of them is not shared. Sparse rows stay sparse.
        """
        if self.n_features > self.n and self._rows is not None and self.centred:
            X, Y = self.rows()
            return Moments.from_arrays(sums.frozen(X[:, index]), Y)
        return self.with_features(
            self.mean_x[index],
            lambda: np.asfortranarray(self.xx_lower[np.ix_(index, index)]),
            lambda: self.xy[index],
            lambda X: sums.frozen(X[:, index]),
            lambda: self.spread()[index],
        )

    def featureless(self) -> Moments:
        """The moments with one feature that is 0 throughout in the place of those there are: the labels alone."""
        return self.with_features(
            np.zeros(1),
            lambda: np.zeros((1, 1), order="F"),
            lambda: np.zeros((1, self.n_labels)),
            lambda X: np.zeros((X.shape[0], 1)),
            lambda: np.zeros(1),
        )

    def standardised(self) -> Moments:
        """The moments of the features at unit scatter, x_j/√S_jj: S is their correlation matrix. Cost: d².

        A constant feature becomes 0: it has no correlation, not even with itself. Sparse rows stay sparse.
        """
        self._check_plain("standardise centred features, before the labels are mapped")
        return self.memo.get("standardised", self._standardised)

    def _standardised(self) -> Moments:
        unit = inverse_root(np.diag(self.xx_lower) if self._forms_scatter else self.spread())
        return self.with_features(
            self.mean_x * unit,
            lambda: np.multiply(self.xx_lower * unit, unit[:, None], order="F"),
            lambda: self.xy * unit[:, None],
            lambda X: sums.frozen(sp.csr_array(X @ sp.diags_array(unit)) if sp.issparse(X) else X * unit),
            lambda: (unit > 0).astype(np.float64),
        )

    @property
    def _forms_scatter(self) -> bool:
        """Whether to compute with S: if it is no larger than the rows, or these are not at hand."""
        return (self.n_features <= self.n and not self.both_large) or self._rows is None

    def _times_xx(self, matrix: Array) -> Array:
        """S @ matrix (d×m)."""
        if self._forms_scatter:
            return blas.dsymm(1.0, self.xx_lower, np.asfortranarray(matrix), lower=1)
        return self.scatter_operator()(matrix)

    def uncentred(self) -> Moments:
        """The same rows with S = Σxxᵀ about the origin: for methods that do not centre the features."""
        return self.memo.get(
            "uncentred",
            lambda: self._changed(
                _xx=lambda: self.xx_lower + self.n * np.outer(self.origin, self.origin),
                _rows=self._rows and self.rows,
                centred=False,
            ),
        )

    def with_constant(self) -> Moments:
        """The moments with one more feature, constant 1: an intercept that is penalised like any other coefficient."""
        if not self.centred:
            raise ValueError("add the constant before `uncentred`")
        return self.memo.get(
            "with constant",
            lambda: self._changed(
                mean_x=np.append(self.mean_x, 1.0),
                _xx=lambda: np.pad(self.xx_lower, (0, 1)),
                _xy=lambda: np.pad(self.xy, ((0, 1), (0, 0))),
                _yy=lambda: self.yy,
                _rows=self._rows_by(lambda X, Y: (beside(X, np.ones((X.shape[0], 1))), Y)),
                _spread=lambda: np.append(self.spread(), 0.0),
                _unlabelled=None,
            ),
        )

    def _changed(self, **changes: Any) -> Moments:
        """The same except for these attributes; stored results on S alone are dropped."""
        return replace(self, memo=Memo(), part_of=None, variances=None, **changes)


@dataclass(frozen=True, eq=False)
class UnsummedMoments(Moments):
    """Rows whose features have no sums yet: texts (n×1), or numbers some of which are missing (NaN).

    They are for a first step of the feature space that makes numbers of them; whatever needs a sum of the features
    raises ValueError. Made by `Moments.from_arrays`.
    """

    @classmethod
    def of(cls, X: Any, Y: Any, memo: Memo | None = None) -> UnsummedMoments:
        """The moments of X (n×d) and Y (n×K)."""

        def refuse() -> Array:
            what = "texts" if X.dtype == object else "numbers of which some are missing"
            raise ValueError(f"the features are {what}, and have no sums before a first step has made numbers of them")

        labels = Moments.from_arrays(np.zeros((X.shape[0], 1)), Y)
        unknown = np.full(X.shape[1], np.nan)
        return cls(
            X.shape[0],
            unknown,
            labels.mean_y,
            refuse,
            refuse,
            lambda: labels.yy,
            lambda: (X, Y),
            refuse,
            memo=memo or Memo(),
        )

    @property
    def are_texts(self) -> bool:
        """Whether the features are texts, not numbers with missing values."""
        return bool(self.rows()[0].dtype == object)

    def without(self, index: NDArray[np.intp], taken: Any = None) -> Moments:
        """The rows not in `index`; errors as of `Moments.without`."""
        X, Y = self.rows()
        keep = row_sums.rows_left(X.shape[0], index)
        left = Moments.from_arrays(sums.frozen(X[keep]), sums.frozen(Y[keep]))
        return replace(left, _unlabelled=self._unlabelled)


@dataclass(frozen=True, eq=False)
class CodeMoments(Moments):
    """Moments of the codes t = (y − offset) @ matrix in the labels' place; made by `Moments.map_labels`.

    The features' side is that of the labels' moments, memo included: what is computed of it serves the codes of every
    method. What depends on the codes is a product with the matrix, and is not kept.
    """

    _labels: Moments = field(kw_only=True)
    _offset: Array = field(kw_only=True)
    _matrix: Array = field(kw_only=True)

    @classmethod
    def encode(cls, labels: Moments, offset: Array, matrix: Array) -> CodeMoments:
        """The codes with this offset (K,) and matrix (K×M) of the labels of some moments."""

        def encode_rows(X: Any, Y: Any) -> Rows:
            return X, Y @ matrix - offset @ matrix if sp.issparse(Y) else (Y - offset) @ matrix

        changes: dict[str, Any] = {
            "mean_y": (labels.mean_y - offset) @ matrix,
            "_xy": lambda: labels.xy @ matrix if labels.cross is None else labels.cross.times(matrix),
            "_yy": lambda: matrix.T @ (labels.yy @ matrix if labels.cross is None else labels.label_operator()(matrix)),
            "_rows": labels._rows_by(encode_rows),
        }
        of_labels = {each.name: getattr(labels, each.name) for each in fields(Moments)}
        return cls(**of_labels | changes, _labels=labels, _offset=offset, _matrix=matrix)

    @property
    def labels(self) -> Moments:
        """The moments of the labels that these codes are of."""
        return self._labels

    def source(self) -> tuple[Moments, Array | None]:
        """The labels' moments and the matrix, or (self, None) where that is the more expensive way."""
        # Codes are linear in the labels, so one solve for the labels serves the codes of every method. For label spaces
        # far larger than the code it costs more. The rule looks at shapes alone: the same bits in any order.
        shares = self._labels.n_labels <= max(1000, 4 * self.n_labels) and self._labels.cross is None
        return (self._labels, self._matrix) if shares else (self, None)

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """`compute()`: for codes nothing is kept."""
        return compute()

    def label_spread(self) -> Array:
        """The diagonal of T (M,)."""
        return np.diag(self.yy).copy()

    @property
    def cross(self) -> operators.Cross | None:
        """None: C is formed."""
        return None

    def map_features(self, matrix: Array, offset: Array | None = None) -> Moments:
        """As `Moments.map_features`."""
        return self._map(self._labels.map_features(matrix, offset))

    def select_features(self, index: NDArray[np.intp]) -> Moments:
        """As `Moments.select_features`."""
        return self._map(self._labels.select_features(index))

    def featureless(self) -> Moments:
        """As `Moments.featureless`."""
        return self._map(self._labels.featureless())

    def uncentred(self) -> Moments:
        """As `Moments.uncentred`."""
        return self._map(self._labels.uncentred())

    def with_constant(self) -> Moments:
        """As `Moments.with_constant`."""
        return self._map(self._labels.with_constant())

    def _map(self, labels: Moments) -> Moments:
        """The same codes of other moments with these labels."""
        return labels.map_labels(self._offset, self._matrix)


def weighted_moments(X: Any, Y: Any, weights: Array, mean: Array | None = None) -> Moments:
    """Σ w(x−m)(x−m)ᵀ and Σ w(x−m)yᵀ of rows X (n×d, dense or sparse) and Y (n×K, dense), w > 0.

    With m the `mean` (d,), or Σwx/Σw: the moments, about the origin, of the rows √w(x−m) and √w y. Cost of S: as in
    `Moments.from_arrays`.
    """
    (n, d), is_sparse = X.shape, sp.issparse(X)
    root, total = np.sqrt(weights)[:, None], weights.sum()
    near = np.zeros(d) if is_sparse else X[0]  # about it constant features leave exact zeros
    weighted_mean = near + sums.cross(X, near, weights[:, None], np.zeros(1))[:, 0] / total
    m = weighted_mean if mean is None else mean
    rows = sp.csr_array(X.multiply(root)) if is_sparse else root * (X - m)  # √w(x−m), or √w x where X is sparse
    targets = root * Y

    def xx() -> Array:
        if not is_sparse:
            return sums.scatter(rows, np.zeros(d))
        # a sparse matrix stays it: Σwxxᵀ − (Σw)ccᵀ about c = Σwx/Σw, moved to m
        lower = sums.scatter(rows, weighted_mean * np.sqrt(total / n))
        return lower + total * np.outer(weighted_mean - m, weighted_mean - m)

    def xy() -> Array:
        product = rows.T @ targets
        return product - np.outer(m, root[:, 0] @ targets) if is_sparse else product

    return Moments(
        n,
        np.zeros(d),
        np.zeros(Y.shape[1]),
        xx,
        xy,
        lambda: targets.T @ targets,
        lambda: (root * (sums.dense(X) - m), targets),
        centred=False,
    )


def beside(X: Any, columns: Array) -> Any:
    """X (n×d, dense or CSR) with more columns (n×q, dense) behind its own; as sparse as it came."""
    if not sp.issparse(X):
        return np.hstack([X, columns])
    # chains do this for every label, and scipy's hstack takes twice as long
    present = columns != 0
    rows, at = np.divmod(np.flatnonzero(present), columns.shape[1])
    shape = X.shape[0], X.shape[1] + columns.shape[1]
    counts = np.bincount(rows, minlength=X.shape[0])
    added = np.append(0, np.cumsum(counts))
    data = np.empty(X.nnz + len(rows), np.result_type(X.data, columns))
    indices = np.empty(len(data), sp.get_index_dtype(maxval=max(len(data), shape[1])))
    own = np.arange(X.nnz) + np.repeat(added[:-1], np.diff(X.indptr))
    new = np.arange(len(rows)) + np.repeat(X.indptr[1:], counts)
    data[own], indices[own] = X.data, X.indices
    data[new], indices[new] = columns[present], at + X.shape[1]
    return sp.csr_array((data, indices, (X.indptr + added).astype(indices.dtype)), shape)
