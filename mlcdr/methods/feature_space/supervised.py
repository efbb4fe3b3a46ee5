"""The base of the feature steps that learn from label sets: the checks of what they are fitted to."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import ClassifierTags

from mlcdr.methods.contracts import FeatureStep
from mlcdr.numerics.entry import as_binary, check_index, checked
from mlcdr.numerics.moments import Moments


class SupervisedStep(FeatureStep):
    """Base of the feature steps that are fitted from moments (`fit_moments`)."""

    def fit(self, X: Any, y: Any = None, X_unlabelled: Any = None) -> Self:
        """Fit to features X (n×d, dense or CSR) and label sets y (n×K, in any form that a classifier takes; or n).

        Methods that do not use labels take any y. `X_unlabelled` (u×d): rows without labels, for methods that use them
        (`uses_unlabelled`); others refuse them.

        Raises
        ------
        ValueError
            When y is no label sets, or X, y and `X_unlabelled` do not fit together or are not finite.
        """
        self._validate_params()
        check_index(X, y)
        X = checked(self, X)
        supervised = self.__sklearn_tags__().target_tags.required
        Y = as_binary(y, X.shape[0])[0] if supervised else np.zeros((X.shape[0], 0))
        return self.fit_moments(self._training_set(X, Y, X_unlabelled))

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set (without checks of parameters and data)."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # a label is present or absent
        return tags
