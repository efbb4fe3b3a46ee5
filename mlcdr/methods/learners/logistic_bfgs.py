"""The learner `logistic_bfgs`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from mlcdr.methods.constraints import COUNT, POSITIVE, parameter
from mlcdr.methods.learners.binary import CERTAIN, Array, LogisticClassifier
from mlcdr.methods.learners.logistic_regression import sparse_if_thin, variances
from mlcdr.numerics import sums
from mlcdr.numerics.step_length import find_step_length

_ZERO = float(np.sqrt(np.finfo(float).eps))
_SHORTEST = 1e-6  # change of a weight, beside the weight
_OVERFLOW = log(np.finfo(float).max)
_LONGEST = 100.0  # a step, beside the first gradient


class LogisticBFGS(LogisticClassifier):
    """Logistic regression by BFGS, ended after some steps: WEKA's Logistic, which Sun 2017, chapter 3, used.

    Minimise Σ_i −log p(y_i | z_i) + ρ‖v‖² with p(y = 1 | z) = 1 / (1 + e^−(z·v + c)), where z are the features less
    their mean, divided by their standard deviation in the training set (n − 1). c is not penalised, and there is no ½.

    From v = 0 and c = log (n₁ + 1)/(n₀ + 1), the steps are those of BFGS with the identity matrix at first, of the
    lengths of `find_step_length`. Where features are many, 50 steps end far from the minimum. The minimum itself is
    that of `logistic_regression` with `alpha` = 2ρ, a free intercept and `scale: unit_variance`.

    Source: weka.classifiers.functions.Logistic of WEKA 3.7.12 with the options -R ρ -M steps. Cost: a product with X
    and one with Xᵀ a step; sparse X stays sparse.

    Parameters
    ----------
    ridge : float
        ρ > 0.
    max_iter : int
        The steps, where it does not converge before.

    Attributes
    ----------
    n_iter_ : int
        The steps that were taken.
    """

    ridge: float = parameter(0.1, POSITIVE)
    max_iter: int = parameter(50, COUNT)

    def _fit_valid(self, X: Any, y: Array) -> None:
        self.coef_, self.n_iter_ = np.zeros((1, X.shape[1])), 0
        self.intercept_ = np.array([CERTAIN if y[0] else -CERTAIN])
        if y.min() != y.max():
            X = sparse_if_thin(X)
            problem = _Problem(X, y, sums.total(X) / X.shape[0], variances(X) ** -0.5, self.ridge)
            weights, self.n_iter_ = minimise(problem, self.max_iter)
            self.coef_ = (weights[:-1] * problem.scale)[None]
            self.intercept_ = weights[-1] - self.coef_ @ problem.mean


@dataclass(frozen=True)
class _Problem:
    """The objective of a label y (n) with features X (n×d), their mean and inverse deviation (d).

    Weights are (v, c), scores z·v + c (n).
    """

    X: Any
    y: Array
    mean: Array
    scale: Array
    ridge: float

    def start(self) -> Array:
        present = self.y.sum()
        odds = (present + 1) / (len(self.y) - present + 1)
        return np.append(np.zeros(self.X.shape[1]), np.log(odds))

    def scores(self, weights: Array) -> Array:
        scaled = weights[:-1] * self.scale
        return np.asarray(self.X @ scaled) + (weights[-1] - self.mean @ scaled)

    def value(self, scores: Array, weights: Array) -> float:
        """The objective; infinite where e^score is, as in WEKA, which decides on the length of the first steps."""
        if scores.max() > _OVERFLOW:
            return inf
        signs = 2 * self.y - 1
        return float(self.ridge * (weights[:-1] @ weights[:-1]) - log_expit(signs * scores).sum())

    def gradient(self, scores: Array, weights: Array) -> Array:
        errors = expit(scores) - self.y
        on_features = np.asarray(self.X.T @ errors) - errors.sum() * self.mean
        return np.append(on_features * self.scale + 2 * self.ridge * weights[:-1], errors.sum())


@dataclass(frozen=True)
class _Line:
    """The objective from some weights along a direction, which shifts the scores."""

    problem: _Problem
    weights: Array
    direction: Array
    scores: Array
    shift: Array

    def value(self, length: float) -> float:
        return self.problem.value(self.scores + length * self.shift, self.weights + length * self.direction)

    def slope(self, length: float) -> float:
        v, towards = self.weights[:-1] + length * self.direction[:-1], self.direction[:-1]
        errors = expit(self.scores + length * self.shift) - self.problem.y
        return float(2 * self.problem.ridge * (v @ towards) + errors @ self.shift)


def minimise(problem: _Problem, max_iter: int) -> tuple[Array, int]:
    """The weights after `max_iter` steps of BFGS, or when it has converged, and how many steps were taken."""
    weights = problem.start()
    scores = problem.scores(weights)
    value, gradient = problem.value(scores, weights), problem.gradient(scores, weights)
    at_most = _LONGEST * max(float(np.linalg.norm(gradient)), len(weights))
    steps: list[tuple[Array, Array]] = []
    direction = -gradient
    for k in range(max_iter):
        size = float(np.linalg.norm(direction))
        if size > at_most:
            direction = direction * (at_most / size)
        descent = float(gradient @ direction)
        if abs(descent) <= _ZERO:
            return weights, k
        line = _Line(problem, weights, direction, scores, problem.scores(direction))
        shortest, longest = _SHORTEST / _relative(direction, weights), max(at_most / size, 1.0)
        length = find_step_length(line.value, line.slope, value, descent, shortest, longest)
        step, before = length * direction, gradient
        weights, scores = weights + step, scores + length * line.shift
        value, gradient = problem.value(scores, weights), problem.gradient(scores, weights)
        change = gradient - before
        curvature = float(step @ change)
        steepest = float(np.max(np.abs(gradient) * np.maximum(np.abs(direction), 1))) / max(abs(value), 1)
        if _relative(step, weights) < _ZERO or steepest < _ZERO or abs(curvature) < _ZERO:
            return weights, k + 1
        if curvature >= _ZERO * max(float(np.linalg.norm(step) * np.linalg.norm(change)), 1.0):
            steps.append((step, change))
        direction = -_solve(steps, gradient)
    return weights, max_iter


def _relative(step: Array, weights: Array) -> float:
    return float(np.max(np.abs(step) / np.maximum(np.abs(weights), 1)))


def _solve(steps: list[tuple[Array, Array]], gradient: Array) -> Array:
    """B⁻¹g for the matrix B that BFGS makes of the identity by all steps so far, each with its change of gradient.

    Source: Nocedal & Wright 2006, Algorithm 7.4, with all steps kept.
    """
    rest = gradient.copy()
    shares = []
    for step, change in reversed(steps):
        share = (step @ rest) / (step @ change)
        rest -= share * change
        shares.append(share)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        rest += (share - (change @ rest) / (step @ change)) * step
    return rest
