"""Moments and the solvers behind them: identities, then independent oracles (NumPy's SVD), then degenerate inputs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr.methods.contracts import as_dense
from mlcdr.numerics import factorisation, linalg, regression, sums
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments, beside, weighted_moments
from mlcdr.numerics.sums import frozen
from tests.methods.problems import NAMES, as_sparse, problem


def plain_sums(X, Y):
    """S, C, T by the formula."""
    x, z = X - X.mean(0), Y - Y.mean(0)
    return x.T @ x, x.T @ z, z.T @ z


def assert_moments(m: Moments, X, Y, rtol=1e-10):
    xx, xy, yy = plain_sums(X, Y)
    size = np.sqrt(np.diag(xx))
    size[size < 1e-10] = 1.0  # a constant feature, but for rounding in the formula
    assert m.n == len(X)
    np.testing.assert_allclose(m.mean_x, X.mean(0), rtol=1e-10, atol=1e-13 * np.abs(X).max())
    np.testing.assert_allclose(m.mean_y, Y.mean(0), rtol=1e-10, atol=1e-14)
    assert (np.abs(m.xx - xx) / np.outer(size, size)).max() < rtol
    np.testing.assert_allclose(m.xy, xy, rtol=1e-7, atol=1e-9 * np.abs(xy).max())
    np.testing.assert_allclose(m.yy, yy, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("sparse_y", [False, True])
@pytest.mark.parametrize("sparse_x", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_sums_are_those_of_the_rows_that_stay(name, sparse_x, sparse_y):
    """Of all, of a training set as the whole minus the fold, and of a part of that, as for its own cross-validation."""
    X, Y = problem(name)
    X[:, 2] = 0
    X[[0, 9], 2] = 1, 2  # constant once row 0 and what was row 9 have gone
    m, keep = (
        Moments.from_arrays(as_sparse(X) if sparse_x else X, sp.csr_array(Y) if sparse_y else Y),
        np.arange(len(X)),
    )
    assert_moments(m, X, Y, rtol=1e-6 if sparse_x and "scales" in name else 1e-10)
    for out in (np.arange(9), np.array([0, 5, 20])):
        m, keep = m.without(out), np.delete(keep, out)
        assert_moments(m, X[keep], Y[keep], rtol=1e-6 if "scales" in name else 1e-9)
        for rows, expected in zip(m.rows(), (X, Y), strict=True):
            np.testing.assert_array_equal(as_dense(rows), expected[keep])
    assert not m.xx[2].any()
    np.testing.assert_array_equal(m.whole()[1], keep)


@pytest.mark.parametrize("make", [np.asarray, as_sparse])
def test_without_features_there_is_one_of_zeros(make):
    """Of a training set, and of codes of its labels."""
    X, Y = problem("plain")
    m = Moments.from_arrays(make(X), Y).without(np.arange(5))
    none, kept = np.zeros((len(X) - 5, 1)), Y[5:]
    assert_moments(m.featureless(), none, kept)
    matrix = np.random.default_rng(0).standard_normal((Y.shape[1], 2))
    assert_moments(m.map_labels(m.mean_y, matrix).featureless(), none, (kept - kept.mean(0)) @ matrix)
    np.testing.assert_array_equal(m.featureless().rows()[0], none)
    assert not regression.coefficients(m.featureless()).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_a_part(name):
    """Rows are taken from a training set as from the whole, as for its own cross-validation."""
    X, Y = problem(name)
    X[:, 2] = 0
    X[[0, 9], 2] = 1, 2  # constant once row 0 and what was row 9 have gone
    for features in (X, as_sparse(X)):
        m = Moments.from_arrays(features, Y).without(np.arange(9)).without(np.array([0, 5, 20]))
        keep = np.delete(np.arange(9, len(X)), [0, 5, 20])
        assert_moments(m, X[keep], Y[keep], rtol=1e-6 if "scales" in name else 1e-9)
        assert not m.xx[2].any()
        np.testing.assert_array_equal(m.rows()[1], Y[keep])
        np.testing.assert_array_equal(m.whole()[1], keep)


def test_moments_add_subtract_and_stream():
    X, Y = problem("plain")
    a, b = Moments.from_arrays(X[:50], Y[:50]), Moments.from_arrays(X[50:], Y[50:])
    assert_moments(a + b, X, Y)
    assert_moments((a + b) - a, X[50:], Y[50:])
    blocks = ((X[i : i + 13], Y[i : i + 13]) for i in range(0, len(X), 13))
    assert_moments(Moments.from_blocks(blocks), X, Y)
    with pytest.raises(ValueError, match="no row is left"):
        _ = a - a
    with pytest.raises(ValueError, match="no row is left"):
        a.without(np.arange(50))
    with pytest.raises(ValueError, match="no longer have their rows"):
        (a + b).rows()


def test_codes_have_the_coefficients_of_mapped_labels():
    X, Y = problem("plain")
    codes = Moments.from_arrays(X, Y).map_labels(np.arange(6) / 7, V)
    expected = regression.coefficients(Moments.from_arrays(X, (Y - np.arange(6) / 7) @ V))
    np.testing.assert_allclose(regression.coefficients(codes), expected, atol=1e-12)


def test_uncentred_moments_and_a_constant_feature():
    X, Y = problem("plain")
    X += 3
    m = Moments.from_arrays(X, Y)
    ones = np.column_stack([X, np.ones(len(X))])
    np.testing.assert_allclose(m.with_constant().uncentred().xx, ones.T @ ones, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        regression.constant_coefficients(m.with_constant().uncentred(), 0.5),
        np.linalg.solve(ones.T @ ones + 0.5 * np.eye(18), ones.sum(0)),
        rtol=1e-9,
    )


def targets(d: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.standard_normal((K, 2)), rng.standard_normal((d, 2)), np.array([0.5, -1.0])


def unit_scatter(X, Y):
    """The formula's √S_jj, where it is more than rounding, of each feature: its inverse."""
    size = np.sqrt(np.sum((X - X.mean(0)) ** 2, axis=0))
    return X * np.where(size > 1e-9, 1 / np.maximum(size, 1e-9), 0), Y


