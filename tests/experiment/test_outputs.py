"""Which learners fit each output by itself: those that are held to do so do, and a sweep over sizes makes use of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

from mlcdr.experiment import outputs
from mlcdr.experiment.outputs import independent_outputs
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from mlcdr.methods.label_space.plst import PLST
from tests import small
from tests.experiment.test_trials import scores_of
from tests.methods.problems import problem
from tests.small import SIZES

INDEPENDENT: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.linear_model.LinearRegression", {}),
    ("sklearn.linear_model.LinearRegression", {"positive": True}),
    ("sklearn.linear_model.Ridge", {}),
    ("sklearn.linear_model.Ridge", {"alpha": 3, "solver": "lsqr"}),
    ("sklearn.linear_model.RidgeCV", {"alpha_per_target": True}),
    ("sklearn.linear_model.Lasso", {"alpha": 0.02}),
    ("sklearn.linear_model.ElasticNet", {"alpha": 0.02}),
    ("sklearn.kernel_ridge.KernelRidge", {"kernel": "rbf", "gamma": 0.1}),
    ("sklearn.neighbors.KNeighborsRegressor", {"weights": "distance"}),
    ("sklearn.neighbors.RadiusNeighborsRegressor", {"radius": 20.0}),
    ("sklearn.dummy.DummyRegressor", {}),
    ("sklearn.multioutput.MultiOutputRegressor", {"estimator": DecisionTreeRegressor(random_state=0)}),
]
DEPENDENT: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.linear_model.Ridge", {"solver": "sag"}),
    ("sklearn.linear_model.Ridge", {"alpha": [1.0, 2.0]}),
    ("sklearn.linear_model.RidgeCV", {}),
    ("sklearn.linear_model.Lasso", {"selection": "random"}),
    ("sklearn.linear_model.MultiTaskLasso", {}),
    ("sklearn.dummy.DummyRegressor", {"strategy": "constant"}),
    ("sklearn.tree.DecisionTreeRegressor", {}),
    ("sklearn.ensemble.RandomForestRegressor", {}),
    ("sklearn.neural_network.MLPRegressor", {}),
    ("sklearn.cross_decomposition.PLSRegression", {}),
    ("tests.experiment.test_outputs.Derived", {}),
]


class Derived(LinearRegression):
    """Of a class that is known, but who knows what it does."""


def codes_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, Y = problem(name)
    return X, PLST().fit(X, Y).encode(Y)


@pytest.mark.parametrize(("name", "params"), INDEPENDENT)
def test_one_fit_says_of_each_output_what_a_fit_of_it_alone_says(name: str, params: dict[str, Any]) -> None:
    assert independent_outputs(small.learner(name, **params))
    X, codes = codes_of("plain")
    make = registry.resolve("learner", name)
    together = make(**params).fit(X[:90], codes[:90]).predict(X[90:])
    for m in range(1, codes.shape[1] + 1):
        alone = make(**params).fit(X[:90], codes[:90, :m]).predict(X[90:])
        np.testing.assert_allclose(np.reshape(alone, (30, m)), together[:, :m], atol=1e-12)


def test_every_class_held_to_be_independent_is_put_to_the_test() -> None:
    tested = {registry.resolve("learner", name) for name, _ in INDEPENDENT}
    assert tested == set(outputs._known())


@pytest.mark.parametrize(("name", "params"), DEPENDENT)
def test_what_is_not_known_to_be_independent_is_not_held_to_be(name: str, params: dict[str, Any]) -> None:
    assert not independent_outputs(small.learner(name, **params))


def test_trees_and_a_common_penalty_do_depend_on_other_outputs() -> None:
    """Or there would be no reason to leave them out."""
    X, _ = codes_of("plain")
    targets = np.column_stack([np.random.default_rng(0).standard_normal(len(X)), 9 * X[:, 0]])  # noise, and a law
    for learner in (DecisionTreeRegressor(random_state=0, max_depth=3), RidgeCV([1e-3, 1e3])):
        together = learner.fit(X, targets).predict(X)[:, 0]
        alone = learner.fit(X, targets[:, :1]).predict(X)
        assert np.max(np.abs(together - np.ravel(alone))) > 1e-3
        one_by_one = MultiOutputRegressor(learner).fit(X, targets).predict(X)[:, 0]
        np.testing.assert_array_equal(one_by_one, np.ravel(alone))


def test_the_learners_of_the_bench_say_so_themselves() -> None:
    for name in ("least_squares", "ridge", "kernel_ridge", "separate"):
        assert independent_outputs(Component("learner", name))
    for name in ("binary_relevance", "classifier_chain"):
        assert not independent_outputs(Component("learner", name))


@pytest.mark.parametrize(
    ("space", "learner", "fits"),
    [
        ("plst", "sklearn.linear_model.LinearRegression", 1),
        ("plst", {"sklearn.kernel_ridge.KernelRidge": {"alpha": 0.5}}, 1),
        ("plst", "sklearn.neighbors.KNeighborsRegressor", 1),
        ("plst", {"sklearn.tree.DecisionTreeRegressor": {"random_state": 0}}, 3),
        ("cca", "sklearn.neighbors.KNeighborsRegressor", 1),
        ({"compressed_sensing": {"random_state": 0}}, "sklearn.linear_model.LinearRegression", 1),
    ],
)
def test_a_sweep_has_the_scores_of_each_size_alone(tmp_path: Path, learner: Any, fits: int, space: Any) -> None:
    arff = small.write_dataset(tmp_path / "data")
    methods = {"M": {"label_space": space, "learner": learner}}
    metrics = ["hamming_loss", "encoding_error", "prediction_error"]
    swept = small.experiment(arff, methods=methods, metrics=metrics, sweep={SIZES: [1, 3, 6]})
    assert len({id(t.family) for t in small.planned(swept)[1] if t.split == 0}) == fits
    together = scores_of(swept)
    for size in (1, 3, 6):
        alone = scores_of(small.experiment(arff, methods=methods, metrics=metrics, sweep={SIZES: [size]}))
        for key, values in alone.items():
            assert values == pytest.approx(together[key], abs=1e-9)
