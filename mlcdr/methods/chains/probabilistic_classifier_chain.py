"""The learner `probabilistic_classifier_chain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.utils._param_validation import HasMethods

from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.chains.links import Array
from mlcdr.methods.constraints import COUNT, FRACTION, SEED, one_of, parameter
from mlcdr.methods.contracts import LEAST_LOG
from mlcdr.methods.learners.logistic_regression import LogisticRegression

_MOST_EXACT = 15
_MOST_NODES = 2**18


def check_search(search: str, n_labels: int) -> None:
    """Raise a ValueError where an exact search is requested for too many labels."""
    if search == "exact" and n_labels > _MOST_EXACT:
        raise ValueError(
            f"an exact search is for {_MOST_EXACT} labels at most, found {n_labels}; take a beam or epsilon"
        )


class ProbabilisticClassifierChain(ClassifierChain):
    """Probabilistic classifier chain (PCC): the most probable label set, or the most probable labels, of a chain.

    Sources: Dembczyński, Cheng & Hüllermeier 2010; Kumar, Vembu, Menon & Elkan 2013 (beam search); Dembczyński,
    Waegeman & Hüllermeier 2012 (ε-approximate search); Sun 2017, (2.5) and (2.7).

    ŷ = argmax_y p(y | x) with p(y | x) = Π_k p(y_k | x, y_1, …, y_(k−1)), (2.5) and (2.7); the links are a chain's.

    Label sets are grown label by label, along the chain, for all instances at once, and the search determines which of
    them are extended further. "exact": all 2^K. "beam": the `width` most probable of each instance. "epsilon": the
    extensions of probability at least ε; a label set that has none keeps its more probable extension only. It finds the
    most probable label set if this has at least probability ε, and grows at most 2/ε label sets per instance.

    The probability of a label is its marginal; for an inexact search, the marginal over the label sets found. Its score
    is the logarithm of the odds of the marginal.

    Cost: K fits of the estimator, to d, …, d + K − 1 features; for a new instance the label sets that are grown, 2^K,
    `width` or 2/ε, times K²/2 (with logistic regression; K predictions for each with another estimator).

    Parameters
    ----------
    estimator : estimator or None
        A binary classifier that has `predict_proba`. None: logistic regression.
    random_state : int, RandomState instance or None
        The seed of a random order.
    search : {"auto", "exact", "beam", "epsilon"}
        "auto": exact for 15 labels at most, a beam for more.
    minimise : {"subset_zero_one", "hamming"}
        The loss whose expectation is minimised: the most probable label set, or the labels with probability above ½.
        (For an inexact search: among the label sets found.)
    width : int
        How many label sets a beam holds, at most.
    epsilon : float
        ε.

    Attributes
    ----------
    order_ : list of int
        The labels in the chain's order.
    links_ : list of Link
        The models, in the chain's order.
    """

    _default: ClassVar[type] = LogisticRegression
    estimator: Any = parameter(None, [HasMethods(["fit", "predict_proba"]), None])
    order: Sequence[int] | str | None = parameter(None, [*one_of("random"), "array-like", None])
    random_state: Any = parameter(None, SEED)
    search: str = parameter("auto", one_of("auto", "exact", "beam", "epsilon"), check=check_search)
    minimise: str = parameter("subset_zero_one", one_of("subset_zero_one", "hamming"))
    width: int = parameter(10, COUNT)
    epsilon: float = parameter(0.05, FRACTION)

    def _fit_links(self, estimator: Any, moments: Any) -> None:
        check_search(self.search, moments.n_labels)
        super()._fit_links(estimator, moments)

    def _scores(self, X: Any) -> Array:
        return self._searched(X)[2]

    def _labels(self, X: Any) -> NDArray[Any]:
        most_probable, marginals, _ = self._searched(X)
        return marginals > 0.5 if self.minimise == "hamming" else most_probable

    def _probabilities(self, X: Any) -> Array:
        return self._searched(X)[1]

    def _searched(self, X: Any) -> tuple[Array, Array, Array]:
        """The most probable label sets, the probabilities of the labels and their log odds (n×K each).

        The log odds are those of the two sums, not of p and 1 − p, which loses the order of labels that are certain.
        """
        n, K = X.shape[0], len(self.links_)
        search = self.search
        if search == "auto":
            search = "exact" if K <= _MOST_EXACT else "beam"
        each = {"exact": 2.0**K, "beam": 2.0 * self.width, "epsilon": min(2.0**K, 2 / self.epsilon)}[search]
        step = max(1, int(_MOST_NODES / each))
        best, marginals, odds = np.empty((n, K)), np.empty((n, K)), np.empty((n, K))
        for start in range(0, n, step):
            part = slice(start, start + step)
            rows, predicted, logs = self._grown(X[part], search)
            first = np.searchsorted(rows, np.arange(rows[-1] + 1))
            best[part, self.order_] = predicted[np.lexsort((-logs, rows))[first]]
            weights = np.exp(logs - np.maximum.reduceat(logs, first)[rows])
            shares = weights / np.add.reduceat(weights, first)[rows]
            present = np.add.reduceat(shares[:, None] * predicted, first)
            absent = np.add.reduceat(shares[:, None] * (1 - predicted), first)
            marginals[part, self.order_] = np.minimum(present, 1.0)
            with np.errstate(divide="ignore"):
                logs_of_odds = np.log(present) - np.log(absent)
            odds[part, self.order_] = np.clip(logs_of_odds, LEAST_LOG, -LEAST_LOG)
        return best, marginals, odds

    def _grown(self, X: Any, search: str) -> tuple[NDArray[np.intp], Array, Array]:
        """The label sets at which a search ends: the row of X (m,), the labels (m×K) in the chain's order, log p (m,).

        Sorted by row; within a row, label sets without a label come before those with it, by the first label that
        differs.
        """
        rows, predicted, logs = np.arange(X.shape[0]), np.empty((X.shape[0], 0)), np.zeros(X.shape[0])
        for link in self.links_:
            z = link.log_odds_at(X, rows, predicted)
            grown = (logs[:, None] + log_expit(np.column_stack([-z, z]))).ravel()
            rows = np.repeat(rows, 2)
            if search == "beam":
                order = np.lexsort((-grown, rows))
                rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
                kept = np.sort(order[rank < self.width])
            elif search == "epsilon":
                pairs = grown.reshape(-1, 2)
                kept = np.flatnonzero(self._grows(pairs))
            else:
                kept = np.arange(len(rows))
            predicted = np.column_stack([predicted[kept // 2], kept % 2])
            rows, logs = rows[kept], grown[kept]
        return rows, predicted, logs

    def _grows(self, pairs: Array) -> NDArray[np.bool_]:
        """Which of the two extensions (m×2) of each label set the ε-approximate search keeps."""
        probable = pairs >= np.log(self.epsilon)
        dead = ~probable.any(axis=1)
        probable[dead, np.argmax(pairs[dead], axis=1)] = True
        return probable.ravel()
