"""The feature step `mlsi`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import POSITIVE, UNIT_INTERVAL, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.linear import Array, dependence, eigen
from mlcdr.numerics.linalg import graded_svd
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import axis_coordinates, cross_rank


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
        space = axis_coordinates(moments)
        s, c = space.moments.spread(), 2 * dependence(space.moments)
        if self.form == "covariance":
            unit = 1 / np.sqrt(s + self.alpha)
            halves = [np.diag(np.sqrt(1 - self.beta) * s * unit), np.sqrt(self.beta) * (c * unit[:, None]).T]
            _, sizes, vectors = graded_svd(np.vstack(halves))
            n_positive = len(s)
            if self.beta == 1:
                n_positive = cross_rank(moments) if c.any() else 0
            return sizes[:n_positive] ** 2, space.lift(unit[:, None] * vectors[:, :n_positive])
        upper = self._kernel_metric(s, c, 4 * moments.yy)
        inverse = scipy.linalg.solve_triangular(upper, np.eye(len(s)))
        _, sizes, vectors = graded_svd(np.sqrt(s)[:, None] * inverse)
        return sizes**2, space.lift(inverse @ vectors)

    def _kernel_metric(self, s: Array, c: Array, t: Array) -> Array:
        """R (r×r, upper triangular) with RᵀR = N + rI, from S = diag(s), C (r×K) and T."""
        beta, alpha, identity = self.beta, self.alpha, np.eye(len(s))
        inner = scipy.linalg.cholesky(alpha * np.eye(len(t)) + beta * t, lower=True)
        half = scipy.linalg.solve_triangular(inner, (c / np.sqrt(s)[:, None]).T, lower=True)
        # N₀ = √S(I − βhᵀh)√S/r, h = half, what is between positive semidefinite: by its root, however large S is
        shares, axes = eigen(identity - beta * (half.T @ half))
        root = np.sqrt(np.maximum(shares, 0.0) / alpha)[:, None] * axes.T * np.sqrt(s)
        if beta == 1:
            return scipy.linalg.qr(np.vstack([root, np.sqrt(alpha) * identity]), mode="r")[0][: len(s)]
        upper = scipy.linalg.qr(np.vstack([np.sqrt(1 - beta) * root, identity]), mode="r")[0][: len(s)]
        resolvent = scipy.linalg.solve_triangular(upper, identity)
        metric = (identity - resolvent @ resolvent.T) / (1 - beta) + alpha * identity
        return scipy.linalg.cholesky(metric)
