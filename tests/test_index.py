"""The index of components says what their classes say, and a config is judged by it before anything is imported."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, InvalidParameterError, validate_parameter_constraints

from mlcdr.methods import registry
from mlcdr.methods.component import Component, read_component
from mlcdr.methods.contracts import Part
from mlcdr.methods.declarations import Constraint, Declaration, Parameter, as_number, declaration_of
from mlcdr.methods.registry import BUILT_IN
from tests import small

VALUES = [None, True, False, -1, 0, 1, 2, 10**12, -0.5, 0.0, 0.2, 1.0, 1.5, float("inf"), float("nan")]
VALUES += ["", "auto", "top", "random", "0%", "20%", "120%", [], [1, 2], ["a"], {}, {"eigenvalues": 0.9}]

PART = next(iter(registry.declared("learner", "binary_relevance").components))
COMPONENTS = [(family, name) for family, known in BUILT_IN.items() for name in known]


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_the_index_says_what_the_class_says(family: str, name: str) -> None:
    indexed, declared = registry.look_up(family, name), registry.declared_by_class(family, name)
    assert indexed is not None
    assert indexed == replace(declared, is_indexed=True), "`make docs` writes the index anew"
    assert list(indexed.parameters) == list(declared.parameters)
    assert "other" not in {each.kind for parameter in indexed.parameters.values() for each in parameter.constraints}
    needed = {key: 1 for key, parameter in indexed.parameters.items() if parameter.required}
    built = Component(family, name, needed).build(check=False)
    assert indexed.is_classifier == is_classifier(built)


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_values_are_judged_as_scikit_learn_does(family: str, name: str) -> None:
    declared, cls = registry.declared(family, name), registry.resolve(family, name)
    for parameter, constraints in cls._parameter_constraints.items():
        if parameter not in declared.parameters:
            continue
        rules = declared.parameters[parameter].constraints
        words = [word for rule in constraints for word in sorted(getattr(rule, "options", ()))]
        for value in [*VALUES, *words]:
            problem, message = declared.find_problem(parameter, value), None
            if is_number_in_disguise(value, rules):
                assert problem is not None, (parameter, value)
                continue
            try:
                value = as_number(value)
                validate_parameter_constraints({parameter: constraints}, {parameter: value}, cls.__name__)
            except InvalidParameterError as error:
                message = str(error)
            assert (problem is None) == (message is None), (parameter, value, message)
            # numbers in the very words; what a config cannot hold has plainer ones
            if message and all("range" in str(rule) and "[0, 4294967295]" not in str(rule) for rule in rules):
                assert problem == message


def is_number_in_disguise(value: Any, rules: tuple[Constraint, ...]) -> bool:
    """Whether only Python's arithmetic makes a value the number that a parameter must be."""
    numbers = [rule for rule in rules if rule.is_interval]
    if isinstance(value, bool):
        return bool(numbers) and not any(rule.kind in ("boolean", "random_state") for rule in rules)
    shares = [rule for rule in numbers if rule.is_share and rule.allows(as_number(value))]
    return as_number(value) is not value and bool(numbers) and not shares


def test_a_component_that_is_not_in_the_index_is_known_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.look_up("learner", "sklearn.dummy.DummyClassifier") is None
    assert list(registry.declared("learner", "sklearn.svm.LinearSVC").parameters)[:2] == ["penalty", "loss"]
    monkeypatch.setitem(BUILT_IN["learner"], "ridge", "mlcdr.methods.learners.least_squares:LeastSquares")
    registry._known.cache_clear()
    assert registry.look_up("learner", "ridge") is None, "the index has another class of that name"
    assert registry.declared("learner", "ridge").name == "LeastSquares"
    monkeypatch.undo()
    registry._known.cache_clear()


def test_a_constraint_of_ones_own_class_is_judged_in_scikit_learns_words() -> None:
    class Own(Part):
        _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
            "f": [callable, Interval(Integral, 1, 3, closed="both")]
        }

        def __init__(self, f: Any = 1):
            self.f = f

    declared = declaration_of(Own)
    assert declared.find_problem("f", 3) is None
    for value, shown in ((4, "4"), (True, "true"), ("20%", "20%")):
        assert declared.find_problem("f", value) == (
            f"The 'f' parameter of Own must be a callable or an int in the range [1, 3]. Got {shown} instead."
        )


