"""The feature extractors: the papers' formulas by brute force, then laws that all obey, then oracles and real data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import sklearn.decomposition
from sklearn.base import clone

import mlcdr
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from mlcdr.methods.feature_space.instance_weights import fuzzy_weights
from mlcdr.methods.feature_space.linear import LinearFeatureSpace
from mlcdr.methods.feature_space.mhsl import neighbour_graph
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

# one of each method, and of each variant of it
ALL = {
    "pca": mlcdr.PCA(),
    "mddm p": mlcdr.MDDM(),
    "mddm f": mlcdr.MDDM(orthogonality="f"),
    "mddm f .9": mlcdr.MDDM(orthogonality="f", beta=0.9),
    "mddm p rbf": mlcdr.MDDM(kernel="rbf", gamma=0.2),
    "mddm f polynomial": mlcdr.MDDM(orthogonality="f", beta=0.7, kernel="polynomial", degree=2, coef0=0.5),
    "mvmd": mlcdr.MVMD(),
    "mvmd normalised": mlcdr.MVMD(normalise=True),
    "mvmd .2": mlcdr.MVMD(beta=0.2),
    "cca": mlcdr.LabelCCA(),
    "cca 1, 0": mlcdr.LabelCCA(alpha=1.0, label_alpha=0.0),
    "opls": mlcdr.OPLS(),
    "mlsi": mlcdr.MLSI(),
    "mlsi 1": mlcdr.MLSI(beta=1.0),
    "mlsi covariance": mlcdr.MLSI(form="covariance"),
    "mlda": mlcdr.MLDA(),
    "mlda entropy": mlcdr.MLDA(weights="entropy"),
    "mlda binary": mlcdr.MLDA(weights="binary", alpha=2.0),
    "mlda toolbox": mlcdr.MLDA(variant="mlc_toolbox"),
    "mlda fuzzy": mlcdr.MLDA(weights="fuzzy"),
    "mlda dependence": mlcdr.MLDA(weights="dependence"),
    "dmlda": mlcdr.DMLDA(),
    "dmlda binary": mlcdr.DMLDA(weights="binary", alpha=1.0),
    "dmlda dependence": mlcdr.DMLDA(weights="dependence"),
    "hsl": mlcdr.HSL(),
    "hsl star": mlcdr.HSL(expansion="star", alpha=1.0),
    "hsl zhou 0": mlcdr.HSL(expansion="zhou", alpha=0.0),
    "mhsl": mlcdr.MHSL(),
    "mhsl 3": mlcdr.MHSL(n_neighbors=3, alpha=0.1),
    "lpp": mlcdr.LPP(),
    "lpp 3": mlcdr.LPP(n_neighbors=3, alpha=1.0),
    "shared_subspace": mlcdr.SharedSubspace(),
    "shared_subspace 10": mlcdr.SharedSubspace(alpha=10.0, beta=0.01),
}
EVERY = [pytest.param(estimator, id=name) for name, estimator in ALL.items()]
LEADING = frozenset({type(estimator): name for name, estimator in reversed(ALL.items())}.values())  # one of each class


def every_in(*problems):
    """All on the first problem, one of each class on the others; with the slow tests all on all."""
    return pytest.mark.parametrize(
        ("estimator", "name"),
        [
            pytest.param(
                estimator,
                shape,
                id=f"{name}-{shape}",
                marks=[] if name in LEADING or shape == problems[0] else [pytest.mark.slow],
            )
            for name, estimator in ALL.items()
            for shape in problems
        ],
    )


def needs_rows(estimator):
    return (
        isinstance(estimator, mlcdr.MLDA | mlcdr.DMLDA | mlcdr.HSL | mlcdr.MHSL | mlcdr.LPP)
        or estimator.get_params().get("kernel", "linear") != "linear"
    )


# problems whose features have like scales: the others' d×d matrices are beyond what brute force can do
TAME = ("plain", "dependent", "mostly dependent", "wide", "sparse counts")


def pair_of(estimator, X, Y):
    """G and M (d×d) of G p = λ M p, straight from the definitions: labels ±1, n×n matrices and all."""
    n, d = X.shape
    labels = 2.0 * Y - 1
    H = np.eye(n) - np.ones((n, n)) / n
    x, y = H @ X, H @ labels
    S, B, eye = x.T @ x, x.T @ y @ y.T @ x, np.eye(d)
    p = estimator.get_params()
    match estimator:
        case mlcdr.PCA():
            return S, eye
        case mlcdr.MDDM(centred=False):
            metric = p["beta"] * X.T @ X + (1 - p["beta"]) * eye if p["orthogonality"] == "f" else eye
            return X.T @ Y.astype(float) @ Y.T @ X, metric
        case mlcdr.MDDM():
            L = np.array([[label_kernel(p, a, b) for b in labels] for a in labels])
            B = x.T @ L @ x
            return B, p["beta"] * S + (1 - p["beta"]) * eye if p["orthogonality"] == "f" else eye
        case mlcdr.MVMD(normalise=True):
            return (1 - p["beta"]) * S / np.trace(S) + p["beta"] * B / np.trace(B), eye
        case mlcdr.MVMD():
            return (1 - p["beta"]) * S + p["beta"] * B, eye
        case mlcdr.LabelCCA():
            ridge = p["alpha"] if p["label_alpha"] is None else p["label_alpha"]
            T = np.linalg.pinv(y.T @ y + ridge * np.eye(y.shape[1]), rcond=1e-12)
            return x.T @ y @ T @ y.T @ x, S + p["alpha"] * eye
        case mlcdr.OPLS():
            return B, S + p["alpha"] * eye
        case mlcdr.MLSI(form="covariance"):
            return (1 - p["beta"]) * S @ S + p["beta"] * B, S + p["alpha"] * eye
        case mlcdr.MLSI():
            K = (1 - p["beta"]) * x @ x.T + p["beta"] * y @ y.T + p["alpha"] * np.eye(n)
            return S, x.T @ np.linalg.solve(K, x) + p["alpha"] * eye
        case mlcdr.HSL():
            return x.T @ similarity_of(Y, p["expansion"]) @ x, S + p["alpha"] * eye
        case mlcdr.MHSL():
            return x.T @ graph_of(Y, p["n_neighbors"]) @ x, S + p["alpha"] * eye
        case mlcdr.LPP():
            W = neighbours_of(X, p["n_neighbors"])
            return x.T @ W @ x, x.T @ np.diag(W.sum(1)) @ x + p["alpha"] * eye
        case mlcdr.SharedSubspace():
            # M⁻¹, on the range of Xᵀ where nothing else makes M regular
            inverse = np.linalg.pinv(S / n + (p["alpha"] + p["beta"]) * eye)
            half = inverse @ x.T @ Y / n
            return half @ half.T, eye - p["alpha"] * inverse
        case mlcdr.DMLDA():
            W = weights_of(p["weights"], Y, X)
            columns = [k for k in range(W.shape[1]) if W[:, k].any()]
            within, against = np.zeros((d, d)), np.zeros((d, d))
            for k in columns:
                m_k = W[:, k] @ X / W[:, k].sum()
                for i in range(n):
                    scatter = np.outer(X[i] - m_k, X[i] - m_k)
                    within += W[i, k] * scatter
                    against += (1 - W[i, k]) * scatter
            return against, within + p["alpha"] * eye
        case mlcdr.MLDA():
            W = weights_of(p["weights"], Y, X)
            s = W.sum(1)
            columns = [k for k in range(W.shape[1]) if W[:, k].any()]
            within, between = np.zeros((d, d)), np.zeros((d, d))
            v = s * Y.sum(1) if p["variant"] == "mlc_toolbox" else s
            m = v @ X / v.sum()
            for k in columns:
                m_k = W[:, k] @ X / W[:, k].sum()
                within += (X - m_k).T @ (W[:, [k]] * (X - m_k))
                between += W[:, k].sum() * np.outer(m_k - m, m_k - m)
            return between, within + p["alpha"] * eye
    raise AssertionError(estimator)


def label_kernel(p, a, b):
    """The kernel of two label sets of ±1."""
    gamma = 1 / len(a) if p["gamma"] is None else p["gamma"]
    match p["kernel"]:
        case "linear":
            return a @ b
        case "rbf":
            return np.exp(-gamma * np.sum((a - b) ** 2))
        case "polynomial":
            return (gamma * a @ b + p["coef0"]) ** p["degree"]
    raise AssertionError(p)


def weights_of(kind, Y, X):
    """W (n×K), instance by instance."""
    W = Y.astype(float)
    if kind == "fuzzy":
        return fuzzy_of(W, X - X.mean(0))
    if kind == "dependence":
        return dependence_of(W, X - X.mean(0))
    length = np.linalg.norm(W, axis=0)
    cosine = np.array([[W[:, j] @ W[:, k] / max(length[j] * length[k], 1) for k in range(6)] for j in range(6)])
    for i, y in enumerate(Y.astype(float)):
        if y.any() and kind != "binary":
            W[i] = y / y.sum() if kind == "entropy" else cosine @ y / y.sum()
    return W


def fuzzy_of(Y, x):
    """Fuzzy c-means, as Xu's program goes about it: start from entropy weights, sums over n and all."""
    n, K = Y.shape
    W = np.array([y / max(y.sum(), 1) for y in Y])
    C = np.array([np.mean(W[:, [k]] * x, axis=0) for k in range(K)])
    for _ in range(100):
        for i in range(n):
            nearness = np.array([Y[i, k] / np.sum((x[i] - C[k]) ** 2) for k in range(K)])
            W[i] = nearness / nearness.sum() if nearness.any() else 0
        new = np.array([W[:, k] ** 2 @ x / np.sum(W[:, k] ** 2) if W[:, k].any() else 0 * C[k] for k in range(K)])
        # (a label without instances has its centre at 0 from the start)
        moved, C = np.linalg.norm(new - C), new
        if moved < 0.01:
            break
    return W


