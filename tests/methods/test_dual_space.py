"""The dual spaces: the paper's steps written out with NumPy, then laws, then sweeps that share their work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.metrics.pairwise import cosine_similarity

from mlcdr import DDSR, IDSR, PCA, ComposedClassifier, ConfigError, LeastSquares, Maximise
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.experiment import estimators
from mlcdr.experiment.estimators import build
from mlcdr.experiment.trials import plan_trials
from mlcdr.methods import registry
from mlcdr.numerics.moments import Moments
from tests import small
from tests.methods.problems import NAMES, as_sparse, problem

ALL = [DDSR, IDSR]
CORRELATION = "correlation"
COSINE, INFORMATION, UNCERTAINTY = NOT_CENTRED = ("cosine", "mutual_information", "symmetric_uncertainty")


def dependencies(A, B, dependency):
    """The matrix of dependencies of the columns of A with those of B, entry by entry."""
    matrix = np.zeros((A.shape[1], B.shape[1]))
    for i, a in enumerate(A.T):
        for j, b in enumerate(B.T.astype(float)):
            matrix[i, j] = dependency_of(a, b, dependency)
    return matrix


def dependency_of(a, b, dependency):
    """One entry, as its words say; numeric features are cut in three for what counts values."""
    covariance = np.mean((a - a.mean()) * (b - b.mean()))
    if dependency == "covariance":
        return covariance
    if dependency == CORRELATION:
        varies = np.ptp(a) > 0 and np.ptp(b) > 0
        return covariance / (a.std() * b.std()) if varies else 0
    if dependency == COSINE:
        return a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) if a.any() and b.any() else 0
    cut = in_three(a)
    information = 0.0
    for u in set(cut):
        for v in set(b):
            both = np.mean([p == u and q == v for p, q in zip(cut, b, strict=True)])
            if both > 0:
                information += both * np.log2(both / (np.mean(cut == u) * np.mean(b == v)))
    if dependency == INFORMATION:
        return information
    entropies = bits(cut) + bits(b)
    return 2 * information / entropies if entropies > 0 else 0


def in_three(a):
    """0 below the mean less a standard deviation, 2 from the mean and one on, else 1; two values stay."""
    if len(set(a)) <= 2:
        return a
    low, high = a.mean() - a.std(ddof=1), a.mean() + a.std(ddof=1)
    return np.array([sum([value >= low, value >= high]) for value in a])


def bits(values):
    """The entropy."""
    shares = [np.mean(values == value) for value in set(values)]
    return -sum(share * np.log2(share) for share in shares)


def by_the_paper(space, X, Y, d, k):
    """U' (M×d) and V' (L×k) from matrices of dependencies by `numpy.linalg.svd`, sections 3.1 and 3.2."""
    if isinstance(space, DDSR):
        U, _, V = np.linalg.svd(dependencies(X, Y, space.dependency))
        return U[:, :d], V[:k].T
    of_x, of_y = (dependencies(A, A, space.dependency) for A in (X, Y))
    return np.linalg.svd(of_x)[0][:, :d], np.linalg.svd(of_y)[0][:, :k]


def scores_by_the_paper(space, X, Y, new, d, k):
    """Whatever the dependencies, X and Y themselves are projected."""
    U, V = by_the_paper(space, X, Y, d, k)
    A, B = (np.column_stack([np.ones(len(x)), x @ U]) for x in (X, new))
    W = np.linalg.lstsq(A, Y @ V, rcond=None)[0]
    return A @ W @ V.T, B @ W @ V.T


@pytest.mark.parametrize(
    ("space", "d", "k"),
    [
        *[(DDSR(3), 3, 3), (DDSR(0.5), 3, 3), (DDSR(), 5, 5), (IDSR(4, 2), 4, 2), (IDSR(0.2, 0.4), 3, 2)],
        *[(IDSR(), 17, 6), (DDSR(3, CORRELATION), 3, 3), (DDSR(None, CORRELATION), 5, 5)],
        *[(DDSR(m, each), m or 5, m or 5) for each in NOT_CENTRED for m in (3, None)],
        *[(IDSR(4, 2, CORRELATION), 4, 2), (IDSR(0.2, 5, CORRELATION), 3, 5), (IDSR(None, None, CORRELATION), 17, 6)],
    ],
    ids=str,
)
def test_scores_are_those_of_the_papers_steps(space, d, k):
    X, Y = problem("plain")
    train, test = slice(0, 90), slice(90, 120)
    model = ComposedClassifier(LeastSquares(), dual_space=space, threshold=Maximise()).fit(X[train], Y[train])
    of_train, of_test = scores_by_the_paper(space, X[train], Y[train], X[test], d, k)
    np.testing.assert_allclose(model.label_space_.decode(model.output(X[test])), of_test, atol=1e-8)
    cut = Maximise().fit(of_train, Y[train])
    keep = np.isfinite(cut.values_)
    np.testing.assert_allclose(model.threshold_.values_[keep], cut.values_[keep], atol=1e-8)
    np.testing.assert_array_equal(model.predict(X[test]), cut.apply(of_test))


@pytest.mark.parametrize("name", NAMES)
def test_idsr_directions_have_the_largest_variances(name):
    X, Y = problem(name)
    space = IDSR().fit(X, Y)
    singular = np.linalg.svd(X - X.mean(0), compute_uv=False)
    rank = np.count_nonzero(singular > 1e-11 * singular[0])
    U = space.feature_directions_
    assert U.shape == (X.shape[1], rank)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-12)
    spread = np.linalg.norm((X - X.mean(0)) @ U, axis=0)
    np.testing.assert_allclose(spread, singular[:rank], rtol=1e-6, atol=1e-12 * singular[0])
    np.testing.assert_allclose(np.sqrt(space.feature_variances_), singular[:rank], rtol=1e-6, atol=1e-12 * singular[0])


@pytest.mark.parametrize("name", NAMES)
def test_ddsr_directions_have_the_largest_covariances(name):
    X, Y = problem(name)
    space = DDSR().fit(X, Y)
    x, y = X - X.mean(0), Y - Y.mean(0)
    C = x.T @ y
    singular = np.linalg.svd(C, compute_uv=False)
    U, V = space.feature_directions_, space.directions_
    rank = U.shape[1]
    assert rank == np.linalg.matrix_rank(C, tol=1e-12 * singular[0])
    np.testing.assert_allclose(U.T @ C @ V[:rank].T, np.diag(singular[:rank]), atol=1e-11 * singular[0])
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cls", ALL)
def test_directions_of_correlations_diagonalise_them_whatever_the_scales(cls, name):
    """The matrices are those of the correlations, whatever the scales; what is constant takes no part."""
    X, Y = problem(name)
    space = cls(dependency=CORRELATION).fit(X, Y)
    U, V = space.feature_directions_, space.directions_
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-9)
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)
    if cls is DDSR:
        R = dependencies(X, Y, CORRELATION)
        rank = np.linalg.matrix_rank(R, tol=1e-9)
        assert U.shape[1] == rank
        np.testing.assert_allclose(space.singular_values_, np.linalg.svd(R, compute_uv=False), atol=1e-9)
        np.testing.assert_allclose(U.T @ R @ V[:rank].T, np.diag(space.singular_values_[:rank]), atol=1e-9)
    else:
        for R, D, values in (
            (dependencies(X, X, CORRELATION), U, space.feature_variances_),
            (dependencies(Y, Y, CORRELATION), V.T, space.eigenvalues_),
        ):
            exact = np.linalg.eigvalsh(R)[::-1]
            np.testing.assert_allclose(values, exact[: len(values)], atol=1e-9)
            np.testing.assert_allclose(D.T @ R @ D, np.diag(values), atol=1e-9)
            assert np.all(exact[len(values) :] < 1e-9)
    constant = np.ptp(X, axis=0) == 0
    assert np.max(np.abs(U[constant]), initial=0.0) < 1e-14
    rescaled = cls(dependency=CORRELATION).fit(X * 10.0 ** (np.arange(X.shape[1]) % 5) + 3, Y)
    np.testing.assert_allclose(rescaled.directions_, V, atol=1e-6)


@pytest.mark.parametrize("dependency", ["covariance", CORRELATION, *NOT_CENTRED])
@pytest.mark.parametrize("name", ["plain", "dependent", "scales", "sparse counts"])
def test_ddsr_decomposes_the_dependencies_entry_by_entry(name, dependency):
    """UΣV is the matrix of the words of each; a label or a feature that says nothing takes no part."""
    X, Y = problem(name)
    Y = np.column_stack([Y, np.ones(len(Y), dtype=np.uint8)])
    space = DDSR(dependency=dependency).fit(X, Y)
    C = dependencies(X, Y, dependency) * (len(X) if dependency == "covariance" else 1)
    U, V, size = space.feature_directions_, space.directions_, np.linalg.norm(C)
    rank = U.shape[1]
    np.testing.assert_allclose(space.singular_values_, np.linalg.svd(C, compute_uv=False), atol=1e-12 * size)
    np.testing.assert_allclose(U * space.singular_values_[:rank] @ V[:rank], C, atol=1e-11 * size)
    np.testing.assert_allclose(V[:rank, 4], 0, atol=1e-14)


@pytest.mark.parametrize("name", ["plain", "sparse counts"])
def test_dependencies_are_scikit_learns(name):
    """The matrices are scikit-learn's."""
    X, Y = problem(name)
    X = np.round(X)
    moments, k = Moments.from_arrays(X, Y), Y.shape[1]
    cosines = cosine_similarity(X.T, Y.T)
    information = np.array([[mutual_info_score(x, y) for y in Y.T] for x in X.T]) / np.log(2)
    for dependency, expected in ((COSINE, cosines), (INFORMATION, information)):
        space = DDSR(k, dependency, discretise=None).fit_moments(moments)
        U, V, s = space.feature_directions_, space.directions_, space.singular_values_
        np.testing.assert_allclose(U * s[: U.shape[1]] @ V[: U.shape[1]], expected, atol=1e-13)


