"""LIBSVM with the products of rows formed once for all labels, against scikit-learn's `SVC` for each label, in one run.

    python -m tools.benchmarks hinge_svm [--data DATASET...]

Binary relevance on four fifths of the rows: CPU seconds of both. No prediction of the rows left out may differ.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

import mlcdr
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.learners.hinge_svm import HingeSVM
from tools.benchmarks.measuring import timed
from tools.benchmarks.ratios import Ratio


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When a prediction differs.
    """
    data = mlcdr.load_dataset(name)
    rows = np.random.default_rng(0).permutation(data.n_instances)
    test, train = np.split(rows, [data.n_instances // 5])
    X, Y = data.X[train], data.Y[train]
    ours, model = timed(BinaryRelevance(HingeSVM()).fit, X, Y)
    theirs, expected = timed(BinaryRelevance(SVC(kernel="linear")).fit, X, Y)
    differing = int((model.predict(data.X[test]) != expected.predict(data.X[test])).sum())
    assert differing == 0, f"{differing} predictions differ"
    return [Ratio("scikit-learn's SVC / ours, all labels", theirs, ours)]
