"""The feature step `dmlda`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.instance_weights import KINDS, weights_in
from mlcdr.methods.feature_space.linear import Array, above_rounding, eigen, rounding
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics.moments import Moments, weighted_moments
from mlcdr.numerics.principal import rank_coordinates


class DMLDA(ScaledFeatureSpace):
    """Direct multi-label linear discriminant analysis (DMLDA): instances without a label against its mean.

    Source: Oikonomou & Tefas 2013; Xu et al. 2016, section 6.

    S_b p = λ(S_w + rI)p (d×d), of instances with weights W (n×K): each counts for a label and, as 1 − w, against it.

    With m_k = Σ_i w_ik x_i / n_k the mean of label k, n_k the column sums and s_i the row sums of W,

        S_w = Σ_kΣ_i w_ik (x_i − m_k)(x_i − m_k)ᵀ,    S_b = Σ_kΣ_i (x_i − m_k)(x_i − m_k)ᵀ − S_w,

    i and k running over all instances and all labels that have one: so S_b = Σ_kΣ_i (1 − w_ik)(x_i − m_k)(x_i − m_k)ᵀ,
    where MLDA's S_b has the means only, and there are rank(S_b) ≤ rank(X) positive eigenvalues instead of K − 1 (those
    below about 1e-15·d are lost in rounding). By moments, S_b + S_w = KS + nΣ_k(m_k − x̄)(m_k − x̄)ᵀ; S_w as in MLDA,
    so the rows must be at hand. Solved as (S_w + rI)p = ν(S_b + S_w + rI)p with λ = (1 − ν)/ν, in the coordinates of
    PCA's axes. Cost: nd² for S_w and, beside PCA's (shared), 18d³; where d > n a thin SVD of X, and the same in the
    coordinates of its axes.

    Parameters
    ----------
    weights : {"correlation", "entropy", "binary", "fuzzy", "dependence"}
        W (`MLDA` has the formulas): "binary" is that of Oikonomou & Tefas, "correlation" that of Xu's program.
    alpha : float
        The ridge r > 0.
    """

    weights: str = parameter("correlation", one_of(*KINDS))
    alpha: float = parameter(0.1, POSITIVE)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = rank_coordinates(moments)
        (rows, centre), w = space.rows(), weights_in(moments, self.weights)
        counted, present = np.flatnonzero(w.any(axis=1)), w.any(axis=0)
        if len(counted) == 0 or rows.shape[1] == 0:
            return np.zeros(0), np.zeros((moments.n_features, 0))
        n, w = len(w), w[np.ix_(counted, present)]
        s, sizes = w.sum(axis=1), w.sum(axis=0)
        means = rows[counted].T @ (w / sizes)  # d×K
        # in PCA's coordinates S is diagonal, and no feature that depends on others is left
        axes = PCA().fit_moments(space.moments)
        p = axes.components_.T
        apart = p.T @ (means - centre[:, None])
        both = np.diag(len(sizes) * axes.eigenvalues_ + self.alpha) + n * (apart @ apart.T)
        # S_w = Σ_i s_i(x_i − m)(x_i − m)ᵀ − Σ_k n_k(m_k − m)(m_k − m)ᵀ for any m; here the weighted mean
        around = weighted_moments(rows[counted], np.zeros((len(counted), 1)), s)
        between = p.T @ ((means - means @ (sizes / sizes.sum())[:, None]) * np.sqrt(sizes))
        within = p.T @ around.xx @ p - between @ between.T + self.alpha * np.eye(p.shape[1])
        nu, vectors = eigen(within, both)
        kept = 1 - nu > rounding(moments)  # ν is known against 1: of λ = 0 it leaves as much, whatever the largest λ
        nu, vectors = np.maximum(nu[kept], np.finfo(float).eps), vectors[:, kept]
        values, vectors = above_rounding(moments, (1 - nu) / nu, p @ (vectors / np.sqrt(nu)))
        return values, space.lift(vectors)
