"""The base of the linear label-space reducers: a code t = V(y − ȳ) and its decoding ŷ = Vᵀt + ȳ.

A method is defined by its directions V; its file shows how they are found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import SIZE, learned, one_of, parameter
from mlcdr.methods.contracts import LabelSpace, as_dense, given
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]

_BLOCK = 64  # dimensions of a code that are decoded together


class LinearLabelSpace(LabelSpace):
    """Base of the reducers whose code is linear in the labels, with orthonormal and *nested* directions.

    Nested: the first M directions are those that the method would find for that M (or as good, where
    eigenvalues are equal). So one fit with the largest M serves all smaller ones: `decode` takes codes of any
    M ≤ `n_components_` leading columns.

    Parameters
    ----------
    n_components : int, float or None
        Number of dimensions M of the code: an int, a fraction p of the K labels (max(1, ⌊pK⌋)), or None for all K.
    rounding : {"floor", "nearest", "ceiling"}
        The whole number that a fraction of K means: ⌊pK⌋ (Chen & Lin 2012), the nearest, a half going to the even one
        (Pacharawongsakda & Theeramunkong 2012), or ⌈pK⌉; 1 at least.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V, with orthonormal rows.
    mean_ : array of shape (K,)
        ȳ, the mean of the training labels (or another offset, where a method takes one).
    n_components_ : int
        Number of dimensions M.
    """

    nested: ClassVar[bool] = True

    n_components: float | int | None = parameter(None, SIZE)
    rounding: str = parameter("floor", one_of("floor", "nearest", "ceiling"), last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set (without checks of parameters and data)."""
        self.n_features_in_ = moments.n_features
        self.n_components_ = self.n_dimensions(self.n_components, moments.n_labels)
        self.mean_ = moments.mean_y
        self.directions_ = self._find_directions(moments, self.n_components_)
        return self

    def _find_directions(self, moments: Moments, n: int) -> Array:
        """V, with `n` rows (n×K): the method itself."""
        raise NotImplementedError

    def n_dimensions(self, n_components: float | int | None, n_labels: int) -> int:
        """How many dimensions of the code another value of `n_components` means, rounded as this estimator does."""
        return n_kept(n_components, n_labels, self.rounding)

    def encode(self, Y: Any) -> Array:
        """The codes (Y − ȳ)Vᵀ (n×M) of label vectors Y (n×K)."""
        return (self._given_labels(Y) - self.mean_) @ self.directions_.T

    def encode_moments(self, moments: Moments) -> Moments:
        """The moments of the codes, from the moments of the labels."""
        return moments.map_labels(self.mean_, self.directions_.T)

    def size_of(self, n_components: float | int | None) -> int:
        """How many of the fitted dimensions another value of `n_components` means.

        Raises
        ------
        ValueError
            When that is more than were fitted.
        """
        self._check_fitted()
        size = self.n_dimensions(n_components, len(self.mean_))
        if size > self.n_components_:
            raise ValueError(f"{size} dimensions are requested, {self.n_components_} were fitted")
        return size

    def decode(self, codes: Array) -> Array:
        """Label scores tV + ȳ (n×K) of codes t (n×m) in the first m ≤ M dimensions."""
        codes = self._given_codes(codes)
        return LeadingScores(codes, self.directions_, self.mean_).of(codes.shape[1])

    def _check_fitted(self) -> None:
        """Raise NotFittedError before `fit`; scikit-learn's check reads all tags at each call, which takes long."""
        if not hasattr(self, "directions_"):
            check_is_fitted(self, "directions_")

    def _given_labels(self, Y: Any) -> NDArray[Any]:
        """Label vectors (n×K) that `encode` was given, as a dense array; errors as of `given`."""
        self._check_fitted()
        return given("Y", Y, len(self.mean_))

    def _given_codes(self, codes: Any) -> Array:
        """Codes (n×m) that `decode` was given; errors as of `given`."""
        self._check_fitted()
        return given("codes", codes, len(self.directions_), or_fewer=self.nested)

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """The terms of the bound (1) of Chen & Lin 2012 on a test set, per instance, for the first 1, …, M dimensions.

        They bound the Hamming loss of round-based decoding by Vᵀ (not PBR's, which predicts no label it has not
        learned, nor CSSP's).

        Parameters
        ----------
        Y : array or CSR of shape (n, K)
            True labels.
        codes : array of shape (n, M)
            Predicted codes r(x).

        Returns
        -------
        encoding : array of shape (M,)
            ‖Z − ZVᵀV‖²/n with Z = Y − ȳ.
        prediction : array of shape (M,)
            ‖r(X) − ZVᵀ‖²/n.
        """
        z = as_dense(Y) - self.mean_
        return error_terms_along(z, z @ self.directions_.T, codes)


