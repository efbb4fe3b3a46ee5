"""The base of the two local selectors that use a selector of the feature space."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from mlcdr.methods.constraints import SIZE, parameter
from mlcdr.methods.contracts import fit_selector
from mlcdr.methods.local_features.selector import Columns, LocalSelector
from mlcdr.numerics.moments import Moments


class WrappedSelector(LocalSelector):
    """Base of local selectors that use a selector of `mlcdr.methods.feature_space`.

    Parameters
    ----------
    selector : estimator or None
        With `n_features` and `get_support`. None: all features are kept.
    n_features : int, float or None
        Replaces the selector's own `n_features`. None: unchanged.
    """

    parts_of_all_labels: ClassVar[tuple[str, ...]] = ("selector",)
    selector: Any = parameter(None, [HasMethods(["fit", "get_support"]), None], family="feature_space")
    n_features: float | int | None = parameter(None, SIZE)

    def _selected(self, moments: Moments) -> Columns:
        """The features that a clone of the selector (not None) keeps for a training set, which must have its rows."""
        selector = clone(self.selector)
        if self.n_features is not None:
            selector.set_params(n_features=self.n_features)
        fit_selector(selector, moments)
        return np.flatnonzero(selector.get_support())
