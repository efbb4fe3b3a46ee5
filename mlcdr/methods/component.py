"""One component of a method as a config names it: read and judged, built, and the digest of its source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcdr.errors import UserError, describe
from mlcdr.methods import nested
from mlcdr.methods.declarations import REQUIRED, Declaration
from mlcdr.methods.foreign_values import is_component
from mlcdr.methods.nested import Keys, Problem
from mlcdr.methods.registry import declared, look_up, resolve, version_of_component
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
        component, _, problems = _name_parameters(family, name, params, declared(family, name))
        for _, why in problems:
            raise UserError(why)
        return component

    def plain(self) -> Any:
        """The shortest form that `parse` reads back."""
        return {self.name: dict(self.params)} if self.params else self.name

    def declaration(self) -> Declaration:
        """The declaration of the component."""
        return declared(self.family, self.name)

    def part(self, parameter: str) -> Component | None:
        """The component given for a parameter; None if its value is not a component, or its default is used."""
        written = self.params.get(parameter)
        family = nested.part_family(self.declaration(), parameter, written)
        return Component.parse(family, written) if family else None

    def parts(self) -> dict[str, Component]:
        """Parameter → component, of those that are given as components.

        A component in a list or mapping is named by the parameter and its own name or number: `steps.scale`.
        """
        declaration, found = self.declaration(), {}
        for key in dict.fromkeys((*declaration.components, *self.params)):
            for path, _, family, written in nested.parts_of(declaration, key, self.params.get(key)):
                found[".".join((key, *path))] = Component.parse(family, written)
        return found

    def value(self, parameter: str) -> Any:
        """The value that `build` gives a plain parameter: as written, a percentage as a fraction, or the default."""
        if parameter in self.params:
            return as_number(self.params[parameter])
        return self.declaration().parameters[parameter].get("default", REQUIRED)

    def build(self, check: bool = True) -> Any:
        """The estimator; `check` compares its parameters with its declared constraints (done already for a config).

        Raises
        ------
        ValueError
            When a value is impossible, or may not be given to a class of another package; the message names the
            parameter.
        """
        from mlcdr.methods import foreign  # imports scikit-learn, as the class has

        cls, declaration = resolve(self.family, self.name), self.declaration()
        for key, value in sorted(self.params.items()) if check or declaration.is_foreign else ():
            if (declaration.is_foreign or not any(nested.parts_of(declaration, key, value))) and (
                why := declaration.find_problem(key, value)
            ):
                raise ValueError(why)
        values = {}
        for key, value in self.params.items():
            part = self.part(key)
            values[key] = _filled(value, declaration, key, check) if part is None else part.build(check)
        estimator = foreign.build(cls, values)
        if check:
            from mlcdr.methods.contracts import validate_parameters

            validate_parameters(estimator)
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

        return bool(is_classifier(self.build(check=False)))

    def classes(self) -> Iterator[type]:
        """The class of the component, and those of the components among its parameters."""
        yield resolve(self.family, self.name)
        for part in self.parts().values():
            yield from part.classes()

    def version(self) -> str:
        """A digest of all code that decides what this component computes: change it, and its trials run again."""
        versions = [version_of_component(self.family, self.name)]
        versions += [part.version() for _, part in sorted(self.parts().items())]
        return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]


def _filled(written: Any, declaration: Declaration, parameter: str, check: bool) -> Any:
    """The value of a parameter, with the components in it built, and named estimators and tuples in scikit-learn's
    form.
    """
    if declaration.is_ours or isinstance(written, str):
        return as_number(written)

    def fill(each: Any) -> Any:
        if is_component(each):
            return Component.parse(nested.NESTED, each).build(check)
        if isinstance(each, Mapping):
            return {key: fill(inner) for key, inner in each.items()}
        return type(each)(map(fill, each)) if isinstance(each, list | tuple) else each

    if parameter != declaration.steps or not isinstance(written, list):
        known = declaration.parameters.get(parameter)
        is_tuple = isinstance(written, list) and known is not None and isinstance(known.get("default"), tuple)
        return tuple(fill(written)) if is_tuple else fill(written)
    return [tuple(fill(next(iter(each.items())) if isinstance(each, Mapping) else each)) for each in written]


@dataclass
class Reading:
    """The result of reading a component as a config writes it.

    Attributes
    ----------
    component, declaration : Component and Declaration or None
        None if something is wrong, or can only be checked with a class that may not be imported.
    problems : list of Problem
        All that is wrong.
    complete : bool
        Whether everything was checked; False where that needs classes that may not be imported.
    lacks : bool
        Whether a required parameter, of it or of a component in it, gets its values elsewhere.
    """

    component: Component | None = None
    declaration: Declaration | None = None
    problems: list[Problem] = field(default_factory=list)
    complete: bool = True
    lacks: bool = False


def read_component(family: str, written: Any, importing: bool = True, swept: Collection[str] | None = ()) -> Reading:
    """Read and judge a component: its form, its name, and the names and values of its parameters.

    Parameters
    ----------
    family : str
        Of the component.
    written : object
        `name`, `{name: {parameter: value}}`, or `{name: value}` (for the first parameter).
    importing : bool
        Whether classes may be imported, and components be built, to check what `parts.json` does not contain.
    swept : collection of str, or None
        Paths of parameters that get their values elsewhere (`estimator.C`); None: any that is missing.
    """
    try:
        name, params = _read_form(written)
    except UserError as error:
        return Reading(problems=[((), str(error))])
    inner: Keys = () if isinstance(written, str) else (name,)
    try:
        declaration = declared(family, name) if importing else look_up(family, name)
    except UserError as error:
        return Reading(problems=[(inner, str(error))])
    if declaration is None:
        return Reading(complete=False)
    component, places, problems = _name_parameters(family, name, params, declaration, inner)
    complete = declaration.is_indexed and not declaration.checks_itself
    judge = _Judge(Reading(component, declaration, problems, complete), declaration, inner, places, importing, swept)
    judge.judge(component)
    return judge.reading


@dataclass
class _Judge:
    """Finds what is wrong with a component, and notes it in `reading`.

    Attributes
    ----------
    reading : Reading
    declaration : Declaration
    inner : tuple
        The keys that lead to the component's parameters.
    places : dict
        Parameter → the keys that lead to it.
    importing, swept
        As in `read_component`.
    """

    reading: Reading
    declaration: Declaration
    inner: Keys
    places: Mapping[str, Keys]
    importing: bool
    swept: Collection[str] | None

    def judge(self, component: Component) -> None:
        reading = self.reading
        self._find_missing(component)
        named = not reading.problems
        for parameter in sorted(component.params.keys() & self.declaration.parameters.keys()):  # scikit-learn's order
            self._judge_parameter(parameter, component.params[parameter], named)
        if self.importing and not (reading.complete or reading.problems or reading.lacks):
            reading.problems += _find_problems_of_instance(component, self.places, self.inner)
            reading.complete = True
        if reading.problems:
            reading.component = None

    def _find_missing(self, component: Component) -> None:
        """The required parameters that are neither given nor swept."""
        elsewhere = {path.partition(".")[0] for path in self.swept or ()}
        for parameter in self.declaration.parameters:
            if parameter in component.params or not self.declaration.requires(parameter):
                continue
            self.reading.lacks = True
            if self.swept is not None and parameter not in elsewhere:
                why = f"{component.family} {component.name!r} needs the parameter {parameter!r}"
                self.reading.problems.append((self.inner, why))

    def _judge_parameter(self, parameter: str, written: Any, named: bool) -> None:
        """The value of one parameter, and the components in it; `named`: all parameters are known and given."""
        place, problems = self.places[parameter], self.reading.problems
        parts = list(nested.parts_of(self.declaration, parameter, written))
        is_value = self.declaration.is_foreign or not parts
        why = self.declaration.find_problem(parameter, written) if is_value and named else None
        if why:
            problems.append((place, why))
            return
        if parameter == self.declaration.steps:
            problems += [((*place, *at), why) for at, why in nested.find_wrong_steps(written)]
        for path, keys, family, each in parts:
            part = read_component(family, each, self.importing, self._swept_in(parameter, path))
            self._judge_part(parameter, keys, part)

    def _swept_in(self, parameter: str, path: tuple[str, ...]) -> Collection[str] | None:
        """The swept parameters of a component in a parameter."""
        if not self.swept:
            return self.swept
        prefix = ".".join((parameter, *path, ""))
        return [each.removeprefix(prefix) for each in self.swept if each.startswith(prefix)]

    def _judge_part(self, parameter: str, keys: Keys, part: Reading) -> None:
        """Note what was found of a component in a parameter, to which `keys` lead."""
        reading = self.reading
        reading.problems += [((*self.places[parameter], *keys, *at), why) for at, why in part.problems]
        reading.lacks |= part.lacks
        reading.complete &= part.complete
        reading.complete &= parameter in self.declaration.components
        reading.complete &= self.declaration.surely_takes(parameter, part.declaration)
        if part.declaration is None:
            reading.component = None


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


def _find_problems_of_instance(component: Component, places: Mapping[str, Keys], inner: Keys) -> Iterator[Problem]:
    """Why the component cannot be built. scikit-learn reports one wrong parameter at a time, so it is removed for a
    retry.
    """
    params = dict(component.params)
    while True:
        try:
            Component(component.family, component.name, params).build()
        except (UserError, ValueError, TypeError) as error:
            message = " ".join(str(error).split())
        else:
            return
        blamed = _BLAMED.search(message)
        key = blamed[1] if blamed else ""
        yield places.get(key, inner), message
        if key not in params or component.declaration().requires(key):
            return
        del params[key]
