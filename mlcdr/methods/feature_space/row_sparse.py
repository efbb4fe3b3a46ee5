"""The base of the feature selectors by a row-sparse regression."""

from __future__ import annotations

from typing import Any

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, parameter
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.row_sparse import lengths


class RowSparseSelector(FeatureSelector):
    """Base: the scores are the lengths ‖W_j‖₂ of the rows of the W that a method finds (`_minimise`).

    Parameters
    ----------
    alpha : float
        α > 0.
    tol : float
        Relative change of the objective at which to stop.
    max_iter : int
        Most iterations.

    Attributes
    ----------
    coef_ : array of shape (d, k)
        W; k labels, or dimensions of their embedding.
    objective_ : array of shape (iterations,)
        The objective after each iteration.
    """

    alpha: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-5, NOT_NEGATIVE, last=True)
    max_iter: int = parameter(100, COUNT, last=True)

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        W, objective = self._minimise(moments)
        return lengths(W), {"coef_": W, "objective_": objective}

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        """W (d×k), and the objective after each iteration: the method itself."""
        raise NotImplementedError
