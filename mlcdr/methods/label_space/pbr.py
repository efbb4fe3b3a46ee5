"""The label space `pbr`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import SEED, parameter
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.moments import Moments


class PBR(LinearLabelSpace):
    """Partial binary relevance (PBR): learn a random choice of the labels, predict none of the others.

    Source: Chen & Lin 2012, section 4, after Tai & Lin 2012.

    V holds M unit vectors, chosen at random; a label not chosen gets score 0 (Chen & Lin 2012, section 4).

    The choices are nested: the first M of one random order of the labels.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Seed of the order.

    Attributes
    ----------
    labels_ : array of shape (M,)
        The chosen labels, in order.
    """

    decodes_constants: ClassVar[bool] = True  # a label not chosen is predicted absent, whatever it was

    random_state: Any = parameter(None, SEED)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        order = check_random_state(self.random_state).permutation(moments.n_labels)
        self.labels_ = order[:n]
        return np.eye(moments.n_labels)[self.labels_]

    def decode(self, codes: Array) -> Array:
        """Label scores (n×K): code + mean for the first m chosen labels, 0 (the label is absent) for all others."""
        codes = self._given_codes(codes)
        chosen = self.labels_[: codes.shape[1]]
        scores = np.zeros((len(codes), self.directions_.shape[1]))
        scores[:, chosen] = codes + self.mean_[chosen]
        return scores
