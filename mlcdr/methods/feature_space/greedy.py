"""The base of the greedy selectors by information that differ by one score: D2F, PMU, MDMR and SCLS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mlcdr.methods.feature_space.informative import InformationSelector, by_place
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.forward_selection import forward_selection
from mlcdr.numerics.information import conditional_on
from mlcdr.numerics.moments import Moments


class GreedySelector(InformationSelector):
    """Base: the next feature f maximises relevance(f) + w Σ_(s ∈ S) added(s)(f), S those chosen, w = 1 or 1/|S|.

    A method of this kind is its `_added`, and its `_relevance` if that is not Σ_j I(f; Y_j).

    Attributes
    ----------
    weight : float or None
        w; None: 1/|S|.
    """

    weight: ClassVar[float | None] = 1.0

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        relevance = self._relevance(moments)
        return by_place(forward_selection(len(relevance), relevance, self._added(moments), self.weight)), {}

    def _relevance(self, moments: Moments) -> Array:
        """What each feature (d,) is worth by itself."""
        return self._information(moments).sum(axis=1)

    def _added(self, moments: Moments) -> Callable[[int], Array]:
        """From a chosen feature's number to what it adds to the score of each feature (d,): the method itself."""
        raise NotImplementedError

    def _given(self, moments: Moments) -> Callable[[int], Array]:
        """From s to Σ_j I(f; Y_j | X_s) of each feature f (d,)."""
        X, Y = self._variables(moments)
        return lambda s: conditional_on(X, Y, X.take([s])).sum(axis=1)
