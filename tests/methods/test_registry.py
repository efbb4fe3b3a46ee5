"""Names to classes, and components as text."""

from __future__ import annotations

import inspect
import re

import pytest
from sklearn.neighbors import KNeighborsRegressor

from mlcdr import UserError
from mlcdr.methods import registry
from mlcdr.methods.component import Component, read_component
from mlcdr.methods.registry import UnknownComponent

EVERY = [(family, name) for family, known in registry.BUILT_IN.items() for name in known]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_every_name_leads_to_a_documented_class_that_can_be_built(family: str, name: str) -> None:
    cls = registry.resolve(family, name)
    first = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    assert first.endswith("."), first
    assert not re.search("[=‖Σᵀ∈]", first), "help() begins with plain words, not with a formula"
    defaults = registry.parameters(cls)
    needed = {key: 1 for key, value in defaults.items() if value is inspect.Parameter.empty}
    if "command" in needed:
        needed["command"] = "program {train} {test}"
    assert name in registry.names(family)
    try:
        built = Component(family, name, needed).build()
    except UserError as error:
        pytest.skip(str(error))  # an optional package, or what that needs
    assert isinstance(built, cls)


def test_a_dotted_path_leads_to_ones_own_class() -> None:
    assert registry.resolve("learner", "sklearn.neighbors.KNeighborsRegressor") is KNeighborsRegressor


@pytest.mark.parametrize(
    ("family", "name", "message"),
    [
        ("label_space", "plts", "did you mean 'plst'"),
        ("label_space", "plst2", "did you mean 'plst'"),
        ("label_space", "ridge", "; 'ridge' is a learner "),
        ("label_space", "mlfs", "; 'mlfs' is a feature_space and a local_features "),
        ("learner", "clmlc", "; 'clmlc' is an instance_space "),
        ("learner", "nothing_like_it", r"mlcdr methods.*dotted path"),
        ("learner", "no_such_package.Thing", "cannot be imported: No module named 'no_such_package'"),
        ("learner", "sklearn.neighbors.Thing", "cannot be imported:.*Thing"),
        ("learner", "mlcdr.numerics.linalg.n_kept", "is a function, not a class"),
        ("learner", ".Thing", "cannot be imported"),
        ("learner", "sklearn.", "cannot be imported"),
    ],
)
def test_an_unknown_name_is_told_in_one_line(family: str, name: str, message: str) -> None:
    with pytest.raises(UnknownComponent, match=message) as caught:
        registry.resolve(family, name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "params"),
    [
        ("plst", {}),
        ({"plst": None}, {}),
        ({"plst": {}}, {}),
        ({"plst": {"n_components": 5}}, {"n_components": 5}),
        ({"plst": 5}, {"n_components": 5}),
        ({"plst": "20%"}, {"n_components": "20%"}),
    ],
)
def test_the_forms_of_a_component(written: object, params: dict) -> None:
    component = Component.parse("label_space", written)
    assert component == Component("label_space", "plst", params)
    assert Component.parse("label_space", component.plain()) == component


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "must be a name"),
        ({"plst": {}, "pbr": {}}, "must be a name"),
        (["plst"], "must be a name"),
        ({"plst": {"n_component": 5}}, "unknown parameter of label_space 'plst'; did you mean 'n_components'"),
    ],
)
def test_other_forms_are_refused(written: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Component.parse("label_space", written)


def test_a_value_for_what_takes_none_is_refused() -> None:
    with pytest.raises(UserError, match="takes no parameter"):
        Component.parse("threshold", {"round": 3})


@pytest.mark.parametrize(("written", "value"), [("20%", 0.2), ("100%", 1.0), ("12.5%", 0.125), (7, 7), (0.3, 0.3)])
def test_a_percentage_becomes_a_fraction_when_built(written: object, value: float) -> None:
    assert Component("label_space", "plst", {"n_components": written}).build().n_components == value


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", "120%"])
def test_an_impossible_value_is_refused_when_built(value: object) -> None:
    with pytest.raises(ValueError, match="n_components"):
        Component("label_space", "plst", {"n_components": value}).build()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ({"ridge": {"alpha": "20%"}}, "Got 20% instead"),
        ({"ridge": {"alpha": True}}, "Got true instead"),
        ({"mlknn": {"k": "50%"}}, "Got 50% instead"),
        ({"occ": {"n_features": "120%"}}, "Got 120% instead"),
        ({"occ": {"n_features": True}}, "Got true instead"),
    ],
)
def test_what_is_no_number_here_is_refused_as_it_was_written(written: object, shown: str) -> None:
    _, ((_, why),) = read_component("learner", written)
    assert shown in why


def test_a_parameter_that_is_true_or_false_may_be() -> None:
    assert Component("label_space", "plst", {"centre": False}).build().centre is False


def test_the_classes_of_a_component_and_of_those_within() -> None:
    chain = Component.parse("learner", {"separate": {"estimator": {"separate": {"estimator": "ridge"}}}})
    assert [cls.__name__ for cls in chain.classes()] == ["Separate", "Separate", "Ridge"]


def test_parameters_come_in_order_with_their_defaults() -> None:
    class Sample:
        def __init__(self, first, second=2, *rest, third=3, **more):
            pass

    assert registry.parameters(Sample) == {"first": inspect.Parameter.empty, "second": 2, "third": 3}
    assert list(registry.parameters(Sample)) == ["first", "second", "third"]
    assert registry.parameters(object) == {}