@pytest.mark.parametrize("dependency", NOT_CENTRED)
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_other_dependencies_from_dense_sparse_and_downdated_moments_agree(name, dependency):
    """Of the training rows one label has none, another all positives, and one feature is 0."""
    X, Y = problem(name)
    first = np.arange(len(Y)) < 9
    Y = np.column_stack([Y, first, ~first]).astype(np.uint8)
    X = np.column_stack([X, first * 3.7])
    expected = DDSR(dependency=dependency).fit(X[9:], Y[9:])
    U, rank = expected.feature_directions_, expected.feature_directions_.shape[1]
    np.testing.assert_allclose(U[-1], 0, atol=1e-14)
    for of_x, of_y in ((np.asarray, np.asarray), (as_sparse, as_sparse)):
        all_rows = Moments.from_arrays(of_x(X), of_y(Y)).without(np.arange(9))
        for space in (
            DDSR(dependency=dependency).fit_moments(all_rows),
            DDSR(dependency=dependency).fit(of_x(X[9:]), Y[9:]),
        ):
            np.testing.assert_allclose(space.singular_values_, expected.singular_values_, atol=1e-13)
            np.testing.assert_allclose(space.feature_directions_, U, atol=1e-9)
            np.testing.assert_allclose(space.directions_[:rank], expected.directions_[:rank], atol=1e-9)


