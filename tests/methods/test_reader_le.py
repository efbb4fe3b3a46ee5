"""READER-LE against its formulas with dense inverses; CSSP against least squares."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mlcdr import CSSP, READER, SCCA, ComposedClassifier, LeastSquares, ReaderLE, ReaderLEClassifier
from mlcdr.numerics import graphs
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem
from tests.methods.test_reader import data


def test_the_completion_is_that_of_the_text():
    """(7.7) and (7.8) with G, K₁ and K₂ as dense matrices."""
    X, Y, unlabelled = data()
    n, everything = len(X), np.vstack([X, unlabelled])
    rng = np.random.default_rng(0)
    labels = np.vstack([Y, rng.integers(0, 2, (len(unlabelled), Y.shape[1]))]).astype(float)
    h = rng.uniform(0.5, 2, len(everything))
    image = everything @ rng.standard_normal((X.shape[1], Y.shape[1]))
    L = 0.7 * graphs.laplacian(graphs.label_graph(labels, 5)).toarray()
    G = np.linalg.inv(np.diag(h) + L) @ np.diag(h)
    a, b, c, d = G[:n, :n], G[:n, n:], G[n:, :n], G[n:, n:]
    K1, K2 = c @ np.linalg.inv(a), d - c @ np.linalg.inv(a) @ b
    expected = np.rint(K1 @ Y + K2 @ image[n:])
    ours = ReaderLE(gamma=0.7)._completed(everything, labels, n, h, image)
    np.testing.assert_array_equal(ours, np.clip(expected, 0, 1))


def test_the_first_eigenproblem_is_that_of_the_text():
    """(7.4) with H = I and Y_u = 0: the objective there is that of the generalised eigenvectors, by dense matrices."""
    X, Y, unlabelled = data()
    Y = Y[:, Y.sum(axis=0) > 1][:, :5]
    everything = np.vstack([X, unlabelled])
    labels = np.vstack([Y, np.zeros((len(unlabelled), Y.shape[1]))])
    C = np.diag(np.where(np.arange(len(everything)) < len(X), 1.0, 0.2))
    S = graphs.heat_graph(everything, 5, 1.0).toarray()
    Lx, Ly = np.diag(S.sum(axis=1)) - S, graphs.laplacian(graphs.label_graph(labels, 5)).toarray()
    d, k = X.shape[1], Y.shape[1]
    A = np.block([[C @ everything, -C @ labels], [0.5 * np.eye(d), np.zeros((d, k))]])
    B = scipy.linalg.block_diag(0.1 * everything.T @ Lx @ everything, 2.0 * labels.T @ Ly @ labels)
    E = scipy.linalg.block_diag(everything.T @ np.diag(S.sum(axis=1)) @ everything, np.eye(k))
    values, U = scipy.linalg.eigh(E, A.T @ A + B)
    U = U[:, ::-1][:, :3] / np.sqrt(values[::-1][:3])
    np.testing.assert_allclose(U.T @ E @ U, np.eye(3), atol=1e-7)
    expected = np.linalg.norm(A @ U, axis=1).sum() + np.trace(U.T @ B @ U)
    space = ReaderLE(3, alpha=0.5, gamma=2.0, label_weights=(1.0, 0.2), max_iter=1).fit(X, Y, unlabelled)
    np.testing.assert_allclose(space.objective_, [expected], rtol=1e-8)


def test_directions_are_orthonormal_and_label_sets_completed():
    X, Y, unlabelled = data()
    space = ReaderLE().fit(X, Y, unlabelled)
    M = space.n_components_
    assert space.directions_.shape == (M, Y.shape[1])
    np.testing.assert_allclose(space.directions_ @ space.directions_.T, np.eye(M), atol=1e-10)
    assert set(np.unique(space.completed_)) <= {0, 1}
    assert space.completed_.shape == (len(unlabelled), Y.shape[1])
    np.testing.assert_allclose(space.decode(space.encode(Y)), Y @ space.directions_.T @ space.directions_)


def test_a_learner_after_it_gets_the_completed_rows_too():
    X, Y, unlabelled = data()
    model = ComposedClassifier(LeastSquares(), label_space=ReaderLE()).fit(X, Y, X_unlabelled=unlabelled)
    space = model.label_space_
    codes = np.vstack([Y, space.completed_]) @ space.directions_.T
    direct = LeastSquares().fit(np.vstack([X, unlabelled]), codes)
    np.testing.assert_allclose(model.learner_.coef_, direct.coef_, atol=1e-8)


def test_directions_that_the_embedding_makes_small_are_not_decoded(monkeypatch):
    """W and P as they might be found: of the three singular values of P one is next to 0."""
    X, Y, _ = data()
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], 3))
    left, right = (np.linalg.qr(rng.standard_normal((size, 3)))[0] for size in (Y.shape[1], 3))
    P = left @ np.diag([1.0, 0.6, 0.001]) @ right.T
    monkeypatch.setattr(ReaderLE, "_iterate", lambda *_: (W, P, np.ones(1)))
    with pytest.warns(UserWarning, match=r"its smallest singular value is 0.001 of the largest"):
        whole = ReaderLE(cut=0).fit(X, Y)
    np.testing.assert_allclose(whole.coef_ @ whole.directions_, W @ np.linalg.pinv(P), atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        default = ReaderLE().fit(X, Y)
    np.testing.assert_array_equal(default.directions_, whole.directions_)
    np.testing.assert_allclose(default.coef_ @ default.directions_, W @ np.linalg.pinv(P, rcond=0.5), atol=1e-8)
    assert not default.coef_[:, 2].any()


def test_the_default_fits_emotions(real_dataset):
    """The text's inverse of P does worse there than to predict no label at all."""
    data = real_dataset("emotions")
    wrong = (ReaderLEClassifier().fit(data.X, data.Y).predict(data.X) != data.Y).mean()
    to_the_letter = (ReaderLEClassifier(cut=0).fit(data.X, data.Y).predict(data.X) != data.Y).mean()
    assert wrong < 0.23 < data.Y.mean() < 0.33 < to_the_letter


