"""The selector `mlcfs` of features for each label."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from mlcdr.methods.constraints import COUNT, one_of, parameter
from mlcdr.methods.local_features.selector import Array, Columns, LocalSelector
from mlcdr.numerics.discretise import RULES, discretised
from mlcdr.numerics.information import TIE, Variables, entropy, first_best, joint_entropy, mutual_information

# Up to so many features, the uncertainties of all pairs cost about as much as those of the few hundred that are
# needed one by one.
_TABULATED = 2048


class MLCFS(LocalSelector):
    """MLCFS: correlation-based selection of a subset of features for a label, starting from its parents.

    Source: Sun 2017, section 3.2.2; Hall 2000 (CFS); the best-first search is that of Kohavi & John 1997, as in WEKA.

    The subset S of features and parents Z̃ of label j, with the parents in it, that maximises (3.11),

        Merit(S) = ñ ρ_YZ / √(ñ + ñ(ñ−1) ρ_ZZ),

    ñ = |S|, ρ_YZ the mean over S of the symmetric uncertainty SU(Y_j, Z̃_k) = 2 I(Y_j; Z̃_k) / (H(Y_j) + H(Z̃_k)), ρ_ZZ
    that over pairs in S, each taken once, (3.12) (0 where both entropies are). Best-first search from the parents: the
    best subset not yet expanded is expanded by each single feature; the search ends when `patience` expansions in
    succession give no better subset. The parents always stay in the subset, and a label keeps at least one feature, the
    most correlated.

    Cost: the uncertainties of all pairs of features, from counts (beyond 2048 features, those of each chosen one with
    all others); and for a label the number of candidates for each subset that is grown.

    Parameters
    ----------
    patience : int
        5 is WEKA's.
    discretise : {"mean_std", "published_code", "equal_frequency"} or None
        How numeric features are cut (`numerics.discretise`); None: they are discrete.
    """

    patience: int = parameter(5, COUNT)
    discretise: str | None = parameter("mean_std", [*one_of(*RULES), None])

    def fit(self, X: Any, Y: Any) -> Self:
        """Prepare for features X (n×M, dense or CSR) and label sets Y (n×L of {0, 1})."""
        X, Y = self._checked_rows(X, Y)
        self._features, labels = Variables.from_values(discretised(X, self.discretise)), Variables.from_values(Y)
        self._entropies, of_labels = entropy(self._features), entropy(labels)
        self._with_labels = _uncertainty(mutual_information(self._features, labels), self._entropies, of_labels)
        self._among_labels = _uncertainty(mutual_information(labels, labels), of_labels, of_labels)
        self._rows: dict[int, Array] = {}
        return self

    def beside(self, label: int, parents: Sequence[int], within: Columns | None = None) -> Columns:
        """The features of a label beside its parents, out of all or of those in `within`."""
        within = np.arange(len(self._features)) if within is None else within
        known = np.asarray(parents, dtype=np.intp)
        relevance = self._with_labels[within, label]
        among = self._among_labels[np.ix_(known, known)]
        start = Subset(
            frozenset(),
            len(known),
            float(self._among_labels[known, label].sum()),
            float(np.triu(among, 1).sum()),
            self._with_labels[np.ix_(within, known)].sum(axis=1),
        )
        found = best_first(start, relevance, partial(self._row, within), self.patience)
        if not found:
            found = frozenset([first_best(relevance)])
        return within[np.sort(np.fromiter(found, np.intp))]

    def _row(self, within: Columns, candidate: int) -> Array:
        """The uncertainties of one candidate with all of them."""
        feature = int(within[candidate])
        if feature not in self._rows:
            wanted = np.arange(len(self._features)) if len(self._features) <= _TABULATED else np.array([feature])
            joint = joint_entropy(self._features.take(wanted), self._features)
            information = np.maximum(self._entropies[wanted, None] + self._entropies - joint, 0.0)
            found = _uncertainty(information, self._entropies[wanted], self._entropies)
            self._rows.update(zip(wanted.tolist(), found, strict=True))
        return self._rows[feature][within]


def _uncertainty(information: Array, a: Array, b: Array) -> Array:
    """SU = 2I / (H + H) (d_A × d_B) of informations and entropies."""
    total = a[:, None] + b
    return np.divide(2.0 * information, total, out=np.zeros_like(information), where=total > 0)


@dataclass(frozen=True)
class Subset:
    """Some candidates, with the parents, and the sums that its merit is made of.

    Attributes
    ----------
    members : frozenset of int
        The candidates in it.
    size : int
        ñ, the parents counted.
    relevance : float
        Σ SU(y, z) over its members.
    redundancy : float
        Σ SU(z, z') over their pairs.
    towards : array of shape (m,)
        Σ SU(z, c) over its members, for each candidate c.
    """

    members: frozenset[int]
    size: int
    relevance: float
    redundancy: float
    towards: Array

    @property
    def merit(self) -> float:
        """(3.11)."""
        return self.relevance / np.sqrt(self.size + 2.0 * self.redundancy) if self.size else 0.0

    def merits(self, relevance: Array) -> Array:
        """The merit (m,) with each candidate more, to 12 decimals; −∞ of those in it."""
        found = (self.relevance + relevance) / np.sqrt(self.size + 1 + 2.0 * (self.redundancy + self.towards))
        found[list(self.members)] = -np.inf
        return np.round(found, 12)  # merits that are equal are so, whether X is dense or sparse

    def grown(self, candidate: int, relevance: Array, row: Array) -> Subset:
        """With one candidate more."""
        return Subset(
            self.members | {candidate},
            self.size + 1,
            self.relevance + float(relevance[candidate]),
            self.redundancy + float(self.towards[candidate]),
            self.towards + row,
        )


def best_first(start: Subset, relevance: Array, row: Callable[[int], Array], patience: int) -> frozenset[int]:
    """The candidates of the best subset that a best-first search from `start` visits.

    `relevance` (m,) is SU(y, c) of each candidate c, and `row(c)` (m,) that of c with all. Ties go to the subset
    visited first.
    """
    best, best_merit, failures = start.members, start.merit, 0
    seen: set[frozenset[int]] = {start.members}
    # what is still to be grown: the children of each grown subset, best first, each stored as the next of them
    heap: list[tuple[float, int, int, Subset, Array, Columns]] = []
    current: Subset | None = start
    n_grown = 0
    while current is not None and failures < patience:
        merits = current.merits(relevance)
        order = np.argsort(-merits, kind="stable")[: len(relevance) - len(current.members)]
        if not len(order):
            failures += 1
        else:
            if merits[order[0]] > best_merit + TIE:
                best, best_merit, failures = current.members | {int(order[0])}, merits[order[0]], 0
            else:
                failures += 1
            heapq.heappush(heap, (-merits[order[0]], n_grown, 0, current, merits, order))
        n_grown += 1
        current = None
        while heap and current is None:
            _, number, place, parent, merits, order = heapq.heappop(heap)
            child = int(order[place])
            if place + 1 < len(order):
                heapq.heappush(heap, (-merits[order[place + 1]], number, place + 1, parent, merits, order))
            if parent.members | {child} not in seen:
                seen.add(parent.members | {child})
                current = parent.grown(child, relevance, row(child))
    return best
