"""The feature step `mdmr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from mlcdr.methods.feature_space.informative import GreedySelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import mutual_information
from mlcdr.numerics.moments import Moments


class MDMR(GreedySelector):
    """Max-dependency and min-redundancy (MDMR).

    Source: Lin, Hu, Liu & Duan 2015, *Multi-label feature selection based on max-dependency and min-redundancy*
    (Neurocomputing 168).

    Greedy: the next feature maximises Σ_j I(f; Y_j) − 1/|S| Σ_(s ∈ S) ( I(f; X_s) − Σ_j I(f; Y_j | X_s) ).

    S are those chosen. Cost: about d²K look-ups of counts.
    """

    weight: ClassVar[float | None] = None

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        X, given = self._variables(moments)[0], self._given(moments)
        return lambda s: given(s) - mutual_information(X.take([s]), X)[0]
