"""The feature step `mim`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.feature_space.informative import InformationSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.moments import Moments


class MIM(InformationSelector):
    """Mutual information maximisation (MIM), of one label or (multi-label MIM) of all.

    Source: Lewis 1992; Sechidis, Nikolaou & Brown 2014; Sun 2017, Table 4.1.

    Scores Σ_j I(X_m; Y_j): (4.40) with β = γ = 0. With a single label, Lewis' criterion.

    Cost: the counts of all pairs of a feature and a label.
    """

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        return np.round(self._information(moments).sum(axis=1), 12), {}
