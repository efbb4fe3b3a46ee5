"""Directions of greatest dependence on the labels, at unit variance: C L Lᵀ Cᵀ p = λ(S + rI)p."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import NOT_NEGATIVE, one_of, parameter
from mlcdr.methods.feature_space.implicit import SOLVERS
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace, above_rounding, dependence, eigen, largest
from mlcdr.numerics.linalg import IllConditioned
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import ACCURATE, cross_rank
from mlcdr.numerics.regression import coefficients, explained_scatter, solve_by_gradients, whiten


class ScaledFeatureSpace(LinearFeatureSpace):
    """Base of the methods whose M is not I, so that the length of P's columns can be chosen.

    Parameters
    ----------
    norm : {"metric", "unit"}
        Length of the directions: "metric", PᵀMP = I, as in the optimisation problems (new features of similar
        variance); "unit", each of Euclidean length 1. It matters to learners that penalise coefficients.
    """

    norm: str = parameter("metric", one_of("metric", "unit"), last=True)

    def _positive(self, moments: Moments) -> tuple[Array, Array]:
        values, components = super()._positive(moments)
        if self.norm == "unit":
            components = components / np.linalg.norm(components, axis=1, keepdims=True)
        return values, components


class DependenceFeatureSpace(ScaledFeatureSpace):
    """Base of the methods that measure dependence on at most K label codes, regularised by a ridge.

    With codes Z = Y_c L (L K×k) and H = X(S + rI)⁻¹Xᵀ, the eigenvectors u of ZᵀHZ (k×k) give all directions there are:
    p = (S + rI)⁻¹XᵀZu/√λ. So the d×d eigenproblem never arises: the cost is that of a ridge regression of the labels
    (d³/3 + d²K, shared by all methods with the same r, and with the learner), and 9k³. For r = 0 the inverse is the
    pseudo-inverse: p lies in the range of Xᵀ.

    This is the two-stage approach of Sun, Ceran & Ye 2010, exactly: regression on Z, then an eigenproblem of size k.

    Parameters
    ----------
    alpha : float
        The ridge r ≥ 0.
    solver : {"auto", "dense", "implicit"}
        "dense" factorises S + rI (or the n×n side), "implicit" solves by conjugate gradients on v ↦ Xᵀ(Xv), for r > 0:
        4nd (or 4 nnz(X)) for each code, about 16√κ times, κ the condition of S + rI at unit diagonal. "auto": implicit
        where min(n, d) ≥ 15000, the rows are at hand and r > 0, if it converges; else dense.
    """

    alpha: float = parameter(0.1, NOT_NEGATIVE)
    solver: str = parameter("auto", one_of(*SOLVERS), last=True)

    def _label_codes(self, moments: Moments) -> Array:
        """L (K×k), for labels of {0, 1}."""
        return 2.0 * np.eye(moments.n_labels)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        return directions_of_codes(moments, self._label_codes(moments), self.alpha, self.solver)


def dependent_directions(codes: Moments, ridge: float, rank: int | None = None) -> tuple[Array, Array]:
    """λ > 0 and p (as columns, PᵀMP = I) of CCᵀp = λMp, M = S + rI, where C is that of the `codes`.

    `rank`: that of C, how many there are; None: those above 0, with rounding.
    """
    values, vectors = eigen(explained_scatter(codes, ridge))
    values, vectors = largest(values, vectors, int(np.count_nonzero(values > 0)) if rank is None else rank)
    if rank and values[0] < ACCURATE * values[-1]:
        _, sizes, right = scipy.linalg.svd(whiten(codes, ridge), full_matrices=False, check_finite=False)
        values, vectors = sizes[:rank] ** 2, right[:rank].T
    return values, coefficients(codes, ridge) @ (vectors / np.sqrt(values))


def directions_of_codes(moments: Moments, codes: Array, ridge: float, solver: str) -> tuple[Array, Array]:
    """As `dependent_directions`, of the codes Y_c L with L (K×k) whose columns are independent where labels vary; by
    one of the solvers of `DependenceFeatureSpace`.
    """
    if solver == "implicit" and ridge <= 0:
        raise ValueError("solver='implicit' needs a ridge above 0")
    if not dependence(moments).any():
        return np.zeros(0), np.zeros((moments.n_features, 0))
    if solver == "implicit" or (solver == "auto" and moments.both_large and ridge > 0):
        try:
            return above_rounding(moments, *_by_gradients(moments, moments.xy @ codes, ridge))
        except IllConditioned:
            if solver == "implicit":
                raise
    rank = cross_rank(moments)
    return dependent_directions(moments.map_labels(moments.mean_y, codes), ridge, rank)


def _by_gradients(moments: Moments, xy: Array, ridge: float) -> tuple[Array, Array]:
    found = solve_by_gradients(moments, xy, ridge)
    explained = xy.T @ found
    values, vectors = eigen((explained + explained.T) / 2)
    kept = values > 0
    return values[kept], found @ (vectors[:, kept] / np.sqrt(values[kept]))
