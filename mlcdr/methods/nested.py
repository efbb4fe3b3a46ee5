"""The components that a parameter is given as, in the forms a config may use: alone, in a list, or in a mapping.

A class of this package declares which of its parameters are components. To any other a component is given as a mapping
with one dotted key (`estimator: {sklearn.svm.SVC: {C: 1.0}}`), and named estimators as `{name: estimator}` in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlcdr.errors import describe
from mlcdr.methods.declarations import Declaration
from mlcdr.methods.foreign_values import is_component

NESTED = "estimator"
"""The family of a component that a parameter of another package's class is: it has no names, only dotted paths."""

Keys = tuple[str | int, ...]
"""The keys that lead from a component to something in it."""

Problem = tuple[Keys, str]
"""Where something is wrong, and what."""


def part_family(declaration: Declaration, parameter: str, written: Any) -> str | None:
    """The family of the component that a parameter is given as; None if the written value is not a component."""
    family = declaration.components.get(parameter)
    if family:
        return family if isinstance(written, str | Mapping) else None
    return NESTED if not declaration.is_ours and is_component(written) else None


def parts_of(
    declaration: Declaration, parameter: str, written: Any
) -> Iterator[tuple[tuple[str, ...], Keys, str, Any]]:
    """The components that a parameter is given as, or that its value contains.

    For each the names and the keys that lead from the parameter to it, its family, and what is written.
    """
    if family := part_family(declaration, parameter, written):
        yield (), (), family, written
    elif not declaration.is_ours:
        yield from _nested(written)


def _nested(written: Any) -> Iterator[tuple[tuple[str, ...], Keys, str, Any]]:
    """The components in a list or mapping, as `parts_of` gives them."""
    for name, keys, each in entries(written):
        if is_component(each):
            yield (name,), keys, NESTED, each
        else:
            yield from (((name, *path), (*keys, *inner), *rest) for path, inner, *rest in _nested(each))


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
