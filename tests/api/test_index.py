"""The schema of components says what their classes say, and a config is judged by it before anything is imported."""

from __future__ import annotations

import json
import re
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, InvalidParameterError, validate_parameter_constraints

from mlcdr.methods import registry
from mlcdr.methods.component import Component, find_failure, read_component
from mlcdr.methods.contracts import Part
from mlcdr.methods.declarations import Declaration, declaration_of
from mlcdr.methods.registry import BUILT_IN
from mlcdr.methods.values import alternatives, as_number, find_misfit, is_number, schema_of
from tests import small

VALUES = [None, True, False, -1, 0, 1, 2, 10**12, -0.5, 0.0, 0.2, 1.0, 1.5, float("inf"), float("nan")]
VALUES += ["", "auto", "top", "random", "0%", "20%", "120%", [], [1, 2], ["a"], {}, {"eigenvalues": 0.9}]

PART = next(iter(registry.find_declaration("learner", "binary_relevance").components))
COMPONENTS = [(family, name) for family, known in BUILT_IN.items() for name in known]


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_the_schema_says_what_the_class_says(family: str, name: str) -> None:
    shipped, declared = registry.find_declaration(family, name), declaration_of(registry.resolve(family, name))
    assert shipped.is_indexed
    now = json.loads(json.dumps(declared.to_schema()))
    assert shipped == Declaration.from_schema(now), "`make docs` writes the schema anew"
    assert list(shipped.parameters) == list(declared.parameters)
    needed = {parameter: 1 for parameter in shipped.parameters if shipped.requires(parameter)}
    assert shipped.is_classifier == is_classifier(registry.resolve(family, name)(**needed))


@pytest.mark.parametrize(("family", "name"), COMPONENTS)
def test_values_are_judged_as_scikit_learn_does(family: str, name: str) -> None:
    declared, cls = registry.find_declaration(family, name), registry.resolve(family, name)
    for parameter, constraints in cls._parameter_constraints.items():
        if parameter not in declared.parameters:
            continue
        # To scikit-learn a mapping is like an array; here it is no list.
        constraints = [list if isinstance(rule, str) and rule == "array-like" else rule for rule in constraints]
        words = [word for rule in constraints for word in sorted(getattr(rule, "options", ()))]
        for value in [*VALUES, *words]:
            problem = declared.find_problem(parameter, value)
            if is_number_in_disguise(value, constraints):
                assert problem is not None, (parameter, value)
                continue
            message = message_of_scikit_learn(cls, parameter, constraints, as_number(value))
            assert (problem is None) == (message is None), (parameter, value, message)
            # numbers in the very words; what a config cannot hold has plainer ones
            if message and all(isinstance(rule, Interval) for rule in constraints):
                assert problem == message


def message_of_scikit_learn(cls: type, parameter: str, constraints: list[Any], value: Any) -> str | None:
    try:
        validate_parameter_constraints({parameter: constraints}, {parameter: value}, cls.__name__)
    except InvalidParameterError as error:
        return str(error)
    return None


def is_number_in_disguise(value: Any, constraints: list[Any]) -> bool:
    """Whether only Python's arithmetic makes a value the number that a parameter must be."""
    numbers = [rule for rule in constraints if isinstance(rule, Interval)]
    named = {rule for rule in constraints if isinstance(rule, str)}
    if isinstance(value, bool):
        return (bool(numbers) or "random_state" in named) and "boolean" not in named
    number = as_number(value)
    shares = [rule for rule in numbers if rule.type is Real and rule.right is not None and rule.right <= 1]
    return number is not value and bool(numbers) and not any(rule.is_satisfied_by(number) for rule in shares)


def test_a_component_that_is_not_in_the_index_is_known_by_its_class() -> None:
    declared = registry.find_declaration("learner", "sklearn.svm.LinearSVC")
    assert not declared.is_indexed
    assert list(declared.parameters)[:2] == ["penalty", "loss"]


