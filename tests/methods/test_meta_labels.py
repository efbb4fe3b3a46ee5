"""Groups of labels: the author's affinities and eigenvectors, the generalised eigenproblem, chains of groups, MLSF."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import mlcdr
from mlcdr.methods.classifiers.mlsf import encoded
from mlcdr.numerics.admm import lasso
from mlcdr.numerics.meta_labels import (
    label_affinity,
    normalised_affinity,
    row_groups,
    spectral_coordinates,
    spectral_groups,
)
from tests.methods.problems import as_sparse, problem

# -------------------------------------------------------------------- the graph of the labels


def by_loop(X, Y, alpha, threshold, squared):
    K = Y.shape[1]
    A = np.zeros((K, K))
    for j in range(K):
        for k in range(K):
            if j != k and Y[:, j].any() and Y[:, k].any():
                jaccard = (Y[:, j] * Y[:, k]).sum() / np.maximum(Y[:, j], Y[:, k]).sum()
                apart = np.linalg.norm(X[Y[:, j] > 0].mean(axis=0) - X[Y[:, k] > 0].mean(axis=0))
                value = alpha * jaccard + (1 - alpha) * np.exp(-(apart**2) if squared else -apart)
                A[j, k] = value if value > threshold else 0
    return A


@pytest.mark.parametrize("variant", ["text", "published_code"])
def test_affinity_is_that_of_a_loop(variant):
    X, Y = problem("plain")  # label 4 is never there
    Y = Y.astype(float)
    expected = by_loop(X, Y, 0.3, 0.2, variant == "text")
    assert not expected[4].any()
    for rows in (X, as_sparse(X)):
        np.testing.assert_allclose(label_affinity(rows, Y, 0.3, 0.2, variant), expected, atol=1e-12)


def test_the_authors_affinity_and_eigenvectors(sun2017):
    X, Y = sun2017("mlsf_X"), sun2017("mlsf_Y_LxN").T
    A = label_affinity(X, Y, 0.8, 0.01, "published_code")
    np.testing.assert_allclose(A, sun2017("mlsf_small_A"), atol=1e-12)
    np.testing.assert_allclose(normalised_affinity(A), sun2017("mlsf_small_normA"), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(normalised_affinity(A))[::-1], sun2017("mlsf_small_normA_eigenvalues").ravel(), atol=1e-12
    )
    for K in (2, 3, 4):
        values, rows = spectral_coordinates(A, K, "published_code")
        np.testing.assert_allclose(values, sun2017(f"mlsf_small_K{K}_eigs_LM_values").ravel(), atol=1e-12)
        expected = sun2017(f"mlsf_small_K{K}_U_rownormalised_upto_sign")
        np.testing.assert_allclose(np.abs(rows), np.abs(expected), atol=1e-10)


def test_coordinates_solve_the_generalised_problem():
    """(8.11): L w = λ D w, the smallest λ; the rows of W, at length 1, are the coordinates."""
    X, Y = problem("plain")
    A = label_affinity(X, np.delete(Y, 4, axis=1).astype(float), 0.5)
    D = np.diag(A.sum(axis=1))
    values, W = scipy.linalg.eigh(D - A, D)
    found, rows = spectral_coordinates(A, 3)
    np.testing.assert_allclose(1 - found, values[:3], atol=1e-12)
    W = W[:, :3] / np.linalg.norm(W[:, :3], axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(rows), np.abs(W), atol=1e-10)


def test_labels_without_affinity_are_a_group_of_their_own():
    A = np.zeros((6, 6))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 1.0
    groups = [set(group.tolist()) for group in spectral_groups(A, 2, 0)]
    assert groups[-1] == {4, 5}
    assert sorted(label for group in groups for label in group) == [0, 1, 2, 3, 4, 5]
    assert [set(g.tolist()) for g in spectral_groups(np.zeros((3, 3)), 2, 0)] == [{0, 1, 2}]


def test_two_components_are_two_groups():
    A = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    for seed in range(8):  # two rows of one component are the start now and then: the second cluster is empty at first
        groups = sorted(sorted(group.tolist()) for group in spectral_groups(A, 2, seed))
        assert groups == [[0, 1, 2], [3, 4, 5]]
    assert sorted(map(len, row_groups(np.eye(4), 2, 0))) in ([1, 3], [2, 2])


# -------------------------------------------------------------------- the chain of groups


def labels(X, K, seed=0):
    rng = np.random.default_rng(seed)
    return (X[:, :4] @ rng.standard_normal((4, K)) + rng.standard_normal((len(X), K)) > 0.5).astype(np.uint8)


class ByHand(mlcdr.ClassifierChain):
    """A chain of which nobody knows that it is linear."""


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("meta_labels", ["spectral", "label_rows"])
def test_linear_members_are_those_fitted_group_by_group(meta_labels, intercept):
    X, _ = problem("plain")
    Y = labels(X, 13)
    base = mlcdr.Ridge(0.1, intercept)
    params = {"meta_labels": meta_labels, "n_members": 1, "random_state": 0}
    quick = mlcdr.MetaLabelChain(mlcdr.ClassifierChain(base), **params).fit(X[:90], Y[:90])
    plain = mlcdr.MetaLabelChain(ByHand(base), **params).fit(X[:90], Y[:90])
    assert quick._linear is not None
    assert plain._linear is None
    assert len(quick.groups_) == 3
    for one, other in zip(quick.groups_, plain.groups_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(quick.decision_function(X[90:]), plain.decision_function(X[90:]), atol=1e-9)


def test_a_chain_of_groups_by_a_plain_loop():
    """Ridge regressions on the features, the groups before, and the labels before in each member's order."""
    X, _ = problem("plain")
    Y, new = labels(X, 11), np.random.default_rng(5).standard_normal((30, X.shape[1]))
    model = mlcdr.MetaLabelChain(random_state=3).fit(X, Y)
    said = np.zeros((30, 11))
    before: list[int] = []
    for i, group in enumerate(model.groups_):
        votes = []
        for order in model.orders_:
            own = said.copy()
            mine = order[len(before) : len(before) + len(group)]
            assert sorted(mine) == sorted(group.tolist())
            for j, k in enumerate(mine):
                inputs = before + mine[:j]
                link = mlcdr.Ridge(0.1, "penalised").fit(np.hstack([X, Y[:, inputs]]), Y[:, k])
                own[:, k] = link.predict(np.hstack([new, own[:, inputs]])) > 0.5
            votes.append(own[:, group])
        said[:, group] = np.max(votes, axis=0)  # half of two members is one
        before += group.tolist()
        assert i < 3
    np.testing.assert_array_equal(model.predict(new), said)


