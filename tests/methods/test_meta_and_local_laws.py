"""Laws that meta-labels, robust selection, local models and what stands beside them share, put to every one of them.

What holds for every registered method, such as the order of rows and of labels, is in `tests/testing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import mlcdr
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem

BR = mlcdr.BinaryRelevance(mlcdr.Ridge(0.1))


def steps(*features: Any) -> mlcdr.ComposedClassifier:
    return mlcdr.ComposedClassifier(BR, feature_space=list(features))


def codes(space: Any) -> mlcdr.ComposedClassifier:
    return mlcdr.ComposedClassifier(mlcdr.Ridge(0.1), label_space=space)


METHODS: dict[str, Any] = {
    "READER, constrained": steps(mlcdr.READER(5, algorithm="constrained", sigma=3.0, max_iter=5)),
    "READER, alternating": steps(mlcdr.READER(5, algorithm="alternating", sigma=3.0, max_iter=5, random_state=0)),
    "READER, improved": steps(mlcdr.READER(5, version="improved", sigma=3.0, max_iter=5)),
    "F-score": steps(mlcdr.FScore(5)),
    "RFS": steps(mlcdr.RFS(5)),
    "CSFS": steps(mlcdr.CSFS(5)),
    "MIFS": steps(mlcdr.MIFS(5, sigma=3.0, max_iter=10)),
    "MDFS": steps(mlcdr.MDFS(5, max_iter=10)),
    "MFS-MCDM": steps(mlcdr.MFSMCDM(5)),
    "MGFS": steps(mlcdr.MGFS(5)),
    "GRRO": steps(mlcdr.GRRO(5)),
    "SCCA": steps(mlcdr.SCCA(3)),
    "HSL": steps(mlcdr.HSL(3)),
    "MHSL": steps(mlcdr.MHSL(3)),
    "LPP": steps(mlcdr.LPP(3)),
    "shared subspace": steps(mlcdr.SharedSubspace(3)),
    "OPLS": steps(mlcdr.OPLS(3, alpha=1.0)),
    "MLSF": mlcdr.MLSF(BR, size=6, gamma=2.0),
    "LIFT": mlcdr.LIFT(mlcdr.Ridge(0.1), random_state=0),
    "LLSF": mlcdr.LLSF(mlcdr.Ridge(0.1)),
    "MLLEM": mlcdr.MLLEM(3),
    "READER-LE": codes(mlcdr.ReaderLE(3, sigma=3.0, max_iter=5)),
    "READER-LE, classifier": mlcdr.ReaderLEClassifier(3, sigma=3.0, max_iter=5),
    "FaIE": codes(mlcdr.FaIE(3)),
    "CSSP": codes(mlcdr.CSSP(3, random_state=0)),
    "BMaD": codes(mlcdr.BMaD(3)),
    "CBMLC": mlcdr.CBMLC(BR, 3, random_state=0),
    "CLMLC": mlcdr.CLMLC(BR, 3, meta_labels=None, random_state=0),
    "HOMER": mlcdr.HOMER(BR, k=2, random_state=0),
}


def fitted(name: str, X: np.ndarray, Y: np.ndarray) -> Any:
    return clone(METHODS[name]).fit(X, Y)


@pytest.mark.parametrize("name", METHODS)
def test_a_label_never_positive_is_never_predicted(name):
    X, Y = problem("plain")
    assert not fitted(name, X, Y).predict(X)[:, 4].any()
    for kept in ([0, 1, 2, 3, 5], [0, 4, 2]):
        assert fitted(name, X, Y[:, kept]).predict(X).shape == (len(X), len(kept))


@pytest.mark.parametrize("name", METHODS)
def test_all_rows_unlabelled_but_one(name):
    """What is predicted is that row's label set: there is nothing else to learn from."""
    X, Y = problem("plain")
    i = int(np.flatnonzero(Y.sum(axis=1) == 2)[0])
    moments = Moments.from_arrays(X[[i]], Y[[i]]).with_unlabelled(np.delete(X, i, axis=0))
    found = clone(METHODS[name]).fit_moments(moments).predict(X)
    if found.shape != Y.shape or not np.isin(found, (0, 1)).all():
        pytest.fail("no label sets")
    np.testing.assert_array_equal(found[[i]], Y[[i]])
