"""The feature step `hsl`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mlcdr.methods.constraints import NOT_NEGATIVE, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace
from mlcdr.methods.feature_space.linear import Array
from mlcdr.numerics import sums
from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import cross_rank, related

# What w_e is in |e|: this power of 1/|e|.
_POWERS = {"clique": 0, "zhou": 1, "star": 2}


class HSL(ScaledFeatureSpace):
    """Hypergraph spectral learning (HSL): labels are the edges of a hypergraph; instances that share them come close.

    Source: Sun, Ji & Ye 2008, and the authors' program (the package MLDR); the expansions are of Agarwal, Branson &
    Belongie 2006, and of Zhou, Huang & Schölkopf 2006.

    CCᵀp = λ(S + rI)p, C = X_cᵀH (d×K), S = X_cᵀX_c (d×d), H = D^(-½)Y diag(w)^(½) (n×K), labels {0, 1}.

    I − HHᵀ (n×n) is the normalised Laplacian of the graph that stands for the hypergraph: W = Y diag(w)Yᵀ, D its row
    sums, w_e the weight of label e. An instance is joined with itself, as in the authors' program; in the clique
    expansion of the paper it is not, but without these loops W has no factor of K columns. λ ≤ 1; at most K are
    positive, as many as C has independent columns.

    The program fails on instances without labels, and but for "clique" on labels without instances. Here such an
    instance is joined with none (its row of H is 0), and such a label left out. H is not linear in Y: the rows must be
    at hand, else `fit_moments` raises ValueError. Cost: nnz(Y)d for C (sparse: Σ nnz(x)nnz(y)); d³/3, shared with a
    ridge regression with α = r; and d²K + 6dK². Where d > n the n×n side is factorised. HHᵀ is not formed.

    Parameters
    ----------
    expansion : {"clique", "star", "zhou"}
        The weights, with |e| the number of instances of label e: "clique", w_e = 1, all pairs of these instances;
        "zhou", w_e = 1/|e|; "star", w_e = 1/|e|², each of them joined with a vertex for the label.
    alpha : float
        The ridge r ≥ 0. With 0, p lies in the range of Xᵀ.
    """

    expansion: str = parameter("clique", one_of(*_POWERS))
    alpha: float = parameter(0.1, NOT_NEGATIVE)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        edges = _with_edges(moments, label_factor(moments.rows()[1], self.expansion))
        if not related(edges):
            return np.zeros(0), np.zeros((moments.n_features, 0))
        metric = factor(moments, self.alpha)  # of these moments, so that it is shared with other methods
        white = metric.whiten(edges.xy, edges.centred_labels)
        vectors, sizes, _ = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
        rank = cross_rank(edges)
        return sizes[:rank] ** 2, metric.coefficients(vectors[:, :rank])


def label_factor(Y: Any, expansion: str) -> sp.csr_array:
    """H (n×K), sparse, of label sets Y (n×K, dense or sparse), as in `HSL`."""
    labels = sp.csr_array(Y > 0).astype(np.float64)
    sizes = np.maximum(labels.sum(axis=0), 1.0)  # a label without instances has no entry to be divided
    weights = (1 / sizes) ** _POWERS[expansion]
    degrees = labels @ (weights * sizes)
    return sp.csr_array(sp.diags_array(inverse_root(degrees)) @ labels @ sp.diags_array(np.sqrt(weights)))


def _with_edges(moments: Moments, H: sp.csr_array) -> Moments:
    """The moments with H in the labels' place, and a memory of their own."""

    def xy() -> Array:
        X, origin = moments.rows_less_offsets()
        mean = moments.mean_x - origin
        if sp.issparse(X):
            return sums.cross(X, mean, H, np.zeros(H.shape[1]))
        return (H.T @ (X - mean)).T

    rows = moments.rows()[0], H
    mean_y = H.sum(axis=0) / moments.n
    return replace(moments, mean_y=mean_y, _xy=xy, _rows=lambda: rows, memo=Memo(), part_of=None, left=None)
