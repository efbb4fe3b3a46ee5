"""Label-dependent features (LDF): MLIG, then MLCFS among what it leaves (Sun 2017, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from mlcdr.methods.local_features.mlcfs import MLCFS
from mlcdr.methods.local_features.mlig import MLIG
from mlcdr.methods.local_features.selector import Columns, LocalSelector


class LabelDependentFeatures(LocalSelector):
    """The features of MLIG, (3.8) to (3.10), and of these the subset of MLCFS beside the parents, (3.11) and (3.12).

    A structure among labels is learned from what MLIG leaves. Cost: that of both.

    Parameters
    ----------
    ratio : float
        r of `MLIG`.
    patience : int
        That of `MLCFS`.
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MLIG._parameter_constraints,
        **MLCFS._parameter_constraints,
    }

    def __init__(self, ratio: float = 0.1, patience: int = 5, discretise: str | None = "mean_std"):
        self.ratio = ratio
        self.patience = patience
        self.discretise = discretise

    def fit(self, X: Any, Y: Any) -> LabelDependentFeatures:
        """Prepare both for features X (n×M, dense or CSR) and label sets Y (n×L of {0, 1})."""
        self._validate_params()
        self._relevant = MLIG(self.ratio, self.discretise).fit(X, Y)
        self._compact = MLCFS(self.patience, self.discretise).fit(X, Y)
        return self

    def alone(self, label: int) -> Columns:
        """Those of MLIG."""
        return self._relevant.alone(label)

    def beside(self, label: int, parents: Sequence[int]) -> Columns:
        """Those of MLCFS among them."""
        return self._compact.beside(label, parents, within=self._relevant.alone(label))
