"""The learner `logistic_regression`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.learners.binary import CERTAIN, Array, LogisticClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments, beside

# Up to so many weights, dense rows are worth a factorisation of the Hessian matrix in each step.
_FACTORISED = 600
# Dense rows with a smaller share of entries that are not 0 are cheaper as sparse ones.
_SPARSE = 0.1
_MOST_STEPS = 1000
_MOST_INNER_STEPS = 500
_INNER_ACCURACY = 0.25  # of a Newton step by conjugate gradients, at first: a better one costs more than it saves
_AT_ONCE = 32  # labels; more of them do not fit a processor's cache
_TINY = np.finfo(float).tiny


class LogisticRegression(LogisticClassifier):
    """Logistic regression of one label, penalised by its squared weights (Sun 2017, (3.5) and (3.6)).

    Maximise Σ_i log p(y_i | x_i) − λ/2 ‖w‖² with p(y = 1 | x) = 1 / (1 + e^−(x·w + b)): (3.6) of the thesis.

    scikit-learn's and liblinear's C is 1/λ: λ = 0.1, the thesis' choice, is C = 10. (In (3.5) θ holds all parameters,
    and (3.6) penalises all of it: "penalised" below.)

    Newton's method with line search. A step is a factorisation of the Hessian matrix for dense rows of few features
    (nd² + d³/3), and conjugate gradients preconditioned by its diagonal otherwise (the entries of X that are not 0, for
    each inner step). A label that is the same in all training rows has w = 0, and probability 0 or 1.

    With λ near 0 and linearly separable rows, the minimum is so flat that predictions depend on where the iteration
    ends: with λ = 2e-8, two in a hundred labels of HOMER on enron differ from those of a dense solution.

    Parameters
    ----------
    alpha : float
        λ > 0.
    intercept : {"penalised", "free", "none"}
        "penalised": b is the weight of a constant feature 1, penalised like the others, as in liblinear; "free": b is
        not penalised; "none": b = 0.
    scale : {"raw", "unit_variance"}
        What λ penalises: the weights of the features as they are, or of features divided by their standard deviation in
        the training set (n − 1), that is, λσ²w²; a feature that is constant keeps λ. WEKA's Logistic with a ridge of ρ
        is "unit_variance" with λ = 2ρ and a free intercept (its penalty has no ½), at its minimum; the thesis' program
        ended before it (`logistic_bfgs`).
    tol : float
        Steps end where one more would lower the objective by less than this share of it.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b; ±700 for a constant label (probability 0 or 1).
    n_iter_ : int
        The steps that were taken.
    """

    alpha: float = parameter(0.1, POSITIVE)
    intercept: str = parameter("penalised", one_of("penalised", "free", "none"))
    scale: str = parameter("raw", one_of("raw", "unit_variance"))
    tol: float = parameter(1e-6, POSITIVE)

    def fit_moments(self, moments: Moments, near: LogisticRegression | None = None) -> Self:
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
            weights, n_steps = minimise(design, y[:, None], self._penalties(X), self.tol, start)
            self._set(X.shape[1], weights[:, 0], n_steps[0])

    def _set(self, d: int, weights: Array, n_steps: int) -> None:
        self.coef_, self.n_iter_ = weights[None, :d], int(n_steps)
        self.intercept_ = weights[d:] if self.intercept != "none" else np.zeros(1)

    def _penalties(self, X: Any) -> Array:
        found = np.full(X.shape[1] + (self.intercept != "none"), float(self.alpha))
        if self.scale == "unit_variance":
            found[: X.shape[1]] *= variances(X)
        if self.intercept == "free":
            found[-1] = 0.0
        return found

    def fit_each(self, X: Any, Y: Array, inputs: Sequence[Sequence[int]] | None = None) -> list[LogisticRegression]:
        """A regression of each label of Y (n×K) on the features X (n×d) and, behind them, on its `inputs` among Y.

        They are those of `fit_moments`. Steps by conjugate gradients are made for many labels at once, so that the
        entries of X are read once for all of them, and labels that are the same share a regression.
        """
        if inputs is None:
            Y, same = np.unique(Y, axis=1, return_inverse=True)
            found = self.fit_each(X, Y, [()] * Y.shape[1])
            return [found[i] for i in same.ravel()]
        d = X.shape[1]
        # in an order that is each label's own, so that its sums are those of a regression by itself
        ascending = all(list(of) == sorted(of) for of in inputs)
        used = sorted(set().union(*inputs)) if ascending else list(dict.fromkeys(chain(*sorted(inputs, key=len)[::-1])))
        rows = beside(X, Y[:, used]) if used else X
        models = [clone(self) for _ in inputs]
        for model, of in zip(models, inputs, strict=True):
            model.classes_, model.n_features_in_ = np.array([0, 1]), d + len(of)
        varying = np.flatnonzero(Y.min(axis=0) != Y.max(axis=0))
        design = Design.of(rows, self.intercept)
        at_once = varying if sp.issparse(design.matrix) and not _is_factorised(X) else varying[:0]
        for k in sorted({*range(len(models))} - {*at_once}):
            models[k]._fit_valid(beside(X, Y[:, inputs[k]]) if len(inputs[k]) else X, Y[:, k])
        if not len(at_once):
            return models
        penalties = self._penalties(rows)
        allowed = np.ones((len(penalties), len(models)), dtype=bool)
        for k, of in enumerate(inputs):
            allowed[d : d + len(used), k] = np.isin(used, of)
        for some in np.array_split(at_once, ceil(len(at_once) / _AT_ONCE)):
            mask = np.ascontiguousarray(allowed[:, some]) if used else None
            weights, n_steps = minimise(design, np.ascontiguousarray(Y[:, some]), penalties, self.tol, None, mask)
            for i, k in enumerate(some):
                own = [*range(d), *(d + used.index(j) for j in inputs[k]), *range(rows.shape[1], len(penalties))]
                models[k]._set(d + len(inputs[k]), weights[own, i], n_steps[i])
        return models


@dataclass(frozen=True)
class Design:
    """The features of a logistic regression, and what is always the same in its steps.

    Attributes
    ----------
    matrix : array or CSR of shape (n, m)
        The features, with a column of ones behind them if there is an intercept.
    transposed : array or CSR of shape (m, n)
        Its transpose, stored for fast products.
    squares : array or CSR of shape (m, n), or None
        The transpose with its entries squared; None where the Hessian matrix is factorised.
    """

    matrix: Any
    transposed: Any
    squares: Any

    @classmethod
    def of(cls, X: Any, intercept: str) -> Design:
        """From features X (n×d, dense or CSR)."""
        n, few = X.shape[0], _is_factorised(X)
        if not few:
            X = sparse_if_thin(X)
        if intercept != "none":
            X = sp.hstack([X, np.ones((n, 1))], format="csr") if sp.issparse(X) else np.hstack([X, np.ones((n, 1))])
        if few:
            X = np.asfortranarray(X)
            return cls(X, X.T, None)
        if not sp.issparse(X):
            return cls(X, X.T, X.T**2)
        transposed = sp.csr_array(X.T)
        squares = transposed.copy()
        squares.data **= 2
        return cls(X, transposed, squares)

    def step(
        self, curvature: Array, penalties: Array, gradient: Array, accuracy: Array, allowed: NDArray[np.bool_] | None
    ) -> Array:
        """−(AᵀDA + Λ)⁻¹g (m×k) of each label, with D its curvature (n×k); by conjugate gradients, to an accuracy (k,),
        among the weights that are allowed (m×k).
        """
        if self.squares is None:
            columns = zip(curvature.T, gradient.T, strict=True)
            return np.column_stack([self._factorised(D, penalties[:, 0], g) for D, g in columns])
        found, left = np.empty_like(gradient), np.arange(gradient.shape[1])
        scale = 1.0 / (self.squares @ curvature + penalties)
        residual = -gradient
        step, towards = np.zeros_like(gradient), scale * residual
        size = _dot(residual, towards, allowed)
        enough = accuracy**2 * size
        for _ in range(_MOST_INNER_STEPS):
            image = self.transposed @ (curvature * (self.matrix @ towards)) + penalties * towards
            if allowed is not None:
                image *= allowed
            length = size / np.maximum(_dot(towards, image, allowed), _TINY)
            step += length * towards
            residual -= length * image
            scaled = scale * residual
            size, before = _dot(residual, scaled, allowed), size
            go = size > enough
            if not go.all():
                found[:, left[~go]] = step[:, ~go]
                if not go.any():
                    return found
                left, curvature, scale, residual, step, towards, scaled, size, before, enough, allowed = _only(
                    go, left, curvature, scale, residual, step, towards, scaled, size, before, enough, allowed
                )
            towards = scaled + (size / before) * towards
        found[:, left] = step
        return found

    def _factorised(self, curvature: Array, penalties: Array, gradient: Array) -> Array:
        """`step` of one label, by a factorisation."""
        hessian = blas.dsyrk(1.0, self.matrix * np.sqrt(curvature)[:, None], trans=1, lower=1)
        hessian[np.diag_indices_from(hessian)] += penalties
        try:
            return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient, check_finite=False)
        except LinAlgError:  # the rows give the directions a curvature below rounding
            hessian[np.diag_indices_from(hessian)] += 1e-10 * hessian.diagonal().max()
            return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), gradient, check_finite=False)


def minimise(
    design: Design,
    Y: Array,
    penalties: Array,
    tol: float,
    start: Array | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[Array, NDArray[np.intp]]:
    """The weights (m×k) that minimise −Σ_i log p(y_i | a_i) + Σ_j λ_j w_j²/2 for each label y of Y (n×k), and how many
    steps each took. Where `allowed` (m×k) is 0, a weight is 0.
    """
    A, At, k = design.matrix, design.transposed, Y.shape[1]
    penalties = penalties[:, None]
    found, steps, left = np.empty((A.shape[1], k)), np.full(k, _MOST_STEPS), np.arange(k)
    weights = np.zeros((A.shape[1], k)) if start is None else start[:, None].copy()
    sign = 2.0 * Y - 1.0
    z = A @ weights
    value = _objective(sign * z, weights, penalties, allowed)
    accuracy = np.full(k, _INNER_ACCURACY)
    for n_steps in range(1, _MOST_STEPS + 1):
        p = expit(z)
        gradient = At @ (p - Y) + penalties * weights
        if allowed is not None:
            gradient *= allowed
        # a certainty has no curvature to speak of
        step = design.step(np.maximum(p * (1 - p), 1e-12), penalties, gradient, accuracy, allowed)
        slope, shift, length = _dot(gradient, step, allowed), A @ step, np.ones(len(left))
        while True:
            reached = _objective(sign * (z + length * shift), weights + length * step, penalties, allowed)
            too_long = ~(reached <= value + 1e-4 * length * slope) & (length >= 1e-10)
            if not too_long.any():
                break
            length[too_long] /= 2
        moved = np.where(reached < value, length, 0.0)
        weights, z, value = weights + moved * step, z + moved * shift, np.where(reached < value, reached, value)
        go = (-slope > tol * value) & (length >= 1e-10)  # else the last step was worth so little, or was all rounding
        # −slope is of second order in the step, so this falls as √‖step‖: cheap early steps, superlinear convergence
        accuracy = np.minimum(_INNER_ACCURACY, (np.maximum(-slope, 0) / np.maximum(value, _TINY)) ** 0.25)
        if not go.all():
            found[:, left[~go]], steps[left[~go]] = weights[:, ~go], n_steps
            if not go.any():
                return found, steps
            left, Y, sign, z, weights, value, accuracy, allowed = _only(
                go, left, Y, sign, z, weights, value, accuracy, allowed
            )
    warnings.warn(f"no convergence in {_MOST_STEPS} steps", ConvergenceWarning, stacklevel=2)
    found[:, left] = weights
    return found, steps


def _only(go: NDArray[np.bool_], *arrays: Any) -> list[Any]:
    """The columns, or numbers, of the labels whose iteration continues."""
    return [None if each is None else each.compress(go, axis=-1) for each in arrays]


def _dot(a: Array, b: Array, allowed: NDArray[np.bool_] | None) -> Array:
    """The sums (k,) of each label's aw·bw over its weights w (m×k), in the order in which one label alone has them."""
    pairs = zip(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), strict=True)
    if allowed is None:
        return np.array([x @ y for x, y in pairs])
    return np.array([x[own] @ y[own] for (x, y), own in zip(pairs, allowed.T, strict=True)])


def _is_factorised(X: Any) -> bool:
    return not sp.issparse(X) and X.shape[1] <= min(_FACTORISED, X.shape[0])


def sparse_if_thin(X: Any) -> Any:
    """X (n×d), as CSR if few of its entries are not 0: its products are cheaper then."""
    if sp.issparse(X) or np.count_nonzero(X) >= _SPARSE * X.size:
        return X
    return sp.csr_array(X)


def variances(X: Any) -> Array:
    """The variance (d,) of each feature, with n − 1; 1 where it is constant."""
    n = X.shape[0]
    mean = sums.total(X) / n
    if sp.issparse(X):
        found = (sums.squares(X) - n * mean**2) / max(n - 1, 1)
    else:
        found = np.einsum("ij,ij->j", X - mean, X - mean) / max(n - 1, 1)
    return np.where(sums.constant(X) | (found <= 0), 1.0, found)


def _objective(margins: Array, weights: Array, penalties: Array, allowed: NDArray[np.bool_] | None) -> Array:
    losses = np.ascontiguousarray(-log_expit(margins).T).sum(axis=1)
    return losses + 0.5 * _dot(np.broadcast_to(penalties, weights.shape), weights**2, allowed)
