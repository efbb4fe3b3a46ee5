"""Logistic regression of one label, penalised by its squared weights (Sun 2017, (3.5) and (3.6))."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.learners.binary import Array, LinearBinaryClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments

# Up to so many weights, dense rows are worth a factorisation of the Hessian matrix in each step.
_FACTORISED = 600
# Dense rows with a smaller share of entries that are not 0 are cheaper as sparse ones.
_SPARSE = 0.1
_MOST_STEPS = 200
_MOST_INNER_STEPS = 500
# What log-odds are counted as where a class was never seen: its probability is 0, and its logarithm still a number.
CERTAIN = 700.0


class LogisticRegression(LinearBinaryClassifier):
    """Maximise Σ_i log p(y_i | x_i) − λ/2 ‖w‖² with p(y = 1 | x) = 1 / (1 + e^−(x·w + b)): (3.6) of the thesis.

    scikit-learn's and liblinear's C is 1/λ: λ = 0.1, the thesis' choice, is C = 10. (In (3.5) θ holds all parameters,
    and (3.6) penalises all of it: "penalised" below.)

    Newton's method with line search. A step is a factorisation of the Hessian matrix for dense rows of few features
    (nd² + d³/3), and conjugate gradients preconditioned by its diagonal otherwise (the entries of X that are not 0, for
    each inner step). A label that is the same in all training rows has w = 0, and probability 0 or 1.

    Parameters
    ----------
    alpha : float
        λ > 0.
    intercept : {"penalised", "free", "none"}
        "penalised": b is a weight as the others are, that of a feature that is always 1, as liblinear has it; "free": b
        is not penalised; "none": b = 0.
    scale : {"raw", "unit_variance"}
        What λ is put on: the weights of the features as they are, or of features divided by their standard deviation
        in the training set (n − 1), that is, λσ²w²; a feature that is constant keeps λ. WEKA's Logistic with a ridge of
        ρ is "unit_variance" with λ = 2ρ and a free intercept (its penalty has no ½): that is what gives the numbers of
        Table 3.2, though the text has no word of it.
    tol : float
        Steps end where one more would lower the objective by less than this share of it.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b; of a constant label ±700, for a certainty.
    n_iter_ : int
        The steps that were taken.
    """

    alpha: float = parameter(0.1, POSITIVE)
    intercept: str = parameter("penalised", one_of("penalised", "free", "none"))
    scale: str = parameter("raw", one_of("raw", "unit_variance"))
    tol: float = parameter(1e-6, POSITIVE)

    def fit_moments(self, moments: Moments, near: LogisticRegression | None = None) -> LogisticRegression:
        """Fit from the rows of a training set with one label of {0, 1}.

        `near`: a regression of that label on the leading features, from which the iteration starts.
        """
        X, y = self._one_label(moments)
        start = None
        if near is not None:
            b = near.intercept_ if self.intercept != "none" else np.empty(0)
            start = np.concatenate([near.coef_[0], np.zeros(X.shape[1] - near.coef_.shape[1]), b])
        self._fit_valid(X, y, start)
        self.classes_ = np.array([0, 1])
        return self

    def _fit_valid(self, X: Any, y: Array, start: Array | None = None) -> None:
        self.coef_, self.n_iter_ = np.zeros((1, X.shape[1])), 0
        self.intercept_ = np.array([CERTAIN if y[0] else -CERTAIN])
        if y.min() != y.max():
            design = Design.of(X, self.intercept)
            penalties = np.full(design.matrix.shape[1], float(self.alpha))
            if self.scale == "unit_variance":
                penalties[: X.shape[1]] *= _variances(X)
            if self.intercept == "free":
                penalties[-1] = 0.0
            weights, self.n_iter_ = minimise(design, y, penalties, self.tol, start)
            self.coef_[0] = weights[: X.shape[1]]
            self.intercept_ = weights[X.shape[1] :] if self.intercept != "none" else np.zeros(1)

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class (n×2; n×1, of ones, where only one was seen)."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return np.column_stack([expit(-scores), expit(scores)])


@dataclass(frozen=True)
class Design:
    """The features of a logistic regression, and what is always the same in its steps.

    Attributes
    ----------
    matrix : array or CSR of shape (n, m)
        The features, with a column of ones behind them if there is an intercept.
    transposed : array or CSR of shape (m, n)
        The same, ready to be multiplied from the other side.
    squares : array or CSR of shape (m, n), or None
        That with its entries squared; None where the Hessian matrix is factorised.
    """

    matrix: Any
    transposed: Any
    squares: Any

    @classmethod
    def of(cls, X: Any, intercept: str) -> Design:
        """Of features X (n×d, dense or CSR)."""
        n, d = X.shape
        few = d <= _FACTORISED and d <= n
        if not sp.issparse(X) and not few and np.count_nonzero(X) < _SPARSE * X.size:
            X = sp.csr_array(X)
        if intercept != "none":
            X = sp.hstack([X, np.ones((n, 1))], format="csr") if sp.issparse(X) else np.hstack([X, np.ones((n, 1))])
        if few and not sp.issparse(X):
            X = np.asfortranarray(X)
            return cls(X, X.T, None)
        if not sp.issparse(X):
            return cls(X, X.T, X.T**2)
        transposed = sp.csr_array(X.T)
        squares = transposed.copy()
        squares.data **= 2
        return cls(X, transposed, squares)

    def step(self, curvature: Array, penalties: Array, gradient: Array, accuracy: float) -> Array:
        """−(AᵀDA + Λ)⁻¹g (m,), with D the curvature (n,); by conjugate gradients, to an accuracy."""
        if self.squares is None:
            hessian = blas.dsyrk(1.0, self.matrix * np.sqrt(curvature)[:, None], trans=1, lower=1)
            hessian[np.diag_indices_from(hessian)] += penalties
            try:
                return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient, check_finite=False)
            except LinAlgError:  # the rows give the directions a curvature below rounding
                hessian[np.diag_indices_from(hessian)] += 1e-10 * hessian.diagonal().max()
                return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient, check_finite=False)
        matrix = self.matrix
        scale = 1.0 / (self.squares @ curvature + penalties)
        residual = -gradient
        found = np.zeros_like(gradient)
        towards = scale * residual
        size = residual @ towards
        enough = accuracy**2 * size
        for _ in range(_MOST_INNER_STEPS):
            image = self.transposed @ (curvature * (matrix @ towards)) + penalties * towards
            length = size / (towards @ image)
            found += length * towards
            residual = residual - length * image
            scaled = scale * residual
            size, before = residual @ scaled, size
            if size <= enough:
                break
            towards = scaled + (size / before) * towards
        return found


def minimise(design: Design, y: Array, penalties: Array, tol: float, start: Array | None = None) -> tuple[Array, int]:
    """The weights (m,) that minimise −Σ_i log p(y_i | a_i) + Σ_j λ_j w_j²/2, and how many steps it took."""
    A, At = design.matrix, design.transposed
    weights = np.zeros(A.shape[1]) if start is None else start.copy()
    sign = 2.0 * y - 1.0
    z = A @ weights
    value = _objective(sign * z, weights, penalties)
    first = None
    for n_steps in range(1, _MOST_STEPS + 1):
        p = expit(z)
        gradient = At @ (p - y) + penalties * weights
        size = np.linalg.norm(gradient)
        first = first or size
        if size == 0.0:
            return weights, n_steps
        # a certainty has no curvature to speak of
        step = design.step(np.maximum(p * (1 - p), 1e-12), penalties, gradient, min(0.1, np.sqrt(size / first)))
        slope = gradient @ step
        shift = A @ step
        length = 1.0
        while True:
            tried = weights + length * step
            reached = _objective(sign * (z + length * shift), tried, penalties)
            if reached <= value + 1e-4 * length * slope or length < 1e-10:
                break
            length /= 2
        if reached < value:
            weights, z, value = tried, z + length * shift, reached
        if -slope <= tol * value or length < 1e-10:  # the last step was worth so little, or was all rounding
            return weights, n_steps
    warnings.warn(f"no convergence in {_MOST_STEPS} steps", ConvergenceWarning, stacklevel=2)
    return weights, _MOST_STEPS


def _variances(X: Any) -> Array:
    """The variance (d,) of each feature, with n − 1; 1 where it is constant."""
    n = X.shape[0]
    mean = sums.total(X) / n
    if sp.issparse(X):
        found = (sums.squares(X) - n * mean**2) / max(n - 1, 1)
    else:
        found = np.einsum("ij,ij->j", X - mean, X - mean) / max(n - 1, 1)
    return np.where(sums.constant(X) | (found <= 0), 1.0, found)


def _objective(margins: Array, weights: Array, penalties: Array) -> float:
    return float(-log_expit(margins).sum() + 0.5 * penalties @ weights**2)
