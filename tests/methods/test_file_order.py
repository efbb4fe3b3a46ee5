"""R's `lm` rule from second moments, beside the QR factorisation of the rows, which decides every case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr import LeastSquares
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics import factorisation, principal, regression
from mlcdr.numerics.file_order import FileOrder, FileOrderCholesky
from mlcdr.numerics.linalg import Diagonal, IllConditioned
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem
from tests.methods.test_drop_aliased import case, lm


def by_rows(X):
    """The QR factorisation of the rows."""
    x = X - X.mean(axis=0)
    x -= x.mean(axis=0)
    return FileOrder.of_columns(lambda start, stop: x[:, start:stop], len(x), np.linalg.norm(X, axis=0))


def tangled(n, d, rank, seed):
    """Columns of many scales; all but `rank` of them are combinations of some before them, or constant."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, d))
    free = np.sort(rng.choice(d, rank, replace=False))
    for j in range(d):
        chosen = rng.choice(j, min(j, 3), replace=False)
        X[:, j] = rng.standard_normal(n) if j in free else X[:, chosen] @ rng.integers(-2, 3, len(chosen)) + 1
    return X * 10.0 ** rng.integers(-3, 4, d)


@pytest.mark.parametrize(
    ("n", "d", "rank"), [(300, 40, 30), (300, 200, 140), (60, 200, 45), (60, 200, 150), (30, 5, 0)]
)
@pytest.mark.parametrize("known", [True, False])
def test_keeps_what_the_rows_say(n, d, rank, known):
    X = tangled(n, d, rank, seed=d + rank)
    Y = (np.random.default_rng(0).random((n, 4)) < 0.3).astype(np.uint8)
    if known:  # those of the whole set are taken for granted in a part of it
        moments = Moments.from_arrays(X, Y).without(np.arange(0, n, 7))
        X, Y = np.delete(X, np.arange(0, n, 7), 0), np.delete(Y, np.arange(0, n, 7), 0)
    else:
        moments = Moments.from_arrays(X, Y)
    factor, exact = factorisation.basic_factor(moments), by_rows(X)
    assert isinstance(factor, FileOrderCholesky)
    np.testing.assert_array_equal(factor.kept, exact.kept)
    assert factor.rank <= len(X) - 1
    W = lm(X, Y)
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(W[1:, 0])), factor.kept)
    said = X @ regression.basic_coefficients(moments)
    np.testing.assert_allclose(said - said.mean(axis=0), X @ np.nan_to_num(W[1:]) + W[0] - Y.mean(axis=0), atol=1e-6)
    B = regression.whiten_basic(moments)
    z = Y - Y.mean(axis=0)
    np.testing.assert_allclose(B.T @ B, z.T @ exact.basis @ (exact.basis.T @ z), atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_awkward_problems_dense_and_sparse(name):
    X, Y = problem(name)
    out = np.arange(3, len(X), 9)
    expected = by_rows(np.delete(X, out, 0))
    for x in (X, as_sparse(X)):
        factor = factorisation.basic_factor(Moments.from_arrays(x, Y).without(out))
        np.testing.assert_array_equal(factor.kept, expected.kept)


@pytest.mark.parametrize("name", ["offset", "nearly"])
def test_rows_decide_where_moments_do_not(name):
    """What is neither clearly aliased nor clearly not, in squares, is not guessed."""
    X, Y = case(name)
    moments = Moments.from_arrays(X, Y)
    spread = np.diag(moments.xx)
    with pytest.raises(IllConditioned):
        FileOrderCholesky.factorise(moments.xx_lower, spread, spread + moments.n * moments.mean_x**2)
    assert isinstance(factorisation.basic_factor(moments), FileOrder)
    np.testing.assert_array_equal(factorisation.basic_factor(moments).kept, by_rows(X).kept)


def test_moments_that_rounding_has_spoilt_are_not_believed():
    """A pivot of nothing is confirmed by the rows: here they say otherwise."""
    X, Y = problem("plain")
    spoilt = X.copy()
    spoilt[:, 7] = X[:, 3] - X[:, 5]
    moments = Moments.from_arrays(X, Y)
    object.__setattr__(moments, "_xx", Moments.from_arrays(spoilt, Y)._xx)
    assert isinstance(factorisation.basic_factor(moments), FileOrder)
    assert len(factorisation.basic_factor(moments).kept) == X.shape[1]


def test_aliased_in_a_part_only_and_nearly_gone_in_a_part():
    rng = np.random.default_rng(3)
    X, Y = problem("plain")
    X[:, 6] = X[:, 2]
    X[40, 6] += 1  # dependent without row 40
    X[:, 9] = X[:, 1] + X[:, 4]  # dependent
    X[:, 12] = 1e-9 * X[:, 1]  # dependent, and small but for row 41, where it is a little off
    X[41, [1, 12]] = 1e3, 1e-6 * (1 + 1e-11)
    X[:, 15] = 1e-7 * rng.standard_normal(len(X)) + X[:, 14]  # too near to call from moments
    for out in ([40], [41], [40, 41], [0]):
        for x in (X, X[:, :15]):
            moments = Moments.from_arrays(x, Y).without(np.array(out))
            expected = by_rows(np.delete(x, out, 0))
            np.testing.assert_array_equal(factorisation.basic_factor(moments).kept, expected.kept)
            assert (6 in expected.kept) == (40 not in out)


def test_a_part_of_a_part():
    X = tangled(200, 120, 70, seed=9)
    Y = np.zeros((200, 1), dtype=np.uint8)
    part = Moments.from_arrays(X, Y).without(np.arange(0, 200, 3))
    part = replace(part, _spread=lambda: np.diag(part.xx_lower).copy())
    X = np.delete(X, np.arange(0, 200, 3), 0)
    again = part.without(np.arange(0, len(X), 4))
    np.testing.assert_array_equal(
        factorisation.basic_factor(again).kept, by_rows(np.delete(X, np.arange(0, len(X), 4), 0)).kept
    )
    known = factorisation.known_aliased(again)
    assert len(known) > 30
    assert not set(known.tolist()) & set(factorisation.basic_factor(again).kept.tolist())


def test_far_more_features_than_rows_go_by_blocks_of_columns():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (20, 300)).astype(float)
    Y = (rng.random((20, 3)) < 0.4).astype(np.uint8)
    moments = Moments.from_arrays(as_sparse(X), Y)
    assert isinstance(factorisation.basic_factor(moments), FileOrder)
    np.testing.assert_array_equal(factorisation.basic_factor(moments).kept, by_rows(X).kept)
    W = lm(X, Y)
    np.testing.assert_allclose(regression.basic_coefficients(moments), np.nan_to_num(W[1:]), atol=1e-9)


