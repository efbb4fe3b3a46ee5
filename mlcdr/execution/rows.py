"""The rows of a split, as they are handed from one step of the computation to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mlcdr.data.dataset import Dataset
from mlcdr.experiment.division import Integers
from mlcdr.methods.shared_steps import SharedSteps
from mlcdr.numerics.moments import Moments


@dataclass(frozen=True)
class Rows:
    """The data that trials are fitted from and tested on.

    Attributes
    ----------
    moments : Moments
        Of the training rows.
    X, Y : array, n×d and n×K
        The test rows.
    dataset : Dataset
        From which they are.
    numbers : array
        Those of the test rows in the data set.
    steps : SharedSteps
        What the methods' feature steps make of the training rows.
    """

    moments: Moments
    X: Any
    Y: Any
    dataset: Dataset
    numbers: Integers
    steps: SharedSteps = field(default_factory=SharedSteps)
