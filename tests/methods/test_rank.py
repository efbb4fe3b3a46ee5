"""One rule of rank: as many directions as exact arithmetic has, whatever the features' units and dependence.

All data are whole numbers, so that ranks, determinants, signs of eigenvalues and solutions are computed exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mlcdr import (
    CSFS,
    DDSR,
    HSL,
    IDSR,
    MDDM,
    MDFS,
    MIFS,
    MLSI,
    MVMD,
    OPLS,
    PCA,
    READER,
    RFS,
    SCCA,
    LabelCCA,
    LeastSquares,
    ReaderLE,
    ReaderLEClassifier,
)
from mlcdr.numerics import factorisation, linalg, principal, row_sparse
from mlcdr.numerics.moments import Moments

RNG = np.random.default_rng
PRIME = 2**61 - 1
# as many directions as X has dimensions, and as C has
OF_FEATURES = [PCA(), MVMD(), MVMD(normalise=True), MLSI(), MLSI(beta=1.0), MLSI(form="covariance")]
OF_DEPENDENCE = [
    MDDM(),
    MDDM(orthogonality="f"),
    MDDM(orthogonality="f", beta=1.0),
    MVMD(beta=1.0),
    MLSI(form="covariance", beta=1.0),
    LabelCCA(),
    LabelCCA(alpha=0.0),
    OPLS(),
]


def problem(seed, wide=False, dependent=True):
    """Whole numbers X (n×d), some columns sums of others, and label sets Y (n×K), some of one label the complement."""
    rng = RNG(seed)
    n, free, sums = 50, int(rng.integers(2, 14)), int(rng.integers(1, 5))
    if wide:
        n, free, sums = 20, int(rng.integers(5, 25)), 12
    X = rng.integers(0, 10, (n, free))
    if dependent:
        X = np.column_stack([X, X @ rng.integers(-1, 2, (free, sums))])[:, rng.permutation(free + sums)]
    Y = (rng.random((n, 4)) < 0.4).astype(int)
    Y[:4] = np.eye(4)
    if seed % 2:
        Y[:, 3] = 1 - Y[:, 0]
    return X, Y


def in_units(X, seed, widest):
    """Columns times powers of ten from 1 to 10^widest."""
    powers = RNG(seed).integers(0, widest + 1, X.shape[1])
    powers[[0, -1]] = widest, 0
    return X * 10**powers


def scatter(X, Y=None):
    """n² times S, or C, in whole numbers of any size."""
    x, y = (len(a) * a.astype(object) - a.astype(object).sum(axis=0) for a in (X, X if Y is None else Y))
    return x.T @ y


def rank_of(matrix):
    """The rank, by elimination modulo a prime of 61 bits."""
    rows = [[int(v) % PRIME for v in row] for row in matrix]
    rank = 0
    for j in range(matrix.shape[1]):
        at = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        inverse = pow(rows[rank][j], -1, PRIME)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] * inverse % PRIME
            rows[i] = [(a - factor * b) % PRIME for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def pivots_of(matrix):
    """The pivots of a symmetric matrix whose leading minors are not 0: their signs are those of the eigenvalues."""
    rows = [[Fraction(v) for v in row] for row in matrix]
    for k, top in enumerate(rows):
        for row in rows[k + 1 :]:
            factor = row[k] / top[k]
            row[k:] = [a - factor * b for a, b in zip(row[k:], top[k:], strict=True)]
    return [rows[k][k] for k in range(len(rows))]


def solution_of(matrix, right):
    """A⁻¹B (d×k) of a positive definite A, exactly but for the last step."""
    augmented = [[Fraction(v) for v in (*row, *b)] for row, b in zip(matrix, right, strict=True)]
    for k, top in enumerate(augmented):
        top[:] = [v / top[k] for v in top]
        for i, row in enumerate(augmented):
            if i != k:
                row[:] = [a - row[k] * b for a, b in zip(row, top, strict=True)]
    return np.array([[float(v) for v in row[len(matrix) :]] for row in augmented])


# -------------------------------------------------------------------- features in different units


@pytest.mark.parametrize("widest", [6, 9])
@pytest.mark.parametrize("wide", [False, True])
def test_all_features_count_in_whatever_units_they_are(wide, widest):
    for seed in range(12):
        X, Y = problem(seed, wide)
        X = in_units(X, seed, widest)
        rank, of_cross = rank_of(scatter(X)), rank_of(scatter(X, Y))
        X = X.astype(float)
        for features in (X, sp.csr_array(X)):
            moments = Moments.from_arrays(features, Y)
            for estimator in OF_FEATURES:
                assert clone(estimator).fit_moments(moments).n_positive_ == rank, (seed, estimator)
            for estimator in OF_DEPENDENCE:
                assert clone(estimator).fit_moments(moments).n_positive_ == of_cross, (seed, estimator)
            assert len(IDSR().fit_moments(moments).feature_variances_) == rank
            assert DDSR().fit_moments(moments).feature_directions_.shape[1] == of_cross
            assert factorisation.rank(moments) == rank


@pytest.mark.parametrize("widest", [6, 9])
def test_rank_is_told_by_sums_alone(widest, monkeypatch):
    """Rows that are not at hand; and sparse ones that would be too large if they were dense."""
    monkeypatch.setattr(principal, "_DENSE", 0)
    for seed in range(12):
        X, Y = problem(seed)
        X = in_units(X, seed, widest)
        rank = rank_of(scatter(X))
        moments = Moments.from_arrays(sp.csr_array(X.astype(float)), Y)
        for given in (moments, moments.settled()):
            for estimator in (PCA(), MVMD(), MLSI()):
                assert clone(estimator).fit_moments(given).n_positive_ == rank, (seed, estimator)


@pytest.mark.parametrize("widest", [0, 6, 9])
@pytest.mark.parametrize("estimator", [PCA(), MVMD(), MDDM()], ids=str)
def test_the_product_of_eigenvalues_is_the_determinant(estimator, widest):
    """So the smallest eigenvalue, 1e-20 of the largest, is known to its own last digits."""
    for seed in range(0, 14, 2):  # even: no label is another's complement
        X, Y = problem(seed, dependent=False)
        X = in_units(X, seed, widest)
        n = len(X)
        C = scatter(X, Y)
        if isinstance(estimator, MDDM):
            matrix = Fraction(4, n**4) * (C.T @ C if X.shape[1] >= 4 else C @ C.T)
        elif isinstance(estimator, PCA):
            matrix = Fraction(1, n**2) * scatter(X)
        else:
            matrix = Fraction(1, 2 * n**2) * scatter(X) + Fraction(2, n**4) * C @ C.T
        exact = pivots_of(matrix)
        found = clone(estimator).fit(X.astype(float), Y).eigenvalues_
        assert len(found) == len(exact)
        np.testing.assert_allclose(np.log(found).sum(), np.log(np.array(exact, dtype=float)).sum(), atol=1e-9)


def test_rows_decide_a_rank_that_their_products_hide():
    """A feature that another explains up to a 1e-6th is one of its own, also beside one 1e12 times as large."""
    rng = RNG(0)
    a, b, small, large = rng.integers(-9, 10, (4, 50))
    X = np.column_stack([a, 10**6 * a + b, small, 10**12 * large, a + small]).astype(float)
    Y = (rng.random((50, 3)) < 0.4).astype(float)
    for features in (X, sp.csr_array(X)):
        moments = Moments.from_arrays(features, Y)
        assert isinstance(factorisation.factor(moments), linalg.Spectral)
        assert factorisation.rank(moments) == 4
        fitted = LeastSquares().fit_moments(moments)
        x, z = (v - v.mean(axis=0) for v in (X[:, :4] / np.array([1, 1, 1, 1e12]), Y))
        x[:, 1] = b - b.mean()
        expected = x @ np.linalg.lstsq(x, z, rcond=None)[0] + Y.mean(axis=0)
        np.testing.assert_allclose(fitted.predict(features), expected, atol=1e-6)


# -------------------------------------------------------------------- dependent features, at any scale


def sums_of_columns(seed, labels=3):
    """X (60×6) of rank 4, of whole numbers and two sums of them; labels; and rows without labels."""
    rng = RNG(seed)
    X = rng.integers(0, 10, (80, 4))
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] + X[:, 3]])
    Y = (X[:60, :labels] + rng.integers(0, 6, (60, labels)) > 7).astype(int)
    return X[:60], Y, X[60:]


@pytest.mark.parametrize("unlabelled", [False, True])
@pytest.mark.parametrize("beta", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_scca_has_as_many_directions_as_eigenvalues_are_positive(beta, unlabelled):
    """The signs are those of B's pivots, by Sylvester's law of inertia: of four independent features and the labels."""
    for seed in range(4):
        X, Y, more = sums_of_columns(seed)
        rows = np.vstack([X, more]) if unlabelled else X
        everywhere = scatter(rows[:, :4]) * Fraction(1, len(rows) ** 2)
        C, T = (matrix * Fraction(1, len(X) ** 2) for matrix in (scatter(X[:, :4], Y), scatter(Y)))
        of_both = np.block([[(1 - beta) * everywhere, beta * C], [beta * C.T, (1 - beta) * T]])
        expected = min(6, sum(pivot > 0 for pivot in pivots_of(of_both)))
        for scale in (1e-4, 1.0, 1e4, 1e5, 1e8):
            given = {"X_unlabelled": more * scale} if unlabelled else {}
            found = SCCA(beta=float(beta)).fit(X * scale, Y, **given)
            assert found.n_positive_ == expected, (seed, scale)
            assert np.linalg.matrix_rank(found.components_ * np.maximum(scale, 1), tol=1e-6) <= 4


@pytest.mark.parametrize("scale", [1e-8, 1e5, 1e8])
@pytest.mark.parametrize(
    "estimator", [PCA(), MVMD(), MDDM(), OPLS(alpha=0.0), LabelCCA(alpha=0.0), HSL(alpha=0.0)], ids=str
)
def test_one_scale_for_all_features_changes_no_direction(estimator, scale):
    """The metric is I: directions of length 1, eigenvalues in squares of the scale. Or it is S: the other way round."""
    X, Y, _ = sums_of_columns(0)
    expected, found = clone(estimator).fit(X.astype(float), Y), clone(estimator).fit(X * scale, Y)
    of_scatter = isinstance(estimator, OPLS | LabelCCA | HSL)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_ * (1 if of_scatter else scale**2), rtol=1e-9)
    unit = scale if of_scatter else 1.0
    np.testing.assert_allclose(unit * found.components_, expected.components_, atol=1e-8)


SELECTORS = {
    "rfs": RFS(),
    "csfs": CSFS(),
    "mifs": MIFS(),
    "mdfs": MDFS(),
    "reader": READER(algorithm="constrained"),
    "reader alternating": READER(algorithm="alternating", random_state=0),
    "reader squared": READER(algorithm="alternating", random_state=0, loss="squared"),
}


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e5, 1e8])
@pytest.mark.parametrize("name", SELECTORS)
def test_row_sparse_regressions_on_dependent_features_descend(name, scale):
    for seed in range(4):
        X, Y, more = sums_of_columns(seed)
        estimator = clone(SELECTORS[name])
        given = {"X_unlabelled": more * scale} if estimator.uses_unlabelled else {}
        found = estimator.fit(X * scale, Y, **given)
        assert np.isfinite(found.coef_).all()
        objective = found.objective_[1:]
        assert np.all(objective > 0)
        assert np.all(np.diff(objective) <= 1e-4 * objective[:-1]), seed  # some is rounding in what a graph hides


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e5, 1e8])
def test_reader_le_predicts_on_dependent_features(scale):
    X, Y, more = sums_of_columns(0)
    assert np.isfinite(ReaderLE().fit(X * scale, Y, X_unlabelled=more * scale).coef_).all()
    fitted = ReaderLEClassifier().fit(X * scale, Y, X_unlabelled=more * scale)
    assert np.isfinite(fitted.decision_function(more * scale)).all()


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("scale", [1, 10**5, 10**8])
@pytest.mark.parametrize("n", [60, 5])
def test_penalised_least_squares_of_dependent_features_are_exact(n, scale, quadratic):
    """A penalty of 1 beside squares of 1e18: it alone decides between features that depend on each other."""
    X, Y, more = sums_of_columns(1)
    X, Y = scale * X[:n].astype(object), Y[:n]
    penalty, h = np.arange(1, 7), np.arange(1, n + 1) % 4 + 1
    Q = scale**2 * more.astype(object).T @ more.astype(object) if quadratic else np.zeros((6, 6), dtype=object)
    expected = solution_of(X.T @ (h[:, None] * X) + np.diag(penalty.astype(object)) + Q, X.T @ (h[:, None] * Y))
    regression = row_sparse.Penalised(X.astype(float), Q.astype(float) if quadratic else None)
    found = regression.solve(h.astype(float), penalty.astype(float), Y.astype(float))
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("quadratic", [False, True])
def test_penalised_least_squares_decompose_their_rows_once(quadratic, monkeypatch):
    X, Y, more = sums_of_columns(1)
    X, Q, h = 1e8 * X, 1e16 * more.T @ more if quadratic else None, np.ones(len(X))
    penalties = [np.ones(6), np.arange(1.0, 7)]
    anew = [row_sparse.Penalised(X, Q).solve(h, penalty, Y) for penalty in penalties]
    calls = []
    monkeypatch.setattr(row_sparse._RowAxes, "of", lambda X, find=row_sparse._RowAxes.of: calls.append(X) or find(X))
    regression = row_sparse.Penalised(X, Q)
    np.testing.assert_array_equal([regression.solve(h, penalty, Y) for penalty in penalties], anew)
    assert len(calls) == 1


@pytest.mark.parametrize("weight", [1.0, 1e-12, 1e-20])
def test_a_graph_does_not_hide_the_weights_of_its_rows(weight):
    """(H + L)V = HB: on each component, of two here, the weighted means of V and B are the same."""
    edges = sp.coo_array((np.full(8, 100.0), ([0, 1, 2, 3, 5, 6, 7, 8], [1, 2, 3, 4, 6, 7, 8, 9])), shape=(10, 10))
    adjacent = (edges + edges.T).toarray()
    laplacian = np.diag(adjacent.sum(axis=0)) - adjacent
    h, B = weight * np.arange(1.0, 11), RNG(0).standard_normal((10, 2)) + 5
    found = row_sparse.graph_solver(h, sp.csr_array(laplacian))(h[:, None] * B)
    for part in (slice(0, 5), slice(5, 10)):
        np.testing.assert_allclose(h[part] @ found[part], h[part] @ B[part], rtol=1e-9)
    np.testing.assert_allclose(laplacian @ found, h[:, None] * (B - found), atol=1e-12)


@pytest.mark.parametrize("shape", [(12, 5), (5, 5), (4, 0)])
def test_graded_singular_values(shape):
    """Of D₁BD₂: the product is A, the vectors are orthonormal, and no row is off by more than its own last digits."""
    rng = RNG(0)
    A = 10.0 ** np.linspace(0, -14, shape[0])[:, None] * rng.standard_normal(shape)
    left, s, right = linalg.graded_svd(A)
    assert np.all(np.diff(s) <= 0)
    np.testing.assert_allclose(left.T @ left, np.eye(shape[1]), atol=1e-13)
    np.testing.assert_allclose(right.T @ right, np.eye(shape[1]), atol=1e-13)
    for row, expected in zip(left * s @ right.T, A, strict=True):
        np.testing.assert_allclose(row, expected, atol=1e-13 * np.abs(expected).max(initial=0.0))


@pytest.mark.parametrize("method", [PCA(), MVMD()])
def test_large_means_of_sparse_features_hide_no_dependence(method):
    """Sparse rows are centred in S, where the squares of the means leave rounding."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 3, (2, 5)) + np.array([[10**7], [0]])
        X, y = np.column_stack([a, b, a - b]), rng.integers(0, 2, (5, 1))
        exact = np.linalg.matrix_rank(X - X[0])
        assert np.count_nonzero(clone(method).fit(sp.csr_array(X, dtype=float), y).eigenvalues_) == exact
