"""Measures of label pairs against loops over instances, and the figures of data sets made of awkward ones."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import jaccard_score, mutual_info_score

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.numerics.information import mutual_information
from mlcdr.tables import canvas, data_figures, label_dependence


def labels(n=60, n_labels=7, seed=0, share=0.3):
    """Label sets with a label that is never there, one that always is, and two that are the same."""
    Y = (np.random.default_rng(seed).random((n, n_labels)) < share).astype(np.uint8)
    Y[:, 1], Y[:, 2], Y[:, 4] = 0, 1, Y[:, 3]
    return Y


def dataset(X, Y, name="made up"):
    names = tuple(f"label $_{j}$ of some length" for j in range(Y.shape[1]))
    return Dataset(name, X, Y, (), names, names, "", X.shape[1], 0, X.shape[1], ())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_measures_from_counts_are_those_of_single_pairs(form):
    Y = labels()
    counts = label_dependence.pair_counts(form(Y))
    information = mutual_information(form(Y), form(Y))
    index, shares = label_dependence.jaccard(counts), label_dependence.conditional(counts)
    for j, k in itertools.product(range(Y.shape[1]), repeat=2):
        a, b = Y[:, j].astype(int), Y[:, k].astype(int)
        assert counts[j, k] == sum(x and y for x, y in zip(a, b, strict=True))
        assert information[j, k] == pytest.approx(mutual_info_score(a, b) / math.log(2), abs=1e-12)
        assert index[j, k] == pytest.approx(jaccard_score(a, b, zero_division=0))
        if b.any():
            assert shares[j, k] == pytest.approx(a[b == 1].mean())
        else:
            assert math.isnan(shares[j, k])
    assert information.min() >= 0
    assert information[3, 4] == pytest.approx(information[3, 3])


@pytest.mark.parametrize("d", [5, 90])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_residual_correlation_is_of_what_unseen_instances_are_predicted_wrong_by(d, form):
    rng = np.random.default_rng(3)
    Y, X = labels(), np.where(rng.random((60, d)) < 0.4, rng.normal(size=(60, d)), 0.0)
    X[:, 0] += Y[:, 0]
    found = label_dependence.residual_correlation(form(X), form(Y), seed=4)
    left = np.zeros(Y.shape)
    for fold in np.array_split(np.random.default_rng(4).permutation(60), 5):
        rest = np.setdiff1d(np.arange(60), fold)
        left[fold] = Y[fold] - Ridge(alpha=1.0).fit(X[rest], Y[rest]).predict(X[fold])
    kept = [0, 3, 4, 5, 6]
    np.testing.assert_allclose(found[np.ix_(kept, kept)], np.corrcoef(left[:, kept].T), atol=1e-8)
    assert np.isnan(found[1]).all()  # a label that is never there, or always: nothing is left of it
    assert np.isnan(found[:, 2]).all()


def test_correlation_that_the_features_explain_is_not_left():
    """Two labels that follow one feature, and two that follow each other whatever the features are."""
    rng = np.random.default_rng(0)
    x, coin = rng.normal(size=3000), rng.random(3000)
    noise = 0.5 * rng.normal(size=(3000, 2))
    Y = np.column_stack([x + noise[:, 0] > 0, x + noise[:, 1] > 0, coin > 0.5, coin > 0.6])
    found = label_dependence.residual_correlation(x[:, None], Y.astype(np.uint8))
    marginal = np.corrcoef(Y.T.astype(float))
    assert marginal[0, 1] > 0.55 > 0.3 > found[0, 1]
    assert found[2, 3] == pytest.approx(marginal[2, 3], abs=0.02)


def test_label_sets():
    Y = labels(40)
    found = label_dependence.label_sets(sparse.csr_array(Y))
    expected = Counter(tuple(map(int, np.flatnonzero(row))) for row in Y)
    assert dict(zip(found.sets, found.counts.tolist(), strict=True)) == expected
    assert found.counts.tolist() == sorted(expected.values(), reverse=True)
    assert [found.sets[k] for k in found.of_rows] == [tuple(map(int, np.flatnonzero(row))) for row in Y]


def test_the_embedded_data_set_has_as_many_label_sets_as_it_is_known_for():
    yeast = load_dataset("yeast")
    assert len(label_dependence.label_sets(yeast.Y).sets) == 198


def test_similar_labels_stand_together():
    Y = np.zeros((30, 6), dtype=np.uint8)
    for j, rows in enumerate([range(10), range(10, 20), range(20, 30)] * 2):
        Y[list(rows)[: 9 + j // 3], j] = 1
    order = label_dependence.similar_together(label_dependence.pair_counts(Y)).tolist()
    assert sorted(order) == list(range(6))
    for j in range(3):
        assert abs(order.index(j) - order.index(j + 3)) == 1


AWKWARD = {
    "one instance": (np.ones((1, 3)), np.array([[1, 0]], dtype=np.uint8)),
    "one label": (np.random.default_rng(0).normal(size=(12, 3)), np.array([[1], [0]] * 6, dtype=np.uint8)),
    "one feature": (np.arange(12.0)[:, None], labels(12)),
    "no label anywhere": (np.random.default_rng(0).normal(size=(12, 3)), np.zeros((12, 4), dtype=np.uint8)),
    "constant features": (np.ones((12, 3)), labels(12)),
    "more features than instances": (
        sparse.random_array((12, 40), density=0.2, rng=1).tocsr(),
        sparse.csr_array(labels(12)),
    ),
    "many labels": (np.random.default_rng(0).normal(size=(80, 3)), labels(80, 130)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_data_sets_have_figures(name):
    """No failure, and no warning of NumPy's."""
    made = dataset(*AWKWARD[name])
    for draw in (
        data_figures.draw_correlations,
        data_figures.draw_imbalance,
        data_figures.draw_label_sets,
        data_figures.draw_projection,
    ):
        figure = draw(made)
        if name == "no label anywhere":
            figure.draw_without_rendering()
    Z, called = data_figures.project(made, "opls")
    assert Z.shape == (made.n_instances, 2)
    assert np.isfinite(Z).all()
    assert len(called) == 2


