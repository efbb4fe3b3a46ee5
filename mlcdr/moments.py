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

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

from mlcdr import linalg

Array = NDArray[np.float64]
T = TypeVar("T")

_BLOCK = 2048  # rows made dense at a time
_CANCELLED = 1e-4  # a feature whose sum of squares shrinks by more than this is summed anew


class Memo:
    """Values computed once, each with what it cost, so that a `meter` can charge every user in full.

    Timings of methods that share work would otherwise depend on their order: the first would pay for the rest.

    Parameters
    ----------
    charged : bool
        False for work done once for a whole data set, which no method pays for.
    """

    def __init__(self, charged: bool = True) -> None:
        self._values: dict[Any, Any] = {}
        self._needs: dict[Any, frozenset[_Cost]] = {}
        self._charged = charged

    def get(self, key: Any, compute: Callable[[], T]) -> T:
        """The value under `key`, computed on first use."""
        outer = _frames()
        if key not in self._values:
            with _watch() as frame:
                value = compute()
            self._needs[key] = frozenset(frame.needs | {_Cost(frame.alone)}) if self._charged else frozenset()
            self._values[key] = value
            if outer:
                outer[-1].elsewhere += frame.seconds
        if outer:
            outer[-1].needs |= self._needs[key]
        return self._values[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._values


@dataclass(frozen=True, eq=False)
class _Cost:
    """What one memoised value took to compute, apart from the memoised values it was made of."""

    seconds: float


@dataclass
class Meter:
    """What a block cost, as if nothing it used had been shared; `seconds` is set when the block ends."""

    seconds: float = float("nan")


class _Frame:
    """An open measurement: time passed, time of it spent on memoised values, and the memoised values used."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.seconds = 0.0
        self.elsewhere = 0.0
        self.needs: set[_Cost] = set()

    @property
    def alone(self) -> float:
        return self.seconds - self.elsewhere


_local = threading.local()


def _frames() -> list[_Frame]:
    if not hasattr(_local, "frames"):
        _local.frames = []
    return _local.frames


@contextmanager
def _watch() -> Iterator[_Frame]:
    frame = _Frame()
    _frames().append(frame)
    try:
        yield frame
    finally:
        _frames().pop()
        frame.seconds = time.perf_counter() - frame.start


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure a block: wall time, with every memoised value it uses at its full price, whoever computed it first."""
    meter = Meter()
    with _watch() as frame:
        yield meter
    meter.seconds = frame.alone + sum(cost.seconds for cost in frame.needs)


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
    centred: bool = True
    memo: Memo = field(default_factory=Memo)
    _image: tuple[Moments, Array, Array] | None = None  # of which moments, with what offset and matrix, by `map_labels`
    _part_of: Moments | None = None  # the larger set of rows these were taken from, by `without`

    # ---------------------------------------------------------------- construction

    @classmethod
    def from_arrays(cls, X: Any, Y: Any, memo: Memo | None = None) -> Moments:
        """Moments of X (n×d) and Y (n×K), dense or sparse, keeping the rows. Cost nd², or nnz²/n where X is sparse.

        Raises
        ------
        ValueError
            When X and Y differ in their number of rows, or there is none.
        """
        n = X.shape[0]
        if n != Y.shape[0] or n == 0:
            raise ValueError(f"X has {n} rows and Y has {Y.shape[0]}: they must agree, and there must be one at least")
        mean_x, mean_y = _mean(X), _mean(Y)
        return cls(
            n,
            mean_x,
            mean_y,
            lambda: _scatter(X, mean_x, exact=True),
            lambda: _cross(X, mean_x, Y, mean_y),
            lambda: _symmetric(_scatter(Y, mean_y)),
            lambda: (X, Y),
            memo=memo or Memo(),
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
        return Moments(self.n, self.mean_x, self.mean_y, lambda: xx, lambda: xy, lambda: yy)

    # ---------------------------------------------------------------- what it holds

    @property
    def xx_lower(self) -> Array:
        """S (d×d), of which only the lower triangle is defined."""
        return self.memo.get("xx", self._xx)

    def _scratch_xx(self) -> Array:
        """S (lower triangle) in an array of the caller's own, to be overwritten.

        The first time that is the one array there is, for most splits need no second; from then on, a copy.
        """
        if "xx" in self.memo or "xx was given away" in self.memo:
            return np.array(self.xx_lower, order="F")
        self.memo.get("xx was given away", lambda: True)
        return self._xx()

    @property
    def xx(self) -> Array:
        """S (d×d)."""
        return _symmetric(self.xx_lower)

    @property
    def xy(self) -> Array:
        """C (d×K)."""
        return self._own("xy", self._xy)

    @property
    def yy(self) -> Array:
        """T (K×K)."""
        return self._own("yy", self._yy)

    def _own(self, key: str, compute: Callable[[], Array]) -> Array:
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
        return Moments(
            n,
            self.mean_x + sign * (other.n / n) * dx,
            self.mean_y + sign * (other.n / n) * dy,
            lambda: _without_rounding(
                self.xx_lower + sign * (other.xx_lower + weight * np.outer(dx, dx)), self.xx_lower
            ),
            lambda: self.xy + sign * (other.xy + weight * np.outer(dx, dy)),
            lambda: self.yy + sign * (other.yy + weight * np.outer(dy, dy)),
        )

    def without(self, index: NDArray[np.intp]) -> Moments:
        """The moments of the rows not in `index`: a training set, at the price of the test rows.

        With A the left-out rows less x̄ and one row more, their sum over √(n − |index|), S becomes S − AᵀA, and C and T
        likewise; the extra row moves the centre to the new mean. Cost |index|·d² for S.

        Raises
        ------
        ValueError
            When the rows are not at hand, none is left, or the sums are not centred.
        """
        if not self.centred:
            raise ValueError("take rows away before `uncentred`")
        X, Y = self.rows()
        n = self.n - len(index)
        if n < 1:
            raise ValueError("no row is left to train on")
        X_out, Y_out = X[index], Y[index]
        sum_x = np.asarray(X_out.sum(axis=0), dtype=float).ravel() - len(index) * self.mean_x
        sum_y = np.asarray(Y_out.sum(axis=0), dtype=float).ravel() - len(index) * self.mean_y
        shift_x, shift_y = sum_x / np.sqrt(n), sum_y / np.sqrt(n)

        def xx() -> Array:
            lower = np.array(self.xx_lower, order="F")
            before = np.diag(lower).copy()
            for block in _centred_blocks(X_out, self.mean_x, shift_x):
                lower = blas.dsyrk(-1.0, block.T, beta=1.0, c=lower, lower=1, overwrite_c=1)
            cancelled = np.flatnonzero(np.diag(lower) < _CANCELLED * before)
            _recompute(lower, cancelled, X, index)
            return lower

        def rows() -> tuple[Any, Any]:
            keep = np.ones(self.n, dtype=bool)
            keep[index] = False
            return X[keep], Y[keep]

        return Moments(
            n,
            self.mean_x - sum_x / n,
            self.mean_y - sum_y / n,
            xx,
            lambda: self.xy - _cross(X_out, self.mean_x, Y_out, self.mean_y, shift_x, shift_y),
            lambda: self.yy - _cross(Y_out, self.mean_y, Y_out, self.mean_y, shift_y, shift_y),
            rows,
            _part_of=self,
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
            _xy=lambda: self.xy @ matrix,
            _yy=lambda: matrix.T @ self.yy @ matrix,
            _rows=rows if self._rows is not None else None,
            _image=(self, offset, matrix),
        )

    def uncentred(self) -> Moments:
        """The same rows with S = Σxxᵀ about the origin: for methods that do not centre the features."""
        if self._image is not None:
            return self._image[0].uncentred()._mapped_like(self)
        raw = self.mean_x if self.centred else np.zeros_like(self.mean_x)
        return self.memo.get(
            "uncentred",
            lambda: replace(
                self,
                _xx=lambda: self.xx_lower + self.n * np.outer(raw, raw),
                centred=False,
                memo=Memo(),
                _part_of=None,
            ),
        )

    def with_constant(self) -> Moments:
        """The moments with one more feature, constant 1: an intercept that is penalised like any other coefficient."""
        if self._image is not None:
            return self._image[0].with_constant()._mapped_like(self)

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
            ),
        )

    def _mapped_like(self, codes: Moments) -> Moments:
        assert codes._image is not None
        _, offset, matrix = codes._image
        return self.map_labels(offset, matrix)

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
        try:
            if self.n_features > self.n and self._rows is not None:
                return self._factorise_dual(ridge)
            try:
                return linalg.Cholesky.of(self._scratch_xx(), ridge, self._dependent() if ridge == 0 else None)
            except linalg.IllConditioned:
                if ridge > 0:
                    raise
                return self._confirmed(linalg.PivotedCholesky.of(self._scratch_xx()))
        except linalg.IllConditioned:
            if self._rows is None:
                raise
        return linalg.Spectral.of_rows(self._centred_x(), ridge)

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

        def transpose_apply(a: Array) -> Array:
            return X.T @ a - np.outer(mean, a.sum(axis=0))

        if ridge == 0:
            factor = linalg.Dual.of(_outer(X, mean), transpose_apply)
            # every feature that varies, at unit size, must lie in the range that was found
            raw = _squares(X)
            squares = raw - self.n * mean * (2 * _mean(X) - mean)
            sizes = np.sqrt(np.where((raw > 0) & (squares > 1e-10 * raw), squares, np.inf))
            probe = linalg.random_signs(self.n_features) / sizes[:, None]
            image = X @ probe - mean @ probe
            if not linalg.confirmed(image - factor.basis @ (factor.basis.T @ image), float(np.linalg.norm(image))):
                raise linalg.IllConditioned("the rows do not confirm the rank of the matrix of inner products")
            return factor
        spectral = self.memo.get("spectral", lambda: linalg.Spectral.of_outer(_outer(X, mean), transpose_apply))
        # eigenvalues of XXᵀ are known to about n·ε of the largest; the ridge must drown that
        if ridge < 1e-9 * np.max(spectral.singular_values, initial=0.0) ** 2:
            raise linalg.IllConditioned("the ridge is too small for the matrix of inner products")
        return spectral.with_ridge(ridge)

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
        """W (d×K): coefficients of the centred labels on the features, least squares of minimum norm, or ridge."""
        if self._shares_root:
            root, _, matrix = self._image  # type: ignore[misc]
            return root.coefficients(ridge) @ matrix
        if self._image is not None:
            return self.factor(ridge).coefficients(self._whiten(ridge))
        return self.memo.get(("coefficients", ridge), lambda: self.factor(ridge).coefficients(self.whitened(ridge)))

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
        return self._image is not None and self._image[0].n_labels <= max(1000, 4 * self.n_labels)

    def _whiten(self, ridge: float) -> Array:
        return self.factor(ridge).whiten(self.xy, self._centred_y)

    def _centred_x(self) -> Array:
        X, _ = self.rows()
        return (X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)) - self._origin

    def _centred_y(self) -> Array:
        _, Y = self.rows()
        return (Y.toarray() if sp.issparse(Y) else np.asarray(Y, dtype=float)) - self.mean_y


