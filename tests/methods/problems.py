"""Small problems of every awkward shape, for the laws that each method must obey."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def problem(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features X (n×d) and labels Y (n×K) of {0, 1}."""
    rng = np.random.default_rng(seed)
    n, d, k = (40, 90, 6) if name == "wide" else (120, 17, 6)
    X = rng.standard_normal((n, d))
    if name == "dependent":
        X[:, 5] = X[:, 1] - 2 * X[:, 2]
        X[:, 9] = X[:, 9].mean()
        X[:, 12] = X[:, 3]
    if name == "mostly dependent":
        X = X[:, :4] @ rng.standard_normal((4, d))
    if name == "scales":
        X *= 10.0 ** rng.integers(-2, 6, d)
        X += 10
    if name == "scales, dependent":
        X *= 10.0 ** rng.integers(-3, 5, d)
        X[:, 7] = X[:, 6] * 1e-3 + X[:, 8]
    if name == "sparse counts":
        X = rng.poisson(0.2, (n, d)).astype(float)
        X[:, 4] = 0
    scores = X[:, :3] @ rng.standard_normal((3, k)) / (1 + np.abs(X[:, :3]).max())
    Y = (scores + rng.standard_normal((n, k)) * 0.5 > 0.3).astype(np.uint8)
    Y[:, 4] = 0  # a label never positive
    Y[::7] = 0  # instances without labels
    return X, Y


NAMES = ("plain", "dependent", "mostly dependent", "scales", "scales, dependent", "wide", "sparse counts")


def as_sparse(X: np.ndarray) -> sp.csr_array:
    """X as a CSR array."""
    return sp.csr_array(X)


# Parameters by class for what holds at any number of iterations, clusters and members, which take the time; and at any
# number of rows, where a default needs more of them.
QUICK = {
    **{name: {"max_iter": 3} for name in ("READER", "ReaderLE", "ReaderLEClassifier", "MIFS", "LIFT")},
    **{name: {"n_clusters": 2} for name in ("CBMLC", "CLMLC")},
    "Ensemble": {"n_members": 2},
    "Wrapper": {"folds": 2},
    "AdaBoostMH": {"n_rounds": 10},
    "PolytreeChain": {"max_parents": 2},
    "PPTMI": {"min_count": 1},
}
