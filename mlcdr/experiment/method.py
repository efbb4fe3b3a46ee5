"""A method as frozen data, and the reading of its parts: each is judged by itself, and whether they go together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, ValidationError, ValidationInfo, model_serializer
from pydantic.json_schema import WithJsonSchema

from mlcdr.experiment.draft import draft_of
from mlcdr.experiment.problems import KeyPath, Problem, Strict, dotted, problems_of, refusal
from mlcdr.experiment.tune import TuneSpec
from mlcdr.methods.component import Component, read_component
from mlcdr.methods.component_changes import with_parameter

FAMILIES = ("feature_space", "dual_space", "label_space", "learner", "threshold", "instance_space")
"""The parts of a method, in the order of the line; last the part that wraps the line."""

UNREADABLE = Component("learner", "")
"""Stands for a component in which something is wrong, while the rest of its method is read."""

# What a component looks like in JSON is said by tools/config_schema.py, which knows the registered names.
_Part = Annotated[InstanceOf[Component], WithJsonSchema({})]


class MethodSpec(Strict):
    """What fills the line x → feature space → learner → label space → threshold; only the learner is required.

    A dual space stands for the last step of the feature space and for the label space. An instance space wraps what the
    other parts make: they are fitted in each of its parts again. `tune` leaves some parameters to be chosen.
    """

    feature_space: tuple[_Part, ...] = ()
    dual_space: _Part | None = None
    label_space: _Part | None = None
    learner: _Part
    threshold: _Part | None = None
    instance_space: _Part | None = None
    tune: TuneSpec | None = None

    @model_serializer
    def plain(self) -> dict[str, Any]:
        """As a config writes it, components in their shortest form."""
        result: dict[str, Any] = {}
        for (family, *number), component in self.by_path().items():
            if number:
                result.setdefault(str(family), []).append(component.plain())
            else:
                result[str(family)] = component.plain()
        if self.tune is not None:
            result["tune"] = self.tune.plain()
        return result

    @property
    def test_search(self) -> TuneSpec | None:
        """The search whose every point is a result of its own (`tune: {scope: test}`)."""
        if self.tune is None or self.tune.scope != "test":
            return None
        return self.tune

    def with_value(self, swept: str, value: Any) -> MethodSpec | None:
        """The method with one parameter changed (`label_space.n_components`); None if it has no such parameter."""
        found, changed = self.component_at(swept), self.part_with(swept, value)
        if found is None or changed is None:
            return None
        if changed.family != "feature_space":
            return self.model_copy(update={changed.family: changed})
        steps = list(self.feature_space)
        *_, number = found
        steps[number] = changed
        return self.model_copy(update={"feature_space": tuple(steps)})

    def at(self, point: Mapping[str, Any]) -> MethodSpec:
        """The method with the values of a point put in: of a sweep, or of a grid.

        Raises
        ------
        KeyError
            If the point has a path that is no parameter of the method.
        """
        spec = self
        for path, value in point.items():
            changed = spec.with_value(path, value)
            if changed is None:
                raise KeyError(f"no parameter {path}")
            spec = changed
        return spec

    def part_with(self, swept: str, value: Any) -> Component | None:
        """The component with one parameter changed that a swept path leads to; None if there is no such parameter."""
        found = self.component_at(swept)
        if found is None:
            return None
        component, keys, _ = found
        return with_parameter(component, keys, value)

    def component_at(self, swept: str) -> tuple[Component, tuple[str, ...], int] | None:
        """The component that a swept path leads to, the parameter's name in it, and the component's number among steps.

        A single step of the feature space needs no number: `feature_space.n_components`. None if nothing is there.
        """
        family, *keys = swept.split(".")
        number = 0
        at: KeyPath = (family,)
        if family == "feature_space" and keys and keys[0].isdecimal() and len(keys[0]) < 10:
            number = int(keys.pop(0))
            if number or len(self.feature_space) > 1:
                at = (family, number)
        component = self.by_path().get(at)
        if component is None or not keys:
            return None
        return component, tuple(keys), number

    def by_path(self) -> dict[KeyPath, Component]:
        """The components by where they stand: `("learner",)`; a step, if there are several, `("feature_space", 0)`."""
        places: dict[KeyPath, Component] = {}
        for i, step in enumerate(self.feature_space):
            at: KeyPath = ("feature_space", i) if len(self.feature_space) > 1 else ("feature_space",)
            places[at] = step
        for family in FAMILIES[1:]:
            component = getattr(self, family)
            if component is not None:
                places[family,] = component
        return places

    def components(self) -> tuple[Component, ...]:
        """All components of the method, in the order of the line, and what wraps it."""
        return tuple(self.by_path().values())


def _read_method(written: Any, info: ValidationInfo) -> Any:
    """A method from its parts as a config writes them."""
    if not isinstance(written, Mapping):
        return written
    # `learner:` with nothing after it counts as a missing learner
    parts = {key: value for key, value in written.items() if value is not None or key not in FAMILIES}
    varied = [*draft_of(info).sweep, *_paths_of_grid(written.get("tune"))]
    problems = _read_components(parts, varied)
    problems += _find_clashes(parts)
    spec = None
    try:
        spec = MethodSpec.model_validate(parts)
    except ValidationError as error:
        problems += problems_of(error)
    if problems:
        raise refusal(*problems)
    return spec


Method = Annotated[MethodSpec, BeforeValidator(_read_method)]


def _paths_of_grid(tune: Any) -> list[str]:
    """The paths over which a method is tuned, as far as they can be read."""
    grid = tune.get("grid") if isinstance(tune, Mapping) else None
    return [*grid] if isinstance(grid, Mapping) else []


def _read_components(parts: dict[str, Any], varied: Collection[str]) -> list[Problem]:
    """Put components in place of what is written of them, UNREADABLE for those in which something is wrong."""
    problems = []
    for family in filter(parts.__contains__, FAMILIES):
        components = []
        for at, written in list_steps(family, parts[family]):
            prefix = f"{dotted(at)}."
            below = [path.removeprefix(prefix) for path in varied if path.startswith(prefix)]
            component, found = read_component(family, written, below)
            components.append(component or UNREADABLE)
            problems += [Problem((*at, *path), text) for path, text in found]
        parts[family] = tuple(components) if family == "feature_space" else components[0]
    return problems


def list_steps(family: str, written: Any) -> list[tuple[KeyPath, Any]]:
    """Where a component of a family stands in the method, and what is written there; of a feature space, each step."""
    if family == "feature_space" and isinstance(written, list | tuple):
        return [((family, i), step) for i, step in enumerate(written)]
    return [((family,), written)]


def _find_clashes(parts: Mapping[str, Any]) -> Iterator[Problem]:
    """Why the parts of a method do not go together, as far as they could be read."""
    if "dual_space" in parts and "label_space" in parts:
        yield Problem(("label_space",), "a dual space reduces the labels itself; leave one of the two out")
    readable = {family: part for family, part in parts.items() if part is not UNREADABLE}
    space, learner = readable.get("instance_space"), readable.get("learner")
    if space is not None and "classifier" not in space.declaration().parameters:
        text = f"{space.name!r} is no instance space: it has no parameter `classifier` for what it wraps"
        yield Problem(("instance_space",), text)
    elif space is not None and "classifier" in space.params:
        at = ("instance_space", space.name, "classifier")
        yield Problem(at, "is what the method's other keys make; leave it out")
    if learner is None:
        return
    if "predict" not in learner.declaration().methods:
        yield Problem(("learner",), f"{learner.name!r} is no learner: it has no method `predict`")
    # a label space or a dual space needs a regressor as learner: a classifier fits label sets, not codes
    for family in ("label_space", "dual_space"):
        fitted = _what_it_fits(learner) if family in readable else ""
        if fitted:
            what = f"fits {fitted}, not the codes of a {family}; take a regressor, such as ridge"
            yield Problem(("learner",), f"{learner.name!r} {what}")


def _what_it_fits(learner: Component) -> str:
    """What a learner fits that is no code; empty for a regressor, or where only its missing parameters tell."""
    try:
        if _fits_one_label(learner):
            return "one label"
        return "label sets" if learner.is_classifier() else ""
    except Exception:  # it cannot be built, or not yet; if it never can, this is told where it is built
        return ""


def _fits_one_label(learner: Component) -> bool:
    """Whether a learner is a classifier that takes no label sets."""
    declaration = learner.declaration()
    if declaration.is_indexed:
        return declaration.one_label
    from mlcdr.methods.contracts import fits_one_label  # imports scikit-learn, as the class has

    return fits_one_label(learner.build())
