"""What every estimator is given: masked arrays, and features whose products are no numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.classifiers.dismec import DiSMEC
from mlcdr.methods.classifiers.llsf import LLSF
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.feature_space.mifs import MIFS
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.numerics.entry import LARGEST, as_binary, as_texts, check_magnitude
from tests.methods.problems import as_sparse, problem

X, Y = problem("plain")
COMPOSED = ComposedClassifier(Ridge(), label_space=PLST())


@pytest.mark.parametrize("estimator", [BinaryRelevance(), COMPOSED, MIFS()], ids=["classifier", "composed", "step"])
def test_what_is_masked_is_missing(estimator):
    """NumPy's own conversion shows the values below the mask."""
    mask = np.zeros(X.shape, dtype=bool)
    mask[0, 0] = True
    with pytest.raises(ValueError, match="X contains NaN"):
        estimator.fit(np.ma.masked_array(X, mask), Y)
    mask = np.zeros(Y.shape, dtype=bool)
    mask[0, 0] = True
    with pytest.raises(ValueError, match="y: row 1: label 'label1' has no value"):
        estimator.fit(X, np.ma.masked_array(Y, mask))
    estimator.fit(np.ma.masked_array(X), np.ma.masked_array(Y))


@pytest.mark.parametrize("make", [np.asarray, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize(("unit", "told"), [(2.0**300, "products overflow"), (2.0**-1000, "products vanish")])
def test_features_whose_products_are_no_numbers_are_refused(make, unit, told):
    """Each estimator would be wrong in its own way: no end, other labels, or a raw error."""
    for estimator in (BinaryRelevance(), COMPOSED, MIFS()):
        with pytest.raises(ValueError, match=told):
            estimator.fit(make(X * unit), Y)


@pytest.mark.parametrize("make", [np.asarray, as_sparse], ids=["dense", "sparse"])
def test_the_feature_is_named_whose_products_are_no_numbers(make):
    negative = np.array([[1.0, -2e80], [0.5, -1e80]])
    with pytest.raises(ValueError, match=r"as large as 2e\+80 \(feature 1\)"):
        check_magnitude(make(negative))
    tiny = np.array([[1.0, 1e-80, -1e-90], [0.5, 0.0, 0.0]])
    with pytest.raises(ValueError, match="feature 1 of X are no larger than 1e-80"):
        check_magnitude(make(tiny))


def test_texts_are_one_column_of_strings():
    for given in (["a", "b"], [["a"], ["b"]]):
        assert as_texts(given).tolist() == [["a"], ["b"]]
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        as_texts([["a", "b"]])
    with pytest.raises(ValueError, match="row 1 of X is float, not a text"):
        as_texts(["a", 1.5])


@pytest.mark.parametrize("present", [0, 1])
def test_a_vector_with_one_of_two_values_means_absent_or_present(present):
    sets, values, is_vector = as_binary(np.full(3, present), 3)
    assert sets.tolist() == [[present]] * 3
    assert values.tolist() == [0, 1]
    assert is_vector


def test_a_row_with_one_tiny_value_is_predicted():
    model = BinaryRelevance().fit(X, Y)
    row = X[:1].copy()
    row[0, 0] = 1e-200
    assert model.predict(row).shape == (1, Y.shape[1])
    with pytest.raises(ValueError, match="products overflow"):
        model.predict(row * 1e200)


def test_the_largest_features_are_fitted():
    """LIBLINEAR does not end where a square of a sum of squares is infinite."""
    for estimator in (LinearSVM(), DiSMEC(), LLSF()):
        ComposedClassifier(estimator).fit(X / np.abs(X).max() * LARGEST, Y)
