"""The learner `reader_le`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.reader_le import EmbeddingParameters, ReaderLE
from mlcdr.methods.multilabel import Array, MultilabelClassifier
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments


class ReaderLEClassifier(EmbeddingParameters, MultilabelClassifier):
    """READER-LE as a classifier: label sets by the regression that the embedding was learned with.

    Source: Sun 2017 (thesis), Algorithm 15.

    ŷ = round(PWᵀx): scores X coef_ V − ½ of the `coef_` (d×M) and `directions_` V (M×K) of `ReaderLE`.

    A label that is constant in the labelled rows is left out of the fit, and predicted with that value.

    Parameters
    ----------
    n_components : int, float or None
        Dimensions of the embedding, no more than labels vary: an int, a fraction of K, or None for all.
    alpha, beta, gamma : float
        Weights of row sparsity, manifold term and label embedding.
    label_weights : pair of float
        Weights of labelled and of unlabelled rows.
    n_neighbors : int
        Neighbours in the graphs (all others, where there are fewer).
    sigma : float
        Width of the weights of the rows' graph.
    tol : float
        Relative change of the objective at which to stop.
    max_iter : int
        Most rounds.
    cut : float
        Directions of labels that the embedding makes this much smaller than the largest are not decoded (see
        `ReaderLE`); 0: all, which is Algorithm 15 to the letter.

    Attributes
    ----------
    space_ : ReaderLE or None
        The fitted embedding of the labels that vary, with its regression; None where none does.
    varying_ : array of bool, of shape (K,)
        Which labels vary.
    constant_ : array of shape (K,)
        The first labelled row's label set.
    """

    sizes_of_labels: ClassVar[tuple[str, ...]] = ("n_components",)  # parameters that count dimensions of label sets

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set that has its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        Y = as_dense(Y)
        self.constant_ = Y[0].astype(np.float64)
        self.varying_ = (Y[0] != Y).any(axis=0)
        self.space_, self.n_iter_ = None, 1
        if not self.varying_.any():
            return self
        space = ReaderLE(**self.get_params(deep=False))
        space.n_components = min(n_kept(self.n_components, moments.n_labels), int(self.varying_.sum()))
        varying = Moments.from_arrays(X, Y[:, self.varying_])
        if moments.unlabelled is not None:
            varying = varying.with_unlabelled(moments.unlabelled)
        self.space_ = space.fit_moments(varying)
        self.n_iter_ = len(space.objective_)
        return self

    def _scores(self, X: Any) -> Array:
        scores = np.tile(self.constant_ - 0.5, (X.shape[0], 1))
        if self.space_ is not None:
            scores[:, self.varying_] = (X @ self.space_.coef_) @ self.space_.directions_ - 0.5
        return scores
