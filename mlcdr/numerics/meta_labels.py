"""Meta-labels: groups of labels that go together, by spectral clustering of a graph of the labels.

Source: Sun 2017, sections 6.2.1 (Algorithm 9) and 8.2.2 (Algorithm 17).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.numerics.kmeans import SingleStartKMeans
from mlcdr.numerics.linalg import inverse_root

Array = NDArray[np.float64]
Index = NDArray[np.intp]

VARIANTS = ("text", "published_code")

# A label with a smaller share in the leading eigenvectors has none but rounding.
_NOTHING = 1e-8


def label_affinity(X: Any, Y: Array, alpha: float, threshold: float = 0.0, variant: str = "text") -> Array:
    """A (K×K) = αA⁽ᴸ⁾ + (1 − α)A⁽ᴵ⁾ where that exceeds the threshold, else 0; 0 on the diagonal ((6.1)-(6.3), (8.10)).

    A⁽ᴸ⁾_jk is the Jaccard index of the labels j and k, A⁽ᴵ⁾_jk = exp(−‖μ_j − μ_k‖²) with μ_j the mean of the rows of X
    (n×d, dense or CSR) that have j. The affinity is 0 for a label that no row of Y (n×K of {0, 1}) has. The author's
    programs (`published_code`) do not square the distance. Cost: K²(n + d), K·nnz(X).
    """
    counts = Y.sum(axis=0)
    both = Y.T @ Y
    either = counts[:, None] + counts - both
    jaccard = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    means = np.asarray(X.T @ Y).T / np.maximum(counts, 1)[:, None]
    means -= means.mean(axis=0)  # distances stay, and cancel less
    lengths = np.einsum("ij,ij->i", means, means)
    squared = np.maximum(lengths[:, None] + lengths - 2 * (means @ means.T), 0.0)
    affinity = alpha * jaccard + (1 - alpha) * np.exp(-squared if variant == "text" else -np.sqrt(squared))
    affinity[affinity <= threshold] = 0.0
    affinity[counts == 0] = 0.0
    affinity[:, counts == 0] = 0.0
    np.fill_diagonal(affinity, 0.0)
    return affinity


def normalised_affinity(A: Array) -> Array:
    """D^(-½)AD^(-½), D the row sums of A: its largest eigenvalues are 1 less the smallest λ of (D − A)u = λDu."""
    scale = inverse_root(A.sum(axis=1))
    return A * np.outer(scale, scale)


def spectral_coordinates(A: Array, n: int, variant: str = "text") -> tuple[Array, Array]:
    """The n eigenvalues, and the spectral coordinates of each label (K×n): the eigenvectors' rows, scaled to length 1
    (or 0).

    The factor D^(½) between the eigenvectors of D^(-½)AD^(-½) and those of the generalised problem cancels in this
    scaling. The largest eigenvalues; in the author's programs (`published_code`) those of largest magnitude, negative
    ones too.
    """
    values, vectors = np.linalg.eigh(normalised_affinity(A))
    order = np.argsort(-values if variant == "text" else -np.abs(values), kind="stable")[:n]
    coordinates = vectors[:, order]
    lengths = np.linalg.norm(coordinates, axis=1, keepdims=True)
    coordinates = np.divide(coordinates, lengths, out=np.zeros_like(coordinates), where=lengths > _NOTHING)
    return values[order], coordinates


def spectral_groups(A: Array, n: int, random_state: Any, variant: str = "text", skip: int = 0) -> list[Index]:
    """The labels (indices) of n meta-labels, by k-means on their spectral coordinates; in the order of its clusters.

    Labels without affinity to any other are not in the graph, and form one additional group. `skip`: the number of
    leading coordinates that are left out.
    """
    linked = np.flatnonzero(A.any(axis=1))
    alone = np.flatnonzero(~A.any(axis=1))
    found: list[Index] = []
    if len(linked):
        _, coordinates = spectral_coordinates(A[np.ix_(linked, linked)], min(n, len(linked)), variant)
        found = [linked[members] for members in row_groups(coordinates[:, skip:], n, random_state)]
    return [*found, alone] if len(alone) else found


def row_groups(rows: Array, n: int, random_state: Any) -> list[Index]:
    """The rows (indices) of each of n clusters, by k-means."""
    labels = SingleStartKMeans(n, random_state=random_state).fit_valid(rows).labels_
    groups = [np.flatnonzero(labels == cluster) for cluster in range(min(n, len(rows)))]
    return [group for group in groups if len(group)]
