"""Principal axes of the rows of a data set: from S (d×d), from the n×n side, or from the rows themselves;
and those of C.

Where few are wanted of very many, from products with the rows alone (`operators.lanczos`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import linalg, operators, row_axes, sums
from mlcdr.numerics.factorisation import rank
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]

ACCURATE = 1e-10  # of the largest eigenvalue of S: down to it the others are known to six digits or more
_DENSE = 5e7  # entries of sparse rows that may be made dense where S serves as well


@dataclass(frozen=True)
class RankCoordinates:
    """S (r×r), C (r×K) and the rows (n×r) in r coordinates of the features; `lift` turns directions (r×m) into d×m."""

    moments: Moments
    lift: Callable[[Array], Array]

    def rows(self) -> tuple[Any, Array]:
        """The rows (n×r) less an origin, 0 except for large offsets (see `sums.less_offsets`), and their mean."""
        X, origin = self.moments.rows_less_offsets()
        return X, self.moments.mean_x - origin


def rank_coordinates(moments: Moments) -> RankCoordinates:
    """S and C in coordinates of the features that keep them small, and exact.

    They are the features themselves where d ≤ n (or the rows are not at hand) and their sizes differ by less than 1e5;
    else the r principal axes of the rows (`_axes`): what a method finds in the range of Xᵀ it finds there exactly, and
    no small feature is lost beside a large one. S is diagonal there, `variances`. Cost where d > n: about 9n³ + ndr
    (sparse: n² inner products of rows), or the SVD of the dense rows, 6n²d.
    """
    if (moments.n_features <= moments.n or not moments.has_rows) and _alike(moments):
        return RankCoordinates(moments, lambda a: a)
    labels = moments.labels
    axes = _axes(labels)
    s = axes.singular_values

    def rows() -> tuple[Any, Any]:
        if isinstance(axes, linalg.Spectral):
            return axes.left * s, moments.rows()[1]
        X, to_axes = moments.rows()[0], axes.apply_right(np.eye(axes.rank))
        return X @ to_axes - moments.origin @ to_axes, moments.rows()[1]

    def white() -> Array:  # UᵀZ: C relative to s, with no rounding of large features in it
        if isinstance(axes, linalg.Spectral):
            return axes.left.T @ moments.centred_labels()
        return axes.whiten(moments.xy, None)

    inner = Moments(
        moments.n,
        np.zeros(axes.rank),
        moments.mean_y,
        lambda: np.diag(s**2),
        lambda: s[:, None] * white(),
        lambda: moments.yy,
        rows if moments.has_rows else None,
        lambda: s**2,
        centred=moments.centred,
        variances=s**2,
    )
    return RankCoordinates(inner, axes.apply_right)


def axis_coordinates(moments: Moments) -> RankCoordinates:
    """The same in the principal axes of the rows, where S is diagonal, whatever their shape and scale."""
    space = rank_coordinates(moments)
    if space.moments.variances is not None:
        return space
    values, directions = principal_directions(moments.labels, moments.n_features)
    values, directions = values[values > 0], directions[values > 0]
    inner = moments.with_features(
        directions @ moments.mean_x,
        lambda: np.diag(values),
        lambda: directions @ moments.xy,
        lambda X: X @ directions.T,
        lambda: values,
        variances=values,
    )
    return RankCoordinates(inner, lambda a: directions.T @ a)


def _alike(moments: Moments) -> bool:
    """Whether no feature that varies is larger than another by 1e5 or more."""
    spread = moments.spread()
    spread = spread[spread > 0]
    return not len(spread) or bool(spread.max() < 1e10 * spread.min())


def _axes(moments: Moments) -> linalg.Spectral | linalg.ScatterAxes:
    """X = U diag(s) Vᵀ at all scales: of the rows, but of S where these are not at hand, or sparse and too large."""
    if moments.has_rows and moments.n_features > moments.n:
        return row_axes.thin_svd(moments)
    X = moments.rows()[0] if moments.has_rows else None
    if X is None or (sp.issparse(X) and X.shape[0] * X.shape[1] > _DENSE):
        return moments.memo.get("axes of S", lambda: linalg.ScatterAxes.of_scatter(moments.xx_lower))
    return row_axes.svd_of_rows(moments)


def rounding_size(moments: Moments) -> float:
    """What the rounding of S is relative to: its largest diagonal entry; of sparse rows that of XᵀX."""
    squares = moments.spread()
    if moments.has_rows and sp.issparse(moments.rows()[0]):
        squares = squares + moments.n * moments.mean_x**2
    return float(np.max(squares, initial=0.0))


def cross_rank(moments: Moments) -> int:
    """The rank of C (d×K), by the rule of `linalg.rounding_of_unit_columns`, at features and labels of unit length.

    Cost: dK² and K³ where ĈᵀĈ shows that all labels count that are related to a feature; else about 4dK².
    """
    return moments.once("rank of C", lambda: _rank_of(_unit_cross(moments)[0], moments.n))


def related(moments: Moments) -> bool:
    """Whether C is more than rounding: any feature is related to any label. Cost: dK."""
    unit = _unit_cross(moments)[0]
    return bool(np.linalg.norm(unit) > _rounding_of_cross(unit, moments.n))


def cross_directions(moments: Moments) -> tuple[Array, Array]:
    """The singular values of C (d×K) that are not 0 (`cross_rank`), descending, and their left vectors (d×r).

    Cost: about 6dK², three times that where sizes of features differ by a million.
    """
    return moments.once("directions of C", lambda: _decompose_cross(moments))


def _unit_cross(moments: Moments) -> tuple[Array, Array, Array]:
    """Ĉ = C_jk/(‖x_j‖‖y_k‖) (d×K), the lengths those before centring; and these."""
    features = np.sqrt(moments.spread() + moments.n * moments.mean_x**2)
    labels = np.sqrt(moments.label_spread() + moments.n * moments.mean_y**2)
    features, labels = (np.where(length > 0, length, 1.0) for length in (features, labels))
    return moments.xy / features[:, None] / labels, features, labels


def _rank_of(unit: Array, n: int) -> int:
    live = unit[:, unit.any(axis=0)]
    if 0 < live.shape[1] <= len(live):
        squares = scipy.linalg.eigvalsh(live.T @ live, check_finite=False)
        if squares[0] > linalg.INDEPENDENT * squares[-1]:
            return int(live.shape[1])
    return int(np.count_nonzero(scipy.linalg.svdvals(unit, check_finite=False) > _rounding_of_cross(unit, n)))


def _rounding_of_cross(unit: Array, n: int) -> float:
    return linalg.rounding_of_unit_columns(max(n, len(unit)), unit.size)


def _decompose_cross(moments: Moments) -> tuple[Array, Array]:
    rank = cross_rank(moments)
    left, s, _ = scipy.linalg.svd(moments.xy, full_matrices=False, check_finite=False)
    if not rank or s[rank - 1] > linalg.GRADED * s[0]:
        return s[:rank], left[:, :rank]
    # C = (DÛdiag(ŝ))(V̂ᵀD'): the axes of the first, then those of the second relative to their sizes
    unit, lengths, label_lengths = _unit_cross(moments)
    left, s, right = scipy.linalg.svd(unit, full_matrices=False, check_finite=False)
    axes, sizes, inner = linalg.graded_svd(lengths[:, None] * left[:, :rank] * s[:rank])
    _, s, turned = linalg.graded_svd(label_lengths[:, None] * (right[:rank].T @ inner) * sizes)
    return s, axes @ turned


def principal_directions(moments: Moments, n: int) -> tuple[Array, Array]:
    """The `n` largest eigenvalues of S, descending, and their eigenvectors as rows; fewer if the rank of S is lower.

    Eigenvalues of a Gram matrix are accurate to about 1e-16 of the largest. Where those requested reach below 1e-10 of
    it, or d ≥ n, they come from an SVD of the centred rows (if at hand), which is accurate to the square of that. One
    decomposition serves every n, except where few of very many are wanted: these come from Lanczos iterations, for
    d ≥ n with the rows alone (about 50 products with them for one).

    Raises
    ------
    ValueError
        When S is not centred, or the labels are mapped.
    """
    values, directions = _leading(moments, n)
    return values[:n], directions[:n]


def principal_moments(moments: Moments, n: int) -> Moments:
    """The moments of the features in the `n` leading principal directions (uncentred); S is diagonal there."""
    found = _leading(moments, n)[1]
    n_found = len(found)
    values, directions = principal_directions(moments, n)

    def project(X: Any) -> Array:
        return moments.memo.get(("principal rows", n_found), lambda: sums.frozen(X @ found.T))[:, : len(values)]

    return moments.with_features(
        directions @ moments.mean_x,
        lambda: np.diag(values),
        lambda: moments.once(("principal xy", n_found), lambda: found @ moments.xy)[: len(values)],
        project,
        variances=values,
    )


def _leading(moments: Moments, n: int) -> tuple[Array, Array]:
    """`n` principal directions or more."""
    if not moments.centred or moments.labels is not moments:
        raise ValueError("principal directions are those of centred features, before the labels are mapped")
    if moments.n_features < moments.n:
        few = moments.n_features >= 1000 and 10 * n <= moments.n_features
    else:
        few = moments.n >= 500 and 20 * n <= moments.n and moments.has_rows
    size = n if few else moments.n_features
    return moments.memo.get(("principal directions", size), lambda: _decompose(moments, size))


def _decompose(moments: Moments, n: int) -> tuple[Array, Array]:
    d = moments.n_features
    if moments.variances is not None:
        order = np.argsort(-moments.variances, kind="stable")
        return moments.variances[order], np.eye(d)[order]
    if d < moments.n or not moments.has_rows:
        values, directions = linalg.leading_eigenvectors(moments.xx, n)
        least = ACCURATE * max(values[0], rounding_size(moments))
        kept = n
        if values[-1] < least:
            kept = min(n, rank(moments))
        if kept and values[kept - 1] >= least:
            return values[:kept], directions[:kept]
    elif n < d and moments.spread().any():
        with contextlib.suppress(linalg.IllConditioned):
            values, vectors = operators.lanczos(moments.scatter_operator(), d, n)
            if values[-1] >= ACCURATE * values[0]:
                return values, linalg.signed(vectors)
    found = _axes(moments)
    if found.rank == 0:
        return np.zeros(1), np.eye(1, d)
    order = np.argsort(-found.singular_values, kind="stable")
    return found.singular_values[order] ** 2, linalg.signed(found.apply_right(np.eye(found.rank)[:, order]))
