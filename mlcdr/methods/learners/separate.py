"""The learner `separate`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from mlcdr.methods.constraints import ESTIMATOR, parameter
from mlcdr.methods.contracts import Learner, has_kernel
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.regressor import Array, Regressor
from mlcdr.numerics.kernels import KernelRegression
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense


def _estimator_has_kernel(separate: Separate) -> bool:
    return has_kernel(separate.estimator)


class Separate(Regressor):
    """Every output by itself: a learner fitted once for each, with nothing shared among them.

    h_k(x) for each output k, a clone of the learner fitted to the rows and that output, as if there were no other.

    The predictions of a learner of independent outputs are the same without this; its cost is q times the fit of one
    output, as in programs that call a single-output regression in a loop. It exists to measure that.

    Parameters
    ----------
    estimator : estimator or None
        A regressor. None: least squares.

    Attributes
    ----------
    models_ : list of q estimators
    """

    estimator: Any = parameter(None, ESTIMATOR, family="learner")

    estimator_seed_name: ClassVar[str] = "learner"

    @available_if(_estimator_has_kernel)
    def kernel_regression(self) -> KernelRegression:
        """The kernel regression of the learner, if it has one: each output is fitted with the same kernel and α."""
        found: KernelRegression = self.estimator.kernel_regression()
        return found

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the rows of a training set: its sums, which are those of all outputs, are not used."""
        self.n_features_in_, self._is_vector = moments.n_features, False
        X, Z = moments.rows()
        self._fit_rows(X, dense(Z))
        return self

    def _fit_rows(self, X: Any, Z: Array) -> None:
        estimator = LeastSquares() if self.estimator is None else self.estimator
        self.models_ = []
        for k in range(Z.shape[1]):
            model = clone(estimator)
            self.models_.append(model.fit_alone(X, Z[:, k]) if isinstance(model, Learner) else model.fit(X, Z[:, k]))

    def predict_valid(self, X: Any) -> Array:
        """The predictions (n×q) of all models, for checked features."""
        if not self.models_:
            return np.zeros((X.shape[0], 0))
        predicted = [m.predict_valid(X) if isinstance(m, Learner) else m.predict(X) for m in self.models_]
        return np.column_stack([np.asarray(each, dtype=np.float64).reshape(X.shape[0]) for each in predicted])
