"""The label space `cssp`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import SEED, one_of, parameter
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.moments import Moments


class CSSP(LinearLabelSpace):
    """Column subset selection (CSSP): learn some of the labels, and put the others together from them.

    Source: Bi & Kwok 2013 (ICML), *Efficient multi-label classification with many labels*; Sun 2017 (thesis) uses it
    for comparison.

    Code y_J, the labels J (M of K) themselves; decoded by ŷ = y_J Y_J⁺Y, the least-squares fit of Y to Y_J.

    J is drawn with the leverage scores as probabilities, p_k = ‖(V_M)_k‖²/M, V_M (K×M) the leading right singular
    vectors of Y: repeatedly, until M labels are chosen (sampling "leverage"); or J is the first M of a pivoted QR
    factorisation of V_Mᵀ ("pivoted"), deterministically. A label never positive has leverage 0: if fewer than M labels
    have positive leverage, their number is the number of dimensions; the number of pivots is at most the rank of Y.
    Scores depend on M, so the codes are not nested. Y is not centred. Cost: that of YᵀY and 9K³.

    Parameters
    ----------
    sampling : {"leverage", "pivoted"}
        How the labels are chosen.
    random_state : int, RandomState instance or None
        Seed of the choice.

    Attributes
    ----------
    labels_ : array of shape (M,)
        J, in the order of the choice.
    decoder_ : array of shape (M, K)
        Y_J⁺Y.
    """

    nested: ClassVar[bool] = False

    sampling: str = parameter("leverage", one_of("leverage", "pivoted"))
    random_state: Any = parameter(None, SEED)

    def fit_moments(self, moments: Moments) -> Self:
        """Choose the labels from the moments of a training set."""
        super().fit_moments(moments)
        self.mean_ = np.zeros(moments.n_labels)
        self.n_components_ = len(self.labels_)
        return self

    def _find_directions(self, moments: Moments, n: int) -> Array:
        raw = moments.yy + moments.n * np.outer(moments.mean_y, moments.mean_y)  # YᵀY
        values, vectors = scipy.linalg.eigh(raw)
        rank = int(np.count_nonzero(values > 1e-10 * max(float(values[-1]), 1e-300)))
        leading = vectors[:, ::-1][:, : max(1, min(n, rank))]
        self.labels_ = self._chosen(leading, n)
        self.decoder_ = scipy.linalg.pinvh(raw[np.ix_(self.labels_, self.labels_)], rtol=1e-10) @ raw[self.labels_]
        return np.eye(moments.n_labels)[self.labels_]

    def _chosen(self, leading: Array, n: int) -> Any:
        if self.sampling == "pivoted":
            return scipy.linalg.qr(leading.T, mode="r", pivoting=True)[1][: leading.shape[1]]
        scores = np.einsum("ij,ij->i", leading, leading)
        scores = np.where(scores > 1e-12, scores, 0.0)
        random = check_random_state(self.random_state)
        # drawn with replacement until n are there, which is to draw from the rest each time
        chosen: list[int] = []
        for _ in range(min(n, int(np.count_nonzero(scores)))):
            k = int(random.choice(len(scores), p=scores / scores.sum()))
            chosen.append(k)
            scores[k] = 0.0
        return np.array(chosen, dtype=np.intp)

    def encode(self, Y: Any) -> Array:
        """The labels J (n×M) of label vectors Y (n×K)."""
        return self._given_labels(Y)[:, self.labels_].astype(np.float64)

    def decode(self, codes: Array) -> Array:
        """Label scores (n×K) of codes (n×M)."""
        return self._given_codes(codes) @ self.decoder_
