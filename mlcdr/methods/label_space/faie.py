"""The label space `faie`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import BOOLEAN, NOT_NEGATIVE, one_of, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.hat import HatLabelSpace
from mlcdr.methods.label_space.linear import Array, error_terms_projected
from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.linalg import inverse_root, leading_eigenvectors
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.regression import whiten


class FaIE(HatLabelSpace):
    """Feature-aware implicit label space encoding (FaIE): codes of the training instances, free of any rule of
    encoding.

    Source: Lin, Ding, Hu & Wang 2014 (ICML), section 3; the options, the programs of Chen & Lin and of MLC Toolbox.

    Z (n×M): the M leading eigenvectors of G = YYᵀ + ωH (n×n), H the hat matrix; decoded by D = ZᵀY (M×K), ŷ = tD.

    Z maximises tr(Zᵀ(YYᵀ + ωH)Z) with ZᵀZ = I: how much of the labels the best linear decoding recovers, and ω times
    how well a regression on the features predicts the code. Nothing is centred (unless `centre` is set), nothing is
    added to ŷ.

    G is never formed. With H = WWᵀ, W = FE (n×r) from the factorisation of the features F, G = NNᵀ for N = [Y, √ω W],
    so z = Nv/√μ for each eigenpair (μ, v) of NᵀN, of size K + r: a code is linear in labels and features together,
    z = yA + xB + c, D = √μ times v's first K entries, and second moments suffice. Cost: the factorisation (d³/3,
    shared), 2d³ for WᵀW, and up to 9(K + r)³; a truncated solver takes over where K + r is large and M small.

    Where labels depend on one another, the last dimensions can have eigenvalue 0 or ω, be arbitrary, and decode to 0:
    D's row is 0.

    Parameters
    ----------
    weight : float
        ω ≥ 0, the paper's α; with 0 it is PLST of uncentred labels.
    alpha : float
        Ridge of the hat matrix, H = F(FᵀF + αI)⁺Fᵀ; 0 is the paper's projection on the range of F.
    centre : bool
        Whether F is X centred, or X as it is.
    constant : bool
        Whether a column of ones joins X in F, its coefficient penalised like the others. Only where X is not centred.
    coding : {"zero_one", "plus_minus_one"}
        Y (n×K): label sets of {0, 1}, with threshold ½ after decoding; or of ±1, with threshold 0.

    Attributes
    ----------
    eigenvalues_ : array of shape (M,)
        μ, descending.
    directions_ : array of shape (M, K)
        D; its rows are neither orthogonal nor of unit length.
    mean_ : array of shape (K,)
        0: what decoding adds.
    label_weights_, feature_weights_, offset_ : arrays of shape (K, M), (d, M) and (M,)
        A, B and c, for labels of {0, 1}.
    n_components_ : int
        Number of dimensions M.
    """

    weight: float = parameter(0.1, NOT_NEGATIVE)
    alpha: float = parameter(0.0, NOT_NEGATIVE)
    centre: bool = parameter(False, BOOLEAN)
    constant: bool = parameter(False, BOOLEAN)
    coding: str = parameter("zero_one", one_of("zero_one", "plus_minus_one"), last=True)
    rounding: str = parameter("floor", one_of("floor", "nearest", "ceiling"), last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Find the codes from the moments of a training set (without checks of parameters and data)."""
        self.n_features_in_ = moments.n_features
        self.n_components_ = self.n_dimensions(self.n_components, moments.n_labels)
        self.mean_ = np.zeros(moments.n_labels)
        unit, origin = (2.0, 0.5) if self.coding == "plus_minus_one" else (1.0, 0.0)
        mean_y = unit * (moments.mean_y - origin)
        features = self._regressors(moments)
        e = factor(features, self.alpha).coefficients(np.eye(len(whiten(features, self.alpha))))
        w = features.map_features(np.sqrt(self.weight) * e)
        sum_w = np.zeros(e.shape[1]) if self.centre else moments.n * w.mean_x
        with_y = unit * w.xy + np.outer(sum_w, mean_y)
        inner = np.block([[unit**2 * moments.yy + moments.n * np.outer(mean_y, mean_y), with_y.T], [with_y, w.xx]])
        self.eigenvalues_, v = leading_eigenvectors(inner, self.n_components_)
        largest = max(self.eigenvalues_[0], 0.0)
        scale = inverse_root(self.eigenvalues_, len(inner) * np.finfo(float).eps * largest)
        n_labels = moments.n_labels
        self.directions_ = v[:, :n_labels] * np.sqrt(np.maximum(self.eigenvalues_, 0.0))[:, None]
        self.label_weights_ = unit * v[:, :n_labels].T * scale
        weights = np.sqrt(self.weight) * e @ (v[:, n_labels:].T * scale)
        self.feature_weights_ = weights[: moments.n_features]
        self.offset_ = -origin * self.label_weights_.sum(axis=0)
        if self.centre:
            self.offset_ -= moments.mean_x @ self.feature_weights_
        elif self.constant:
            self.offset_ += weights[-1]
        return self

    @property
    def score_boundary(self) -> float:
        """The score half-way between those of absence and presence."""
        return 0.0 if self.coding == "plus_minus_one" else 0.5

    def encode(self, Y: Any) -> Array:
        """The shortest of the codes (n×M) whose decoding comes nearest to label vectors Y (n×K of {0, 1}).

        It is not the code of an instance with these labels, which depends on its features, too: `encode_moments`.
        """
        return self._coded(self._given_labels(Y)) @ np.linalg.pinv(self.directions_)

    def encode_moments(self, moments: Moments) -> Moments:
        """The moments of the codes z = yA + xB + c (of the training set: Z), from those of labels and features."""
        check_is_fitted(self, "directions_")
        return moments.with_targets(self.label_weights_, self.feature_weights_, self.offset_)

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """As in `LinearLabelSpace`: the part of Y that no code can recover, and the error of predicted codes on the
        rest.

        With P the projection on the rows of D, ‖Y − YP‖²/n and ‖YP − r(X)D‖²/n, for the first 1, …, M dimensions; in
        units of {0, 1}. They sum to ‖Y − r(X)D‖²/n.
        """
        unit = 2.0 if self.coding == "plus_minus_one" else 1.0
        return error_terms_projected(self._coded(Y), self.directions_, codes, unit)

    def _coded(self, Y: Any) -> Array:
        return 2.0 * as_dense(Y) - 1.0 if self.coding == "plus_minus_one" else as_dense(Y).astype(np.float64)
