"""Sparse neighbour graphs of rows and of label sets, and their Laplacians: what manifold terms are made of.

A graph is a symmetric CSR matrix S (N×N) of weights with at most 2pN entries and an empty diagonal; its Laplacian
L = D − S, with D the diagonal of S's row sums, gives Tr(AᵀLA) = ½ Σ_ij S_ij‖A_i − A_j‖². Nothing here is N×N dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from mlcdr.numerics import sums

Array = NDArray[np.float64]

_ENTRIES = 4_000_000  # of a block that is dense for a while


def heat_graph(X: Any, p: int, sigma: float) -> sp.csr_array:
    """S_ij = exp(−‖x_i − x_j‖²/σ²) where one row of X (N×d, dense or CSR) is among the p nearest of the other.

    (6.13) of Sun 2017. A row is not its own neighbour, its duplicates are; of rows equally near the first are taken, in
    the order of the rows. Cost: that of scikit-learn's search (N²d where no tree serves), and Npd.
    """
    X = sp.csr_array(X) if sp.issparse(X) else X
    n = X.shape[0]
    p = min(p, n - 1)
    if p < 1:
        return sp.csr_array((n, n))
    i, j = _pairs(_nearest_rows(X, p))
    return _symmetric(i, j, np.exp(-_squared_distances(X, i, j) / sigma**2), n)


def _nearest_rows(X: Any, p: int) -> NDArray[np.intp]:
    """The p < N nearest other rows of each row (N×p); scikit-learn finds them, the rule for ties is ours.

    Where the last that were found may be as near as the p-th, twice as many are asked for: whole numbers tie often.
    """
    n = X.shape[0]
    search = NearestNeighbors().fit(X)
    result = np.empty((n, p), dtype=np.intp)
    rows, q = np.arange(n), min(p + 1, n - 1)
    while len(rows):
        asked, distances, found = X[rows], *_others(search, X, rows, q)
        rounding = 1e-7 * np.sqrt(np.asarray((asked * asked).sum(axis=1)).ravel())
        ready = (distances[:, -1] > distances[:, p - 1] * (1 + 1e-7) + rounding) | (q == n - 1)
        owners = np.repeat(rows[ready], q)
        squares = _squared_distances(X, owners, found[ready].ravel()).reshape(-1, q)
        front = np.lexsort((found[ready], squares), axis=1)[:, :p]
        result[rows[ready]] = np.take_along_axis(found[ready], front, axis=1)
        rows, q = rows[~ready], min(2 * q, n - 1)
    return result


def _others(search: NearestNeighbors, X: Any, rows: NDArray[np.intp], q: int) -> tuple[Array, NDArray[np.intp]]:
    """Distances and numbers (·×q) of the q nearest rows to some rows, other than themselves."""
    if len(rows) == X.shape[0]:
        return search.kneighbors(n_neighbors=q)
    distances, found = search.kneighbors(X[rows], n_neighbors=q + 1)
    own = found == rows[:, None]
    own[~own.any(axis=1), -1] = True  # its duplicates came before it
    return distances[~own].reshape(-1, q), found[~own].reshape(-1, q)


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

    Nearest by Euclidean distance, that is by the number of labels in which two sets differ; of sets equally near, and
    there are many, the first in the order of the rows. An instance without labels has cosine 0 with all: it is alone.
    Cost: the products of the distinct label sets with all N, in blocks.
    """
    Y = sp.csr_array(Y).astype(np.float64)
    Y.eliminate_zeros()
    n = Y.shape[0]
    p = min(p, n - 1)
    if p < 1:
        return sp.csr_array((n, n))
    sizes = sums.total(Y.T)
    first, kind = _distinct(Y)
    nearest = np.empty((n, p), dtype=np.intp)
    members = np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1])
    step = max(1, _ENTRIES // n)
    order = np.arange(n)
    for start in range(0, len(first), step):
        rows = first[start : start + step]
        apart = sizes[rows][:, None] + sizes - 2 * (Y[rows] @ Y.T).toarray()
        key = np.rint(apart).astype(np.int64) * n + order  # no two alike: by distance, then by row
        front = np.sort(np.argpartition(key, p, axis=1)[:, : p + 1], axis=1)
        front = np.take_along_axis(front, np.argsort(np.take_along_axis(key, front, axis=1), axis=1), axis=1)
        for offset, found in enumerate(front):
            for row in members[start + offset]:
                nearest[row] = found[found != row][:p]
    i, j = _pairs(nearest)
    lengths = np.sqrt(np.maximum(sizes, 1.0))
    shared = np.asarray(Y[i].multiply(Y[j]).sum(axis=1)).ravel()
    return _symmetric(i, j, shared / (lengths[i] * lengths[j]), n)


def degrees(graph: sp.csr_array) -> Array:
    """The diagonal of D (N,)."""
    return sums.total(graph)


def laplacian(graph: sp.csr_array) -> sp.csr_array:
    """L = D − S (N×N, CSR), positive semi-definite."""
    return sp.csr_array(sp.diags_array(degrees(graph)) - graph)


def _distinct(Y: sp.csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each distinct row its first place, and which of them every row is."""
    kinds: dict[bytes, int] = {}
    first: list[int] = []
    kind = np.empty(Y.shape[0], dtype=np.intp)
    Y.sort_indices()
    for row in range(Y.shape[0]):
        name = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tobytes()
        if name not in kinds:
            kinds[name] = len(first)
            first.append(row)
        kind[row] = kinds[name]
    return np.array(first, dtype=np.intp), kind


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
