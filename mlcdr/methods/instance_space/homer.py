"""The learner `homer`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from mlcdr.methods.chains.binary_relevance import BinaryRelevance, of_label_sets
from mlcdr.methods.constraints import COUNT, SEED, one_of, parameter
from mlcdr.methods.contracts import fit_label_sets
from mlcdr.methods.multilabel import Array, MetaClassifier, answer
from mlcdr.numerics.kmeans import without_empty
from mlcdr.numerics.moments import Moments

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Node:
    """A fitted inner node of the tree.

    Attributes
    ----------
    model : multi-label classifier or None
        Predicts the children's meta-labels; None where no training instance has any: then none is predicted.
    children : tuple of Node or int
        In the order of the model's labels; an int is a leaf, which is that label.
    """

    model: Any
    children: tuple[Node | int, ...]


class HOMER(MetaClassifier):
    """HOMER: a tree of small multi-label problems, on groups of labels.

    Source: Tsoumakas, Katakis & Vlahavas 2008, "Effective and efficient multilabel classification in domains with large
    number of labels"; Sun 2017, Algorithm 8.

    A tree over the labels: a node's classifier predicts which of its children hold a label of the instance.

    The labels of a node are clustered into k children, the root's being all labels, until a child is one
    label. A child's meta-label is the disjunction of its labels. The node's classifier of the meta-labels is fitted to
    the instances that have a label of the node (the root's: to all); an instance goes down to the children that are
    predicted. A label's score is that of the first node on its path that does not predict it, or of the last node if
    all do.

    Balanced clusters differ by one label at most: k-means on the labels' columns of Y (of the node's instances),
    started from random labels; each step finds the cheapest assignment to clusters of these sizes (a linear assignment
    problem, K³; Malinen & Fränti 2014). The paper's own step fills clusters up to ⌈K/k⌉ one label after the other,
    which may leave the last one short, and depends on the labels' order. Distances come from YᵀY (K×K) alone.

    Cost: about K/(k − 1) nodes, whose training sets shrink as their labels do. An instance passes the root and
    log_k K nodes for each of its labels.

    Parameters
    ----------
    estimator : estimator or None
        The classifier of each node: any multi-label classifier; binary relevance is made of a regressor or a binary
        classifier. None: binary relevance with least squares.
    k : int
        The clusters of a node (its labels, where there are fewer).
    clustering : {"balanced", "kmeans", "random"}
        How labels are divided: balanced k-means, plain k-means (an empty cluster takes the label farthest from its own
        centre), or at random in parts of equal size.
    steps : int
        Steps of k-means at most.
    random_state : int, RandomState instance or None
        Draws the first centres, or the parts.

    Attributes
    ----------
    root_ : Node
        The tree.
    """

    k: int = parameter(3, [Interval(Integral, 2, None, closed="left")], at_most="labels")
    clustering: str = parameter("balanced", one_of("balanced", "kmeans", "random"))
    steps: int = parameter(20, COUNT)
    random_state: Any = parameter(None, SEED)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        estimator = BinaryRelevance() if self.estimator is None else of_label_sets(self.estimator)
        self._n_labels = Y.shape[1]
        rng = check_random_state(self.random_state)
        self.root_ = self._grow(estimator, X, Y, np.arange(len(Y)), np.arange(self._n_labels), rng)

    def _grow(
        self, estimator: Any, X: Any, Y: Array, rows: Indices, labels: Indices, rng: np.random.RandomState
    ) -> Node:
        """The node of some labels, and the tree below it; `rows` are the node's instances."""
        local = Y[np.ix_(rows, labels)]
        groups = [labels[group] for group in self._divide(local.T @ local, rng)]
        meta = np.column_stack([Y[np.ix_(rows, group)].any(axis=1) for group in groups]).astype(np.float64)
        part = X if len(rows) == X.shape[0] else X[rows]
        model = fit_label_sets(clone(estimator), Moments.from_arrays(part, meta))
        children: list[Node | int] = []
        for group, there in zip(groups, meta.T > 0, strict=True):
            if len(group) == 1:
                children.append(int(group[0]))
            elif there.any():
                children.append(self._grow(estimator, X, Y, rows[there], group, rng))
            else:
                children.append(Node(None, tuple(group.tolist())))
        return Node(model, tuple(children))

    def _divide(self, gram: Array, rng: np.random.RandomState) -> list[Indices]:
        """The labels' numbers in groups, from their columns' products (K×K)."""
        n, k = len(gram), self.k
        if n <= k:
            return [np.array([i]) for i in range(n)]
        if self.clustering == "random":
            return [np.sort(part) for part in np.array_split(rng.permutation(n), k)]
        balanced = self.clustering == "balanced"
        return clusters(gram, rng.permutation(n)[:k], balanced, self.steps)

    def _answer(self, X: Any) -> tuple[Array, Mask]:
        """Scores and label sets (n×K), from the root on: a node's rows, then those of them that go to its children."""
        scores = np.empty((X.shape[0], self._n_labels))
        labels = np.zeros(scores.shape, dtype=bool)
        waiting = [(self.root_, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            margins, predicted = answer(node.model, X[rows], len(node.children))
            margins = np.where((margins > 0) == predicted, margins, predicted - 0.5)  # some do not go by the sign
            for i, (child, chosen) in enumerate(zip(node.children, predicted.T, strict=True)):
                if not isinstance(child, Node):
                    labels[rows, child] = chosen
                else:  # what is predicted there is written over where the child is come to
                    margins[chosen, i] = -0.5
                    if child.model is not None and chosen.any():
                        waiting.append((child, rows[chosen]))
                scores[np.ix_(rows, np.array(_below(child)))] = margins[:, i, None]
        return scores, labels


def _below(child: Node | int) -> list[int]:
    """The labels of a child, which is a node or a label."""
    return [k for each in child.children for k in _below(each)] if isinstance(child, Node) else [child]


def clusters(gram: Array, start: Indices, balanced: bool, steps: int) -> list[Indices]:
    """Label numbers by cluster: k-means from the labels `start`, from the inner products of the columns only."""
    k, n = len(start), len(gram)
    weights = np.zeros((k, n))
    weights[np.arange(k), start] = 1.0
    member = np.full(n, -1)
    for _ in range(steps):
        products = weights @ gram
        distances = np.diag(gram) - 2 * products + np.einsum("ij,ij->i", products, weights)[:, None]
        new = _assign_balanced(distances) if balanced else _assign_nearest(distances)
        if np.array_equal(new, member):
            break
        member = new
        weights = (member == np.arange(k)[:, None]).astype(np.float64)
        weights /= weights.sum(axis=1, keepdims=True)
    return [np.flatnonzero(member == c) for c in range(k)]


def _assign_nearest(distances: Array) -> Indices:
    """The nearest centre (k×n distances) of each label; an empty cluster takes the one farthest from its own."""
    return without_empty(np.argmin(distances, axis=0), distances.min(axis=0), len(distances))


def _assign_balanced(distances: Array) -> Indices:
    """The cheapest assignment to clusters of ⌊n/k⌋ or ⌈n/k⌉ labels.

    Each cluster has ⌊n/k⌋ + 1 places. With r = n − k⌊n/k⌋, dummy rows take the last place of k − r clusters.
    """
    k, n = distances.shape
    size, more = divmod(n, k)
    places = np.repeat(np.arange(k), size)
    if not more:
        return places[linear_sum_assignment(distances.T[:, places])[1]]
    cost = np.zeros((n + k - more, k * size + k))
    cost[:n, : k * size] = distances.T[:, places]
    cost[:n, k * size :] = distances.T
    cost[n:, : k * size] = np.inf
    chosen = linear_sum_assignment(cost)[1][:n]
    return np.append(places, np.arange(k))[chosen]
