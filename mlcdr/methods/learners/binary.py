"""The base of the linear classifiers of one label: the estimator's contract, and how scores become classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import ClassifierMixin
from mlcdr.methods.constraints import learned
from mlcdr.methods.contracts import Learner
from mlcdr.numerics.entry import checked
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense

Array = NDArray[np.float64]
# What log-odds are counted as where a class was never seen: its probability is 0, and its logarithm still a number.
CERTAIN = 700.0


class LinearBinaryClassifier(ClassifierMixin, Learner):
    """Base of the classifiers of one label by the sign of wᵀx + b; a method has `_fit_valid`, which finds w and b.

    A label that is constant in the training set is predicted with that value.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b.
    """

    one_label: ClassVar[bool] = True

    coef_: Array = learned()
    intercept_: Array = learned()

    def fit(self, X: Any, y: Any) -> Self:
        """Fit from features X (n×d, dense or CSR) and a label y (n, of two values at most).

        Raises
        ------
        ValueError
            When y holds more than two values, or the shapes disagree.
        """
        self._validate_params()
        X, y = checked(self, X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(classes)} values"
            )
        if len(classes) == 1:
            codes = codes + (1 if classes[0] in (1, True) else 0)
        self._fit_valid(X, codes.astype(np.float64))
        self.classes_ = classes
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the rows of a training set with one label of {0, 1}.

        Raises
        ------
        ValueError
            When there are more labels.
        """
        X, y = self._one_label(moments)
        self._fit_label(moments, X, y)
        self.classes_ = np.array([0, 1])
        return self

    def _fit_label(self, moments: Moments, X: Any, y: Array) -> None:
        """Fit to the rows X (n×d) and the label y (n) of a training set, in whose memo labels may share work."""
        self._fit_valid(X, y)

    def _one_label(self, moments: Moments) -> tuple[Any, Array]:
        """The rows (n×d) and the label (n,) of a training set."""
        if moments.n_labels != 1:
            raise ValueError(
                f"{type(self).__name__} fits one label, not {moments.n_labels}: make it the estimator of binary "
                f"relevance or of a chain"
            )
        self.n_features_in_ = moments.n_features
        X, y = moments.rows()
        return X, dense(y)[:, 0].astype(np.float64)

    def _fit_valid(self, X: Any, y: Array) -> None:
        """Find w and b from checked rows X (n×d, dense or CSR) and y (n, of {0, 1}, constant or not)."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Scores wᵀx + b (n,) of X (n×d), positive for the second class."""
        check_is_fitted(self, "classes_")
        return self.scores(checked(self, X, reset=False))

    def scores(self, X: Any) -> Array:
        """`decision_function` of features that have been checked already."""
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class (n,) by the sign of the score; at 0, the first."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.full(len(scores), self.classes_[0])
        return self.classes_[(scores > 0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LogisticClassifier(LinearBinaryClassifier):
    """Base of those whose scores are log odds: p(y = 1 | x) = 1 / (1 + e^−(x·w + b))."""

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class (n×2; n×1, of ones, where only one was seen)."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return np.column_stack([expit(-scores), expit(scores)])
