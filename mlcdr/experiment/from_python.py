"""Experiments given in Python: values and estimators as the plain data that a config has for them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcdr.errors import ConfigError
from mlcdr.experiment.imports import IN_MAIN
from mlcdr.experiment.problems import KeyPath, dotted
from mlcdr.methods.declarations import parameters
from mlcdr.methods.registry import BUILT_IN


def copy_plain(value: Any, source: str, path: KeyPath = ()) -> Any:
    """A copy of plain data, in the types that YAML has; an estimator becomes the component that a config would have.

    Raises
    ------
    ConfigError
        When something is of another type.
    """
    if isinstance(value, Mapping):
        return {str(key): copy_plain(each, source, (*path, str(key))) for key, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [copy_plain(each, source, (*path, i)) for i, each in enumerate(value)]
    if hasattr(value, "tolist") and not isinstance(value, type):  # a number or an array of NumPy
        return copy_plain(value.tolist(), source, path)
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "get_params") and not isinstance(value, type) and type(value).__module__ != "__main__":
        described = _describe_estimator(value, source, path)
        is_line = "learner" in described
        return {"learner": described} if _is_method(path) and not is_line else described
    where = ": ".join(filter(None, [source, dotted(path)]))
    raise ConfigError([f"{where}: {_describe_foreign(value)}"])


def _is_method(path: KeyPath) -> bool:
    return len(path) == 2 and path[0] == "methods"


def _describe_foreign(value: Any) -> str:
    """Why a value cannot stand in a config, and what can."""
    cls = value if isinstance(value, type) else type(value)
    if cls.__module__ == "__main__":
        return f"{cls.__name__} is not taken: {IN_MAIN.format(name=cls.__qualname__)}"
    name = f"{cls.__module__}.{cls.__qualname__}"
    named = f"{name!r}, or {{{name!r}: {{parameter: value}}}}"
    if isinstance(value, type) and hasattr(value, "fit"):
        return f"is the class {cls.__name__}; write {named}, or an estimator, {cls.__name__}(...)"
    if hasattr(value, "fit"):
        why = "has no get_params, from which its parameters would be read"
        return f"{cls.__name__} {why}; derive the class from sklearn.base.BaseEstimator, or write {named}"
    what = f"the class {cls.__name__}" if isinstance(value, type) else f"of type {cls.__name__}"
    return f"is {what}; a config holds texts, numbers, lists, mappings and estimators"


def _describe_estimator(estimator: Any, source: str, path: KeyPath) -> dict[str, Any]:
    """The component of a config that an estimator is, or the line of a method if it is a `ComposedClassifier`."""
    cls: Any = type(estimator)
    defaults = parameters(cls)
    given = {}
    for key, value in estimator.get_params(deep=False).items():
        if repr(value) != repr(defaults.get(key)):
            given[key] = value
    plain: dict[str, Any] = copy_plain(given, source, path)
    if (cls.__module__, cls.__name__) == ("mlcdr.methods.composition", "ComposedClassifier"):
        return plain if _is_method(path) else {"mlcdr.ComposedClassifier": plain}
    target = f"{cls.__module__}:{cls.__qualname__}"
    families = BUILT_IN.values()
    for known in families:
        for name, of_name in known.items():
            in_families = sum(name in names for names in families)
            # a name in two families says less than the path, and an instance space with its classifier is one
            if of_name == target and in_families == 1 and "classifier" not in plain:
                return {name: plain}
    public = [part for part in cls.__module__.split(".") if not part.startswith("_")]  # sklearn.linear_model._ridge
    dotted_path = ".".join([*public, cls.__qualname__])
    return {dotted_path: plain}