P = np.random.default_rng(0).standard_normal((300, 4))
V = np.random.default_rng(1).standard_normal((6, 3))
SELECTED = np.array([0, 2, 3, 7, 11])
# A map of moments, and the rows (X, Y) that it is the map of.
MAPS = {
    "map_features": (
        lambda m: m.map_features(P[: m.n_features], np.arange(m.n_features) / 9),
        lambda X, Y: ((X - np.arange(X.shape[1]) / 9) @ P[: X.shape[1]], Y),
    ),
    "map_features without offset": (
        lambda m: m.map_features(P[: m.n_features]),
        lambda X, Y: (X @ P[: X.shape[1]], Y),
    ),
    "select_features": (lambda m: m.select_features(SELECTED), lambda X, Y: (X[:, SELECTED], Y)),
    "with_constant": (lambda m: m.with_constant(), lambda X, Y: (np.column_stack([X, np.ones(len(X))]), Y)),
    "standardised": (lambda m: m.standardised(), unit_scatter),
    "with_targets": (
        lambda m: m.with_targets(*targets(m.n_features, m.n_labels)),
        lambda X, Y: (X, sum((Y @ A + X @ B + c for A, B, c in [targets(X.shape[1], Y.shape[1])]), 0.0)),
    ),
    "map_labels": (lambda m: m.map_labels(np.arange(6) / 7, V), lambda X, Y: (X, (Y - np.arange(6) / 7) @ V)),
    "settled": (lambda m: m.settled(), lambda X, Y: (X, Y)),
}
STAY_SPARSE = ("select_features", "standardised", "with_constant")


