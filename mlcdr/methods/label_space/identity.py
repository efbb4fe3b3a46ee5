"""The label space `identity`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments


class Identity(LinearLabelSpace):
    """No label-space reduction: the labels are their own code (binary relevance).

    V = I: with a regressor of independent outputs this is binary relevance, whatever the number of labels.

    The numbers that stand for a label's presence and absence are the `coding`. A regression whose intercept is free
    predicts the same label sets with each; one that penalises its intercept, or has none, does not.

    Parameters
    ----------
    coding : {"centred", "zero_one", "plus_minus_one"}
        The targets of the learner: "centred", y − ȳ; "zero_one", y as it is, so that a penalised intercept is drawn
        towards "absent"; "plus_minus_one", 2y − 1, drawn towards neither. With the first two the scores are in units
        of {0, 1}, with threshold ½; with ±1 they are in units of ±1, with threshold 0 (`threshold: zero`). These are
        also the defaults of a method without `threshold`.

    Attributes
    ----------
    directions_ : array of shape (K, K)
        I.
    mean_ : array of shape (K,)
        The offset subtracted from the labels: ȳ, 0 or ½.
    n_components_ : int
        K.
    """

    n_components = None
    rounding = "floor"
    coding: str = parameter("centred", one_of("centred", "zero_one", "plus_minus_one"))

    def _find_directions(self, moments: Moments, n: int) -> Array:
        if self.coding != "centred":
            self.mean_ = np.full(moments.n_labels, 0.0 if self.coding == "zero_one" else 0.5)
        return np.eye(n_kept(None, moments.n_labels))

    @property
    def score_boundary(self) -> float:
        """The score half-way between those of absence and presence."""
        return 0.0 if self.coding == "plus_minus_one" else 0.5

    def encode(self, Y: Any) -> Array:
        """The targets (n×K) of label vectors Y (n×K)."""
        return self._unit * (self._given_labels(Y) - self.mean_)

    def encode_moments(self, moments: Moments) -> Moments:
        """The moments of the targets, from the moments of the labels."""
        return moments.map_labels(self.mean_, self._unit * self.directions_)

    def decode(self, codes: Array) -> Array:
        """Label scores (n×K) of predicted targets (n×K): in ±1 they are the same, else ȳ (or 0) is added."""
        return self._given_codes(codes) if self.coding == "plus_minus_one" else super().decode(codes)

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """As in `LinearLabelSpace`, in units of {0, 1} whatever the coding."""
        return super().error_terms(Y, codes / self._unit)

    @property
    def _unit(self) -> float:
        """The difference between the numbers for presence and absence."""
        return 2.0 if self.coding == "plus_minus_one" else 1.0
