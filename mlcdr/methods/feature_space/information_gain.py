"""The feature step `information_gain`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.feature_space.informative import InformationSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.moments import Moments


class InformationGain(InformationSelector):
    """Information gain of each feature by itself.

    Source: Yang & Pedersen 1997 (also for the mean and the largest over labels).

    Scores I(X_m; Y_j), the mean or the largest over the labels j.

    Cost: the counts of all pairs of a feature and a label.

    Parameters
    ----------
    over : {"mean", "max"}
        How the labels' gains are combined into one score.
    """

    over: str = parameter("mean", one_of("mean", "max"))

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        gains = self._gains(moments)
        return np.round(gains.mean(axis=1) if self.over == "mean" else gains.max(axis=1), 12), {}

    def _gains(self, moments: Moments) -> Array:
        return self._information(moments)
