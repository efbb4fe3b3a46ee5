"""The base of the linear learners: predictions of a multi-output linear model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mlcdr.methods.constraints import learned
from mlcdr.methods.learners.regressor import Array, Regressor
from mlcdr.numerics.moments import Moments


class LinearLearner(Regressor):
    """A multi-output linear model fitted from moments.

    Attributes
    ----------
    coef_ : array of shape (q, d), or (d,) where y was a vector
        Coefficients.
    intercept_ : array of shape (q,), or float
        Intercepts.
    """

    coef_: Array = learned()
    intercept_: Array | float = learned()

    def fit(self, X: Any, y: Any) -> Self:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        super().fit(X, y)
        if self._is_vector:
            self.coef_, self.intercept_ = self.coef_[0], float(np.asarray(self.intercept_)[0])
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set (without checks of parameters and data)."""
        self.n_features_in_, self._is_vector = moments.n_features, False
        weights, self.intercept_ = self._solve(moments)
        self.coef_ = weights.T
        return self

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        """Weights (d×q) and intercepts (q,): the method itself."""
        raise NotImplementedError

    def predict_valid(self, X: Any) -> Array:
        """X coef_ᵀ + intercept_ (n×q), of checked features."""
        return X @ self.coef_.T + self.intercept_