@pytest.mark.parametrize("n_features", [3, 60])
def test_at_unit_scatter_a_constant_feature_has_none(n_features):
    """Both from S and, where it would be larger than the rows, from them."""
    X = np.random.default_rng(0).normal(size=(40, n_features))
    X[:, 1] = 5
    spread = Moments.from_arrays(X, np.eye(40, 2)).standardised().spread()
    np.testing.assert_allclose(spread, np.arange(n_features) != 1)


@pytest.mark.parametrize("kind", ["dense", "sparse", "sparse and wide"])
@pytest.mark.parametrize("name", ["plain", "wide"])
@pytest.mark.parametrize("of", MAPS)
def test_a_map_of_moments_is_that_of_the_rows(of, name, kind, monkeypatch):
    """Of the whole and of a training set, from its sums and from its rows; and of codes of the labels."""
    if kind == "sparse and wide":
        monkeypatch.setattr("mlcdr.numerics.moments.WIDE", 0)
    X, Y = problem(name)
    make = np.asarray if kind == "dense" else as_sparse
    whole = Moments.from_arrays(make(X), Y if kind == "dense" else sp.csr_array(Y))
    map_moments, map_rows = MAPS[of]
    for m, kept in ((whole, slice(None)), (whole.without(np.arange(7)), slice(7, None))):
        rows, found = (X[kept], Y[kept].astype(float)), map_moments(m)
        assert_moments(found, *map_rows(*rows), rtol=1e-9)
        assert (found.cross is not None) == (kind == "sparse and wide" and of in STAY_SPARSE)
        spread = np.diag(found.xx)
        np.testing.assert_allclose(found.spread(), spread, rtol=1e-9, atol=1e-9 * spread.max())
        np.testing.assert_allclose(found.label_spread(), np.diag(found.yy), rtol=1e-9, atol=1e-9)
        matrix = P[: found.n_features]
        np.testing.assert_allclose(found._times_xx(matrix), found.xx @ matrix, rtol=1e-7, atol=1e-8 * spread.max())
        if of == "settled":
            assert not found.has_rows
            continue
        np.testing.assert_allclose(found.centred_labels().sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.scatter_operator()(matrix), found.xx @ matrix, atol=1e-8 * spread.max())
        for ours, theirs in zip(found.rows(), map_rows(*rows), strict=True):
            ours = ours.toarray() if sp.issparse(ours) else ours
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        assert_moments(map_moments(m.settled()), *map_rows(*rows), rtol=1e-9)  # from sums alone
        if of == "map_features":
            part = found.without(np.arange(5))
            assert_moments(part, *(each[5:] for each in map_rows(*rows)), rtol=1e-9)
        if of in ("map_features", "select_features", "with_constant"):
            codes = map_moments(m.map_labels(np.ones(6), V))
            mapped = map_rows(*rows)
            assert_moments(codes, mapped[0], (mapped[1] - 1) @ V, rtol=1e-9)
            assert codes.labels.n_labels == 6


