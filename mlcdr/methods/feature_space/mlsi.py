"""The feature step `mlsi`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import POSITIVE, UNIT_INTERVAL, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.linear import Array, dependence, eigen
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics.moments import Moments


class MLSI(ScaledFeatureSpace):
    """Multi-label informed latent semantic indexing (MLSI): variance of features and of labels.

    Source: Yu, Yu & Tresp 2005; Xu et al. 2016, section 6. Two programs in use differ: `form`.

    G p = λ(N + rI)p with one of two pairs G, N (d×d), from X (n×d) and Y_c (n×K, of ±1), both centred.

    "kernel" (the program of Xu et al.): G = S, N = XᵀK⁻¹X with K = (1−β)XXᵀ + βY_cY_cᵀ + rI (n×n). K is never formed:
    with N₀ = Xᵀ(βY_cY_cᵀ + rI)⁻¹X = (S − βC(rI + βT)⁻¹Cᵀ)/r, it is N = (I − (I + (1−β)N₀)⁻¹)/(1−β), and N₀ for β = 1.
    "covariance" (MLC Toolbox): G = (1−β)S² + βCCᵀ, N = S. β = 0 gives PCA's directions in both.

    Solved in the coordinates of PCA's r axes, whose cost (shared with PCA: 9d³, or a thin SVD of X where d > n) comes
    before 9r³ for "covariance", about 16r³ for "kernel".

    Parameters
    ----------
    beta : float
        β, the labels' weight, from 0 to 1.
    alpha : float
        The ridge r > 0.
    form : {"kernel", "covariance"}
        Which pair.
    """

    beta: float = parameter(0.5, UNIT_INTERVAL)
    alpha: float = parameter(0.1, POSITIVE)
    form: str = parameter("kernel", one_of("kernel", "covariance"))

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        # in PCA's coordinates S is diagonal, and no feature that depends on others leaves rounding for G to amplify
        axes = PCA().fit_moments(moments)
        s, to_features = axes.eigenvalues_, axes.components_.T
        c = 2 * (axes.components_ @ dependence(moments))
        if self.form == "covariance":
            root = np.sqrt(s + self.alpha)
            scaled = np.sqrt(self.beta) * c / root[:, None]
            values, vectors = eigen(np.diag((1 - self.beta) * s**2 / root**2) + scaled @ scaled.T)
            return values, to_features @ (vectors / root[:, None])
        values, vectors = eigen(np.diag(s), self._kernel_metric(s, c, 4 * moments.yy) + self.alpha * np.eye(len(s)))
        return values, to_features @ vectors

    def _kernel_metric(self, s: Array, c: Array, t: Array) -> Array:
        """N (r×r) from S = diag(s), C (r×K) and T."""
        beta, alpha = self.beta, self.alpha
        inner = scipy.linalg.cholesky(alpha * np.eye(len(t)) + beta * t, lower=True)
        half = scipy.linalg.solve_triangular(inner, c.T, lower=True)
        within = (np.diag(s) - beta * (half.T @ half)) / alpha
        if beta == 1:
            return within
        identity = np.eye(len(s))
        resolvent = scipy.linalg.cho_solve(scipy.linalg.cho_factor(identity + (1 - beta) * within), identity)
        return (identity - (resolvent + resolvent.T) / 2) / (1 - beta)
