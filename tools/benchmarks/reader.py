"""READER's Algorithm 13 with sparse Laplacians beside the same iteration with dense ones, in one run.

    python -m tools.benchmarks reader [--data DATASET...]

For a data set with labels on all of its rows, and on half, CPU seconds of an iteration of

ours    `mlcdr.methods.feature_space.reader.alternating`: V by a sparse factorisation, X̃ᵀL_xX̃ made once;
dense   (6.37) of Sun 2017 as it is printed, with L_x, L_y and the features as dense matrices;
once    the same, but with X̃ᵀL_xX̃ made once, too: what is left to the sparse factorisation of H_n + γL_y alone.

Medians; the objectives must agree.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.feature_space.reader import READER, alternating
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.moments import Moments
from tools.benchmarks.measuring import timed
from tools.benchmarks.ratios import Ratio

LEAST = {1.0: 5.0, 0.5: -np.inf}  # times ours, by the share of rows with labels
ITERATIONS = 6
ALPHA, BETA, GAMMA, SIGMA = 1.0, 0.1, 10.0, float(np.sqrt(2))


def dense_iterations(X, everything, Lx, Ly, W, made_once: bool) -> tuple[list[float], list[float]]:
    """Seconds and objectives of the iterations with dense matrices."""
    hn, hm = np.ones(len(X)), np.ones(X.shape[1])
    kept = everything.T @ Lx @ everything
    seconds, objective = [], []
    for _ in range(ITERATIONS):
        start = time.process_time()
        V = scipy.linalg.solve(np.diag(hn) + GAMMA * Ly, hn[:, None] * (X @ W), assume_a="pos")
        manifold = kept if made_once else everything.T @ Lx @ everything
        matrix = X.T @ (hn[:, None] * X) + ALPHA**2 * np.diag(hm) + BETA * manifold
        W = scipy.linalg.solve(matrix, X.T @ (hn[:, None] * V), assume_a="pos")
        residual = X @ W - V
        hn, hm = row_sparse.weights(residual), row_sparse.weights(W, ALPHA)
        value = row_sparse.norm(residual) + row_sparse.norm(ALPHA * W) + BETA * np.sum(W * (manifold @ W))
        objective.append(float(value + GAMMA * np.sum(V * (Ly @ V))))
        seconds.append(time.process_time() - start)
    return seconds, objective


def iteration(name: str, share: float) -> tuple[float, float, float]:
    """CPU seconds of an iteration: ours, dense, and dense with the manifold term made once.

    Raises
    ------
    AssertionError
        When they do not compute the same.
    """
    dataset = load_dataset(name)
    order = np.random.default_rng(0).permutation(dataset.n_instances)
    n_labelled = int(share * dataset.n_instances)
    labelled, rest = np.sort(order[:n_labelled]), np.sort(order[n_labelled:])
    moments = Moments.from_arrays(dataset.X[labelled], dataset.Y[labelled]).with_unlabelled(dataset.X[rest])
    problem = READER(alpha=ALPHA, beta=BETA, gamma=GAMMA, sigma=SIGMA)._problem(moments)
    k = max(1, int(0.3 * dataset.n_labels))
    start = np.random.default_rng(1).uniform(size=(dataset.n_features, k))
    ours = []
    for n in (1, 1 + ITERATIONS):  # the difference leaves out what is done once
        cost, (*_, found) = timed(alternating, problem, start, 0.0, n)
        ours.append(cost)
    X, everything = (
        as_dense(dataset.X[labelled]),
        as_dense(row_sparse.stacked(*map(dataset.X.__getitem__, (labelled, rest)))),
    )
    Lx = graphs.laplacian(graphs.heat_graph(everything, 5, SIGMA)).toarray()
    Ly = graphs.laplacian(graphs.label_graph(as_dense(dataset.Y[labelled]), 5)).toarray()
    dense, objective = dense_iterations(X, everything, Lx, Ly, start, False)
    once, _ = dense_iterations(X, everything, Lx, Ly, start, True)
    # later ones differ by what weights of 3e7 make of rounding
    np.testing.assert_allclose(found[:3], objective[:3], rtol=1e-4)
    return (ours[1] - ours[0]) / ITERATIONS, float(np.median(dense)), float(np.median(once))


def measure(name: str) -> list[Ratio]:
    """Measure one data set."""
    found = []
    for share, mark in LEAST.items():
        ours, dense, once = iteration(name, share)
        labelled = f"of READER, {share:.0%} of the rows with labels"
        found.append(Ratio(f"a dense iteration / ours, {labelled}", dense, ours, at_least=mark))
        found.append(Ratio(f"a dense one with the manifold term made once / ours, {labelled}", once, ours))
    return found
