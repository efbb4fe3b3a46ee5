"""The feature step `scca`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.linalg
from sklearn.utils._param_validation import Interval

from mlcdr.methods.constraints import parameter
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace, dependence, eigen, largest
from mlcdr.numerics import row_sparse
from mlcdr.numerics.linalg import ScatterAxes, rounding_of_unit_columns
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import axis_coordinates


@dataclass(frozen=True)
class _Axes:
    """The r principal axes of all rows of a training set, which no β changes.

    Attributes
    ----------
    spread : array of shape (r,)
        The diagonal of S̃ there.
    cross : array of shape (r, K)
        C there.
    lift : function
        From axes (r×q) to features (d×q).
    labelled : array of shape (n, r), or None
        The labelled rows there, about their mean; None where all rows are labelled, so that S = S̃.
    """

    spread: Array
    cross: Array
    lift: Callable[[Array], Array]
    labelled: Array | None = None

    @classmethod
    def of(cls, moments: Moments) -> _Axes:
        """From the labelled rows, and those without labels."""
        if moments.unlabelled is None:
            space = axis_coordinates(moments)
            return cls(space.moments.spread(), dependence(space.moments), space.lift)
        rows = row_sparse.stacked(moments.rows()[0], moments.unlabelled)
        space = axis_coordinates(Moments.from_arrays(rows, np.zeros((rows.shape[0], 1))))
        labelled = space.moments.rows()[0][: moments.n]
        labelled = labelled - labelled.mean(axis=0)
        cross = labelled.T @ moments.centred_labels() * dependence(moments).any()
        return cls(space.moments.spread(), cross, space.lift, labelled)


class SCCA(LinearFeatureSpace):
    """Semi-supervised canonical correlation analysis (SCCA): between CCA of the labelled rows and PCA of all.

    Source: Kimura, Kameoka, Sugiyama et al. 2013 (SemiCCA); Sun 2017 (thesis), equations (6.50) and (6.51).

    The parts w_x (d) of the eigenvectors w = (w_x, w_y) of B w = λ C w, d + K of them,

        B = β [ 0   C_xy ]  + (1−β) [ S̃  0 ]        C = β [ S  0 ]  + (1−β) I,
              [ C_xyᵀ  0 ]          [ 0  T ]              [ 0  T ]

    with S, C_xy and T of the labelled rows and S̃ of these and the unlabelled ones, each centred about its own mean
    (which the text leaves open), and labels of {0, 1}. β = 0 is PCA, in which labels and features are independent of
    each other; β = 1 is CCA, where C may be singular and is therefore excluded. Sums, not means: S̃ grows with the
    unlabelled rows. The first d eigenvectors with a positive eigenvalue and w_x ≠ 0 give the directions, which need be
    neither orthogonal nor linearly independent. Where S̃v = 0, λ = 0: so they are sought in the principal axes of all
    rows, and C is not formed but as RᵀR, by a QR factorisation of √βX above √(1−β)I, or where S̃ = S is diagonal. The
    number of positive eigenvalues is that of rank(S̃) + rank(T) less the canonical correlations (of S̃, for S) that are
    (1−β)/β or more. Cost: about 9(d + K)³, and 9d³ for the axes (where d > n a thin SVD of X).

    Parameters
    ----------
    beta : float
        β, from 0 to 1, excluded.
    """

    uses_unlabelled: ClassVar[bool] = True

    beta: float = parameter(0.5, [Interval(Real, 0, 1, closed="left")])

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        axes, upper = self._in_axes(moments)
        labels = ScatterAxes.of_scatter(moments.yy)
        of_all, of_labels, cross = np.sqrt(axes.spread), labels.singular_values, axes.cross @ labels.axes
        inverse = scipy.linalg.solve_triangular(upper, np.eye(len(upper)))
        unit = 1 / np.sqrt(self.beta * of_labels**2 + 1 - self.beta)
        root = of_all[:, None] * inverse
        mixed = self.beta * (inverse.T @ cross) * unit
        within = (1 - self.beta) * (root.T @ root)
        between = np.diag((1 - self.beta) * (of_labels * unit) ** 2)
        of_both = np.block([[within, mixed], [mixed.T, between]])
        values, vectors = largest(*eigen(of_both), self._n_positive(cross / of_all[:, None] / of_labels, moments.n))
        # of an eigenvector of the labels alone nothing is left to be a direction
        of_features = vectors[: len(upper)]
        there = np.flatnonzero(row_sparse.lengths(of_features.T) > 1e-10)[::-1][: moments.n_features]
        return values[there], axes.lift(inverse @ of_features[:, there])

    def _in_axes(self, moments: Moments) -> tuple[_Axes, Array]:
        """The principal axes of all rows; there R (r×r, upper triangular) with RᵀR = βS + (1−β)I."""
        beta, axes = self.beta, moments.once("axes of labelled and unlabelled rows", lambda: _Axes.of(moments))
        if axes.labelled is None:
            return axes, np.diag(np.sqrt(beta * axes.spread + 1 - beta))
        r = len(axes.spread)
        stacked = np.vstack([np.sqrt(beta) * axes.labelled, np.sqrt(1 - beta) * np.eye(r)])
        return axes, scipy.linalg.qr(stacked, mode="r")[0][:r]

    def _n_positive(self, relative: Array, n: int) -> int:
        """How many eigenvalues are positive: of B at unit scatter, whose blocks are (1−β)I and β times `relative`."""
        correlations = scipy.linalg.svdvals(relative) if relative.size else np.zeros(0)
        rounding = rounding_of_unit_columns(n, relative.size)
        above_zero = 1 - self.beta - self.beta * correlations > rounding
        return sum(relative.shape) - int(np.count_nonzero(~above_zero))
