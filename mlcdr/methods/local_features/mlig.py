"""The selector `mlig` of features for each label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mlcdr.methods.constraints import FRACTION, one_of, parameter
from mlcdr.methods.local_features.selector import Array, Columns, LocalSelector
from mlcdr.numerics import sums
from mlcdr.numerics.discretise import RULES, discretised
from mlcdr.numerics.forward_selection import most_relevant
from mlcdr.numerics.information import mutual_information


class MLIG(LocalSelector):
    """The features with the most information gain, fewer for rarer labels (Sun 2017, section 3.2.1).

    The ⌊α_j M⌋ of the M features (1 at least) with the largest information gain I(Y_j; X_k), (3.8), for label j.

    With n_j the number of positive instances of label j, IR_j = max_k n_k / n_j, and mean and coefficient of variation
    (with L − 1) of IR over the labels, (3.9) and (3.10):

        α_j = 2r (e^β_j − 1) / (e^β_j + 1) + r,    β_j = mean IR / (IR_j (CVIR + 1)),

    between r, for rare labels, and 3r. A label without positive instances has IR_j = ∞, so α_j = r, and is left out of
    the mean and the variation. Ties go to the first features. The thesis discretises numeric features without saying
    how in this chapter; by default it is done as in its section 4.3.1.

    Cost: the information of all pairs of a feature and a label, from products of sparse counts.

    Parameters
    ----------
    ratio : float
        r; above ⅓, a frequent label keeps all features.
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.

    Attributes
    ----------
    gains_ : array of shape (M, L)
        I(Y_j; X_k), in bits.
    shares_ : array of shape (L,)
        α_j.
    """

    ratio: float = parameter(0.1, FRACTION)
    discretise: str | None = parameter("mean_std", [*one_of(*RULES), None])

    def fit(self, X: Any, Y: Any) -> Self:
        """Find the gains and the shares for features X (n×M, dense or CSR) and label sets Y (n×L of {0, 1})."""
        X, Y = self._checked_rows(X, Y)
        self.gains_ = mutual_information(discretised(X, self.discretise), Y)
        self.shares_ = shares_kept(sums.total(Y), self.ratio)
        return self

    def alone(self, label: int) -> Columns:
        """The features of a label."""
        n = max(1, min(len(self.gains_), int(self.shares_[label] * len(self.gains_) * (1 + 1e-12))))
        return np.sort(np.array(most_relevant(self.gains_[:, label], n), dtype=np.intp))


def shares_kept(positives: Array, ratio: float) -> Array:
    """α_j (L,) of (3.9) from the labels' numbers of positive instances (L,)."""
    there = positives > 0
    if not there.any():
        return np.full(len(positives), ratio)
    imbalance = positives.max() / positives[there]
    mean = imbalance.mean()
    variation = imbalance.std(ddof=1) / mean if len(imbalance) > 1 else 0.0
    beta = np.zeros(len(positives))
    beta[there] = mean / (imbalance * (variation + 1.0))
    return 2.0 * ratio * np.tanh(beta / 2.0) + ratio
