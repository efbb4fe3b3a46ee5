"""The table of eigenproblems A p = λ B p in docs/methods/feature_space.md: each row, evaluated as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from mlcdr import LPP, MHSL, MLDA, SharedSubspace
from mlcdr.methods.component import Component
from tests.methods.problems import problem
from tests.methods.test_feature_space import graph_of, neighbours_of, similarity_of, weights_of

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "feature_space.md"
ROWS = re.findall(r"^\| \[`([^`]+)`\]\(#feature_space-\w+\) \| ([^|]+) \| ([^|]+) \|", PAGE.read_text("utf-8"), re.M)
FACTOR = re.compile(r"[A-Zn1αβr¼(]")


def evaluate(formula, values):
    """A formula of the table as a matrix: what stands side by side is multiplied."""
    tokens = re.findall(r"r′|⁻¹|\S", formula)
    written, is_factor = [], False
    for token in tokens:
        if is_factor and FACTOR.match(token):
            written.append("*")
        written.append({"ᵀ": ".T", "⁻¹": ".I", "−": "-", "r′": "r_", "¼": "0.25"}.get(token, token))
        is_factor = token not in "(+−"
    return np.asarray(eval("".join(written), {}, values))


def symbols(estimator, X, Y):
    """What the letters of a row stand for, by definition."""
    n, d = X.shape
    p = estimator.get_params()
    matrices = {"X": X - X.mean(axis=0), "Y": 2.0 * (Y - Y.mean(axis=0))}
    match estimator:
        case LPP():
            W = neighbours_of(X, p["n_neighbors"])
            matrices |= {"W": W, "D": np.diag(W.sum(axis=1))}
        case MHSL():
            matrices["G"] = graph_of(Y, p["n_neighbors"])
        case MLDA():
            W = weights_of(p["weights"], Y, X)
            s, sums = W.sum(axis=1), W.sum(axis=0)
            inverse = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
            matrices |= {"W": W, "D": np.diag(s), "N": np.diag(inverse), "V": X - s @ X / s.sum()}
        case SharedSubspace():
            x = matrices["X"]
            matrices["M"] = x.T @ x + n * (p["alpha"] + p["beta"]) * np.eye(d)
        case _ if "expansion" in p:
            matrices["G"] = similarity_of(Y, p["expansion"])
    found = {name: np.asmatrix(a) for name, a in matrices.items()}
    r, r_ = p.get("alpha", 0.0), p.get("label_alpha")
    scalars = {"r": r, "α": r, "β": p.get("beta"), "n": n, "r_": r if r_ is None else r_}
    return found | scalars


class Identity:
    """I, of the size of what it is added to."""

    __array_ufunc__ = None  # NumPy leaves sums to the methods below

    def __init__(self, factor=1.0):
        self.factor = factor

    def __rmul__(self, factor):
        return Identity(self.factor * factor)

    def __radd__(self, matrix):
        return matrix + self.factor * np.eye(len(matrix))

    def __sub__(self, matrix):
        return self.factor * np.eye(len(matrix)) - matrix


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(("written", "a", "b"), ROWS, ids=[row[0] for row in ROWS])
def test_the_directions_solve_the_eigenproblem_as_printed(written, a, b):
    X, Y = problem("plain")
    part = yaml.safe_load(f"{{{written}}}" if ":" in written else written)
    estimator = Component.parse("feature_space", part).build()
    given = symbols(estimator, X, Y) | {"I": Identity()}
    fitted = estimator.fit(X, Y)
    P, values = fitted.components_.T, fitted.eigenvalues_
    A = evaluate(a, given)
    B = np.eye(X.shape[1]) if b == "I" else evaluate(b, given)
    if isinstance(estimator, SharedSubspace):
        P = P @ np.linalg.inv(np.linalg.cholesky(P.T @ B @ P)).T
    assert len(values) >= 3
    np.testing.assert_allclose(P.T @ B @ P, np.eye(len(values)), atol=1e-9)
    np.testing.assert_allclose(A @ P, B @ P * values, atol=1e-9 * np.abs(A @ P).max())
    assert values[0] == pytest.approx(np.linalg.eigvals(np.linalg.solve(B, A)).real.max(), rel=1e-9)


def test_every_row_is_read():
    names = {written.partition(":")[0] for written, _, _ in ROWS}
    assert {"pca", "mlsi", "mddm", "cca", "opls", "hsl", "lpp", "mlda"} <= names
    assert len(ROWS) == PAGE.read_text("utf-8").count("| [`")
