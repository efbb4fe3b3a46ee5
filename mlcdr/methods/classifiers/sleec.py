"""The learner `sleec`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, SEED, parameter
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics.kmeans import SingleStartKMeans, nearest_centre
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.neighbours import Neighbours, mark_nearest
from mlcdr.numerics.operators import conjugate_gradients
from mlcdr.numerics.sums import dense, row_squares

# Rows of a cluster up to which all eigenvectors are found at once; beyond, the leading ones by Lanczos' iteration.
_DENSE = 400
# Of both sides, from which sparse rows are regressed on by conjugate gradients.
_GRADIENTS_FROM = 2000
_BLOCK = 1000  # rows whose label sets are compared with all others at a time


class SLEEC(MultilabelClassifier):
    """Sparse local embeddings for extreme multi-label classification (SLEEC): near label sets have near codes.

    Source: Bhatia, Jain, Kar, Varma & Jain 2015 (NIPS), equations (1) to (3) and Algorithms 1 to 3.

    Scores: the share of the nearest training rows, by their codes Vx, that have the label, less ½.

    For each of L learners k-means divides the rows; then in each cluster (n rows), with y_i of unit length as in the
    authors' program (the paper does not say so),

    1. Ω holds the pairs (i, j) with y_j among the k̄ label sets of largest y_iᵀy_j (i itself among them; of equally
       large ones the first), and their mirror images;
    2. codes Z (n×M) minimise Σ_Ω (y_iᵀy_j − z_iᵀz_j)² by singular value projection: M ← the projection of
       M + P_Ω(YYᵀ − M) on the positive semidefinite matrices of rank M, until that sum falls by less than `tol` times
       its value at M = 0; it never rises. Where the M-th eigenvalue equals the next, the projection is not unique, and
       rounding chooses one;
    3. V minimises ‖Z − XV‖² + α‖V‖² (d×M).

    A new row goes to the nearest cluster of each learner, and its k nearest rows there by codes Vx vote; learners are
    averaged. A label is predicted where more than half vote for it; the paper ranks, which is `threshold: {r_cut: k}`.

    Simplified: step 3 lacks the paper's ‖XV‖₁, which makes codes sparse (so its ADMM is a ridge regression here, as in
    effect in the authors' program, whose two rounds of ADMM set sparse codes below 10 to 0), and steps of step 2 have
    length 1. The paper has clusters of about 6000 rows, and 5 to 20 learners; where all rows are in one cluster the
    learners would be the same, and there is one. The authors' program also divides each row by its length: put
    `sklearn.preprocessing.Normalizer` before. Its settings for bibtex are n_components 100, n_neighbors 250, k 25 and
    cost 0.2, which is alpha 2.5.

    Cost, for a cluster: n² inner products of label sets; for each round of step 2 about 3M products with a matrix of
    2k̄n entries and of rank M; the regression; nM for each row that is predicted. Label sets and features stay sparse.

    Parameters
    ----------
    n_components : int
        M (the rows of a cluster, where there are fewer).
    n_neighbors : int
        k̄, in Ω (all rows of a cluster, where there are fewer).
    k : int
        k, the rows that vote (all, where there are fewer).
    cluster_size : int
        Rows of a cluster on average: there are max(1, ⌊n/cluster_size⌋) clusters.
    n_learners : int
        L.
    alpha : float
        α > 0.
    tol : float
        The fall of the sum, as a share of its start, at which step 2 ends.
    max_iter : int
        The most rounds of step 2.
    random_state : int, RandomState instance or None
        Seed of the clusters.

    Attributes
    ----------
    learners_ : list of lists
        The clusters of each learner.
    n_iter_ : int
        The most rounds of step 2 in a cluster.
    """

    n_components: int = parameter(50, COUNT, at_most="rows")
    n_neighbors: int = parameter(15, COUNT, at_most="rows")
    k: int = parameter(10, COUNT, at_most="rows")
    cluster_size: int = parameter(6000, COUNT)
    n_learners: int = parameter(5, COUNT)
    alpha: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-3, NOT_NEGATIVE)
    max_iter: int = parameter(50, COUNT)
    random_state: Any = parameter(None, SEED)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, which must have its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        Y = sp.csr_array(Y, dtype=np.float64)
        units = sp.csr_array(normalize(Y))
        n_clusters, random = max(1, X.shape[0] // self.cluster_size), check_random_state(self.random_state)
        self.learners_, self._centres = [], []
        for _ in range(self.n_learners if n_clusters > 1 else 1):
            if n_clusters == 1:
                member, centres = np.zeros(X.shape[0], dtype=np.intp), np.zeros((1, X.shape[1]))
            else:
                found = SingleStartKMeans(n_clusters, random_state=random).fit_valid(X)
                member, centres = found.labels_, found.cluster_centers_
            groups = (np.flatnonzero(member == c) for c in range(len(centres)))
            self.learners_.append([self._fit_cluster(X[rows], Y[rows], units[rows]) for rows in groups])
            self._centres.append(centres)
        self.n_iter_ = max(len(cluster.losses) - 1 for clusters in self.learners_ for cluster in clusters)
        return self

    def _fit_cluster(self, X: Any, Y: Any, units: Any) -> _Cluster:
        codes, losses = embed(units, self.n_components, self.n_neighbors, self.tol, self.max_iter)
        weights = _regress(X, codes, self.alpha)
        return _Cluster(weights, Neighbours(dense(X @ weights)), Y, losses)

    def _scores(self, X: Any) -> Array:
        scores = np.full((X.shape[0], self.learners_[0][0].label_sets.shape[1]), -0.5)
        for clusters, centres in zip(self.learners_, self._centres, strict=True):
            member = nearest_centre(X, centres)
            for c in np.unique(member):
                rows, cluster = np.flatnonzero(member == c), clusters[c]
                k = min(self.k, cluster.label_sets.shape[0])
                votes = cluster.codes.nearest(dense(X[rows] @ cluster.weights), k) @ cluster.label_sets
                scores[rows] += votes.toarray() / (k * len(self.learners_))
        return scores


@dataclass(frozen=True)
class _Cluster:
    """V (d×M), the rows by their codes Vx, their label sets (CSR), and the sum over Ω after each round."""

    weights: Array
    codes: Neighbours
    label_sets: Any
    losses: Array


def nearest_by_labels(Y: Any, k: int) -> Any:
    """The k rows of largest inner product with each row of Y (n×K, CSR), and mirrored: CSR (n×n) of the products.

    Y holds label sets of unit length. Products that are 0 are stored, too. Ties go to the first rows, but each row
    itself comes before all others.
    """
    n = Y.shape[0]
    k, found = min(k, n), []
    # With c common labels of a and b, the product is c/√(ab). Equal ones may differ in their last bit, and so decide
    # which is first; equal c²/(ab), of whole numbers, do not.
    sets = sp.csr_array((np.ones(Y.nnz), Y.indices, Y.indptr), shape=Y.shape)
    sizes = np.maximum(np.diff(Y.indptr), 1.0)
    turned = sp.csr_array(sets.T)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        common = dense(sets[block] @ turned)
        distances = -(common**2) / np.outer(sizes[block], sizes)
        place = np.arange(len(distances))
        distances[place, start + place] -= 0.5  # no product exceeds a row's own
        found.append(np.nonzero(mark_nearest(distances, k))[1] if k < n else np.tile(np.arange(n), len(distances)))
    rows, columns = np.repeat(np.arange(n), k), np.concatenate(found)
    pairs = np.unique(np.concatenate([rows * n + columns, columns * n + rows]))
    rows, columns = np.divmod(pairs, n)
    products = np.empty(len(pairs))
    for start in range(0, len(pairs), 1 << 20):
        part = slice(start, start + (1 << 20))
        products[part] = (Y[rows[part]] * Y[columns[part]]).sum(axis=1)
    pointers = np.searchsorted(rows, np.arange(n + 1))
    return sp.csr_array((products, columns, pointers), shape=(n, n))


def embed(Y: Any, size: int, k: int, tol: float, most: int) -> tuple[Array, Array]:
    """Z (n×M) of label sets Y (n×K, CSR) by singular value projection, and the sums over Ω from the start on."""
    wanted = nearest_by_labels(Y, k)
    n = Y.shape[0]
    rows = np.repeat(np.arange(n), np.diff(wanted.indptr))
    size = min(size, n)
    codes, left = np.zeros((n, size)), wanted.copy()
    losses = [float(np.sum(left.data**2))]
    for _ in range(most):
        codes = _project(left, codes, size)
        left.data = wanted.data - np.einsum("ij,ij->i", codes[rows], codes[wanted.indices])
        losses.append(float(np.sum(left.data**2)))
        if losses[-2] - losses[-1] <= tol * losses[0]:
            break
    return codes, np.array(losses)


def _project(left: Any, codes: Array, size: int) -> Array:
    """The Z (n×M) whose ZZᵀ is nearest to `left` + CCᵀ, C the `codes`."""
    n = len(codes)
    if n <= _DENSE or 2 * size >= n:
        values, vectors = scipy.linalg.eigh(left.toarray() + codes @ codes.T, subset_by_index=[n - size, n - 1])
    else:
        operator = LinearOperator((n, n), matvec=lambda v: left @ v + codes @ (codes.T @ v), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(operator, k=size, which="LA", v0=start, tol=1e-4)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _regress(X: Any, codes: Array, alpha: float) -> Array:
    """(XᵀX + αI)⁻¹XᵀZ (d×M) of rows X (n×d)."""
    if sp.issparse(X) and min(X.shape) >= _GRADIENTS_FROM:
        squares = row_squares(sp.csr_array(X.T))

        def times(a: Array) -> Array:
            return X.T @ (X @ a) + alpha * a

        return conjugate_gradients(times, squares + alpha, X.T @ codes, 1e-8)
    return Ridge(alpha, "none").fit_moments(Moments.from_arrays(X, codes)).coef_.T
