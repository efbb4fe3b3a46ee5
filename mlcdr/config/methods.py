"""A method as a config writes it: its components read and judged, and whether they go together.

In the first reading nothing is imported, so that mistakes are found at once. What only the class of a component shows
is checked in a second reading (`Problems.importing`), which takes place if the first one found no mistake.
"""

from collections.abc import Mapping
from typing import Any

from mlcdr.config.problems import Problems
from mlcdr.config.yaml_reader import KeyPath
from mlcdr.errors import UserError
from mlcdr.experiment.model import FAMILIES
from mlcdr.methods import registry
from mlcdr.methods.component import Component, read_component

# Stands in for a component that has a mistake, or of which nothing is known yet.
UNREADABLE = Component("learner", "")


def read_method(written: Any, path: KeyPath, problems: Problems, sweep: Mapping[str, Any]) -> Any:
    """The mapping that `MethodSpec` is made of, components read; an unreadable one is UNREADABLE."""
    if not isinstance(written, dict):
        return written
    result = dict(written)
    tune = written.get("tune")
    grid = tune.get("grid") if isinstance(tune, dict) else None
    varied = [path for path in (*sweep, *(grid if isinstance(grid, dict) else ())) if isinstance(path, str)]

    def read(part: Any, family: str, place: KeyPath, prefix: str) -> Component:
        swept = [path.removeprefix(prefix) for path in varied if path.startswith(prefix)]
        reading = read_component(family, part, problems.importing, swept)
        for below, why in reading.problems:
            problems.add((*place, *below), why)
        problems.complete &= reading.complete
        return reading.component or UNREADABLE

    if written.get("dual_space") is not None and written.get("label_space") is not None:
        problems.add((*path, "label_space"), "a dual space reduces the labels itself; leave one of the two out")
    if tune is None:
        result.pop("tune", None)
    for family in FAMILIES:
        part = written.get(family)
        if part is None:
            # `learner:` with nothing after it counts as a missing learner.
            result.pop(family, None)
        elif family != "feature_space":
            result[family] = read(part, family, (*path, family), f"{family}.")
        elif isinstance(part, list):
            result[family] = tuple(
                read(step, family, (*path, family, i), f"{family}.{i}.") for i, step in enumerate(part)
            )
        else:
            result[family] = (read(part, family, (*path, family), f"{family}."),)
    readable = {key: each for key, each in result.items() if isinstance(each, Component) and each is not UNREADABLE}
    space, learner = readable.get("label_space"), readable.get("learner")
    if "instance_space" in readable:
        _check_wrapper(readable["instance_space"], (*path, "instance_space"), problems)
    if learner is not None:
        place = (*path, "learner")
        coded = [family for family in ("label_space", "dual_space") if family in result]
        if "predict" not in learner.declaration().methods:
            problems.add(place, f"{learner.name!r} is no learner: it has no method `predict`")
        for family in coded:
            if family in readable:
                _check_codes(family, learner, place, problems)
    if space is not None and learner is not None:
        parts = {"label_space.regression", *(f"learner.{key}" for key in learner.declaration().components)}
        if parts.isdisjoint(varied):
            _check_pair(space, learner, (*path, "label_space"), problems)
    return result


def find_problem(component: Component, problems: Problems) -> str | None:
    """The first thing that is wrong with a component, apart from parameters that are missing; None if nothing is."""
    reading = read_component(component.family, component.plain(), problems.importing, None)
    problems.complete &= reading.complete
    return next((why for _, why in reading.problems), None)


def _check_wrapper(space: Component, path: KeyPath, problems: Problems) -> None:
    """An instance space must have a parameter for the classifier that the other keys make, and not set it itself."""
    if "classifier" not in space.declaration().parameters:
        problems.add(path, f"{space.name!r} is no instance space: it has no parameter `classifier` for what it wraps")
    elif "classifier" in space.params:
        problems.add((*path, space.name, "classifier"), "is what the method's other keys make; leave it out")


def _fits_one_label(learner: Component) -> bool:
    """Whether a learner is a classifier that takes no label sets."""
    declaration = learner.declaration()
    if declaration.is_indexed:
        return declaration.one_label
    from mlcdr.methods.contracts import fits_one_label  # imports scikit-learn, as the class has

    try:
        return fits_one_label(learner.build(check=False))
    except (AttributeError, TypeError, UserError):  # made of an estimator that is not there yet
        return False


def _check_codes(family: str, learner: Component, path: KeyPath, problems: Problems) -> None:
    """A label space or a dual space needs a regressor as learner: a classifier fits label sets, not codes."""
    one_label = _fits_one_label(learner)
    try:
        wrong = one_label or learner.is_classifier()
    except TypeError:  # a parameter that it needs is swept
        return
    if wrong:
        what = f"fits {'one label' if one_label else 'label sets'}, not the codes of a {family}"
        problems.add(path, f"{learner.name!r} {what}; take a regressor, such as ridge")


def _check_pair(space: Component, learner: Component, path: KeyPath, problems: Problems) -> None:
    """A label space that takes its kernel from the learner must go together with it, which `misfit` checks."""
    if not space.declaration().judges_learner:
        return
    problems.complete = problems.importing
    if not problems.importing:
        return
    try:
        built = learner.build(check=False)
    except TypeError:  # a parameter that it needs is swept
        return
    cls: Any = registry.resolve(space.family, space.name)
    message = cls.misfit(built, space.params.get("regression"))
    if message:
        problems.add(path, message)
