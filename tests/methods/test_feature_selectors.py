"""F-score, RFS, CSFS, MIFS and SCCA: their formulas written out, optimality, and what they do with unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
from sklearn.base import clone

from mlcdr import (
    CSFS,
    GRRO,
    MDFS,
    MFSMCDM,
    MGFS,
    MIFS,
    PCA,
    READER,
    RFS,
    SCCA,
    ComposedClassifier,
    FScore,
    LeastSquares,
    LocalMLFS,
    Wrapper,
)
from mlcdr.methods.feature_space import mifs, scca
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem
from tests.methods.test_reader import data

SELECTORS = (FScore(), RFS(), CSFS(), MIFS(), MDFS(), GRRO(), READER(random_state=0, algorithm="alternating"))


def fisher(x: np.ndarray, y: np.ndarray) -> float:
    """Fisher's criterion of one feature for one label."""
    between = within = 0.0
    for value in np.unique(y):
        part = x[y == value]
        between += len(part) * (part.mean() - x.mean()) ** 2
        within += np.sum((part - part.mean()) ** 2)
    return between / within if within > 0 else 0.0


def fit_with(step, X, Y, unlabelled):
    """The step fitted, with the rows without labels if it learns from them."""
    return step.fit(X, Y, unlabelled) if step.uses_unlabelled else step.fit(X, Y)


