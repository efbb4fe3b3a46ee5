"""The implicit solvers: the dense routes' directions to eight digits, and no square matrix of either size."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import clone

from mlcdr import MDDM, MVMD, OPLS, PCA, LabelCCA
from mlcdr.methods.feature_space import dependence, implicit
from mlcdr.numerics import linalg, operators, principal, row_axes, sums
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

EVERY = [
    PCA(4),
    MVMD(4),
    MVMD(4, beta=0.9),
    MVMD(0.2, normalise=True),
    MDDM(4, "f"),
    MDDM(4),
    LabelCCA(4),
    LabelCCA(3, alpha=2.0, norm="unit"),
    OPLS(4, alpha=1.0),
]
EIGEN = [estimator for estimator in EVERY if isinstance(estimator, implicit.ImplicitFeatureSpace)]


def assert_agree(found, dense):
    """The same subspace to 1e-8 (sine of the largest angle), the same directions, eigenvalues and share."""
    m = dense.n_components_
    assert found.n_components_ == m
    angles = scipy.linalg.subspace_angles(found.components_.T, dense.components_.T)
    assert np.sin(angles).max() < 1e-8
    np.testing.assert_allclose(found.components_, dense.components_, atol=1e-7 * np.abs(dense.components_).max())
    np.testing.assert_allclose(found.eigenvalues_[:m], dense.eigenvalues_[:m], rtol=1e-9)
    assert found.eigenvalue_share_ == pytest.approx(dense.eigenvalue_share_, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if "scales" not in name])
@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_implicit_is_dense(estimator, name):
    X, Y = problem(name)
    dense = clone(estimator).set_params(solver="dense").fit(X, Y)
    more = np.vstack([X, 3 + X[:7]]), np.vstack([Y, 1 - Y[:7]])
    out = np.arange(len(X), len(X) + 7)
    for moments in (
        Moments.from_arrays(X, Y),
        Moments.from_arrays(as_sparse(X), sp.csr_array(Y)),
        Moments.from_arrays(*more).without(out),
        Moments.from_arrays(as_sparse(more[0]), more[1]).without(out),
    ):
        found = clone(estimator).set_params(solver="implicit").fit_moments(moments)
        if name == "mostly dependent":  # four directions vary at all: no more can be found
            assert found.n_components_ == min(dense.n_components_, 4)
        assert_agree(found, dense)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_no_square_matrix_is_formed(estimator, sparse, monkeypatch):
    """Chosen by shape alone, on a problem of 260 rows and 220 features, with the limits brought down to it."""
    rng = np.random.default_rng(0)
    X = sp.random_array((260, 220), density=0.1, rng=rng, format="csr") * 3.0
    X = X if sparse else X.toarray()
    Y = (X @ rng.standard_normal((220, 6)) > 0.5).astype(np.uint8)
    estimator = clone(estimator)
    if estimator.n_components == 0.2:
        estimator.set_params(n_components=0.05)
    dense = clone(estimator).fit_moments(Moments.from_arrays(X, Y))
    monkeypatch.setattr(implicit, "LANCZOS_FROM", 200)
    monkeypatch.setattr(operators, "GRADIENTS_FROM", 200)
    moments = Moments.from_arrays(X, Y)
    scatter = sums.scatter
    monkeypatch.setattr(sums, "outer", lambda *_: pytest.fail("the n×n side is formed"))
    monkeypatch.setattr(sums, "scatter", lambda a, m: scatter(a, m) if a.shape[1] == 6 else pytest.fail("S is formed"))
    assert_agree(clone(estimator).fit_moments(moments), dense)


def test_of_common_sizes_only_few_directions_of_sparse_rows_take_the_implicit_one():
    """About the size and the density of bibtex: for more directions, or dense rows, one decomposition is cheaper."""
    rng = np.random.default_rng(0)
    Y = np.zeros((7395, 2))
    rows = Moments.from_arrays(sp.random_array((7395, 1836), density=0.037, rng=rng, format="csr"), Y)
    for n_components, m in ((10, 10), (0.02, 36), (200, None), (None, None), ({"eigenvalues": 0.9}, None)):
        assert PCA(n_components)._number(rows) == m
    dense = Moments.from_arrays(np.zeros((1200, 1100)), np.zeros((1200, 2)))
    assert PCA(1)._number(dense) is None


def test_large_sizes_take_the_implicit_one():
    moments = Moments.from_arrays(np.zeros((6000, 5000)), np.zeros((6000, 2)))
    for n_components, m in ((500, 500), (501, None), (0.01, 50), (None, None), ({"eigenvalues": 0.9}, None)):
        assert PCA(n_components)._number(moments) == m
        assert PCA(n_components, solver="dense")._number(moments) is None


def test_without_rows_there_is_nothing_to_apply(monkeypatch):
    monkeypatch.setattr(implicit, "LANCZOS_FROM", 10)
    moments = Moments.from_arrays(*problem("plain"))
    assert MVMD(1)._number(moments) == 1
    assert MVMD(1)._number(moments.settled()) is None


@pytest.mark.parametrize("estimator", EIGEN, ids=str)
def test_what_the_implicit_solver_knows(estimator):
    """It finds as many as are asked for, and knows their share of all there are."""
    X, Y = problem("plain")
    found = clone(estimator).set_params(n_components=3, solver="implicit").fit(X, Y)
    assert found.eigenvalues_.shape == (3,)
    assert found.n_positive_ == found.n_components_ == 3
    constant = clone(estimator).set_params(n_components=3, solver="implicit").fit(np.ones((9, 5)), Y[:9])
    assert constant.n_components_ == 0
    assert np.isnan(constant.eigenvalue_share_)


@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_solvers_do_not_take_each_others_results(estimator, monkeypatch):
    """On the same moments, where what is computed is kept."""
    moments, calls = Moments.from_arrays(*problem("plain")), []
    for module, name in ((implicit, "lanczos"), (dependence, "solve_by_gradients")):
        solve = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, solve=solve: calls.append(1) or solve(*a))
    dense = clone(estimator).set_params(solver="dense").fit_moments(moments)
    assert not calls
    assert_agree(clone(estimator).set_params(solver="implicit").fit_moments(moments), dense)
    assert len(calls) == (estimator.get_params().get("orthogonality") != "p")


def test_what_the_implicit_solvers_ask_for():
    X, Y = problem("plain")
    for n_components in (None, 17, 1.0, {"eigenvalues": 0.9}):
        with pytest.raises(ValueError, match="needs n_components, a number below that of the features"):
            PCA(n_components, solver="implicit").fit(X)
    for estimator in (LabelCCA(alpha=0.0, solver="implicit"), MDDM(None, "f", beta=1.0, solver="implicit")):
        with pytest.raises(ValueError, match="needs a ridge above 0"):
            estimator.fit(X, Y)
    with pytest.raises(ValueError, match="needs kernel='linear'"):
        MDDM(kernel="rbf", solver="implicit").fit(X, Y)
    with pytest.raises(ValueError, match="no longer have their rows"):
        PCA(2, solver="implicit").fit_moments(Moments.from_arrays(X, Y).settled())


def test_where_they_do_not_converge(monkeypatch):
    """What was asked for by name fails; what was chosen by shape goes to the dense solver."""
    X, Y = problem("plain")

    def fails(*_, **__):
        raise linalg.IllConditioned("no")

    for module, limit, solver, estimators in (
        (implicit, "LANCZOS_FROM", "lanczos", [PCA(1), MVMD(1)]),
        (operators, "GRADIENTS_FROM", "conjugate_gradients", [LabelCCA(1), OPLS(1)]),
    ):
        monkeypatch.setattr(module, limit, 10)
        monkeypatch.setattr(module, solver, fails)
        for estimator in estimators:
            dense = clone(estimator).set_params(solver="dense").fit(X, Y)
            np.testing.assert_array_equal(clone(estimator).fit(X, Y).components_, dense.components_)
            with pytest.raises(linalg.IllConditioned):
                clone(estimator).set_params(solver="implicit").fit(X, Y)


def test_conjugate_gradients_solve_and_tell_when_they_cannot():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 60))
    A = A @ A.T * np.outer(s := 10.0 ** rng.integers(-3, 4, 40), s)  # badly scaled: the diagonal takes care of that
    B = np.column_stack([A @ rng.standard_normal((40, 3)), np.zeros(40)])
    found = operators.conjugate_gradients(lambda v: A @ v, np.diag(A), B)
    np.testing.assert_allclose(found * s[:, None], np.linalg.solve(A, B) * s[:, None], rtol=1e-9, atol=1e-9)
    asked = []
    again = operators.conjugate_gradients(lambda v: asked.append(v) or A @ v, np.diag(A), B, 1e-10, start=found)
    np.testing.assert_array_equal(again, found)
    assert len(asked) == 1  # it begins at the solution
    start = np.ones_like(B)
    elsewhere = operators.conjugate_gradients(lambda v: A @ v, np.diag(A), B, start=start)
    np.testing.assert_allclose(elsewhere * s[:, None], found * s[:, None], rtol=1e-9, atol=1e-9)
    assert (elsewhere[:, 3] == 0).all()
    assert (start == 1).all()
    with pytest.raises(linalg.IllConditioned, match="do not converge in 3 rounds"):
        operators.conjugate_gradients(lambda v: A @ v, np.diag(A), B, most=3)


def test_lanczos_tells_when_it_cannot(monkeypatch):
    eigsh = scipy.sparse.linalg.eigsh
    monkeypatch.setattr(operators, "eigsh", lambda *a, **k: eigsh(*a, **{**k, "maxiter": 1, "ncv": 6}))
    values = np.linspace(1.0, 1.1, 300)[:, None]
    with pytest.raises(linalg.IllConditioned, match="does not converge"):
        operators.lanczos(lambda v: values * v, 300, 4)


def test_lanczos_tells_when_it_overlooks_some(monkeypatch):
    """Of 50 equal eigenvalues it may find 39: it has all that are asked for or says so, as ARPACK's version has it."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((450, 400))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    scales = np.linspace(1.0, 0.3, 400)
    scales[:50] = np.sqrt(5)
    X = (U * scales) @ np.linalg.qr(rng.standard_normal((400, 400)))[0].T
    for n in (45, 60, 70):
        with contextlib.suppress(linalg.IllConditioned):
            found = PCA(n, solver="implicit").fit(X).eigenvalues_
            np.testing.assert_allclose(found, scales[:n] ** 2, rtol=1e-8)
    monkeypatch.setattr(linalg, "overlooked", lambda *_: True)
    with pytest.raises(linalg.IllConditioned, match="overlooks some of an eigenvalue that repeats"):
        PCA(60, solver="implicit").fit(X)


