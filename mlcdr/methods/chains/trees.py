"""Trees of labels: the spanning tree with the largest weights, as a rooted tree or as a polytree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from mlcdr.numerics.information import first_best

Array = NDArray[np.float64]
Neighbours = list[list[int]]
Triplet = tuple[int, int, int]


def spanning_forest(weights: Array) -> Neighbours:
    """The neighbours of each label in the spanning tree with the largest sum of weights (K×K, symmetric, ≥ 0).

    Edges of weight 0 carry no information and are left out, so there may be several trees. Among edges of equal weight
    (up to rounding) the one with the smaller lower label goes first, then the one with the smaller higher label
    (Kruskal 1956). Cost: K² log K.
    """
    first, second = np.triu_indices_from(weights, 1)
    heavy = weights[first, second]
    order = np.argsort(-np.round(heavy, 12), kind="stable")
    order = order[heavy[order] > 0]
    # no two edges have the same rank, so there is one tree of the least sum of ranks
    # of 32 bits, since SciPy before 1.17.1 refuses a graph with longer indices
    edges = first[order].astype(np.int32), second[order].astype(np.int32)
    ranks = sp.csr_array((np.arange(1.0, len(order) + 1), edges), shape=weights.shape)
    tree = minimum_spanning_tree(ranks)
    linked = sp.csr_array(tree + tree.T).sorted_indices()
    return [each.tolist() for each in np.split(linked.indices, linked.indptr[1:-1])]


def components(neighbours: Neighbours) -> Iterator[list[int]]:
    """The labels of each tree of a forest, sorted; trees in the order of their lowest labels."""
    seen: set[int] = set()
    for start in range(len(neighbours)):
        if start not in seen:
            tree = [start]
            for label in tree:
                tree += [each for each in neighbours[label] if each not in tree]
            seen.update(tree)
            yield sorted(tree)


def in_order(parents: Neighbours) -> list[int]:
    """The labels level by level, every parent before its children; in a level by their numbers.

    Raises
    ------
    ValueError
        When the parents go in a circle.
    """
    order: list[int] = []
    placed: set[int] = set()
    while len(order) < len(parents):
        ready = [k for k in range(len(parents)) if k not in placed and placed.issuperset(parents[k])]
        if not ready:
            raise ValueError("the parents of the labels go in a circle")
        order += ready
        placed.update(ready)
    return order


def rooted(neighbours: Neighbours, roots: list[int]) -> Neighbours:
    """The parents of each label when every tree of a forest is directed away from its root."""
    parents: Neighbours = [[] for _ in neighbours]
    for start in roots:
        reached = [start]
        for label in reached:
            for child in neighbours[label]:
                if child not in parents[label]:
                    parents[child] = [label]
                    reached.append(child)
    return parents


def independent_pairs(neighbours: Neighbours, p_values: Array, level: float) -> list[Triplet]:
    """Label j and two neighbours a, b of it whose independence is not rejected (p > `level`, K×K); by descending p."""
    triplets = [(-p_values[a, b], j, a, b) for j in range(len(neighbours)) for a, b in combinations(neighbours[j], 2)]
    return [(j, a, b) for negative, j, a, b in sorted(triplets) if -negative > level]


def weakly_bound_pairs(neighbours: Neighbours, weights: Array, share: float) -> list[Triplet]:
    """Label j and two neighbours a, b of it with less weight between them than this share of each of j's edges."""
    return [
        (j, a, b)
        for j, near in enumerate(neighbours)
        for a, b in combinations(near, 2)
        if weights[a, b] < share * weights[j, near].min()
    ]


def polytree(neighbours: Neighbours, weights: Array, independent: list[Triplet], most: int) -> Neighbours:
    """The parents (K lists) of a polytree on a forest, directed by tests of independence (Rebane & Pearl 1987).

    1. Two neighbours a, b of a label j that are `independent`, as triplets (j, a, b), are its parents, (3.4): one pair
       after the other, as long as no edge is directed already the other way and no label has more than `most` parents.
    2. The other neighbours of a label with a parent become its children: the tests did not make them parents. This is
       repeated from label to label. Where it would give a label more than `most` parents, the edge is reversed if
       possible, and left out otherwise.
    3. A part without directions is directed away from the label with the largest sum of weights to its neighbours
       there (ties: the first), which represents the same distribution as any other root.
    """
    K = len(neighbours)
    parents: list[set[int]] = [set() for _ in range(K)]
    children: list[set[int]] = [set() for _ in range(K)]

    def direct(a: int, b: int) -> None:
        parents[b].add(a)
        children[a].add(b)

    def is_open(a: int, b: int) -> bool:
        return b not in parents[a] and b not in children[a] and frozenset((a, b)) not in left_out

    left_out: set[frozenset[int]] = set()
    for j, a, b in independent:
        if j in parents[a] or j in parents[b] or len(parents[j] | {a, b}) > most:
            continue
        direct(a, j)
        direct(b, j)

    def flow(started: list[int]) -> None:
        for label in started:
            for other in neighbours[label]:
                if not is_open(label, other):
                    continue
                if len(parents[other]) < most:
                    direct(label, other)
                    started.append(other)
                elif len(parents[label]) < most:
                    direct(other, label)
                else:
                    left_out.add(frozenset((label, other)))

    flow([j for j in range(K) if parents[j]])
    undirected = [[k for k in neighbours[j] if is_open(j, k)] for j in range(K)]
    for tree in components(undirected):
        if len(tree) > 1:
            strength = [weights[j, undirected[j]].sum() for j in tree]
            flow([tree[first_best(np.array(strength))]])
    return [sorted(each) for each in parents]
