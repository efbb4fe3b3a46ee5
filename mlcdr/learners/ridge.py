"""Linear ridge regression (Hoerl & Kennard 1970), as the papers' programs set it up."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mlcdr.learners.linear import Array, LinearLearner
from mlcdr.moments import Moments


class Ridge(LinearLearner):
    """Minimise ‖XW + 1bᵀ − Z‖² + α‖W‖²; the penalty is on sums, not on means over instances.

    Cost: one Cholesky factorisation for each α (d³/3), or, for d > n, one eigendecomposition of XXᵀ (9n³) for all.

    Parameters
    ----------
    alpha : float
        α > 0.
    intercept : {"free", "penalised", "none"}
        "free": b is not penalised (features and targets are centred); "penalised": a column of ones joins the features
        and its coefficient is penalised like the others; "none": b = 0 and nothing is centred.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "intercept": [StrOptions({"free", "penalised", "none"})],
    }

    def __init__(self, alpha: float = 1.0, intercept: str = "free"):
        self.alpha = alpha
        self.intercept = intercept

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        if self.intercept == "free":
            weights = moments.coefficients(self.alpha)
            return weights, moments.mean_y - moments.mean_x @ weights
        raw = (moments.with_constant() if self.intercept == "penalised" else moments).uncentred()
        weights = raw.coefficients(self.alpha) + np.outer(raw.constant_coefficients(self.alpha), moments.mean_y)
        if self.intercept == "penalised":
            return weights[:-1], weights[-1]
        return weights, np.zeros(moments.n_labels)
