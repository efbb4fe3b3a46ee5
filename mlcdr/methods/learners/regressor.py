"""The base of the multi-output regressors: the checks of features and targets, and the shape of predictions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.contracts import Learner
from mlcdr.numerics.entry import checked, checked_targets
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense

Array = NDArray[np.float64]


class Regressor(MultiOutputMixin, RegressorMixin, Learner):
    """Base of the multi-output regressors: a method defines `_fit_rows` or `fit_moments`, and `predict_valid`."""

    independent_outputs: ClassVar[bool] = True

    _is_vector = False

    def fit(self, X: Any, y: Any) -> Any:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        self._validate_params()
        X, y = checked_targets(self, X, y)
        self._fit_rows(X, y if y.ndim == 2 else y[:, None])
        self._is_vector = y.ndim == 1
        return self

    def fit_moments(self, moments: Moments) -> Any:
        """Fit from the moments of a training set, which must have their rows (nothing is checked)."""
        self.n_features_in_, self._is_vector = moments.n_features, False
        X, Z = moments.rows()
        self._fit_rows(X, dense(Z))
        return self

    def _fit_rows(self, X: Any, Z: Array) -> None:
        """Fit from checked rows X (n×d, dense or CSR) and targets Z (n×q)."""
        self.fit_moments(Moments.from_arrays(X, Z))

    def predict(self, X: Any) -> Array:
        """Predictions (n×q, or n where y was a vector) for X (n×d)."""
        check_is_fitted(self)
        predictions = self.predict_valid(checked(self, X, reset=False))
        return predictions.ravel() if self._is_vector else predictions
