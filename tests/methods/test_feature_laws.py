"""Laws of the feature extractors: each is put to every method, but for the exceptions listed with their reasons.

An exception is held to as well: where a law is said not to hold, it must be seen not to (`xfail(strict=True)`).
Transformed features are compared up to sign: the sign convention is about P, which a rotation turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mlcdr.methods import registry
from mlcdr.methods.feature_space.linear import LinearFeatureSpace
from mlcdr.methods.feature_space.mddm_filled import FilledMDDM
from mlcdr.methods.feature_space.scca import SCCA
from tests.methods.problems import problem
from tests.methods.test_feature_space import ALL, LEADING

ONES = "a label that all have is one more mean, or counts in the cosines"
# law → method (as in ALL) → why it does not hold there
EXCEPTIONS: dict[str, dict[str, str]] = {
    "never positive": {"mddm f polynomial": "the kernel's products count labels that both lack"},
    "always positive": {
        **dict.fromkeys([name for name in ALL if name.split()[0] in ("mlda", "dmlda", "mlhsl")], ONES),
        "mddm f polynomial": "the kernel's products count it",
    },
}


def every(law: str = "") -> Any:
    """All methods, those for which `law` does not hold expected to break it; by default one of each class."""
    exceptions = EXCEPTIONS.get(law, {})
    assert set(exceptions) <= set(ALL)

    def marks(name: str) -> list[Any]:
        broken = [pytest.mark.xfail(strict=True, raises=AssertionError, reason=exceptions.get(name, ""))]
        return broken * (name in exceptions) + [pytest.mark.slow] * (name not in LEADING)

    return pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in ALL])


def every_in(first: str, *others: str) -> Any:
    """All methods on the first problem, one of each class on the others too; and with the slow tests all on all."""
    return pytest.mark.parametrize(
        ("name", "shape"),
        [
            pytest.param(name, shape, marks=[] if shape == first or name in LEADING else [pytest.mark.slow])
            for shape in (first, *others)
            for name in ALL
        ],
    )


def fitted(name: str, X: Any, Y: Any, **changes: Any) -> LinearFeatureSpace:
    return clone(ALL[name]).set_params(**changes).fit(X, Y)


def assert_same(one: Any, X: Any, other: Any, Z: Any, size: float = 1.0, factor: float = 1.0) -> None:
    """`other` makes of Z what `one` makes of X, times `size` and up to sign; eigenvalues are `factor` times theirs."""
    assert one.n_positive_ == other.n_positive_
    np.testing.assert_allclose(other.eigenvalues_, factor * one.eigenvalues_, rtol=1e-7, atol=1e-9 * factor)
    new, old = other.transform(Z), size * one.transform(X)
    signs = np.sign(np.sum(new * old, axis=0))
    np.testing.assert_allclose(new * signs, old, atol=1e-6 * np.abs(old).max())


def test_every_registered_method_is_put_to_the_laws():
    registered = {registry.resolve("feature_space", name) for name in registry.names("feature_space")}
    # selectors, SCCA, which learns from other rows too, and MDDM with directions drawn have tests of their own
    own = (SCCA, FilledMDDM)
    registered = {cls for cls in registered if issubclass(cls, LinearFeatureSpace) and cls not in own}
    assert {type(estimator) for estimator in ALL.values()} == registered


@every_in("plain", "wide")
def test_isometries(name, shape):
    """x ↦ Qx + b with QᵀQ = I leaves the new features: rotations, all features twice at 1/√2, and mirrors."""
    X, Y = problem(shape)
    d = X.shape[1]
    before = fitted(name, X, Y)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    for turn in (Q, np.hstack([np.eye(d), np.eye(d)]) / np.sqrt(2), -np.eye(d)[:, ::-1]):
        moved = X @ turn + np.arange(turn.shape[1]) / 3
        assert_same(before, X, fitted(name, moved, Y), moved)


@every("never positive")
def test_a_label_never_positive_says_nothing(name):
    X, Y = problem("plain")
    assert_same(fitted(name, X, Y), X, fitted(name, X, np.column_stack([Y, 0 * Y[:, 0]])), X)


@every("always positive")
def test_a_label_always_positive_says_nothing(name):
    X, Y = problem("plain")
    Y[:, 0] |= ~Y.any(axis=1)  # (it would give a label to those that have none)
    assert_same(fitted(name, X, Y), X, fitted(name, X, np.column_stack([Y, 0 * Y[:, 0] + 1])), X)


@every()
def test_a_constant_feature_gets_no_weight(name):
    X, Y = problem("plain")
    more = np.column_stack([X[:, :5], np.full(len(X), 1e3), X[:, 5:]])
    after = fitted(name, more, Y)
    assert_same(fitted(name, X, Y), X, after, more)
    np.testing.assert_allclose(after.components_[:, 5], 0, atol=1e-9)


@every()
def test_a_feature_given_twice_shares_its_weight(name):
    X, Y = problem("plain")
    after = fitted(name, np.column_stack([X, X[:, 3]]), Y)
    np.testing.assert_allclose(after.components_[:, 3], after.components_[:, -1], atol=1e-9)


@every()
def test_nothing_to_find_is_no_share(name):
    after = fitted(name, np.ones((30, 4)), problem("plain")[1][:30])
    assert after.n_components_ == 0
    assert after.eigenvalues_.shape == (0,)
    assert np.isnan(after.eigenvalue_share_)


# -------------------------------------------------------------------- sizes

Change = Callable[[dict[str, Any], float], tuple[dict[str, Any], float, float]]


def _orthonormal(params, c):  # S → c²S and C → cC
    return {}, c**2, c


def _ridge(params, c):
    return {"alpha": c**2 * params["alpha"]}, 1.0, 1.0


def _cca(params, c):
    label_alpha = params["alpha"] if params["label_alpha"] is None else params["label_alpha"]
    return {"alpha": c**2 * params["alpha"], "label_alpha": label_alpha}, 1.0, 1.0


def _mddm_f(params, c):
    beta = params["beta"]
    other = 1 / (1 + c**2 * (1 - beta) / beta)  # (1 − β)/β is the ridge: β(S + rI)
    return {"beta": other}, beta / other, np.sqrt(beta / other)


def _covariance(params, c):
    beta = params["beta"]
    k = 1 / (beta / c**2 + (1 - beta) / c**4)  # (1−β)S² + βB is k times what it was, for this β
    return {"beta": k * beta / c**2, "alpha": c**2 * params["alpha"]}, k / c**2, 1.0


# X → cX: the parameters that follow, and how eigenvalues and new features grow. Not here, since no parameters make up
# for it: "kernel" MLSI, whose one ridge is added to two matrices of different dimension; and fuzzy weights, whose
# iterations end at a distance.
SCALING: dict[str, Change] = {
    **dict.fromkeys(["pca", "mddm p", "mddm p rbf", "mvmd", "mvmd .2"], _orthonormal),
    "mvmd normalised": lambda params, c: ({}, 1.0, c),
    **dict.fromkeys(["cca", "cca 1, 0"], _cca),
    **dict.fromkeys(["mddm f", "mddm f .9", "mddm f polynomial"], _mddm_f),
    "mlsi covariance": _covariance,
    **dict.fromkeys(["opls", "mlhsl", "mlhsl 3"], _ridge),
    **dict.fromkeys([n for n in ALL if n.split()[0] in ("mlda", "dmlda") and "fuzzy" not in n], _ridge),
}


def test_what_scaling_leaves_out():
    assert set(ALL) - set(SCALING) == {"mlsi", "mlsi 1", "mlda fuzzy"}


@pytest.mark.parametrize("c", [0.2, pytest.param(7.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCALING)
def test_scaled_features(name, c):
    X, Y = problem("plain")
    changes, factor, size = SCALING[name](ALL[name].get_params(), c)
    assert_same(fitted(name, X, Y), X, fitted(name, c * X, Y, **changes), c * X, size, factor)


def _twice_mvmd(params):
    beta = params["beta"]
    k = 1 / (beta / 4 + (1 - beta) / 2)  # S doubles, B is four times what it was
    return {"beta": k * beta / 4}, k, 1.0


def _twice_mddm_f(params):
    changes, _, size = _mddm_f(params, np.sqrt(2))
    return changes, 2 * params["beta"] / changes["beta"], size / np.sqrt(2)


# every row twice: S → 2S, C → 2C, T → 2T, as if X were √2 as large, and the labels too. Not here: "kernel" MLSI, as
# above; MLHSL, where an instance is then its own neighbour; and weights by coordinate ascent.
REPETITION: dict[str, Callable[[dict[str, Any]], tuple[dict[str, Any], float, float]]] = {
    "pca": lambda params: ({}, 2.0, 1.0),
    **dict.fromkeys(["mddm p", "mddm p rbf"], lambda params: ({}, 4.0, 1.0)),
    **dict.fromkeys(["mvmd", "mvmd .2"], _twice_mvmd),
    "mvmd normalised": lambda params: ({}, 1.0, 1.0),
    **dict.fromkeys(["mddm f", "mddm f .9", "mddm f polynomial"], _twice_mddm_f),
    **dict.fromkeys(
        ["cca", "cca 1, 0"],
        lambda params: (
            {
                "alpha": 2 * params["alpha"],
                "label_alpha": 2 * (params["alpha"] if params["label_alpha"] is None else params["label_alpha"]),
            },
            1.0,
            1 / np.sqrt(2),
        ),
    ),
    **dict.fromkeys(["opls", "mlsi covariance"], lambda params: ({"alpha": 2 * params["alpha"]}, 2.0, 1 / np.sqrt(2))),
    **dict.fromkeys(
        [n for n in ALL if n.split()[0] in ("mlda", "dmlda") and "dependence" not in n],
        lambda params: ({"alpha": 2 * params["alpha"]}, 1.0, 1 / np.sqrt(2)),
    ),
}


def test_what_repetition_leaves_out():
    left_out = {"mlsi", "mlsi 1", "mlhsl", "mlhsl 3", "mlda dependence", "dmlda dependence"}
    assert set(ALL) - set(REPETITION) == left_out


@pytest.mark.parametrize("name", REPETITION)
def test_every_row_twice(name):
    X, Y = problem("plain")
    changes, factor, size = REPETITION[name](ALL[name].get_params())
    again = fitted(name, np.vstack([X, X]), np.vstack([Y, Y]), **changes)
    assert_same(fitted(name, X, Y), X, again, X, size, factor)
