"""What MLkNN costs: ours and scikit-multilearn-ng's, in one run.

    pip install scikit-multilearn-ng
    python -m tools.benchmarks.mlknn [DATASET...]

k = 10, s = 1, four fifths of the rows for training, a training instance among its own neighbours, as it is there. Label
sets must be the same where no instance has two others equally far away at the end of its ten (emotions, scene, yeast);
elsewhere scikit-multilearn's neighbours depend on the search it takes, and the labels that differ are counted; with
one more feature, random and small, that leaves no such ties, they must be the same again. CPU seconds of fitting and
predicting, one BLAS thread. Exit code 1 if a ratio misses its mark.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.classifiers.mlknn import MLkNN
from mlcdr.numerics.sums import dense

DATASETS = ("emotions", "scene", "yeast", "medical", "enron")
WITHOUT_TIES = ("emotions", "scene", "yeast")

LEAST_SPEED_UP = 3.0


def timed(make, X, Y, new, repeats):
    """The least CPU seconds of some repeats, and the label sets."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = make().fit(X, Y).predict(new)
        seconds.append(time.process_time() - start)
    return min(seconds), dense(found)


def without_ties(X):
    """The same rows with one feature more, of random values below a thousandth."""
    return sp.csr_array(sp.hstack([X, 1e-3 * np.random.default_rng(7).random((X.shape[0], 1))]))


def label_sets(Theirs, X, Y, train, test):
    """Ours and theirs."""
    ours = MLkNN(include_itself=True).fit(X[train], dense(Y[train])).predict(X[test])
    theirs = Theirs(k=10).fit(sp.csr_matrix(X[train]), Y[train]).predict(sp.csr_matrix(X[test]))
    return ours, dense(theirs)


def main(names: tuple[str, ...]) -> int:
    """Measure and print.

    Raises
    ------
    AssertionError
        When a label differs where there are no ties.
    """
    try:
        from skmultilearn.adapt import MLkNN as Theirs
    except ImportError:
        print("mlknn: nothing to compare with; pip install scikit-multilearn-ng")
        return 0

    missed = []
    print("CPU s                 ours   theirs  theirs/ours  labels that differ")
    for name in names:
        dataset = load_dataset(name)
        order = np.random.default_rng(2012).permutation(dataset.n_instances)
        test, train = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
        X, Y = dataset.X, sp.csr_matrix(dataset.Y)
        with threadpool_limits(1):
            ours, found = timed(lambda: MLkNN(include_itself=True), X[train], dense(Y[train]), X[test], 3)
            rows = [sp.csr_matrix(X[part]) if sp.issparse(X) else X[part] for part in (train, test)]
            theirs, expected = timed(lambda: Theirs(k=10), rows[0], Y[train], rows[1], 2)
        differing = int(np.sum(found != expected))
        assert differing == 0 or name not in WITHOUT_TIES, f"{name}: {differing} labels differ"
        if name not in WITHOUT_TIES:
            assert np.array_equal(*label_sets(Theirs, without_ties(X), Y, train, test)), f"{name}: labels differ"
        print(f"{name:<18}{ours:8.3f} {theirs:8.3f} {theirs / ours:12.1f}  {differing} of {found.size}")
        if theirs / ours < LEAST_SPEED_UP:
            missed.append(f"{name}: {theirs / ours:.1f} times faster, wanted {LEAST_SPEED_UP:.0f}")
    print("\n".join(f"missed: {each}" for each in missed) or "every mark is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or DATASETS))
