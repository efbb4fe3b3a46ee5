"""Sparse neighbour graphs of rows and of label sets, and their Laplacians: what manifold terms are made of.

A graph is a symmetric CSR matrix S (N×N) of weights with at most 2pN entries and an empty diagonal; its Laplacian
L = D − S, with D the diagonal of S's row sums, gives Tr(AᵀLA) = ½ Σ_ij S_ij‖A_i − A_j‖². Nothing here is N×N dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics import sums
from mlcdr.numerics.neighbours import Neighbours, nearest_label_sets

Array = NDArray[np.float64]

_ENTRIES = 4_000_000  # of a block that is dense for a while


def heat_graph(X: Any, p: int, sigma: float) -> sp.csr_array:
    """S_ij = exp(−‖x_i − x_j‖²/σ²) where one row of X (N×d, dense or CSR) is among the p nearest of the other.

    (6.13) of Sun 2017. A row is not its own neighbour, its duplicates are; of rows equally near the first are taken, in
    the order of the rows. Cost: N²d, or the products of the non-zeros, and Npd.
    """
    X = sp.csr_array(X) if sp.issparse(X) else X
    n = X.shape[0]
    p = min(p, n - 1)
    if p < 1:
        return sp.csr_array((n, n))
    i, j = _pairs(Neighbours(X).nearest(X, p, leave_out_itself=True).indices.reshape(n, p))
    return _symmetric(i, j, np.exp(-_squared_distances(X, i, j) / sigma**2), n)


def neighbour_graph(X: Any, p: int) -> sp.csr_array:
    """S_ij = 1 where two rows of X (N×d, dense or CSR) are among the p nearest of each other, ½ where only one is.

    Neighbours, ties and cost as for `heat_graph`.
    """
    X = sp.csr_array(X) if sp.issparse(X) else X
    n = X.shape[0]
    nearest = Neighbours(X).nearest(X, min(p, n - 1), leave_out_itself=True)
    return sp.csr_array((nearest + nearest.T) / 2)


def _squared_distances(X: Any, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
    """‖x_i − x_j‖² of pairs of rows, of the differences themselves: exact for whole numbers, 0 for duplicates."""
    squares = np.empty(len(i))
    step = max(1, _ENTRIES // X.shape[1])
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        apart = X[i[block]] - X[j[block]]
        squares[block] = np.asarray((apart * apart).sum(axis=1)).ravel()
    return squares


def label_graph(Y: Any, p: int) -> sp.csr_array:
    """S_ij = cos(y_i, y_j) where one label set of Y (N×K of {0, 1}) is among the p nearest of the other; (6.16).

    Nearest by Euclidean distance, that is by the number of labels in which two sets differ; ties, which are frequent,
    go to the first in the order of the rows. An instance without labels has cosine 0 with all, and so no edge.
    """
    Y = sp.csr_array(Y).astype(np.float64)
    Y.eliminate_zeros()
    n = Y.shape[0]
    p = min(p, n - 1)
    if p < 1:
        return sp.csr_array((n, n))
    sizes = sums.total(Y.T)
    # a row is among the p + 1 nearest to its own label set, unless these are equal to it and come before it
    found, member = nearest_label_sets(Y, p + 1)
    nearest = found[member]
    own = nearest == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    i, j = _pairs(nearest[~own].reshape(n, p))
    lengths = np.sqrt(np.maximum(sizes, 1.0))
    return _symmetric(i, j, count_shared(Y, i, j) / (lengths[i] * lengths[j]), n)


def count_shared(Y: sp.csr_array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
    """Number of labels that both rows of each pair have."""
    return np.asarray(Y[i].multiply(Y[j]).sum(axis=1)).ravel()


def degrees(graph: sp.csr_array) -> Array:
    """The diagonal of D (N,)."""
    return sums.total(graph)


def laplacian(graph: sp.csr_array) -> sp.csr_array:
    """L = D − S (N×N, CSR), positive semi-definite."""
    return sp.csr_array(sp.diags_array(degrees(graph)) - graph)


def _pairs(nearest: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs i < j of which one is the other's neighbour (`nearest`: N×p), each once."""
    n, p = nearest.shape
    i, j = np.repeat(np.arange(n), p), nearest.ravel()
    codes = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    return codes // n, codes % n


def _symmetric(i: NDArray[np.intp], j: NDArray[np.intp], weights: Array, n: int) -> sp.csr_array:
    graph = sp.csr_array((np.r_[weights, weights], (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    graph.eliminate_zeros()
    return graph
