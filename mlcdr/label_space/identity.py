"""No label-space reduction: the labels are their own code (binary relevance)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mlcdr.label_space.linear import Array, LinearLabelSpace
from mlcdr.linalg import n_kept
from mlcdr.moments import Moments


class Identity(LinearLabelSpace):
    """V = I: with a regressor of independent outputs this is binary relevance, whatever the number of labels."""

    from_labels: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init__(self) -> None:
        super().__init__()

    def _find_directions(self, moments: Moments, n: int) -> Array:
        return np.eye(n_kept(None, moments.n_labels))