def dependence_of(Y, x):
    """Coordinate ascent on tr(WᵀQW) with Q (n×n) at hand, one instance after the other, until nothing changes."""
    Q = x @ x.T
    W = np.array([y / max(y.sum(), 1) for y in Y])
    changed = True
    while changed:
        changed = False
        for i, y in enumerate(Y):
            labels = np.flatnonzero(y)
            if len(labels) < 2:
                continue
            gains = [sum(Q[i, j] * W[j, k] for j in range(len(Y)) if j != i) for k in labels]
            new = np.eye(Y.shape[1])[labels[int(np.argmax(gains))]]
            if not np.array_equal(new, W[i]):
                W[i], changed = new, True
    return W


def similarity_of(Y, expansion):
    """D^(-½)WD^(-½) (n×n) of HSL, W label by label as the text says of each expansion."""
    W = np.zeros((len(Y), len(Y)))
    for y in Y.T.astype(float):
        size = max(y.sum(), 1)
        W += np.outer(y, y) * {"clique": 1, "star": 1 / size**2, "zhou": 1 / size}[expansion]
    degrees = W.sum(1)
    scale = np.array([0 if degree == 0 else degree**-0.5 for degree in degrees])
    return scale[:, None] * W * scale


def graph_of(Y, k):
    """D^(-½)WD^(-½) (n×n) of MHSL, row by row."""
    n, sets = len(Y), Y.astype(int)
    W = np.zeros((n, n))
    for i in range(n):
        differing = [(int(np.sum(sets[i] != sets[j])), j) for j in range(n)]
        for _, j in sorted(differing)[: k + 1]:
            if j != i and sets[i].any() and sets[j].any():
                W[i, j] = W[j, i] = sets[i] @ sets[j] / np.sqrt(sets[i].sum() * sets[j].sum())
    degrees = W.sum(1)
    scale = np.array([0 if degree == 0 else degree**-0.5 for degree in degrees])
    return scale[:, None] * W * scale