@pytest.mark.parametrize("dependency", NOT_CENTRED)
def test_where_nothing_depends_there_is_a_clear_result(dependency):
    X, Y = problem("plain")
    for x, y in ((X, 0 * Y), (X, 0 * Y + 1), (0 * X, Y), (X, Y[:, :1]), (X[:3], Y[:3])):
        model = ComposedClassifier(LeastSquares(), dual_space=DDSR(dependency=dependency)).fit(x, y)
        assert np.isfinite(model.decision_function(x)).all()
        if np.ptp(y) == 0:
            np.testing.assert_array_equal(model.predict(x), y)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_correlations_from_dense_sparse_and_downdated_moments_agree(cls, name):
    """Of the training rows one label has none, another all positives: neither may take part by its rounding."""
    X, Y = problem(name)
    Y = np.column_stack([Y, np.arange(len(Y)) < 9, np.arange(len(Y)) >= 9]).astype(np.uint8)
    X = np.column_stack([X, (np.arange(len(Y)) < 9) * 3.7])
    train, test = np.arange(9, len(Y)), np.arange(9)
    expected = cls(dependency=CORRELATION).fit(X[train], Y[train])
    found = [
        cls(dependency=CORRELATION).fit_moments(Moments.from_arrays(X, Y).without(test)),
        cls(dependency=CORRELATION).fit_moments(Moments.from_arrays(as_sparse(X), sp.csr_array(Y)).without(test)),
        cls(dependency=CORRELATION).fit(as_sparse(X[train]), Y[train]),
    ]
    model = ComposedClassifier(LeastSquares(), dual_space=cls(dependency=CORRELATION), threshold=Maximise())
    scores = model.fit(X[train], Y[train]).decision_function(X)
    np.testing.assert_allclose(model.fit(as_sparse(X[train]), Y[train]).decision_function(X), scores, atol=1e-7)
    for space in found:
        U, expected_u = space.feature_directions_, expected.feature_directions_
        assert np.max(np.abs(U[-1])) < 1e-14
        np.testing.assert_allclose(U @ U.T, expected_u @ expected_u.T, atol=1e-8)
        varying = [j for j in range(Y.shape[1]) if 0 < Y[train, j].sum() < len(train)]
        rank = len(varying)
        np.testing.assert_allclose(space.directions_[:rank] ** 2, expected.directions_[:rank] ** 2, atol=1e-7)
        assert np.max(np.abs(np.delete(space.directions_[:rank], varying, axis=1))) < 1e-14


