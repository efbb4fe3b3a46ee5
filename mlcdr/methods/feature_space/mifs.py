"""The feature step `mifs`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, SIZE, parameter
from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import conjugate_gradients
from mlcdr.numerics.sums import dense

# Where less than this part of a column of V is independent of those before it, P is found by singular values.
_DEPENDENT = 1e-4
# Labels with a smaller share of ones than this are multiplied as a sparse matrix, which is quicker.
_SPARSE = 0.1


class MIFS(RowSparseSelector):
    """Multi-label informed feature selection (MIFS): a row-sparse regression on a latent space of the labels.

    Source: Jian, Li, Shu & Liu 2016 (IJCAI); Sun 2017 (thesis), equation (6.49).

    Scores ‖W_j‖₂ of min ‖XW − V‖² + α‖W‖₂,₁ + β‖Y − VPᵀ‖² + γTr(VᵀL_xV) over W (d×k), V (n×k) and P (K×k).

    L_x is the Laplacian of the graph of neighbours of the labelled rows X (n×d, not centred). W, V and P are solved for
    in turn: V's equations V + γL_xV + βVPᵀP = XW + βYP decompose into one sparse system for each eigenvector of PᵀP.
    The objective, with Σ√(‖·‖² + ε) for the norm, does not rise (`numerics.row_sparse`). But it has no useful minimum:
    as V shrinks to 0 and P grows, all terms but the third go to 0. So the result depends on the start, the k leading
    singular vectors of Y, V = U_k S_k, and on `tol`. (The papers use gradient descent from a random start.) Cost of an
    iteration: min(n, d)³/3, a scatter where n < d, and some ten to a hundred products of L_x with V, for V by conjugate
    gradients (to 1e-10).

    Parameters
    ----------
    alpha, beta, gamma : float
        α > 0, β > 0 and γ ≥ 0.
    n_components : int, float or None
        k: an int, a fraction of the labels (max(1, ⌊pK⌋)), or None for as many as labels; no more than the rank of Y.
    n_neighbors : int
        Neighbours in the graph (all others, where there are fewer).
    sigma : float
        σ of its weights exp(−d²/σ²).
    """

    sizes_of_labels: ClassVar[tuple[str, ...]] = ("n_components",)  # parameters that count dimensions of label sets

    beta: float = parameter(1.0, POSITIVE)
    gamma: float = parameter(1.0, NOT_NEGATIVE)
    n_components: float | int | None = parameter(0.3, SIZE)
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    sigma: float = parameter(1.0, POSITIVE)

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        X, Y = moments.rows()[0], label_sets(moments)
        n, d = X.shape
        graph = moments.once(
            ("graph of labelled rows", self.n_neighbors, self.sigma),
            lambda: graphs.heat_graph(X, self.n_neighbors, self.sigma),
        )
        laplacian = graphs.laplacian(graph)
        V = _leading_codes(Y, n_kept(self.n_components, moments.n_labels))
        labels = sp.csr_array(Y) if Y.mean() < _SPARSE else Y
        size = float(np.sum(Y**2))
        W = np.zeros((d, V.shape[1]))
        ones, penalty = np.ones(n), np.full(d, self.alpha)
        scatter = (
            moments.once("scatter of raw features", lambda: row_sparse.weighted_scatter(X, ones)) if n >= d else None
        )
        regression = row_sparse.Penalised(X, scatter=scatter)

        def step() -> float:
            nonlocal V, W, penalty
            P = _regress(labels, V)
            W = regression.solve(ones, penalty, V)
            image, product, gram = X @ W, labels @ P, P.T @ P
            V = self._codes(image + self.beta * product, gram, laplacian, V)
            penalty = self.alpha * row_sparse.weights(W)
            fitted = V @ np.asarray(np.linalg.qr(P, mode="r")).T  # as long as VPᵀ
            missed = size - 2 * np.sum(V * product) + np.sum(fitted**2)  # ‖Y − VPᵀ‖²
            value = np.sum((image - V) ** 2) + self.beta * missed
            smoothness = self.gamma * np.sum(V * (laplacian @ V))
            return float(value + smoothness) + self.alpha * row_sparse.norm(W)

        objective = row_sparse.descend(step, self.tol, self.max_iter)
        return W, objective

    def _codes(self, right: Array, gram: Array, laplacian: Any, near: Array) -> Array:
        """V (n×k) that solves V + γL_xV + βVPᵀP = `right` (n×k), with `gram` = PᵀP (k×k), from a V that is near."""
        values, vectors = scipy.linalg.eigh(gram)
        own = 1 + self.beta * np.maximum(values, 0.0)
        right = right @ vectors

        def times(codes: Array) -> Array:
            codes = codes.reshape(right.shape)
            return (own * codes + self.gamma * (laplacian @ codes)).reshape(-1, 1)

        diagonal = own + self.gamma * laplacian.diagonal()[:, None]
        start = (near @ vectors).reshape(-1, 1)
        codes = conjugate_gradients(times, diagonal.ravel(), right.reshape(-1, 1), 1e-10, start=start)
        return codes.reshape(right.shape) @ vectors.T


def _regress(Y: Any, V: Array) -> Array:
    """P (K×k) that minimises ‖Y − VPᵀ‖, of least norm: by the k×k side, unless the columns of V nearly depend."""
    gram = V.T @ V
    lengths = np.sqrt(np.diag(gram))
    if lengths.min() > 0:
        lower, info = scipy.linalg.lapack.dpotrf(gram / np.outer(lengths, lengths), lower=1, clean=0, overwrite_a=1)
        if info == 0 and np.diag(lower).min() > _DEPENDENT:
            right = (Y.T @ V).T / lengths[:, None]
            return (scipy.linalg.cho_solve((lower, True), right, check_finite=False) / lengths[:, None]).T
    return scipy.linalg.lstsq(V, dense(Y))[0].T


def _leading_codes(Y: Array, k: int) -> Array:
    """U_k S_k (n×k) of Y = U S Vᵀ, up to the rank of Y (1 at least)."""
    left, sizes, _ = scipy.linalg.svd(Y, full_matrices=False)
    rank = int(np.count_nonzero(sizes > 1e-10 * max(float(sizes[0]), 1.0)))
    kept = max(1, min(k, rank))
    return left[:, :kept] * sizes[:kept]
