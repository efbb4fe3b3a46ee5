"""The components that a parameter is given as, in the forms a config may use: alone, in a list, or in a mapping.

A class of this package declares which of its parameters are components. To any other a component is given as a mapping
with one key, a dotted path (`estimator: {sklearn.svm.SVC: {C: 1.0}}`) or a name of ours (`estimator: {ridge: {}}`), and
named estimators as `{name: estimator}` in a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from mlcdr.errors import describe
from mlcdr.methods.declarations import Declaration
from mlcdr.methods.foreign_values import family_of, is_component

Keys = tuple[str | int, ...]
"""The keys that lead from a component to something in it."""

Problem = tuple[Keys, str]
"""Where something is wrong, and what."""


class Inner(NamedTuple):
    """A component that a parameter is given as, or that its value contains.

    Attributes
    ----------
    name : str
        The parameter, in a list or mapping with the component's name or number there: `steps.scale`.
    keys : tuple
        The parameter, and the keys that lead to it from there.
    family : str
    written : object
        What is written of it.
    """

    name: str
    keys: Keys
    family: str
    written: Any


def parts_of(declaration: Declaration, parameter: str, written: Any) -> Iterator[Inner]:
    """The components that a parameter is given as, or that its value contains."""
    family = declaration.components.get(parameter)
    if family and isinstance(written, str | Mapping):
        yield Inner(parameter, (parameter,), family, written)
    elif family and isinstance(written, list | tuple):
        for i, each in enumerate(written):
            yield Inner(f"{parameter}.{i}", (parameter, i), family, each)
    elif not declaration.is_ours:
        yield from _walk(parameter, (parameter,), written)


def _walk(name: str, keys: Keys, written: Any) -> Iterator[Inner]:
    """The components in a value of that name, to which these keys lead."""
    if is_component(written):
        yield Inner(name, keys, family_of(written), written)
        return
    for inner, more, each in entries(written):
        yield from _walk(f"{name}.{inner}", (*keys, *more), each)


def replaced(written: Any, replace: Callable[[Any], Any]) -> Any:
    """A value with something else in place of each component in it."""
    if is_component(written):
        return replace(written)
    if isinstance(written, Mapping):
        return {key: replaced(each, replace) for key, each in written.items()}
    if isinstance(written, list | tuple):
        return type(written)([replaced(each, replace) for each in written])
    return written


def entries(written: Any) -> Iterator[tuple[str, Keys, Any]]:
    """What is in a list or mapping: its name, the keys that lead to it, and itself.

    A named estimator in a list, `{name: estimator}` or `[name, estimator]`, has that name; anything else its number.
    """
    if isinstance(written, Mapping):
        yield from ((str(key), (key,), each) for key, each in written.items())
    elif isinstance(written, list | tuple):
        for i, each in enumerate(written):
            name, keys, inner = _step(each) or (str(i), (), each)
            yield name, (i, *keys), inner


def _step(written: Any) -> tuple[str, Keys, Any] | None:
    """The name of a named estimator in a list, the key that leads from there to it, and what is written; or None."""
    if isinstance(written, Mapping) and len(written) == 1 and not is_component(written):
        ((name, estimator),) = written.items()
        key: str | int = name
    elif isinstance(written, list | tuple) and len(written) >= 2:
        key, (name, estimator) = 1, written[:2]
    else:
        return None
    right = is_component(estimator) or (isinstance(estimator, str) and estimator in ("passthrough", "drop"))
    return (name, (key,), estimator) if right and isinstance(name, str) else None


def find_wrong_steps(written: Any) -> Iterator[Problem]:
    """What is wrong with the form of a list of named estimators."""
    right = "`{name: {package.Class: {parameter: value}}}`"
    if not isinstance(written, list) or not written:
        yield (), f"must be a list of named estimators, each {right}, found {describe(written)}"
        return
    names: set[str] = set()
    for i, each in enumerate(written):
        step = _step(each)
        if step is None:
            yield (i,), f"must be a named estimator, {right}, found {describe(each)}"
        elif step[0] in names:
            yield (i,), f"the name {step[0]!r} is given twice"
        elif "__" in step[0]:
            yield (i,), f"the name {step[0]!r} must not hold `__`"
        else:
            names.add(step[0])
