"""LIBSVM with the products of rows formed once for all labels, against scikit-learn's `SVC` for each label, in one run.

    python -m tools.benchmarks.hinge_svm [DATASET...]

Binary relevance on four fifths of the rows: CPU seconds of both, their ratio, and how many predictions of the rows
left out differ, which must be none. Without names: rcv1s1.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mlcdr
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.learners.hinge_svm import HingeSVM
from tools.benchmarks.table3 import timed


def main() -> int:
    differ = 0
    for name in sys.argv[1:] or ["rcv1s1"]:
        data = mlcdr.load_dataset(name)
        rows = np.random.default_rng(0).permutation(data.n_instances)
        test, train = np.split(rows, [data.n_instances // 5])
        X, Y = data.X[train], data.Y[train]
        seconds, predicted = [], []
        for estimator in (HingeSVM(), SVC(kernel="linear")):
            took, model = timed(BinaryRelevance(estimator).fit, X, Y)
            seconds.append(took)
            predicted.append(model.predict(data.X[test]))
        here = int((predicted[0] != predicted[1]).sum())
        differ += here
        ours, theirs = seconds
        print(f"{name}: ours {ours:.1f} s, SVC {theirs:.1f} s, ratio {theirs / ours:.1f}, {here} predictions differ")
    return int(differ > 0)


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