def neighbours_of(X, k):
    """W (n×n) of LPP, row by row, with weights of 1."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        apart = [(np.sum((X[i] - X[j]) ** 2), j) for j in range(n) if j != i]
        for _, j in sorted(apart)[:k]:
            W[i, j] = W[j, i] = 1
    return W


@every_in(*TAME)
def test_directions_solve_the_eigenproblem(estimator, name):
    X, Y = problem(name)
    G, M = pair_of(estimator, X, Y)
    basis = scipy.linalg.orth(M)  # of all directions, where M is regular
    exact = scipy.linalg.eigh(basis.T @ G @ basis, basis.T @ M @ basis, eigvals_only=True)[::-1]
    fitted = estimator.fit(X, Y)
    P, values = fitted.components_.T, fitted.eigenvalues_
    m = len(values)
    if isinstance(estimator, mlcdr.SharedSubspace):  # its directions are the same made orthonormal, in their order
        np.testing.assert_allclose(P.T @ P, np.eye(m), atol=1e-12)
        P = P @ np.linalg.inv(np.linalg.cholesky(P.T @ M @ P)).T
        P *= np.sign(P[np.abs(P).argmax(axis=0), np.arange(m)])
    assert m == fitted.n_components_ == fitted.n_positive_ == np.count_nonzero(exact > 1e-9 * exact[0])
    np.testing.assert_allclose(values, exact[:m], rtol=1e-6, atol=1e-9 * exact[0])
    np.testing.assert_allclose(P.T @ M @ P, np.eye(m), atol=1e-7)
    np.testing.assert_allclose(P.T @ G @ P, np.diag(values), atol=1e-7 * values[0])
    residual = np.linalg.norm(G @ P - M @ P * values, axis=0)
    assert residual.max() < 1e-7 * values[0] * np.linalg.norm(M @ P, axis=0).max()
    assert (P[np.abs(P).argmax(axis=0), np.arange(m)] > 0).all()


@pytest.mark.parametrize("estimator", EVERY)
def test_unit_norm_is_the_same_directions(estimator):
    X, Y = problem("plain")
    if "norm" not in estimator.get_params():
        pytest.skip("orthonormal by definition")
    metric = estimator.fit(X, Y).components_
    unit = clone(estimator).set_params(norm="unit").fit(X, Y).components_
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    np.testing.assert_allclose(unit, metric / np.linalg.norm(metric, axis=1, keepdims=True), atol=1e-12)


@every_in(*NAMES)
def test_transformed_moments_are_those_of_transformed_rows(estimator, name):
    X, Y = problem(name)
    moments = Moments.from_arrays(X, Y)
    fitted = estimator.fit_moments(moments)
    got, rows = fitted.transform_moments(moments), fitted.transform(X)
    np.testing.assert_allclose(got.rows()[0], rows, atol=1e-9 * np.abs(rows).max())
    z = rows - rows.mean(0)
    size = np.abs(z).max() * np.sqrt(len(z))
    np.testing.assert_allclose(got.xx, z.T @ z, atol=1e-9 * size**2)
    np.testing.assert_allclose(got.xy, z.T @ (Y - Y.mean(0)), atol=1e-8 * size)
    np.testing.assert_allclose(got.mean_x, rows.mean(0), atol=1e-9 * size)


@every_in(*TAME)
def test_dense_sparse_downdated_and_settled_moments_agree(estimator, name):
    X, Y = problem(name)
    reference = estimator.fit(X, Y)
    values, projected = reference.eigenvalues_, projector(reference)
    out = np.arange(len(X), len(X) + 9)
    whole = np.vstack([X, problem(name, seed=5)[0][:9]]), np.vstack([Y, problem(name, seed=5)[1][:9]])
    moments = [
        Moments.from_arrays(as_sparse(X), sp.csr_array(Y)),
        Moments.from_arrays(*whole).without(out),
        Moments.from_arrays(as_sparse(whole[0]), sp.csr_array(whole[1])).without(out),
    ]
    if not needs_rows(estimator):
        moments.append(Moments.from_arrays(X, Y).settled())
    for m in moments:
        fitted = estimator.fit_moments(m)
        np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-6, atol=1e-9 * values[0])
        np.testing.assert_allclose(projector(fitted), projected, atol=1e-8)
    if needs_rows(estimator):
        with pytest.raises(ValueError, match="no longer have their rows"):
            estimator.fit_moments(Moments.from_arrays(X, Y).settled())


def projector(fitted):
    """The orthogonal projector on the space of the directions."""
    Q = np.linalg.qr(fitted.components_.T)[0]
    return Q @ Q.T


# -------------------------------------------------------------------- identities


def test_pca_is_scikit_learns():
    for name in ("plain", "wide", "dependent"):
        X, Y = problem(name)
        ours = mlcdr.PCA().fit(X)
        oracle = sklearn.decomposition.PCA(n_components=ours.n_components_, svd_solver="full").fit(X)
        np.testing.assert_allclose(ours.eigenvalues_, oracle.explained_variance_ * (len(X) - 1), rtol=1e-9)
        np.testing.assert_allclose(np.abs(np.sum(ours.components_ * oracle.components_, axis=1)), 1, atol=1e-8)
        np.testing.assert_allclose(mlcdr.PCA().fit(X, Y).components_, ours.components_)


@pytest.mark.parametrize("name", TAME)
@pytest.mark.parametrize(
    "estimator",
    [
        *(mlcdr.MVMD(beta=0), mlcdr.MVMD(beta=1), mlcdr.MDDM(orthogonality="f", beta=0)),
        *(mlcdr.MLSI(beta=0), mlcdr.MLSI(beta=0, form="covariance")),
    ],
    ids=repr,
)
def test_the_limits_of_beta_solve_their_eigenproblem(estimator, name):
    test_directions_solve_the_eigenproblem(estimator, name)


def test_canonical_correlations_are_those_of_the_subspaces():
    """Without ridge, λ are the squared cosines of the angles between the ranges of X and Y_c."""
    X, Y = problem("plain")
    fitted = mlcdr.LabelCCA(alpha=0.0, label_alpha=0.0).fit(X, Y)
    varies = Y.std(0) > 0
    angles = scipy.linalg.subspace_angles(X - X.mean(0), (Y - Y.mean(0))[:, varies])
    np.testing.assert_allclose(np.sort(np.sqrt(fitted.eigenvalues_)), np.sort(np.cos(angles)), atol=1e-9)


# -------------------------------------------------------------------- weights and graphs


def test_an_instance_on_a_centre():
    """The first two instances have a label each to themselves, and so are its centre; the third has both labels."""
    Y = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0.0]])
    for X in (np.zeros((4, 2)), np.array([[1, 0], [1, 0], [1, 0], [5, 5.0]])):
        for features in (X, as_sparse(X)):
            np.testing.assert_allclose(fuzzy_weights(Y, features), [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 0]])


def test_the_toolboxs_order_of_eigenvalues():
    """MLC Toolbox takes the largest by magnitude, and D^½WD^½."""
    X, Y = problem("plain")
    x, W = X - X.mean(0), neighbour_graph(Y.astype(float), 10).toarray()
    root = np.sqrt(W.sum(1))
    G, M = x.T @ (root[:, None] * W * root) @ x, x.T @ x + np.eye(17)
    exact = scipy.linalg.eigh(G, M, eigvals_only=True)
    assert exact.min() < -0.1 * exact.max()
    fitted = mlcdr.MHSL(variant="mlc_toolbox").fit(X, Y)
    np.testing.assert_allclose(fitted.eigenvalues_, np.sort(np.abs(exact))[::-1], rtol=1e-9)
    P = fitted.components_.T
    np.testing.assert_allclose(P.T @ M @ P, np.eye(17), atol=1e-9)
    np.testing.assert_allclose(np.abs(P.T @ G @ P), np.diag(fitted.eigenvalues_), atol=1e-7)


@pytest.mark.parametrize("name", ["plain", "wide", "sparse counts"])
@pytest.mark.parametrize("orthogonality", ["p", "f"])
def test_the_cosine_of_label_sets_of_one_length_is_the_linear_kernel(orthogonality, name):
    X, Y = problem(name)
    linear = mlcdr.MDDM(orthogonality=orthogonality).fit(X, Y)
    for features in (X, as_sparse(X)):
        fitted = mlcdr.MDDM(orthogonality=orthogonality, kernel="cosine").fit(features, Y)
        np.testing.assert_allclose(6 * fitted.eigenvalues_, linear.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(fitted.components_, linear.components_, atol=1e-8)


def test_an_indefinite_kernel_gives_its_positive_directions():
    X, Y = problem("plain")
    x = X - X.mean(0)
    y = 2.0 * Y - 1
    G = x.T @ np.tanh(0.3 * y @ y.T - 0.5) @ x
    exact = np.linalg.eigvalsh(G)[::-1]
    assert exact[-1] < -1e-3 * exact[0]
    fitted = mlcdr.MDDM(kernel="sigmoid", gamma=0.3, coef0=-0.5).fit(X, Y)
    positive = exact[exact > 1e-10 * exact[0]]
    np.testing.assert_allclose(fitted.eigenvalues_, positive, rtol=1e-8)
    with pytest.raises(ValueError, match="'kernel' parameter of MDDM"):
        mlcdr.MDDM(kernel="chi2").fit(X, Y)


@pytest.mark.parametrize("name", TAME)
@pytest.mark.parametrize("orthogonality", ["p", "f"])
def test_about_the_origin_a_mean_says_something_dense_and_sparse(orthogonality, name):
    """Without H a feature's mean says something, so that not all laws hold; dense and sparse it is the same."""
    estimator = mlcdr.MDDM(orthogonality=orthogonality, centred=False)
    test_directions_solve_the_eigenproblem(estimator, name)
    X, Y = problem(name)
    dense = estimator.fit(X, Y)
    sparse = clone(estimator).fit(as_sparse(X), as_sparse(Y))
    np.testing.assert_allclose(sparse.transform(as_sparse(X)), dense.transform(X), atol=1e-7)
    nothing = clone(estimator).fit(X, np.zeros_like(Y))
    assert nothing.transform(X).shape == (len(X), 0)
    shifted = clone(estimator).fit(X + 5, Y).eigenvalues_
    assert not np.allclose(shifted[0], dense.eigenvalues_[0])


