"""Binary relevance (BR): every label by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.chains.links import Array, Link, LinkedClassifier
from mlcdr.moments import Moments


class BinaryRelevance(LinkedClassifier):
    """h_k(x) for each label k = 1, …, K, fitted to the features alone (Tsoumakas, Katakis & Vlahavas 2010).

    Cost: K fits of the base; with least squares or ridge they share the split's factorisation.
    """

    def _fit_links(self, base: Any, moments: Moments) -> None:
        self.links_ = [Link.fitted(base, moments, k) for k in range(moments.n_labels)]

    def _scores(self, X: Any) -> Array:
        return np.column_stack([link.score(X) for link in self.links_])
