"""The selector `for_each_label` of features for each label."""

from __future__ import annotations

from typing import Any, Self

from mlcdr.methods.constraints import learned
from mlcdr.methods.local_features.selector import Columns
from mlcdr.methods.local_features.wrapped import WrappedSelector
from mlcdr.numerics.moments import Moments


class ForEachLabel(WrappedSelector):
    """A selector of features for all labels, fitted to each label by itself.

    The features that a selector (of `mlcdr.methods.feature_space`) keeps for each label as if there were no other.

    In section 3.3 of Sun 2017, gain ratio, ReliefF and a wrapper are compared with label-dependent features in this
    way. Parents are not used. Cost: that of the selector, for each label.

    Parameters
    ----------
    selector : estimator or None
        With `n_features` and `get_support`. None: all features are kept.
    n_features : int, float or None
        Replaces the selector's own `n_features`. None: unchanged.
    """

    _rows: tuple[Any, Any] = learned()
    _found: dict[int, Columns] = learned()

    def fit(self, X: Any, Y: Any) -> Self:
        """Keep features X (n×d, dense or CSR) and label sets Y (n×K of {0, 1}); the selector is fitted later."""
        self._rows, self._found = self._checked_rows(X, Y), {}
        return self

    def alone(self, label: int) -> Columns | None:
        """The features of a label."""
        if self.selector is None:
            return None
        if label not in self._found:
            X, Y = self._rows
            self._found[label] = self._selected(Moments.from_arrays(X, Y[:, [label]]))
        return self._found[label]