def test_constant_features_need_no_rows():
    X, Y = problem("sparse counts")
    settled = Moments.from_arrays(X, Y).settled()
    np.testing.assert_allclose(regression.basic_coefficients(settled), np.nan_to_num(lm(X, Y)[1:]), atol=1e-10)


def test_principal_directions_are_aliased_by_their_own_size_alone():
    X, Y = problem("scales")
    moments = Moments.from_arrays(X, Y)
    reduced = principal.principal_moments(moments, 17)
    assert isinstance(factorisation.basic_factor(reduced), Diagonal)
    rows = reduced.rows()[0]
    fitted = LeastSquares("drop_aliased").fit_moments(reduced)
    again = LeastSquares("drop_aliased").fit(rows, Y.astype(float))
    np.testing.assert_allclose(fitted.predict(rows), again.predict(rows), atol=1e-8)
    far = problem("plain")[0][:, :3] * [1.0, 1e-2, 1e-5] + [0, 0, 1e4]  # the last is aliased with the intercept
    reduced = principal.principal_moments(Moments.from_arrays(far, Y), 3)
    dropped = np.isnan(lm(reduced.rows()[0], Y)[1:, 0])
    assert dropped.any()
    np.testing.assert_array_equal(dropped, ~regression.basic_coefficients(reduced).any(axis=1))


def test_a_ridge_on_uncorrelated_features():
    X, Y = problem("plain")
    reduced = principal.principal_moments(Moments.from_arrays(X, Y), 5)
    x, z = reduced.rows()[0] - reduced.mean_x, Y - Y.mean(axis=0)
    for ridge in (0.0, 0.7):
        expected = np.linalg.solve(x.T @ x + ridge * np.eye(5), x.T @ z)
        np.testing.assert_allclose(regression.coefficients(reduced, ridge), expected, atol=1e-12)
        B = regression.whiten(reduced, ridge)
        np.testing.assert_allclose(B.T @ B, z.T @ x @ expected, atol=1e-10)


@pytest.mark.parametrize("name", ["emotions", "enron", "genbase", "medical"])
def test_real_data_keep_what_the_rows_say(real_dataset, name):
    dataset = real_dataset(name)
    out = np.arange(4, dataset.n_instances, 10)
    moments = Moments.from_arrays(dataset.X, dataset.Y).without(out)
    factor = factorisation.basic_factor(moments)
    assert isinstance(factor, FileOrderCholesky)
    exact = by_rows(np.delete(as_dense(dataset.X), out, 0))
    np.testing.assert_array_equal(factor.kept, exact.kept)
    z = np.delete(as_dense(dataset.Y), out, 0).astype(float)
    expected = exact.coefficients(exact.whiten(np.zeros(0), lambda: z - z.mean(axis=0)))
    test = dataset.X[out]
    np.testing.assert_allclose(test @ regression.basic_coefficients(moments), test @ expected, atol=1e-7)
    assert sp.issparse(dataset.X) == sp.issparse(moments.rows()[0])
