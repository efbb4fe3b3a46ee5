"""The learner `polytree_chain`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from scipy.stats import chi2
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from mlcdr.methods.chains.bayesian_classifier_chain import dependence
from mlcdr.methods.chains.conditional_information import conditional_information
from mlcdr.methods.chains.directed import DirectedChain, Structure
from mlcdr.methods.chains.links import Array
from mlcdr.methods.chains.max_sum import FactorTree
from mlcdr.methods.chains.trees import in_order, independent_pairs, polytree, spanning_forest, weakly_bound_pairs
from mlcdr.methods.constraints import COUNT, SEED, UNIT_INTERVAL, one_of, parameter
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.moments import Moments

_CELLS = 2**22
# Of the author's program: the share of an edge's weight below which neighbours count as independent, and the weight
# above which an earlier label is a parent.
_WEAK_SHARE = 0.2
_PARENT_WEIGHT = 0.0005


class PolytreeChain(DirectedChain):
    """Polytree-augmented classifier chain (PACC): several parents per label, and the most probable label set exactly.

    Source: Sun 2017, chapter 3, Algorithm 1; with label-dependent features (`features: ldf`), Algorithm 2.

    ŷ = argmax_y Π_k f_k(x, pa_k), (3.7), with the parents pa_k of each label in a polytree, where between two labels
    there is one path at most.

    Its skeleton is the spanning tree with the largest sum of mutual information. Two neighbours of a label that are
    independent of one another, (3.4), are its parents. These directions are propagated along the tree; where there are
    none, it is directed away from a root (`chains.trees.polytree` has the details that the thesis leaves open).
    I(Y_a; Y_b) = 0 is tested by G = 2n I (in nats), which is χ² with one degree of freedom if it holds. The links are
    fitted with the true parents; a new instance gets the most probable label set, by the max-sum algorithm, which is
    exact in a polytree. Without edges between the labels this is binary relevance.

    `predict_proba` gives the marginal probability of each label, and the score is its log-odds. The most probable label
    set need not be the set of the labels with probability above ½.

    Cost: K fits of the estimator, to d + |Pa_k| features; the information of all pairs of labels, from counts, or, if
    conditional, K² fits of the estimator to the instances that are not held out. For a new instance Σ_k 2^(|Pa_k| + 1)
    by the text.

    The author's program (`variant: published_code`) differs in many points. Neighbours of a label are independent where
    their weight is less than a fifth of that of any of the label's edges; the polytree gives the order, in which every
    earlier label with a weight above 0.0005 becomes a parent, too, so that the chain is hardly sparser than a
    classifier chain; and it predicts greedily, one label after the other, so that scores and probabilities are
    conditional on the labels as predicted. Its weights are normalised, which is `mi: normalised` here. To judge by
    their numbers, Tables 3.2 and 3.3 come from it. It also has its own order of neighbours, choice among more than
    `max_parents` of them, and order among labels of equal depth.

    Parameters
    ----------
    estimator : estimator or None
        A binary classifier that has `predict_proba`. None: logistic regression.
    mi : {"conditional", "normalised", "marginal"}
        The weight of an edge: I(Y_j; Y_k | X), by (3.3); 2 I(Y_j; Y_k) / (H(Y_j) + H(Y_k)), which the thesis uses for
        large sets; or I(Y_j; Y_k).
    level : float
        Significance level of the text's test: neighbours whose independence is not rejected at it are parents.
    max_parents : int
        How many parents a label has at most in the polytree; 1 is the tree of a Bayesian chain.
    held_out : float
        The share of the training set that conditional information is estimated on.
    variant : {"text", "published_code"}
        The thesis' text, or the author's program.
    random_state : int, RandomState instance or None
        Draws the instances that are held out.

    Attributes
    ----------
    order_ : list of int
        The labels, parents before their children.
    parents_ : list of lists of int
        The parents of each label, by label.
    weights_ : array of shape (K, K)
        The information that the skeleton was found by.
    links_ : list of Link
        The models, in the chain's order; the parents follow the features.
    """

    _default: ClassVar[type] = LogisticRegression
    estimator: Any = parameter(None, [HasMethods(["fit", "predict_proba"]), None])
    mi: str = parameter("conditional", one_of("conditional", "normalised", "marginal"))
    level: float = parameter(0.05, UNIT_INTERVAL)
    max_parents: int = parameter(6, COUNT, at_most="labels")
    held_out: float = parameter(0.3, [Interval(Real, 0, 1, closed="neither")])
    variant: str = parameter("text", one_of("text", "published_code"))
    random_state: Any = parameter(None, SEED)

    def _structure(self, estimator: Any, moments: Moments, selector: LocalSelector) -> Structure:
        Y, n = moments.rows()[1], moments.n
        if self.mi == "conditional":
            held_out = check_random_state(self.random_state).permutation(n)[
                : min(n - 1, max(1, int(self.held_out * n)))
            ]
            self.weights_ = conditional_information(estimator, moments, selector, np.sort(held_out))
        else:
            self.weights_ = dependence(Y, self.mi)
            np.fill_diagonal(self.weights_, 0.0)
        neighbours = spanning_forest(self.weights_)
        if self.variant == "published_code":
            independent = weakly_bound_pairs(neighbours, self.weights_, _WEAK_SHARE)
        else:
            p_values = chi2.sf(2 * n * np.log(2) * dependence(Y, "marginal"), df=1)
            independent = independent_pairs(neighbours, p_values, self.level)
        parents = polytree(neighbours, self.weights_, independent, self.max_parents)
        order = in_order(parents)
        if self.variant == "published_code":
            for i, k in enumerate(order):
                parents[k] = sorted({*parents[k], *(j for j in order[:i] if self.weights_[j, k] > _PARENT_WEIGHT)})
        return order, parents

    def _tables(self, X: Any) -> Iterator[tuple[FactorTree, list[Array]]]:
        """The logarithms of p(y_k | pa_k, x) (n×2×…×2) by label, for some rows at a time."""
        tree = FactorTree.of(self.parents_)
        link_of = dict(zip(self.order_, self.links_, strict=True))
        n, step = X.shape[0], max(1, _CELLS // tree.size)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            tables = []
            for k, parents in enumerate(self.parents_):
                sets = np.array(list(product([0.0, 1.0], repeat=len(parents))))
                rows = np.repeat(np.arange(part.stop - part.start), len(sets))
                values = np.tile(sets, (part.stop - part.start, 1))
                z = link_of[k].log_odds_at(X[part], rows, values).reshape(-1, *(2,) * len(parents))
                tables.append(np.stack([log_expit(-z), log_expit(z)], axis=1))
            yield tree, tables

    def _labels(self, X: Any) -> NDArray[Any]:
        if self.variant == "published_code":
            return self._scores(X) > 0
        return np.vstack([tree.most_probable(tables) for tree, tables in self._tables(X)])

    def _scores(self, X: Any) -> Array:
        if self.variant == "published_code":
            return super()._scores(X)
        found = [tree.marginals(tables) for tree, tables in self._tables(X)]
        return np.vstack([each[:, :, 1] - each[:, :, 0] for each in found])

    def _probabilities(self, X: Any) -> Array:
        if self.variant == "published_code":
            return super()._probabilities(X)
        return np.asarray(expit(self._scores(X)))
