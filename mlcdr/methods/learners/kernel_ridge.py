"""The learner `kernel_ridge`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mlcdr.methods.constraints import FINITE, NOT_NEGATIVE, POSITIVE, learned, one_of, parameter
from mlcdr.methods.learners.regressor import Array, Regressor
from mlcdr.numerics.kernels import NAMES, SOLVERS, Kernel, KernelRegression
from mlcdr.numerics.moments import Moments


class KernelRidge(Regressor):
    """Kernel ridge regression (Saunders, Gammerman & Vovk 1998), as Chen & Lin 2012 use it (section 3.2, equation (7)).

    f(x) = Σ_i k(x, x_i) a_i + z̄ with A = (K + αI)⁻¹(Z − z̄) (n×q), K_ij = k(x_i, x_j) (n×n).

    It minimises ‖f(X) − Z‖² + α‖f − z̄‖² in the kernel's space of functions. The targets are centred (the kernel is
    not), so that a Gaussian kernel predicts their mean far from all training rows. Where α is below the rounding of K's
    eigenvalues, this is the limit α → 0. Cost: n² products of rows (in an experiment, once for a data set), n³/3 and
    2n²q; q and the number of dimensions of a code hardly matter. Memory: 8n² bytes, twice. In an experiment that leaves
    out no more than an eighth of up to 7,700 rows, K + αI of all rows is inverted once (n³); a split costs m³/3 and
    2nmK, m the rows left out.

    Parameters
    ----------
    alpha : float
        α > 0.
    kernel : str
        "gaussian" (exp(−γ‖x − x'‖²), scikit-learn's "rbf"), "linear", "poly", or any other name that scikit-learn's
        `pairwise_kernels` accepts; it must be positive semi-definite, or α large enough. "chi2" and "additive_chi2"
        take dense features only.
    gamma : float or None
        γ of the kernel, if it has one. None: scikit-learn's default (1 over the number of features; 1 for "chi2").
    degree, coef0 : float
        Of the kernels "poly", (γxᵀx' + coef0)^degree, and "sigmoid", tanh(γxᵀx' + coef0).
    solver : {"cholesky", "eigen"}
        How K + αI is inverted: by a Cholesky factorisation for each α, or by one eigendecomposition of K (about 9n³)
        for all values of α, which pays off from about a dozen values on.

    Attributes
    ----------
    dual_coef_ : array of shape (n, q), or (n,) where y was a vector
        A.
    intercept_ : array of shape (q,), or float
        z̄.
    X_fit_ : array or CSR of shape (n, d)
        The training rows.
    """

    dual_coef_: Array = learned()
    intercept_: Array | float = learned()

    alpha: float = parameter(1.0, POSITIVE)
    kernel: str = parameter("gaussian", one_of(*NAMES))
    gamma: float | None = parameter(None, [*POSITIVE, None])
    degree: float = parameter(3, NOT_NEGATIVE)
    coef0: float = parameter(1, FINITE)
    solver: str = parameter("cholesky", one_of(*SOLVERS))

    def kernel_regression(self) -> KernelRegression:
        """The regression that this learner computes, which the kernel label spaces share."""
        return KernelRegression(
            Kernel(self.kernel, self.gamma, self.degree, self.coef0), float(self.alpha), self.solver
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Fit from features X (n×d, dense or CSR) and targets y (n×q or n)."""
        super().fit(X, y)
        if self._is_vector:
            self.dual_coef_, self.intercept_ = self.dual_coef_[:, 0], float(np.asarray(self.intercept_)[0])
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set, which must have their rows (nothing is checked)."""
        self.n_features_in_, self._is_vector = moments.n_features, False
        self.X_fit_ = moments.source()[0].rows()[0]
        self.intercept_ = moments.mean_y
        self.dual_coef_ = self.kernel_regression().coefficients(moments)
        return self

    def predict_left_out(self, moments: Moments) -> Array | None:
        """Predictions (m×q) for the rows left out, from the inverse of K + αI of all rows (`numerics.kernels`)."""
        return self.kernel_regression().predict_left_out(moments)

    def predict_valid(self, X: Any) -> Array:
        """Predictions (m×q) of checked X (m×d). Cost: mn products of rows and 2mnq."""
        return self.kernel_regression().predict(X, self.X_fit_, self.dual_coef_) + self.intercept_
