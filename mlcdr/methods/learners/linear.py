"""What the linear learners share: predictions of a multi-output linear model."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.contracts import Learner
from mlcdr.numerics.entry import checked, checked_targets
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


class LinearLearner(MultiOutputMixin, RegressorMixin, Learner):
    """A multi-output linear model fitted from moments.

    Attributes
    ----------
    coef_ : array of shape (q, d), or (d,) where y was a vector
        Coefficients.
    intercept_ : array of shape (q,), or float
        Intercepts.
    """

    coef_: Array
    intercept_: Array | float

    independent_outputs: ClassVar[bool] = True

    def fit(self, X: Any, y: Any) -> LinearLearner:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        self._validate_params()
        X, y = checked_targets(self, X, y)
        y = np.asarray(y, dtype=np.float64)
        self.fit_moments(Moments.from_arrays(X, y if y.ndim == 2 else y[:, None]))
        if y.ndim == 1:
            self.coef_, self.intercept_ = self.coef_[0], float(np.asarray(self.intercept_)[0])
        return self

    def fit_moments(self, moments: Moments) -> LinearLearner:
        """Fit from the moments of a training set (parameters and data are not checked again)."""
        self.n_features_in_ = moments.n_features
        weights, self.intercept_ = self._solve(moments)
        self.coef_ = weights.T
        return self

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        """Weights (d×q) and intercepts (q,): the method itself."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """X coef_ᵀ + intercept_ (n×q, or n where y was a vector)."""
        check_is_fitted(self)
        return self.predict_valid(checked(self, X, reset=False))

    def predict_valid(self, X: Any) -> Array:
        """`predict` of features that have been checked already, as those of a data set have."""
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
