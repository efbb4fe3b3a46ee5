"""A selector of features for all labels, asked for each label by itself."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from mlcdr.local_features.selector import Columns, LocalSelector
from mlcdr.moments import Moments


class ForEachLabel(LocalSelector):
    """The features that a selector (of `mlcdr.feature_space`) keeps for each label as if there were no other.

    So gain ratio, ReliefF and a wrapper stand beside label-dependent features in section 3.3 of Sun 2017. Parents do
    not matter. Cost: that of the selector, for each label.

    Parameters
    ----------
    selector : estimator or None
        With `n_features` and `get_support`. None: all features are kept.
    n_features : int, float or None
        Takes the place of the selector's own. None: its own.
    """

    _rows: tuple[Any, Any]
    _found: dict[int, Columns]
    component_parameters: ClassVar[dict[str, str]] = {"selector": "feature_space"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "selector": [HasMethods(["fit", "get_support"]), None],
        "n_features": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
    }

    def __init__(self, selector: Any = None, n_features: float | int | None = None):
        self.selector = selector
        self.n_features = n_features

    def fit(self, X: Any, Y: Any) -> ForEachLabel:
        """Keep features X (n×d, dense or CSR) and label sets Y (n×K of {0, 1}): a label asks by its number."""
        self._validate_params()
        self._rows, self._found = (X, Y), {}
        return self

    def alone(self, label: int) -> Columns | None:
        """The features of a label."""
        if self.selector is None:
            return None
        if label not in self._found:
            X, Y = self._rows
            selector = clone(self.selector)
            if self.n_features is not None:
                selector.set_params(n_features=self.n_features)
            part = Moments.from_arrays(X, Y[:, [label]])
            if hasattr(selector, "fit_moments"):
                selector.fit_moments(part)
            else:
                selector.fit(*part.rows())
            self._found[label] = np.flatnonzero(selector.get_support())
        return self._found[label]
