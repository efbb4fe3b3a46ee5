"""The feature step `pca`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.feature_space.implicit import ImplicitFeatureSpace
from mlcdr.methods.feature_space.linear import Array, eigen
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator
from mlcdr.numerics.principal import rank_coordinates


class PCA(ImplicitFeatureSpace):
    """Principal component analysis (PCA): the directions of greatest variance; labels are not used.

    Source: Xu et al. 2016, section 3, equations (10) and (11).

    S p = λp, S = XᵀX (d×d) of the centred features: P (d×m) maximises tr(PᵀSP) with PᵀP = I.

    New features are uncorrelated, with PᵀSP = diag(λ); rank(X) eigenvalues are positive; they are sums of squares
    (n − 1 times scikit-learn's `explained_variance_`). Directions whose variance is less than about 1e-15·d of the
    largest are lost in rounding. Cost: 9d³; where d > n a thin SVD of X in its place; by the implicit solver 4nd (or
    4 nnz(X)) for each product with S, see `ImplicitFeatureSpace`.
    """

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = rank_coordinates(moments)
        scatter = space.moments.xx
        if moments.n_features > len(scatter):  # diagonal there
            return np.diag(scatter), space.lift(np.eye(len(scatter)))
        return eigen(scatter)

    def _operator(self, moments: Moments) -> tuple[Operator, float]:
        return moments.scatter_operator(), float(moments.spread().sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
