"""A selector of the feature space in the place of one of features for a label: what the two ways to do it share."""

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
        Takes the place of the selector's own. None: its own.
    """

    parts_of_all_labels: ClassVar[tuple[str, ...]] = ("selector",)
    selector: Any = parameter(None, [HasMethods(["fit", "get_support"]), None], family="feature_space")
    n_features: float | int | None = parameter(None, SIZE)

    def _selected(self, moments: Moments) -> Columns:
        """What a clone of the selector, of which there is one, keeps of a training set which has its rows."""
        selector = clone(self.selector)
        if self.n_features is not None:
            selector.set_params(n_features=self.n_features)
        fit_selector(selector, moments)
        return np.flatnonzero(selector.get_support())
