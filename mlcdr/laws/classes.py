"""Classes of a Python file that can be a part of a method, and their parameters."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import ClusterMixin

from mlcdr.config.yaml_reader import read_yaml_text
from mlcdr.errors import UserError, suggest_name
from mlcdr.methods import registry
from mlcdr.methods.contracts import declared


def load_classes(path: Path) -> dict[str, type]:
    """The public classes of a Python file that can be a part of a method, in the file's order.

    Raises
    ------
    UserError
        When there is no such file, it cannot be imported, or it has no such class.
    """
    if path.suffix != ".py":
        raise UserError(f"{path}: not a Python file (NAME.py)")
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    name = path.stem
    there = sys.modules.get(name)
    if there is not None and Path(getattr(there, "__file__", None) or "").resolve() != path.resolve():
        raise UserError(f"{path}: another module is named {name!r}; rename the file, so that a config can refer to it")
    if str(path.parent.resolve()) not in sys.path:
        sys.path.append(str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UserError(f"{path}: cannot be imported: {describe_exception(error)}") from error
    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == name and not key.startswith("_") and find_family(value)
    }
    if not found:
        raise UserError(
            f"{path}: no class here can be a part of a method: a learner has fit and predict, a feature space fit and "
            "transform, a label space fit, encode and decode, a selector for single labels fit and beside, a threshold "
            "apply"
        )
    return found


def read_parameters(settings: Sequence[str], classes: Mapping[str, type]) -> dict[str, dict[str, Any]]:
    """Parse `NAME=VALUE` texts, with values as in a config, into parameters of each class that has them.

    Raises
    ------
    UserError
        When one is malformed, or no class has the parameter.
    """
    result: dict[str, dict[str, Any]] = {name: {} for name in classes}
    for text in settings:
        key, equals, written = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: expected NAME=VALUE")
        value = read_yaml_text(written, f"--set {key}", numbered=False).data
        having = [name for name, cls in classes.items() if key in registry.parameters(cls)]
        if not having:
            known = list(dict.fromkeys(each for cls in classes.values() for each in registry.parameters(cls)))
            raise UserError(f"--set {key}: no class has this parameter{suggest_name(key, known)}")
        for name in having:
            result[name][key] = value
    return result


def find_family(cls: type) -> str:
    """Which part of a method a class can be, by its methods; empty if none.

    An instance space has the methods of a classifier; it declares itself by `decomposes_instances`.
    """
    if not hasattr(cls, "fit"):
        return "threshold" if hasattr(cls, "apply") else ""
    if declared(cls, "decomposes_instances"):
        return "instance_space"
    if issubclass(cls, ClusterMixin):
        return "clusterer"
    if hasattr(cls, "beside"):
        return "local_features"
    if hasattr(cls, "encode") and hasattr(cls, "decode"):
        return "dual_space" if hasattr(cls, "transform") else "label_space"
    for method, family in (("predict", "learner"), ("transform", "feature_space"), ("apply", "threshold")):
        if hasattr(cls, method):
            return family
    return ""


def describe_exception(error: BaseException) -> str:
    """Describe an exception in one line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = " ".join((lines[0] if lines else "").split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
