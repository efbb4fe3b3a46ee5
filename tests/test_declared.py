"""What the source of a class says of its parameters is what the class itself says, for every built-in component."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from mlcdr.methods import registry
from mlcdr.methods.declared import Declared, Untold, as_number
from mlcdr.methods.registry import BUILT_IN, Component
from tests import small

VALUES = [None, True, False, -1, 0, 1, 2, 10**12, -0.5, 0.0, 0.2, 1.0, 1.5, float("inf"), float("nan")]
VALUES += ["", "auto", "top", "random", "0%", "20%", "120%", [], [1, 2], ["a"], {}, {"eigenvalues": 0.9}]

COMPONENTS = [(family, name) for family, known in BUILT_IN.items() for name in known]


def read(family: str, name: str) -> tuple[Declared, type]:
    module, _, class_name = BUILT_IN[family][name].partition(":")
    return Declared.read(module, class_name), registry.resolve(family, name)


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_the_source_says_what_the_class_says(family: str, name: str) -> None:
    told, cls = read(family, name)
    defaults = registry.parameters(cls)
    assert list(told.parameters.items()) == [(key, d is inspect.Parameter.empty) for key, d in defaults.items()]
    assert told.components == getattr(cls, "component_parameters", {})
    assert told.one_label == getattr(cls, "one_label", False)
    assert told.name == cls.__name__


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_values_are_judged_as_scikit_learn_does(family: str, name: str) -> None:
    told, cls = read(family, name)
    constraints = getattr(cls, "_parameter_constraints", {})
    unread = constraints.keys() - told.constraints.keys()
    assert unread == ({"metric"} if name == "wrapper" else set())  # a set of names that is computed
    for parameter, rules in told.constraints.items():
        words = [word for rule in constraints[parameter] for word in sorted(getattr(rule, "options", ()))]
        for value in [*VALUES, *words]:
            problem, message = told.problem(parameter, value), None
            try:
                registry._refuse_in_disguise(cls, parameter, value)
                value = as_number(value)
                validate_parameter_constraints({parameter: constraints[parameter]}, {parameter: value}, cls.__name__)
            except InvalidParameterError as error:
                message = str(error)
            assert (problem is None) == (message is None), (parameter, value, message)
            # numbers in the very words; what a config cannot hold has plainer ones
            if message and all("range" in str(rule) and "[0, 4294967295]" not in str(rule) for rule in rules):
                assert problem == message


def test_what_the_source_does_not_say_is_left_to_the_class() -> None:
    for module, name in (
        ("mlcdr.methods.learners.ridge", "Rigde"),
        ("mlcdr.methods.learners.none", "Ridge"),
        ("mlcdr.metrics", "F"),
    ):
        with pytest.raises(Untold):
            Declared.read(module, name)
    assert registry.told("learner", "sklearn.dummy.DummyClassifier") is None
    assert list(registry.declared("learner", "sklearn.svm.LinearSVC").parameters)[:2] == ["penalty", "loss"]


def test_problems_of_nested_components() -> None:
    of = {"linear_svm": {"C": -1}}
    ((parameter, message),) = Component("learner", "binary_relevance", {"estimator": of}).problems()
    assert parameter == "estimator"
    assert re.fullmatch(r"The 'C' parameter of LinearSVM must be .* Got -1 instead\.", message)
    ((parameter, message),) = Component("learner", "binary_relevance", {"estimator": "linear_svn"}).problems()
    assert message.startswith("unknown learner 'linear_svn'; did you mean 'linear_svm'?")
    assert not list(Component("learner", "binary_relevance", {"estimator": "sklearn.svm.LinearSVC"}).problems())


def test_problems_come_in_the_order_in_which_scikit_learn_looks() -> None:
    wrong = Component("learner", "linear_svm", {"tol": -1, "max_iter": 0, "C": -1})
    told = list(wrong.problems())
    assert [parameter for parameter, _ in told] == ["C", "max_iter", "tol"]
    with pytest.raises(InvalidParameterError) as caught:
        wrong.build()
    assert told[0][1] == str(caught.value)


MISTAKES: dict[str, Any] = {
    "unknown key": {"metrisc": []},
    "unknown metric": {"metrics": ["f11"]},
    "unknown data set": {"datasets": ["nowhere"]},
    "unknown kind": {"splits": {"kind": "kfould"}},
    "unknown method": {"methods": {"A": {"learner": "rigde"}}},
    "unknown parameter": {"methods": {"A": {"learner": {"ridge": {"alhpa": 1}}}}},
    "impossible value": {"methods": {"A": {"learner": {"ridge": {"alpha": "x"}}}}},
    "a value of a sweep": {"sweep": {"label_space.n_components": [-1]}},
    "a path of a sweep": {"sweep": {"label_space.n_component": [1]}},
    "nested": {"methods": {"A": {"learner": {"binary_relevance": {"estimator": {"linear_svm": {"C": 0}}}}}}},
    "one label": {"methods": {"A": {"learner": "c45"}}},
    "unknown layout": {"tables": ["genric"]},
    "beside a class of one's own": {"metrics": ["f11"], "methods": {"A": {"learner": "mine.NotThere"}}},
}

TELL = """
import sys, json
from mlcdr.cli.loading import _layout_problems
from mlcdr.errors import ConfigError
from mlcdr.config.loading import load_experiment
for path in sys.argv[1:]:
    try:
        load_experiment(path, also=_layout_problems)
    except ConfigError as error:
        print(len(error.problems), error)
    else:
        sys.exit(f"{path}: no mistake found")
    heavy = sorted({"scipy", "sklearn", "pandas"} & set(sys.modules))
    if heavy:
        sys.exit(f"{path}: {heavy} imported")
"""


def test_mistakes_are_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    import yaml

    path = small.write_dataset(tmp_path)
    for what, wrong in MISTAKES.items():
        (tmp_path / f"{what}.yaml").write_text(yaml.safe_dump({**small.plain(path), **wrong}))
    files = [str(tmp_path / f"{what}.yaml") for what in MISTAKES]
    done = subprocess.run([sys.executable, "-c", TELL, *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(MISTAKES)
    assert "mine.NotThere" not in done.stdout  # told when the metric is mended
