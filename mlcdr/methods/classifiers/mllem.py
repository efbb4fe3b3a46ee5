"""The learner `mllem`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import BOOLEAN, COUNT, NOT_NEGATIVE, POSITIVE, one_of, parameter
from mlcdr.methods.contracts import CERTAIN_SCORE, as_dense
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics.graphs import alike_graph, heat_graph, laplacian_eigenvectors
from mlcdr.numerics.moments import Moments


class MLLEM(MultilabelClassifier):
    """Multi-label Laplacian eigenmaps (MLLEM): instances and labels as points of one space, near where they belong
    together.

    Source: Kimura, Kudo & Sun 2016 (S+SSPR), *Simultaneous nonlinear label-instance embedding for multi-label
    classification*, and the authors' programs.

    G (n×M) and H (K×M): of the eigenvectors of L = D − W that are not constant on each component of the graph, the M
    smallest, with

        W = [ aS_x  Y ; Yᵀ  bS_y ]  ((n+K)×(n+K)),      D the diagonal of its row sums:

    they minimise Σ_ij W_ij‖z_i − z_j‖² over the rows of Z = [G; H] with ZᵀZ = I. S_x (0/1) joins a row with its k
    nearest by Euclidean distance, S_y a label with its k' nearest; of equally near ones the first are taken. A new row
    goes to the point Vᵀx + v of a ridge regression of G, whose constant is penalised, too; a label's score is ρ less
    the distance of the two points.

    The authors' programs rank labels, and predict no label sets. Here ρ is the distance within which the training rows
    have as many labels as they should; `threshold: {r_cut: k}` and others take its place. (Distances from different
    labels are not on one scale: a threshold for each label, such as `maximise: f1`, brings a better F1.) A label that
    is the same in all rows is left out, and predicted with that value. The programs ask for M + 2 vectors and leave out
    those of eigenvalue 0, so that fewer than M stay where the graph has more than two parts; here M do. A part has
    dimensions of its own, and all of it is at 0 in those of the others. Where the last eigenvalue equals the next, the
    last dimension is arbitrary. MLC Toolbox is to join no labels without common rows, but takes out other edges than
    these; its graph of rows by their labels has the same fault. Neither is here, nor are means of the nearest rows'
    points in place of the regression.

    Cost: n²d for the nearest rows; 9(n + K)³ for the eigenvectors, from 1,500 nodes on a sparse factorisation of L and
    some solutions with it for each; the regression; nKM for the distances.

    Parameters
    ----------
    n_components : int
        M (all eigenvectors, where there are fewer).
    labels_near : {"inner_product", "jaccard", "euclidean"}
        S_y: the k' labels with most rows in common, as in the paper, or with the largest Jaccard index; or the k' of
        least Euclidean distance.
    n_neighbors : int
        k (all other rows, where there are fewer).
    n_label_neighbors : int
        k' (all other labels, where there are fewer).
    row_weight, label_weight : float
        a ≥ 0 and b ≥ 0, the paper's α and β.
    normalised : bool
        Whether the eigenvectors are those of D⁻¹L; they have unit length, too.
    alpha : float
        Ridge α > 0 of the regression, the paper's λ.

    Attributes
    ----------
    row_points_, label_points_ : arrays of shape (n, M) and (q, M)
        G and H, of the q labels that vary.
    eigenvalues_ : array of shape (M,)
        Ascending.
    varying_ : array of bool, of shape (K,)
    radius_ : float
        ρ.
    """

    n_components: int = parameter(20, COUNT, at_most="rows")
    labels_near: str = parameter("inner_product", one_of("inner_product", "jaccard", "euclidean"))
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    n_label_neighbors: int = parameter(5, COUNT, at_most="labels")
    row_weight: float = parameter(1.0, NOT_NEGATIVE)
    label_weight: float = parameter(1.0, NOT_NEGATIVE)
    normalised: bool = parameter(False, BOOLEAN)
    alpha: float = parameter(10.0, POSITIVE)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, which must have its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        Y = as_dense(Y).astype(np.float64)
        self.varying_ = (Y[0] != Y).any(axis=0)
        self._certain = np.where(Y[0] > 0, CERTAIN_SCORE, -CERTAIN_SCORE)
        if self.varying_.any():
            self._embed(X, Y[:, self.varying_])
        return self

    def _embed(self, X: Any, Y: Array) -> None:
        """The points of the rows X (n×d) and of labels Y (n×q) that vary, the regression, and ρ."""
        n = len(Y)
        size = min(self.n_components, n)
        self.eigenvalues_, points = laplacian_eigenvectors(self._graph(X, Y), size, self.normalised)
        self.row_points_, self.label_points_ = points[:n], points[n:]
        self.regression_ = Ridge(self.alpha, "penalised").fit_moments(Moments.from_arrays(X, self.row_points_))
        distances = np.sort(self._distances(X), axis=None)
        n_present = int(Y.sum())
        self.radius_ = float(distances[n_present - 1 : n_present + 1].mean())

    def _graph(self, X: Any, Y: Array) -> Any:
        """W, as CSR."""
        rows, k = heat_graph(X, self.n_neighbors, np.inf), self.n_label_neighbors
        if self.labels_near == "euclidean":
            labels = heat_graph(np.ascontiguousarray(Y.T), k, np.inf)
        else:
            common, sizes = Y.T @ Y, Y.sum(axis=0)
            either = sizes[:, None] + sizes - common
            labels = alike_graph(common / either if self.labels_near == "jaccard" else common, k)
        blocks = [[self.row_weight * rows, sp.csr_array(Y)], [sp.csr_array(Y.T), self.label_weight * labels]]
        return sp.csr_array(sp.block_array(blocks))

    def _distances(self, X: Any) -> Array:
        """From the points of rows X (n×d) to those of the labels that vary (n×q)."""
        points = self.regression_.predict_valid(X)
        return np.sqrt([np.sum((points - label) ** 2, axis=1) for label in self.label_points_]).T

    def _scores(self, X: Any) -> Array:
        scores = np.tile(self._certain, (X.shape[0], 1))
        if self.varying_.any():
            scores[:, self.varying_] = self.radius_ - self._distances(X)
        return scores