def test_algorithm_15_predicts_with_both_weights():
    X, Y, unlabelled = data()
    model = ReaderLEClassifier().fit(X, Y)
    space = model.space_
    scores = X @ space.coef_ @ space.directions_
    varying = model.varying_
    np.testing.assert_array_equal(model.predict(X)[:, varying], scores > 0.5)
    new = ComposedClassifier(ReaderLEClassifier()).fit(X, Y, X_unlabelled=unlabelled)
    assert not np.allclose(new.learner_.space_.objective_[:1], space.objective_[:1])


def test_algorithm_15_with_more_dimensions_than_labels_that_vary():
    X, Y, _ = data()
    Y[:, 0], Y[:, 1] = 0, 1
    most, few = ReaderLEClassifier().fit(X, Y), ReaderLEClassifier(7).fit(X, Y)
    np.testing.assert_array_equal(few.predict(X), most.predict(X))
    assert ReaderLEClassifier(0.5).fit(X, Y).space_.n_components_ == 4  # a share of all labels
    with pytest.raises(ValueError, match="n_components=9 is more than the 8"):
        ReaderLEClassifier(9).fit(X, Y)


def test_algorithm_15_takes_unlabelled_rows():
    X, Y, unlabelled = data()
    composed = ComposedClassifier(ReaderLEClassifier()).fit(X, Y, X_unlabelled=unlabelled)
    alone = ReaderLEClassifier().fit(X, Y, unlabelled)
    np.testing.assert_array_equal(alone.decision_function(X), composed.learner_.decision_function(X))
    none = ReaderLEClassifier().fit(X, Y, unlabelled[:0])
    np.testing.assert_array_equal(none.predict(X), ReaderLEClassifier().fit(X, Y).predict(X))


