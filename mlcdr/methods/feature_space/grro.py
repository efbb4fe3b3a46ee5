"""The feature step `grro`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.constraints import NOT_NEGATIVE, one_of, parameter
from mlcdr.methods.feature_space.informative import InformationSelector
from mlcdr.methods.feature_space.linear import eigen
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.discretise import RULES
from mlcdr.numerics.information import mutual_information
from mlcdr.numerics.linalg import inverse_root
from mlcdr.numerics.moments import Moments

# A sum that is smaller, relative to what is summed, is 0.
_ROUNDING = 1e-12


class GRRO(InformationSelector):
    """Global relevance and redundancy optimisation (GRRO): weights of all features at once, in place of a search.

    Source: Zhang, Lin, Jiang, Li, Tang & Tan 2020, *Multi-label feature selection via global relevance and redundancy
    optimization* (IJCAI); the defaults, the diagonal of R and the 0 in D are those of the authors' program.

    Scores Σ_k W_jk, (I + αR)W + βWD = M: M_jk = I(X_j; Y_k), R_ij = I(X_i; X_j), R_jj = 1, D_jk = 1 − cos(Y_j, Y_k).

    There the gradient of ‖W − M‖² + αTr(WᵀRW) + βTr(WDWᵀ) vanishes: W is like the relevance M, but smaller where
    features tell the same (R), and where labels that seldom meet (D, K×K) share a feature. Information is in bits.

    With R = UΛUᵀ and D = VΣVᵀ, W = U[(UᵀMV)_jk / (1 + αλ_j + βσ_k)]Vᵀ. R and D may have negative eigenvalues; where a
    sum is 0 up to rounding, that part of W is 0. A label without instances has D = 0 and M = 0, and touches no other.
    Features with much redundancy may have scores below 0, which is that of a constant feature. Scores are rounded to
    what can be told from rounding errors, so that copies of a feature are equal. Cost: about d² look-ups of counts and
    9d³, once for all α and β; and 9K³ + 2d²K.

    Parameters
    ----------
    alpha : float
        α ≥ 0, the weight of redundancy.
    beta : float
        β ≥ 0, that of the labels.
    discretise : {"median", "mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.

    Attributes
    ----------
    coef_ : array of shape (d, K)
        W.
    """

    alpha: float = parameter(100.0, NOT_NEGATIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    discretise: str | None = parameter("median", [*one_of("median", *RULES), None], last=True)

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        key = ("spectrum of redundancy", self.discretise or "none")
        values, U = moments.once(key, lambda: eigen(self._redundancy(moments)))
        of_labels, V = eigen(_label_distances(moments))
        sums = 1.0 + self.alpha * values[:, None] + self.beta * of_labels
        sizes = 1.0 + self.alpha * np.abs(values)[:, None] + self.beta * np.abs(of_labels)
        rotated = U.T @ self._information(moments) @ V
        inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=np.abs(sums) > _ROUNDING * sizes)
        W = U @ (rotated * inverse) @ V.T
        # what rounding can make of a 0
        least = _ROUNDING * float(np.max(np.abs(rotated), initial=0.0) * np.max(np.abs(inverse), initial=0.0))
        scores = W.sum(axis=1)
        return np.round(scores / least) * least if least > 0 else scores, {"coef_": W}

    def _redundancy(self, moments: Moments) -> Array:
        """R (d×d)."""
        X = self._variables(moments)[0]
        found = mutual_information(X, X)
        np.fill_diagonal(found, 1.0)
        return found


def _label_distances(moments: Moments) -> Array:
    """1 − cos(Y_j, Y_k) (K×K); 0 from and to labels without instances."""
    shared = np.rint(moments.yy + moments.n * np.outer(moments.mean_y, moments.mean_y))  # how many have both
    unit = inverse_root(np.diag(shared))
    both = np.outer(unit > 0, unit > 0)
    found = np.where(both, 1.0 - shared * np.outer(unit, unit), 0.0)
    np.fill_diagonal(found, 0.0)
    return found
