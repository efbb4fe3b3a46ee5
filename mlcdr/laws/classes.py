"""The classes and metrics, of a Python file or a name in a config, that the laws are checked on; their parameters."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.base import ClusterMixin

from mlcdr.config.yaml_reader import read_yaml_text
from mlcdr.errors import UserError, join_words, suggest_name
from mlcdr.methods import registry
from mlcdr.methods.contracts import declared
from mlcdr.methods.returned import ReturnedWrong, hint
from mlcdr.metrics import names as metric_names

METRIC = "metric"
"""The family of a metric: a function, and no part of a method."""


REQUIRED: Mapping[str, tuple[str, ...]] = {
    "label_space": ("fit(X, Y)", "encode(Y)", "decode(codes)"),
    "feature_space": ("fit(X, Y)", "transform(X)"),
    "learner": ("fit(X, Y)", "predict(X)"),
    "threshold": ("apply(scores)", "margin(scores)"),
    "dual_space": ("fit(X, Y)", "transform(X)", "encode(Y)", "decode(codes)"),
    "local_features": ("fit(X, Y)", "alone(label)", "beside(label, parents)"),
}
"""Family → the methods that a class of it must have."""


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


def describe_missing(cls: type) -> list[str]:
    """For each part that a class could be: `a learner lacks predict(X)`, the part that lacks the fewest first.

    Empty for a class that has none of the methods.
    """
    lacking = {
        family: [written for written in methods if not _has(cls, written)] for family, methods in REQUIRED.items()
    }
    if all(len(lacking[family]) == len(REQUIRED[family]) for family in REQUIRED):
        return []
    return [
        f"as a {family} it lacks {join_words(missing)}"
        for family, missing in sorted(lacking.items(), key=lambda each: len(each[1]))
    ]


def _has(cls: type, written: str) -> bool:
    method: Any = getattr(cls, written.partition("(")[0], None)
    return callable(method)


@dataclass(frozen=True)
class Candidate:
    """What is checked against the laws: a class, with the family that it is used in, or the function of a metric."""

    family: str
    target: Any

    @property
    def name(self) -> str:
        """Its name in a config, if it is not an installed component: `my_method.Mine`."""
        return f"{self.target.__module__}.{self.target.__qualname__}"


DIFFER = "scores differ"
"""How the message of a violation begins if results that must be equal are not."""


class Violation(Exception):
    """The part does not have the property: why, and with which data (`case`)."""

    def __init__(self, why: str, case: str = ""):
        super().__init__(f"{case}: {why}" if case else why)
        self.why, self.case = why, case


class DoesNotApply(Exception):
    """The property is not defined for this part."""


def load(written: str) -> list[Candidate]:
    """The candidates of a Python file, in its order; or of a name in a config, or a dotted path.

    Raises
    ------
    UserError
        When there is no such file or name, it cannot be imported, or nothing in it can be tested.
    """
    path = Path(written)
    if path.suffix == ".py" or path.exists() or path.name != written:
        return _of_file(path)
    families = [family for family in registry.BUILT_IN if written in registry.names(family)]
    found = [Candidate(family, registry.resolve(family, written)) for family in families]
    if not found and written in metric_names.offered():
        return [Candidate(METRIC, registry.import_target(f"metric {written!r}", metric_names.offered()[written]))]
    if not found and "." in written:
        target = registry.import_target(repr(written), ":".join(written.rpartition(".")[::2]))
        found = _candidates([target])
        if not found:
            raise UserError("\n".join(_explain(written, [target])))
    if not found:
        known = [each for family in registry.BUILT_IN for each in registry.names(family)]
        hint = suggest_name(written, [*known, *metric_names.offered()])
        raise UserError(f"{written}: neither a Python file (NAME.py) nor the name of a component{hint}")
    return found


def _of_file(path: Path) -> list[Candidate]:
    module = _import_file(path)
    own = [
        value
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    found = _candidates(own)
    if not found:
        raise UserError("\n".join(_explain(str(path), own)))
    return found


def _candidates(values: Sequence[Any]) -> list[Candidate]:
    found = []
    for value in values:
        if inspect.isclass(value):
            found += [Candidate(family, value)] if (family := find_family(value)) else []
        elif inspect.isfunction(value) and hasattr(value, "higher_is_better"):
            found.append(Candidate(METRIC, value))
    return found


def _explain(where: str, values: Sequence[Any]) -> list[str]:
    """Why nothing of a file can be tested: of each class that is near to a part of a method, what it lacks."""
    lines = []
    for value in values:
        if inspect.isclass(value) and (missing := describe_missing(value)):
            lines.append(f"{where}: the class {value.__name__} is no part of a method:")
            lines += [f"  {each}" for each in missing]
        elif inspect.isfunction(value) and len(inspect.signature(value).parameters) == 3:
            lines.append(
                f"{where}: the function {value.__name__} is a metric if `{value.__name__}.higher_is_better = True` "
                "(or False) stands below it"
            )
    return lines or [
        f"{where}: no class here can be a part of a method, and no function a metric; "
        "`mlcdr new method NAME` writes a file with one"
    ]


def _import_file(path: Path) -> ModuleType:
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
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        place = find_place(error, str(path)) or (f":{error.lineno}" if isinstance(error, SyntaxError) else "")
        raise UserError(f"{path}{place}: cannot be imported: {describe_exception(error)}") from error
    return module


def read_parameters(settings: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, dict[str, Any]]:
    """Parse `NAME=VALUE` texts, with values as in a config, into parameters of each class that has them.

    Raises
    ------
    UserError
        When one is malformed, or no class has the parameter.
    """
    classes = {each.name: each.target for each in candidates if each.family != METRIC}
    result: dict[str, dict[str, Any]] = {each.name: {} for each in candidates}
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


def describe_exception(error: BaseException) -> str:
    """Describe an exception in one line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = " ".join((lines[0] if lines else "").split())
    if isinstance(error, ReturnedWrong):
        return text
    text = f"{text[:200]}{hint(text)}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def find_file(target: Any) -> str:
    """The file of a class or a function; empty of one that has none."""
    try:
        return inspect.getfile(target)
    except (OSError, TypeError):
        return ""


def find_place(error: BaseException, file: str) -> str:
    """`:12, in transform`: the last line of a file that an exception went through; empty if there is none."""
    path = Path(file).absolute()
    frames = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).absolute() == path]
    if not frames:
        return ""
    inside = "" if frames[-1].name == "<module>" else f", in {frames[-1].name}"
    return f":{frames[-1].lineno}{inside}"