@pytest.mark.parametrize("of", ["map_features without offset", "select_features", "map_labels"])
def test_about_the_origin_it_stays_so_in_maps(of):
    X, Y = problem("plain")
    X += 3
    found, whole = MAPS[of][0], Moments.from_arrays(X, Y)
    for m in (whole,) if of == "map_labels" else (whole, whole.map_labels(np.ones(6), V)):
        origin = found(m.uncentred())
        assert not origin.centred
        assert not origin.origin.any()
        rows = origin.rows()[0]
        np.testing.assert_allclose(origin.xx, rows.T @ rows, rtol=1e-9)
        np.testing.assert_allclose(origin.spread(), np.diag(origin.xx), rtol=1e-9)
        matrix = P[: origin.n_features]
        np.testing.assert_allclose(origin.scatter_operator()(matrix), origin.xx @ matrix, rtol=1e-9)
        np.testing.assert_allclose(origin.xy, found(m).xy, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(origin.label_spread(), np.diag(found(m).yy), rtol=1e-9)


def test_values_are_kept_in_the_memo_that_was_given_and_not_for_other_moments():
    X, Y = problem("plain")
    memo = Memo()
    m = Moments.from_arrays(X, Y, memo)
    assert m.memo is memo
    assert Moments.from_arrays(X, Y).memo is not Moments.from_arrays(X, Y).memo
    assert m.once("a key", lambda: 1) == m.once("a key", lambda: 2) == 1
    codes = m.map_labels(np.ones(6), V)
    assert codes.memo is memo
    assert (codes.once("a key", lambda: 3), codes.once("a key", lambda: 4)) == (3, 4)
    for changed in (m.uncentred(), m.with_constant(), m.with_targets(*targets(17, 6)), m.with_unlabelled(X)):
        assert changed.memo is not memo
    assert m.uncentred() is m.uncentred()
    assert m.standardised() is m.standardised()
    # Each is itself, whatever numbers it has.
    assert len({m, codes, m.map_labels(np.ones(6), V), Moments.from_arrays(X, Y)}) == 4
    gaps = np.where(X > 2, np.nan, X)
    assert len({Moments.from_arrays(gaps, Y), Moments.from_arrays(gaps, Y)}) == 2


def test_unlabelled_rows_stay_with_a_training_set_and_are_read_once():
    X, Y = problem("plain")
    read = []
    m = Moments.from_arrays(X, Y).with_unlabelled(lambda: read.append(1) or X[:3])
    part = m.without(np.arange(5))
    for _ in range(2):
        np.testing.assert_array_equal(part.unlabelled, X[:3])
    assert len(read) == 1
    np.testing.assert_array_equal(m.with_unlabelled(X[:4]).unlabelled, X[:4])
    for same in (part.uncentred(), part.map_labels(np.ones(6), V)):
        np.testing.assert_array_equal(same.unlabelled, X[:3])
    assert Moments.from_arrays(X, Y).unlabelled is None
    assert part.with_constant().unlabelled is None
    gaps = Moments.from_arrays(np.where(X > 2, np.nan, X), Y).with_unlabelled(X[:3]).without(np.arange(5))
    np.testing.assert_array_equal(gaps.unlabelled, X[:3])


def test_sums_that_are_not_defined_are_refused():
    X, Y = problem("plain")
    m = Moments.from_arrays(X, Y)
    for wrong in (lambda: m.uncentred() + m, lambda: m + m.uncentred()):
        with pytest.raises(ValueError, match="only centred"):
            wrong()
    with pytest.raises(ValueError, match="take rows away before"):
        m.uncentred().without(np.arange(3))
    with pytest.raises(ValueError, match="add the constant before"):
        m.uncentred().with_constant()
    for other in (m.uncentred(), m.map_labels(np.ones(6), V)):
        with pytest.raises(ValueError, match="standardise centred features"):
            other.standardised()
        with pytest.raises(ValueError, match="targets come before"):
            other.with_targets(*targets(17, other.n_labels))
    for rows, labels in ((X, Y[1:]), (X[:0], Y[:0])):
        with pytest.raises(ValueError, match="they must agree, and there must be one at least"):
            Moments.from_arrays(rows, labels)
    with pytest.raises(ValueError, match="no block"):
        Moments.from_blocks([])


def test_of_weighted_rows_about_a_mean_of_theirs_or_another():
    X, Y = problem("plain")
    w = np.random.default_rng(4).random(len(X)) + 0.1
    for make in (np.asarray, as_sparse):
        for mean in (None, np.arange(17) / 5):
            m = weighted_moments(make(X), Y, w, mean)
            x = X - (w @ X / w.sum() if mean is None else mean)
            np.testing.assert_allclose(m.xx, (w * x.T) @ x, atol=1e-9)
            np.testing.assert_allclose(m.xy, (w * x.T) @ Y, atol=1e-9)
            np.testing.assert_allclose(m.yy, (w * Y.T) @ Y, atol=1e-9)
            assert (m.n, m.centred, m.mean_x.any(), m.mean_y.any()) == (len(X), False, False, False)


def test_solves_are_shared_by_codes_that_are_not_far_smaller_than_the_labels():
    X, _ = problem("plain")
    Y = (np.random.default_rng(0).random((120, 1001)) < 0.1).astype(np.uint8)
    for labels, codes, shared in ((1000, 1, True), (1001, 250, False), (1001, 251, True)):
        m = Moments.from_arrays(X, Y[:, :labels])
        matrix = np.ones((labels, codes))
        source, by = m.map_labels(np.zeros(labels), matrix).source()
        assert (source is m) == shared
        assert (by is matrix) == shared
    assert m.source() == (m, None)


# -------------------------------------------------------------------- least squares


def pseudo_inverse_scores(X, Y, X_test):
    """Minimum-norm least squares on centred data, by NumPy's SVD."""
    mean, offset = X.mean(0), Y.mean(0)
    return (X_test - mean) @ np.linalg.lstsq(X - mean, Y - offset, rcond=None)[0] + offset


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kept", [1.0, 0.3, 0.12])
@pytest.mark.parametrize("name", NAMES)
def test_least_squares_is_the_pseudo_inverse(name, kept, sparse):
    X, Y = problem(name)
    n = int(kept * len(X))
    whole = Moments.from_arrays(as_sparse(X) if sparse else X, Y)
    m = whole.without(np.arange(n, len(X))) if n < len(X) else whole
    W = regression.coefficients(m)
    X_test = problem(name, seed=1)[0]
    scores = (X_test - m.mean_x) @ W + m.mean_y
    expected = pseudo_inverse_scores(X[:n], Y[:n].astype(float), X_test)
    np.testing.assert_allclose(scores, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", NAMES)
def test_explained_scatter_is_that_of_the_hat_matrix(name):
    X, Y = problem(name)
    x, z = X - X.mean(0), Y - Y.mean(0)
    H = x @ np.linalg.pinv(x)
    np.testing.assert_allclose(regression.explained_scatter(Moments.from_arrays(X, Y)), z.T @ H @ z, atol=1e-7)
    H = x @ np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T)
    np.testing.assert_allclose(regression.explained_scatter(Moments.from_arrays(X, Y), 0.1), z.T @ H @ z, atol=1e-6)


def test_the_solver_fits_the_shape():
    kind = lambda name: type(factorisation.factor(Moments.from_arrays(*problem(name)))).__name__  # noqa: E731
    assert [kind(n) for n in ("plain", "scales")] == ["Cholesky", "Cholesky"]
    assert [kind(n) for n in ("dependent", "mostly dependent")] == ["PivotedCholesky", "PivotedCholesky"]
    assert kind("wide") == "Dual"
    assert factorisation.factor(Moments.from_arrays(*problem("dependent"))).rank == 14
    part = Moments.from_arrays(*problem("dependent")).without(np.arange(9))
    assert (type(factorisation.factor(part)).__name__, factorisation.factor(part).rank) == ("Cholesky", 14)


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_a_nearly_dependent_feature_is_judged_by_the_rows(gap):
    """Where the Gram matrix (which squares the gap) cannot tell, the rows do: the fit is the SVD's."""
    X, Y = problem("plain")
    X[:, 5] = X[:, 1] + X[:, 2] + gap * X[:, 5]
    m = Moments.from_arrays(X, Y)
    fitted = (X - m.mean_x) @ regression.coefficients(m) + m.mean_y
    np.testing.assert_allclose(fitted, pseudo_inverse_scores(X, Y.astype(float), X), atol=1e-5)
    assert (type(factorisation.factor(m)).__name__ == "Cholesky") == (gap > 3e-4)


@pytest.mark.parametrize("gap", [1e-12, 1e-14, 0.0])
def test_a_feature_dependent_to_ten_digits_is_dependent(gap):
    X, Y = problem("plain")
    X[:, 5] = X[:, 1] + X[:, 2]
    expected = pseudo_inverse_scores(X, Y.astype(float), X)
    X[:, 5] += gap * np.random.default_rng(1).standard_normal(len(X))
    m = Moments.from_arrays(X, Y)
    assert factorisation.factor(m).rank == 16
    np.testing.assert_allclose((X - m.mean_x) @ regression.coefficients(m) + m.mean_y, expected, atol=1e-9)


def test_spreads_without_rows_of_features_far_from_0():
    rng = np.random.RandomState(0)
    X, Y = 1e6 + rng.randn(300, 3), rng.randint(2, size=(300, 2))
    left = Moments.from_arrays(X, Y).without(np.arange(0, 300, 3))
    np.testing.assert_allclose(left.spread(), np.diag(left.xx), rtol=1e-9)
    apart = np.delete(X, np.arange(0, 300, 3), axis=0) - 1e6
    np.testing.assert_allclose(left.spread(), np.sum((apart - apart.mean(axis=0)) ** 2, axis=0), rtol=1e-9)


def test_without_rows_a_doubtful_rank_is_refused():
    X, Y = problem("plain")
    X[:, 5] = X[:, 1] + X[:, 2] + 1e-5 * X[:, 5]
    m = Moments.from_arrays(X, Y)
    assert type(factorisation.factor(m)).__name__ == "Spectral"
    with pytest.raises(linalg.IllConditioned, match="clear rank"):
        regression.coefficients(m.settled())


def test_where_no_feature_varies_nothing_is_explained():
    _X, Y = problem("plain")
    for features in (np.ones((120, 3)), np.ones((120, 300)), sp.csr_array((120, 3)), np.zeros((120, 300))):
        m = Moments.from_arrays(features, Y)
        assert not regression.coefficients(m).any()
        assert not regression.explained_scatter(m).any()
        assert not regression.coefficients(m, 0.1).any()


@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("name", NAMES)
def test_ridge_solves_its_normal_equations(name, alpha):
    """(XᵀX + αI)W = XᵀZ by the SVD of X: W = V diag(s/(s²+α)) UᵀZ."""
    X, Y = problem(name)
    m = Moments.from_arrays(X, Y)
    x, z = X - X.mean(0), Y - Y.mean(0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    s = np.where(s > 1e-13 * s[0], s, 0)
    expected = x @ (vt.T @ ((s / (s**2 + alpha))[:, None] * (u.T @ z)))
    np.testing.assert_allclose(x @ regression.coefficients(m, alpha), expected, atol=1e-5)


def test_leading_eigenvectors_are_ordered_and_have_positive_peaks():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1200, 30))
    A = A @ A.T + np.diag(rng.random(1200))
    values, vectors = linalg.leading_eigenvectors(A, 5)  # Lanczos
    exact = np.linalg.eigvalsh(A)[::-1][:5]
    np.testing.assert_allclose(values, exact, rtol=1e-9)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(vectors @ A, exact[:, None] * vectors, atol=1e-6)
    dense = linalg.leading_eigenvectors(A[:40, :40], 40)
    assert np.all(np.diff(dense[0]) <= 0)
    peak = np.abs(dense[1]).argmax(axis=1)
    assert (dense[1][np.arange(40), peak] > 0).all()


