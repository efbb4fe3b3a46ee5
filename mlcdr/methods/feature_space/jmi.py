"""The feature step `jmi`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from mlcdr.methods.feature_space.global_mlfs import summed_over_labels
from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.moments import Moments


class JMI(GreedySelector):
    """Joint mutual information (JMI), of one label or (multi-label JMI) of all.

    Source: Yang & Moody 1999; Sechidis, Nikolaou & Brown 2014; Sun 2017, Table 4.1.

    Greedy: the next feature maximises Σ_j ( I(X_m; Y_j) + 1/|θ| Σ_(n ∈ θ) I(Y_j; X_n | X_m) ), θ those chosen.

    That is (4.40) with β = 0 and γ = 1/|θ|; with a single label, the criterion of Yang and Moody. Cost: about d²K
    look-ups of counts.
    """

    weight: ClassVar[float | None] = None

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        return summed_over_labels(*self._variables(moments), self._joint_with_labels(moments))
