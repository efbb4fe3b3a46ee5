"""FaIE: the paper's n×n eigenproblem by NumPy, and what its codes and errors are.

(The authors' later program: `test_authors_demo.py`; MLC Toolbox's rows: `tests/execution/test_toolbox.py`.)
"""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr import FaIE, LeastSquares, Ridge
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, problem

OPTIONS = {
    "the paper's": {},
    "heavy": {"weight": 30.0},
    "no features": {"weight": 0.0},
    "ridge": {"weight": 0.5, "alpha": 1.0},
    "centred": {"weight": 2.0, "centre": True},
    "centred, ridge": {"weight": 2.0, "centre": True, "alpha": 3.0},
    "constant": {"weight": 2.0, "alpha": 0.1, "constant": True},
    "±1": {"weight": 2.0, "coding": "plus_minus_one"},
    "±1, constant": {"weight": 2.0, "coding": "plus_minus_one", "constant": True},
}


def matrix_of(X, Y, weight=0.1, alpha=0.0, centre=False, constant=False, coding="zero_one"):
    """G = YYᵀ + ωH (n×n), and Y as coded."""
    F = X - X.mean(0) if centre else np.column_stack([X, np.ones(len(X))]) if constant else X
    u, s, _ = np.linalg.svd(F, full_matrices=False)
    kept = s > 1e-11 * s[0] if alpha == 0 else s > 0
    H = (u[:, kept] * (s[kept] ** 2 / (s[kept] ** 2 + alpha))) @ u[:, kept].T
    y = 2.0 * Y - 1 if coding == "plus_minus_one" else Y.astype(float)
    return y @ y.T + weight * H, y


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_codes_are_the_leading_eigenvectors(name, options):
    X, Y = problem(name)
    G, y = matrix_of(X, Y, **options)
    exact = np.linalg.eigvalsh(G)[::-1][:6]
    space = FaIE(**options).fit(X, Y)
    Z = space.encode_moments(Moments.from_arrays(X, Y)).rows()[1]
    live = exact > 1e-9 * exact[0]  # without the features there is one label, and eigenvalue, less
    np.testing.assert_allclose(space.eigenvalues_, exact, atol=1e-7 * exact[0])
    np.testing.assert_allclose(Z.T @ Z, np.diag(live.astype(float)), atol=1e-6)
    np.testing.assert_allclose(G @ Z, Z * exact, atol=1e-6 * exact[0])
    np.testing.assert_allclose(space.directions_, Z.T @ y, atol=1e-6 * np.sqrt(exact[0]))
    np.testing.assert_allclose(space.decode(Z[:, :3]), Z[:, :3] @ (Z[:, :3].T @ y), atol=1e-6)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_the_learner_gets_the_codes_as_moments(name, options):
    X, Y = problem(name)
    moments = Moments.from_arrays(X, Y).without(np.arange(7))
    codes = FaIE(**options).fit_moments(moments).encode_moments(moments)
    exact = Moments.from_arrays(*codes.rows())
    np.testing.assert_allclose(codes.mean_y, exact.mean_y, atol=1e-8)
    np.testing.assert_allclose(codes.xy, exact.xy, atol=1e-7)
    np.testing.assert_allclose(codes.yy, exact.yy, atol=1e-7)
    for learner in (LeastSquares(), Ridge(2.0, "penalised"), Ridge(2.0, "none")):
        expected = learner.fit(*codes.rows()).predict(X)
        np.testing.assert_allclose(learner.fit_moments(codes).predict_valid(X), expected, atol=1e-6)


def test_an_encoded_label_set_is_the_nearest_code():
    X, Y = problem("plain")
    space = FaIE(3).fit(X, Y)
    codes = space.encode(Y)
    best = np.sum((space.decode(codes) - Y) ** 2)
    for step in np.random.default_rng(0).normal(size=(20, *codes.shape)):
        assert np.sum((space.decode(codes + 0.01 * step) - Y) ** 2) > best
