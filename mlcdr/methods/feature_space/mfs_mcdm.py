"""The feature step `mfs_mcdm`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr

from mlcdr.methods.constraints import POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.regression import coefficients, constant_coefficients


class MFSMCDM(FeatureSelector):
    """Features as alternatives, labels as criteria (MFS-MCDM): ridge weights, judged by TOPSIS.

    Source: Hashemi, Dowlatshahi & Nezamabadi-pour 2020, *MFS-MCDM: Multi-label feature selection using multi-criteria
    decision making* (Knowledge-Based Systems 206); TOPSIS is of Hwang & Yoon 1981.

    Scores a⁻/(a⁺ + a⁻), a⁺ and a⁻ the distances of V_j from the column maxima and minima of V, V_jk = w_k D_jk/‖D_·k‖.

    D = (XᵀX + αI)⁻¹XᵀY (d×K) are ridge weights, neither X (n×d) nor Y (n×K) centred, and w_k is the entropy of label k
    (bits or their share of the sum: the same scores). D is taken with its sign: the best feature has the largest
    weights, and one of large negative weights comes last, after a feature that is 0 throughout. A constant label, and
    one whose weights are all 0, decides nothing; where all do, the scores are 0. Scores are rounded to 12 digits, so
    that copies of a feature are equal.

    In the authors' program V is D: the lengths are left out, and w is computed and then overwritten, which looks like a
    slip. Cost: that of a ridge regression without intercept, shared with it; and dK.

    Parameters
    ----------
    alpha : float
        α > 0; 10 in the authors' program.
    variant : {"text", "published_code"}
        The V of the text, or of the authors' program.

    Attributes
    ----------
    coef_ : array of shape (d, K)
        D.
    """

    alpha: float = parameter(10.0, POSITIVE)
    variant: str = parameter("text", one_of("text", "published_code"))

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        raw = moments.uncentred()
        of_one = constant_coefficients(raw, self.alpha)
        D = coefficients(raw, self.alpha) + np.outer(of_one, moments.mean_y)
        V = D if self.variant == "published_code" else D * _weights(D, moments.mean_y)
        return np.round(_closeness(V), 12), {"coef_": D}


def _weights(D: Array, mean: Array) -> Array:
    """The entropy of each label, by its length in D (K,)."""
    share = np.clip(mean, 0.0, 1.0)
    entropy = entr(share) + entr(1.0 - share)
    lengths = np.linalg.norm(D, axis=0)
    return np.divide(entropy, lengths, out=np.zeros_like(entropy), where=lengths > 0)


def _closeness(V: Array) -> Array:
    """Of alternatives (d×K), how near each is to the best in all criteria, from 0 to 1; 0 where all are the same."""
    if not V.size:
        return np.zeros(len(V))
    from_best = np.linalg.norm(V - V.max(axis=0), axis=1)
    from_worst = np.linalg.norm(V - V.min(axis=0), axis=1)
    total = from_best + from_worst
    return np.divide(from_worst, total, out=np.zeros_like(total), where=total > 0)
