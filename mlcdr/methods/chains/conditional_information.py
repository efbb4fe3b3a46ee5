"""I(Y_j; Y_k | X) of labels, estimated with classifiers on held-out instances (Sun 2017, (3.3))."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from mlcdr.methods.chains.links import Array, Link
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.numerics.moments import Moments


def conditional_information(
    estimator: Any, moments: Moments, selector: LocalSelector, held_out: NDArray[np.intp]
) -> Array:
    """I(Y_j; Y_k | X) in bits (K×K, symmetric, 0 on the diagonal).

    With f_j and f_(j|k) fitted to the other rows, the label's features and, in the latter, y_k, (3.3) is

        I_jk = mean over the held-out x of Σ_v p(y_k = v | x) KL(p(y_j | y_k = v, x) ‖ p(y_j | x)),

    never negative; here the mean of I_jk and I_kj, which estimate the same. A label that is constant in the rows of the
    fit has information 0. Cost: K² fits of the estimator; logistic regression starts f_(j|k) from f_j.

    Parameters
    ----------
    estimator : estimator
        A binary classifier that has `predict_proba`.
    moments : Moments
        A training set.
    selector : LocalSelector
        Gives the features that a label's classifiers use.
    held_out : array of int
        The rows that classifiers are not fitted to, and for which they predict.
    """
    X, Y = moments.rows()
    K = moments.n_labels
    rest = np.setdiff1d(np.arange(moments.n), held_out)
    fitted_to = Moments.from_arrays(X[rest], Y[rest])
    varies = [k for k in range(K) if 0 < fitted_to.mean_y[k] < 1]
    new = X[held_out]
    columns = {k: selector.alone(k) for k in varies}
    alone = {k: Link.fitted(estimator, fitted_to, k, (), columns[k]) for k in varies}
    log_odds = {k: alone[k].log_odds(new) for k in varies}
    rows = np.arange(len(held_out))
    found = np.zeros((K, K))
    for j in varies:
        for k in varies:
            if j != k:
                link = Link.fitted(estimator, fitted_to, j, [k], columns[j], alone[j])
                present = expit(log_odds[k])
                for weight, value in ((1 - present, 0.0), (present, 1.0)):
                    given = link.log_odds_at(new, rows, np.full((len(rows), 1), value))
                    found[j, k] += np.mean(weight * _divergence(given, log_odds[j]))
    return (found + found.T) / (2 * np.log(2))


def _divergence(given: Array, alone: Array) -> Array:
    """KL(p ‖ q) in nats of two Bernoulli distributions, given by their log-odds."""
    return np.asarray(
        expit(given) * (log_expit(given) - log_expit(alone)) + expit(-given) * (log_expit(-given) - log_expit(-alone))
    )
