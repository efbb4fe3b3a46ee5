"""The base of the selectors of features for one label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.contracts import Part
from mlcdr.numerics.entry import as_label_matrix, check_index, checked

Array = NDArray[np.float64]
Columns = NDArray[np.intp]


class LocalSelector(Part):
    """Base of the selectors: `fit` computes what serves all labels; two methods give the features of a label.

    `alone`: the features from which a structure among labels is learned, before parents are known; `beside`: those that
    the label's model is fitted to, beside its parents. Both return columns of X in ascending order, or None for all.
    This base keeps all features.
    """

    def fit(self, X: Any, Y: Any) -> Self:
        """Prepare for features X (n×d, dense or CSR) and label sets Y (n×K of {0, 1}, dense or CSR).

        Raises
        ------
        ValueError
            When the shapes disagree, a feature is not finite, or a parameter is wrong.
        """
        self._checked_rows(X, Y)
        return self

    def _checked_rows(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """X and Y in the form that later code expects; parameters are checked, too."""
        self._validate_params()
        check_index(X, Y)
        X = checked(self, X)
        return X, as_label_matrix(Y, X.shape[0])

    def alone(self, label: int) -> Columns | None:
        """The features of a label with no regard to the others."""
        return None

    def beside(self, label: int, parents: Sequence[int]) -> Columns | None:
        """The features of a label beside its parents."""
        return self.alone(label)