# -------------------------------------------------------------------- sums over rows


def _mean(a: Any) -> Array:
    return np.asarray(a.sum(axis=0), dtype=float).ravel() / a.shape[0]


def _squares(a: Any) -> Array:
    """Σa² of each column."""
    squares = a.multiply(a) if sp.issparse(a) else a * a
    return np.asarray(squares.sum(axis=0), dtype=float).ravel()


def _symmetric(lower: Array) -> Array:
    return np.tril(lower) + np.tril(lower, -1).T


def _centred_blocks(a: Any, mean: Array, extra: Array | None = None) -> Iterator[Array]:
    """Dense blocks of the rows less their mean; `extra` is appended as one row more, as it is."""
    for start in range(0, max(a.shape[0], 1), _BLOCK):
        part = a[start : start + _BLOCK]
        block = (part.toarray() if sp.issparse(part) else part).astype(float) - mean
        if extra is not None and start + _BLOCK >= a.shape[0]:
            block = np.vstack([block, extra])
        yield block


def _scatter(a: Any, mean: Array, exact: bool = False) -> Array:
    """Σ(a−mean)(a−mean)ᵀ, lower triangle. Sparse rows are multiplied as they are; the mean is taken off afterwards.

    `exact`: columns in which that cancels, or that are constant, are summed anew.
    """
    d = a.shape[1]
    if sp.issparse(a):
        a = a.astype(float)
        total = np.asfortranarray((a.T @ a).toarray())
        total = blas.dsyr(-float(a.shape[0]), mean, a=total, lower=1, overwrite_a=1)
    else:
        total = np.zeros((d, d), order="F")
        for block in _centred_blocks(a, mean):
            total = blas.dsyrk(1.0, block.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    if exact:
        suspects = np.diag(total) <= _CANCELLED * _CANCELLED * a.shape[0] * mean**2
        _recompute(total, np.flatnonzero(suspects), a, np.zeros(0, dtype=np.intp))
    return total


def _recompute(lower: Array, columns: NDArray[np.intp], a: Any, without: NDArray[np.intp]) -> None:
    """Sum the given rows and columns of Σ(a−ā)(a−ā)ᵀ anew, in place, over the rows of `a` not in `without`.

    A column constant on those rows gets exact zeros, so that nobody takes its rounding error for a feature.
    """
    if not len(columns):
        return
    part = a[:, columns]
    part = (part.toarray() if sp.issparse(part) else np.asarray(part)).astype(float)
    keep = np.ones((a.shape[0], 1), dtype=bool)
    keep[without] = False
    part *= keep
    magnitude = np.abs(part).max(axis=0)
    part -= part.sum(axis=0) / keep.sum()
    part *= keep
    part[:, np.abs(part).max(axis=0) <= 1e-14 * magnitude] = 0.0
    # Σ(a−ā)(p−p̄)ᵀ = Σa(p−p̄)ᵀ but for what rounding leaves of Σ(p−p̄)
    total = np.asarray(a.T @ keep.astype(float)).ravel()
    product = a.T @ part - np.outer(total / keep.sum(), part.sum(axis=0))
    for j, column in zip(columns, product.T, strict=True):
        lower[j, :j] = column[:j]
        lower[j:, j] = column[j:]


def _cross(
    a: Any, mean_a: Array, b: Any, mean_b: Array, extra_a: Array | None = None, extra_b: Array | None = None
) -> Array:
    """Σ(a−mean_a)(b−mean_b)ᵀ (+ the product of the extra rows)."""
    if sp.issparse(a) or sp.issparse(b):
        # Σabᵀ − (Σa) mean_bᵀ − mean_a (Σb)ᵀ + n mean_a mean_bᵀ
        n = a.shape[0]
        sum_a, sum_b = _mean(a) * n if n else 0 * mean_a, _mean(b) * n if n else 0 * mean_b
        product = a.T.astype(float) @ b.astype(float)
        total = product.toarray() if sp.issparse(product) else product
        total = total - np.outer(sum_a, mean_b) - np.outer(mean_a, sum_b - n * mean_b)
        return total if extra_a is None else total + np.outer(extra_a, extra_b)  # type: ignore[arg-type]
    total = np.zeros((a.shape[1], b.shape[1]))
    for block_a, block_b in zip(_centred_blocks(a, mean_a, extra_a), _centred_blocks(b, mean_b, extra_b), strict=True):
        total += block_a.T @ block_b
    return total


def _without_rounding(difference: Array, whole: Array) -> Array:
    """Exact zeros for features that a subtraction left constant but for rounding."""
    constant = np.diag(difference) <= 1e-12 * np.diag(whole)
    difference[constant, :] = 0.0
    difference[:, constant] = 0.0
    return difference


def _outer(X: Any, mean: Array) -> Array:
    """(X−mean)(X−mean)ᵀ (n×n), for d > n."""
    if sp.issparse(X):
        products = (X @ X.T).toarray()
        on_mean = X @ mean
        return products - on_mean[:, None] - on_mean[None, :] + mean @ mean
    centred = X - mean
    return centred @ centred.T
