"""Find the classes and metrics, of a Python file or a name in a config, that can be tested."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from mlcdr.errors import UserError, join_words, suggest_name
from mlcdr.experiment.overrides import read_setting
from mlcdr.methods import registry
from mlcdr.methods.kinds import REQUIRED, find_family
from mlcdr.metrics import names as metric_names
from mlcdr.testing.exceptions import describe_exception, find_place
from mlcdr.testing.subject import METRIC, MetricSubject, PartSubject, Subject


def find_kind(target: Any) -> str:
    """Which part of a method a class can be; `METRIC` of a function that can be one; empty if it can be neither."""
    if inspect.isclass(target):
        return find_family(target)
    is_metric = inspect.isfunction(target) and hasattr(target, "higher_is_better")
    return METRIC if is_metric else ""


def load(written: str, settings: Sequence[str] = ()) -> list[Subject]:
    """What can be tested of a Python file, in its order; or of a name in a config, or a dotted path.

    Parameters
    ----------
    settings : sequence of str
        `NAME=VALUE`, with values as in a config: parameters of each class that has them.

    Raises
    ------
    UserError
        When there is no such file or name, it cannot be imported, or nothing in it can be tested; when a setting is
        malformed, no class has the parameter, or a class cannot be instantiated.
    """
    params = dict(read_setting(text) for text in settings)
    known: list[str] = []
    found: list[Subject] = []
    for family, target in _find(written):
        if family == METRIC:
            found.append(MetricSubject(family, target))
            continue
        own = registry.parameters(target)
        known += own
        its = {name: value for name, value in params.items() if name in own}
        found.append(PartSubject(family, target, its))
    for name in params:
        if name not in known:
            raise UserError(f"--set {name}: no class has this parameter{suggest_name(name, known)}")
    for subject in found:
        _try_to_make(subject)
    return found


def _try_to_make(subject: Subject) -> None:
    """Make an instance of a class; raises UserError where it needs parameters, or does not keep them."""
    try:
        if isinstance(subject, PartSubject):
            subject.make()
    except TypeError as error:
        name = subject.target.__name__
        raise UserError(f"{name} cannot be instantiated: {error}; set parameters by `--set NAME=VALUE`") from error
    except AttributeError as error:  # scikit-learn reads parameters from attributes of the same names
        name = subject.target.__name__
        raise UserError(f"{name}: {error}; `__init__` must store each parameter under its own name") from error


def _find(written: str) -> list[tuple[str, Any]]:
    """What a file or a name leads to, each with its family; errors as `load`."""
    path = Path(written)
    if path.suffix == ".py" or path.exists() or path.name != written:
        module = _import_file(path)
        public = [value for name, value in vars(module).items() if not name.startswith("_")]
        own = [each for each in public if getattr(each, "__module__", None) == module.__name__]
        return _select(written, own)
    metrics = metric_names.offered()
    found = []
    known = list(metrics)
    if written in metrics:
        found.append((METRIC, registry.import_target(f"metric {written!r}", metrics[written])))
    for family in registry.BUILT_IN:
        known += registry.names(family)
        if written in registry.names(family):
            found.append((family, registry.resolve(family, written)))
    if found:
        return found
    module_name, dot, name = written.rpartition(".")
    if dot:
        return _select(written, [registry.import_target(repr(written), f"{module_name}:{name}")])
    hint = suggest_name(written, known)
    raise UserError(f"{written}: neither a Python file (NAME.py) nor the name of a component{hint}")


def _select(written: str, values: Iterable[Any]) -> list[tuple[str, Any]]:
    """The parts of methods, and the metrics, among what a file holds, each with its family."""
    sorted_out = [(find_kind(value), value) for value in values]
    found = [(family, value) for family, value in sorted_out if family]
    if not found:
        needed = [f"  {family}: {join_words(methods)}" for family, methods in REQUIRED.items()]
        raise UserError(
            f"{written}: no class here has the methods of a part, and no function is a metric, which has an attribute "
            "`higher_is_better`; `mlcdr new method NAME` writes a file with one. The parts and their methods:\n"
            + "\n".join(needed)
        )
    return found


def _import_file(path: Path) -> ModuleType:
    if path.suffix != ".py" or not path.is_file():
        raise UserError(f"{path}: no such Python file (NAME.py)")
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        module = importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:
        place = f":{error.lineno}" if isinstance(error, SyntaxError) else find_place(error, str(path))
        raise UserError(f"{path}{place}: cannot be imported: {describe_exception(error)}") from error
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise UserError(
            f"{path}: another module is named {path.stem!r}; rename the file, so that a config can refer to it"
        )
    return module