@pytest.mark.parametrize("method", [READER, ReaderLE, ReaderLEClassifier, SCCA])
def test_unlabelled_rows_of_another_width_are_refused(method):
    X, Y, unlabelled = data()
    with pytest.raises(ValueError, match=r"X_unlabelled has \d+ features and X has \d+"):
        method().fit(X, Y, unlabelled[:, 1:])


@pytest.mark.parametrize("method", [ReaderLE, ReaderLEClassifier])
@pytest.mark.parametrize("weights", [(1, 0), (1,), (1, 2, 3), ("b", "a"), (1, np.nan)])
def test_weights_of_rows_are_checked(method, weights):
    X, Y, _ = data()
    with pytest.raises(ValueError, match="must be two positive numbers"):
        method(label_weights=weights).fit(X, Y)


def test_labels_that_never_occur_or_are_copies_and_sparse_rows():
    X, Y, unlabelled = data()
    Y[:, 2:4], Y[:, 5] = 0, Y[:, 6]
    space = ReaderLE(max_iter=10).fit(X, Y, unlabelled)
    assert np.abs(space.directions_[:, 2:4]).max() < 1e-10
    np.testing.assert_allclose(space.directions_[:, 5], space.directions_[:, 6], atol=1e-8)
    sparse = ReaderLE(max_iter=10).fit(sp.csr_array(X), sp.csr_array(Y), sp.csr_array(unlabelled))
    np.testing.assert_allclose(sparse.objective_, space.objective_, rtol=1e-6)


def test_without_any_label_nothing_is_completed_or_predicted():
    X, Y, unlabelled = data()
    space = ReaderLE().fit(X, 0 * Y, unlabelled)
    assert not space.encode(0 * Y).any()
    assert not space.completed_.any()
    assert not ReaderLEClassifier().fit(X, 0 * Y).predict(X).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sampling", ["leverage", "pivoted"])
def test_cssp_decodes_by_least_squares(name, sampling):
    X, Y = problem(name)
    space = CSSP(3, sampling=sampling, random_state=0).fit(X, Y)
    chosen = space.labels_
    assert len(set(chosen)) == 3
    assert 4 not in chosen  # never positive
    expected = np.linalg.lstsq(Y[:, chosen].astype(float), Y.astype(float), rcond=None)[0]
    np.testing.assert_allclose(space.decoder_, expected, atol=1e-8)
    np.testing.assert_allclose(space.decode(space.encode(Y))[:, chosen], Y[:, chosen], atol=1e-8)


def test_cssp_draws_by_leverage_scores():
    X, Y = problem("plain")
    right = np.linalg.svd(Y.astype(float))[2][:2]
    expected = (right**2).sum(axis=0) / 2
    assert CSSP(2, random_state=7).fit(X, Y).labels_.tolist() == CSSP(random_state=7)._chosen(right.T, 2).tolist()
    first = [CSSP(random_state=seed)._chosen(right.T, 2)[0] for seed in range(1500)]
    drawn = np.bincount(first, minlength=Y.shape[1]) / len(first)
    np.testing.assert_allclose(drawn, expected, atol=4 * np.sqrt(0.25 / len(first)))


def test_cssp_with_all_labels_is_no_reduction():
    X, Y = problem("plain")
    full = ComposedClassifier(LeastSquares(), label_space=CSSP(random_state=0)).fit(X, Y)
    np.testing.assert_array_equal(full.predict(X), ComposedClassifier(LeastSquares()).fit(X, Y).predict(X))
    assert full.label_space_.n_components_ == 5  # one label is never positive


def test_cssp_where_no_instance_has_a_label():
    X, Y = problem("plain")
    space = CSSP(random_state=0).fit(X, 0 * Y)
    assert space.decode(space.encode(0 * Y)).shape == Y.shape
    assert Moments.from_arrays(X, 0 * Y).n_labels == 6
