"""Kernel ridge, kernel-CPLST and kernel OCCA: scikit-learn's answers, the paper's formula, laws, sharing, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Sklearns
from sklearn.metrics.pairwise import KERNEL_PARAMS, kernel_metrics, pairwise_kernels, rbf_kernel

import mlcdr
from mlcdr.experiment.loading import experiment_from
from mlcdr.numerics import kernels
from mlcdr.numerics.kernels import Kernel, KernelRegression
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

KERNELS = [
    {"kernel": "gaussian", "gamma": 0.05},
    {"kernel": "rbf"},
    {"kernel": "linear", "gamma": 3.0},
    {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5},
    {"kernel": "laplacian", "gamma": 0.1},
    {"kernel": "cosine"},
    {"kernel": "chi2"},
]
SPACES = (mlcdr.PLST, mlcdr.KernelCPLST, mlcdr.KernelOCCA)


def sklearn_scores(X, Y, new, alpha, **kernel):
    """Scores by scikit-learn's learner, on centred labels."""
    name = {"gaussian": "rbf"}.get(kernel["kernel"], kernel["kernel"])
    if kernel.get("gamma") is None and name == "chi2":
        kernel = {**kernel, "gamma": 1.0}
    model = Sklearns(alpha=alpha, **{**kernel, "kernel": name}).fit(X, Y - Y.mean(0))
    return model.predict(new) + Y.mean(0)


