"""What rounding leaves of nothing is nothing: data on which directions, or all of them, are 0 in exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mlcdr import DMLDA, HSL, MDDM, MLSI, MVMD, OPLS, PCA, LabelCCA, SharedSubspace
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse
from tests.methods.test_feature_space import ALL

RNG = np.random.default_rng
DEPENDENCE = [
    MDDM(),
    MDDM(orthogonality="f"),
    MDDM(orthogonality="f", solver="implicit"),
    MDDM(orthogonality="f", beta=1.0),
    MDDM(kernel="rbf"),
    LabelCCA(),
    LabelCCA(label_alpha=0.0),
    OPLS(),
    OPLS(alpha=0.0),
    *(HSL(expansion=each) for each in ("clique", "star", "zhou")),
    SharedSubspace(),
    SharedSubspace(beta=0.0),
    MVMD(beta=1.0),
    MVMD(3, beta=1.0, solver="implicit"),
    MLSI(beta=1.0, form="covariance"),
]


def rare(n_features):
    """Features of falling sizes, and one label, which the first seven rows have."""
    X = RNG(0).standard_normal((60, n_features)) * np.arange(n_features, 0, -1) + 0.3
    return X, (np.arange(60) < 7).astype(float)[:, None]


@pytest.mark.parametrize("n_features", [5, 90])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("present", [0, 1])
def test_labels_that_a_fold_leaves_constant(sparse, present, n_features):
    """Moments of the rows that stay and of the whole less the fold tell the same: exactly nothing."""
    X, _ = rare(n_features)
    Y = np.full((60, 2), present, dtype=np.uint8)
    Y[:7, 0] = 1 - present
    Y[::3, 1] = 1 - present
    X, Y = (as_sparse(X), sp.csr_array(Y)) if sparse else (X, Y)
    downdated, direct = Moments.from_arrays(X, Y).without(np.arange(12)), Moments.from_arrays(X[12:], Y[12:])
    for moments in (downdated, direct):
        assert moments.mean_y[0] == present
        assert not moments.xy[:, 0].any()
        assert not moments.yy[0].any()
        assert not moments.yy[:, 0].any()
        np.testing.assert_allclose(moments.label_spread(), np.diag(moments.yy), atol=1e-12)
    for name, estimator in ALL.items():
        found, expected = (clone(estimator).fit_moments(m) for m in (downdated, direct))
        assert found.n_positive_ == expected.n_positive_, name


@pytest.mark.parametrize("n_features", [5, 90])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", DEPENDENCE, ids=str)
def test_without_a_label_that_varies_there_is_no_dependence(estimator, sparse, n_features):
    X, Y = rare(n_features)
    X = as_sparse(X) if sparse else X
    for moments in (Moments.from_arrays(X, Y).without(np.arange(12)), Moments.from_arrays(X[12:], Y[12:])):
        found = clone(estimator).fit_moments(moments)
        assert found.n_components_ == 0
        assert np.isnan(found.eigenvalue_share_)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", DEPENDENCE, ids=str)
def test_features_uncorrelated_with_the_labels_by_design(estimator, sparse):
    """The label is the exclusive or of two binary features, and a third one has a use for none."""
    X = np.array([[1.0, 0.1, 0.2], [1.0, 0.3, 0.7], [-1.0, 0.1, 0.7], [-1.0, 0.3, 0.2]] * 5) * 0.1 + 0.7
    Y = np.tile([[1.0], [0.0], [0.0], [1.0]], (5, 1))
    X[:, 2] = np.repeat([0.3, 0.4, 0.1, 0.2, 0.9], 4)
    found = clone(estimator).set_params(n_components=2 if estimator.n_components else None)
    assert found.fit(as_sparse(X) if sparse else X, Y).n_components_ == 0


def test_mvmd_without_dependence_is_pca():
    X, Y = rare(5)
    moments, axes = Moments.from_arrays(X, Y).without(np.arange(12)), PCA().fit(X[12:])
    for solver, m in (("dense", None), ("implicit", 3)):
        found = MVMD(m, normalise=True, solver=solver).fit_moments(moments)
        np.testing.assert_allclose(found.components_, axes.components_[:m], atol=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1e3])
def test_dmlda_has_the_rank_of_its_scatter_between(alpha):
    """With weights of {0, 1}, only instances without a label count for S_b: here one of 60, and none."""
    X, Y = RNG(0).standard_normal((60, 8)), np.ones((60, 1))
    for rank in (0, 1, 3):
        Y[:rank] = 0
        Y[-1] = 1
        assert DMLDA(weights="binary", alpha=alpha).fit(X, np.c_[np.ones(60), Y]).n_components_ == rank


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_features", [12, 60])
@pytest.mark.parametrize("constant", [0.3, 1000.1])
def test_a_constant_feature_stays_constant_without_a_fold(constant, n_features, sparse):
    """Its spread is taken from a subtraction where d > n: 0 less what rounding makes of 0."""
    X = RNG(0).standard_normal((40, n_features))
    X[:, 5] = constant
    Y = (RNG(1).random((40, 3)) < 0.4).astype(float)
    for seed in range(5):
        out = RNG(seed).choice(40, 7, replace=False)
        downdated = Moments.from_arrays(as_sparse(X) if sparse else X, Y).without(out)
        assert downdated.mean_x[5] == constant
        assert downdated.spread()[5] == 0
        assert not downdated.xx[5].any()
        assert not downdated.xy[5].any()
        assert downdated.standardised().mean_x[5] == 0


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("mlda")])
@pytest.mark.parametrize("shape", [(20, 40), (20, 5)])
def test_labelled_rows_all_alike_tell_mlda_nothing(name, shape):
    X, Y = RNG(0).standard_normal(shape), np.zeros((shape[0], 2))
    X[3:7], Y[3:7, 0], Y[5, 1] = X[3], 1, 1
    for features in (X, as_sparse(X)):
        assert clone(ALL[name]).fit(features, Y).n_components_ == 0


@pytest.mark.parametrize("constant", [pytest.param(1e7, marks=pytest.mark.slow), 1.7e9])
@pytest.mark.parametrize("name", ALL)
def test_a_large_constant_feature_changes_nothing(name, constant):
    """Neither eigenvalues nor directions, in which it has no part; dense and sparse."""
    X = RNG(0).poisson(0.5, (120, 17)).astype(float)
    Y = (X[:, :4] + RNG(1).standard_normal((120, 4)) > 1.5).astype(float)
    expected = clone(ALL[name]).set_params(n_components=None).fit(X, Y)
    more = np.column_stack([X, np.full(120, constant)])
    for features in (more, as_sparse(more)):
        found = clone(ALL[name]).set_params(n_components=None).fit(features, Y)
        assert found.n_positive_ == expected.n_positive_
        np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
        assert np.abs(found.components_[:, -1]).max() < 1e-12


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", [PCA(), MVMD(), MDDM(), LabelCCA(), MLSI()], ids=str)
def test_a_constant_feature_beyond_all_precision_where_features_are_many(estimator, sparse):
    X = RNG(0).standard_normal((40, 90))
    Y = (X[:, :4] + RNG(1).standard_normal((40, 4)) > 0.5).astype(float)
    more = np.column_stack([X, np.full(40, 1e14)])
    found, expected = clone(estimator).fit(as_sparse(more) if sparse else more, Y), clone(estimator).fit(X, Y)
    assert found.n_positive_ == expected.n_positive_
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "estimator", [PCA(5, solver="implicit"), MVMD(5, solver="implicit"), OPLS(solver="implicit")], ids=str
)
def test_the_implicit_solvers_see_through_an_offset(estimator, sparse):
    Z = RNG(0).integers(-(2**10), 2**10, (300, 40)) / 2**10
    Y = (Z[:, :4] + RNG(1).standard_normal((300, 4)) > 0.5).astype(float)
    expected = clone(estimator).fit(Z, Y)
    X = Z + 2.0**27  # without rounding
    found = clone(estimator).fit(as_sparse(X) if sparse else X, Y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)


def test_rounding_in_an_indefinite_matrix_is_relative_to_its_largest_negative_eigenvalue():
    """Two pairs of opposites are each other's neighbours, and the others, in other directions, nobody's.

    So G has two eigenvalues below 0, and the others are 0.
    """
    X, Y = RNG(0).standard_normal((24, 6)), np.zeros((24, 2))
    X[4:, :2], X[:4, 2:], X[1, :2], X[3, :2] = 0, 0, -X[0, :2], -X[2, :2]
    X[4:] -= X[4:].mean(axis=0)
    X = X @ np.linalg.qr(RNG(1).standard_normal((6, 6)))[0]
    Y[0:2, 0], Y[2:4, 1] = 1, 1
    assert clone(ALL["mhsl"]).set_params(n_neighbors=1, n_components=None).fit(X, Y).n_components_ == 0
