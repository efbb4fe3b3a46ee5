"""The learner `mlknn`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import BOOLEAN, COUNT, POSITIVE, parameter
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.neighbours import Neighbours


class MLkNN(MultilabelClassifier):
    """MLkNN: each label by the number of nearest neighbours that have it.

    Source: Zhang & Zhou 2007, "ML-kNN: a lazy learning approach to multi-label learning".

    ŷ_l = argmax_b P(H_b) P(E_j | H_b), where j of the k nearest training instances have the label l.

    With c_b[j] the number of training instances with y_l = b of whose k nearest others j have the label,

        P(H_1) = (s + Σ_i y_il) / (2s + n),        P(E_j | H_b) = (s + c_b[j]) / (s(k + 1) + Σ_j' c_b[j']).

    Euclidean distance; among equally distant training instances the first are taken (`numerics.neighbours`). A label
    with equal probabilities of presence and absence is predicted, as in the authors' program; its score is the machine
    epsilon. With n ≤ k training instances the n − 1 others are the neighbours; with n = 1 there is none, and the prior
    decides. Cost: by brute force, in blocks, n²d for training and n·n_test·d for testing (sparse: the products of
    non-zeros); and k label sets a row.

    Parameters
    ----------
    k : int
        The number of neighbours (all others, where there are fewer).
    s : float
        The smoothing; 1 is Laplace's.
    include_itself : bool
        Whether a training instance is among its own neighbours, as in scikit-multilearn (by default);
        in the paper it is not.
    normalise : bool
        Whether each feature is divided by its range in the training set first (one that is constant there is left out),
        as WEKA's Euclidean distance does it, and so Mulan's MLkNN, which the thesis used. Sparse rows stay sparse.

    Attributes
    ----------
    k_ : int
        The number of neighbours used.
    prior_ : array of shape (K,)
        P(H_1).
    likelihood_ : array of shape (2, K, k_ + 1)
        P(E_j | H_b), by b, label and j.
    """

    k: int = parameter(10, COUNT, at_most="rows")
    s: float = parameter(1.0, POSITIVE)
    include_itself: bool = parameter(False, BOOLEAN)
    normalise: bool = parameter(False, BOOLEAN)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        n, n_labels = Y.shape
        self._scale = sums.inverse_ranges(X) if self.normalise else None
        X = self._scaled(X)
        self._rows, self._label_sets = Neighbours(X), Y
        self.k_ = min(self.k, n if self.include_itself else n - 1)
        near = self._rows.nearest(X, self.k_, leave_out_itself=not self.include_itself)
        counts = (near @ Y).astype(np.intp)
        width = self.k_ + 1
        cells = counts + width * np.arange(n_labels)
        seen = [
            np.bincount(cells.ravel(), weights=there.ravel(), minlength=width * n_labels).reshape(n_labels, width)
            for there in (1.0 - Y, Y)
        ]
        self.prior_ = (self.s + Y.sum(axis=0)) / (2 * self.s + n)
        self.likelihood_ = np.array([(self.s + c) / (self.s * width + c.sum(axis=1, keepdims=True)) for c in seen])

    def _scaled(self, X: Any) -> Any:
        if self._scale is None:
            return X
        return sp.csr_array(X @ sp.diags_array(self._scale)) if sp.issparse(X) else X * self._scale

    def predict_proba(self, X: Any) -> Array:
        """P(y_l = 1 | x) of each label (n×K; or n×2, of absence and presence, where y was a vector)."""
        there = self.decision_function(X) + 0.5
        return np.column_stack((1 - there, there)) if self._is_vector else there

    def _scores(self, X: Any) -> Array:
        counts = (self._rows.nearest(self._scaled(X), self.k_) @ self._label_sets).astype(np.intp)
        label = np.arange(len(self.prior_))
        there = self.prior_ * self.likelihood_[1, label, counts]
        absent = (1 - self.prior_) * self.likelihood_[0, label, counts]
        scores = (there - absent) / (2 * (there + absent))
        scores[there == absent] = np.finfo(np.float64).eps
        return scores