def test_heat_maps_show_the_measures_in_the_order_asked_for():
    Y = labels(50)
    made = dataset(np.random.default_rng(1).normal(size=(50, 4)), Y)
    counts = label_dependence.pair_counts(Y)
    at = np.argsort(-np.diag(counts), kind="stable")
    figure = data_figures.draw_correlations(made, "frequency")
    maps = [ax for ax in figure.axes if ax.images]
    off = ~np.eye(7, dtype=bool)
    measures = (
        mutual_information(Y, Y),
        label_dependence.jaccard(counts),
        label_dependence.conditional(counts),
    )
    for ax, values in zip(maps[:3], measures, strict=True):
        shown = ax.images[0].get_array().filled(np.nan)
        np.testing.assert_array_equal(shown[off], values[np.ix_(at, at)][off])
        assert np.isnan(np.diag(shown)).all()
        assert [label.get_text() for label in ax.get_yticklabels()] == [f"label $_{j}$ of som…" for j in at]
    assert len(maps) == 4
    for ax in maps:
        colours = ax.images[0].cmap(np.linspace(0, 1, 200))
        far = np.abs(colours - ax.get_facecolor()).max(axis=1)
        assert far.min() > 0.08, "no number has the grey of a cell without one"


def test_the_projection_tells_the_most_frequent_label_sets_apart():
    Y = np.zeros((90, 8), dtype=np.uint8)
    Y[np.arange(90), np.repeat(np.arange(8), [20, 16, 14, 12, 10, 8, 6, 4])] = 1
    figure = data_figures.draw_projection(dataset(np.random.default_rng(1).normal(size=(90, 4)), Y))
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == 7
    assert texts[0].endswith("(20)")
    assert texts[-1] == "2 other sets (10)"
    looks = {tuple(c.get_edgecolor()[0][:3]) for c in figure.axes[0].collections[1:]}
    assert len(looks) == 6


@pytest.mark.slow
def test_files_are_written_and_the_same_each_time(tmp_path):
    made = dataset(np.random.default_rng(1).normal(size=(20, 4)), labels(20, 5), name="a/b")
    names = ["label_correlations", "label_imbalance", "label_sets", "projection"]
    written = data_figures.write_all(made, tmp_path)
    assert [path.name for path in written] == [f"a_b_{name}.{ending}" for name in names for ending in ("svg", "png")]
    (tmp_path / "again").mkdir()
    again = canvas.save(data_figures.draw_projection(made), tmp_path / "again" / written[-1].stem, "a/b: projection")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written[-2:]]
