"""Label spaces found without square matrices: the subspaces of ARPACK and LAPACK on problems that these can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from mlcdr import CPLST, MVMD, PLST, Ridge
from mlcdr.methods.label_space import implicit
from mlcdr.numerics import moments as moments_module
from mlcdr.numerics import operators
from mlcdr.numerics.moments import Moments

N, D, K, M = 300, 90, 120, 4


@pytest.fixture
def data() -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(8)
    topics = rng.random((N, 6)) < np.linspace(0.5, 0.1, 6)
    X = sp.csr_array((topics @ (rng.random((6, D)) < 0.2)) * (rng.random((N, D)) < 0.5), dtype=np.float64)
    Y = (topics @ (rng.random((6, K)) < 0.15)) * (rng.random((N, K)) < 0.4) + (rng.random((N, K)) < 0.01)
    Y[:, 5] = 0  # never
    Y[:, 6] = 1  # always
    Y[:, 8] = Y[:, 7]  # alike
    return X, sp.csr_array((Y > 0).astype(np.int8))


@pytest.fixture
def without_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is large, and whoever forms S, C or T is told off."""
    monkeypatch.setattr(implicit, "LANCZOS_FROM", 50)
    monkeypatch.setattr(operators, "GRADIENTS_FROM", 50)
    monkeypatch.setattr(moments_module, "WIDE", 100)

    def refuse() -> Any:
        raise AssertionError("a matrix is formed")

    made = Moments.from_arrays.__func__  # type: ignore[attr-defined]

    def from_arrays(cls: type[Moments], *arguments: Any) -> Moments:
        return replace(made(cls, *arguments), _xx=refuse, _xy=refuse, _yy=refuse)

    monkeypatch.setattr(Moments, "from_arrays", classmethod(from_arrays))


def centred(a: sp.csr_array) -> np.ndarray:
    dense = a.toarray().astype(float)
    return dense - dense.mean(axis=0)


def assert_same_space(found: np.ndarray, expected: np.ndarray, sine: float = 1e-8) -> None:
    """Rows and columns that span the same, and an orthonormal `found`."""
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-10)
    assert np.sin(scipy.linalg.subspace_angles(found.T, expected)).max() < sine


@pytest.mark.usefixtures("without_squares")
@pytest.mark.parametrize("centre", [True, False])
def test_plst_is_arpacks(data: tuple[sp.csr_array, sp.csr_array], centre: bool) -> None:
    X, Y = data
    z = centred(Y) if centre else Y.toarray().astype(float)
    values, vectors = eigsh(z.T @ z, k=M)
    space = PLST(M, centre=centre).fit_moments(Moments.from_arrays(X, Y))
    assert_same_space(space.directions_, vectors)
    np.testing.assert_allclose(space.eigenvalues_, values[::-1], rtol=1e-10)
    np.testing.assert_allclose(space.mean_, Y.mean(axis=0) if centre else 0, atol=1e-15)


@pytest.mark.usefixtures("without_squares")
@pytest.mark.parametrize("alpha", [0.1, 30.0])
def test_cplst_is_arpacks(data: tuple[sp.csr_array, sp.csr_array], alpha: float) -> None:
    X, Y = data
    x, z = centred(X), centred(Y)
    explained = z.T @ x @ np.linalg.solve(x.T @ x + alpha * np.eye(D), x.T @ z)
    values, vectors = eigsh((explained + explained.T) / 2, k=M)
    space = CPLST(M, alpha=alpha).fit_moments(Moments.from_arrays(X, Y))
    assert_same_space(space.directions_, vectors)
    np.testing.assert_allclose(space.eigenvalues_, values[::-1], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"alpha": 2.0, "centre": False}, {"alpha": 0.5}], ids=str)
def test_cplst_by_a_factorisation_is_the_same(
    data: tuple[sp.csr_array, sp.csr_array], options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many labels on few features: no K×K matrix, S is factorised."""
    expected = CPLST(M, **options).fit(*data)
    monkeypatch.setattr(implicit, "LANCZOS_FROM", 50)
    found = CPLST(M, **options).fit(*data)
    assert_same_space(found.directions_, expected.directions_.T)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)


@pytest.mark.usefixtures("without_squares")
@pytest.mark.parametrize("options", [{}, {"normalise": True}, {"beta": 1.0}], ids=str)
def test_mvmd_is_arpacks(data: tuple[sp.csr_array, sp.csr_array], options: dict) -> None:
    X, Y = data
    x, c = centred(X), 2 * centred(X).T @ centred(Y)
    s, cc, beta = x.T @ x, c @ c.T, options.get("beta", 0.5)
    if "normalise" in options:
        s, cc = s / np.trace(s), cc / np.trace(cc)
    g = (1 - beta) * s + beta * cc
    values, vectors = eigsh(g, k=M)
    space = MVMD(M, solver="implicit", **options).fit_moments(Moments.from_arrays(X, Y))
    assert_same_space(space.components_, vectors)
    np.testing.assert_allclose(space.eigenvalues_[:M], values[::-1], rtol=1e-10)
    assert space.eigenvalue_share_ == pytest.approx(values.sum() / np.trace(g), rel=1e-10)


@pytest.mark.usefixtures("without_squares")
def test_a_ridge_on_codes_and_on_directions(data: tuple[sp.csr_array, sp.csr_array]) -> None:
    X, Y = data
    moments = Moments.from_arrays(X, Y)
    x, z = centred(X), centred(Y)
    space = PLST(M).fit_moments(moments)
    learner = Ridge(0.7).fit_moments(space.encode_moments(moments))
    codes = z @ space.directions_.T
    expected = np.linalg.solve(x.T @ x + 0.7 * np.eye(D), x.T @ codes)
    np.testing.assert_allclose(learner.coef_.T, expected, atol=1e-9)
    mapped = moments.map_features(np.random.default_rng(0).normal(size=(D, 5)))
    reduced = mapped.rows()[0] - mapped.rows()[0].mean(axis=0)
    np.testing.assert_allclose(mapped.xx, reduced.T @ reduced, atol=1e-8)
    np.testing.assert_allclose(mapped.xy, reduced.T @ z, atol=1e-8)
    image = space.encode_moments(moments)
    np.testing.assert_allclose(image.yy, codes.T @ codes, atol=1e-8)
