"""BR+: binary relevance in which each label's model also looks at all other labels.

Source: Cherman, Metz & Monard 2011, as Pacharawongsakda & Theeramunkong 2012 used it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.chains.links import Array, Link, LinkedClassifier
from mlcdr.moments import Moments, beside


class BRPlus(LinkedClassifier):
    """h_k(x, y_1, …, y_(k−1), y_(k+1), …, y_K), trained on the true other labels.

    A new instance gets the other labels from plain binary relevance, as a set of {0, 1}; they are not updated by what
    the second models say (Cherman's "no update"). Cost: K fits of the base to d features and K to d + K − 1.
    """

    def _fit_links(self, base: Any, moments: Moments) -> None:
        labels = range(moments.n_labels)
        self.first_ = [Link.fitted(base, moments, k) for k in labels]
        self.links_ = [Link.fitted(base, moments, k, [j for j in labels if j != k]) for k in labels]

    def _scores(self, X: Any) -> Array:
        said = np.column_stack([link.score(X) > 0 for link in self.first_]).astype(np.float64)
        return np.column_stack([link.score(beside(X, np.delete(said, k, 1))) for k, link in enumerate(self.links_)])
