"""The label space `bmad`."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import SIZE, parameter
from mlcdr.methods.contracts import LabelSpace, as_dense, given
from mlcdr.methods.label_space.linear import Array, error_terms_of
from mlcdr.numerics.moments import Moments


class BMaD(LabelSpace):
    """Boolean matrix decomposition (MLC-BMaD): each factor is a set of labels that go together, and a code says which
    factors an instance has.

    Source: Wicker, Pfahringer & Kramer 2012 (SAC), *Multi-label classification using Boolean matrix decomposition*,
    and the authors' program; the decomposition is Asso of Miettinen et al. 2008 (TKDE 20), *The discrete basis
    problem*.

    Y ≈ C ∘ B, ŷ_k = max_m min(t_m, B_mk): codes C (n×M) and factors B (M×K) of {0, 1}.

    There is a candidate for each label j: the labels k with #(j and k) > τ·#j, counted on the training rows (j itself
    is one of them). In each of M steps the candidate is taken that gains most, summed over the rows where it gains: the
    labels of a row that no factor has held so far, less the absent ones that none has. Equal gains go to the first
    label. A row's code has the factor if it gains there, so a code depends on the label set alone, and the first m
    factors are those for M = m. Where no candidate gains any more, the factors that are left hold no label, and no row
    has them.

    In the paper binary classifiers predict the code. Here any regressor does, and the score of a label is the largest
    prediction of the factors that hold it (0 if none does), so with threshold ½ the label sets are the Boolean product
    of the rounded predictions. `separate` with a binary classifier predicts 0 or 1, as in the paper. The authors'
    program looks at the candidates in random order and may pass over the best one.

    Cost: that of YᵀY; for a step, the number of pairs of a label of a row and a candidate that holds it.

    Parameters
    ----------
    n_components : int, float or None
        M: an int, a fraction p of the K labels (max(1, ⌊pK⌋)), or None for K.
    tau : float
        τ, the confidence that an association has to exceed, in [0, 1).

    Attributes
    ----------
    candidates_ : CSR of shape (K, K)
        Row j: that of label j.
    factors_ : array of shape (M, K)
        B.
    n_components_ : int
        M.
    """

    nested: ClassVar[bool] = True

    n_components: float | int | None = parameter(None, SIZE)
    tau: float = parameter(0.5, [Interval(Real, 0, 1, closed="left")])

    def fit_moments(self, moments: Moments) -> Self:
        """Find the factors of a training set, which must have its rows; of the features only the number counts."""
        self.n_features_in_ = moments.n_features
        self.n_components_ = self.n_dimensions(self.n_components, moments.n_labels)
        Y = _present(moments.rows()[1])
        self.candidates_ = _associations(Y, self.tau)
        self.factors_ = np.zeros((self.n_components_, moments.n_labels), dtype=np.uint8)
        state = 2 * Y
        for m in range(self.n_components_):
            gains = _gains(state, self.candidates_)
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            factor = self.candidates_[[best]].toarray()[0]
            self.factors_[m] = factor
            state = _covered(state, factor)[0]
        return self

    def size_of(self, n_components: float | int | None) -> int:
        """How many of the fitted dimensions another value of `n_components` means.

        Raises
        ------
        ValueError
            When that is more than were fitted.
        """
        check_is_fitted(self, "factors_")
        size = self.n_dimensions(n_components, self.factors_.shape[1])
        if size > self.n_components_:
            raise ValueError(f"{size} dimensions are requested, {self.n_components_} were fitted")
        return size

    def encode(self, Y: Any) -> Array:
        """The codes (n×M of {0, 1}) of label sets Y (n×K)."""
        check_is_fitted(self, "factors_")
        state = 2 * _present(given("Y", Y, self.factors_.shape[1]))
        codes = np.zeros((state.shape[0], self.n_components_))
        for m, factor in enumerate(self.factors_.astype(np.int64)):
            state, codes[:, m] = _covered(state, factor)
        return codes

    def decode(self, codes: Array) -> Array:
        """Label scores (n×K) of codes (n×m) in the first m ≤ M dimensions: the largest of the factors that hold it."""
        check_is_fitted(self, "factors_")
        codes = given("codes", codes, self.n_components_, or_fewer=True)
        factors = self.factors_[: codes.shape[1]] > 0
        scores = np.where(factors.any(axis=0), -np.inf, np.zeros((len(codes), factors.shape[1])))
        for code, held in zip(codes.T, factors, strict=True):
            scores[:, held] = np.maximum(scores[:, held], code[:, None])
        return scores

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """What is lost by the codes c of Y, and by predicting them, per instance, for the first 1, …, M dimensions.

        With D the decoder, ‖Y − D(c)‖²/n and ‖D(c) − D(r(X))‖²/n.
        """
        true, sizes = self.encode(Y), range(1, codes.shape[1] + 1)
        decoded = ((self.decode(true[:, :m]), self.decode(codes[:, :m])) for m in sizes)
        return error_terms_of(as_dense(Y).astype(np.float64), decoded)


def _present(Y: Any) -> Any:
    """Label sets (n×K) as CSR of whole numbers 0 and 1."""
    return sp.csr_array(Y > 0, dtype=np.int64)


def _associations(Y: Any, tau: float) -> Any:
    """The candidates (K×K, CSR of {0, 1}) of label sets Y (n×K)."""
    both = sp.csr_array(Y.T @ Y)
    size = np.repeat(both.diagonal(), np.diff(both.indptr))
    both.data = (both.data > tau * size).astype(np.int64)
    both.eliminate_zeros()
    return both


# The state of a row: 2 for a label that no factor holds so far, 1 for what one holds, 0 for the other absent ones. A
# factor of s labels, a of them in state 2 and b in state 1, gains a − (s − a − b): the sum of the states less s.


def _gains(state: Any, candidates: Any) -> Array:
    """The gain of each candidate (K,), summed over the rows where it gains."""
    sums = sp.csr_array(state @ candidates.T)
    gains = np.maximum(sums.data - candidates.sum(axis=1)[sums.indices], 0)
    return np.bincount(sums.indices, gains, candidates.shape[0]).astype(np.float64)


def _covered(state: Any, factor: Any) -> tuple[Any, Any]:
    """The state after a factor (K,), and in which rows it gains (n,)."""
    gains = state @ factor > factor.sum()
    held = sp.csr_array(np.outer(gains, factor > 0), dtype=np.int64)
    return state - state * held + held, gains
