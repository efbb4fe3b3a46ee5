"""The same features for every label: a selector of the feature space in the place of one of features for a label."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from mlcdr.local_features.selector import Columns, LocalSelector
from mlcdr.moments import Moments


class SameForAll(LocalSelector):
    """The features that a selector (of `mlcdr.feature_space`) keeps, for each label alike.

    What it does is what that selector does as a step before the learner; here its number of features is a parameter in
    the same place as that of a selector for each label, so that one sweep compares them. Cost: that of the selector.

    Parameters
    ----------
    selector : estimator or None
        With `n_features` and `get_support`. None: all features are kept.
    n_features : int, float or None
        Takes the place of the selector's own. None: its own.
    """

    component_parameters: ClassVar[dict[str, str]] = {"selector": "feature_space"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "selector": [HasMethods(["fit", "get_support"]), None],
        "n_features": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
    }

    def __init__(self, selector: Any = None, n_features: float | int | None = None):
        self.selector = selector
        self.n_features = n_features

    def fit(self, X: Any, Y: Any) -> SameForAll:
        """Select from features X (n×d, dense or CSR) for label sets Y (n×K of {0, 1}, dense or CSR)."""
        self._validate_params()
        return self.fit_moments(Moments.from_arrays(X, Y))

    def fit_moments(self, moments: Moments) -> SameForAll:
        """Select for a training set, of which the rows are there."""
        self._columns = np.arange(moments.n_features)
        if self.selector is None:
            return self
        selector = clone(self.selector)
        if self.n_features is not None:
            selector.set_params(n_features=self.n_features)
        if hasattr(selector, "fit_moments"):
            selector.fit_moments(moments)
        else:
            selector.fit(*moments.rows())
        self._columns = np.flatnonzero(selector.get_support())
        return self

    def alone(self, label: int) -> Columns:
        """The features of any label."""
        return self._columns

    def beside(self, label: int, parents: Sequence[int]) -> Columns:
        """The features of any label, whatever its parents."""
        return self._columns
