"""The label space `random_projection`."""

from __future__ import annotations

from typing import Any

import scipy.linalg
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import SEED, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace, error_terms_along
from mlcdr.numerics.moments import Moments


class RandomProjection(LinearLabelSpace):
    """Random projection: codes along random directions, decoded by the pseudo-inverse.

    Source: Johnson & Lindenstrauss 1984; the decoding is the linear one for directions that are not orthogonal
    (Moore-Penrose), as scikit-learn's `GaussianRandomProjection` has it.

    t = V(y − ȳ), ŷ = V⁺t + ȳ, with M random directions (V is M×K): the baseline of all that choose theirs.

    V has independent entries from N(0, 1); it depends on neither features nor labels. V⁺V projects label vectors on M
    random dimensions of K, which keeps M/K of ‖Z‖² in the mean, and all of it with M = K. With V = RᵀQᵀ from the QR
    factorisation Vᵀ = QR (Q is K×M), V⁺t = Qc, Rᵀc = t; the first m entries of c come of the first m of t, so the
    directions are nested. `compressed_sensing` has the same codes, and decodes on the assumption that label sets are
    small. Cost: 2KM² for the factorisation, M²/2 + KM an instance.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Seed of the directions.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V; its rows are neither orthogonal nor of unit length.
    basis_ : array of shape (K, M)
        Q.
    mixing_ : array of shape (M, M)
        R, upper triangular.
    """

    random_state: Any = parameter(None, SEED)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        directions = check_random_state(self.random_state).standard_normal((n, moments.n_labels))
        self.basis_, self.mixing_ = scipy.linalg.qr(directions.T, mode="economic", check_finite=False)
        return directions

    def decode(self, codes: Array) -> Array:
        """Label scores V⁺t + ȳ (n×K) of codes t (n×m) in the first m ≤ M dimensions, V's first m rows."""
        codes = self._given_codes(codes)
        return self._orthonormal(codes) @ self.basis_[:, : codes.shape[1]].T + self.mean_

    def _orthonormal(self, codes: Array) -> Array:
        """The c of each code (n×m): coordinates in `basis_` of the label vectors that the codes decode to."""
        m = codes.shape[1]
        return scipy.linalg.solve_triangular(self.mixing_[:m, :m], codes.T, trans="T", check_finite=False).T

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """As in `LinearLabelSpace`, of the decoded codes: what V⁺V loses of Z, and what predicted codes miss of it."""
        z = as_dense(Y) - self.mean_
        return error_terms_along(z, (z @ self.basis_)[:, : codes.shape[1]], self._orthonormal(codes))
