"""The feature step `cca`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.constraints import NOT_NEGATIVE, parameter
from mlcdr.methods.feature_space.dependence import DependenceFeatureSpace
from mlcdr.methods.feature_space.linear import Array, eigen, largest
from mlcdr.numerics.linalg import scatter_rank
from mlcdr.numerics.moments import Moments


class LabelCCA(DependenceFeatureSpace):
    """Canonical correlation analysis (CCA) of features and labels, regularised.

    The class is not called `CCA`, since scikit-learn gives a meaning of its own to that name.

    Source: Hotelling 1936; Sun, Ji & Ye 2011; Xu et al. 2016, section 6.

    C(T + r′I)⁻¹Cᵀp = λ(S + rI)p, C = XᵀY_c (d×K), T = Y_cᵀY_c (K×K), S = XᵀX (d×d), labels ±1.

    λ is the square of the canonical correlation (r = r′ = 0); at most rank(Y_c) are positive. Cost: d³/3 + d²K, shared
    with a ridge regression with α = r, and 18K³.

    Parameters
    ----------
    alpha : float
        The ridge r ≥ 0 of the features.
    label_alpha : float or None
        The ridge r′ ≥ 0 of the labels; None means r. With 0, label combinations that do not vary are left out.
    """

    label_alpha: float | None = parameter(None, [*NOT_NEGATIVE, None])

    def _label_codes(self, moments: Moments) -> Array:
        """L (K×k) = 2(4T + r′I)^(-½), T of {0, 1} labels, on those axes of T along which the labels vary."""
        values, vectors = largest(*eigen(4 * moments.yy), scatter_rank(moments.yy))
        ridge = self.alpha if self.label_alpha is None else self.label_alpha
        return 2 * vectors / np.sqrt(values + ridge)
