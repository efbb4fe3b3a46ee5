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

from mlcdr.numerics import factorisation, linalg, principal, row_sums, sums
from mlcdr.numerics.entry import as_csr
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.row_sums import AllRows, RowsLeft, WeightedRows

Array = NDArray[np.float64]
T = TypeVar("T")
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
    part_of: Moments | None = None  # the larger set of rows these were taken from, by `without`
    _kept: NDArray[np.intp] | None = None  # and which of its rows they are
    variances: Array | None = None  # the diagonal of S, where S is diagonal
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
        X, Y = as_csr(X), as_csr(Y)
        n = X.shape[0]
        if n != Y.shape[0] or n == 0:
            raise ValueError(f"X has {n} rows and Y has {Y.shape[0]}: they must agree, and there must be one at least")
        of = AllRows.of(X, Y)
        rows = (of.X, Y)
        return cls(n, of.mean_x, of.mean_y, of.xx, of.xy, of.yy, lambda: rows, of.spread, memo=memo or Memo())

    @classmethod
    def weighted(cls, X: Any, Y: Any, weights: Array, mean: Array | None = None) -> Moments:
        """Σ w(x−m)(x−m)ᵀ and Σ w(x−m)yᵀ of rows X (n×d, dense or sparse) and Y (n×K, dense), w > 0.

        With m the `mean` (d,), or Σwx/Σw: the moments, about the origin, of the rows √w(x−m) and √w y. Cost of S: as
        in `from_arrays`.
        """
        of = WeightedRows.of(X, Y, weights, mean)
        nowhere = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
        return cls(X.shape[0], *nowhere, of.xx, of.xy, of.yy, of.rows, centred=False)

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
        while larger.part_of is not None:
            assert larger._kept is not None
            index = larger._kept if index is None else larger._kept[index]
            larger = larger.part_of._labelled
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
            return merged if sign > 0 else row_sums.after_subtraction(merged, np.diag(self.xx_lower))

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

        How, and at what cost, stands in `numerics.row_sums.RowsLeft`.

        Raises
        ------
        ValueError
            When the rows are not at hand, none is left, one is named twice, or the sums are not centred.
        """
        if not self.centred:
            raise ValueError("take rows away before `uncentred`")
        X, Y = self.rows()
        left = RowsLeft.of(
            X,
            Y,
            index,
            (self.mean_x, self.mean_y),
            self.spread(),
            self.label_spread,
            lambda: self.memo.get("entries", lambda: row_sums.stored_entries(X)),
        )
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
            _kept=np.flatnonzero(left.keep),
            _unlabelled=self._unlabelled,
        )

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
        mapped = self._of_features(
            self.mean_x @ matrix - shift,
            lambda: np.asfortranarray(matrix.T @ self._times_xx(matrix)),
            lambda: matrix.T @ self.xy if self.cross is None else self.cross.transposed(matrix).T,
            lambda X: X @ matrix - shift,
            lambda: np.diag(mapped.xx_lower).copy(),
        )
        return mapped

    def _of_features(
        self,
        mean_x: Array,
        xx: Callable[[], Array],
        xy: Callable[[], Array],
        made_of: Callable[[Any], Any],
        spread: Callable[[], Array] | None = None,
        variances: Array | None = None,
    ) -> Moments:
        """The moments of other features of the same rows, which are `made_of` X; the labels' side stays as it is."""

        def rows() -> tuple[Any, Any]:
            X, Y = self.rows()
            return made_of(X), Y

        return Moments(
            self.n,
            mean_x,
            self.mean_y,
            xx,
            xy,
            lambda: self.yy,
            rows if self._rows is not None else None,
            spread,
            centred=self.centred,
            variances=variances,
        )

    def select_features(self, index: NDArray[np.intp]) -> Moments:
        """The moments of the features `index` (ascending): blocks of S and C; sums anew where d > n and rows are there.

        What is factorised of them is not shared. Sparse rows stay sparse.
        """
        if self._image is not None:
            return self._mapped_like(self, self._image[0].select_features(index))
        if self.n_features > self.n and self._rows is not None and self.centred:
            X, Y = self.rows()
            return Moments.from_arrays(sums.frozen(X[:, index]), Y)
        return self._of_features(
            self.mean_x[index],
            lambda: np.asfortranarray(self.xx_lower[np.ix_(index, index)]),
            lambda: self.xy[index],
            lambda X: sums.frozen(X[:, index]),
            lambda: self.spread()[index],
        )

    def featureless(self) -> Moments:
        """The moments with one feature that is 0 throughout in the place of those there are: the labels alone."""
        if self._image is not None:
            return self._mapped_like(self, self._image[0].featureless())
        return self._of_features(
            np.zeros(1),
            lambda: np.zeros((1, 1), order="F"),
            lambda: np.zeros((1, self.n_labels)),
            lambda X: np.zeros((X.shape[0], 1)),
            lambda: np.zeros(1),
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
        return self._of_features(
            self.mean_x * unit,
            lambda: np.multiply(self.xx_lower * unit, unit[:, None], order="F"),
            lambda: self.xy * unit[:, None],
            lambda X: sums.frozen(sp.csr_array(X @ sp.diags_array(unit)) if sp.issparse(X) else X * unit),
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
        before = np.diag(self.yy if self.part_of is None else self.part_of.yy)[i]
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

        def projected(X: Any) -> Array:
            return self.memo.get(("principal rows", n_found), lambda: sums.frozen(X @ found.T))[:, : len(values)]

        return self._of_features(
            directions @ self.mean_x,
            lambda: np.diag(values),
            lambda: self.once(("principal xy", n_found), lambda: found @ self.xy)[: len(values)],
            projected,
            variances=values,
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
        svd = self._thin_svd() if self.n_features > self.n else self.svd_of_rows()
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
                part_of=None,
                variances=None,
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
                part_of=None,
                variances=None,
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
        return self.memo.get("thin svd", lambda: principal.thin_svd(self.rows()[0], self.origin, self.centred))

    def svd_of_rows(self) -> linalg.Spectral:
        """The same of the rows made dense, which is what knows most of small singular values."""
        return self.memo.get("svd of rows", lambda: principal.svd_of_rows(self.rows()[0], self.origin, self.centred))

    def scatter_operator(self) -> principal.Operator:
        """A ↦ SA (d×q), from the rows: S is not formed."""
        if not self.centred:
            return principal.scatter_operator(self.rows()[0], self.origin)
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
        return self.memo.get(("factor", ridge), lambda: factorisation.factorise(self, ridge))

    def basic_factor(self) -> linalg.Factor:
        """That of S by the rule of R's `lm`: features that depend on those before them are left out.

        Raises
        ------
        ValueError
            When S is not centred, or the rows are needed and not at hand.
        """
        return self.memo.get("basic factor", lambda: factorisation.in_file_order(self))

    @property
    def origin(self) -> Array:
        """What the features are taken about: x̄, or 0 (`uncentred`)."""
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
        if ridge > 0 and self._both_large and self.variances is None:
            with contextlib.suppress(linalg.IllConditioned):
                return self.solved(self.xy, ridge)
        return self.factor(ridge).coefficients(self.whitened(ridge))

    def basic_coefficients(self) -> Array:
        """W (d×K): least squares by the rule of R's `lm`: features that depend on those before them get 0.

        How these are told stands in `numerics.factorisation.in_file_order`.

        Raises
        ------
        ValueError
            When the rows are needed and not at hand.
        """
        if self._image is not None:
            root, _, matrix = self._image
            return root.basic_coefficients() @ matrix
        return self.memo.get("basic coefficients", lambda: self.basic_factor().coefficients(self.basic_whitened()))

    def basic_whitened(self) -> Array:
        """B (r×K) with BᵀB the labels' scatter that the features kept by the rule of R's `lm` explain."""
        if self._image is not None:
            root, _, matrix = self._image
            return root.basic_whitened() @ matrix
        return self.memo.get("basic whitened", lambda: self.basic_factor().whiten(self.xy, self.centred_labels))

    def constant_coefficients(self, ridge: float = 0.0) -> Array:
        """W (d,): coefficients of the constant target 1 on the features (0 where these are centred).

        With it, targets that are not centred can be regressed on features that are not: W + w ȳᵀ.
        """
        if self._image is not None:
            return self._image[0].constant_coefficients(ridge)
        factor = self.factor(ridge)
        product = self.n * (self.mean_x - self.origin)
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
