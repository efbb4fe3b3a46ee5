"""Maximising feature variance and feature-label dependence at once (MVMD).

Source: Xu et al. 2016, section 5, equations (30), (34), (36) and (37), Algorithm 1.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from mlcdr.feature_space.linear import Array, LinearFeatureSpace, eigen
from mlcdr.moments import Moments


class MVMD(LinearFeatureSpace):
    """G p = λp, G = (1 − β)S + βCCᵀ (d×d): P (d×m) maximises tr(PᵀGP) with PᵀP = I.

    Equivalently P minimises (1−β)‖X − APᵀ‖² + β‖YᵀHX − BPᵀ‖², with A = XP (n×m) and B = YᵀHXP (K×m) (30); the minimum
    is tr(G) − Σλ (38). β = 0 is PCA; β = 1 is MDDMp. rank(X) positive eigenvalues for β < 1.
    Cost: 9d³, and d²K for CCᵀ; where d > n a thin SVD of X (n×d) and 9r³, in the coordinates of its r axes.

    Parameters
    ----------
    n_components : int, float, {"eigenvalues": float} or None
        Number of dimensions, as in `LinearFeatureSpace`; the paper's is `{eigenvalues: 0.999}`.
    beta : float
        β, from 0 (variance alone) to 1 (dependence alone). The two are weighed as they are: CCᵀ is the larger by far
        (its trace is 97 times that of S on yeast). A program that codes labels as {0, 1} with β₀ does what this one
        does with β = β₀/(4 − 3β₀).
    normalise : bool
        G = (1 − β)S/tr S + βCCᵀ/tr CCᵀ, so that the two weigh the same at β = ½. Not the paper's, nor (30).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearFeatureSpace._parameter_constraints,
        "beta": [Interval(Real, 0, 1, closed="both")],
        "normalise": ["boolean"],
    }

    def __init__(self, n_components: Any = None, beta: float = 0.5, normalise: bool = False):
        super().__init__(n_components)
        self.beta = beta
        self.normalise = normalise

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = moments.rank_coordinates()
        variance, dependence = 1 - self.beta, 4 * self.beta
        if self.normalise:
            variance /= np.trace(space.xx) or 1.0
            dependence /= 4 * np.sum(space.xy**2) or 1.0
        values, vectors = eigen(variance * space.xx + dependence * (space.xy @ space.xy.T))
        return values, space.lift(vectors)
