"""The feature step `mrmr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import mutual_information
from mlcdr.numerics.moments import Moments


class MRMR(GreedySelector):
    """Maximal relevance, minimal redundancy (mRMR), of one label or (multi-label mRMR) of all.

    Source: Peng, Long & Ding 2005; Sun 2017, Table 4.1.

    Greedy: the next feature maximises Σ_j ( I(X_m; Y_j) − 1/|θ| Σ_(n ∈ θ) I(X_m; X_n) ), θ those chosen.

    That is (4.40) with β = 0 and γ = 1/|θ|, without the conditional redundancy I(X_m; X_n | Y_j) of (4.39). With a
    single label, the criterion of Peng, Long and Ding. Cost: the counts of all pairs of features.
    """

    weight: ClassVar[float | None] = None

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        X, Y = self._variables(moments)
        return lambda s: -len(Y) * mutual_information(X.take([s]), X)[0]