@pytest.mark.parametrize("name", NAMES)
def test_f_score_is_fishers(name):
    X, Y = problem(name)
    expected = [np.mean([fisher(X[:, j], Y[:, k]) for k in range(Y.shape[1])]) for j in range(X.shape[1])]
    np.testing.assert_allclose(FScore().fit(X, Y).scores_, expected, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(FScore().fit(sp.csr_array(X), Y).scores_, expected, rtol=1e-7, atol=1e-10)


def test_f_score_of_a_feature_that_is_a_label():
    X, Y, _ = data()
    X[:, 3] = 2 * Y[:, 1] - 5
    step = FScore(n_features=1).fit(X, Y)
    assert step.scores_[3] == np.inf
    assert step.ranking_[0] == 3


def test_f_scores_that_are_equal_but_for_rounding_are_equal():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = (rng.random((60, 8)) < 0.3).astype(float)
        X[:, 5], X[:, 7] = X[:, 2], 1 - X[:, 2]
        Y = (rng.random((60, 3)) < 0.3).astype(np.uint8)
        Y[:, 1] |= X[:, 2] > 0
        for rows in (X, sp.csr_array(X)):
            assert len(set(FScore().fit(rows, Y).scores_[[2, 5, 7]])) == 1


def test_too_many_features_are_told_by_the_parameters_name():
    X, Y = problem("plain")
    local = LocalMLFS(n_features=18).fit(X, Y)
    for asked in (lambda: FScore(18).fit(X, Y), lambda: Wrapper(18).fit(X, Y), lambda: local.select(0)):
        with pytest.raises(ValueError, match="n_features=18 is more than the 17 "):
            asked()


@pytest.mark.parametrize("wide", [False, True])
def test_rfs_ends_where_no_direction_leads_down(wide):
    """The gradient of ‖XW − Y‖₂,₁ + α‖W‖₂,₁ vanishes on the rows that are not 0, and is within α on those that are."""
    X, Y, _ = data(n=10 if wide else 60)
    alpha = 1.5 if wide else 5.0
    step = RFS(alpha=alpha, tol=1e-14, max_iter=2000).fit(X, Y)
    residual = X @ step.coef_ - Y
    lengths = row_sparse.lengths(residual)
    assert lengths.min() > 1e-4  # differentiable there
    gradient = X.T @ (residual / lengths[:, None])
    zero = step.scores_ < 1e-5
    assert 0 < zero.sum() < X.shape[1]
    kept = ~zero
    pull = alpha * step.coef_[kept] / step.scores_[kept][:, None]
    np.testing.assert_allclose(gradient[kept], -pull, atol=1e-4)
    assert (row_sparse.lengths(gradient[zero]) <= alpha + 1e-4).all()


def test_csfs_reaches_the_minimum_of_its_convex_problem():
    X, Y, unlabelled = data(n=15, more=10, d=5, labels=3)
    step = CSFS(alpha=0.8, unlabelled_weight=0.1, tol=1e-13, max_iter=3000).fit(X, Y, unlabelled)

    def objective(flat: np.ndarray) -> float:
        W, filled = flat[:15].reshape(5, 3), flat[15:].reshape(10, 3)
        fit = np.sum((X @ W - Y) ** 2) + 0.1 * np.sum((unlabelled @ W - filled) ** 2)
        return fit + 0.8 * np.sum(np.sqrt(np.sum(W**2, axis=1) + 1e-14))

    start = np.r_[np.full(15, 0.1), np.full(30, 0.5)]
    bounds = [(None, None)] * 15 + [(0, 1)] * 30
    found = scipy.optimize.minimize(
        objective, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": 5000, "maxfun": 200000, "ftol": 1e-13}
    )
    assert step.objective_[-1] <= found.fun * (1 + 1e-6)
    np.testing.assert_allclose(step.objective_[-1], found.fun, rtol=1e-3)
    assert (np.diff(step.objective_) <= 1e-9 * step.objective_[0]).all()


def test_csfs_is_the_same_from_either_side():
    """d > N is solved from the other side."""
    X, Y, unlabelled = data(n=9, more=5, d=12)
    small = CSFS(tol=1e-10, max_iter=30).fit(X, Y, unlabelled)
    padded = CSFS(tol=1e-10, max_iter=30).fit(np.vstack([X, 0 * X, 0 * X]), np.vstack([Y, 0 * Y, 0 * Y]), unlabelled)
    np.testing.assert_allclose(padded.coef_, small.coef_, atol=1e-8)


@pytest.mark.parametrize("n", [9, 60])
def test_mifs_begins_with_a_ridge_regression_on_the_leading_codes(n):
    """Of fewer and of more rows than features, which are solved on different sides."""
    X, Y, _ = data(n=n, d=12)
    left, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    expected = np.linalg.solve(X.T @ X + 0.5 * np.eye(12), X.T @ (left[:, :2] * sizes[:2]))
    found = MIFS(alpha=0.5, n_components=2, max_iter=1).fit(X, Y).coef_
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_mifs_takes_the_steps_of_plain_solves(share):
    """Of dense and of rare labels, which are multiplied as a sparse matrix."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 5)), (rng.random((60, 4)) < share).astype(float)
    laplacian = graphs.laplacian(graphs.heat_graph(X, 5, 1.0)).toarray()
    left, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    V, penalty, objective = left[:, :3] * sizes[:3], np.full(5, 0.5), []
    for _ in range(4):
        P = np.linalg.lstsq(V, Y, rcond=None)[0].T
        W = np.linalg.solve(X.T @ X + np.diag(penalty), X.T @ V)
        system = np.kron(np.eye(3), np.eye(60) + 0.3 * laplacian) + np.kron(0.7 * P.T @ P, np.eye(60))
        V = np.linalg.solve(system, (X @ W + 0.7 * Y @ P).ravel(order="F")).reshape(60, 3, order="F")
        penalty = 0.5 * row_sparse.weights(W)
        smooth = 0.3 * np.trace(V.T @ laplacian @ V) + 0.5 * np.linalg.norm(W, axis=1).sum()
        objective.append(np.sum((X @ W - V) ** 2) + 0.7 * np.sum((Y - V @ P.T) ** 2) + smooth)
    found = MIFS(alpha=0.5, beta=0.7, gamma=0.3, n_components=3, tol=0, max_iter=4).fit(X, Y)
    np.testing.assert_allclose(found.objective_, objective, rtol=1e-7)
    np.testing.assert_allclose(np.abs(found.coef_), np.abs(W), rtol=1e-6, atol=1e-9)


def test_mifs_regresses_on_dependent_codes_with_the_least_norm():
    rng = np.random.default_rng(0)
    Y, V = rng.standard_normal((20, 4)), rng.standard_normal((20, 3))
    near = np.column_stack([V[:, :2], V[:, 1] + 1e-6 * V[:, 2]])
    for codes in (V, V @ np.diag([1, 1, 0]), V[:, [0, 1, 1]], V @ np.diag([1, 1e-4, 1e4]), near):
        expected = np.linalg.lstsq(codes, Y, rcond=None)[0].T
        np.testing.assert_allclose(mifs._regress(Y, codes), expected, rtol=1e-8, atol=1e-12)


def test_objectives_do_not_rise_on_fifty_problems():
    for seed in range(50):
        X, Y, unlabelled = data(seed)
        alpha, beta, gamma = 10.0 ** np.random.default_rng(seed).uniform(-1, 1, 3)
        slack = sum(X.shape) * np.sqrt(row_sparse.EPSILON)
        mifs_step = MIFS(alpha=alpha, beta=beta, gamma=gamma, n_components=2, tol=0, max_iter=8)
        mdfs_step = MDFS(alpha=alpha, beta=beta, gamma=gamma, tol=0, max_iter=20)
        for step in (
            RFS(alpha=alpha, tol=0, max_iter=20),
            CSFS(alpha=alpha, tol=0, max_iter=20),
            mifs_step,
            mdfs_step,
        ):
            found = fit_with(step, X, Y, unlabelled).objective_
            first = int(step in (mifs_step, mdfs_step))  # the very first weights, of 1, majorise nothing there
            assert (np.diff(found)[first:] <= 1e-9 * found[0] + slack).all(), (seed, step)


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_scca_is_the_generalised_eigenproblem(beta):
    X, Y, unlabelled = data()
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    everything = np.vstack([X, unlabelled])
    everything = everything - everything.mean(axis=0)
    d, k = X.shape[1], Y.shape[1]
    B = np.block(
        [[(1 - beta) * everything.T @ everything, beta * Xc.T @ Yc], [beta * Yc.T @ Xc, (1 - beta) * Yc.T @ Yc]]
    )
    C = beta * scipy.linalg.block_diag(Xc.T @ Xc, Yc.T @ Yc) + (1 - beta) * np.eye(d + k)
    values, vectors = np.linalg.eig(np.linalg.inv(C) @ B)
    order = np.argsort(-values.real)[:4]
    step = SCCA(n_components=4, beta=beta).fit(X, Y, unlabelled)
    np.testing.assert_allclose(step.eigenvalues_[:4], values.real[order], rtol=1e-9)
    for ours, theirs in zip(step.components_, vectors.real[:d, order].T, strict=True):
        cosine = abs(ours @ theirs) / (np.linalg.norm(ours) * np.linalg.norm(theirs))
        np.testing.assert_allclose(cosine, 1, atol=1e-9)


@pytest.mark.parametrize("with_more", [False, True])
def test_scca_of_several_beta_shares_the_axes_of_the_rows(with_more, monkeypatch):
    X, Y, unlabelled = data()
    moments = Moments.from_arrays(X, Y).with_unlabelled(unlabelled if with_more else None)
    anew = [SCCA(beta=beta).fit(X, Y, unlabelled if with_more else None).components_ for beta in (0.1, 0.9)]
    calls = []
    monkeypatch.setattr(scca, "axis_coordinates", lambda m, find=scca.axis_coordinates: calls.append(m) or find(m))
    np.testing.assert_array_equal([SCCA(beta=beta).fit_moments(moments).components_ for beta in (0.1, 0.9)], anew)
    assert len(calls) == 1


def test_scca_without_labels_is_pca_of_all_rows():
    X, Y, unlabelled = data()
    step = SCCA(n_components=5, beta=0.0).fit(X, Y, unlabelled)
    pca = PCA(n_components=5).fit(np.vstack([X, unlabelled]))
    np.testing.assert_allclose(np.abs(step.components_ @ pca.components_.T), np.eye(5), atol=1e-9)


@pytest.mark.parametrize("step", SELECTORS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("name", ["dependent", "wide", "sparse counts"])
def test_sparse_rows_are_as_dense_ones_and_a_constant_feature_never_leads(step, name):
    X, Y = problem(name)
    X = X / max(1.0, np.abs(X).max())
    if isinstance(step, READER):  # in more iterations instances without labels make much of rounding: see its docstring
        step = clone(step).set_params(max_iter=2)
    scores = step.fit(X, Y).scores_.copy()
    sparse = step.fit(sp.csr_array(X), sp.csr_array(Y))
    # not the last digits: some features are copies or combinations of others
    np.testing.assert_allclose(sparse.scores_, scores, rtol=1e-3, atol=1e-4 * scores.max())
    assert scores[~X.any(axis=0)].max(initial=0) <= 1e-6 * scores.max()


@pytest.mark.parametrize(
    "step", [*SELECTORS, MFSMCDM(), MGFS(), SCCA(n_components=4)], ids=lambda step: type(step).__name__
)
def test_those_that_say_so_learn_from_unlabelled_rows_and_no_others(step):
    X, Y, unlabelled = data()
    found = []
    for rows in (None, unlabelled, unlabelled + 0.5):
        model = ComposedClassifier(LeastSquares(), feature_space=[step]).fit(X, Y, X_unlabelled=rows)
        fitted = model.feature_steps_[0]
        found.append(getattr(fitted, "scores_", getattr(fitted, "components_", None)))
    assert (not np.allclose(found[0], found[1])) == step.uses_unlabelled
    assert (not np.allclose(found[1], found[2])) == step.uses_unlabelled
    if not step.uses_unlabelled:
        with pytest.raises(ValueError, match=f"{type(step).__name__} does not learn from rows without labels"):
            step.fit(X, Y, X_unlabelled=unlabelled)


def test_unlabelled_rows_go_through_the_steps_before():
    X, Y, unlabelled = data()
    steps = [PCA(n_components=4), CSFS(n_features=2)]
    fitted = ComposedClassifier(LeastSquares(), feature_space=steps).fit(X, Y, X_unlabelled=unlabelled).feature_steps_
    pca = PCA(n_components=4).fit(X)
    alone = CSFS(n_features=2).fit(pca.transform(X), Y, pca.transform(unlabelled))
    np.testing.assert_allclose(fitted[1].scores_, alone.scores_)
