"""What binary relevance and the chains share: links, which are models of one label each, and the estimator's contract.

A link's base is a regressor, which decides at ½, or a binary classifier. It is fitted from the moments of the features
and the labels it looks at, which are blocks of those of [X, Y], if it can be; from the rows otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils._param_validation import HasMethods

from mlcdr.label_space.linear import as_dense
from mlcdr.learners.least_squares import LeastSquares
from mlcdr.moments import Moments
from mlcdr.multilabel import Array, MultilabelClassifier


@dataclass(frozen=True)
class Link:
    """A fitted model of one label; `model` is None where a classifier's label was the same in all training rows."""

    model: Any
    constant: float = 0.0

    @classmethod
    def fitted(cls, base: Any, moments: Moments, label: int, inputs: Sequence[int] = ()) -> Link:
        """Fit a clone of `base` to one label, from the features and the labels `inputs`."""
        part = moments.with_labels(inputs, [label])
        model = clone(base)
        if hasattr(model, "fit_moments"):
            return cls(model.fit_moments(part))
        X, y = part.rows()
        y = as_dense(y)[:, 0]
        if is_classifier(model) and y.min() == y.max():
            return cls(None, float(y[0]) - 0.5)
        return cls(model.fit(X, y))

    def score(self, X: Any) -> Array:
        """How surely (n,) the label is there: positive where it is predicted."""
        if self.model is None:
            return np.full(X.shape[0], self.constant)
        if hasattr(self.model, "decision_function"):
            return np.asarray(self.model.decision_function(X), dtype=np.float64)
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(X)[:, 1] - 0.5
        return np.asarray(self.model.predict(X), dtype=np.float64).reshape(X.shape[0]) - 0.5


class LinkedClassifier(MultilabelClassifier):
    """Base of the multi-label classifiers that are made of links.

    Parameters
    ----------
    base : estimator or None
        The model of a label: a regressor, of which a prediction above ½ means that the label is there, or a binary
        classifier. None: least squares.
    """

    component_parameters: ClassVar[dict[str, str]] = {"base": "learner"}
    _linear: Any  # the links as matrices, where they are linear and were found all at once
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"base": [HasMethods(["fit", "predict"]), None]}

    def __init__(self, base: Any = None):
        self.base = base

    def fit_moments(self, moments: Moments) -> LinkedClassifier:
        """Fit from the moments of a training set (with its rows, if the base asks for them)."""
        self._begin(moments)
        self._fit_links(LeastSquares() if self.base is None else self.base, moments)
        return self

    def _fit_links(self, base: Any, moments: Moments) -> None:
        """Fit the links: the method itself."""
        raise NotImplementedError
