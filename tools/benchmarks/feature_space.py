"""What MVMD costs beside its eigenproblem: moments and directions, in full eigendecompositions, in one run.

    python -m tools.benchmarks.feature_space [DATASET...]

For each data set's train part, on one BLAS thread:

ours    MVMD with the paper's parameters, from the rows to its directions: S, C, the eigenvectors, their number;
floor   `scipy.linalg.eigh` of a dense symmetric d×d matrix (all vectors), and nothing else.

The two are measured in turn, a few times. Prints the medians and their ratio; the eigenvalues must be those of `floor`.
Exit code 1 if a ratio misses its mark.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.feature_space.mvmd import MVMD
from mlcdr.numerics.moments import Moments

ROUNDS = {"bibtex": 3}
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


def timed(function):
    """CPU seconds, and what the function gives."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def measure(name: str) -> tuple[float, float, int, int]:
    """CPU seconds of ours and of the floor (medians), d, and the number of dimensions found.

    Raises
    ------
    AssertionError
        When the eigenvalues are not those of the floor.
    """
    X, Y = train_part(name)
    matrix = scatter(X, Y)
    ours, floor = [], []
    for _ in range(ROUNDS.get(name, 5)):
        cost, fitted = timed(lambda: MVMD({"eigenvalues": 0.999}).fit_moments(Moments.from_arrays(X, Y)))
        ours.append(cost)
        cost, (values, _) = timed(lambda: scipy.linalg.eigh(matrix))
        floor.append(cost)
    exact = values[::-1][: fitted.n_positive_]
    assert np.allclose(fitted.eigenvalues_, exact, rtol=1e-8, atol=1e-10 * exact[0]), name
    return float(np.median(ours)), float(np.median(floor)), X.shape[1], fitted.n_components_


def main(names: list[str]) -> int:
    """Measure and print."""
    misses = []
    with threadpool_limits(1):
        print(f"{'CPU s, MVMD':<16}{'d':>6}{'kept':>6}{'ours':>9}{'floor':>9}{'ours/floor':>12}")
        for name in names or MOST_FLOORS:
            ours, floor, d, kept = measure(name)
            print(f"{name:<16}{d:>6}{kept:>6}{ours:>9.3f}{floor:>9.3f}{ours / floor:>12.2f}", flush=True)
            most = MOST_FLOORS.get(name, np.inf)
            if ours / floor > most:
                misses.append(f"{name}: {ours / floor:.2f} eigendecompositions, wanted {most:.1f} at most")
    print("\n".join(f"missed: {each}" for each in misses) or "every mark is met")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
