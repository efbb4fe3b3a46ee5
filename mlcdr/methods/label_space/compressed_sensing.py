"""The label space `compressed_sensing`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.linear_model import Lasso
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import COUNT, POSITIVE, SEED, one_of, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace, error_terms_of
from mlcdr.methods.label_space.sparse_recovery import cosamp, orthogonal_matching_pursuit
from mlcdr.numerics.moments import Moments


class CompressedSensing(LinearLabelSpace):
    """Compressed sensing (CS): random codes of the labels, decoded on the assumption that label sets are small.

    Source: Hsu, Kakade, Langford & Zhang 2009 (NIPS), sections 3 and 4; Chen & Lin 2012, section 2.

    t = Vy with M random directions v (V is M×K); decoded to ŷ with few non-zero entries and Vŷ ≈ t.

    V depends on neither features nor labels; the decoder uses the label cardinality. Nothing is centred: subtracting ȳ
    would make label vectors dense. With A = V/√m the first m directions as the paper scales them (columns a_j of unit
    length, exactly or on average), the decoders of a code r(x) ∈ ℝᵐ take t = r(x)/√m:

    - "omp", orthogonal matching pursuit: k times, the column most correlated with the residual of t is added, and least
      squares is solved on those chosen. Cost for n codes n·k·(kK + k³).
    - "cosamp", compressive sampling matching pursuit: least squares on up to 3k columns, of which the k largest
      entries stay, for as long as the residual falls; least squares on these at the end. Cost a round
      n·(kK + (3k)³·10 + K log K).
    - "lasso": ŷ = argmin ½‖t − As‖² + λ‖s‖₁, by scikit-learn's coordinate descent to a duality gap of 1e-4‖t‖². The
      penalty shrinks entries towards 0, by λ where columns are orthogonal: for its score to round to 1, a label's entry
      must exceed ½ + λ before shrinkage. Cost a sweep n·K².

    All need AᵀA (mK²). The two greedy ones scale columns to unit length; otherwise longer columns would be preferred.
    The directions and the codes are nested: 1/√m is applied in decoding, since with it in the code, as in the paper,
    the learner's targets would differ for each m.

    Parameters
    ----------
    code : {"gaussian", "hadamard"}
        V: independent entries from N(0, 1); or M distinct rows, chosen at random, of the Hadamard matrix (±1) of the
        least order 2^p ≥ K, cut to its first K columns.
    decoder : {"omp", "cosamp", "lasso"}
        How to decode.
    sparsity : int or None
        k, how many labels "omp" and "cosamp" may give an instance a score other than 0 (never more than there are
        dimensions or labels). None: the label cardinality of the training set (labels per instance, on average),
        rounded, a half to the even number; 1 at least. Not used by "lasso".
    penalty : float
        λ > 0 of "lasso", in units of a label; not used by the others.
    random_state : int, RandomState instance or None
        Seed of the directions.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V; its rows are neither orthogonal (Gaussian) nor of unit length.
    mean_ : array of shape (K,)
        0: what decoding adds.
    n_components_ : int
        Number of dimensions M.
    sparsity_ : int
        k.
    """

    code: str = parameter("gaussian", one_of("gaussian", "hadamard"))
    decoder: str = parameter("omp", one_of("omp", "cosamp", "lasso"))
    sparsity: int | None = parameter(None, [*COUNT, None], at_most="labels")
    penalty: float = parameter(0.1, POSITIVE)
    random_state: Any = parameter(None, SEED)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        self.mean_ = np.zeros(moments.n_labels)
        cardinality = round(float(moments.mean_y.sum()))
        self.sparsity_ = min(max(1, cardinality) if self.sparsity is None else self.sparsity, moments.n_labels)
        random = check_random_state(self.random_state)
        if self.code == "gaussian":
            return random.standard_normal((n, moments.n_labels))
        order = 1 << (moments.n_labels - 1).bit_length()
        rows = random.permutation(order)[:n]
        return scipy.linalg.hadamard(order, dtype=np.int8)[rows, : moments.n_labels].astype(np.float64)

    def decode(self, codes: Array) -> Array:
        """Label scores (n×K), few of them other than 0, of codes (n×m) in the first m ≤ M dimensions."""
        codes = self._given_codes(codes)
        m = codes.shape[1]
        a, t = self.directions_[:m] / np.sqrt(m), codes / np.sqrt(m)
        if self.decoder == "lasso":
            return self._lasso(a, t)
        lengths = np.sqrt(np.sum(a**2, axis=0))
        a = a / lengths
        recover = orthogonal_matching_pursuit if self.decoder == "omp" else cosamp
        return recover(a.T @ a, t @ a, min(self.sparsity_, m)) / lengths

    def _lasso(self, a: Array, t: Array) -> Array:
        if not len(t):
            return np.zeros((0, a.shape[1]))
        # scikit-learn's objective is ours over m
        lasso = Lasso(self.penalty / len(a), fit_intercept=False, precompute=a.T @ a, max_iter=10_000)
        return np.asarray(lasso.fit(a, t.T).coef_).reshape(len(t), a.shape[1])

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """What is lost by compressing label sets, and by predicting their codes, for the first 1, …, M dimensions.

        With D the decoder, ‖Y − D(YVᵀ)‖²/n and ‖D(YVᵀ) − D(r(X))‖²/n. D is not linear, so these are not the terms of
        the bound (1) of Chen & Lin 2012: ‖Y − D(r(X))‖²/n is at most twice their sum, and not their sum. Cost: 2M
        times decoding.
        """
        true, sizes = self.encode(Y), range(1, codes.shape[1] + 1)
        decoded = ((self.decode(true[:, :m]), self.decode(codes[:, :m])) for m in sizes)
        return error_terms_of(as_dense(Y).astype(np.float64), decoded)
