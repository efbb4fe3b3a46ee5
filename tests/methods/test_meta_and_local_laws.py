"""Laws that meta-labels, robust selection, local models and what stands beside them share, put to every one of them.

What holds for every registered method, such as the order of rows and of labels, is in `tests/testing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.classifiers.lift import LIFT
from mlcdr.methods.classifiers.llsf import LLSF
from mlcdr.methods.classifiers.mlsf import MLSF
from mlcdr.methods.classifiers.reader_le import ReaderLEClassifier
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.feature_space.csfs import CSFS
from mlcdr.methods.feature_space.f_score import FScore
from mlcdr.methods.feature_space.mifs import MIFS
from mlcdr.methods.feature_space.mlhsl import MLHSL
from mlcdr.methods.feature_space.opls import OPLS
from mlcdr.methods.feature_space.reader import READER
from mlcdr.methods.feature_space.rfs import RFS
from mlcdr.methods.feature_space.scca import SCCA
from mlcdr.methods.instance_space.cbmlc import CBMLC
from mlcdr.methods.instance_space.clmlc import CLMLC
from mlcdr.methods.instance_space.homer import HOMER
from mlcdr.methods.label_space.cssp import CSSP
from mlcdr.methods.label_space.faie import FaIE
from mlcdr.methods.label_space.reader_le import ReaderLE
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem

BR = BinaryRelevance(Ridge(0.1))


def steps(*features: Any) -> ComposedClassifier:
    return ComposedClassifier(BR, feature_space=list(features))


def codes(space: Any) -> ComposedClassifier:
    return ComposedClassifier(Ridge(0.1), label_space=space)


METHODS: dict[str, Any] = {
    "READER, constrained": steps(READER(5, algorithm="constrained", sigma=3.0, max_iter=5)),
    "READER, alternating": steps(READER(5, algorithm="alternating", sigma=3.0, max_iter=5, random_state=0)),
    "READER, improved": steps(READER(5, version="improved", sigma=3.0, max_iter=5)),
    "F-score": steps(FScore(5)),
    "RFS": steps(RFS(5)),
    "CSFS": steps(CSFS(5)),
    "MIFS": steps(MIFS(5, sigma=3.0, max_iter=10)),
    "SCCA": steps(SCCA(3)),
    "MLHSL": steps(MLHSL(3)),
    "OPLS": steps(OPLS(3, alpha=1.0)),
    "MLSF": MLSF(BR, size=6, gamma=2.0),
    "LIFT": LIFT(Ridge(0.1), random_state=0),
    "LLSF": LLSF(Ridge(0.1)),
    "READER-LE": codes(ReaderLE(3, sigma=3.0, max_iter=5)),
    "READER-LE, classifier": ReaderLEClassifier(3, sigma=3.0, max_iter=5),
    "FaIE": codes(FaIE(3)),
    "CSSP": codes(CSSP(3, random_state=0)),
    "CBMLC": CBMLC(BR, 3, random_state=0),
    "CLMLC": CLMLC(BR, 3, meta_labels=None, random_state=0),
    "HOMER": HOMER(BR, k=2, random_state=0),
}


def fitted(name: str, X: np.ndarray, Y: np.ndarray) -> Any:
    return clone(METHODS[name]).fit(X, Y)


@pytest.mark.parametrize("name", METHODS)
def test_duplicated_rows(name):
    """Some rows thrice: they count, and the copies are told the same."""
    X, Y = problem("plain")
    more = np.r_[np.arange(len(X)), np.repeat(np.arange(30), 2)]
    found = fitted(name, X[more], Y[more]).decision_function(X[more])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[len(X) :], found[np.repeat(np.arange(30), 2)], atol=1e-9)
    assert not np.allclose(found[: len(X)], fitted(name, X, Y).decision_function(X))


@pytest.mark.parametrize("name", METHODS)
def test_a_label_never_positive(name):
    X, Y = problem("plain")
    assert not fitted(name, X, Y).predict(X)[:, 4].any()
    for kept in ([0, 1, 2, 3, 5], [0, 4, 2]):
        assert fitted(name, X, Y[:, kept]).predict(X).shape == (len(X), len(kept))


OTHERWISE = pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="the learner gets the completed rows, too, which have hardly a label"
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[OTHERWISE] * (name == "READER-LE")) for name in METHODS])
def test_all_rows_unlabelled_but_one(name):
    """What is predicted is that row's label set: there is nothing else to learn from."""
    X, Y = problem("plain")
    i = int(np.flatnonzero(Y.sum(axis=1) == 2)[0])
    moments = Moments.from_arrays(X[[i]], Y[[i]]).with_unlabelled(np.delete(X, i, axis=0))
    found = clone(METHODS[name]).fit_moments(moments).predict(X)
    if found.shape != Y.shape or not np.isin(found, (0, 1)).all():
        pytest.fail("no label sets")
    np.testing.assert_array_equal(found[[i]], Y[[i]])