def problems_of(family: str, written: Any) -> list[tuple[tuple[str, ...], str]]:
    return read_component(family, written, importing=False).problems


def test_problems_of_nested_components() -> None:
    ((place, message),) = problems_of("learner", {"binary_relevance": {PART: {"linear_svm": {"C": -1}}}})
    assert place == ("binary_relevance", PART, "linear_svm", "C")
    assert re.fullmatch(r"The 'C' parameter of LinearSVM must be .* Got -1 instead\.", message)
    ((place, message),) = problems_of("learner", {"binary_relevance": "linear_svn"})
    assert place == ("binary_relevance",)
    assert message.startswith("unknown learner 'linear_svn'; did you mean 'linear_svm'?")
    assert not problems_of("learner", {"binary_relevance": {PART: "sklearn.svm.LinearSVC"}})


@pytest.mark.parametrize(
    ("written", "complete"),
    [
        ("ridge", True),
        ({"binary_relevance": {"PART": "linear_svm"}}, True),
        ({"binary_relevance": {"PART": "sklearn.svm.LinearSVC"}}, False),
        ({"probabilistic_classifier_chain": {"PART": "linear_svm"}}, False),
        ({"probabilistic_classifier_chain": {"PART": "logistic_regression"}}, True),
        ("m5p", False),
    ],
    ids=str,
)
def test_what_the_index_cannot_judge_is_left_to_the_classes(written: Any, complete: bool) -> None:
    """What a part has not for sure (probabilities), what is not in the index, and what has checks of its own."""
    if isinstance(written, dict):
        written = {name: {PART: params["PART"]} for name, params in written.items()}
    assert read_component("learner", written, importing=False).complete == complete


def test_a_part_that_lacks_a_method_is_refused() -> None:
    ((place, message),) = read_component("learner", {"probabilistic_classifier_chain": {PART: "linear_svm"}}).problems
    assert place == ("probabilistic_classifier_chain", PART)
    assert "must be an object implementing 'fit' and 'predict_proba'" in message


def test_problems_come_in_the_order_in_which_scikit_learn_looks() -> None:
    wrong = {"tol": -1, "max_iter": 0, "C": -1}
    found = problems_of("learner", {"linear_svm": wrong})
    assert [place[-1] for place, _ in found] == ["C", "max_iter", "tol"]
    with pytest.raises(ValueError, match="parameter of LinearSVM") as caught:
        Component("learner", "linear_svm", wrong).build()
    assert found[0][1] == str(caught.value)


def test_a_renamed_parameter_is_refused_with_its_new_name() -> None:
    declared = Declaration("m:C", parameters={"estimator": Parameter(None), "of": Parameter(None)})
    assert declared.describe_unknown("base", "learner 'c'") == (
        "the parameter 'base' of learner 'c' is now called 'estimator'"
    )
    assert "is now called" not in Declaration("m:C").describe_unknown("base", "learner 'c'")


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
    "nested": {"methods": {"A": {"learner": {"binary_relevance": {PART: {"linear_svm": {"C": 0}}}}}}},
    "one label": {"methods": {"A": {"learner": "c45"}}},
    "unknown layout": {"tables": ["genric"]},
    "beside a class of one's own": {"metrics": ["f11"], "methods": {"A": {"learner": "mine.NotThere"}}},
}

TELL = """
import sys, json
from mlcdr.api.loading import _layout_problems
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


def test_mistakes_are_reported_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    import yaml

    path = small.write_dataset(tmp_path)
    for what, wrong in MISTAKES.items():
        (tmp_path / f"{what}.yaml").write_text(yaml.safe_dump({**small.plain(path), **wrong}))
    files = [str(tmp_path / f"{what}.yaml") for what in MISTAKES]
    done = subprocess.run([sys.executable, "-c", TELL, *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(MISTAKES)
    assert "mine.NotThere" not in done.stdout  # told when the metric is mended


LIST = """
import sys
from mlcdr.cli import components, configs
components.methods()
configs.schema()
heavy = sorted({"scipy", "sklearn", "pandas"} & set(sys.modules))
assert not heavy, heavy
"""


def test_components_are_listed_without_importing_anything_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
