"""M5P model trees: regression trees with linear models in their leaves.

Source: Quinlan 1992, "Learning with continuous classes" (M5); Wang & Witten 1997, "Induction of model trees for
predicting continuous classes" (M5′), as WEKA's M5P 3.9 computes it; used by Chen & Lin 2012, section 4.2.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr.learners.m5.columns import Array, Columns
from mlcdr.learners.m5.compiled import require_numba
from mlcdr.learners.m5.grow import grow
from mlcdr.learners.m5.models import fit_models
from mlcdr.learners.m5.prune import ModelTree, assemble, prune


class M5P(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """One model tree for each output."""

    trees_: list[ModelTree]
    independent_outputs: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_instances": [Interval(Integral, 2, None, closed="left")],
        "pruned": ["boolean"],
        "smoothed": ["boolean"],
    }

    def __init__(self, min_instances: int = 4, pruned: bool = True, smoothed: bool = True):
        self.min_instances = min_instances
        self.pruned = pruned
        self.smoothed = smoothed

    def fit(self, X: Any, y: Any) -> M5P:
        """Grow the trees from features X (n×d, dense or sparse) and targets y (n×q or n)."""
        require_numba()
        self._validate_params()
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], multi_output=True, y_numeric=True, dtype=np.float64
        )
        y = np.asarray(y, dtype=np.float64)
        self._is_vector = y.ndim == 1
        columns = Columns.of(X)
        self.trees_ = [self._tree(columns, target) for target in np.ascontiguousarray(np.atleast_2d(y.T))]
        return self

    def _tree(self, columns: Columns, y: Array) -> ModelTree:
        grown = grow(columns, y, self.min_instances)
        models = fit_models(columns, grown, y)
        leaves = prune(grown, models, y) if self.pruned else np.flatnonzero(grown.feature < 0)
        return assemble(grown, models, leaves, self.smoothed)

    def predict(self, X: Any) -> Array:
        """The trees' values (n×q, or n where y was a vector) for X (n×d)."""
        check_is_fitted(self)
        said = self.predict_valid(validate_data(self, X, reset=False, accept_sparse=["csr", "csc"], dtype=np.float64))
        return said[:, 0] if self._is_vector else said

    def predict_valid(self, X: Any) -> Array:
        """`predict` of features that have been checked already, as those of a data set have (always n×q)."""
        by_column = X.tocsc() if sp.issparse(X) else X
        return np.column_stack([tree.predict(by_column) for tree in self.trees_])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