@pytest.mark.parametrize("name", NAMES)
def test_idsr_with_all_dimensions_is_least_squares(name):
    """A rotation changes neither the minimum-norm solution nor what it predicts."""
    X, Y = problem(name)
    model = ComposedClassifier(LeastSquares(), dual_space=IDSR()).fit(X[:-10], Y[:-10])
    plain = LeastSquares().fit(X[:-10], Y[:-10].astype(float))
    said = model.label_space_.decode(model.output(X[-10:]))
    size = np.abs(X[-10:]).max(axis=0) @ np.abs(plain.coef_.T)
    assert np.max(np.abs(said - plain.predict(X[-10:])) / (1 + size)) < 1e-7


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cls", ALL)
def test_reduced_moments_are_those_of_the_reduced_rows(cls, name):
    X, Y = problem(name)
    moments = Moments.from_arrays(X, Y).without(np.arange(5))
    space = cls().fit_moments(moments)
    reduced, exact = space.transform_moments(moments), Moments.from_arrays(space.transform(X[5:]), Y[5:])
    scale = np.sqrt(np.diag(exact.xx).max())
    np.testing.assert_allclose(reduced.mean_x, exact.mean_x, atol=1e-9 * (1 + np.abs(exact.mean_x).max()))
    np.testing.assert_allclose(reduced.xx, exact.xx, atol=1e-9 * scale**2)
    np.testing.assert_allclose(reduced.xy, exact.xy, atol=1e-9 * scale)
    np.testing.assert_allclose(reduced.rows()[0], space.transform(X[5:]), atol=1e-9 * (1 + np.abs(X).max()))


