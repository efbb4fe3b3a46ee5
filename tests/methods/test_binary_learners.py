"""What the classifiers of one label share: labels that never vary, and what is no label."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mlcdr import HingeSVM, LinearSVM, LogisticRegression
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem

EVERY = pytest.mark.parametrize("cls", [LinearSVM, HingeSVM, LogisticRegression])


@EVERY
@pytest.mark.parametrize("always", [0, 1])
def test_a_label_that_never_varies_is_certain(cls, always):
    X, _ = problem("plain")
    y = np.full(len(X), always)
    for model in (cls().fit(X, y), cls().fit(X[:1], y[:1]), cls().fit_moments(Moments.from_arrays(X, y[:, None]))):
        np.testing.assert_array_equal(model.predict(X), y)
        if cls is LogisticRegression:
            assert (model.predict_proba(X).max(axis=1) == 1).all()
        else:
            assert np.all(model.decision_function(X) == (1e300 if always else -1e300))
        assert not model.coef_.any()


@EVERY
def test_what_is_no_label_is_refused(cls):
    X, Y = problem("plain")
    with pytest.raises(ValueError, match="3 values"):
        cls().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="fits one label, not 2: make it the estimator of binary relevance"):
        cls().fit_moments(Moments.from_arrays(X, Y[:, :2]))


def test_hinge_svm_ends_on_features_that_are_not_scaled():
    """LIBSVM by itself has a limit, which scikit-learn takes away."""
    X, Y = problem("plain")
    with pytest.warns(ConvergenceWarning):
        HingeSVM(max_iter=1000).fit(X * 1e6, Y[:, 0])
