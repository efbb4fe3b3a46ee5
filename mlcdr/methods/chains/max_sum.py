"""Exact inference in a polytree of labels, for many instances at once: the max-sum and the sum-product algorithm.

The joint distribution is Π_k p(y_k | pa_k, x). The labels and the tables log p(y_k | pa_k, x), each table joined to its
labels, form a factor graph, which is a tree since the labels form a polytree. Messages go from its leaves to a root,
and back (Pearl 1988; Kschischang, Frey & Loeliger 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]
Reduce = Callable[..., Array]


@dataclass(frozen=True)
class FactorTree:
    """The order of the messages in a polytree, and the labels of each table.

    Attributes
    ----------
    scopes : list of lists of int
        The labels of table k, which are its axes: k, and its parents.
    upwards : list of (table, place)
        The tables from the roots on, and which of its axes is nearest to the root.
    roots : list of int
        A label in each tree.
    """

    scopes: list[list[int]]
    upwards: list[tuple[int, int]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> FactorTree:
        """From the parents of each label in a polytree."""
        tree = cls([[k, *each] for k, each in enumerate(parents)])
        tables_of: list[list[int]] = [[] for _ in parents]
        for k, scope in enumerate(tree.scopes):
            for label in scope:
                tables_of[label].append(k)
        seen: set[int] = set()
        for root in range(len(parents)):
            if root in seen:
                continue
            tree.roots.append(root)
            seen.add(root)
            reached, used = [root], set()
            for label in reached:
                for k in tables_of[label]:
                    if k not in used:
                        used.add(k)
                        tree.upwards.append((k, tree.scopes[k].index(label)))
                        further = [each for each in tree.scopes[k] if each != label]
                        reached += further
                        seen.update(further)
        return tree

    @property
    def size(self) -> int:
        """How many numbers the tables of an instance have."""
        return sum(2 ** len(scope) for scope in self.scopes)

    def most_probable(self, tables: Sequence[Array]) -> NDArray[np.uint8]:
        """The label sets argmax_y Σ_k log p(y_k | pa_k) (n×K), of tables (n×2×…×2)."""
        n = len(tables[0])
        below, _, gathered = self._upward(tables, np.max)
        labels = np.zeros((n, len(self.scopes)), dtype=np.uint8)
        for root in self.roots:
            labels[:, root] = np.argmax(below[root], axis=1)
        rows = np.arange(n)
        for k, place in self.upwards:
            scope = self.scopes[k]
            table = np.moveaxis(gathered[k], place + 1, 1)[rows, labels[:, scope[place]]].reshape(n, -1)
            best = np.argmax(table, axis=1)
            further = [label for label in scope if label != scope[place]]
            for bit, label in enumerate(reversed(further)):
                labels[:, label] = (best >> bit) & 1
        return labels

    def marginals(self, tables: Sequence[Array]) -> Array:
        """The logarithms of p(y_k = v) (n×K×2)."""
        below, messages, gathered = self._upward(tables, logsumexp)
        beliefs = np.stack(below, axis=1)  # right for the roots; the others follow
        for k, place in self.upwards:
            scope = self.scopes[k]
            table = gathered[k] + _along(beliefs[:, scope[place]] - messages[k], place, len(scope))
            for axis, label in enumerate(scope):
                if axis != place:
                    beliefs[:, label] = _reduced(table, axis, logsumexp)
        return beliefs

    def _upward(self, tables: Sequence[Array], reduce: Reduce) -> tuple[list[Array], list[Array], list[Array]]:
        """Each label's sum of messages from below, each table's message, and the tables with these."""
        below = [np.zeros((len(tables[0]), 2)) for _ in tables]
        messages, gathered = list(tables), list(tables)
        for k, place in reversed(self.upwards):
            scope = self.scopes[k]
            table = tables[k]
            for axis, label in enumerate(scope):
                if axis != place:
                    table = table + _along(below[label], axis, len(scope))
            gathered[k] = table
            messages[k] = _reduced(table, place, reduce)
            below[scope[place]] = below[scope[place]] + messages[k]
        return below, messages, gathered


def _along(message: Array, axis: int, n_axes: int) -> Array:
    """A message (n×2) as a table that varies along one axis only."""
    return message.reshape(len(message), *(2 if each == axis else 1 for each in range(n_axes)))


def _reduced(table: Array, kept: int, reduce: Reduce) -> Array:
    """A table with all axes but one reduced (n×2)."""
    others = tuple(axis + 1 for axis in range(table.ndim - 1) if axis != kept)
    return np.asarray(reduce(table, axis=others)) if others else table