@pytest.mark.parametrize("cls", ALL)
def test_sizes_are_rounded_and_nested(cls):
    X, Y = problem("plain")
    whole = cls().fit(X, Y)
    for p, size in ((0.2, 1), (0.4, 2), (0.6, 4), (0.8, 5), (1.0, 6), (0.25, 2), (0.05, 1)):
        space = (DDSR(p) if cls is DDSR else IDSR(n_labels=p)).fit(X, Y)
        assert space.n_components_ == size
        np.testing.assert_allclose(space.directions_, whole.directions_[:size], atol=1e-10)
    np.testing.assert_array_equal(whole.decode(whole.encode(Y)).round(9), Y)
    if cls is IDSR:
        assert [IDSR(p).fit(X, Y).feature_directions_.shape[1] for p in (0.2, 0.5, 9)] == [3, 8, 9]
    with pytest.raises(ValueError, match="is more than the"):
        cls(99).fit(X, Y)
    assert clone(whole).get_params() == whole.get_params()


@pytest.mark.parametrize("cls", ALL)
def test_where_nothing_is_correlated_what_most_instances_have_is_predicted(cls):
    X, Y = problem("plain")
    for x, y in ((X, 0 * Y), (X, 0 * Y + 1), (np.ones_like(X), Y)):
        model = ComposedClassifier(LeastSquares(), dual_space=cls(dependency=CORRELATION)).fit(x, y)
        np.testing.assert_array_equal(model.predict(x), np.tile(y.mean(axis=0) > 0.5, (len(y), 1)))


# -------------------------------------------------------------------- in experiments

LABELS, FEATURES, SIZE = "dual_space.n_labels", "dual_space.n_features", "dual_space.n_components"
METHODS = {
    "IDSR": {"dual_space": "idsr", "learner": "least_squares", "threshold": {"maximise": "f1"}},
    "DDSR": {"dual_space": "ddsr", "learner": "least_squares", "threshold": {"maximise": "f1"}},
}


def scores_of(experiment):
    data = small.read_data(experiment)
    trials = {t.key: t for t in plan_trials(experiment, data)}
    computer = Computer(data)
    found = [
        s for group in group_by_split(experiment, data.source, trials.values()) for s in computer.compute(group).results
    ]
    return [(trials[s.key], s.values) for s in found]


def test_a_sweep_scores_as_a_fit_for_each_point_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits, fit = [], ComposedClassifier.fit_moments

    def counted(self, *arguments, **options):
        fits.append(type(self.dual_space))
        return fit(self, *arguments, **options)

    sweep = {LABELS: ["20%", "60%", "100%"], FEATURES: ["40%", "100%"], SIZE: [1, "100%"]}
    arff = small.write_dataset(tmp_path / "data")
    splits = {"kind": "kfold", "folds": 3, "seed": 1}
    experiment = small.experiment(arff, methods=METHODS, sweep=sweep, splits=splits, metrics=["hamming_loss"])
    with monkeypatch.context() as patch:
        patch.setattr(ComposedClassifier, "fit_moments", counted)
        found = scores_of(experiment)
    assert (fits.count(IDSR), fits.count(DDSR)) == (3 * 2, 3 * 2), "one fit is to serve all sizes of the code"
    assert len(found) == 3 * (6 + 2)
    dataset, _ = small.planned(experiment)
    divided = small.read_data(experiment).splits
    for trial, values in found:
        assert values is not None
        split = divided[trial.split]
        estimator = estimators.seeded(build(trial.spec), experiment.seed, trial)
        said = estimator.fit(dataset.X[split.train], dataset.Y[split.train]).predict(dataset.X[split.test])
        assert values["hamming_loss"] == pytest.approx(np.mean(said != dataset.Y[split.test]), abs=1e-12)