def test_linear_members_are_known_by_their_orders_others_by_themselves():
    """Linear links stand in matrices, of which the orders are known; others are members. A refit forgets the former."""
    X, _ = problem("plain")
    Y = labels(X, 7)
    model = mlcdr.MetaLabelChain(random_state=0).fit(X, Y)
    assert model.members_ is None
    assert [sorted(order) for order in model.orders_] == [list(range(7))] * 2
    model.set_params(classifier=mlcdr.ClassifierChain(mlcdr.LinearSVM())).fit(X, Y)
    assert model.orders_ is None
    assert [len(members) for members in model.members_] == [2] * len(model.groups_)


def test_of_three_members_two_must_agree():
    """Three members, of which two must agree; scores are positive where labels are predicted."""
    X, _ = problem("plain")
    Y = labels(X, 7)
    model = mlcdr.MetaLabelChain(n_members=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
    assert len(model.orders_) == 3


def test_the_published_code_has_fewer_members_of_small_groups():
    X, _ = problem("plain")
    few = mlcdr.MetaLabelChain(variant="published_code", random_state=0).fit(X, labels(X, 5))
    assert [few._n_members(g) for g in few.groups_] == [1]
    many = mlcdr.MetaLabelChain(variant="published_code", size=3, random_state=0).fit(X, labels(X, 12))
    assert {(len(g) > 2, many._n_members(g)) for g in many.groups_} <= {(True, 2), (False, 1)}
    text = mlcdr.MetaLabelChain(random_state=0).fit(X, labels(X, 5))
    assert [text._n_members(g) for g in text.groups_] == [2]


def test_any_classifier_may_be_a_member():
    X, _ = problem("plain")
    Y = labels(X, 8)
    for classifier in (
        KNeighborsClassifier(3),
        mlcdr.BinaryRelevance(mlcdr.LinearSVM()),
        mlcdr.ClassifierChain(mlcdr.LinearSVM()),
    ):
        model = mlcdr.MetaLabelChain(classifier, random_state=0).fit(X, Y)
        assert model.predict(X).shape == Y.shape
        assert (model.predict(X) == Y).mean() > 0.7
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda part: mlcdr.MetaLabelChain(part, random_state=0),
        lambda part: mlcdr.MLSF(part, size=2, random_state=0),
        lambda part: mlcdr.CBMLC(part, 3, random_state=0),
        lambda part: mlcdr.CLMLC(part, 3, meta_labels=None, random_state=0),
        lambda part: mlcdr.Ensemble(part, 3, random_state=0),
        lambda part: mlcdr.HOMER(part, random_state=0),
    ],
    ids=["MetaLabelChain", "MLSF", "CBMLC", "CLMLC", "Ensemble", "HOMER"],
)
@pytest.mark.parametrize("part", [mlcdr.Ridge(1.0), mlcdr.LinearSVM()], ids=["Ridge", "LinearSVM"])
def test_a_regressor_or_a_binary_classifier_makes_binary_relevance(make, part):
    X, _ = problem("plain")
    Y = labels(X, 8)
    model, whole = make(part).fit(X, Y), make(mlcdr.BinaryRelevance(part)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    assert (model.predict(X) == Y).mean() > 0.7  # numbers about ½, taken for label sets, were nearly all labels


# -------------------------------------------------------------------- LASSO


def test_lasso_is_the_authors(sun2017):
    X, Y, member = sun2017("mlsf_X"), sun2017("mlsf_Y_LxN").T, sun2017("mlsf_fixed_membership").ravel()
    groups = [np.flatnonzero(member == k) for k in np.unique(member)]
    Z = np.column_stack([encoded(Y[:, group]) for group in groups])
    np.testing.assert_allclose(Z.T, sun2017("mlsf_fixed_Z_KxN"), atol=1e-15)
    for gamma in ("0.01", "0.5", "5"):
        V, iterations = lasso(X, Z, float(gamma), 1.0, 100, 0.0)
        assert iterations == 100
        np.testing.assert_allclose(V, sun2017(f"mlsf_fixed_gamma{gamma}_V"), atol=1e-12)
        V, _ = lasso(X, Z, float(gamma), 1.0, 100_000, 1e-13, X.T @ X)
        np.testing.assert_allclose(V, sun2017(f"mlsf_fixed_gamma{gamma}_V_converged"), atol=1e-11)
    wide = sun2017("mlsf_wide_X")
    Z = np.column_stack([encoded(Y[:20][:, group]) for group in groups])
    for gamma in ("0.01", "0.5"):
        for rows in (wide, as_sparse(wide)):
            V, _ = lasso(rows, Z, float(gamma), 1.0, 100, 0.0)
            np.testing.assert_allclose(V, sun2017(f"mlsf_wide_gamma{gamma}_V"), atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "wide", "sparse counts"])