def test_about_the_origin_there_is_one_solver_and_one_kernel():
    X, Y = problem("plain")
    for other in ({"kernel": "rbf"}, {"solver": "implicit", "orthogonality": "f"}):
        with pytest.raises(ValueError, match="centred=False needs kernel='linear'"):
            mlcdr.MDDM(centred=False, **other).fit(X, Y)


# -------------------------------------------------------------------- laws


def test_every_registered_method_is_put_to_these_tests():
    registered = {registry.resolve("feature_space", name) for name in registry.names("feature_space")}
    # selectors, SCCA, which learns from other rows too, and MDDM with directions drawn have tests of their own
    own = (mlcdr.SCCA, mlcdr.FilledMDDM)
    registered = {cls for cls in registered if issubclass(cls, LinearFeatureSpace) and cls not in own}
    assert {type(estimator) for estimator in ALL.values()} == registered


@every_in("plain", "wide")
def test_isometries_leave_the_new_features_but_for_their_signs(estimator, name):
    """x ↦ Qx + b with QᵀQ = I: rotations, all features twice at 1/√2, and mirrors; signs go by P, which turns."""
    X, Y = problem(name)
    d = X.shape[1]
    before = clone(estimator).fit(X, Y)
    old = before.transform(X)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    for turn in (Q, np.hstack([np.eye(d), np.eye(d)]) / np.sqrt(2), -np.eye(d)[:, ::-1]):
        moved = X @ turn + np.arange(turn.shape[1]) / 3
        after = clone(estimator).fit(moved, Y)
        np.testing.assert_allclose(after.eigenvalues_, before.eigenvalues_, rtol=1e-7, atol=1e-9)
        new = after.transform(moved)
        np.testing.assert_allclose(new * np.sign(np.sum(new * old, axis=0)), old, atol=1e-6 * np.abs(old).max())


