"""Components changed: one parameter by a sweep, or every output fitted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcdr.methods import registry
from mlcdr.methods.registry import Component


def separated(learner: Component) -> Component:
    """The learner with every output fitted by itself: a regressor, or those that a classifier is made of, wrapped.

    A classifier that has no such part stays what it is.
    """
    from sklearn.base import is_classifier  # a config is read without it

    nested = getattr(registry.resolve(learner.family, learner.name), "component_parameters", {})
    parts = [key for key, family in nested.items() if family == "learner"]
    if learner.name == "separate":
        return learner
    if not is_classifier(learner.build(check=False)):
        return Component("learner", "separate", {"estimator": learner.plain()})
    changed = {}
    for key in parts:
        written = learner.params.get(key)
        part = Component.parse("learner", written) if isinstance(written, str | Mapping) else None
        changed[key] = (separated(part) if part else Component("learner", "separate")).plain()
    return Component("learner", learner.name, {**learner.params, **changed})


def with_parameter(component: Component, keys: tuple[str, ...], value: Any) -> Component | None:
    """The component with one parameter changed; None if it has no such parameter.

    `keys` is the parameter's name; if it is itself a component or a mapping, the name in that may follow.
    """
    declared = registry.declared(component.family, component.name)
    key, *inner = keys
    if key not in declared.parameters:
        return None
    if inner:
        written = component.params.get(key)
        nested = declared.components.get(key)
        if nested and isinstance(written, str | Mapping):
            changed = with_parameter(Component.parse(nested, written), tuple(inner), value)
            if changed is None:
                return None
            value = changed.plain()
        elif isinstance(written, Mapping) and len(inner) == 1 and inner[0] in written:
            value = {**written, inner[0]: value}
        else:
            return None
    return Component(component.family, component.name, {**component.params, key: value})