def test_the_kernels_are_scikit_learns() -> None:
    assert set(kernels.NAMES) == {"gaussian", *kernel_metrics()}
    assert {name: set(parameters) for name, parameters in kernels._PARAMETERS.items()} == {
        name: set(KERNEL_PARAMS[name]) for name in kernel_metrics()
    }


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_predictions_are_scikit_learns(kernel, solver):
    X, Y = problem("sparse counts")
    expected = sklearn_scores(X[:90], Y[:90].astype(float), X[90:], 0.3, **kernel)
    learner = mlcdr.KernelRidge(0.3, **kernel, solver=solver)
    np.testing.assert_allclose(learner.fit(X[:90], Y[:90]).predict(X[90:]), expected, atol=1e-8)
    one = learner.fit(X[:90], Y[:90, 2])
    np.testing.assert_allclose(one.predict(X[90:]), expected[:, 2], atol=1e-8)
    if kernel["kernel"] != "chi2":
        rows = as_sparse(X)
        np.testing.assert_allclose(learner.fit(rows[:90], Y[:90]).predict(rows[90:]), expected, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_the_limit_of_small_alpha_is_least_squares_of_minimum_norm(name, solver):
    X, Y = problem(name)
    Z = Y - Y.mean(0)
    # features are not centred, and squares of scales as far apart as 1e9 are beyond a kernel matrix
    X = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    expected = X @ (np.linalg.pinv(X, rcond=1e-10) @ Z) + Y.mean(0)
    model = mlcdr.KernelRidge(1e-300, "linear", solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


def test_predictions_in_blocks_are_the_same(monkeypatch):
    X, Y = problem("plain")
    model = mlcdr.KernelRidge().fit(X, Y)
    expected = model.predict(X)
    monkeypatch.setattr(kernels, "_ROWS", 7)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_a_kernel_that_is_not_positive_semi_definite_needs_alpha():
    X, Y = problem("sparse counts")
    lowest = np.linalg.eigvalsh(pairwise_kernels(X, metric="additive_chi2"))[0]
    for solver in ("cholesky", "eigen"):
        with pytest.raises(ValueError, match=r"K \+ αI is not positive definite .* larger alpha"):
            mlcdr.KernelRidge(1e-3, "additive_chi2", solver=solver).fit(X, Y)
        enough = mlcdr.KernelRidge(1 - lowest, "additive_chi2", solver=solver).fit(X, Y)
        expected = sklearn_scores(X, Y.astype(float), X, 1 - lowest, kernel="additive_chi2")
        np.testing.assert_allclose(enough.predict(X), expected, atol=1e-8)


def test_features_that_overflow_and_sums_without_rows_are_refused():
    X, Y = problem("plain")
    with pytest.raises(ValueError, match=r"poly.* overflows on these features"):
        mlcdr.KernelRidge(kernel="poly", degree=200).fit(X * 1e6, Y)
    with pytest.raises(ValueError, match="no longer have their rows"):
        mlcdr.KernelRidge().fit_moments(Moments.from_arrays(X, Y).settled())


# -------------------------------------------------------------------- sharing


@pytest.fixture
def count(monkeypatch):
    """How often kernel matrices of training rows, and solves, are computed."""
    counted = {"matrix": 0, "solve": 0}
    matrix, solve = Kernel.matrix, KernelRegression._solve

    def counting_matrix(self, X, Y=None):
        counted["matrix"] += Y is None
        return matrix(self, X, Y)

    def counting_solve(self, moments):
        counted["solve"] += 1
        return solve(self, moments)

    monkeypatch.setattr(Kernel, "matrix", counting_matrix)
    monkeypatch.setattr(KernelRegression, "_solve", counting_solve)
    return counted


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_splits_and_methods_share_one_kernel_matrix_and_one_solve(count, solver):
    X, Y = problem("plain")
    whole = Moments.from_arrays(X, Y, Memo(charged=False))
    for test in (np.arange(10), np.arange(60, 80)):
        part = whole.without(test)
        for space in (None, *(cls(3) for cls in SPACES)):
            model = mlcdr.ComposedClassifier(mlcdr.KernelRidge(0.2, gamma=0.1, solver=solver), space).fit_moments(part)
            rows = np.delete(np.arange(120), test)
            plain = mlcdr.ComposedClassifier(model.learner, space).fit(X[rows], Y[rows])
            np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert count["matrix"] == 1 + 2 * 4
    assert count["solve"] == 2 * (1 + 4)


@pytest.mark.parametrize("name", ["plain", "dependent", "sparse counts"])
def test_rows_left_out_are_predicted_as_by_a_fit_to_the_others(name, count):
    X, Y = problem(name)
    left = np.array([80, 3, 41, 40, 119, 7, 10, 0])  # in no order
    Y[3, 4] = 1  # a label that has no positive row but one left out
    part = Moments.from_arrays(X, Y).without(left)
    kept = np.delete(np.arange(120), left)
    Z = Y[kept] - Y[kept].mean(0)
    K = rbf_kernel(X[kept], gamma=0.1)
    A = np.linalg.solve(K + 0.2 * np.eye(112), Z)
    F = K @ A
    regression = KernelRegression(Kernel("gaussian", 0.1), 0.2)
    expected = rbf_kernel(X[left], X[kept], gamma=0.1) @ A + Y[kept].mean(0)
    np.testing.assert_allclose(regression.predict_left_out(part), expected, atol=1e-10)
    np.testing.assert_allclose(regression.explained_scatter(part), Z.T @ F + F.T @ Z - F.T @ F, atol=1e-9)
    matrix = np.random.default_rng(0).standard_normal((6, 2))
    codes = part.map_labels(np.full(6, 0.2), matrix)
    np.testing.assert_allclose(regression.predict_left_out(codes), (expected - 0.2) @ matrix, atol=1e-10)
    assert count == {"matrix": 1, "solve": 0}


def test_a_fit_decides_where_much_is_left_out_or_digits_would_be_lost(monkeypatch):
    X, Y = problem("plain")
    whole = Moments.from_arrays(X, Y)
    few, kernel = np.arange(15), Kernel("gaussian", 0.1)
    assert KernelRegression(kernel, 0.2).predict_left_out(whole.without(few)) is not None
    assert KernelRegression(kernel, 0.2).predict_left_out(whole) is None
    assert KernelRegression(kernel, 0.2).predict_left_out(whole.without(np.arange(16))) is None
    assert KernelRegression(kernel, 0.2).predict_left_out(whole.without(few).without(few)) is None
    assert KernelRegression(kernel, 0.2, "eigen").predict_left_out(whole.without(few)) is None
    assert KernelRegression(kernel, 1e-7).predict_left_out(whole.without(few)) is None
    monkeypatch.setattr(kernels, "_ENTRIES", 120**2 - 1)
    assert KernelRegression(kernel, 0.2).predict_left_out(whole.without(few)) is None


def test_parts_of_parts_slice_the_whole(count):
    X, Y = problem("plain")
    whole = Moments.from_arrays(X, Y)
    part = whole.without(np.array([3, 0, 50])).without(np.array([0, 1, 100]))
    kept = np.delete(np.delete(np.arange(120), [0, 3, 50]), [0, 1, 100])
    root, index = part.map_labels(np.zeros(6), np.eye(6)[:, :2]).whole()
    assert root is whole
    np.testing.assert_array_equal(index, kept)
    kernel = Kernel("gaussian", 0.1)
    np.testing.assert_allclose(kernel.of_moments(part), rbf_kernel(X[kept], gamma=0.1), atol=1e-12)
    np.testing.assert_array_equal(part.rows()[0], X[kept])
    kernel.of_moments(whole)[:] = 0  # a copy
    np.testing.assert_allclose(kernel.of_moments(whole), rbf_kernel(X, gamma=0.1), atol=1e-12)
    assert count["matrix"] == 1


def test_reduced_features_have_a_kernel_of_their_own():
    X, Y = problem("plain")
    part = Moments.from_arrays(X, Y).without(np.arange(20))
    model = mlcdr.ComposedClassifier(
        mlcdr.KernelRidge(0.2, gamma=0.1), mlcdr.KernelCPLST(3), [mlcdr.PCA(4)]
    ).fit_moments(part)
    reduced = mlcdr.PCA(4).fit(X[20:], Y[20:]).transform(X)
    plain = mlcdr.ComposedClassifier(mlcdr.KernelRidge(0.2, gamma=0.1), mlcdr.KernelCPLST(3)).fit(reduced[20:], Y[20:])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(reduced), atol=1e-8)


def test_no_more_than_four_kernel_matrices_are_kept(count):
    X, Y = problem("plain")
    moments = Moments.from_arrays(X, Y)
    for gamma in (1, 2, 3, 4, 1, 5, 1, 3):
        Kernel("gaussian", gamma).of_moments(moments)
    assert count["matrix"] == 5
    Kernel("gaussian", 2).of_moments(moments)
    assert count["matrix"] == 6
    kept = [value for value in moments.memo._values.values() if getattr(value, "shape", None) == (120, 120)]
    assert len(kept) == 4


def test_the_values_used_last_are_kept_and_charged_to_all():
    import time

    memo = Memo()
    computed = []

    def get(key):
        def compute():
            computed.append(key)
            time.sleep(0.01)
            return key

        with metered() as meter:
            assert memo.latest("kind", key, compute, at_most=2) == key
        return meter.seconds

    assert min(get(key) for key in "aabacb") >= 0.01
    assert computed == ["a", "b", "c", "b"]  # c drove out b, since a was used after it


def test_parameters_that_a_kernel_has_not_make_no_other_kernel():
    assert Kernel("linear", 1.0) == Kernel("linear", 2.0, 7, 3)
    assert Kernel("gaussian", 1.0) == Kernel("rbf", 1.0, 5) != Kernel("rbf", 2.0)
    assert Kernel("poly", 1.0, 2) != Kernel("poly", 1.0, 3)
    assert len({Kernel("gaussian", 1), Kernel("rbf", 1.0)}) == 1
    assert str(Kernel("poly", 0.5)) == "poly(coef0=1, degree=3, gamma=0.5)"


# -------------------------------------------------------------------- the label spaces


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_directions_are_those_of_the_formula(solver):
    X, Y = problem("plain")
    Z = Y - Y.mean(0)
    K = rbf_kernel(X, gamma=0.1)
    Q = np.linalg.inv(K + 0.3 * np.eye(120))
    regression = mlcdr.KernelRidge(0.3, gamma=0.1, solver=solver)
    for cls, identity in ((mlcdr.KernelCPLST, 0), (mlcdr.KernelOCCA, 1)):
        matrix = Z.T @ (2 * K @ Q - Q @ K @ K @ Q - identity * np.eye(120)) @ Z
        space = cls(regression=regression).fit(X, Y)
        np.testing.assert_allclose(space.eigenvalues_, np.linalg.eigvalsh(matrix)[::-1], atol=1e-9)
        V = space.directions_
        np.testing.assert_allclose(V @ matrix @ V.T, np.diag(space.eigenvalues_), atol=1e-9)
        np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-12)


