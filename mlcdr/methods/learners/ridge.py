"""The learner `ridge`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.learners.linear import Array, LinearLearner
from mlcdr.numerics.left_out import predict_left_out
from mlcdr.numerics.linalg import Cholesky, IllConditioned
from mlcdr.numerics.moments import Moments, beside
from mlcdr.numerics.regression import coefficients, constant_coefficients

# Of the trace over α: below, the equations keep 9 digits at least, whatever they are.
_PLAIN = 1e6


class Ridge(LinearLearner):
    """Linear ridge regression (Hoerl & Kennard 1970), as the papers' programs set it up.

    Minimise ‖XW + 1bᵀ − Z‖² + α‖W‖²; the penalty is on sums, not on means over instances.

    Cost: one Cholesky factorisation for each α (d³/3), or, for d > n, one eigendecomposition of XXᵀ (9n³) for all.

    Parameters
    ----------
    alpha : float
        α > 0.
    intercept : {"free", "penalised", "none"}
        "free": b is not penalised (features and targets are centred); "penalised": a column of ones joins the features
        and its coefficient is penalised like the others; "none": b = 0 and nothing is centred.
    """

    alpha: float = parameter(1.0, POSITIVE)
    intercept: str = parameter("free", one_of("free", "penalised", "none"))

    def fit_alone(self, X: Any, z: Array) -> LinearLearner:
        """Fit to rows X (n×d, dense or CSR) and one output z (n,), without results shared with other outputs:
        `solved_alone`.

        With a free intercept, or where the normal equations are too ill-conditioned, it is the fit from moments.
        """
        if self.intercept == "free":
            return self.fit_moments(Moments.from_arrays(X, z[:, None]))
        try:
            weights = solved_alone(self.rows(X), z, self.alpha)
        except IllConditioned:
            return self.fit_moments(Moments.from_arrays(X, z[:, None]))
        self.n_features_in_ = X.shape[1]
        self.coef_ = weights[None, : X.shape[1]]
        self.intercept_ = weights[X.shape[1] :] if self.intercept == "penalised" else np.zeros(1)
        return self

    def rows(self, X: Any) -> Any:
        """X (n×d, dense or CSR), with the constant feature of a penalised intercept behind it."""
        return beside(X, np.ones((X.shape[0], 1))) if self.intercept == "penalised" else X

    def predict_left_out(self, moments: Moments) -> Array | None:
        """Predictions (m×q) for the rows left out, in closed form (`numerics.left_out`)."""
        return predict_left_out(moments, self.alpha) if self.intercept == "free" else None

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        if self.intercept == "free":
            weights = coefficients(moments, self.alpha)
            return weights, moments.mean_y - moments.mean_x @ weights
        raw = (moments.with_constant() if self.intercept == "penalised" else moments).uncentred()
        of_one = constant_coefficients(raw, self.alpha)
        weights = coefficients(raw, self.alpha) + np.outer(of_one, moments.mean_y)
        if self.intercept == "penalised":
            return weights[:-1], weights[-1]
        return weights, np.zeros(moments.n_labels)


def solved_alone(rows: Any, z: Array, alpha: float) -> Array:
    """(XᵀX + αI)⁻¹Xᵀz (d,) for rows X (n×d, dense or CSR), computed without any shared result.

    The normal equations of the smaller side are formed and solved for this output alone: what `separate` measures.
    Cost: nd² + d³/3, or n²d + n³/3 where d > n; sparse products cost their non-zeros.

    Raises
    ------
    IllConditioned
        When the normal equations are too ill-conditioned.
    """
    dual = rows.shape[1] > rows.shape[0]
    gram = rows @ rows.T if dual else rows.T @ rows
    gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64)
    right = z if dual else rows.T @ z
    diagonal = np.einsum("ii->i", gram)  # a view
    if alpha > 0 and diagonal.sum() < _PLAIN * alpha:  # no eigenvalue is below α, none above the trace + α
        diagonal += alpha
        _, found, info = lapack.dposv(gram.T, right, lower=1, overwrite_a=1)
        if info:
            raise IllConditioned("the equations are not positive definite")
    else:
        factor = Cholesky.factorise(gram, alpha)
        found = factor.coefficients(factor.whiten(right[:, None], None))[:, 0]
    return np.asarray(rows.T @ found) if dual else found
