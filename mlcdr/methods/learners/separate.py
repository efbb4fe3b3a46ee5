"""Every output by itself: a learner fitted once for each, with nothing shared among them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.contracts import Learner, has_kernel
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.linear import Array
from mlcdr.numerics.entry import checked, checked_targets
from mlcdr.numerics.kernels import KernelRegression
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense


def _estimator_has_kernel(separate: Separate) -> bool:
    return has_kernel(separate.estimator)


class Separate(MultiOutputMixin, RegressorMixin, Learner):
    """h_k(x) for each output k, a clone of the learner fitted to the rows and that output, as if there were no other.

    What a learner of independent outputs says is the same without this; what it costs is q times the fit of one output,
    as in programs that call a single-output regression in a loop. It is there to measure that.

    Parameters
    ----------
    estimator : estimator or None
        A regressor. None: least squares.

    Attributes
    ----------
    models_ : list of q estimators
    """

    component_parameters: ClassVar[dict[str, str]] = {"estimator": "learner"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": [HasMethods(["fit", "predict"]), None]}

    independent_outputs: ClassVar[bool] = True
    estimator_seed_name: ClassVar[str] = "learner"

    def __init__(self, estimator: Any = None):
        self.estimator = estimator

    @available_if(_estimator_has_kernel)
    def kernel_regression(self) -> KernelRegression:
        """That of the learner, if it has one: each output is fitted with the same kernel and α."""
        found: KernelRegression = self.estimator.kernel_regression()
        return found

    def fit(self, X: Any, y: Any) -> Separate:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        self._validate_params()
        X, y = checked_targets(self, X, y)
        self._fit_rows(X, np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1))
        self._is_vector = np.ndim(y) == 1
        return self

    def fit_moments(self, moments: Moments) -> Separate:
        """Fit from the rows of a training set: its sums are those of all outputs, and so not looked at."""
        self.n_features_in_ = moments.n_features
        X, Z = moments.rows()
        self._fit_rows(X, dense(Z))
        self._is_vector = False
        return self

    def _fit_rows(self, X: Any, Z: Array) -> None:
        estimator = LeastSquares() if self.estimator is None else self.estimator
        self.models_ = []
        for k in range(Z.shape[1]):
            model = clone(estimator)
            self.models_.append(model.fit_alone(X, Z[:, k]) if isinstance(model, Learner) else model.fit(X, Z[:, k]))

    def predict(self, X: Any) -> Array:
        """What each model says (n×q, or n where y was a vector)."""
        check_is_fitted(self)
        said = self.predict_valid(checked(self, X, reset=False))
        return said.ravel() if self._is_vector else said

    def predict_valid(self, X: Any) -> Array:
        """`predict` (n×q) of features that have been checked already, as those of a data set have."""
        if not self.models_:
            return np.zeros((X.shape[0], 0))
        said = [m.predict_valid(X) if isinstance(m, Learner) else m.predict(X) for m in self.models_]
        return np.column_stack([np.asarray(each, dtype=np.float64).reshape(X.shape[0]) for each in said])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
