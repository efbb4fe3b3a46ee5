"""The base of the dual-space reducers: features x' = Uᵀx, and a code t = Vy of the labels, decoded as ŷ = Vᵀt.

A dual space is a feature step (`transform`) and a label space (`encode`, `decode`), fitted together.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mlcdr.methods.constraints import learned, one_of, parameter
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.entry import checked
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.moments import Moments


class DualSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearLabelSpace):
    """Base of the linear dual spaces of Pacharawongsakda & Theeramunkong 2012.

    Neither side is centred, as in the paper's section 3. For x', the regression's intercept has the same effect. For ŷ,
    centring would add (I − VᵀV)ȳ, which is 0 if V is square: a constant for each label, which shifts the label's scores
    and a threshold fitted to them equally, so the predicted label sets stay the same. A fraction p of a size means
    max(1, round(p·size)) dimensions, as their tables show, a half going to the even number (R's and IEEE's rule).

    Parameters
    ----------
    dependency : {"covariance", "correlation"}
        What the decomposed matrices hold: covariances, as in the paper; or correlations, the covariances of features
        and labels at unit variance, so that the features' scales do not choose the directions. Only the directions
        differ: X and Y are projected as they are, neither centred nor standardised, as in the paper. A constant feature
        or label has correlation 0 with all, itself included.

    Attributes
    ----------
    feature_directions_ : array of shape (d, D)
        U, with orthonormal columns.
    directions_ : array of shape (K', K)
        V, with orthonormal rows.
    mean_ : array of shape (K,)
        0: what decoding adds.
    n_components_ : int
        K', the number of dimensions of the code.
    """

    feature_directions_: Array = learned()

    rounding = "nearest"
    dependency: str = parameter("covariance", one_of("covariance", "correlation"), last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set (without checks of parameters and data)."""
        self.n_features_in_ = moments.n_features
        self.mean_ = np.zeros(moments.n_labels)
        self.feature_directions_, self.directions_ = self._find_both(moments)
        self.n_components_ = len(self.directions_)
        return self

    def _find_both(self, moments: Moments) -> tuple[Array, Array]:
        """U (d×D) and V (K'×K): the method itself."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """The reduced features XU (n×D) of X (n×d, dense or CSR)."""
        check_is_fitted(self, "directions_")
        return checked(self, X, reset=False) @ self.feature_directions_

    @property
    def _n_features_out(self) -> int:
        return int(self.feature_directions_.shape[1])

    def unreduced(self, weights: Array) -> Array:
        """The weights UW (d×q) on the features that are equivalent to `weights` (D×q) on the reduced ones."""
        return self.feature_directions_ @ weights

    def transform_moments(self, moments: Moments) -> Moments:
        """The moments of the reduced features, from those of the features."""
        return moments.map_features(self.feature_directions_)


def unit_labels(moments: Moments) -> Array:
    """1/√T_kk of each label (K,), 0 where it is constant.

    For labels that became constant when rows were removed, T keeps a rounding error of at most 1e-12 of the largest sum
    of squares. Labels that vary are far above that.
    """
    spread = np.diag(moments.yy)
    return inverse_root(spread, 1e-12 * float(np.max(spread + moments.n * moments.mean_y**2, initial=0.0)))