@pytest.mark.parametrize("estimator", EVERY)
def test_where_there_is_nothing_to_find_there_is_no_share(estimator):
    for features in (np.ones((30, 4)), np.ones((30, 200)), sp.csr_array((30, 200))):
        after = clone(estimator).fit(features, problem("plain")[1][:30])
        assert after.n_components_ == 0
        assert after.eigenvalues_.shape == (0,)
        assert np.isnan(after.eigenvalue_share_)


@every_in(*NAMES)
def test_dimensions_are_nested_and_share_one_decomposition(estimator, name):
    X, Y = problem(name)
    moments = Moments.from_arrays(X, Y)
    whole = estimator.fit_moments(moments)
    values, components = whole.eigenvalues_, whole.components_
    assert np.isfinite(components).all()
    assert (np.diff(values) <= 0).all()
    cls, params = type(estimator), estimator.get_params()
    share = np.cumsum(values) / values.sum()
    asked = [(1, 1), (3, 3), (1.0, len(values)), (0.01, 1), (X.shape[1], len(values))]
    for n_components, m in asked:
        part = cls(**{**params, "n_components": n_components}).fit_moments(moments)
        assert part.n_components_ == min(m, len(values))
        assert isinstance(part.n_components_, int)
        np.testing.assert_array_equal(part.components_, components[:m])
        assert part.eigenvalue_share_ == pytest.approx(share[part.n_components_ - 1], rel=1e-12)
    np.testing.assert_array_equal(cls(**{**params, "n_components": 3}).fit(X, Y).components_, components[:3])
    for t in (0.3, 0.9, 0.999, 1.0):
        part = cls(**{**params, "n_components": {"eigenvalues": t}}).fit_moments(moments)
        assert part.n_positive_ == len(values)
        assert share[part.n_components_ - 1] >= t - 1e-12
        assert part.n_components_ == 1 or share[part.n_components_ - 2] < t
    with pytest.raises(ValueError, match=r"n_components=91 is more than the \d+"):
        cls(**{**params, "n_components": 91}).fit_moments(moments)


