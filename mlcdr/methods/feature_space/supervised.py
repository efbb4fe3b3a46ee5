"""The base of the feature steps that learn from label sets: the checks of what they are fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import ClassifierTags

from mlcdr.methods.contracts import FeatureStep
from mlcdr.numerics.entry import checked, checked_targets
from mlcdr.numerics.moments import Moments


class SupervisedStep(FeatureStep):
    """Base of the feature steps that are fitted from moments (`fit_moments`)."""

    def fit(self, X: Any, y: Any = None, X_unlabelled: Any = None) -> Any:
        """Fit to features X (n×d, dense or CSR) and labels y (n×K of {0, 1}, dense or CSR; or n).

        A dense y may hold any two values (such as ±1), of which the larger means that the label is present. Methods
        that do not use labels take any y. `X_unlabelled` (u×d): rows without labels, for methods that use them
        (`uses_unlabelled`); others ignore them.

        Raises
        ------
        ValueError
            When y holds other values, or X, y and `X_unlabelled` do not fit together or are not finite.
        """
        self._validate_params()
        if self.__sklearn_tags__().target_tags.required:
            X, y = checked_targets(self, X, y)
            Y = binary_labels(y[:, None] if y.ndim == 1 else y)
        else:
            X = checked(self, X)
            Y = np.zeros((X.shape[0], 0))
        return self.fit_moments(self._training_set(X, Y, X_unlabelled))

    def fit_moments(self, moments: Moments) -> Any:
        """Fit from the moments of a training set (without checks of parameters and data)."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # a label is present or absent
        return tags


def binary_labels(Y: Any) -> Any:
    """Y (n×K) of {0, 1}: as it is, or of two other values the larger as 1."""
    values = np.unique(Y.data if sp.issparse(Y) else Y)
    if set(values.tolist()) <= {0, 1}:
        return Y
    if sp.issparse(Y):
        raise ValueError("a sparse y must hold label sets: an n×K matrix of 0 and 1")
    if len(values) > 2:
        raise ValueError(
            f"Only binary classification is supported for each label: y must hold 0 and 1, found {len(values)} values"
        )
    return np.searchsorted(values, Y).astype(np.float64)
