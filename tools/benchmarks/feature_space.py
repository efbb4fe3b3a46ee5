"""What MVMD costs beside its eigenproblem: moments and directions, in full eigendecompositions, in one run.

    python -m tools.benchmarks feature_space [--data DATASET...]

For each data set's train part, on one BLAS thread:

ours    MVMD with the paper's parameters, from the rows to its directions: S, C, the eigenvectors, their number;
floor   `scipy.linalg.eigh` of a dense symmetric d×d matrix (all vectors), and nothing else.

The two are measured in turn, three times, of which the medians count. The eigenvalues must be those of `floor`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.feature_space.mvmd import MVMD
from mlcdr.numerics.moments import Moments
from tools.benchmarks.measuring import timed
from tools.benchmarks.ratios import Ratio

MOST_FLOORS = {"bibtex": 1.5}  # ours in bare eigendecompositions


def train_part(name: str):
    """The rows of the data set's own train file."""
    dataset = load_dataset(name, part="predefined")
    return dataset.X[: dataset.n_train], dataset.Y[: dataset.n_train]


def scatter(X, Y):
    """MVMD's matrix, by NumPy: (1 − β)S + βCCᵀ with labels ±1 and β = ½."""
    x, y = as_dense(X).astype(float), 2.0 * as_dense(Y)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    c = x.T @ y
    return (x.T @ x + c @ c.T) / 2


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When the eigenvalues are not those of the floor.
    """
    X, Y = train_part(name)
    matrix = scatter(X, Y)
    ours, floor = [], []
    for _ in range(3):
        cost, fitted = timed(lambda: MVMD({"eigenvalues": 0.999}).fit_moments(Moments.from_arrays(X, Y)))
        ours.append(cost)
        cost, (values, _) = timed(scipy.linalg.eigh, matrix)
        floor.append(cost)
    exact = values[::-1][: fitted.n_positive_]
    assert np.allclose(fitted.eigenvalues_, exact, rtol=1e-8, atol=1e-10 * exact[0]), name
    compared = f"MVMD / a bare eigendecomposition, d = {X.shape[1]}"
    return [Ratio(compared, np.median(ours), np.median(floor), at_most=MOST_FLOORS.get(name, np.inf))]