def test_lasso_is_scikit_learns(name):
    X, Y = problem(name)
    Z = Y[:, :3].astype(float)
    gamma = 1.5
    exact = Lasso(gamma / len(X), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Z).coef_.T
    for rows in (X, as_sparse(X)):
        V, _ = lasso(rows, Z, gamma, 1.0, 20_000, 1e-10)
        np.testing.assert_allclose(V, exact, atol=1e-7)
        assert 0 < np.count_nonzero(V) < V.size


def test_label_sets_are_encoded_as_ranks():
    Y = np.array([[0, 0], [1, 1], [1, 0], [0, 1], [1, 0]], dtype=float)  # 0, 3, 1, 2, 1
    np.testing.assert_allclose(encoded(Y), [0, 1, 1 / 3, 2 / 3, 1 / 3])
    np.testing.assert_array_equal(encoded(Y[:, :1]), Y[:, 0])
    np.testing.assert_array_equal(encoded(np.ones((3, 2))), np.zeros(3))
    wide = np.random.default_rng(0).integers(0, 2, (50, 70)).astype(float)  # numbers that no double holds
    assert len(np.unique(encoded(wide))) == 50


# -------------------------------------------------------------------- MLSF


def test_mlsf_predicts_what_the_authors_program_does(sun2017):
    X, Y, new = sun2017("mlsf_X"), sun2017("mlsf_Y_LxN").T, sun2017("mlsf_Xt")
    member = sun2017("mlsf_small_pred_membership_used").ravel()
    groups = [np.flatnonzero(member == k).tolist() for k in np.unique(member)]
    chain = mlcdr.ClassifierChain(SVC(kernel="linear"))
    model = mlcdr.MLSF(chain, size=5, gamma=1.0, groups=groups, variant="published_code").fit(X, Y)
    expected = np.abs(sun2017("mlsf_small_pred_size5_gamma1_rng1_canonicalchain_LxNt")).T
    np.testing.assert_array_equal(model.predict(new), expected)


