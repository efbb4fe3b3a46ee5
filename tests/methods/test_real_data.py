"""Least squares from moments against NumPy's SVD on real data, label for label.

The features are raw: emotions, birds and flags hold scales from 1e-3 to 1e5; medical and genbase have more features
than instances; bibtex, birds and flags have linearly dependent ones; in small training sets features are constant.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr import CPLST, LeastSquares
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics import factorisation
from mlcdr.numerics.moments import Moments

SETS = ["emotions", "yeast", "scene", "genbase", "medical", "enron", "corel5k", "birds", "flags"]
LARGE = [pytest.param("bibtex", marks=pytest.mark.slow)]  # most of the computing; genbase and birds are dependent, too


@pytest.mark.parametrize("kept", [0.9, 0.2])
@pytest.mark.parametrize("name", [*SETS, *LARGE])
def test_same_labels_as_the_pseudo_inverse(real_dataset, name, kept):
    dataset = real_dataset(name)
    order = np.random.default_rng(2012).permutation(dataset.n_instances)
    cut = int(kept * dataset.n_instances)
    train, test = np.sort(order[:cut]), np.sort(order[cut:])
    moments = Moments.from_arrays(dataset.X, dataset.Y).without(test)
    scores = LeastSquares().fit_moments(moments).predict(dataset.X[test])

    X, Y = as_dense(dataset.X), as_dense(dataset.Y).astype(float)
    mean, offset = X[train].mean(0), Y[train].mean(0)
    weights, _, rank, _ = np.linalg.lstsq(X[train] - mean, Y[train] - offset, rcond=None)
    expected = (X[test] - mean) @ weights + offset

    assert factorisation.factor(moments).rank == rank
    np.testing.assert_allclose(scores, expected, atol=2e-6)
    # an exact tie at the threshold (medical's few rows give true halves) is nobody's to decide
    decided = np.abs(expected - 0.5) > 1e-9
    np.testing.assert_array_equal((scores > 0.5)[decided], (expected > 0.5)[decided])
    assert decided.mean() > 0.995


@pytest.mark.parametrize("name", ["emotions", "yeast", "genbase", "medical", "birds", "flags"])
def test_explained_scatter_is_that_of_the_pseudo_inverse(real_dataset, name):
    dataset = real_dataset(name)
    X, Y = as_dense(dataset.X)[:400], as_dense(dataset.Y)[:400].astype(float)
    x, z = X - X.mean(0), Y - Y.mean(0)
    hat = x @ np.linalg.pinv(x, rcond=1e-12)  # NumPy's default, 1e-15, keeps directions that are rounding
    space = CPLST().fit(dataset.X[:400], dataset.Y[:400])
    exact = np.linalg.eigvalsh(z.T @ hat @ z)[::-1]
    np.testing.assert_allclose(space.eigenvalues_, exact, atol=1e-6 * exact[0])
