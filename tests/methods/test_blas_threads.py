"""One or two BLAS threads, through the library: the same scores but for rounding, and so the same label sets.

BLAS divides a sum among its threads, so the last digits may differ (a run of the bench gives BLAS one thread and
never sees this). What that does to a score is bounded here by TOLERANCE of the largest one, the most seen being some
3e-13; a label changes only where a score is as near as that to its threshold.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from mlcdr import CPLST, DDSR, MVMD, OCCA, PCA, PLST, ComposedClassifier, KernelRidge, LabelCCA, LeastSquares, Ridge

TOLERANCE = 1e-9

METHODS = {
    "least squares": ComposedClassifier(LeastSquares()),
    "PLST": ComposedClassifier(Ridge(1.0), PLST(8)),
    "CPLST": ComposedClassifier(LeastSquares(), CPLST(8)),
    "OCCA": ComposedClassifier(LeastSquares(), OCCA(8)),
    "PCA": ComposedClassifier(Ridge(1.0), feature_space=[PCA(30)]),
    "MVMD": ComposedClassifier(Ridge(1.0), feature_space=[MVMD(30)]),
    "CCA": ComposedClassifier(Ridge(1.0), feature_space=[LabelCCA(10)]),
    "DDSR": ComposedClassifier(LeastSquares(), dual_space=DDSR(10)),
    "kernel ridge": ComposedClassifier(KernelRidge(0.1, gamma=1e-4)),
}


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Large enough for BLAS to divide the work; columns of unlike scales, some of them nearly collinear."""
    rng = np.random.default_rng(5)
    n, d, k = 400, 100, 20
    X = rng.normal(size=(n, d)) * np.logspace(-1, 0.5, d)
    X[:, 1] = X[:, 0] * 3 + 1e-3 * X[:, 2]
    scores = X / X.std(axis=0) @ rng.normal(size=(d, k)) / np.sqrt(d) + 0.3 * rng.normal(size=(n, k))
    Y = (scores > 0.8).astype(np.uint8)
    return X[:300], Y[:300], X[300:]


def fitted(name: str, problem: tuple[np.ndarray, ...], threads: int) -> tuple[np.ndarray, np.ndarray]:
    X, Y, X_test = problem
    with threadpool_limits(threads, user_api="blas"):
        if any(pool["num_threads"] != threads for pool in threadpool_info() if pool["user_api"] == "blas"):
            pytest.skip(f"this BLAS cannot be given {threads} threads")
        model = clone(METHODS[name]).fit(X, Y)
        return model.decision_function(X_test), model.predict(X_test)


@pytest.mark.parametrize("name", METHODS)
def test_scores_to_rounding_and_the_same_label_sets(name: str, problem: tuple[np.ndarray, ...]) -> None:
    (one, labels_of_one), (two, labels_of_two) = (fitted(name, problem, threads) for threads in (1, 2))
    assert 0 < labels_of_one.mean() < 1
    largest = np.abs(one).max()
    np.testing.assert_allclose(two, one, rtol=0, atol=TOLERANCE * largest)
    np.testing.assert_array_equal(labels_of_two, labels_of_one)