def test_each_group_sees_its_own_features():
    X, _ = problem("plain")
    Y = labels(X, 6)
    model = mlcdr.MLSF(mlcdr.BinaryRelevance(mlcdr.Ridge(1.0)), groups=[[0, 3], [1, 2, 4, 5]], gamma=4.0).fit(X, Y)
    Z = np.column_stack([encoded(Y[:, g].astype(float)) for g in model.groups_])
    V, _ = lasso(X, Z, 4.0)
    np.testing.assert_allclose(model.coefficients_, V, atol=1e-10)
    for g, group in enumerate(model.groups_):
        kept = np.flatnonzero(V[:, g])
        assert 0 < len(kept) < X.shape[1]
        alone = mlcdr.BinaryRelevance(mlcdr.Ridge(1.0)).fit(X[:, kept], Y[:, group])
        np.testing.assert_array_equal(model.predict(X)[:, group], alone.predict(X[:, kept]))


@pytest.mark.parametrize("make", [np.asarray, as_sparse])
def test_a_group_without_features_goes_by_frequency(make):
    X, _ = problem("plain")
    Y = labels(X, 4)
    Y[:, 0] = 1
    Y[:3, 0] = 0
    Y[:, 1] = 0
    Y[:5, 1] = 1
    model = mlcdr.MLSF(gamma=1e9).fit(make(X), Y)
    assert not model.coefficients_.any()
    np.testing.assert_array_equal(model.predict(make(X))[:, :2], np.tile([1, 0], (len(X), 1)))


def test_labels_without_affinity_are_lost_in_the_published_code():
    X, _ = problem("plain")
    Y = labels(X, 12)
    Y[:, 7] = 0
    Y[0, 7] = 1  # one instance, far from the other labels' means
    X[0] += 100
    text = mlcdr.MLSF(epsilon=0.05, random_state=0).fit(X, Y)
    code = mlcdr.MLSF(epsilon=0.05, variant="published_code", random_state=0).fit(X, Y)
    assert sorted(np.concatenate(text.groups_).tolist()) == list(range(12))
    assert 7 not in np.concatenate(code.groups_)
    assert not code.predict(X)[:, 7].any()
    assert code.n_iter_ == 100


@pytest.mark.parametrize(
    "groups",
    [[], [[0, 1], []], [[0, 1], [2]], [[0, 1], [1, 3]], [0, 1, 2, 3], [["a", 1, 2, 3]], ["0123"]],
)
def test_groups_that_are_no_division_are_refused(groups):
    X, _ = problem("plain")
    with pytest.raises(ValueError, match=r"groups must (be lists that )?hold each of the"):
        mlcdr.MLSF(groups=groups).fit(X, labels(X, 4))
