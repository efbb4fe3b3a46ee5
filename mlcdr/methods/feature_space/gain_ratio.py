"""The feature step `gain_ratio`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.feature_space.information_gain import InformationGain
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import entropy
from mlcdr.numerics.moments import Moments


class GainRatio(InformationGain):
    """Gain ratio: information gain for each bit that the feature itself has.

    Source: Quinlan 1993.

    Scores I(X_m; Y_j) / H(X_m), the mean or the largest over the labels j; 0 for a constant feature.

    Parameters
    ----------
    over : {"mean", "max"}
        How the labels' ratios are combined into one score.
    """

    def _gains(self, moments: Moments) -> Array:
        own = entropy(self._variables(moments)[0])[:, None]
        return np.divide(self._information(moments), own, out=np.zeros((len(own), moments.n_labels)), where=own > 0)
