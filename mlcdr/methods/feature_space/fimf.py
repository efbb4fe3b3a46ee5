"""The feature step `fimf`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.constraints import COUNT, SIZE, parameter
from mlcdr.methods.feature_space.informative import InformationSelector
from mlcdr.methods.feature_space.interaction import pair_interaction
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.forward_selection import most_relevant
from mlcdr.numerics.information import entropy
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments


class FIMF(InformationSelector):
    """FIMF: fast ranking by relevance less the interaction with pairs of the labels of most entropy.

    Source: Lee & Kim 2015, *Fast multi-label feature selection based on information-theoretic feature ranking*
    (Pattern Recognition 48).

    Scores Σ_j I(f; Y_j) − Σ_({i,j} ⊆ Q) I(f; Y_i; Y_j), Q the labels of the largest entropies H(Y_j).

    I(f; Y_i; Y_j) = I(f; Y_i) − I(f; Y_i | Y_j). These are the terms of two and three variables in the expansion of
    I(f; Y_1, …, Y_K), the latter for some labels only; with Q all labels, PMU's scores before a feature is chosen. The
    authors' program leaves out what is the same for all features: its scores differ by a constant, and it leaves both
    parameters to the user. Constant features score 0. Cost: the counts of all pairs of a feature and a label, and
    |Q|²d/2 look-ups of counts.

    Parameters
    ----------
    n_paired_labels : int or None
        |Q|, of which equal entropies take the first labels; None, or more than there are: all labels. 1: no pairs.
    n_candidates : int, float or None
        How many features are scored, those of the largest entropies H(f): an int, a fraction of them, or None for all.
        The others score −∞.
    """

    n_paired_labels: int | None = parameter(10, [*COUNT, None], at_most="labels")
    n_candidates: float | int | None = parameter(None, SIZE)

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        X, Y = self._variables(moments)
        paired = most_relevant(entropy(Y), self.n_paired_labels or len(Y))
        candidates = most_relevant(entropy(X), n_kept(self.n_candidates, len(X), name="n_candidates"))
        found = self._information(moments).sum(axis=1) - pair_interaction(moments, self.discretise, sorted(paired))
        scores = np.full(len(X), -np.inf)
        scores[candidates] = np.round(found[candidates], 12)
        return scores, {}
