"""Components changed: one parameter by a sweep, or every output fitted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcdr.methods.registry import Component


def separated(learner: Component) -> Component:
    """The learner with every output fitted by itself: a regressor, or those that a classifier is made of, wrapped.

    A classifier that has no such part stays what it is.
    """
    if learner.name == "separate":
        return learner
    if not learner.is_classifier():
        return Component("learner", "separate", {"estimator": learner.plain()})
    given = learner.parts()
    changed = {
        key: (separated(given[key]) if key in given else Component("learner", "separate")).plain()
        for key, family in learner.declaration().components.items()
        if family == "learner"
    }
    return Component("learner", learner.name, {**learner.params, **changed})


def with_parameter(component: Component, keys: tuple[str, ...], value: Any) -> Component | None:
    """The component with one parameter changed; None if it has no such parameter.

    `keys` is the parameter's name; if it is itself a component or a mapping, the name in that may follow.
    """
    key, *inner = keys
    if key not in component.declaration().parameters:
        return None
    if inner:
        written, part = component.params.get(key), component.part(key)
        if part is not None:
            changed = with_parameter(part, tuple(inner), value)
            if changed is None:
                return None
            value = changed.plain()
        elif isinstance(written, Mapping) and len(inner) == 1 and inner[0] in written:
            value = {**written, inner[0]: value}
        else:
            return None
    return Component(component.family, component.name, {**component.params, key: value})
