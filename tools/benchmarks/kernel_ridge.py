"""What tuned kernel ridge regression costs on yeast: ours and a plain loop over scikit-learn's, in one run.

    python -m tools.benchmarks kernel_ridge

Cross-validation on 5 folds for every pair of 5 γ and 10 α, with PLST and kernel-CPLST in each of the 14 numbers of
dimensions: 7,000 losses, and for each reducer the pair with the smallest sum of them (Chen & Lin 2012, section 4.3).

ours    a kernel matrix for each γ and a solve for each γ, α and fold, which serves both reducers and all numbers;
loop    scikit-learn's `KernelRidge` fitted anew for each loss, and once more for each matrix of kernel-CPLST.

The loop is timed for one γ and its seconds are multiplied by 5. For that γ its label sets must be ours, all of them;
for the others it is fitted to all labels at once, untimed, so that its choice can be compared.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from mlcdr.data.dataset import load_dataset
from mlcdr.numerics.kernels import Kernel, KernelRegression
from mlcdr.numerics.linalg import leading_eigenvectors
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense
from tools.benchmarks.measuring import timed
from tools.benchmarks.ratios import Ratio

GAMMAS = 2.0 ** np.arange(-1, 4)
ALPHAS = 2.0 ** np.arange(-7, 3)
TIMED = 2  # the γ for which the loop is timed
REDUCERS = 2  # PLST and kernel-CPLST

LEAST_SPEED_UP = 50.0


def ours(X, Y, folds):
    """Label sets by (γ, α, fold, reducer, M)."""
    found = {}
    whole = Moments.from_arrays(X, Y)
    for f, fold in enumerate(folds):
        training = whole.without(fold)
        for g, a in product(range(len(GAMMAS)), range(len(ALPHAS))):
            regression = KernelRegression(Kernel("gaussian", GAMMAS[g]), ALPHAS[a])
            predicted = regression.predict(X[fold], training.rows()[0], regression.coefficients(training))
            for r, matrix in enumerate((training.yy, regression.explained_scatter(training))):
                directions = leading_eigenvectors(matrix, len(matrix))[1]
                codes = predicted @ directions.T
                for m in range(len(directions)):
                    found[g, a, f, r, m] = codes[:, : m + 1] @ directions[: m + 1] + training.mean_y > 0.5
    return found


def directions_of(X, Z, gamma, alpha):
    """PLST's and kernel-CPLST's directions (K×K) on a training set."""
    fitted = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(X, Z).predict(X)
    product = Z.T @ fitted
    for matrix in (Z.T @ Z, product + product.T - fitted.T @ fitted):
        yield np.linalg.eigh(matrix)[1][:, ::-1].T


def loop(X, Y, folds, g, each=True):
    """The same for one γ; `each`: fitted for every reducer and M, else for all labels at once."""
    found = {}
    for a, alpha in enumerate(ALPHAS):
        for f, fold in enumerate(folds):
            train = np.delete(np.arange(len(X)), fold)
            mean = Y[train].mean(axis=0)
            Z = Y[train] - mean
            model = KernelRidge(alpha=alpha, kernel="rbf", gamma=GAMMAS[g])
            whole = None if each else model.fit(X[train], Z).predict(X[fold])
            for r, directions in enumerate(directions_of(X[train], Z, GAMMAS[g], alpha)):
                for m in range(Y.shape[1]):
                    v = directions[: m + 1]
                    codes = model.fit(X[train], Z @ v.T).predict(X[fold]) if whole is None else whole @ v.T
                    found[g, a, f, r, m] = codes @ v + mean > 0.5
    return found


def choices(found, Y, folds):
    """For each reducer the (γ, α) with the smallest sum of Hamming losses."""
    sums = np.zeros((REDUCERS, len(GAMMAS), len(ALPHAS)))
    for (g, a, f, r, _), labels in found.items():
        sums[r, g, a] += np.mean(labels != (Y[folds[f]] > 0)) / len(folds)
    return [np.unravel_index(np.argmin(each), each.shape) for each in sums]


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When the two ways disagree on a label set for the timed γ, or on a choice.
    """
    dataset = load_dataset(name)
    X, Y = dense(dataset.X), dense(dataset.Y)
    folds = np.array_split(np.random.default_rng(2012).permutation(len(X)), 5)
    seconds, found = timed(ours, X, Y, folds)
    plain_seconds, plain = timed(loop, X, Y, folds, TIMED)
    differing = sum(int(np.sum(found[key] != labels)) for key, labels in plain.items())
    assert differing == 0, f"{differing} labels differ for gamma = {GAMMAS[TIMED]}"
    for g in range(len(GAMMAS)):
        if g != TIMED:
            plain |= loop(X, Y, folds, g, each=False)
    chosen, expected = choices(found, Y, folds), choices(plain, Y, folds)
    assert chosen == expected, (chosen, expected)
    total = len(GAMMAS) * plain_seconds
    return [
        Ratio("a loop over scikit-learn's KernelRidge / ours, 7,000 losses", total, seconds, at_least=LEAST_SPEED_UP)
    ]
