"""The interaction information of a feature and the pairs of labels, which several selectors by information need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlcdr.methods.feature_space.informative import discrete_variables, label_information
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import conditional_on
from mlcdr.numerics.moments import Moments


def pair_interaction(moments: Moments, discretise: str | None, labels: Sequence[int] | None = None) -> Array:
    """Σ_({i,j}) I(X_m; Y_i; Y_j) (d,), by its definition I(X_m; Y_i) − I(X_m; Y_i | Y_j).

    `discretise` as in `InformationSelector`; the pairs are those of some labels, or of all (None). Cost: q²d/2 look-ups
    of counts, q their number, once for all methods that ask for the same.
    """
    rule = discretise or "none"
    X, Y = discrete_variables(moments, rule)
    chosen = list(range(len(Y)) if labels is None else labels)

    def summed() -> Array:
        informative = label_information(moments, rule)
        found = np.zeros(len(X))
        for place in range(1, len(chosen)):
            before, j = chosen[:place], chosen[place]
            found += (informative[:, before] - conditional_on(X, Y.take(before), Y.take([j]))).sum(axis=1)
        return found

    return moments.once(("pair interaction", rule, tuple(chosen)), summed)