def test_a_config_writes_a_dual_space_and_not_a_label_space_beside_it(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    method = {**METHODS["IDSR"], "dual_space": {"idsr": {"n_features": "40%", "n_labels": 2}}}
    experiment = small.experiment(arff, methods={"M": method}, sweep={})
    assert experiment.resolved()["methods"]["M"] == {
        "dual_space": {"idsr": {"n_features": "40%", "n_labels": 2}},
        "learner": "least_squares",
        "threshold": {"maximise": {"metric": "f1"}},
    }
    space = build(experiment.methods["M"]).dual_space
    assert (space.n_features, space.n_labels) == (0.4, 2)
    with pytest.raises(ConfigError, match="leave one of the two out"):
        small.experiment(arff, methods={"M": {**method, "label_space": "plst"}}, sweep={})
    assert registry.names("dual_space") == ["ddsr", "idsr"]


# -------------------------------------------------------------------- a linear learner folded in


class Halved(LeastSquares):
    """A learner that predicts otherwise than its coefficients say."""

    def predict_valid(self, X):
        return super().predict_valid(X) / 2


@pytest.mark.parametrize("space", [DDSR(3), IDSR(5, 3)], ids=str)
def test_a_linear_learner_is_folded_in_and_no_other(space, monkeypatch):
    X, Y = problem("sparse counts")
    for rows in (X, as_sparse(X)):
        model = ComposedClassifier(LeastSquares(), dual_space=space, feature_space=[PCA(9)]).fit(rows, Y)
        reduced = model.label_space_.transform(model.feature_steps_[0].transform(rows))
        with monkeypatch.context() as patched:
            patched.setattr(type(space), "transform", lambda self, X: pytest.fail("rows were reduced"))
            found = model.output(rows)
        np.testing.assert_allclose(found, model.learner_.predict(reduced), atol=1e-10)
    plain = ComposedClassifier(LeastSquares(), dual_space=space).fit(X, Y)
    halved = ComposedClassifier(Halved(), dual_space=space).fit(X, Y)
    np.testing.assert_allclose(halved.output(X), plain.output(X) / 2, atol=1e-10)


# ---------------------------------------------------------------- rank


@pytest.mark.parametrize("n_features", [25, pytest.param(0.2, marks=pytest.mark.slow)])
def test_idsr_beyond_the_rank_of_tall_and_wide_data_has_one_basis(n_features):
    """d ≥ 1000, d < n and few dimensions there: what was fitted and what is predicted come of one decomposition."""
    rng = np.random.default_rng(3)
    B = (rng.random((1200, 25)) < 0.4).astype(float)
    X, Y = np.tile(np.hstack([B, 1 - B]), (1, 20)), (B[:, :3] + B[:, 3:6] > 1).astype(np.uint8)
    classifier = ComposedClassifier(LeastSquares(), dual_space=IDSR(n_features), threshold=Maximise())
    assert np.mean(classifier.fit(X, Y).predict(X) != Y) < 0.05
    moments = Moments.from_arrays(X, Y)
    space = IDSR(n_features).fit_moments(moments)
    np.testing.assert_allclose(space.transform_moments(moments).rows()[0], space.transform(X), atol=1e-8)


@pytest.mark.parametrize("dependency", ["covariance", "correlation"])
@pytest.mark.parametrize(("n", "d", "offset"), [(20000, 6, 0), (20000, 6, 30), (500, 300, 20), (20000, 6, 1000)])
def test_ddsr_knows_the_rank_of_sparse_and_of_downdated_data(n, d, offset, dependency):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(n, d)) + float(offset)
    half = (X[:, :3] + rng.normal(size=(n, 3)) > offset + 1).astype(np.uint8)
    Y = np.hstack([half, 1 - half])  # complementary labels: rank 3
    out = np.arange(0, n, 10)
    for features in (X, sp.csr_array(X)):
        for moments in (Moments.from_arrays(features, Y), Moments.from_arrays(features, Y).without(out)):
            assert DDSR(dependency=dependency).fit_moments(moments).feature_directions_.shape == (d, 3)


def test_ddsr_has_no_more_dimensions_than_features():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 2, size=(60, 6))
    space = DDSR(1.0).fit(X, Y)
    assert space.size_of(1.0) == space.n_components_ == 3
