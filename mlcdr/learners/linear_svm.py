"""Linear support vector machine with squared hinge loss, by LIBLINEAR (Fan, Chang, Hsieh, Wang & Lin 2008).

Source: Sun 2017, section 4.3.3, which takes LIBLINEAR's as the binary classifier of all methods.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr.moments import Moments
from mlcdr.sums import dense

Array = NDArray[np.float64]


class LinearSVM(ClassifierMixin, BaseEstimator):
    """Minimise ½‖w‖² + ½b² + C Σ max(0, 1 − yᵢ(wᵀxᵢ + b))² over w (d) and b, with y = ±1.

    The label is there where wᵀx + b > 0. The bias is the weight of a feature that is 1 everywhere, so it is penalised
    as the others are. Features are taken as they come. A label that is the same in all training rows is predicted so,
    with w = 0 and b = ±1. Cost: some tens of passes over X.

    Parameters
    ----------
    C : float
        C > 0.
    solver : {"auto", "primal", "dual"}
        Newton's method in w, or coordinate descent in the dual; "auto": primal where there are more instances than
        features, dual otherwise. Both find the same w, as exactly as `tol` has it.
    tol : float
        When to stop, as LIBLINEAR's −e.
    max_iter : int
        Iterations at most.
    random_state : int, RandomState instance or None
        Order in which the dual solver takes the instances.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Iterations that were made.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "primal", "dual"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: Any = None,
    ):
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LinearSVM:
        """Fit from features X (n×d, dense or CSR) and a label y (n, of two values at most).

        Raises
        ------
        ValueError
            When y holds more than two values, or the shapes disagree.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(classes)} values"
            )
        if len(classes) == 1:
            codes = codes + (1 if classes[0] in (1, True) else 0)
        self._fit_valid(X, codes)
        self.classes_ = classes
        return self

    def fit_moments(self, moments: Moments) -> LinearSVM:
        """Fit from the rows of a training set with one label of {0, 1}."""
        self.n_features_in_ = moments.n_features
        X, y = moments.rows()
        self._fit_valid(X, dense(y)[:, 0])
        self.classes_ = np.array([0, 1])
        return self

    def _fit_valid(self, X: Any, y: NDArray[Any]) -> None:
        n, d = X.shape
        self.coef_, self.intercept_ = np.zeros((1, d)), np.array([1.0 if y[0] else -1.0])
        self.n_iter_ = 0
        if y.min() != y.max():
            dual = n <= d if self.solver == "auto" else self.solver == "dual"
            machine = LinearSVC(
                C=self.C, dual=dual, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state
            ).fit(X, y)
            self.coef_, self.intercept_, self.n_iter_ = machine.coef_, machine.intercept_, int(machine.n_iter_)

    def decision_function(self, X: Any) -> Array:
        """Scores wᵀx + b (n,), positive for the second class."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class (n,) that wᵀx + b says; at 0, the first."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.full(len(scores), self.classes_[0])
        return self.classes_[(scores > 0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
