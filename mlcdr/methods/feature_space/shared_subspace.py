"""The feature step `shared_subspace`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import BOOLEAN, NOT_NEGATIVE, parameter
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace, above_rounding, dependence, eigen, rounding
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import axis_coordinates, cross_rank


class SharedSubspace(LinearFeatureSpace):
    """Shared-subspace learning: the subspace on which the linear models of all labels may rely without a penalty.

    Source: Ji, Tang, Yu & Ye 2008 (KDD), 2010 (TKDD).

    min (1/n)‖XU − Y‖² + α‖U − ΘᵀΘU‖² + β‖U‖² over U (d×K) and Θ (m×d) with ΘΘᵀ = I; x' = Θ(x − x̄).

    With M = S/n + (α + β)I and C = XᵀY (d×K), labels {0, 1}, the rows of Θ span the leading m eigenvectors of

        (1/n²)M⁻¹CCᵀM⁻¹p = λ(I − αM⁻¹)p,

    each of which lowers the minimum by αλ; at most rank(C) are positive. Θ is their orthonormal form in this order
    (Gram and Schmidt), so that numbers of dimensions are nested. As α → ∞ it spans the directions of `opls` with the
    ridge nβ; with α = 0 it is not determined by the problem, and is the limit of small α. U is left to the learner.
    With α = β = 0, and in the null space of X, M⁻¹ stands for the pseudo-inverse: Θ lies in the range of Xᵀ.

    Solved in the coordinates of PCA's r axes, where S is diagonal: p = (I − αM⁻¹)^(-½)u, with u the left singular
    vectors of (M(S/n + βI))^(-½)C/n. Cost, for any α and β: PCA's (shared with it: 9d³, or a thin SVD of X where
    d > n), and 2drK + 8rK².

    Parameters
    ----------
    alpha : float
        α ≥ 0, the penalty on what lies outside of the subspace. It is per instance, as β is: not n times it.
    beta : float
        β ≥ 0, the penalty on all of U.
    centred : bool
        Whether features and labels are taken about their means, as with an intercept that is not penalised. False
        takes both as they come: with a column of ones among the features this is the authors' program MLDR, which
        penalises the intercept too. Cost: 9d³.
    """

    alpha: float = parameter(1.0, NOT_NEGATIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    centred: bool = parameter(True, BOOLEAN)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        if not self.centred:
            return self._find_about_the_origin(moments)
        if not dependence(moments).any():
            return np.zeros(0), np.zeros((moments.n_features, 0))
        space = axis_coordinates(moments)
        values, vectors = self._in_axes(moments.n, space.moments.spread(), space.moments.xy)
        rank = cross_rank(moments)
        return values[:rank], space.lift(_orthonormal(vectors[:, :rank]))

    def _find_about_the_origin(self, moments: Moments) -> tuple[Array, Array]:
        about = moments.uncentred()
        spreads, axes = about.once("axes about the origin", lambda: eigen(about.xx))
        kept = spreads > rounding(moments) * np.max(spreads, initial=0.0)
        axes = axes[:, kept]
        cross = moments.xy + moments.n * np.outer(moments.mean_x, moments.mean_y)
        values, vectors = self._in_axes(moments.n, spreads[kept], axes.T @ cross)
        values, vectors = above_rounding(moments, values, vectors)
        return values, axes @ _orthonormal(vectors)

    def _in_axes(self, n: int, spreads: Array, cross: Array) -> tuple[Array, Array]:
        """λ, descending, and p (r×min(r, K)) with pᵀ(I − αM⁻¹)p = 1, where S = diag(`spreads`) and C is `cross`."""
        penalised = spreads / n + self.beta
        m = penalised + self.alpha
        u, sizes, _ = scipy.linalg.svd(
            cross / n / np.sqrt(m * penalised)[:, None], full_matrices=False, check_finite=False
        )
        return sizes**2, np.sqrt(m / penalised)[:, None] * u


def _orthonormal(vectors: Array) -> Array:
    """Columns whose first m span what the first m of `vectors` (r×q, q ≤ r) do, for each m."""
    found: Any = scipy.linalg.qr(vectors, mode="economic", check_finite=False)
    return np.asarray(found[0])