@pytest.mark.parametrize("name", NAMES)
def test_one_thin_svd_serves_all_who_want_principal_axes(name, monkeypatch):
    """PCA, MVMD and IDSR where d > n; and PCA's axes are IDSR's."""
    from mlcdr.methods.dual_space.idsr import IDSR

    X, Y = problem(name)
    for features in (X, as_sparse(X)):
        moments = Moments.from_arrays(features, Y)
        calls = []
        thin = row_axes._thin_svd
        monkeypatch.setattr(row_axes, "_thin_svd", lambda *a: calls.append(1) or thin(*a))  # noqa: B023
        axes, space = PCA().fit_moments(moments), IDSR().fit_moments(moments)
        MVMD().fit_moments(moments)
        monkeypatch.setattr(row_axes, "_thin_svd", thin)
        assert len(calls) == (name == "wide")
        m = min(axes.n_components_, len(space.feature_variances_))
        values = axes.eigenvalues_[:m]
        np.testing.assert_allclose(values, space.feature_variances_[:m], rtol=1e-9, atol=1e-14 * values[0])
        if "scales" not in name:
            np.testing.assert_allclose(axes.components_[:m], space.feature_directions_.T[:m], atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_few_directions_of_wide_rows_need_no_decomposition(sparse, monkeypatch):
    """As OCC wants its one; NumPy's SVD of the centred rows says which."""
    rng = np.random.default_rng(2)
    X = (rng.random((520, 640)) < 0.05) * rng.standard_normal((520, 640)).round(1) + 0.3 * rng.integers(0, 2, 640)
    _, s, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    monkeypatch.setattr(row_axes, "svd_of_rows", None)
    monkeypatch.setattr(row_axes, "thin_svd", None)
    for n in (1, 3):
        moments = Moments.from_arrays(as_sparse(X) if sparse else X, np.ones((520, 1)))
        values, directions = principal.principal_directions(moments, n)
        np.testing.assert_allclose(values, s[:n] ** 2, rtol=1e-12)
        np.testing.assert_allclose(np.abs(np.sum(directions * right[:n], axis=1)), 1.0, atol=1e-12)
        assert np.all(directions[np.arange(n), np.argmax(np.abs(directions), axis=1)] > 0)


@pytest.mark.parametrize("kind", ["constant", "rank one", "repeats"])
def test_where_few_directions_of_wide_rows_want_a_decomposition_after_all(kind):
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((640, 510)))[0].T
    X = {
        "constant": lambda: np.full((510, 640), 0.7),
        "rank one": lambda: np.outer(np.arange(510.0), Q[0]),
        "repeats": lambda: np.eye(510) @ Q,
    }[kind]()
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    values, directions = principal.principal_directions(Moments.from_arrays(X, np.ones((510, 1))), 3)
    assert len(values) == {"constant": 1, "rank one": 1, "repeats": 3}[kind]
    np.testing.assert_allclose(values, s[: len(values)] ** 2, rtol=1e-10, atol=1e-12 * 510)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        centred.T @ (centred @ directions.T), directions.T * values, atol=1e-9 * max(values[0], 1)
    )
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(values)), atol=1e-12)
