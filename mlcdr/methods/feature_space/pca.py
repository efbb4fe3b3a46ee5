"""The feature step `pca`."""

from __future__ import annotations

from typing import Any

from mlcdr.methods.feature_space.implicit import ImplicitFeatureSpace
from mlcdr.methods.feature_space.linear import Array
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator
from mlcdr.numerics.principal import principal_directions


class PCA(ImplicitFeatureSpace):
    """Principal component analysis (PCA): the directions of greatest variance; labels are not used.

    Source: Xu et al. 2016, section 3, equations (10) and (11).

    S p = λp, S = XᵀX (d×d) of the centred features: P (d×m) maximises tr(PᵀSP) with PᵀP = I.

    New features are uncorrelated, with PᵀSP = diag(λ); rank(X) eigenvalues are positive; they are sums of squares
    (n − 1 times scikit-learn's `explained_variance_`). Cost: 9d³; where d > n, or eigenvalues differ by more than 1e10,
    a thin SVD of X in its place; by the implicit solver 4nd (or 4 nnz(X)) for each product with S, see
    `ImplicitFeatureSpace`.
    """

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        values, directions = principal_directions(moments.labels, moments.n_features)
        return values[values > 0], directions[values > 0].T

    def _operator(self, moments: Moments) -> tuple[Operator, float]:
        return moments.scatter_operator(), float(moments.spread().sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
