"""The feature step `d2f`."""

from __future__ import annotations

from collections.abc import Callable

from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.moments import Moments


class D2F(GreedySelector):
    """D2F: relevance less the interaction with each chosen feature and each label.

    Source: Lee & Kim 2015, *Mutual information-based multi-label feature selection using interaction information*
    (Expert Systems with Applications 42).

    Greedy: the next feature maximises Σ_j I(f; Y_j) − Σ_(s ∈ S) Σ_j I(f; X_s; Y_j), S those chosen.

    The interaction information of three variables is I(f; s; Y) = I(f; Y) − I(f; Y | s): positive where s already holds
    a part of that information. With a single label and two features, the scores of the two steps sum to I(X_1, X_2; Y)
    exactly. Cost: about d²K look-ups of counts.
    """

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        alone, given = self._information(moments).sum(axis=1), self._given(moments)
        return lambda s: given(s) - alone
