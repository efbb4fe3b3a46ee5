"""The base of the multi-output regressors: the checks of features and targets, and the shape of predictions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import MultiOutputMixin, RegressorMixin
from mlcdr.methods.contracts import Learner
from mlcdr.numerics.entry import checked
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


class Regressor(MultiOutputMixin, RegressorMixin, Learner):
    """Base of the multi-output regressors: a method defines `_fit_rows` and `predict_valid`."""

    independent_outputs: ClassVar[bool] = True

    _is_vector = False

    def fit(self, X: Any, y: Any) -> Self:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        self._validate_params()
        X, y = checked(self, X, y, multi_output=True, y_numeric=True)
        Z = np.asarray(y, dtype=np.float64)
        assert_all_finite(Z, input_name="y")  # `checked` does not look into an array of objects
        self._fit_rows(X, Z if Z.ndim == 2 else Z[:, None])
        self._is_vector = Z.ndim == 1
        return self

    def _fit_rows(self, X: Any, Z: Array) -> None:
        """Fit from checked rows X (n×d, dense or CSR) and targets Z (n×q): by default from their moments."""
        method: Any = self
        method.fit_moments(Moments.from_arrays(X, Z))

    def predict(self, X: Any) -> Array:
        """Predictions (n×q, or n where y was a vector) for X (n×d)."""
        check_is_fitted(self)
        predictions = self.predict_valid(checked(self, X, reset=False))
        return predictions.ravel() if self._is_vector else predictions
