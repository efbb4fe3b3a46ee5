"""The feature step `mhsl`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.linear import Array, above_rounding, eigen, label_sets
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.numerics.graphs import count_shared
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.neighbours import nearest_label_sets
from mlcdr.numerics.principal import rank_coordinates


class MHSL(ScaledFeatureSpace):
    """MHSL of MLC Toolbox: spectral learning on a k-NN graph, with cosine weights, of the label sets.

    Source: MLC Toolbox (Kimura, Sun & Kudo 2017). This is not the hypergraph of Sun, Ji & Ye 2008, which is `hsl`.

    G p = λ(S + rI)p, G = X_cᵀLX_c (d×d), L = D^(-½)WD^(-½) (n×n, sparse): neighbours by label set come close.

    W (n×n) has the cosine of the label sets of i and j where one of the two is among the k neighbours of the other, D
    its row sums. Neighbours are the nearest by number of labels that differ; ties go to the first rows. All instances
    with the same label set share one list of k + 1 neighbours; an instance on this list is not its own neighbour. So
    the order of rows matters where label sets repeat. An instance without labels has cosine 0 with all, and no
    influence. G is indefinite; directions with λ > 0 are kept. Solved in the coordinates of PCA's axes. Cost: u²K + un
    for the neighbours among u distinct label sets, nkd (sparse: k·nnz(X)) + nd² for G, and, beside PCA's (shared),
    13d³; where d > n a thin SVD of X, and the same in the coordinates of its axes. No n×n matrix is made dense.

    Parameters
    ----------
    n_neighbors : int
        k (all others, where there are fewer).
    alpha : float
        The ridge r > 0.
    variant : {"text", "mlc_toolbox"}
        The program of MLC Toolbox has L = D^(½)WD^(½), and takes the directions in the order of |λ|, those with λ < 0
        among them: `eigenvalues_` are |λ| then.
    """

    n_neighbors: int = parameter(10, COUNT, at_most="rows")
    alpha: float = parameter(1.0, POSITIVE)
    variant: str = parameter("text", one_of("text", "mlc_toolbox"), last=True)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        space = rank_coordinates(moments)
        graph = self._normalised(neighbour_graph(label_sets(moments), self.n_neighbors))
        scatter = _scatter(*space.rows(), graph)
        # in PCA's coordinates S is diagonal, and no feature that depends on others is left
        axes = PCA().fit_moments(space.moments)
        scaled = axes.components_.T / np.sqrt(axes.eigenvalues_ + self.alpha)  # PᵀMP = I
        values, vectors = eigen(scaled.T @ scatter @ scaled)
        if self.variant == "mlc_toolbox":
            values = np.abs(values)
        values, vectors = above_rounding(moments, values, scaled @ vectors)
        return values, space.lift(vectors)

    def _normalised(self, graph: sp.csr_array) -> sp.csr_array:
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        scale = np.sqrt(degrees) if self.variant == "mlc_toolbox" else inverse_root(degrees)
        return sp.csr_array(sp.diags_array(scale) @ graph @ sp.diags_array(scale))


def neighbour_graph(Y: Array, k: int) -> sp.csr_array:
    """W (n×n, symmetric) of label sets Y (n×K of {0, 1}, dense): cosines between neighbours, as in `MHSL`."""
    n = len(Y)
    k = min(k, n - 1)
    nearest, member = nearest_label_sets(Y, k + 1)
    rows, columns = np.repeat(np.arange(n), k + 1), nearest[member].ravel()
    rows, columns = rows[rows != columns], columns[rows != columns]
    sizes = Y.sum(axis=1)
    weights = count_shared(sp.csr_array(Y), rows, columns) / np.maximum(np.sqrt(sizes[rows] * sizes[columns]), 1)
    directed = sp.csr_array((weights, (rows, columns)), shape=(n, n))
    graph = sp.csr_array(directed.maximum(directed.T))
    graph.eliminate_zeros()
    return graph


def _scatter(rows: Any, mean: Array, graph: sp.csr_array) -> Array:
    """Σ_ij L_ij (x_i − x̄)(x_j − x̄)ᵀ (d×d), of rows X (n×d, dense or sparse)."""
    if not sp.issparse(rows):
        centred = rows - mean
        return centred.T @ (graph @ centred)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    pull = rows.T @ degrees
    product = (rows.T @ (graph @ rows)).toarray()
    return product - np.outer(mean, pull) - np.outer(pull, mean) + degrees.sum() * np.outer(mean, mean)