def test_leading_eigenvectors_where_lanczos_overlooks_some():
    """Counts of labels that exclude each other are tied: their scatter has eigenvalues that repeat."""
    counts = np.repeat([9.0, 7, 5, 2], [30, 40, 30, 900])
    scatter = np.diag(counts) - np.outer(counts, counts) / counts.sum()
    exact = np.linalg.eigvalsh(scatter)[::-1]
    for n in (29, 69, 70, 100):
        np.testing.assert_allclose(linalg.leading_eigenvectors(scatter, n)[0], exact[:n], atol=1e-11)


@pytest.mark.parametrize("loses", [0, 2])
def test_leading_eigenvectors_are_all_there_where_eigenvalues_are_equal(loses, monkeypatch):
    """Many equal ones, of which some are wanted: of these LAPACK's partial solver, now and then, leaves some out."""
    solve = linalg.scipy.linalg.eigh

    def partial(matrix, subset_by_index=None, **options):
        values, vectors = solve(matrix, subset_by_index=subset_by_index, **options)
        return (values, vectors) if subset_by_index is None else (values[loses:], vectors[:, loses:])

    monkeypatch.setattr(linalg.scipy.linalg, "eigh", partial)
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((23, 23)))[0]
    exact = np.append([37.0, 16, 12, 11, 9], np.full(18, 2.0))
    A = (q * exact) @ q.T
    for n in range(1, 24):
        values, vectors = linalg.leading_eigenvectors((A + A.T) / 2, n)
        np.testing.assert_allclose(values, exact[:n], atol=1e-10)
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=1e-10)
        np.testing.assert_allclose(vectors @ A, values[:, None] * vectors, atol=1e-9)


