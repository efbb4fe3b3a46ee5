"""Least squares by the rule of R's `lm`, beside LINPACK's Householder loop as R changed it (dqrdc2), line by line."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mlcdr import PLST, LeastSquares
from mlcdr.numerics import regression
from mlcdr.numerics.file_order import FileOrder
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem


def lm(X, Z, tolerance=1e-7):
    """Coefficients (d+1, q) of [1, X], NaN where aliased; Householder reflections with R's limited pivoting."""
    A = np.column_stack([np.ones(len(X)), X])
    n, p = A.shape
    columns, norms = list(range(p)), np.linalg.norm(A, axis=0)
    norms[norms == 0] = 1
    A, B = A.copy(), Z.astype(float).copy()
    k = p
    step = 0
    while step < min(n, k):
        while step < k and np.linalg.norm(A[step:, step]) < norms[step] * tolerance:
            order = [*range(step), *range(step + 1, p), step]
            A, norms, columns = A[:, order], norms[order], [columns[i] for i in order]
            k -= 1
        if step >= k:
            break
        v = A[step:, step].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        A[step:] -= 2 * np.outer(v, v @ A[step:])
        B[step:] -= 2 * np.outer(v, v @ B[step:])
        step += 1
    rank = step
    W = np.full((p, Z.shape[1]), np.nan)
    W[columns[:rank]] = np.linalg.solve(np.triu(A[:rank, :rank]), B[:rank])
    return W


CASES = [*NAMES, "offset", "late", "nearly"]


def case(name):
    if name not in CASES[-3:]:
        return problem(name)
    X, Y = problem("plain")
    if name == "offset":  # a feature nearly constant beside its mean is aliased with the intercept; a lesser one is not
        X[:, 3] = 1e9 + X[:, 3]
        X[:, 5] = 1e5 + X[:, 5]
    if name == "late":  # the later one of a pair goes, whatever its scale
        X[:, 0], X[:, 16] = 1e-3 * X[:, 16], 1e3 * X[:, 16] + 3
        X[:, 8] = 0
    if name == "nearly":  # to 1e-4 and 1e-6 of their norm: kept; to 1e-9: dropped
        rng = np.random.default_rng(5)
        for j, size in ((4, 1e-4), (9, 1e-6), (13, 1e-9)):
            X[:, j] = X[:, j - 1] + size * rng.standard_normal(len(X))
    return X, Y


@pytest.mark.parametrize("name", CASES)
def test_coefficients_are_those_of_lm(name):
    X, Y = case(name)
    expected = lm(X, Y)
    model = LeastSquares("drop_aliased").fit(X, Y.astype(float))
    dropped = np.isnan(expected[1:, 0])
    assert not model.coef_.T[dropped].any()
    assert dropped.any() == (name not in ("plain", "scales"))
    new = np.vstack([X, X[::-1] * 1.01])
    said = np.nan_to_num(expected[1:])
    reference = new @ said + expected[0]
    size = np.abs(new).max(axis=0) @ np.abs(said)
    assert np.max(np.abs(model.predict(new) - reference) / (1 + size)) < (1e-8 if name != "nearly" else 1e-7)
    np.testing.assert_allclose(model.predict(X), reference[: len(X)], atol=1e-6)


@pytest.mark.parametrize("name", ["dependent", "wide", "plain"])
def test_codes_get_the_labels_coefficients_times_the_directions(name):
    X, Y = problem(name)
    space = PLST(3).fit(X, Y)
    moments = space.encode_moments(Moments.from_arrays(X, Y).without(np.arange(9)))
    fitted = clone(LeastSquares("drop_aliased")).fit_moments(moments)
    alone = LeastSquares("drop_aliased").fit(X[9:], space.encode(Y[9:]))
    np.testing.assert_allclose(fitted.predict(X), alone.predict(X), atol=1e-8)


def test_the_basis_is_orthonormal_and_blocks_do_not_matter():
    X, _ = case("nearly")
    X = np.hstack([X, X @ np.random.default_rng(0).standard_normal((17, 9)), X**2])
    x = X - X.mean(axis=0)
    norms = np.linalg.norm(X, axis=0)
    wide, narrow = (FileOrder.of_columns(lambda i, j: x[:, i:j], len(x), norms, width) for width in (64, 3))
    np.testing.assert_array_equal(wide.kept, narrow.kept)
    for found in (wide, narrow):
        np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(found.rank), atol=1e-13)
        np.testing.assert_allclose(found.basis @ found.upper, x[:, found.kept], atol=1e-12)


def test_moments_without_rows_serve_where_nothing_is_aliased_and_say_so_elsewhere():
    X, Y = problem("plain")
    settled = Moments.from_arrays(X, Y).settled()
    np.testing.assert_allclose(regression.basic_coefficients(settled), lm(X, Y)[1:], atol=1e-10)
    X[:, 3] = X[:, 2]
    with pytest.raises(ValueError, match="no longer have their rows"):
        regression.basic_coefficients(Moments.from_arrays(X, Y).settled())
