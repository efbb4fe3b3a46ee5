"""The selector `same_for_all` of features for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from mlcdr.methods.local_features.selector import Columns
from mlcdr.methods.local_features.wrapped import WrappedSelector
from mlcdr.numerics.moments import Moments


class SameForAll(WrappedSelector):
    """The same features for every label: a selector of the feature space in the place of one of features for a label.

    The features that a selector (of `mlcdr.methods.feature_space`) keeps, for each label alike.

    The result is that of the selector as a feature step before the learner. Here its number of features is the same
    parameter as for a selector for each label, so that one sweep compares them. Cost: that of the selector.

    Parameters
    ----------
    selector : estimator or None
        With `n_features` and `get_support`. None: all features are kept.
    n_features : int, float or None
        Replaces the selector's own `n_features`. None: unchanged.
    """

    hands_on_unlabelled: ClassVar[bool] = True  # the selector gets the rows without labels

    def fit(self, X: Any, Y: Any) -> Self:
        """Select from features X (n×d, dense or CSR) for label sets Y (n×K of {0, 1}, dense or CSR)."""
        return self.fit_moments(Moments.from_arrays(*self._checked_rows(X, Y)))

    def fit_moments(self, moments: Moments) -> Self:
        """Select for a training set, which must have its rows."""
        self._columns = np.arange(moments.n_features) if self.selector is None else self._selected(moments)
        return self

    def alone(self, label: int) -> Columns:
        """The features of any label."""
        return self._columns

    def beside(self, label: int, parents: Sequence[int]) -> Columns:
        """The features of any label, whatever its parents."""
        return self._columns
