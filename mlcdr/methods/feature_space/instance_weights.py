"""How an instance counts for its labels: the weights W (n×K) of the multi-label forms of linear discriminant analysis.

Source: Park & Lee 2008 (binary); Chen et al. 2007 (entropy); Wang, Ding & Huang 2010 (correlation); Lin & Chen 2010
(fuzzy); Xu 2018, *A weighted linear discriminant analysis framework for multi-label feature extraction* (dependence,
and all five in one frame). Fuzzy and dependence weights depend on the features as well, and follow the program of Xu.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.methods.feature_space.linear import Array, label_sets
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import rank_coordinates

KINDS = ("correlation", "entropy", "binary", "fuzzy", "dependence")


def weights_in(moments: Moments, kind: str) -> Array:
    """W (n×K) of the rows of `moments`, kept there for other methods."""
    return moments.once(
        ("instance weights", kind),
        lambda: instance_weights(kind, label_sets(moments), rank_coordinates(moments).rows()[0]),
    )


def instance_weights(kind: str, Y: Array, X: Any) -> Array:
    """W (n×K) of instances with label sets Y (n×K of {0, 1}, dense) and features X (n×d, dense or sparse).

    Instances without labels get zeros. The row w of an instance with label set y, |y| of them 1, is

    binary        y;
    entropy       y/|y|;
    correlation   Ry/|y|, with R (K×K) the cosines between the columns of Y;
    fuzzy         its membership in fuzzy clusters, one for each label: `fuzzy_weights`;
    dependence    1 for one of its labels, 0 for the others: `dependence_weights`.
    """
    if kind == "binary":
        return Y
    shares = Y / np.maximum(Y.sum(axis=1), 1)[:, None]
    if kind == "entropy":
        return shares
    if kind == "correlation":
        lengths = np.maximum(np.sqrt(Y.sum(axis=0)), 1)
        return shares @ ((Y.T @ Y) / np.outer(lengths, lengths))
    return fuzzy_weights(Y, X) if kind == "fuzzy" else dependence_weights(Y, X)


def fuzzy_weights(Y: Array, X: Any, tolerance: float = 0.01, most: int = 100) -> Array:
    """Fuzzy c-means (fuzzifier 2) with a cluster for each label, where an instance can belong to the clusters of its
    own labels only.

    Alternately, with c_k the centre of label k,

        w_ik = y_ik‖x_i − c_k‖⁻² / Σ_l y_il‖x_i − c_l‖⁻²,    c_k = Σ_i w_ik² x_i / Σ_i w_ik²,

    until the centres (K×d) move by less than `tolerance` in Frobenius norm, in the units of the features, or `most`
    times. The start is c_k = x̄ + Σ_i (x_i − x̄) y_ik/|y_i| / n (so Xu's program, on centred features). An instance that
    lies on centres of its labels is shared among these alone. Σ_k w_ik = 1 for all that have a label. Depends neither
    on the order of rows or labels nor on rotations and shifts of X; but on its scale, through the tolerance.
    Cost of a round: 2ndK, or 4 nnz(X)·K where X is sparse.
    """
    weights = Y / np.maximum(Y.sum(axis=1), 1)[:, None]
    mean = sums.total(X) / X.shape[0]
    centres = mean + sums.cross(X, mean, weights, np.zeros(Y.shape[1])).T / X.shape[0]
    members = [np.flatnonzero(column) for column in Y.T]
    lengths = None if not sp.issparse(X) else np.asarray((X * X).sum(axis=1)).ravel()
    for _ in range(most):
        weights = _memberships(X, members, centres, lengths)
        squares = weights**2
        totals = squares.sum(axis=0)
        # a label without instances keeps its place: nothing is measured from there
        moved = np.where(totals[:, None] > 0, (X.T @ squares).T / np.where(totals > 0, totals, 1)[:, None], centres)
        shift = np.linalg.norm(moved - centres)
        centres = moved
        if shift < tolerance:
            break
    return weights


def _memberships(X: Any, members: list[NDArray[np.intp]], centres: Array, lengths: Array | None) -> Array:
    """W (n×K) from the centres (K×d): shares of 1/‖x_i − c_k‖² among the labels of each instance."""
    distances = np.full((X.shape[0], len(members)), np.inf)
    for k, rows in enumerate(members):
        if lengths is None:
            apart = X[rows] - centres[k]
            distances[rows, k] = np.einsum("ij,ij->i", apart, apart)
        elif len(rows):
            products = X[rows] @ centres[k]
            squares = lengths[rows] - 2 * products + centres[k] @ centres[k]
            # what rounding leaves of 0 is 0
            distances[rows, k] = np.where(squares > 1e-14 * (lengths[rows] + centres[k] @ centres[k]), squares, 0.0)
    nearest = distances.min(axis=1, initial=np.inf, keepdims=True)
    counted = np.isfinite(nearest)
    with np.errstate(invalid="ignore", divide="ignore"):
        # in units of the nearest: 1 for it (and for all at distance 0), less for the others
        closeness = np.where(distances == nearest, 1.0, nearest / distances)
    closeness = np.where(counted & np.isfinite(distances), closeness, 0.0)
    return closeness / np.where(counted, closeness.sum(axis=1, keepdims=True), 1.0)


def dependence_weights(Y: Array, X: Any, most: int = 1000) -> Array:
    """W (n×K) that maximises tr(WᵀQW), Q = HXXᵀH: the dependence (HSIC) of weighted labels on features.

    Over w_i ≥ 0 with Σ_k w_ik = 1 on the labels of i, 0 elsewhere. In each single row the function is convex, so that a
    vertex of that simplex is best: the label k of y_i with the greatest Σ_{j≠i} Q_ij w_jk. Coordinate ascent from
    w_i = y_i/|y_i|, instance by instance in the order of rows (Xu's program: in random order), ties going to the
    present label, then to the first. It ends with a pass without change (each change increases tr(WᵀQW)), or after
    `most` passes. The result is a local maximum, which depends on the order of the rows.

    Q is never formed: Σ_j Q_ij w_jk = (x_i − x̄)ᵀm_k with M = (X − x̄)ᵀW (d×K) kept up to date. Cost of a pass: nnz(Y)·d,
    over blocks of rows made dense where X is sparse.
    """
    sizes = Y.sum(axis=1)
    weights = Y / np.maximum(sizes, 1)[:, None]
    free = np.flatnonzero(sizes > 1)
    if not len(free):
        return weights
    mean = sums.total(X) / X.shape[0]
    images = sums.cross(X, mean, weights, np.zeros(Y.shape[1])).T  # Mᵀ, a row for each label
    own = [np.flatnonzero(Y[i]) for i in free]
    chosen = np.full(len(free), -1)
    movable = X[free]
    for _ in range(most):
        before, position = chosen.copy(), 0
        for block in sums.centred_blocks(movable, mean):
            for x in block:
                i, labels = free[position], own[position]
                gains = images[labels] @ x - (x @ x) * weights[i, labels]
                best = int(np.argmax(gains))
                now = chosen[position]
                if now < 0 or gains[best] > gains[now]:
                    chosen[position] = best
                    target = np.zeros(len(labels))
                    target[best] = 1.0
                    images[labels] += np.outer(target - weights[i, labels], x)
                    weights[i, labels] = target
                position += 1
        if np.array_equal(chosen, before):
            break
    return weights
