"""The feature step `mlda`."""

from __future__ import annotations

from typing import Self

import numpy as np

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace, dependent_directions
from mlcdr.methods.feature_space.instance_weights import KINDS, weights_in
from mlcdr.methods.feature_space.linear import Array, above_rounding, dependent, label_sets
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments, weighted_moments
from mlcdr.numerics.principal import rank_coordinates


class MLDA(ScaledFeatureSpace):
    """Multi-label linear discriminant analysis (MLDA) and its variants, which differ in the weights of the instances.

    Source: Wang, Ding & Huang 2010 (correlation); Park & Lee 2008 (binary); Chen et al. 2007 (entropy); Lin & Chen 2010
    (fuzzy); Xu 2018 (dependence); Xu et al. 2016, section 6.

    S_b p = λ(S_w + rI)p, the scatter between labels against that within (d×d), of instances with weights W (n×K).

    With n_k and s_i the column and row sums of W, m = Σ s_i x_i/Σs the mean, and A = Σ_i (x_i − m) w_iᵀ (d×K),

        S_b = A diag(1/n_k) Aᵀ,    S_w = Σ s_i (x_i − m)(x_i − m)ᵀ − S_b;    at most K − 1 positive eigenvalues.

    Instances without labels, and labels without instances, do not count. Solved as S_b p = μ(S_w + S_b + rI)p with
    λ = μ/(1 − μ), a problem of size K. S_w is not among the sums of `Moments`, so the rows must be at hand. Cost: nd²
    for S_w, d³/3 + d²K, and 9K³; where d > n a thin SVD of X, and the same in the coordinates of its axes.

    Parameters
    ----------
    weights : {"correlation", "entropy", "binary", "fuzzy", "dependence"}
        The row w of an instance with label set y (K of {0, 1}, |y| of them 1): "binary", y; "entropy", y/|y|;
        "correlation", Ry/|y|, with R (K×K) the cosines between the columns of Y; "fuzzy", memberships
        w_k ∝ y_k‖x − c_k‖⁻² in fuzzy c-means clusters, c_k = Σw_k²x/Σw_k²; "dependence", 1 for the one of its labels
        that coordinate ascent on tr(WᵀHXXᵀHW) chooses, row by row until none changes (so it depends on the order of
        rows). The last two depend on X and iterate: 2ndK a round, at most 100, until the centres move by less than .01
        together; nnz(Y)·d a pass. Start and stopping rule: see `mlcdr.methods.feature_space.instance_weights`.
    alpha : float
        The ridge r > 0.
    variant : {"text", "mlc_toolbox"}
        "mlc_toolbox": as the program of MLC Toolbox, which weighs instances by |y_i|s_i in m and subtracts m, not x̄,
        from the features. S_w is unchanged; S_b, about another m, then has up to K positive eigenvalues.
    """

    weights: str = parameter("correlation", one_of(*KINDS))
    alpha: float = parameter(0.1, POSITIVE)
    variant: str = parameter("text", one_of("text", "mlc_toolbox"), last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set, which must still have their rows."""
        super().fit_moments(moments)
        if self.variant == "mlc_toolbox":
            shares = self._mean_shares(moments)
            if shares.any():
                self.mean_ = moments.rows()[0].T @ shares
        return self

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = rank_coordinates(moments)
        rows, centre = space.rows()
        w = weights_in(moments, self.weights)
        counted, present = np.flatnonzero(w.any(axis=1)), w.any(axis=0)
        # if no feature varies, rounding would be taken for scatter
        if len(counted) == 0 or sums.constant(moments.rows()[0][counted]).all():
            return np.zeros(0), np.zeros((moments.n_features, 0))
        # about x̄, of which constant features differ nowhere, whatever their offset
        about = sums.cross(rows, centre, self._mean_shares(moments)[:, None], np.zeros(1))
        mean = centre + about[:, 0]
        w = w[np.ix_(counted, present)]
        s = w.sum(axis=1)
        weighted = weighted_moments(rows[counted], w / s[:, None], s, mean)
        if not dependent(weighted.xy, np.diag(weighted.xx_lower), np.diag(weighted.yy)):
            return np.zeros(0), np.zeros((moments.n_features, 0))
        codes = weighted.map_labels(weighted.mean_y, np.diag(1 / np.sqrt(w.sum(axis=0))))
        mu, vectors = dependent_directions(codes, self.alpha)
        left = np.maximum(1 - mu, np.finfo(float).eps)
        values, vectors = above_rounding(moments, mu / left, vectors / np.sqrt(left))
        return values, space.lift(vectors)

    def _mean_shares(self, moments: Moments) -> Array:
        """The share of each instance in m (n,): they sum to 1 (or are all 0, where no instance has a label)."""
        s = weights_in(moments, self.weights).sum(axis=1)
        if self.variant == "mlc_toolbox":
            s = s * label_sets(moments).sum(axis=1)
        return s / (s.sum() or 1.0)
