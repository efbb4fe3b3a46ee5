"""The feature step `opls`."""

from __future__ import annotations

from mlcdr.methods.feature_space.dependence import DependenceFeatureSpace


class OPLS(DependenceFeatureSpace):
    """Orthonormalised partial least squares (OPLS): the directions that predict the labels best.

    Source: Worsley et al. 1997; Arenas-García & Camps-Valls 2008.

    CCᵀp = λ(S + rI)p, C = XᵀY_c (d×K), S = XᵀX (d×d): CCA without the labels' own scatter; labels ±1.

    It is MDDMf with r = (1 − β)/β, and other eigenvalues: λ here is the labels' scatter that a ridge regression on x'
    explains. Cost: d³/3 + d²K, shared with a ridge regression with α = r; and 9K³.
    """
