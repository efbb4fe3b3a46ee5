"""One component of a method as a config names it: read and judged, built, and the digest of its source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcdr.errors import UserError, describe
from mlcdr.methods import nested
from mlcdr.methods.commands import version_of_command
from mlcdr.methods.declarations import REQUIRED, Declaration
from mlcdr.methods.foreign_values import family_of
from mlcdr.methods.nested import Inner, Keys, Problem
from mlcdr.methods.registry import find_declaration, resolve, version_of_component
from mlcdr.methods.values import as_number


@dataclass(frozen=True)
class Component:
    """One component of a method as a config names it: a family, a name and the parameters written out.

    `params` hold the values as written (`"20%"` stays text there); `build` turns percentages into fractions, and names
    into estimators where the class declares, in `component_parameters` (parameter → family), that a parameter is itself
    a component. For classes of other packages, it turns mappings with one dotted key into estimators, also inside lists
    and mappings.
    """

    family: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, family: str, written: Any) -> Component:
        """From `name`, `{name: {parameter: value}}` or `{name: value}` (the value goes to the first parameter).

        Raises
        ------
        UserError
            When `written` has none of these forms, or the name or a parameter is unknown. Values are not checked.
        """
        name, params = _read_form(written)
        component, _, problems = _name_parameters(family, name, params, find_declaration(family, name))
        for _, why in problems:
            raise UserError(why)
        return component

    def plain(self) -> Any:
        """The shortest form that `parse` reads back."""
        return {self.name: dict(self.params)} if self.params else self.name

    def declaration(self) -> Declaration:
        """The declaration of the component."""
        return find_declaration(self.family, self.name)

    def inner(self) -> Iterator[Inner]:
        """The components among its parameters, and in lists and mappings that these are."""
        declaration = self.declaration()
        for parameter, written in self.params.items():
            yield from nested.parts_of(declaration, parameter, written)

    def parts(self) -> dict[str, Component]:
        """Parameter → component, of those that are given as components.

        A component in a list or mapping is named by the parameter and its own name or number: `steps.scale`.
        """
        return {each.name: Component.parse(each.family, each.written) for each in self.inner()}

    def missing(self) -> list[str]:
        """The parameters that must be given and are not."""
        declaration = self.declaration()
        absent = declaration.parameters.keys() - self.params.keys()
        return [each for each in declaration.parameters if each in absent and declaration.requires(each)]

    def is_whole(self) -> bool:
        """Whether it, and each component in it, has all parameters that must be given."""
        return not self.missing() and all(part.is_whole() for part in self.parts().values())

    def value(self, parameter: str) -> Any:
        """The value that `build` gives a plain parameter: as written, a percentage as a fraction, or the default."""
        if parameter in self.params:
            return as_number(self.params[parameter])
        return self.declaration().parameters[parameter].get("default", REQUIRED)

    def build(self) -> Any:
        """The estimator, with values that its class allows.

        Raises
        ------
        UserError, ValueError, TypeError
            When there is no such class; a value is impossible, or may not be given to a class of another package (the
            message names the parameter); a parameter is missing. The class may raise others.
        """
        from mlcdr.methods import contracts, foreign  # imports scikit-learn, as the class has

        cls, declaration, parts = resolve(self.family, self.name), self.declaration(), self.parts()
        values = {}
        for key, value in self.params.items():
            why = declaration.find_problem(key, value) if declaration.is_foreign else None
            if why:
                raise ValueError(why)
            if key in parts:
                values[key] = parts[key].build()
            elif f"{key}.0" in parts and declaration.is_ours:  # several, one after another
                values[key] = [parts[f"{key}.{i}"].build() for i in range(len(value))]
            else:
                values[key] = _filled(value, declaration, key)
        estimator = foreign.build(cls, values)
        contracts.validate_parameters(estimator)
        return estimator

    def is_classifier(self) -> bool:
        """Whether it is a classifier, by scikit-learn's tags.

        Raises
        ------
        TypeError
            When only an instance can tell, and a parameter that it needs is not given.
        """
        known = self.declaration().is_classifier
        if known is not None:
            return known
        from sklearn.base import is_classifier

        return bool(is_classifier(self.build()))

    def commands(self) -> Iterator[Component]:
        """The component, and those among its parameters, as far as they run a command."""
        if self.declaration().runs_command:
            yield self
        for part in self.parts().values():
            yield from part.commands()

    def classes(self) -> Iterator[type]:
        """The class of the component, and those of the components among its parameters."""
        yield resolve(self.family, self.name)
        for part in self.parts().values():
            yield from part.classes()

    def version(self) -> str:
        """A digest of all code that decides what this component computes, and of the files that a command names: change
        it, and its trials run again.
        """
        versions = [version_of_component(self.family, self.name)]
        if self.declaration().runs_command:
            versions.append(version_of_command(self.params.get("command"), self.params.get("folder")))
        versions += [part.version() for _, part in sorted(self.parts().items())]
        return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]


def _filled(written: Any, declaration: Declaration, parameter: str) -> Any:
    """The value of a parameter, with the components in it built, and named estimators and tuples in scikit-learn's
    form.
    """
    if declaration.is_ours or isinstance(written, str):
        return as_number(written)

    def build(each: Any) -> Any:
        return Component.parse(family_of(each), each).build()

    if parameter == declaration.steps and isinstance(written, list):
        steps = [next(iter(each.items())) if isinstance(each, Mapping) else each for each in written]
        return [tuple(nested.replaced(each, build)) for each in steps]
    value = nested.replaced(written, build)
    default = declaration.parameters.get(parameter, {}).get("default")
    return tuple(value) if isinstance(value, list) and isinstance(default, tuple) else value


def read_component(
    family: str, written: Any, varied: Collection[str] | None = ()
) -> tuple[Component | None, list[Problem]]:
    """A component as a config writes it, and all that is wrong with its form, and the names and values in it.

    Parameters
    ----------
    family : str
        Of the component.
    written : object
        `name`, `{name: {parameter: value}}`, or `{name: value}` (for the first parameter).
    varied : collection of str, or None
        Paths of parameters that get their values elsewhere (`estimator.C`); None: any that is missing.

    Returns
    -------
    component : Component or None
        None if something is wrong.
    problems : list of Problem
    """
    try:
        name, params = _read_form(written)
    except UserError as error:
        return None, [((), str(error))]
    inner: Keys = () if isinstance(written, str) else (name,)
    try:
        declaration = find_declaration(family, name)
    except UserError as error:
        return None, [(inner, str(error))]
    component, places, problems = _name_parameters(family, name, params, declaration, inner)
    elsewhere = {path.partition(".")[0] for path in varied or ()}
    for parameter in component.missing():
        if varied is not None and parameter not in elsewhere:
            problems.append((inner, f"{family} {name!r} needs the parameter {parameter!r}"))
    for at, why in find_wrong_values(component, varied):
        problems.append(((*places[str(at[0])], *at[1:]), why))
    return None if problems else component, problems


def find_wrong_values(component: Component, varied: Collection[str] | None = None) -> Iterator[Problem]:
    """What is wrong with the values of parameters, and with the components in them; parameters as in `read_component`.

    The keys begin with the parameter. A parameter that the component does not have is passed over.
    """
    declaration = component.declaration()
    for parameter in sorted(component.params.keys() & declaration.parameters.keys()):  # scikit-learn's order
        written = component.params[parameter]
        parts = list(nested.parts_of(declaration, parameter, written))
        why = declaration.find_problem(parameter, written) if declaration.is_foreign or not parts else None
        if why:
            yield (parameter,), why
            continue
        if parameter == declaration.steps:
            for at, why in nested.find_wrong_steps(written):
                yield (parameter, *at), why
        for part in parts:
            _, problems = read_component(part.family, part.written, _below(part.name, varied))
            for at, why in problems:
                yield (*part.keys, *at), why


def _below(name: str, varied: Collection[str] | None) -> Collection[str] | None:
    """The varied parameters of a component in a parameter."""
    if not varied:
        return varied
    prefix = f"{name}."
    return [path.removeprefix(prefix) for path in varied if path.startswith(prefix)]


def _read_form(written: Any) -> tuple[str, Any]:
    """The name of a component, and what is written of its parameters (None: nothing)."""
    if isinstance(written, str):
        return written, None
    if isinstance(written, Mapping) and len(written) == 1 and isinstance(next(iter(written)), str):
        return next(iter(written.items()))
    keys = f" of {len(written)} keys" if isinstance(written, Mapping) else ""
    right = "a name, or a name with its parameters (`{name: {parameter: value}}`)"
    raise UserError(f"must be {right}, found {describe(written)}{keys}")


def _name_parameters(
    family: str, name: str, written: Any, declaration: Declaration, inner: Keys = ()
) -> tuple[Component, dict[str, Keys], list[Problem]]:
    """The component, where each of its parameters is written, and what is wrong with their names."""
    if written is None:
        written = {}
    if isinstance(written, Mapping):
        params, places = dict(written), {key: (*inner, key) for key in written}
    elif declaration.parameters:
        first = next(iter(declaration.parameters))
        params, places = {first: written}, {first: inner}
    else:
        message = f"{family} {name!r} takes no parameter, found {describe(written)}"
        return Component(family, name), {}, [(inner, message)]
    unknown = [key for key in params if key not in declaration.parameters]
    problems = [(places[key], declaration.describe_unknown(key, f"{family} {name!r}")) for key in unknown]
    return Component(family, name, params), places, problems


# How scikit-learn's InvalidParameterError begins.
_BLAMED = re.compile(r"The '(\w+)' parameter of")


def find_failure(component: Component) -> Problem | None:
    """What is wrong first where a component is built, which its values do not tell each by itself.

    The keys lead to it in `component.plain()`. None if it can be built, or if a parameter that it needs is not given.
    """
    try:
        component.build()
    except (UserError, ValueError, TypeError) as error:
        why = str(error)
    except Exception as error:  # whatever a class of another package may raise that is given a wrong value
        why = f"cannot be made: {type(error).__name__}: {error}"
    else:
        return None
    if not component.is_whole():
        return None
    inner: Keys = (component.name,) if component.params else ()
    for part in component.inner():
        failure = find_failure(Component.parse(part.family, part.written))
        if failure is not None:
            return (*inner, *part.keys, *failure[0]), failure[1]
    blamed = _BLAMED.search(why)
    if blamed and blamed[1] in component.params:
        inner = (*inner, blamed[1])
    return inner, " ".join(why.split())
