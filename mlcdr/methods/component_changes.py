"""Components changed: one parameter by a sweep, or every output fitted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcdr.methods.component import Component
from mlcdr.methods.foreign_values import family_of, is_component
from mlcdr.methods.nested import Keys, entries


def separated(learner: Component) -> Component:
    """The learner with every output fitted by itself: a regressor, or the regressors in a classifier, are wrapped.

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

    `keys` is the parameter's name; if it is itself a component, a mapping or a list, the name (or number) in that may
    follow.
    """
    key, *inner = keys
    if key not in component.declaration().parameters:
        return None
    if inner:
        written = component.parts().get(key, component.params.get(key))
        value = _changed(written, tuple(inner), value)
        if value is _NOTHING:
            return None
    return Component(component.family, component.name, {**component.params, key: value})


_NOTHING = object()


def _changed(written: Any, keys: tuple[str, ...], value: Any) -> Any:
    """The written value of a parameter with one entry in it changed; _NOTHING if there is no such entry."""
    if not keys:
        return value
    if not isinstance(written, Component) and is_component(written):
        written = Component.parse(family_of(written), written)
    if isinstance(written, Component):
        changed = with_parameter(written, keys, value)
        return _NOTHING if changed is None else changed.plain()
    for name, places, each in entries(written):
        if keys[0] in (name, str(places[0])):
            changed = _changed(each, keys[1:], value)
            return changed if changed is _NOTHING else _put(written, places, changed)
    return _NOTHING


def _put(written: Any, places: Keys, value: Any) -> Any:
    """A list or mapping with one entry replaced."""
    if not places:
        return value
    changed: Any = dict(written) if isinstance(written, Mapping) else list(written)
    changed[places[0]] = _put(written[places[0]], places[1:], value)
    return changed
