"""CBMLC and CLMLC: the author's vectors, a plain loop over clusters, and what is awkward."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.neighbors import KNeighborsClassifier

import mlcdr
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

CHAIN = mlcdr.ClassifierChain(mlcdr.Ridge(0.1, "penalised"))


def from_rows(rows):
    """K-means that starts from these rows."""
    return mlcdr.SingleStartKMeans(len(rows), init=rows)


# -------------------------------------------------------------------- the author's program


@pytest.mark.parametrize("d", [3, 30])
def test_clmlc_is_the_authors(sun2017, d):
    X, Y, new = sun2017("clmlc_X"), sun2017("clmlc_Y_LxN").T, sun2017("clmlc_Xt")
    params = {"n_components": d, "meta_labels": "label_rows", "variant": "published_code", "random_state": 0}
    Z = mlcdr.CLMLC(CHAIN, 4, **params).fit(X, Y)._encode(X)
    model = mlcdr.CLMLC(CHAIN, 4, clusterer=from_rows(Z[:4]), **params).fit(X, Y)
    projection = model.projection_
    U = sun2017(f"clmlc_d{d}_U_upto_sign")
    signs = np.sign((projection.components_.T * U).sum(axis=0))
    np.testing.assert_allclose(projection.components_.T * signs, U, atol=1e-12)
    np.testing.assert_allclose(Z * signs, sun2017(f"clmlc_d{d}_Z_upto_sign"), atol=1e-12)
    np.testing.assert_allclose(model._encode(new) * signs, sun2017(f"clmlc_d{d}_Zt_upto_sign"), atol=1e-12)
    found = projection.eigenvalues_[: len(signs)] / 4  # labels are ±1 there
    np.testing.assert_allclose(found, sun2017(f"clmlc_d{d}_H_singular_values").ravel(), atol=1e-12)
    np.testing.assert_array_equal(model.cluster_of_row_ + 1, sun2017(f"clmlc_d{d}_kmeans_labels_start_first4").ravel())
    np.testing.assert_array_equal(model.predict(new), np.abs(sun2017(f"clmlc_d{d}_k4_pred_modeA_LxNt")).T)


def test_cbmlc_is_the_authors(sun2017):
    X, Y, new = sun2017("clmlc_X"), sun2017("clmlc_Y_LxN").T, sun2017("clmlc_Xt")
    for make in (np.asarray, as_sparse):
        model = mlcdr.CBMLC(CHAIN, 4, clusterer=from_rows(X[:4])).fit(make(X), Y)
        np.testing.assert_array_equal(model.predict(make(new)), np.abs(sun2017("cbmlc_k4_pred_modeA_LxNt")).T)


# -------------------------------------------------------------------- a plain loop


@pytest.mark.parametrize("name", NAMES)
def test_a_classifier_for_each_cluster(name):
    X, Y = problem(name)
    train, new = X[:-20], X[-20:]
    Y = Y[: len(train)]
    model = mlcdr.CBMLC(CHAIN, clusterer=from_rows(train[:4]), n_clusters=4).fit(train, Y)
    expected = np.zeros((20, Y.shape[1]))
    nearest = ((new[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    for cluster in range(4):
        members = model.cluster_of_row_ == cluster
        np.testing.assert_allclose(model.cluster_centers_[cluster], train[members].mean(axis=0))
        present = Y[members].any(axis=0)
        here = nearest == cluster
        if here.any() and present.any():
            local = mlcdr.ClassifierChain(mlcdr.Ridge(0.1, "penalised")).fit(train[members], Y[members][:, present])
            expected[np.ix_(here, present)] = local.predict(new[here])
        assert model.cluster_n_labels_[cluster] == present.sum()
        assert model.cluster_sizes_[cluster] == members.sum()
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.decision_function(new) > 0, expected)


def test_clmlc_without_meta_labels_is_cbmlc_after_the_projection():
    X, Y = problem("plain")
    clmlc = mlcdr.CLMLC(CHAIN, 3, meta_labels=None, random_state=1).fit(X, Y)
    Z = clmlc.projection_.transform(X)
    cbmlc = mlcdr.CBMLC(CHAIN, 3, random_state=1).fit(Z, Y)
    np.testing.assert_array_equal(clmlc.cluster_of_row_, cbmlc.cluster_of_row_)
    np.testing.assert_array_equal(clmlc.predict(X), cbmlc.predict(Z))


@pytest.mark.parametrize(
    "classifier",
    [CHAIN, KNeighborsClassifier(1), mlcdr.ComposedClassifier(mlcdr.Ridge(1.0), label_space=mlcdr.PLST(1))],
    ids=["ours", "without scores", "of any other kind"],
)
def test_one_cluster_is_the_classifier_itself(classifier):
    X, Y = problem("plain")
    Y[0, 4] = 1
    model, said = mlcdr.CBMLC(classifier, 1).fit(X, Y), clone(classifier).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.predict(X), said)
    np.testing.assert_array_equal(model.decision_function(X) > 0, said)


# -------------------------------------------------------------------- any clusterer


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(n_init=2, random_state=0), AgglomerativeClustering(), DBSCAN(eps=3.0, min_samples=5), DBSCAN(eps=1e-9)],
    ids=["KMeans", "AgglomerativeClustering", "DBSCAN", "DBSCAN: nothing but noise"],
)
def test_any_clusterer_will_do(clusterer):
    X, Y = problem("plain")
    model = mlcdr.CBMLC(CHAIN, 4, clusterer=clusterer, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert len(model.cluster_of_row_) == len(X)
    assert (np.bincount(model.cluster_of_row_) > 0).all()
    if "n_clusters" in clusterer.get_params():
        assert len(model.models_) == 4
    if isinstance(clusterer, AgglomerativeClustering):  # which draws no lots
        theirs = AgglomerativeClustering(4).fit_predict(X)
        pairs = set(zip(theirs.tolist(), model.cluster_of_row_.tolist(), strict=True))
        assert len(pairs) == 4


# -------------------------------------------------------------------- what is awkward


def test_a_cluster_without_labels_and_one_with_a_single_label():
    X, Y = problem("plain")
    X[:30] += 100
    X[30:60] -= 100
    Y[:30] = 0
    Y[30:60] = 0
    Y[30:60:2, 3] = 1
    model = mlcdr.CBMLC(CHAIN, 3, clusterer=from_rows(X[[0, 30, -1]])).fit(X, Y)
    assert [present.tolist() for present, _ in model.models_][:2] == [[], [3]]
    predicted = model.predict(X)
    assert not predicted[:30].any()
    assert not np.delete(predicted[30:60], 3, axis=1).any()
    assert (model.decision_function(X)[:30] < 0).all()


def test_fewer_rows_than_clusters_are_clusters_of_their_own():
    X, Y = problem("plain")
    for method in (mlcdr.CBMLC, mlcdr.CLMLC):
        model = method(n_clusters=50, random_state=0).fit(X[:6], Y[:6])
        assert len(model.models_) <= 6
        single = method(n_clusters=50, random_state=0).fit(X[:1], Y[:1])
        np.testing.assert_array_equal(single.predict(X[:1]), Y[:1])


def test_nothing_dense_is_made_of_sparse_features(monkeypatch):
    import scipy.sparse as sp

    X, Y = problem("sparse counts")
    rows = as_sparse(np.tile(X, (1, 40)))

    def refuse(self, *args, **kwargs):
        assert self.shape != rows.shape
        return original(self, *args, **kwargs)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    for method in (mlcdr.CBMLC, mlcdr.CLMLC):
        method(n_clusters=3, random_state=0).fit(rows, Y).predict(rows)


# -------------------------------------------------------------------- rows without labels


class Watcher(mlcdr.BinaryRelevance):
    """Binary relevance that writes down which rows it was given, and which of them without labels."""

    uses_unlabelled = True
    seen: list = []  # noqa: RUF012

    def fit_moments(self, moments):
        self.seen.append((moments.rows()[0], moments.unlabelled))
        return super().fit_moments(moments)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", [mlcdr.CBMLC, mlcdr.CLMLC])
def test_rows_without_labels_go_to_the_nearest_mean(method, sparse):
    X, Y = problem("plain")
    make = as_sparse if sparse else np.asarray
    Watcher.seen.clear()
    params = {"n_clusters": 3, "random_state": 0, **({"meta_labels": None} if method is mlcdr.CLMLC else {})}
    moments = Moments.from_arrays(make(X[:60]), Y[:60])
    model = method(Watcher(mlcdr.Ridge(1.0)), **params).fit_moments(moments.with_unlabelled(make(X[60:])))
    alone = method(mlcdr.BinaryRelevance(mlcdr.Ridge(1.0)), **params).fit_moments(moments)
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


@pytest.mark.parametrize("labelled", [1, 2])
def test_of_one_or_two_labelled_rows_their_label_sets_are_learned(labelled):
    X, Y = problem("plain")
    given = Moments.from_arrays(X[:labelled], Y[:labelled]).with_unlabelled(X[labelled:])
    for method in (
        mlcdr.CBMLC(mlcdr.ReaderLEClassifier(), 3, random_state=0),
        mlcdr.CLMLC(mlcdr.ReaderLEClassifier(), 3, meta_labels=None, random_state=0),
        mlcdr.MLSF(mlcdr.ReaderLEClassifier(), random_state=0),
    ):
        np.testing.assert_array_equal(method.fit_moments(given).predict(X[:labelled]), Y[:labelled])


@pytest.mark.parametrize(
    "method",
    [
        mlcdr.CLMLC(mlcdr.ReaderLEClassifier(), 2),
        mlcdr.HOMER(mlcdr.ReaderLEClassifier()),
        mlcdr.Ensemble(mlcdr.ComposedClassifier(mlcdr.BinaryRelevance(), feature_space=[mlcdr.CSFS(2)])),
        mlcdr.Ensemble(mlcdr.BinaryRelevance(features=mlcdr.SameForAll(mlcdr.CSFS(2)))),
        mlcdr.BinaryRelevance(features=mlcdr.ForEachLabel(mlcdr.CSFS(2))),
    ],
    ids=["CLMLC", "HOMER", "Ensemble", "Ensemble of local features", "ForEachLabel"],
)
def test_where_rows_without_labels_make_no_sense_it_says_so(method):
    X, Y = problem("plain")
    moments = Moments.from_arrays(X[:60], Y[:60])
    with pytest.raises(ValueError, match=r"learns from rows without labels, and .* hands it none"):
        method.fit_moments(moments.with_unlabelled(X[60:]))
    method.fit_moments(moments)


@pytest.mark.parametrize("chain", [mlcdr.BinaryRelevance, mlcdr.ClassifierChain])
def test_a_selector_for_all_labels_gets_the_rows_without_labels(chain):
    """In a chain, and in a chain in a cluster: as if the selector were a step before it."""
    X, Y = problem("plain")
    Y[0, 4] = 1  # each label is there
    X[60:] *= np.where(np.arange(X.shape[1]) % 2, 30.0, 0.1)
    labelled = Moments.from_arrays(X[:60], Y[:60])
    moments = labelled.with_unlabelled(X[60:])
    expected = mlcdr.CSFS(2).fit(X[:60], Y[:60], X[60:]).get_support(indices=True).tolist()
    assert expected != mlcdr.CSFS(2).fit(X[:60], Y[:60]).get_support(indices=True).tolist()
    method = chain(mlcdr.Ridge(0.1), features=mlcdr.SameForAll(mlcdr.CSFS(2)))
    (_, local), *_ = mlcdr.CBMLC(method, 1, random_state=0).fit_moments(moments).models_
    for fitted in (method.fit_moments(moments), local):
        assert [link.columns.tolist() for link in fitted.links_] == [expected] * 6