# -------------------------------------------------------------------- the meter


def test_shared_work_is_charged_to_each_who_uses_it(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("mlcdr.numerics.memo.time", clock)
    memo, free = Memo(), Memo(charged=False)

    def costly():
        free.get("whole data set", lambda: clock.wait(50))
        clock.wait(2)
        return 1

    with metered() as first:
        clock.wait(0.5)
        memo.get("outer", lambda: clock.wait(3) + memo.get("inner", costly))
    with metered() as second:
        assert memo.get("outer", lambda: pytest.fail("computed twice")) == 1
        clock.wait(0.25)
    with metered() as third:
        memo.get("inner", costly)
    assert (first.seconds, second.seconds, third.seconds) == (5.5, 5.25, 2.0)


class Clock:
    """A clock that only `wait` moves."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds
        return 0


def test_no_direction_that_is_left_is_solved_in_silence(capfd):
    """LAPACK would write to the terminal that it does not know what to do with nothing."""
    X, Y = problem("plain")
    none = Moments.from_arrays(X, Y).map_features(np.zeros((17, 0)))
    for ridge in (0.0, 1.0):
        assert regression.coefficients(none, ridge).shape == (0, 6)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shape", [(40, 7, 3), (40, 7, 0), (4, 0, 2)])
def test_columns_beside_sparse_rows_are_those_of_scipy_hstack(shape):
    n, d, q = shape
    rng = np.random.default_rng(0)
    X = frozen(sp.random_array((n, d), density=0.2, format="csr", rng=rng))
    columns = np.asfortranarray(rng.integers(0, 2, (n, q)) * rng.normal(size=(n, q)))
    found, expected = beside(X, columns), sp.csr_array(sp.hstack([X, columns]))
    assert found.has_canonical_format
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_any_sparse_class_becomes_rows_in_c_order():
    X = sp.random_array((5, 4), density=0.5, rng=np.random.default_rng(0))
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        for function in (sums.dense, as_dense):
            assert function(X.asformat(form)).flags.c_contiguous, form


def peak_of(compute: Callable[[], object]) -> int:
    """Bytes that something takes at most."""
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_squares_of_whole_numbers_are_summed_without_a_copy() -> None:
    rng = np.random.default_rng(0)
    for kind in (np.uint8, np.int64, bool):
        labels = rng.integers(0, 2, (20_000, 20)).astype(kind)
        assert sums.squares(labels).tolist() == sums.squares(labels.astype(np.float64)).tolist()
        assert peak_of(lambda labels=labels: sums.squares(labels)) < labels.size
    assert sums.squares(np.full((3, 1), 255, np.uint8)).tolist() == [3 * 255.0**2]


def test_rows_that_are_left_out_and_at_hand_are_not_taken_again() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40_000, 20)), rng.integers(0, 2, (40_000, 3)).astype(np.uint8)
    whole, index = Moments.from_arrays(X, Y), np.arange(0, 40_000, 2)
    taken = X[index]
    assert whole.without(index, taken).xx.tolist() == whole.without(index).xx.tolist()
    assert peak_of(lambda: whole.without(index, taken)) < taken.nbytes < peak_of(lambda: whole.without(index))
