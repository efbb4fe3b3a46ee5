"""The feature step `mvmd`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.constraints import BOOLEAN, UNIT_INTERVAL, parameter
from mlcdr.methods.feature_space.implicit import ImplicitFeatureSpace
from mlcdr.methods.feature_space.linear import Array, dependence, eigen, largest
from mlcdr.numerics.factorisation import rank
from mlcdr.numerics.linalg import graded_svd
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator
from mlcdr.numerics.principal import axis_coordinates, cross_rank, rank_coordinates, rounding_size

_KNOWN = 1e-12  # of the largest: a smaller eigenvalue of G is not known from G itself


class MVMD(ImplicitFeatureSpace):
    """Maximising feature variance and feature-label dependence at once (MVMD).

    Source: Xu et al. 2016, section 5, equations (30), (34), (36) and (37), Algorithm 1.

    G p = λp, G = (1 − β)S + βCCᵀ (d×d): P (d×m) maximises tr(PᵀGP) with PᵀP = I.

    Equivalently P minimises (1−β)‖X − APᵀ‖² + β‖YᵀHX − BPᵀ‖², with A = XP (n×m) and B = YᵀHXP (K×m) (30); the minimum
    is tr(G) − Σλ (38). β = 0 is PCA; β = 1 is MDDMp. rank(X) positive eigenvalues for β < 1.
    Cost: 9d³, and d²K for CCᵀ; where d > n a thin SVD of X (n×d) and 9r³, in the coordinates of its r axes; by the
    implicit solver 4nd (or 4 nnz(X)) and 4dK for each product with G, see `ImplicitFeatureSpace`.

    Parameters
    ----------
    n_components : int, float, {"eigenvalues": float} or None
        Number of dimensions m: an int, a fraction of the d features, the fewest whose eigenvalues sum to a share of all
        (the paper's is `{eigenvalues: 0.999}`), or None for all with a positive eigenvalue.
    beta : float
        β, from 0 (variance alone) to 1 (dependence alone). The two are not scaled: CCᵀ is by far the larger (its trace
        is 97 times that of S on yeast). A program with labels coded {0, 1} and weight β₀ is equivalent to this one with
        β = β₀/(4 − 3β₀).
    normalise : bool
        G = (1 − β)S/tr S + βCCᵀ/tr CCᵀ, so that the two weigh the same at β = ½. This is not in the paper, and (30)
        does not hold for it.
    """

    beta: float = parameter(0.5, UNIT_INTERVAL)
    normalise: bool = parameter(False, BOOLEAN)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = rank_coordinates(moments)
        scatter, c = space.moments.xx, dependence(space.moments)
        for_variance, for_dependence = self._shares(float(np.trace(scatter)), float(np.sum(c**2)))
        values, vectors = eigen(for_variance * scatter + for_dependence * (c @ c.T))
        least = _KNOWN * max(for_variance * rounding_size(space.moments), values[-1] if len(values) else 0.0)
        if not len(values) or (self.beta < 1 and values[0] >= least > 0):
            return values, space.lift(vectors)
        n_positive = self._n_positive(space.moments, c)
        values, vectors = largest(values, vectors, n_positive)
        if n_positive and values[0] < least:
            space = axis_coordinates(moments)
            roots = np.sqrt(for_variance * space.moments.spread()), np.sqrt(for_dependence) * dependence(space.moments)
            _, sizes, vectors = graded_svd(np.vstack([np.diag(roots[0]), roots[1].T]))
            values, vectors = sizes[:n_positive] ** 2, vectors[:, :n_positive]
        return values, space.lift(vectors)

    def _n_positive(self, moments: Moments, c: Array) -> int:
        """rank(X), or rank(C) where G is CCᵀ alone."""
        if self.beta < 1:
            return rank(moments)
        return cross_rank(moments) if c.any() else 0

    def _shares(self, trace: float, squares: float) -> tuple[float, float]:
        """What S and CCᵀ are multiplied by, C of {0, 1} labels with this sum of squares."""
        if not self.normalise:
            return 1 - self.beta, 4 * self.beta
        return (1 - self.beta) / (trace or 1.0), self.beta / (squares or 1.0)

    def _operator(self, moments: Moments) -> tuple[Operator, float]:
        scatter, trace, cross = moments.scatter_operator(), float(moments.spread().sum()), moments.cross
        related: Operator  # A ↦ CCᵀA
        if cross is None:
            c = dependence(moments)
            related, squares = lambda a: c @ (c.T @ a), float(np.sum(c**2))
        else:  # C (d×K) is too large to be formed
            related, squares = lambda a: cross.times(cross.transposed(a)), cross.squared_norm()
        for_variance, for_dependence = self._shares(trace, squares)
        return (
            lambda a: for_variance * scatter(a) + for_dependence * related(a),
            for_variance * trace + for_dependence * squares,
        )
