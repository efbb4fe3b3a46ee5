"""Multi-label dimensionality reduction via dependence maximisation (MDDM), with a linear kernel on the labels.

Source: Zhang & Zhou 2010; Xu et al. 2016, section 4, equations (17) to (20).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.utils._param_validation import Interval, StrOptions

from mlcdr.feature_space.dependence import ScaledFeatureSpace, dependent_directions
from mlcdr.feature_space.linear import Array
from mlcdr.moments import Moments


class MDDM(ScaledFeatureSpace):
    """B p = λMp, B = CCᵀ (d×d), C = XᵀY_c (d×K): P (d×m) maximises tr(PᵀBP), the dependence (HSIC), with PᵀMP = I.

    MDDMp: M = I, orthonormal projections (18). MDDMf: M = βS + (1 − β)I, features of like variance (20).
    At most K positive eigenvalues, as many as C has independent columns. Cost: MDDMp, a thin SVD of C, dK²; MDDMf, that
    of a ridge regression of the labels with r = (1 − β)/β (d³/3 + d²K), and 9K³.

    Parameters
    ----------
    n_components : int, float, {"eigenvalues": float} or None
        Number of dimensions, as in `LinearFeatureSpace`.
    orthogonality : {"p", "f"}
        What is orthonormal: "p", the projection directions; "f", the projected features (but for the regularisation).
    beta : float
        β of MDDMf, from 0 to 1; with 1 the metric is S alone, and p lies in the range of Xᵀ. No part of MDDMp.
    norm : {"metric", "unit"}
        Length of MDDMf's directions, as in `ScaledFeatureSpace`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScaledFeatureSpace._parameter_constraints,
        "orthogonality": [StrOptions({"p", "f"})],
        "beta": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, n_components: Any = None, orthogonality: str = "p", beta: float = 0.5, norm: str = "metric"):
        super().__init__(n_components, norm)
        self.orthogonality = orthogonality
        self.beta = beta

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        if self.orthogonality == "p" or self.beta == 0:
            vectors, singular, _ = scipy.linalg.svd(2 * moments.xy, full_matrices=False, check_finite=False)
            return singular**2, vectors
        codes = moments.map_labels(moments.mean_y, 2.0 * np.eye(moments.n_labels))
        values, vectors = dependent_directions(codes, (1 - self.beta) / self.beta)
        return values / self.beta, vectors / np.sqrt(self.beta)
