"""The dual space `ddsr`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.linalg

from mlcdr.methods.dual_space.linear import Array, DualSpace, unit_labels
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import cross_rank


class DDSR(DualSpace):
    """Dependent dual space reduction (DDSR): the directions in which features and labels vary together.

    Source: Pacharawongsakda & Theeramunkong 2012, section 3.1, equation (3).

    UΣV = C (d×K), C = Σ(x−x̄)(y−ȳ)ᵀ; the m leading columns of U and rows of V reduce features and labels alike.

    x' = Uᵀx and t = Vy both have m ≤ min(d, K) dimensions. A direction without covariance (a singular value that is
    only rounding error) is kept for the labels, but left out for the features, where it would be arbitrary. The
    directions are nested; all m of a split share one decomposition. Cost, beside C: about 6dK² + 20K³ for d ≥ K; and
    d²m, beside S, for the reduced moments (2ndm, without S, where d > n).

    Parameters
    ----------
    n_components : int, float or None
        Number of dimensions m: an int, a fraction of min(d, K), or None for all. (The paper's K; the x of its Table 2
        is m/d.)
    dependency : {"covariance", "correlation"}
        Whether C is as above, or C_jk/√(S_jj T_kk); X and Y are projected as they are.

    Attributes
    ----------
    singular_values_ : array of shape (m,)
        Of C, in descending order.
    """

    # A smaller m has other features, too: it needs a fit of the learner, if not a decomposition, of its own.
    nested: ClassVar[bool] = False

    def _find_both(self, moments: Moments) -> tuple[Array, Array]:
        m = n_kept(self.n_components, min(moments.n_features, moments.n_labels), rounding="nearest")
        key = ("SVD of features with labels", self.dependency)
        left, singular, right = moments.once(key, lambda: _decomposed(self._matrix(moments)))
        rank = cross_rank(moments)
        self.singular_values_ = singular[:m]
        return left[:, : max(1, min(m, rank))], right[:m]

    def _matrix(self, moments: Moments) -> Array:
        """C (d×K), of covariances or correlations."""
        return moments.xy if self.dependency == "covariance" else moments.standardised().xy * unit_labels(moments)

    def largest(self, n_features: int, n_labels: int) -> int:
        """min(d, K)."""
        return min(n_features, n_labels)

    def n_dimensions(self, n_components: float | int | None, n_labels: int) -> int:
        """How many dimensions `n_components` means: a fraction is one of min(d, K)."""
        return super().n_dimensions(n_components, min(n_labels, getattr(self, "n_features_in_", n_labels)))


def _decomposed(matrix: Array) -> tuple[Array, Array, Array]:
    """U (d×q), the singular values and V (q×K) of C, q = min(d, K); V's largest entries are positive."""
    left, singular, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    peak = np.argmax(np.abs(right), axis=1)
    signs = np.where(right[np.arange(len(right)), peak] < 0, -1.0, 1.0)
    return left * signs, singular, right * signs[:, None]
