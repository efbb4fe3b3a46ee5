"""How labels go together: four measures for all pairs; and how often each label and label set is there.

Mutual information is `numerics.information`'s; all others but the residual correlation come from C = YᵀY (K×K), a
sparse product. The thesis of Sun (2017) shows mutual information (Figure 2.2) and "four criterions"
(Figure 9.1) without saying which: these are ours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mlcdr.methods.learners.ridge import Ridge
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_FOLDS = 5
_FLAT = 1e-12  # residuals of this share of a label's own variance are rounding errors


def pair_counts(Y: Any) -> Counts:
    """C (K×K): C_jk instances have both labels j and k, C_jj label j; of label sets Y (n×K of {0, 1}, dense or CSR)."""
    labels = sparse.csr_array(Y, dtype=np.int64)
    return np.asarray((labels.T @ labels).toarray())


def jaccard(counts: Counts) -> Array:
    """|j ∧ k| / |j ∨ k| (K×K), from C; 0 for two labels that no instance has."""
    own = np.diag(counts)
    either = own[:, None] + own - counts
    return counts / np.maximum(either, 1)


def conditional(counts: Counts) -> Array:
    """P(Y_j = 1 | Y_k = 1) (K×K; row j, column k), from C; NaN where no instance has label k."""
    with np.errstate(invalid="ignore"):  # 0/0
        return counts / np.diag(counts)


def residual_correlation(X: Any, Y: Any, seed: int = 0) -> Array:
    """Pearson's correlation of what a ridge regression on the features leaves of each pair of labels (K×K).

    It measures dependence given the features, within a linear model: labels that go together only because of the
    features have none. Each instance is predicted by a model (α = 1) that was not fitted to it, with five folds in all,
    so that more features than instances do not explain everything away. NaN where nothing is left of a label, or there
    are fewer than two instances.

    X (n×d) and Y (n×K) may be sparse; of Y there is a dense copy of one fold at a time.
    """
    n, n_labels = Y.shape
    if n < 2:
        return np.full((n_labels, n_labels), np.nan)
    everything = Moments.from_arrays(X, Y)
    labels = sparse.csr_array(Y)
    order = np.random.default_rng(seed).permutation(n)
    products = np.zeros((n_labels, n_labels))
    sums = np.zeros(n_labels)
    for rows in np.array_split(order, min(_FOLDS, n)):
        fold = np.sort(rows)
        model = Ridge().fit_moments(everything.without(fold))
        predicted = model.predict(X[fold]).reshape(len(fold), n_labels)
        left = labels[fold].toarray() - predicted
        products += left.T @ left
        sums += left.sum(axis=0)
    covariance = products / n - np.outer(sums, sums) / n**2
    variance = np.maximum(np.diag(covariance), 0.0)
    deviation = np.sqrt(variance)
    count = labels.sum(axis=0)
    nothing_left = (variance <= _FLAT) | (count == 0) | (count == n)
    deviation[nothing_left] = np.nan
    correlation = covariance / np.outer(deviation, deviation)
    return np.clip(correlation, -1.0, 1.0)


@dataclass(frozen=True)
class LabelSets:
    """The different label sets of a data set, the most frequent first, then in the order of appearance.

    Attributes
    ----------
    sets : tuple of tuple of int
        The labels of each.
    counts : ndarray
        How many instances have it.
    of_rows : ndarray of shape (n,)
        The number of each instance's set.
    """

    sets: tuple[tuple[int, ...], ...]
    counts: Counts
    of_rows: NDArray[np.intp]


def label_sets(Y: Any) -> LabelSets:
    """The different label sets of Y (n×K of {0, 1}, dense or CSR)."""
    rows = sparse.csr_array(Y)
    rows.eliminate_zeros()
    rows.sort_indices()
    parts = np.split(rows.indices, rows.indptr[1:-1])
    of_rows = [tuple(labels.tolist()) for labels in parts]
    found = Counter(of_rows).most_common()  # of equally frequent ones in the order of appearance
    sets = tuple(labels for labels, _ in found)
    number = {labels: k for k, labels in enumerate(sets)}
    counts = np.array([count for _, count in found])
    return LabelSets(sets, counts, np.array([number[labels] for labels in of_rows]))


def similar_together(counts: Counts) -> NDArray[np.intp]:
    """An order of the labels in which those with a large Jaccard index stand together (average linkage)."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(counts) < 3:
        return np.arange(len(counts))
    distances = 1.0 - jaccard(counts)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average")
    return np.asarray(leaves_list(tree), dtype=np.intp)