@pytest.mark.parametrize("estimator", EVERY)
def test_labels_are_binary_whatever_their_code(estimator):
    """±1 and booleans say the same as {0, 1}, and are not taken for labels of another scale."""
    X, Y = problem("plain")
    expected = clone(estimator).fit(X, Y)
    for coded in (2.0 * Y - 1, Y.astype(bool)):
        np.testing.assert_array_equal(clone(estimator).fit(X, coded).components_, expected.components_)
    if isinstance(estimator, mlcdr.PCA | mlcdr.LPP):  # which do not look at them
        np.testing.assert_array_equal(clone(estimator).fit(X, X[:, :3]).components_, expected.components_)
        return
    for coded in (Y + 1, sp.csr_array(2.0 * Y)):
        with pytest.raises(ValueError, match=r"y: row \d+: label 'label\d' has the value 2; a label must be 0 or 1"):
            clone(estimator).fit(X, coded)


def test_a_number_of_dimensions_is_read_as_written_in_a_config():
    part = Component.parse("feature_space", {"mvmd": {"beta": 0.5, "n_components": {"eigenvalues": 0.999}}}).build()
    assert (part.beta, part.n_components) == (0.5, {"eigenvalues": 0.999})
    for wrong in ({"eigenvalues": 0}, {"eigenvalues": 1.5}, {"share": 0.9}, {}, {"eigenvalues": "x"}, 0, 1.5, "all"):
        with pytest.raises(ValueError, match="'n_components' parameter of PCA"):
            Component.parse("feature_space", {"pca": {"n_components": wrong}}).build()