def test_a_constraint_of_ones_own_class_is_judged_in_scikit_learns_words() -> None:
    class Own(Part):
        _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
            "f": [None, Interval(Integral, 1, 3, closed="both")],
            "g": [callable, Interval(Integral, 1, 3, closed="both")],
        }

        def __init__(self, f: Any = 1, g: Any = 2):
            self.f, self.g = f, g

    declared = declaration_of(Own)
    assert declared.find_problem("f", 3) is None
    for value, shown in ((4, "4"), (True, "true"), ("20%", "20%")):
        assert declared.find_problem("f", value) == (
            f"The 'f' parameter of Own must be None or an int in the range [1, 3]. Got {shown} instead."
        )
    assert declared.find_problem("g", 4) is None, "what only an instance can tell is left to it"


@pytest.mark.parametrize(
    ("closed", "words"),
    [("left", "[0.0, 2.0)"), ("right", "(0.0, 2.0]"), ("both", "[0.0, 2.0]"), ("neither", "(0.0, 2.0)")],
)
def test_an_interval_has_scikit_learns_bounds(closed: str, words: str) -> None:
    interval = Interval(Real, 0, 2, closed=closed)
    schema = schema_of([interval])
    for value in (-1, 0, 1, 2, 3, 0.5, float("nan"), float("inf")):
        assert (find_misfit(schema, value) is None) == interval.is_satisfied_by(value)
    assert find_misfit(schema, -1) == f"a float in the range {words}. Got -1 instead"


def test_a_share_may_be_written_in_per_cent() -> None:
    schema = schema_of([Interval(Real, 0, 1, closed="right"), None])
    assert [is_number(each) for each in alternatives(schema)] == [True, False, False]
    assert find_misfit(schema, "20%") is None
    assert find_misfit(schema, "120%") == "a float in the range (0.0, 1.0] or None. Got 120% instead"


def problems_of(family: str, written: Any) -> list[tuple[tuple[str, ...], str]]:
    component, problems = read_component(family, written)
    assert (component is None) == bool(problems)
    return problems


def test_problems_of_nested_components() -> None:
    ((place, message),) = problems_of("learner", {"binary_relevance": {PART: {"linear_svm": {"C": -1}}}})
    assert place == ("binary_relevance", PART, "linear_svm", "C")
    assert re.fullmatch(r"The 'C' parameter of LinearSVM must be .* Got -1 instead\.", message)
    ((place, message),) = problems_of("learner", {"binary_relevance": "linear_svn"})
    assert place == ("binary_relevance",)
    assert message.startswith("unknown learner 'linear_svn'; did you mean 'linear_svm'?")
    assert not problems_of("learner", {"binary_relevance": {PART: "sklearn.svm.LinearSVC"}})


@pytest.mark.parametrize(
    ("written", "at", "message"),
    [
        ({"probabilistic_classifier_chain": {PART: "linear_svm"}}, (PART,), "implementing 'fit' and 'predict_proba'"),
        ({"sklearn.multioutput.ClassifierChain": {"estimator": 3}}, (), "cannot be made: AttributeError: "),
        (
            {"sklearn.pipeline.Pipeline": {"steps": [{"a": {"sklearn.svm.SVC": {"C": -1}}}]}},
            ("steps", 0, "a", "sklearn.svm.SVC", "C"),
            "The 'C' parameter of SVC",
        ),
    ],
    ids=str,
)
def test_what_the_index_cannot_judge_is_told_where_it_is_built(
    written: Any, at: tuple[str | int, ...], message: str
) -> None:
    assert problems_of("learner", written) == []
    failure = find_failure(Component.parse("learner", written))
    assert failure is not None
    assert failure[0] == (next(iter(written)), *at)
    assert message in failure[1]


def test_problems_come_in_the_order_in_which_scikit_learn_looks() -> None:
    wrong = {"tol": -1, "max_iter": 0, "C": -1}
    found = problems_of("learner", {"linear_svm": wrong})
    assert [place[-1] for place, _ in found] == ["C", "max_iter", "tol"]
    with pytest.raises(ValueError, match="parameter of LinearSVM") as caught:
        Component("learner", "linear_svm", wrong).build()
    assert found[0][1] == str(caught.value)


def test_a_renamed_parameter_is_refused_with_its_new_name() -> None:
    declared = Declaration("m:C", parameters={"estimator": {"default": None}, "of": {"default": None}})
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
from mlcdr.experiment.loading import load_experiment
for path in sys.argv[1:]:
    try:
        load_experiment(path, check_layouts=_layout_problems)
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
    done = small.python("-c", TELL, *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(MISTAKES)
    assert "mine.NotThere" in done.stdout
