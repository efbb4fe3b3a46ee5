"""The selector `ldf` of features for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from mlcdr.methods.constraints import COUNT, FRACTION, one_of, parameter
from mlcdr.methods.local_features.mlcfs import MLCFS
from mlcdr.methods.local_features.mlig import MLIG
from mlcdr.methods.local_features.selector import Columns, LocalSelector
from mlcdr.numerics.discretise import RULES


class LabelDependentFeatures(LocalSelector):
    """Label-dependent features (LDF): MLIG, then MLCFS among what it leaves (Sun 2017, Algorithm 2).

    The features of MLIG, (3.8) to (3.10), and of these the subset of MLCFS beside the parents, (3.11) and (3.12).

    A structure among labels is learned from the features that MLIG selects. Cost: that of both.

    Parameters
    ----------
    ratio : float
        r of `MLIG`.
    patience : int
        That of `MLCFS`.
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.
    """

    ratio: float = parameter(0.1, FRACTION)
    patience: int = parameter(5, COUNT)
    discretise: str | None = parameter("mean_std", [*one_of(*RULES), None])

    def fit(self, X: Any, Y: Any) -> Self:
        """Prepare both for features X (n×M, dense or CSR) and label sets Y (n×L of {0, 1})."""
        X, Y = self._checked_rows(X, Y)
        self._relevant = MLIG(self.ratio, self.discretise).fit(X, Y)
        self._compact = MLCFS(self.patience, self.discretise).fit(X, Y)
        return self

    def alone(self, label: int) -> Columns:
        """The features that MLIG selects."""
        return self._relevant.alone(label)

    def beside(self, label: int, parents: Sequence[int]) -> Columns:
        """The features that MLCFS selects among them."""
        return self._compact.beside(label, parents, within=self._relevant.alone(label))
