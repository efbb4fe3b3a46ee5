"""Feature steps that several methods begin with: fitted once to a training set, with what they make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlcdr.methods import contracts
from mlcdr.numerics.memo import Memo
from mlcdr.numerics.moments import Moments

_KEPT = 2  # results at each place of a sequence of steps: they may be large


class SharedSteps:
    """What the feature steps of some methods make of one training set.

    Methods whose first steps are of the same classes, with the same parameters, share these steps and the moments of
    what comes out, and so whatever is computed of those moments: all points of a search that come after one scaler need
    one decomposition.
    """

    def __init__(self) -> None:
        self._memo = Memo()

    def fit(self, steps: Sequence[Any], moments: Moments) -> tuple[list[Any], Moments]:
        """The fitted steps, and the moments of what they make, one after the other, of the training set."""
        fitted: list[Any] = []
        key: tuple[Any, ...] = ()
        shared = True
        for place, step in enumerate(steps):
            shared = shared and _can_be_compared(step)
            if shared:
                key += (type(step), repr(sorted(step.get_params().items())))
                step, moments = self._fit_once(place, key, step, moments)
            else:
                moments = _fit_one(step, moments)
            fitted.append(step)
        return fitted, moments

    def _fit_once(self, place: int, key: Any, step: Any, moments: Moments) -> tuple[Any, Moments]:
        return self._memo.latest(f"step {place}", key, lambda: (step, _fit_one(step, moments)), _KEPT)


def _fit_one(step: Any, moments: Moments) -> Moments:
    """Fit a step; gives the moments of what it makes of the training set."""
    contracts.fit(step, moments)
    return contracts.transform_moments(step, moments)


def _can_be_compared(step: Any) -> bool:
    """Whether a step is known by its class and its parameters, written as text."""
    if not contracts.has_parameters(step):
        return False
    return all(isinstance(value, str | int | float | tuple | type | None) for value in step.get_params().values())