class LeadingScores:
    """Label scores tV + ȳ (n×K) of codes t (n×M) in the first m dimensions, for one m after the other.

    The dimensions are summed in blocks, from the first on: a larger m goes on where a smaller one has ended, and gets
    the same digits as if it were the only one. The time that a `meter` shows for it is that of the only one, too.

    Parameters
    ----------
    codes : array of shape (n, M)
    directions : array of shape (M, K)
        V.
    mean : array of shape (K,)
    """

    def __init__(self, codes: Array, directions: Array, mean: Array):
        self._codes, self._directions, self._mean = codes, directions, mean
        self._memo = Memo()

    def of(self, m: int) -> Array:
        """The scores (n×K) of the first `m` dimensions."""
        whole, rest = divmod(m, _BLOCK)
        scores = self._product(m - rest, m)  # of none: zeros
        if whole:
            scores += self._sum(whole)
        scores += self._mean  # in place: on a large test set each such matrix counts
        return scores

    def _sum(self, blocks: int) -> Array:
        """The sum over the first blocks."""
        return self._memo.latest("sum", blocks, lambda: self._add(blocks), at_most=1)

    def _add(self, blocks: int) -> Array:
        last = self._product((blocks - 1) * _BLOCK, blocks * _BLOCK)
        return last if blocks == 1 else self._sum(blocks - 1) + last

    def _product(self, start: int, stop: int) -> Array:
        product: Array = self._codes[:, start:stop] @ self._directions[start:stop]
        return product


class ObliqueLabelSpace(LinearLabelSpace):
    """Base of the reducers whose directions are not orthogonal, and which decode by the pseudo-inverse: V⁺t + ȳ.

    With V = RᵀQᵀ from the QR factorisation Vᵀ = QR (of the rows of V that are not 0), V⁺t = Qc, Rᵀc = t, and the first
    m entries of c depend on the first m of t only.

    Attributes
    ----------
    basis_ : array of shape (K, k)
        Q, of the k rows of V that are not 0.
    mixing_ : array of shape (k, k)
        R, upper triangular.
    """

    basis_: Array = learned()
    mixing_: Array = learned()

    def decode(self, codes: Array) -> Array:
        """Label scores V⁺t + ȳ (n×K) of codes t (n×m) in the first m ≤ M dimensions, V's first m rows."""
        inner = self._orthonormal(self._given_codes(codes))
        return inner @ self.basis_[:, : inner.shape[1]].T + self.mean_

    def _orthonormal(self, codes: Array) -> Array:
        """The c of each code (n×min(m, k)): coordinates in `basis_` of the label vectors that the codes decode to."""
        m = min(codes.shape[1], len(self.mixing_))
        return scipy.linalg.solve_triangular(self.mixing_[:m, :m], codes[:, :m].T, trans="T", check_finite=False).T

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """As in `LinearLabelSpace`, of the decoded codes: the part of Z that no code can represent, and the error of
        predicted codes.

        With P = V⁺V the projection on the rows of V, ‖Z − ZP‖²/n and ‖ZP − r(X)(V⁺)ᵀ‖²/n, for the first 1, …, M
        dimensions; they sum to ‖Y − ŷ‖²/n.
        """
        z = as_dense(Y) - self.mean_
        predicted = self._orthonormal(codes)
        if predicted.shape[1] == 0:  # no label varies
            return np.full(codes.shape[1], np.sum(z**2) / len(z)), np.zeros(codes.shape[1])
        encoding, prediction = error_terms_along(z, (z @ self.basis_)[:, : predicted.shape[1]], predicted)
        at = np.minimum(np.arange(codes.shape[1]), predicted.shape[1] - 1)
        return encoding[at], prediction[at]


def error_terms_along(z: Array, true: Array, predicted: Array) -> tuple[Array, Array]:
    """‖Z‖²/n minus its parts along the first orthonormal directions, and ‖codes − predicted codes‖²/n (n×M each)."""
    total = np.sum(z**2)
    encoding = total - np.cumsum(np.sum(true**2, axis=0))
    encoding[encoding < 1e-12 * total] = 0.0  # nothing but rounding is left
    return encoding / len(z), np.cumsum(np.sum((predicted - true) ** 2, axis=0)) / len(z)


def error_terms_projected(y: Array, directions: Array, codes: Array, unit: float = 1.0) -> tuple[Array, Array]:
    """`error_terms_of` for the first 1, …, M directions (M×K), with the projection on them for the best decoding."""
    leading = (directions[:m] for m in range(1, codes.shape[1] + 1))
    return error_terms_of(y, ((y @ np.linalg.pinv(d) @ d, codes[:, : len(d)] @ d) for d in leading), unit)


def error_terms_of(y: Array, decoded: Iterable[tuple[Array, Array]], unit: float = 1.0) -> tuple[Array, Array]:
    """‖Y − B‖²/n and ‖B − D‖²/n, in units of a label, of pairs B (the best decoding) and D (n×K)."""
    errors = [(np.sum((y - best) ** 2), np.sum((best - found) ** 2)) for best, found in decoded]
    scale = len(y) * unit**2
    encoding, prediction = np.array(errors).T / scale
    encoding[encoding < 1e-12 * np.sum(y**2) / scale] = 0.0  # nothing but rounding is left
    return encoding, prediction
