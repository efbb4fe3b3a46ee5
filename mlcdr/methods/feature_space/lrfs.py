"""The feature step `lrfs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.interaction import pair_interaction
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import mutual_information
from mlcdr.numerics.moments import Moments


class LRFS(GreedySelector):
    """LRFS: what a feature tells of each label beyond every other label, less its redundancy.

    Source: Zhang, Liu & Gao 2019, *Distinguishing two types of labels for multi-label feature selection*
    (Pattern Recognition 95).

    Greedy: the next feature maximises Σ_i Σ_(j ≠ i) I(f; Y_i | Y_j) − 1/|S| Σ_(s ∈ S) I(f; X_s), S those chosen.

    The two terms for a pair of labels are I(f; Y_i) + I(f; Y_j) − 2 I(f; Y_i; Y_j), so that PMU's sum over pairs serves
    here. The first sum has K(K − 1) terms and the second is a mean: the more labels, the less redundancy weighs.
    A constant label is a condition that changes nothing, and counts as one: it gives I(f; Y_i) once more. A single
    label has no other, and its relevance is I(f; Y_1), as with a constant second label. Cost: K²d/2 look-ups of
    counts, and those of all pairs of features.
    """

    weight: ClassVar[float | None] = None

    def _relevance(self, moments: Moments) -> Array:
        alone = self._information(moments)
        n_others = max(alone.shape[1] - 1, 1)
        return n_others * alone.sum(axis=1) - 2.0 * pair_interaction(moments, self.discretise)

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        X = self._variables(moments)[0]
        return lambda s: -mutual_information(X.take([s]), X)[0]