def test_with_a_linear_kernel_and_small_alpha_it_is_cplst():
    """The kernel is not centred: on centred features it is CPLST, on others CPLST without centring."""
    X, Y = problem("plain")
    X += 2
    linear = mlcdr.KernelRidge(1e-300, "linear")
    for rows, centre in ((X - X.mean(0), True), (X, False)):
        for kernel, plain in ((mlcdr.KernelCPLST, mlcdr.CPLST), (mlcdr.KernelOCCA, mlcdr.OCCA)):
            space, expected = kernel(regression=linear).fit(rows, Y), plain(centre=centre).fit(X, Y)
            np.testing.assert_allclose(space.eigenvalues_, expected.eigenvalues_, atol=1e-8)
            np.testing.assert_allclose(space.encode(Y)[:, :5] ** 2, expected.encode(Y)[:, :5] ** 2, atol=1e-6)


@pytest.mark.parametrize("cls", SPACES)
def test_all_dimensions_are_plain_kernel_ridge(cls):
    X, Y = problem("plain")
    learner = mlcdr.KernelRidge(0.2, gamma=0.1)
    plain = mlcdr.ComposedClassifier(learner).fit(X[:90], Y[:90])
    whole = mlcdr.ComposedClassifier(learner, cls()).fit(X[:90], Y[:90])
    np.testing.assert_allclose(whole.decision_function(X), plain.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(whole.predict(X), plain.predict(X))


# -------------------------------------------------------------------- whose kernel it is


def test_the_label_space_takes_the_learners_kernel():
    X, Y = problem("plain")
    learner = mlcdr.KernelRidge(0.03, "laplacian", gamma=0.2, solver="eigen")
    model = mlcdr.ComposedClassifier(learner, mlcdr.KernelCPLST(2)).fit(X, Y)
    assert model.label_space_.regression_ == learner.kernel_regression()
    alone = mlcdr.KernelCPLST(2, regression=learner).fit(X, Y)
    np.testing.assert_array_equal(model.label_space_.directions_, alone.directions_)


@pytest.mark.parametrize("name", kernels.NAMES)
def test_sparse_features_have_a_kernel_or_a_refusal(name):
    X, Y = problem("sparse counts")
    learner = mlcdr.KernelRidge(1e3, name, gamma=1e-3)
    if "chi2" in name:
        for fitted in (X, as_sparse(X)):
            with pytest.raises(ValueError, match=f"the kernel {name} is not computed for sparse features: take"):
                learner.fit(fitted, Y).predict(as_sparse(X))
    else:
        sparse = learner.fit(as_sparse(X), Y).predict(as_sparse(X))
        np.testing.assert_allclose(sparse, learner.fit(X, Y).predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("space", [mlcdr.KernelCPLST, mlcdr.KernelOCCA])
def test_a_kernel_of_outputs_that_are_fitted_apart(space):
    """The codes are those of the learner itself, and so are the scores."""
    X, Y = problem("plain")
    learner = mlcdr.KernelRidge(0.03, "laplacian", gamma=0.2)
    together, apart = (
        mlcdr.ComposedClassifier(each, space(2)).fit(X, Y) for each in (learner, mlcdr.Separate(learner))
    )
    np.testing.assert_array_equal(apart.label_space_.directions_, together.label_space_.directions_)
    np.testing.assert_allclose(apart.output(X), together.output(X), rtol=1e-9, atol=1e-10)


def test_a_second_kernel_is_refused_and_one_is_needed():
    X, Y = problem("plain")
    ridge, own = mlcdr.KernelRidge(), mlcdr.KernelCPLST(2, regression=mlcdr.KernelRidge(0.03))
    for learner, space, told in (
        (ridge, own, "KernelCPLST takes the kernel of the learner KernelRidge: leave"),
        (mlcdr.Separate(ridge), own, "KernelCPLST takes the kernel of the learner Separate: leave"),
        (mlcdr.LeastSquares(), mlcdr.KernelOCCA(), "LeastSquares has no kernel for KernelOCCA to take"),
        (mlcdr.Separate(), mlcdr.KernelOCCA(), "Separate has no kernel for KernelOCCA to take"),
        (ridge, mlcdr.KernelCPLST(regression=mlcdr.LeastSquares()), "'regression' parameter"),
    ):
        with pytest.raises(ValueError, match=told):
            mlcdr.ComposedClassifier(learner, space).fit(X, Y)
    other = mlcdr.ComposedClassifier(mlcdr.LeastSquares(), own).fit(X, Y)
    np.testing.assert_array_equal(other.label_space_.directions_, own.fit(X, Y).directions_)


def experiment(sweep=None, **method):
    return experiment_from(
        {
            "name": "kernels",
            "datasets": ["emotions"],
            "splits": {"kind": "shuffle", "repeats": 100, "train_size": 0.9, "seed": 2012},
            "metrics": ["hamming_loss"],
            "sweep": sweep or {"label_space.n_components": ["20%", "40%", "60%", "80%", "100%"]},
            "methods": {"M": method},
        },
        look_up=False,
    )


def test_a_config_hears_of_it_at_once():
    ridge = {"kernel_ridge": {"gamma": 0.1, "alpha": 0.2}}
    experiment(label_space="kernel_cplst", learner=ridge)
    experiment(label_space={"kernel_cplst": {"regression": ridge}}, learner="least_squares")
    experiment({"label_space.regression": ["kernel_ridge", ridge]}, label_space="kernel_cplst", learner="least_squares")
    experiment({"learner.gamma": [0.1, 0.2]}, label_space="kernel_cplst", learner="kernel_ridge")
    apart = {"separate": {"estimator": ridge}}
    experiment(label_space="kernel_cplst", learner=apart)
    experiment(label_space={"kernel_occa": {"regression": ridge}}, learner="separate")
    experiment({"learner.estimator": ["kernel_ridge", ridge]}, label_space="kernel_cplst", learner="separate")
    for space, learner, message in (
        ("kernel_cplst", "ridge", r"methods\.M\.label_space: the learner Ridge has no kernel for KernelCPLST to take"),
        ({"kernel_occa": {"regression": ridge}}, ridge, r"methods\.M\.label_space: KernelOCCA takes the kernel of the"),
        ("kernel_cplst", {"separate": "ridge"}, r"methods\.M\.label_space: the learner Separate has no kernel"),
        ({"kernel_occa": {"regression": ridge}}, apart, r"takes the kernel of the learner Separate"),
        ({"kernel_occa": {"regression": "ridge"}}, "ridge", "'regression' parameter of KernelOCCA must be"),
        ("kernel_cplst", {"kernel_ridge": {"gamma": 0}}, "'gamma' parameter of KernelRidge must be"),
    ):
        with pytest.raises(mlcdr.UserError, match=message):
            experiment(label_space=space, learner=learner)


def test_the_printed_cells_of_emotions(real_dataset):
    """Chen & Lin 2012, Table 5, with the parameters that cross-validation finds: within three standard errors."""
    from mlcdr.execution.computing import Computer
    from mlcdr.execution.groups import group_by_split
    from mlcdr.experiment.data_source import DataSource
    from mlcdr.experiment.trials import plan_trials

    dataset = real_dataset("emotions")
    ridge = {"kernel_ridge": {"gamma": 2.0**-17, "alpha": 2.0**-14}}
    described = experiment(label_space="kernel_cplst", learner=ridge)
    data = DataSource.of(described.datasets[0], described.splits).divide(dataset)
    trials, computer = plan_trials(described, data), Computer(data)
    scores = [s for group in group_by_split(described, data.source, trials) for s in computer.compute(group).results]
    found = {score.key: score.values["hamming_loss"] for score in scores}
    printed = {"20%": (0.2231, 0.0020), "40%": (0.2071, 0.0024), "60%": (0.1981, 0.0025)}
    printed |= {"80%": (0.1973, 0.0027), "100%": (0.1988, 0.0027)}
    for size, (mean, error) in printed.items():
        losses = [found[trial.key] for trial in trials if trial.point[0][1] == size]
        assert len(losses) == 100
        assert abs(np.mean(losses) - mean) <= 3 * np.hypot(error, np.std(losses, ddof=1) / 10)
