"""Laws that meta-labels, robust selection, local models and what stands beside them share, put to every one of them.

Each method is set so that it draws no lots that go by the place of a row or a label, where that can be had; an
exception says why a law does not hold, and is held to as well (`xfail(strict=True)`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
from mlcdr.numerics.kmeans import SingleStartKMeans
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem

BR = BinaryRelevance(Ridge(0.1))


def steps(*features: Any) -> ComposedClassifier:
    return ComposedClassifier(BR, feature_space=list(features))


def codes(space: Any) -> ComposedClassifier:
    return ComposedClassifier(Ridge(0.1), label_space=space)


def first_rows(n: int, X: np.ndarray) -> SingleStartKMeans:
    return SingleStartKMeans(n, init=X[:n])


def clmlc(X: np.ndarray, Y: np.ndarray) -> CLMLC:
    """CLMLC from given centres: the images of rows that no order changes."""
    start = CLMLC(BR, 1, meta_labels=None).fit(X, Y)._encode(X)
    start = start[np.lexsort(np.abs(start).T)][:3]
    return CLMLC(BR, 3, meta_labels=None, clusterer=SingleStartKMeans(3, init=start))


def cbmlc(X: np.ndarray, Y: np.ndarray) -> CBMLC:
    return CBMLC(BR, 3, clusterer=first_rows(3, X[np.lexsort(X.T)]))


def always(make: Callable[[], Any]) -> Callable[[np.ndarray, np.ndarray], Any]:
    return lambda X, Y: make()


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "READER, constrained": always(lambda: steps(READER(5, algorithm="constrained", sigma=3.0, max_iter=5))),
    "READER, alternating": always(
        lambda: steps(READER(5, algorithm="alternating", sigma=3.0, max_iter=5, random_state=0))
    ),
    "READER, improved": always(lambda: steps(READER(5, version="improved", sigma=3.0, max_iter=5))),
    "F-score": always(lambda: steps(FScore(5))),
    "RFS": always(lambda: steps(RFS(5))),
    "CSFS": always(lambda: steps(CSFS(5))),
    "MIFS": always(lambda: steps(MIFS(5, sigma=3.0, max_iter=10))),
    "SCCA": always(lambda: steps(SCCA(3))),
    "MLHSL": always(lambda: steps(MLHSL(3))),
    "OPLS": always(lambda: steps(OPLS(3, alpha=1.0))),
    "MLSF": always(lambda: MLSF(BR, size=6, gamma=2.0)),
    "LIFT": always(lambda: LIFT(Ridge(0.1), random_state=0)),
    "LLSF": always(lambda: LLSF(Ridge(0.1))),
    "READER-LE": always(lambda: codes(ReaderLE(3, sigma=3.0, max_iter=5))),
    "READER-LE, classifier": always(lambda: ReaderLEClassifier(3, sigma=3.0, max_iter=5)),
    "FaIE": always(lambda: codes(FaIE(3))),
    "CSSP": always(lambda: codes(CSSP(3, random_state=0))),
    "CBMLC": cbmlc,
    "CLMLC": clmlc,
    "HOMER": always(lambda: HOMER(BR, k=2, random_state=0)),
}
TIES = "of equally near label sets, or rows, those that come first are neighbours"
LOTS = "lots are drawn by place"
EXCEPTIONS: dict[str, dict[str, str]] = {
    "labels": {
        "MLSF": "a label set is ranked as a binary number, of which the labels are the digits",
        **dict.fromkeys(["LIFT", "CSSP", "HOMER"], LOTS),
    },
    "rows": {**dict.fromkeys([name for name in METHODS if name.startswith(("READER", "MLHSL"))], TIES), "LIFT": LOTS},
    "one row": {"READER-LE": "the learner gets the completed rows, too, which have hardly a label"},
}


def every(law: str) -> Any:
    exceptions = EXCEPTIONS.get(law, {})
    assert set(exceptions) <= set(METHODS)
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason=exceptions[name]))
            if name in exceptions
            else name
            for name in METHODS
        ],
    )


def scores(name: str, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return METHODS[name](X, Y).fit(X, Y).decision_function(new)


@every("labels")
def test_order_of_labels(name):
    X, Y = problem("plain")
    order = np.random.default_rng(0).permutation(Y.shape[1])
    np.testing.assert_allclose(scores(name, X, Y[:, order], X), scores(name, X, Y, X)[:, order], atol=1e-6)


@every("rows")
def test_order_of_rows(name):
    X, Y = problem("plain")
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(scores(name, X[order], Y[order], X), scores(name, X, Y, X), atol=1e-6)


@every("duplicated rows")
def test_duplicated_rows(name):
    """Some rows thrice: they count, and the copies are told the same."""
    X, Y = problem("plain")
    more = np.r_[np.arange(len(X)), np.repeat(np.arange(30), 2)]
    found = scores(name, X[more], Y[more], X[more])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[len(X) :], found[np.repeat(np.arange(30), 2)], atol=1e-9)
    assert not np.allclose(found[: len(X)], scores(name, X, Y, X))


@every("never positive")
def test_a_label_never_positive(name):
    X, Y = problem("plain")
    found = METHODS[name](X, Y).fit(X, Y).predict(X)
    assert not found[:, 4].any()
    for kept in ([0, 1, 2, 3, 5], [0, 4, 2]):
        assert METHODS[name](X, Y[:, kept]).fit(X, Y[:, kept]).predict(X).shape == (len(X), len(kept))


@every("one row")
def test_all_rows_unlabelled_but_one(name):
    """What is predicted is that row's label set: there is nothing else to learn from."""
    X, Y = problem("plain")
    i = int(np.flatnonzero(Y.sum(axis=1) == 2)[0])
    model = METHODS[name](X[[i]], Y[[i]])
    model.fit_moments(Moments.from_arrays(X[[i]], Y[[i]]).with_unlabelled(np.delete(X, i, axis=0)))
    found = model.predict(X)
    if found.shape != Y.shape or not np.isin(found, (0, 1)).all():
        pytest.fail("no label sets")
    np.testing.assert_array_equal(found[[i]], Y[[i]])
