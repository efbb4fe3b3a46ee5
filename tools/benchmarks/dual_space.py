"""What the grid of Pacharawongsakda & Theeramunkong 2012 costs: IDSR on enron, D × K', ours and a plain loop.

    python -m tools.benchmarks dual_space

Ten folds, the 25 cells of each (D and K' from 20 % to 100 %), one BLAS thread:

ours    a fold's cells as a run computes them, from row numbers to metrics: median of the ten folds;
loop    each cell by itself with NumPy and SciPy: eigenvectors of the covariances, `lstsq` with an intercept, the search
        for each label's threshold, prediction; of the first fold.

The label sets of both must be the same, cell by cell.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.linalg

from mlcdr.execution.computing import Computer
from mlcdr.experiment.estimators import build
from mlcdr.experiment.loading import experiment_from
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.moments import Moments
from tools.benchmarks.measuring import timed, work_of
from tools.benchmarks.ratios import Ratio

SHARES = ("20%", "40%", "60%", "80%", "100%")
FOLDS = 10
LEAST_SPEED_UP = 30.0


def experiment(name):
    """The grid of IDSR on a data set."""
    return experiment_from(
        {
            "name": "benchmark",
            "datasets": [name],
            "splits": {"kind": "kfold", "folds": FOLDS, "repeats": 1, "seed": 2012},
            "metrics": ["hamming_loss", {"macro_f1": {"of": "mean_precision_recall"}}, "accuracy", "zero_one_loss"],
            "sweep": {"dual_space.n_features": list(SHARES), "dual_space.n_labels": list(SHARES)},
            "methods": {
                "IDSR": {
                    "dual_space": "idsr",
                    "learner": {"least_squares": {"rank_deficient": "drop_aliased"}},
                    "threshold": {"maximise": "f1"},
                }
            },
        }
    )


def cut_of(scores, y):
    """The threshold of one label with the highest F1: midway between the lowest score predicted and the next."""
    if not y.any():
        return np.inf
    order = np.argsort(-scores)
    ranked, hits = scores[order], np.cumsum(y[order])
    f1 = 2 * hits / (np.arange(1, len(y) + 1) + hits[-1])
    f1[:-1][ranked[:-1] - ranked[1:] <= 1e-12 * np.abs(ranked).max()] = 0
    best = int(np.argmax(f1))
    return -np.inf if best == len(y) - 1 else (ranked[best] + ranked[best + 1]) / 2


def cell(X, Y, new, n_features, n_labels):
    """Label sets of new instances, for one D and K'."""
    U = scipy.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :n_features]
    V = scipy.linalg.eigh(np.cov(Y.T))[1][:, ::-1][:, :n_labels]
    A, B = (np.column_stack([np.ones(len(rows)), rows @ U]) for rows in (X, new))
    W = scipy.linalg.lstsq(A, Y @ V)[0]
    scores = A @ W @ V.T
    cuts = np.array([cut_of(scores[:, k], Y[:, k]) for k in range(Y.shape[1])])
    return (cuts < B @ W @ V.T).astype(np.uint8)


def loop(X, Y, train, test):
    """The cells of a fold by a plain loop, in the order of the sweep."""
    shares = [float(share[:-1]) / 100 for share in SHARES]
    d, K = X.shape[1], Y.shape[1]
    sizes = itertools.product(shares, repeat=2)
    return [cell(X[train], Y[train], X[test], round(p * d), round(q * K)) for p, q in sizes]


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When a label set or a Hamming loss differs.
    """
    data, work = work_of(experiment(name))
    dataset, computer = data.dataset, Computer(data)
    computer.compute(work[0])  # what is summed over the whole data set is made once for all
    folds = [timed(computer.compute, group) for group in work]
    split, test = data.splits[0], dataset.X[data.splits[0].test]
    X, Y = as_dense(dataset.X), as_dense(dataset.Y).astype(float)
    theirs, expected = timed(loop, X, Y, split.train, split.test)
    moments = Moments.from_arrays(dataset.X, dataset.Y).without(split.test)
    for trial, score, labels in zip(work[0].trials, folds[0][1].results, expected, strict=True):
        model = build(trial.spec).fit_moments(moments)
        assert np.array_equal(model.labels_of(model.output(test)), labels), trial.point
        wrong = float(np.mean(labels != Y[split.test]))
        assert score.values is not None, score.error
        assert abs(score.values["hamming_loss"] - wrong) < 1e-12, trial.point
    ours = float(np.median([seconds for seconds, _ in folds]))
    return [Ratio("25 cells of IDSR one by one / ours, a fold", theirs, ours, at_least=LEAST_SPEED_UP)]
