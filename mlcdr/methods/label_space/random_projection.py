"""The label space `random_projection`."""

from __future__ import annotations

from typing import Any

import scipy.linalg
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import SEED, parameter
from mlcdr.methods.label_space.linear import Array, ObliqueLabelSpace
from mlcdr.numerics.moments import Moments


class RandomProjection(ObliqueLabelSpace):
    """Random projection: codes along random directions, decoded by the pseudo-inverse.

    Source: Johnson & Lindenstrauss 1984; the decoding is the linear one for directions that are not orthogonal
    (Moore-Penrose), as in scikit-learn's `GaussianRandomProjection`.

    t = V(y − ȳ), ŷ = V⁺t + ȳ, with M random directions (V is M×K): a baseline for methods that choose their directions.

    V has independent entries from N(0, 1); it depends on neither features nor labels. V⁺V projects label vectors on M
    random dimensions of K, which keeps M/K of ‖Z‖² in the mean, and all of it with M = K. With V = RᵀQᵀ from the QR
    factorisation Vᵀ = QR (Q is K×M), V⁺t = Qc, Rᵀc = t; the first m entries of c depend on the first m of t only, so
    the directions are nested. `compressed_sensing` has the same codes, and decodes on the assumption that label sets
    are small. Cost: 2KM² for the factorisation, M²/2 + KM an instance.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Seed of the directions.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V; its rows are neither orthogonal nor of unit length.
    """

    random_state: Any = parameter(None, SEED)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        directions = check_random_state(self.random_state).standard_normal((n, moments.n_labels))
        self.basis_, self.mixing_ = scipy.linalg.qr(directions.T, mode="economic", check_finite=False)
        return directions