# -------------------------------------------------------------------- real data


@pytest.mark.parametrize(
    ("name", "pca", "mddm", "mvmd"),
    [("yeast", 100, 11, 61), ("scene", 271, 5, 47), ("medical", 301, 32, 211), ("enron", 723, 36, 169),
     ("genbase", 87, 16, 26), ("emotions", 11, 4, 5)],
)  # fmt: skip
def test_number_of_dimensions_at_the_papers_threshold(real_dataset, name, pca, mddm, mvmd):
    """On Mulan's train files, computed with an independent program; and the numbers of positive eigenvalues."""
    from mlcdr.data.dataset import load_dataset

    real_dataset(name)
    dataset = load_dataset(name, part="predefined")
    columns = [j for j, feature in enumerate(dataset.feature_names) if not feature.lower().startswith("protein")]
    X, Y = dataset.X[: dataset.n_train][:, columns], dataset.Y[: dataset.n_train]
    moments = Moments.from_arrays(X, Y)
    t = {"eigenvalues": 0.999}
    for method, size in ((mlcdr.PCA(t), pca), (mlcdr.MDDM(t), mddm), (mlcdr.MVMD(t), mvmd)):
        assert method.fit_moments(moments).n_components_ == size
    y = Y.toarray() if sp.issparse(Y) else Y
    rank = np.linalg.matrix_rank(y - y.mean(0))
    for method in (mlcdr.MDDM(), mlcdr.MDDM(orthogonality="f"), mlcdr.LabelCCA()):
        assert method.fit_moments(moments).n_positive_ == rank
    x = X.toarray() if sp.issparse(X) else X
    if name != "emotions":  # raw: its scales span more than the eigenvalues can show
        rank_x = np.linalg.matrix_rank(x - x.mean(0))
        assert mlcdr.PCA().fit_moments(moments).n_positive_ == mlcdr.MVMD().fit_moments(moments).n_positive_ == rank_x
    assert mlcdr.MLDA(weights="entropy").fit_moments(moments).n_positive_ <= y.any(axis=0).sum() - 1
