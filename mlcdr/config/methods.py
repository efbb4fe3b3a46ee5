"""A method as a config writes it: its components read, and whether they go together."""

from collections.abc import Mapping
from typing import Any

from mlcdr.config.components import read_component
from mlcdr.config.problems import Problems
from mlcdr.config.yaml_reader import KeyPath
from mlcdr.errors import UserError
from mlcdr.experiment.model import FAMILIES
from mlcdr.methods import registry
from mlcdr.methods.registry import Component

# Stands in for a component whose problems have been told already.
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
        swept = [path.removeprefix(prefix).split(".")[0] for path in varied if path.startswith(prefix)]
        return read_component(part, family, place, problems, swept) or UNREADABLE

    if written.get("dual_space") is not None and written.get("label_space") is not None:
        problems.add((*path, "label_space"), "a dual space reduces the labels itself; leave one of the two out")
    if tune is None:
        result.pop("tune", None)
    for family in FAMILIES:
        part = written.get(family)
        if part is None:
            # `learner:` with nothing after it is as much a missing learner as none.
            result.pop(family, None)
        elif family != "feature_space":
            result[family] = read(part, family, (*path, family), f"{family}.")
        elif isinstance(part, list):
            result[family] = tuple(
                read(step, family, (*path, family, i), f"{family}.{i}.") for i, step in enumerate(part)
            )
        else:
            result[family] = (read(part, family, (*path, family), f"{family}."),)
    _check_wrapper(result.get("instance_space"), (*path, "instance_space"), problems)
    if "instance_space" not in result:  # which makes binary relevance of such a classifier itself
        coded = "label_space" in result or "dual_space" in result
        _check_learner(result.get("learner"), coded, (*path, "learner"), problems)
    for family in ("label_space", "dual_space"):
        _check_codes(result.get(family), result.get("learner"), (*path, "learner"), problems)
    if not {"label_space.regression", "learner.learner"} & set(varied):
        _check_pair(result.get("label_space"), result.get("learner"), (*path, "label_space"), problems)
    return result


def _check_wrapper(space: Any, path: KeyPath, problems: Problems) -> None:
    """An instance space takes the classifier that the other keys make."""
    if not isinstance(space, Component) or space is UNREADABLE:
        return
    if "classifier" not in registry.declared(space.family, space.name).parameters:
        problems.add(path, f"{space.name!r} is no instance space: it has no parameter `classifier` for what it wraps")
    elif "classifier" in space.params:
        problems.add((*path, space.name, "classifier"), "is what the method's other keys make; leave it out")


def _check_learner(learner: Any, coded: bool, path: KeyPath, problems: Problems) -> None:
    """A classifier of one label (`one_label`) is the base of what fits label sets, and not a method.

    `coded`: labels become codes before it, so that no classifier of any kind is right (see `_check_codes`).
    """
    if not isinstance(learner, Component) or learner is UNREADABLE:
        return
    name = learner.name
    if problems.importing:
        cls = registry.resolve(learner.family, name)
        if not (hasattr(cls, "predict") or hasattr(cls, "__getattr__")):
            problems.add(path, f"{name!r} is no learner: it has no method `predict`")
    if not coded and _fits_one_label(learner, problems):
        problems.add(path, f"{name} fits one label: write {{binary_relevance: {name}}}, or take a chain of that base")


def _fits_one_label(learner: Component, problems: Problems) -> bool:
    """Whether a learner is a classifier that takes no label sets: as it says, or, of scikit-learn, by its tags."""
    if registry.declared(learner.family, learner.name).one_label:
        return True
    if not problems.importing or not registry.resolve(learner.family, learner.name).__module__.startswith("sklearn."):
        return False
    from sklearn.base import is_classifier
    from sklearn.dummy import DummyClassifier
    from sklearn.utils import get_tags

    try:
        built = learner.build(check=False)
        tags = get_tags(built).classifier_tags
    except (AttributeError, TypeError, UserError):  # made of an estimator that is not there yet
        return False
    # DummyClassifier takes label sets, whatever its tags say
    return is_classifier(built) and tags is not None and not tags.multi_label and not isinstance(built, DummyClassifier)


def _check_codes(space: Any, learner: Any, path: KeyPath, problems: Problems) -> None:
    """Behind a label space or a dual space stands a regressor: a classifier fits label sets, not codes."""
    if not (isinstance(space, Component) and isinstance(learner, Component)) or UNREADABLE in (space, learner):
        return
    one_label = _fits_one_label(learner, problems)
    if one_label or (problems.importing and _is_classifier(learner)):
        what = f"fits {'one label' if one_label else 'label sets'}, not the codes of a {space.family}"
        problems.add(path, f"{learner.name!r} {what}; take a regressor, such as ridge")


def _is_classifier(learner: Component) -> bool:
    from sklearn.base import is_classifier

    try:
        return bool(is_classifier(learner.build(check=False)))
    except TypeError:  # a parameter that it needs is swept
        return False


def _check_pair(space: Any, learner: Any, path: KeyPath, problems: Problems) -> None:
    """A label space that takes its kernel from the learner says itself (`misfit`) whether the two go together."""
    if not (isinstance(space, Component) and isinstance(learner, Component)) or UNREADABLE in (space, learner):
        return
    if not problems.importing:
        return
    misfit = getattr(registry.resolve(space.family, space.name), "misfit", None)
    if misfit is None:
        return
    try:
        built = learner.build(check=False)
    except TypeError:  # a parameter that it needs is swept
        return
    message = misfit(built, space.params.get("regression"))
    if message:
        problems.add(path, message)
