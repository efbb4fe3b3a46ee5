"""The learner `dismec`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import NOT_NEGATIVE, POSITIVE, SEED, parameter
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments


class DiSMEC(MultilabelClassifier):
    """DiSMEC: a linear support vector machine for each label, of which small weights are dropped.

    Source: Babbar & Schölkopf 2017 (WSDM), *DiSMEC: Distributed sparse machines for extreme multi-label
    classification*, section 2.

    ŷ_l = [w_lᵀx + b_l > 0], w_l from ½‖w‖² + ½b² + C Σ max(0, 1 − y(wᵀx + b))², with entries |w| < Δ made 0.

    Each label is fitted by itself (`linear_svm`), to LIBLINEAR's default tolerance; all weights are kept as a sparse
    matrix, since a dense one would be too large for many labels and many features. The paper predicts the k labels with
    the largest scores, which is `threshold: {r_cut: k}`; it distributes labels over machines, which is left out here.
    Labels stay sparse, and are fitted one after the other. Cost: K times some tens of passes over X.

    Parameters
    ----------
    delta : float
        Δ; 0 keeps all weights.
    C : float
        C > 0.
    random_state : int, RandomState instance or None
        Order in which the dual solver takes the instances.

    Attributes
    ----------
    coef_ : CSR array of shape (K, d)
        The weights left.
    intercept_ : array of shape (K,)
    """

    delta: float = parameter(0.01, NOT_NEGATIVE)
    C: float = parameter(1.0, POSITIVE)
    random_state: Any = parameter(None, SEED)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, which must have its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        by_label = sp.csc_array(Y) if sp.issparse(Y) else Y
        machine = LinearSVM(self.C, tol=None, random_state=self.random_state)
        weights, self.intercept_ = [], np.empty(Y.shape[1])
        for label in range(Y.shape[1]):
            machine._fit_valid(X, sums.dense(by_label[:, [label]])[:, 0].astype(np.float64))
            w = machine.coef_
            weights.append(sp.csr_array(np.where(np.abs(w) >= self.delta, w, 0.0)))
            self.intercept_[label] = machine.intercept_[0]
        self.coef_ = sp.csr_array(sp.vstack(weights))
        return self

    def _scores(self, X: Any) -> Array:
        return sums.dense(X @ self.coef_.T) + self.intercept_
