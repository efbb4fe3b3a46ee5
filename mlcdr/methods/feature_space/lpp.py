"""The feature step `lpp`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.linear import Array, above_rounding, eigen, rounding
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics import sums
from mlcdr.numerics.graphs import degrees, heat_graph
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import rank_coordinates

_ENTRIES = 4_000_000  # of the products of pairs of rows that are in memory at a time


class LPP(ScaledFeatureSpace):
    """Locality preserving projections (LPP): neighbouring instances stay close; labels are not used.

    Source: He & Niyogi 2003. Ridge and cosine weights as in the program ML-FSDR of Sun.

    XᵀWX p = λ(XᵀDX + rI)p, X (n×d) centred, W (n×n, sparse) a graph of k nearest neighbours, D its row sums.

    The paper's smallest λ' of XᵀLX p = λ'XᵀDX p, L = D − W, come first: λ = 1 − λ' for r = 0. XᵀWX is indefinite;
    directions with λ > 0 are kept, along which neighbours are positively correlated. An edge joins two instances of
    which one is among the k nearest of the other, by Euclidean distance; ties go to the first rows. Where XᵀDX is
    singular the paper first takes principal components: here the problem is solved in coordinates of all PCA's axes, so
    that with r = 0 p lies in the range of Xᵀ; what only instances without edges span is then left out.

    X is centred by x̄ (the paper does not say; a mean weighted by D would differ). The graph needs the rows. Cost: n²d
    for the neighbours (sparse: the products of the non-zeros), nkd + 2nd² (sparse: k·nnz(X)·nnz of a row), 13d³, and
    PCA's cost (shared); where d > n a thin SVD of X, and the same in the coordinates of its axes.

    Parameters
    ----------
    n_neighbors : int
        k (all others, where there are fewer).
    weights : {"binary", "heat", "cosine"}
        W_ij of an edge: "binary", 1; "heat", exp(−‖x_i − x_j‖²/σ²); "cosine", that of x_i and x_j as they come, not
        centred, or 0 if it is negative.
    sigma : float
        σ > 0 of "heat"; the paper's t is σ².
    alpha : float
        The ridge r ≥ 0.
    """

    n_neighbors: int = parameter(10, COUNT, at_most="rows")
    weights: str = parameter("binary", one_of("binary", "heat", "cosine"))
    sigma: float = parameter(1.0, POSITIVE)
    alpha: float = parameter(0.1, NOT_NEGATIVE)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        graph = self._graph(moments.rows()[0], moments.rows_less_offsets()[0])
        space = rank_coordinates(moments)
        rows, mean = space.rows()
        # in PCA's coordinates S is diagonal, and no feature that depends on others is left
        axes = PCA().fit_moments(space.moments)
        sizes = axes.eigenvalues_ + self.alpha
        scaled = axes.components_.T / np.sqrt(sizes)
        near = scaled.T @ _scatter(rows, mean, graph) @ scaled
        metric = scaled.T @ _scatter(rows, mean, sp.diags_array(degrees(graph))) @ scaled
        spreads, vectors = eigen(metric + np.diag(self.alpha / sizes))
        kept = spreads > rounding(moments) * np.max(spreads, initial=0.0)
        white = vectors[:, kept] / np.sqrt(spreads[kept])
        values, vectors = eigen(white.T @ near @ white)
        values, vectors = above_rounding(moments, values, scaled @ white @ vectors)
        return values, space.lift(vectors)

    def _graph(self, X: Any, moved: Any) -> sp.csr_array:
        """W (n×n); `moved`: the rows X less an origin, which changes no distance."""
        if self.weights == "heat":
            return heat_graph(moved, self.n_neighbors, self.sigma)
        graph = heat_graph(moved, self.n_neighbors, np.inf)  # σ = ∞: weights of 1
        if self.weights == "cosine":
            i, j = graph.nonzero()
            graph = sp.csr_array((np.maximum(_cosines(X, i, j), 0.0), (i, j)), shape=graph.shape)
        return graph

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def _cosines(X: Any, i: Array, j: Array) -> Array:
    """Those of pairs of rows; 0 for a row of zeros."""
    X = sp.csr_array(X) if sp.issparse(X) else X
    unit = inverse_root(sums.row_squares(X))
    products = np.empty(len(i))
    step = max(1, _ENTRIES // X.shape[1])
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        products[block] = np.asarray((X[i[block]] * X[j[block]]).sum(axis=1)).ravel()
    return products * unit[i] * unit[j]


def _scatter(rows: Any, mean: Array, graph: Any) -> Array:
    """Σ_ij W_ij (x_i − x̄)(x_j − x̄)ᵀ (d×d), of rows X (n×d, dense or sparse)."""
    weights = sums.total(graph)
    pull = rows.T @ weights - weights.sum() * mean
    product = sums.cross(rows, mean, graph @ rows, np.zeros(len(mean)))
    return product - np.outer(pull, mean)
