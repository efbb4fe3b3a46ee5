"""Stratified splits: rows, or groups of rows, dealt into parts so that each has its share of every label.

Sechidis, Tsoumakas & Vlahavas (2011), "On the stratification of multi-label data", ECML PKDD, Algorithm 1 (iterative
stratification); Szymański & Kajdanowicz (2017), "A network perspective on stratification of multi-label data", PMLR 74
(second order: each pair of labels that a row has counts as a label, too).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Integers = NDArray[np.int64]

_NONE_LEFT = np.iinfo(np.int64).max
_CLOSED = np.iinfo(np.int64).min


def count_evidence(labels: Any, pairs: bool, group_of_row: Integers) -> tuple[Any, Integers]:
    """What is dealt: how many rows of each group have each label (or pair of labels), and how many rows it has.

    Parameters
    ----------
    labels : array (n×K of {0, 1}, dense or CSR)
        None where the numbers of rows alone count.
    pairs : bool
        Whether pairs of labels come before the labels.
    group_of_row : array (n)
        Numbers 0 ... G−1, each there.

    Returns
    -------
    csr_array (G×(P + K)), array (G)
    """
    n = len(group_of_row)
    sizes = np.bincount(group_of_row)
    if labels is None:
        return sparse.csr_array((len(sizes), 0), dtype=np.int64), sizes
    Y = sparse.csr_array(labels, dtype=np.int64)
    if pairs:
        both = sparse.hstack([label_pairs(Y), Y], format="csr")
        Y = sparse.csr_array(both)
    ones = np.ones(n, np.int64)
    groups = sparse.csr_array((ones, (group_of_row, np.arange(n))))
    return sparse.csr_array(groups @ Y), sizes


def label_pairs(Y: Any) -> Any:
    """The pairs of labels that each row has: n×P of {0, 1} in CSR, the P pairs being those that some row has.

    Costs Σᵢ kᵢ² for rows with kᵢ labels, in time and memory.
    """
    Y = sparse.csr_array(Y)
    Y.sort_indices()
    n, n_labels = Y.shape
    sizes = np.diff(Y.indptr)
    codes = [np.zeros(0, np.int64)]
    rows = [np.zeros(0, np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        at = np.flatnonzero(sizes == size)
        positions = Y.indptr[at][:, None] + np.arange(size)
        labels = Y.indices[positions].astype(np.int64)
        first, second = np.triu_indices(size, 1)
        pairs = labels[:, first] * n_labels + labels[:, second]
        codes.append(pairs.ravel())
        rows.append(np.repeat(at, len(first)))
    found, columns = np.unique(np.concatenate(codes), return_inverse=True)
    ones = np.ones(len(columns), np.int64)
    return sparse.csr_array((ones, (np.concatenate(rows), columns)), shape=(n, len(found)))


def part_sizes(shares: Sequence[int], n: int) -> Integers:
    """How many of n rows each part gets: its share, rounded down, and one of what is left to the first ones."""
    sizes = n * np.asarray(shares, dtype=np.int64) // sum(shares)
    sizes[: n - sizes.sum()] += 1
    return sizes


def deal(counts: Any, sizes: Integers, shares: Sequence[int], words: NDArray[np.uint64]) -> Integers:
    """The part of each item, by iterative stratification; an item is a row, or a group of rows.

    The label with the fewest rows left is dealt next (of equal ones the first): each of its items, in random order,
    goes to the part that lacks most of that label, of equal parts to that which lacks most rows, else to a random one.
    Items without labels come last. Two rules are not in the paper, and keep the sizes that were asked for: a part that
    has its number of rows takes no more, and no part is left without an item. A part can be left without a label of
    which it should have one row; `exchange` mends it.

    Costs some 30 µs for an item, and 8 bytes for a label (or pair) and part. All numbers are whole: what is missing of
    a label in part j is m·sⱼ − Σs·(its rows there), for m rows with the label and shares sⱼ.

    Parameters
    ----------
    counts : csr_array (items × labels)
        How many rows of an item have a label.
    sizes : array (items)
        How many rows an item has.
    shares : sequence of int
        The shares of the parts, as whole numbers.
    words : array (items) of uint64
        Random words, which decide the order and ties.
    """
    order = np.argsort(words, kind="stable")
    dealing = _Dealing(counts[order], sizes[order], shares, words[order])
    by_label = dealing.counts.tocsc()
    while counts.shape[1]:
        label = int(dealing.left.argmin())
        if dealing.left[label] == _NONE_LEFT:
            break
        its = slice(by_label.indptr[label], by_label.indptr[label + 1])
        for item in by_label.indices[its].tolist():
            if dealing.part[item] < 0:
                dealing.place(item, dealing.missing[label])
    for item in np.flatnonzero(dealing.part < 0).tolist():
        dealing.place(item, dealing.left_of_rows)
    dealt = np.empty_like(dealing.part)
    dealt[order] = dealing.part
    return dealt


def exchange(part: Integers, counts: Any, sizes: Integers, shares: Sequence[int]) -> Integers:
    """The part of each item, after pairs of them have changed places so that each part has the labels that it should.

    A part should have a label where its share of the rows with it is 1 or more (in folds: a label with as many rows as
    there are folds). Two items change places if they have the same size and no part loses the last row of such a label;
    the first two that can, again and again until no part gains by it. A part stays without the label where there are
    none.

    Parameters
    ----------
    part : array (items)
        The parts that were dealt.
    counts : csr_array (items × labels)
        How many rows of an item have a label, without pairs.
    sizes, shares
        As in `deal`.
    """
    part = part.copy()
    rows_of_label = np.asarray(counts.sum(axis=0))
    is_due = np.outer(rows_of_label, shares) >= sum(shares)
    has = sparse.csr_array(counts > 0, dtype=np.int64)
    by_label = has.tocsc()
    moved = True
    while moved:
        moved = False
        for j in range(len(shares)):
            for label in np.flatnonzero(is_due[:, j]):
                items = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
                if j not in part[items]:
                    moved |= _bring(items, j, part, has, sizes, is_due)
    return part


def _bring(items: Integers, j: int, part: Integers, has: Any, sizes: Integers, is_due: NDArray[np.bool_]) -> bool:
    """Let the first of `items` that can change places with one of part j; whether there is one."""
    members = sparse.csr_array((np.ones(len(part), np.int64), (part, np.arange(len(part)))))
    is_last = ((members @ has).toarray().T == 1) & is_due
    for item in items:
        own = has[[item]].toarray()[0] > 0
        takers = np.flatnonzero((part == j) & (sizes == sizes[item]))
        theirs = has[takers]
        needed = (own & is_last[:, part[item]]).astype(np.int64)
        lost = (~own & is_last[:, j]).astype(np.int64)
        can = (theirs @ needed == needed.sum()) & (theirs @ lost == 0)
        if can.any():
            other = takers[can][0]
            part[other] = part[item]
            part[item] = j
            return True
    return False


class _Dealing:
    """Items while they are dealt, one after another.

    Attributes
    ----------
    part : array (items)
        The part of each item; −1 as long as it has none.
    room : array (parts)
        How many rows each part still takes.
    left : array (labels)
        How many rows with each label are left.
    missing, left_of_rows : array (labels × parts), array (parts)
        What each part lacks of each label, and of rows.
    """

    def __init__(self, counts: Any, sizes: Integers, shares: Sequence[int], words: NDArray[np.uint64]):
        n = int(sizes.sum())
        self.counts, self.sizes, self.words = counts, sizes, words
        self.whole = sum(shares)
        self.room = part_sizes(shares, n)
        self.left = np.asarray(counts.sum(axis=0), dtype=np.int64)
        self.missing = np.outer(self.left, np.asarray(shares, dtype=np.int64))
        self.left_of_rows = n * np.asarray(shares, dtype=np.int64)
        self.left[self.left == 0] = _NONE_LEFT
        self.part = np.full(len(sizes), -1)
        self.is_empty = np.ones(len(shares), dtype=bool)
        self.waiting = len(sizes)
        self.starts = counts.indptr.tolist()

    def place(self, item: int, wanted: Integers) -> None:
        """Put an item into the part with the largest number of those in `wanted`."""
        is_open = self.room > 0
        if self.waiting <= self.is_empty.sum():
            is_open = self.is_empty
        wanted = np.where(is_open, wanted, _CLOSED)
        best = np.flatnonzero(wanted == wanted.max())
        if len(best) > 1:
            rows = self.left_of_rows[best]
            best = best[rows == rows.max()]
        j = best[int(self.words[item]) % len(best)]
        self.part[item] = j
        self.is_empty[j] = False
        self.waiting -= 1
        self.room[j] -= self.sizes[item]
        self.left_of_rows[j] -= self.whole * self.sizes[item]
        its = slice(self.starts[item], self.starts[item + 1])
        columns = self.counts.indices[its]
        numbers = self.counts.data[its]
        self.missing[columns, j] -= self.whole * numbers
        remaining = self.left[columns] - numbers
        remaining[remaining == 0] = _NONE_LEFT
        self.left[columns] = remaining
