"""K-means with a single start: the author's vectors, a plain loop, and what is awkward."""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr import OPLS, SingleStartKMeans
from mlcdr.numerics.kmeans import nearest_centre
from tests.methods.problems import as_sparse


def plain_loop(X, centres, max_iter):
    """As the text has it, row by row."""
    labels = None
    for _ in range(max_iter):
        squares = ((X[:, None] - centres[None]) ** 2).sum(axis=2)
        new = squares.argmin(axis=1)
        own = squares[np.arange(len(X)), new]
        for cluster in range(len(centres)):
            if cluster not in new:
                for row in sorted(range(len(X)), key=lambda i: (-own[i], i)):
                    if (new == new[row]).sum() > 1 and own[row] >= 0:
                        new[row], own[row] = cluster, -1.0
                        break
        if labels is not None and (new == labels).all():
            break
        labels = new
        centres = np.array([X[labels == c].mean(axis=0) for c in range(len(centres))])
    return labels, centres


@pytest.mark.parametrize("max_iter", [1, 3, 20])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_plain_loop(seed, max_iter):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    init = rng.standard_normal((7, 3))
    init[2] += 50  # nobody's nearest: empty at first
    labels, centres = plain_loop(X, init, max_iter)
    for rows in (X, as_sparse(X)):
        found = SingleStartKMeans(7, init=init, max_iter=max_iter).fit(rows)
        np.testing.assert_array_equal(found.labels_, labels)
        np.testing.assert_allclose(found.cluster_centers_, centres, atol=1e-12)
        assert found.n_iter_ <= max_iter


def test_its_clusters_are_the_authors(sun2017):
    X, Y = sun2017("clmlc_X"), sun2017("clmlc_Y_LxN").T
    for d in (3, 30):
        Z = OPLS(min(d, X.shape[1]), alpha=1.0).fit_transform(X, Y)
        found = SingleStartKMeans(4, init=Z[:4]).fit(Z)
        labels = sun2017(f"clmlc_d{d}_kmeans_labels_start_first4").ravel()
        centres = sun2017(f"clmlc_d{d}_kmeans_centers_start_first4")
        np.testing.assert_array_equal(found.labels_ + 1, labels)
        np.testing.assert_allclose(np.abs(found.cluster_centers_), np.abs(centres), atol=1e-12)


def test_no_cluster_stays_empty_where_rows_repeat():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    for rows in (X, as_sparse(X)):
        found = SingleStartKMeans(6, random_state=0).fit(rows)
        assert (np.bincount(found.labels_, minlength=6) > 0).all()
        assert np.isfinite(found.cluster_centers_).all()


def test_as_many_clusters_as_rows_at_most():
    assert len(SingleStartKMeans(9, random_state=0).fit(np.eye(4)).cluster_centers_) == 4


def test_of_equal_centres_the_first_counts():
    """Also where rounding differs: the same centre, one of them a last digit away."""
    centre = np.array([0.1, 0.2, 0.7])
    X = np.random.default_rng(0).standard_normal((50, 3))
    assert (nearest_centre(X, np.array([centre, np.nextafter(centre, 1), centre])) == 0).all()


@pytest.mark.parametrize("init", [[[1.0, 2.0]], np.zeros((3, 5)), np.zeros((40, 4))])
def test_a_start_that_does_not_fit_is_refused(init):
    with pytest.raises(ValueError, match="init must hold n_clusters="):
        SingleStartKMeans(3 if len(init) < 40 else 40, init=init).fit(np.random.default_rng(0).standard_normal((30, 4)))


@pytest.mark.parametrize("offset", [0.0, 2.0**20, 1.7e9])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_large_offset_hides_no_cluster(offset, sparse):
    """Times in seconds since 1970: groups of rows a minute apart, beside squares of 3e18."""
    X = np.random.default_rng(0).integers(0, 5, (120, 3)) + 60.0 * np.repeat(np.arange(4), 30)[:, None]
    features = as_sparse(X + offset) if sparse else X + offset
    found = SingleStartKMeans(4, init=X[[0, 30, 60, 90]] + offset).fit(features)
    assert found.labels_.tolist() == np.repeat(np.arange(4), 30).tolist()
    assert found.predict(features).tolist() == found.labels_.tolist()
