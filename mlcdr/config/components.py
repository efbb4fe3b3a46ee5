"""Components as a config writes them: read with every problem told, and changed by a sweep."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from mlcdr.config.problems import Problems, found, near
from mlcdr.config.yaml_reader import KeyPath
from mlcdr.errors import UserError
from mlcdr.methods import registry
from mlcdr.methods.registry import Component

# How scikit-learn's InvalidParameterError begins.
_BLAMED = re.compile(r"The '(\w+)' parameter of")


def read_component(
    written: Any, family: str, path: KeyPath, problems: Problems, swept: Collection[str] = ()
) -> Component | None:
    """A component from `name`, `{name: {parameter: value}}` or `{name: value}` (for its first parameter).

    Every problem (form, name, parameters, values) is recorded with its own key path below `path`; None if there is one,
    or if nothing can be told of the component without its class and none may be imported (`problems.importing`).
    Parameters that the experiment sweeps are named in `swept`: they need no value here.
    """
    before = len(problems)
    if isinstance(written, str):
        name, params, inner = written, None, path
    elif isinstance(written, Mapping) and len(written) == 1:
        ((name, params),) = written.items()
        inner = (*path, name)
    else:
        keys = f" of {len(written)} keys" if isinstance(written, Mapping) else ""
        right = "a name, or a name with its parameters (`{name: {parameter: value}}`)"
        problems.add(path, f"must be {right}, found {found(written)}{keys}")
        return None
    try:
        if problems.importing:
            registry.resolve(family, name)
        elif registry.told(family, name) is None:
            return None
        declared = registry.declared(family, name)
    except UserError as error:
        problems.add(inner, str(error))
        return None
    allowed = declared.parameters
    places: dict[str, KeyPath] = {}
    if params is None:
        params = {}
    elif not isinstance(params, Mapping):
        if not allowed:
            problems.add(inner, f"{family} {name!r} takes no parameter, found {found(params)}")
            return None
        first = next(iter(allowed))
        params, places = {first: params}, {first: inner}
    places = {key: places.get(key, (*inner, key)) for key in params}
    for key in params:
        if key not in allowed:
            listing = ", ".join(allowed) or "none"
            problems.add(places[key], f"unknown parameter of {family} {name!r}{near(key, allowed)} (known: {listing})")
    required = [key for key, needed in allowed.items() if needed and key not in params]
    for key in required:
        if key not in swept:
            problems.add(inner, f"{family} {name!r} needs the parameter {key!r}")
    whole = True
    for key, nested in declared.components.items():
        if isinstance(params.get(key), str | Mapping):
            whole &= read_component(params[key], nested, places[key], problems) is not None
    component = Component(family, name, dict(params))
    if len(problems) == before and not required:
        _check_values(component, inner, places, problems)
    return component if whole and len(problems) == before else None


def _check_values(component: Component, path: KeyPath, places: Mapping[str, KeyPath], problems: Problems) -> None:
    """What the source says; and build the component: as scikit-learn names one wrong parameter at a time, try again
    without it.
    """
    before = len(problems)
    for parameter, why in component.problems():
        problems.add(places[parameter], why)
    if len(problems) > before or not problems.importing:
        return
    params = dict(component.params)
    while True:
        message = build_problem(Component(component.family, component.name, params), problems.importing)
        if message is None:
            return
        blamed = _BLAMED.search(message)
        key = blamed[1] if blamed else None
        problems.add(places.get(key or "", path), message)
        if key not in params:
            return
        del params[key]


def build_problem(component: Component, importing: bool) -> str | None:
    """Why the component cannot be built, on one line; None if it can, or if that cannot be told without its class."""
    for _, message in component.problems():
        return message
    if not importing:
        return None
    try:
        component.build()
    except (UserError, ValueError, TypeError) as error:
        return " ".join(str(error).split())
    return None
