"""CBMLC and CLMLC: the author's vectors, a plain loop over clusters, and what is awkward."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.neighbors import KNeighborsClassifier

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.classifiers.mlsf import MLSF
from mlcdr.methods.classifiers.reader_le import ReaderLEClassifier
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.ensembles.ensemble import Ensemble
from mlcdr.methods.feature_space.csfs import CSFS
from mlcdr.methods.instance_space.cbmlc import CBMLC
from mlcdr.methods.instance_space.clmlc import CLMLC
from mlcdr.methods.instance_space.homer import HOMER
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.local_features.for_each_label import ForEachLabel
from mlcdr.methods.local_features.same_for_all import SameForAll
from mlcdr.numerics.kmeans import SingleStartKMeans
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

CHAIN = ClassifierChain(Ridge(0.1, "penalised"))


@pytest.fixture
def given(reference):
    folder = reference("sun2017_small")
    return lambda name: np.loadtxt(folder / f"{name}.csv", delimiter=",", ndmin=2)


def from_rows(rows):
    """K-means that starts from these rows."""
    return SingleStartKMeans(len(rows), init=rows)


# -------------------------------------------------------------------- the author's program


@pytest.mark.parametrize("d", [3, 30])
def test_the_authors_clmlc(given, d):
    X, Y, new = given("clmlc_X"), given("clmlc_Y_LxN").T, given("clmlc_Xt")
    params = {"n_components": d, "meta_labels": "label_rows", "variant": "published_code", "random_state": 0}
    Z = CLMLC(CHAIN, 4, **params).fit(X, Y)._encode(X)
    model = CLMLC(CHAIN, 4, clusterer=from_rows(Z[:4]), **params).fit(X, Y)
    projection = model.projection_
    U = given(f"clmlc_d{d}_U_upto_sign")
    signs = np.sign((projection.components_.T * U).sum(axis=0))
    np.testing.assert_allclose(projection.components_.T * signs, U, atol=1e-12)
    np.testing.assert_allclose(Z * signs, given(f"clmlc_d{d}_Z_upto_sign"), atol=1e-12)
    np.testing.assert_allclose(model._encode(new) * signs, given(f"clmlc_d{d}_Zt_upto_sign"), atol=1e-12)
    found = projection.eigenvalues_[: len(signs)] / 4  # labels are ±1 there
    np.testing.assert_allclose(found, given(f"clmlc_d{d}_H_singular_values").ravel(), atol=1e-12)
    np.testing.assert_array_equal(model.cluster_of_row_ + 1, given(f"clmlc_d{d}_kmeans_labels_start_first4").ravel())
    np.testing.assert_array_equal(model.predict(new), np.abs(given(f"clmlc_d{d}_k4_pred_modeA_LxNt")).T)


def test_the_authors_cbmlc(given):
    X, Y, new = given("clmlc_X"), given("clmlc_Y_LxN").T, given("clmlc_Xt")
    for make in (np.asarray, as_sparse):
        model = CBMLC(CHAIN, 4, clusterer=from_rows(X[:4])).fit(make(X), Y)
        np.testing.assert_array_equal(model.predict(make(new)), np.abs(given("cbmlc_k4_pred_modeA_LxNt")).T)


def test_the_authors_ridge_chain(given):
    X, Y, new = given("clmlc_X"), given("clmlc_Y_LxN").T, given("clmlc_Xt")
    model = CHAIN.fit(X, Y)
    for k, link in enumerate(model.links_):
        expected = given(f"cc_ridge_W_label{k + 1}_bias_first").ravel()
        found = np.append(link.model.intercept_, link.model.coef_[0])
        np.testing.assert_allclose(found, expected, atol=1e-11)
    np.testing.assert_allclose(model.decision_function(new) + 0.5, given("cc_ridge_scores_canonical_NtxL"), atol=1e-11)
    np.testing.assert_array_equal(model.predict(new), np.abs(given("cc_ridge_pred_canonical_LxNt")).T)


# -------------------------------------------------------------------- a plain loop


@pytest.mark.parametrize("name", NAMES)
def test_a_classifier_for_each_cluster(name):
    X, Y = problem(name)
    train, new = X[:-20], X[-20:]
    Y = Y[: len(train)]
    model = CBMLC(CHAIN, clusterer=from_rows(train[:4]), n_clusters=4).fit(train, Y)
    expected = np.zeros((20, Y.shape[1]))
    nearest = ((new[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    for cluster in range(4):
        members = model.cluster_of_row_ == cluster
        np.testing.assert_allclose(model.cluster_centers_[cluster], train[members].mean(axis=0))
        present = Y[members].any(axis=0)
        here = nearest == cluster
        if here.any() and present.any():
            local = ClassifierChain(Ridge(0.1, "penalised")).fit(train[members], Y[members][:, present])
            expected[np.ix_(here, present)] = local.predict(new[here])
        assert model.cluster_n_labels_[cluster] == present.sum()
        assert model.cluster_sizes_[cluster] == members.sum()
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.decision_function(new) > 0, expected)


def test_clmlc_without_meta_labels_is_cbmlc_after_the_projection():
    X, Y = problem("plain")
    clmlc = CLMLC(CHAIN, 3, meta_labels=None, random_state=1).fit(X, Y)
    Z = clmlc.projection_.transform(X)
    cbmlc = CBMLC(CHAIN, 3, random_state=1).fit(Z, Y)
    np.testing.assert_array_equal(clmlc.cluster_of_row_, cbmlc.cluster_of_row_)
    np.testing.assert_array_equal(clmlc.predict(X), cbmlc.predict(Z))


def test_one_cluster_is_the_classifier_itself():
    X, Y = problem("plain")
    Y[0, 4] = 1
    np.testing.assert_array_equal(CBMLC(CHAIN, 1).fit(X, Y).predict(X), CHAIN.fit(X, Y).predict(X))


# -------------------------------------------------------------------- any clusterer, any classifier


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(n_init=2, random_state=0), AgglomerativeClustering(), DBSCAN(eps=3.0, min_samples=5), DBSCAN(eps=1e-9)],
    ids=["KMeans", "AgglomerativeClustering", "DBSCAN", "DBSCAN: nothing but noise"],
)
def test_any_clusterer_will_do(clusterer):
    X, Y = problem("plain")
    model = CBMLC(CHAIN, 4, clusterer=clusterer, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert len(model.cluster_of_row_) == len(X)
    assert (np.bincount(model.cluster_of_row_) > 0).all()
    if "n_clusters" in clusterer.get_params():
        assert len(model.models_) == 4
    if isinstance(clusterer, AgglomerativeClustering):  # which draws no lots
        theirs = AgglomerativeClustering(4).fit_predict(X)
        pairs = set(zip(theirs.tolist(), model.cluster_of_row_.tolist(), strict=True))
        assert len(pairs) == 4


@pytest.mark.parametrize("method", [CBMLC, CLMLC])
@pytest.mark.parametrize(
    "classifier",
    [
        KNeighborsClassifier(1),
        BinaryRelevance(Ridge(1.0)),
        ComposedClassifier(Ridge(1.0), label_space=PLST(1)),
        None,
    ],
    ids=["KNeighborsClassifier", "BinaryRelevance", "ComposedClassifier", "None"],
)
def test_any_classifier_will_do(method, classifier):
    X, Y = problem("plain")
    for make in (np.asarray, as_sparse):
        model = method(classifier, 3, random_state=0).fit(make(X), Y)
        predicted = model.predict(make(X))
        assert predicted.shape == Y.shape
        np.testing.assert_array_equal(model.decision_function(make(X)) > 0, predicted)
        np.testing.assert_array_equal(method(classifier, 3, random_state=0).fit(make(X), Y).predict(make(X)), predicted)
        assert (predicted == Y).mean() > 0.75


# -------------------------------------------------------------------- what must not matter, and what is awkward


def test_label_order_does_not_matter():
    """With classifiers that do not look at it: the projection and the clusters do not."""
    X, Y = problem("plain")
    order = np.random.default_rng(0).permutation(Y.shape[1])
    params = {"n_clusters": 4, "meta_labels": None, "random_state": 0}
    one = CLMLC(BinaryRelevance(Ridge(0.1)), **params).fit(X, Y)
    other = CLMLC(BinaryRelevance(Ridge(0.1)), **params).fit(X, Y[:, order])
    np.testing.assert_array_equal(other.cluster_of_row_, one.cluster_of_row_)
    np.testing.assert_array_equal(other.predict(X), one.predict(X)[:, order])


def test_row_order_does_not_matter_from_given_centres():
    X, Y = problem("plain")
    order = np.random.default_rng(0).permutation(len(X))
    start = CLMLC(n_clusters=1, random_state=0).fit(X, Y)._encode(X)[:4]
    one, other = (
        CLMLC(CHAIN, 4, clusterer=from_rows(start), random_state=0).fit(X[rows], Y[rows])
        for rows in (np.arange(len(X)), order)
    )
    np.testing.assert_array_equal(other.cluster_of_row_, one.cluster_of_row_[order])
    np.testing.assert_array_equal(other.predict(X), one.predict(X))


def test_duplicated_rows():
    """Every row twice and every penalty doubled: the same directions at 1/√2, so the same clusters."""
    X, Y = problem("plain")
    start = CLMLC(n_clusters=1).fit(X, Y)._encode(X)[:4]
    one = CLMLC(CHAIN, 4, clusterer=from_rows(start), meta_labels=None).fit(X, Y)
    twice = np.vstack([X, X]), np.vstack([Y, Y])
    other = CLMLC(CHAIN, 4, alpha=2.0, clusterer=from_rows(start / np.sqrt(2)), meta_labels=None).fit(*twice)
    np.testing.assert_allclose(other._encode(X) * np.sqrt(2), one._encode(X), atol=1e-10)
    np.testing.assert_array_equal(other.cluster_of_row_, np.tile(one.cluster_of_row_, 2))
    # in the features as they came, the classifiers are the same, too
    one = CBMLC(CHAIN, 4, clusterer=from_rows(X[:4])).fit(X, Y)
    other = CBMLC(ClassifierChain(Ridge(0.2, "penalised")), 4, clusterer=from_rows(X[:4])).fit(*twice)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-9)


def test_nothing_but_one_row():
    X, Y = np.ones((40, 3)), np.tile([1, 0, 1], (40, 1))
    for method in (CBMLC, CLMLC):
        np.testing.assert_array_equal(method(n_clusters=5, random_state=0).fit(X, Y).predict(X), Y)


def test_labels_that_no_row_of_a_cluster_has():
    X, Y = problem("plain")  # label 4 is never there
    X[:40] += 100
    Y[:40, 2] = 0  # and label 2 is not in the first cluster
    Y[:40, 0] = 1  # where label 0 always is
    model = CBMLC(CHAIN, 2, clusterer=from_rows(X[[0, -1]])).fit(X, Y)
    assert [present.tolist() for present, _ in model.models_] == [[0, 1, 3, 5], [0, 1, 2, 3, 5]]
    predicted = model.predict(X)
    assert not predicted[:, 4].any()
    assert not predicted[:40, 2].any()
    assert predicted[:40, 0].all()


def test_a_cluster_without_labels_and_one_with_a_single_label():
    X, Y = problem("plain")
    X[:30] += 100
    X[30:60] -= 100
    Y[:30] = 0
    Y[30:60] = 0
    Y[30:60:2, 3] = 1
    model = CBMLC(CHAIN, 3, clusterer=from_rows(X[[0, 30, -1]])).fit(X, Y)
    assert [present.tolist() for present, _ in model.models_][:2] == [[], [3]]
    predicted = model.predict(X)
    assert not predicted[:30].any()
    assert not np.delete(predicted[30:60], 3, axis=1).any()
    assert (model.decision_function(X)[:30] < 0).all()


def test_fewer_rows_than_clusters():
    X, Y = problem("plain")
    for method in (CBMLC, CLMLC):
        model = method(n_clusters=50, random_state=0).fit(X[:6], Y[:6])
        assert len(model.models_) <= 6
        single = method(n_clusters=50, random_state=0).fit(X[:1], Y[:1])
        np.testing.assert_array_equal(single.predict(X[:1]), Y[:1])


def test_no_label_anywhere():
    X, Y = problem("plain")
    model = CLMLC(n_clusters=3, random_state=0).fit(X, np.zeros_like(Y))
    assert not model.predict(X).any()
    assert np.isfinite(model.decision_function(X)).all()


def test_nothing_dense_is_made_of_sparse_features(monkeypatch):
    import scipy.sparse as sp

    X, Y = problem("sparse counts")
    rows = as_sparse(np.tile(X, (1, 40)))

    def refuse(self, *args, **kwargs):
        assert self.shape != rows.shape
        return original(self, *args, **kwargs)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    for method in (CBMLC, CLMLC):
        method(n_clusters=3, random_state=0).fit(rows, Y).predict(rows)


# -------------------------------------------------------------------- rows without labels


class Watcher(BinaryRelevance):
    """Binary relevance that writes down which rows it was given, and which of them without labels."""

    uses_unlabelled = True
    seen: list = []  # noqa: RUF012

    def fit_moments(self, moments):
        self.seen.append((moments.rows()[0], moments.unlabelled))
        return super().fit_moments(moments)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", [CBMLC, CLMLC])
def test_rows_without_labels_go_to_the_nearest_mean(method, sparse):
    X, Y = problem("plain")
    make = as_sparse if sparse else np.asarray
    Watcher.seen.clear()
    params = {"n_clusters": 3, "random_state": 0, **({"meta_labels": None} if method is CLMLC else {})}
    moments = Moments.from_arrays(make(X[:60]), Y[:60])
    model = method(Watcher(Ridge(1.0)), **params).fit_moments(moments.with_unlabelled(make(X[60:])))
    alone = method(BinaryRelevance(Ridge(1.0)), **params).fit_moments(moments)
    np.testing.assert_array_equal(model.cluster_of_row_, alone.cluster_of_row_)
    np.testing.assert_array_equal(model.predict(make(X)), alone.predict(make(X)))  # Watcher makes no use of them
    encoded = model._encode(X[60:])
    nearest = ((encoded[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert len(Watcher.seen) == 3
    for cluster, (_, loose) in enumerate(Watcher.seen):
        expected = encoded[nearest == cluster]
        assert (loose is None) == (not len(expected))
        if loose is not None:
            found = loose.toarray() if hasattr(loose, "toarray") else loose
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_reader_le_in_a_cluster_is_reader_le_on_its_rows():
    X, Y = problem("plain")
    Y[0, 4] = 1  # each label is there
    method = ReaderLEClassifier()
    moments = Moments.from_arrays(X[:60], Y[:60]).with_unlabelled(X[60:])
    (_, local), *_ = CBMLC(method, 1, random_state=0).fit_moments(moments).models_
    direct = ReaderLEClassifier().fit(X[:60], Y[:60], X[60:])
    np.testing.assert_array_equal(local.decision_function(X), direct.decision_function(X))
    without = ReaderLEClassifier().fit(X[:60], Y[:60])
    assert not np.allclose(local.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("labelled", [1, 2])
def test_all_rows_unlabelled_but_one(labelled):
    X, Y = problem("plain")
    given = Moments.from_arrays(X[:labelled], Y[:labelled]).with_unlabelled(X[labelled:])
    for method in (
        CBMLC(ReaderLEClassifier(), 3, random_state=0),
        CLMLC(ReaderLEClassifier(), 3, meta_labels=None, random_state=0),
        MLSF(ReaderLEClassifier(), random_state=0),
    ):
        np.testing.assert_array_equal(method.fit_moments(given).predict(X[:labelled]), Y[:labelled])


@pytest.mark.parametrize(
    "method",
    [
        CLMLC(ReaderLEClassifier(), 2),
        HOMER(ReaderLEClassifier()),
        Ensemble(ComposedClassifier(BinaryRelevance(), feature_space=[CSFS(2)])),
        Ensemble(BinaryRelevance(features=SameForAll(CSFS(2)))),
        BinaryRelevance(features=ForEachLabel(CSFS(2))),
    ],
    ids=["CLMLC", "HOMER", "Ensemble", "Ensemble of local features", "ForEachLabel"],
)
def test_where_rows_without_labels_make_no_sense_it_says_so(method):
    X, Y = problem("plain")
    moments = Moments.from_arrays(X[:60], Y[:60])
    with pytest.raises(ValueError, match=r"learns from rows without labels, and .* hands it none"):
        method.fit_moments(moments.with_unlabelled(X[60:]))
    method.fit_moments(moments)


@pytest.mark.parametrize("chain", [BinaryRelevance, ClassifierChain])
def test_a_selector_for_all_labels_gets_the_rows_without_labels(chain):
    """In a chain, and in a chain in a cluster: as if the selector were a step before it."""
    X, Y = problem("plain")
    Y[0, 4] = 1  # each label is there
    X[60:] *= np.where(np.arange(X.shape[1]) % 2, 30.0, 0.1)
    labelled = Moments.from_arrays(X[:60], Y[:60])
    moments = labelled.with_unlabelled(X[60:])
    expected = CSFS(2).fit(X[:60], Y[:60], X[60:]).get_support(indices=True).tolist()
    assert expected != CSFS(2).fit(X[:60], Y[:60]).get_support(indices=True).tolist()
    method = chain(Ridge(0.1), features=SameForAll(CSFS(2)))
    (_, local), *_ = CBMLC(method, 1, random_state=0).fit_moments(moments).models_
    for fitted in (method.fit_moments(moments), local):
        assert [link.columns.tolist() for link in fitted.links_] == [expected] * 6
