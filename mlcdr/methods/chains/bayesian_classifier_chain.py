"""The learner `bayesian_classifier_chain`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from mlcdr.methods.chains.directed import DirectedChain, Structure
from mlcdr.methods.chains.trees import Array, components, in_order, rooted, spanning_forest
from mlcdr.methods.constraints import SEED, one_of, parameter
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.information import entropy, first_best, mutual_information
from mlcdr.numerics.moments import Moments


def check_root(root: str | int, n_labels: int) -> None:
    """Raise a ValueError where the given root is not one of `n_labels` labels."""
    if not isinstance(root, str) and root >= n_labels:
        raise ValueError(f"root {root} is none of the {n_labels} labels")


class BayesianClassifierChain(DirectedChain):
    """Bayesian classifier chain (BCC): each label's model uses one parent, in a tree of the most dependent labels.

    Source: Zaragoza, Sucar, Morales, Bielza & Larrañaga 2011; Sun 2017, section 2.3.1.

    h_k(x, y_p(k)), p(k) the parent of k in the spanning tree with the largest sum of mutual information (`mi`).

    The tree is directed away from a root (Chow & Liu 1968); for a new instance, the parent's predicted value, {0, 1},
    is used. Labels that are independent of all others in the training set have no parent. Cost: K fits of the
    estimator, to d + 1 features; the information of all pairs of labels.

    Parameters
    ----------
    mi : {"marginal", "normalised"}
        The weight of an edge: I(Y_j; Y_k), or 2 I / (H(Y_j) + H(Y_k)), which the experiments of the thesis use.
    root : "random", "strongest" or int
        The root: a label drawn by `random_state` (the sources), or the one with the largest sum of weights to its
        neighbours in the tree (ties: the first). A number: that label; in trees without it, the lowest label is the
        root.
    random_state : int, RandomState instance or None
        The seed of a random root.

    Attributes
    ----------
    order_ : list of int
        The labels, a parent before its children.
    parents_ : list of lists of int
        For each label the list of its parent; empty for a root.
    links_ : list of Link
        The models, in the chain's order; the parent follows the features.
    """

    mi: str = parameter("normalised", one_of("marginal", "normalised"))
    root: str | int = parameter(
        "random", [*one_of("random", "strongest"), Interval(Integral, 0, None, closed="left")], check=check_root
    )
    random_state: Any = parameter(None, SEED)

    def _structure(self, estimator: Any, moments: Moments, selector: LocalSelector) -> Structure:
        check_root(self.root, moments.n_labels)
        weights = dependence(moments.rows()[1], self.mi)
        neighbours = spanning_forest(weights)
        random = check_random_state(self.random_state)
        roots = []
        for tree in components(neighbours):
            if self.root == "random":
                roots.append(tree[random.randint(len(tree))])
            elif self.root == "strongest":
                roots.append(tree[first_best(np.array([weights[k, neighbours[k]].sum() for k in tree]))])
            else:
                roots.append(int(self.root) if self.root in tree else tree[0])
        parents = rooted(neighbours, roots)
        return in_order(parents), parents


def dependence(Y: Any, mi: str) -> Array:
    """I(Y_j; Y_k) in bits (K×K), or 2 I / (H(Y_j) + H(Y_k)) where `mi` is "normalised"; to 12 decimals."""
    information = mutual_information(Y, Y)
    if mi == "normalised":
        each = entropy(Y)
        total = each[:, None] + each
        information[total > 0] *= 2.0 / total[total > 0]
    information[information < 1e-12] = 0.0  # rounding
    return np.round(information, 12)  # those that are equal are so, whether Y is dense or sparse
