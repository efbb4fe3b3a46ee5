"""The dual space `ddsr`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.dual_space.linear import Array, DualSpace, unit_labels
from mlcdr.methods.feature_space.informative import discrete_variables, label_information
from mlcdr.numerics.discretise import RULES
from mlcdr.numerics.information import entropy
from mlcdr.numerics.linalg import inverse_root, n_kept, rounding_of_unit_columns
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import cross_rank

CENTRED = ("covariance", "correlation")


class DDSR(DualSpace):
    """Dependent dual space reduction (DDSR): the directions in which features and labels vary together.

    Source: Pacharawongsakda & Theeramunkong 2012, section 3.1, equation (3).

    UΣV = C (d×K), C = Σ(x−x̄)(y−ȳ)ᵀ; the m leading columns of U and rows of V reduce features and labels alike.

    x' = Uᵀx and t = Vy both have m ≤ min(d, K) dimensions. A direction without covariance (a singular value that is
    only rounding error) is kept for the labels, but left out for the features, where it would be arbitrary. The
    directions are nested; all m of a split share one decomposition. Cost, beside C: about 6dK² + 20K³ for d ≥ K; and
    d²m, beside S, for the reduced moments (2ndm, without S, where d > n). By information: dK look-ups of counts, and
    XᵀY of the indicators of all values; the rows are needed.

    The paper decomposes covariances, and says that cosine similarity, entropy and symmetric uncertainty would do as
    well, without formulas: those below are the usual ones. Entropies, cosines and uncertainties are not negative, so
    their first direction is an average of all features, and of all labels.

    Parameters
    ----------
    n_components : int, float or None
        Number of dimensions m: an int, a fraction of min(d, K), or None for all. (The paper's K; the x of its Table 2
        is m/d.)
    dependency : {"covariance", "correlation", "cosine", "mutual_information", "symmetric_uncertainty"}
        What C_jk is, of feature j and label k; X and Y are projected as they are. "covariance": as above.
        "correlation": C_jk/√(S_jj T_kk). "cosine": xᵀy/(‖x‖‖y‖), not centred. "mutual_information": what they share of
        their entropies, I(x; y) = H(x) + H(y) − H(x, y), in bits. "symmetric_uncertainty": 2I(x; y)/(H(x) + H(y)).
        0 in place of 0/0.
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut for the last two (`numerics.discretise`); None: they are discrete. Not used by the
        others. (The paper does not say how.)

    Attributes
    ----------
    singular_values_ : array of shape (m,)
        Of C, in descending order.
    """

    # A smaller m has other features, too: it needs a fit of the learner, if not a decomposition, of its own.
    nested: ClassVar[bool] = False

    dependency: str = parameter(
        "covariance", one_of(*CENTRED, "cosine", "mutual_information", "symmetric_uncertainty"), last=True
    )
    discretise: str | None = parameter("mean_std", [*one_of(*RULES), None], last=True)

    def _find_both(self, moments: Moments) -> tuple[Array, Array]:
        m = n_kept(self.n_components, min(moments.n_features, moments.n_labels), rounding="nearest")
        key = ("SVD of features with labels", self.dependency, self._rule)
        left, singular, right = moments.once(key, lambda: _decomposed(self._matrix(moments)))
        if self.dependency in CENTRED:
            rank = cross_rank(moments)
        else:
            least = rounding_of_unit_columns(max(moments.n, len(left)), left.shape[0] * right.shape[1])
            rank = int(np.count_nonzero(singular > least))
        self.singular_values_ = singular[:m]
        return left[:, : max(1, min(m, rank))], right[:m]

    @property
    def _rule(self) -> str:
        return self.discretise or "none"

    def _matrix(self, moments: Moments) -> Array:
        """C (d×K), of what `dependency` says."""
        match self.dependency:
            case "covariance":
                return moments.xy
            case "correlation":
                return moments.standardised().xy * unit_labels(moments)
            case "cosine":
                return _cosines(moments)
            case "mutual_information":
                return label_information(moments, self._rule)
        features, labels = discrete_variables(moments, self._rule)
        entropies = entropy(features)[:, None] + entropy(labels)
        information = 2 * label_information(moments, self._rule)
        return np.divide(information, entropies, out=np.zeros_like(entropies), where=entropies > 0)

    def largest(self, n_features: int, n_labels: int) -> int:
        """min(d, K)."""
        return min(n_features, n_labels)

    def n_dimensions(self, n_components: float | int | None, n_labels: int) -> int:
        """How many dimensions `n_components` means: a fraction is one of min(d, K)."""
        return super().n_dimensions(n_components, min(n_labels, getattr(self, "n_features_in_", n_labels)))


def _cosines(moments: Moments) -> Array:
    """xᵀy/(‖x‖‖y‖) of each feature x with each label y (d×K), from the centred moments."""
    of_features = moments.spread() + moments.n * moments.mean_x**2
    of_labels = moments.label_spread() + moments.n * moments.mean_y**2
    products = moments.xy + moments.n * np.outer(moments.mean_x, moments.mean_y)
    return products * inverse_root(of_features)[:, None] * inverse_root(of_labels)


def _decomposed(matrix: Array) -> tuple[Array, Array, Array]:
    """U (d×q), the singular values and V (q×K) of C, q = min(d, K); V's largest entries are positive."""
    left, singular, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    peak = np.argmax(np.abs(right), axis=1)
    signs = np.where(right[np.arange(len(right)), peak] < 0, -1.0, 1.0)
    return left * signs, singular, right * signs[:, None]
