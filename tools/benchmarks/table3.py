"""What a split of Chen & Lin 2012's Table 3 costs: ours, a plain loop, and a bare Cholesky factorisation, in one run.

    python -m tools.benchmarks table3 [--data DATASET...]

For each data set, on the same splits and one BLAS thread:

ours    the ten cells of a split (PLST, CPLST × five M) as a run computes them, from row numbers to Hamming losses;
loop    the same cells with scikit-learn's `LinearRegression` refitted for each method and M, and ZᵀHZ from `pinv`;
floor   LAPACK's Cholesky factorisation of the training set's d×d Gram matrix, and nothing else.

The Hamming losses of both must be the same. The peak memory is that of a process that computes ours and nothing else.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from sklearn.linear_model import LinearRegression

from mlcdr.execution.computing import Computer
from mlcdr.experiment.loading import experiment_from
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments
from tools.benchmarks.measuring import alone, peak_memory, timed, work_of
from tools.benchmarks.ratios import LOOP, Ratio

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
SPLITS = {"yeast": (30, 5), "enron": (10, 3), "bibtex": (5, 2)}  # in each round, and rounds (one loop in each)

LEAST_SPEED_UP = {"yeast": 100.0, "enron": 1000.0, "bibtex": 750.0}  # of ours over the loop
MOST_FLOORS = {"enron": 4.0, "bibtex": 4.0}  # ours in bare factorisations
MOST_MEMORY = {"bibtex": 600.0}  # MB


def experiment(name: str, repeats: int):
    """Table 3's experiment on one data set."""
    return experiment_from(
        {
            "name": "benchmark",
            "datasets": [name],
            "splits": {"kind": "shuffle", "repeats": repeats, "train_size": 0.9, "seed": 2012},
            "metrics": ["hamming_loss"],
            "sweep": {"label_space.n_components": [f"{share:.0%}" for share in SHARES]},
            "methods": {
                "PLST": {"label_space": "plst", "learner": "least_squares"},
                "CPLST": {"label_space": "cplst", "learner": "least_squares"},
            },
        }
    )


def prepared(name: str, repeats: int):
    """The data set, its splits, and the work of each; what is summed over the whole data set is made once for all."""
    data, work = work_of(experiment(name, repeats + 1))
    computer = Computer(data)
    computer.compute(work.pop())
    return data.dataset, data.splits, work, computer


def loop(X, Y, train, test) -> list[float]:
    """The ten cells of a split by a plain loop."""
    mean = Y[train].mean(axis=0)
    z = Y[train] - mean
    x = X[train] - X[train].mean(axis=0)
    losses = []
    for explained in (z.T @ z, (z.T @ x) @ (np.linalg.pinv(x, rcond=1e-12) @ z)):
        directions = np.linalg.eigh(explained)[1][:, ::-1].T
        for share in SHARES:
            v = directions[: n_kept(share, Y.shape[1])]
            codes = LinearRegression().fit(X[train], z @ v.T).predict(X[test]).reshape(len(test), -1)
            losses.append(float(np.mean((codes @ v + mean > 0.5) != (Y[test] > 0))))
    return losses


def floor(matrix) -> None:
    """One Cholesky factorisation, in place."""
    _, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    assert info == 0


def gram(moments: Moments):
    """The training set's Gram matrix, made safely positive definite."""
    matrix = np.asfortranarray(moments.xx)
    matrix[np.diag_indices_from(matrix)] += 1e-3 * np.trace(matrix) / len(matrix)
    return matrix


def memory(name: str) -> float:
    """Peak memory, MB, of a process that computes three splits."""
    *_, work, computer = prepared(name, 3)
    for group in work:
        computer.compute(group)
    return peak_memory()


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When the two ways disagree on a Hamming loss.
    """
    repeats, rounds = SPLITS.get(name, (5, 1))
    dataset, splits, work, computer = prepared(name, repeats)
    X, Y = as_dense(dataset.X), as_dense(dataset.Y).astype(float)
    whole = Moments.from_arrays(dataset.X, dataset.Y)
    floors, seconds, loop_seconds = [], [], []
    for i in range(rounds):  # in rounds, so that a slow minute of the machine is slow for all
        for split in splits[:repeats]:
            floors.append(timed(floor, gram(whole.without(split.test)))[0])
        for group in work:  # one after the other, as in a run
            cost, scores = timed(lambda group: computer.compute(group).results, group)
            seconds.append(cost)
            if group.split == i:
                found = [score.values["hamming_loss"] for score in scores]
        cost, expected = timed(loop, X, Y, splits[i].train, splits[i].test)
        loop_seconds.append(cost)
        # where rounding decides a cell the two may differ in it; in no more than two of a million
        assert np.allclose(found, expected, atol=2e-6), (name, found, expected)
    ours, theirs, bare = (float(np.median(each)) for each in (seconds, loop_seconds, floors))
    return [
        Ratio(LOOP, theirs, ours, at_least=LEAST_SPEED_UP.get(name, -np.inf)),
        Ratio("ours / a bare Cholesky factorisation", ours, bare, at_most=MOST_FLOORS.get(name, np.inf)),
        Ratio("peak memory", alone(memory, name), unit="MB", at_most=MOST_MEMORY.get(name, np.inf)),
    ]
