"""One of several classes, by any kind of model: shared by the methods that turn a label set into one class.

An estimator is a multi-class classifier; a binary classifier, used one against the rest for each class; or a regressor,
which fits the classes' indicators (a column for each class), where the largest prediction decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import get_tags

from mlcdr.methods.contracts import fit, has_decision_function, has_probabilities, log_probabilities
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.multilabel import Array
from mlcdr.numerics.moments import Moments


@dataclass(frozen=True)
class MultiClass:
    """A fitted model of classes 0, …, C − 1, all of which occurred in training; None if there was only one."""

    model: Any
    n_classes: int

    @classmethod
    def fitted(cls, estimator: Any, X: Any, codes: NDArray[np.intp], n_classes: int) -> MultiClass:
        """Fit a clone of `estimator` to rows X (n×d) and the classes' numbers (n,)."""
        if n_classes == 1:
            return cls(None, 1)
        if not is_classifier(estimator):
            model, indicators = clone(estimator), np.zeros((len(codes), n_classes))
            indicators[np.arange(len(codes)), codes] = 1.0
            return cls(fit(model, Moments.from_arrays(X, indicators)), n_classes)
        several = get_tags(estimator).classifier_tags.multi_class
        return cls((clone(estimator) if several else OneVsRestClassifier(clone(estimator))).fit(X, codes), n_classes)

    @classmethod
    def fitted_each(
        cls, estimator: Any, X: Any, codes: Sequence[NDArray[np.intp]], sizes: Sequence[int]
    ) -> list[MultiClass]:
        """Several models of the same rows, as `fitted`; logistic regressions are all fitted at once."""
        if type(estimator) is not LogisticRegression:
            return [cls.fitted(estimator, X, each, size) for each, size in zip(codes, sizes, strict=True)]
        indicators = [
            each[:, None] == np.arange(0 if size > 2 else 1, size)  # of two classes the second, of one none
            for each, size in zip(codes, sizes, strict=True)
        ]
        models = iter(estimator.fit_each(X, np.hstack(indicators).astype(np.float64)))
        found = []
        for each, size, own in zip(codes, sizes, indicators, strict=True):
            model = OneVsRestClassifier(estimator)
            model.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(each)
            model.estimators_ = [next(models) for _ in range(own.shape[1])]
            model.classes_, model.n_features_in_ = np.arange(size), X.shape[1]
            found.append(cls(model if size > 1 else None, size))
        return found

    def scores(self, X: Any) -> Array:
        """The score of each class (n×C): decision values, log probabilities or a regressor's predictions."""
        if self.model is None:
            return np.zeros((X.shape[0], 1))
        if not is_classifier(self.model):
            return np.asarray(self.model.predict(X), dtype=np.float64)
        if has_decision_function(self.model):
            predicted = np.asarray(self.model.decision_function(X), dtype=np.float64)
            return np.column_stack((-predicted, predicted)) if predicted.ndim == 1 else predicted
        if has_probabilities(self.model):
            return log_probabilities(self.model, X)
        return np.eye(self.n_classes)[self.predict(X)]

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The class of each row (n,)."""
        if self.model is None:
            return np.zeros(X.shape[0], dtype=np.intp)
        if not is_classifier(self.model):
            return np.argmax(self.scores(X), axis=1)
        return np.asarray(self.model.predict(X)).astype(np.intp)
