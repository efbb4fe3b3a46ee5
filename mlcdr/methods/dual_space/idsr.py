"""The dual space `idsr`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mlcdr.methods.constraints import SIZE, parameter
from mlcdr.methods.dual_space.linear import Array, DualSpace, unit_labels
from mlcdr.numerics.linalg import leading_eigenvectors, n_kept
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import principal_directions, principal_moments


class IDSR(DualSpace):
    """Independent dual space reduction (IDSR): the directions in which features vary most, and those in which labels
    do.

    Source: Pacharawongsakda & Theeramunkong 2012, section 3.2.

    U: the D leading eigenvectors of S (d×d), the features' covariance; V: the K' leading of T (K×K), the labels'.

    x' = Uᵀx and t = Vy. D is at most the rank of the centred features: further directions have no variance. Both are
    nested: all D of a split share one decomposition of S, and all K' one fit of a learner of independent outputs. Cost,
    beside S: 9d³ for the eigenvectors (for d > n a thin SVD of the rows, shared with PCA and MVMD; where rounding in S
    hides the small ones, an SVD of the dense rows), 9K³, and d·D·K' for a linear learner, which needs no reduced rows
    (any other: ndr for these, r the rank); a truncated solver takes over for D ≤ d/10, d ≥ 1000.

    Parameters
    ----------
    n_features : int, float or None
        Number of features D: an int, a fraction of the d features, or None for all. (D in the paper; the x of its Table
        2.)
    n_labels : int, float or None
        Number of dimensions K' of the code: an int, a fraction of the K labels, or None for all. (K in the paper; the y
        of its Table 2.)
    dependency : {"covariance", "correlation"}
        Whether S and T are covariances or correlations; X and Y are projected as they are.

    Attributes
    ----------
    feature_variances_ : array of shape (D,)
        Eigenvalues of S, in descending order; sums of squares, not divided by n (of correlations, as they are).
    eigenvalues_ : array of shape (K',)
        Those of T.
    """

    size_parameter: ClassVar[str] = "n_labels"

    n_components = None
    n_features: float | int | None = parameter(None, SIZE)
    n_labels: float | int | None = parameter(None, SIZE)

    def _find_both(self, moments: Moments) -> tuple[Array, Array]:
        n = n_kept(self.n_features, moments.n_features, "nearest", "n_features")
        features, labels = moments, moments.yy
        if self.dependency == "correlation":
            unit = unit_labels(moments)
            features, labels = moments.standardised(), labels * np.outer(unit, unit)
        self.feature_variances_, directions = principal_directions(features, n)
        self.eigenvalues_, label_directions = leading_eigenvectors(
            labels, n_kept(self.n_labels, moments.n_labels, "nearest", "n_labels")
        )
        return directions.T, label_directions

    def transform_moments(self, moments: Moments) -> Moments:
        """The moments of the reduced features; with covariances, S is diagonal there."""
        if self.dependency == "correlation":
            return super().transform_moments(moments)
        # the same number as in fitting: another might bring another decomposition, with other signs
        return principal_moments(moments, n_kept(self.n_features, moments.n_features, "nearest", "n_features"))
