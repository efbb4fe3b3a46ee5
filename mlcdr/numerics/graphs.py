"""Sparse neighbour graphs of rows and of label sets, and their Laplacians: what manifold terms are made of.

A graph is a symmetric CSR matrix S (N×N) of weights with at most 2pN entries and an empty diagonal; its Laplacian
L = D − S, with D the diagonal of S's row sums, gives Tr(AᵀLA) = ½ Σ_ij S_ij‖A_i − A_j‖². Nothing here is N×N dense
(but for the eigenvectors of small graphs).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from mlcdr.numerics import sums
from mlcdr.numerics.neighbours import Neighbours, mark_nearest, nearest_label_sets

Array = NDArray[np.float64]

_ENTRIES = 4_000_000  # of a block that is dense for a while
_DENSE = 1500  # nodes of a graph whose Laplacian is decomposed as a dense matrix


def heat_graph(X: Any, p: int, sigma: float) -> sp.csr_array:
    """S_ij = exp(−‖x_i − x_j‖²/σ²) where one row of X (N×d, dense or CSR) is among the p nearest of the other.

    (6.13) of Sun 2017; with σ = ∞ all weights are 1. A row is not its own neighbour, its duplicates are; of rows
    equally near the first are taken, in the order of the rows. Cost: N²d, or the products of the non-zeros, and Npd.
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


def alike_graph(similarity: Array, p: int) -> sp.csr_array:
    """S_ij = 1 where i is among the p others most similar to j, or j to i, by a symmetric matrix (N×N).

    Equally similar ones are taken in their order, also where they have nothing in common.
    """
    n = len(similarity)
    p = min(p, n - 1)
    if p < 1:
        return sp.csr_array((n, n))
    distances = -similarity
    np.fill_diagonal(distances, np.inf)
    chosen = sp.csr_array(mark_nearest(distances, p), dtype=np.float64)
    return sp.csr_array((chosen + chosen.T) > 0, dtype=np.float64)


def laplacian_eigenvectors(graph: sp.csr_array, n: int, normalised: bool = False) -> tuple[Array, Array]:
    """The n smallest eigenvalues that are not 0, ascending, of L (or of D⁻¹L), and their vectors of unit length (N×n).

    There is an eigenvalue 0 for each connected part of the graph; of all others there may be fewer than n. Cost: 9N³;
    from 1,500 nodes on, a sparse factorisation of L, and two solutions with it or so for each vector.
    """
    nodes = np.flatnonzero(degrees(graph) > 0)  # at all others, the vectors are 0
    inner = sp.csr_array(graph[nodes][:, nodes])
    inner.eliminate_zeros()  # a stored 0 would count as an edge
    n_parts = int(connected_components(inner, directed=False)[0])
    n = min(n, len(nodes) - n_parts)
    L, D = laplacian(inner), sp.diags_array(degrees(inner)) if normalised else sp.eye_array(len(nodes))
    if len(nodes) <= _DENSE or 2 * (n_parts + n) >= len(nodes):
        values, found = scipy.linalg.eigh(L.toarray(), D.toarray(), subset_by_index=[0, n_parts + n - 1])
    else:
        start = np.random.default_rng(0).standard_normal(len(nodes))
        values, found = eigsh(sp.csc_array(L), n_parts + n, sp.csc_array(D), sigma=-0.01, v0=start)
    order = np.argsort(values)[n_parts:]
    vectors = np.zeros((graph.shape[0], n))
    vectors[nodes] = found[:, order] / np.linalg.norm(found[:, order], axis=0)
    return values[order], vectors


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
