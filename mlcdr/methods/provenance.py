"""The origin of a class: its package, and all source that its results depend on."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from mlcdr.source_code import code_of_text

# A trial's result depends on these modules, and on those they use, whatever its components are.
_ENGINE = ("mlcdr.methods.composition", "mlcdr.metrics")


@cache
def hash_of_source(cls: Any) -> hashlib._Hash:
    """A hash of `source_of`."""
    return hashlib.sha256(b"".join(source_of(cls)))


@cache
def source_of(cls: Any) -> list[bytes]:
    """The code of each module of ours or the user's that `cls` (or a function) and the engine use, in fixed order."""
    for name in _ENGINE:
        importlib.import_module(name)
    found: dict[str, bytes] = {}
    pending = [*_ENGINE, *(base.__module__ for base in (cls.__mro__ if isinstance(cls, type) else (cls,)))]
    while pending:
        name = pending.pop()
        package = name.partition(".")[0]
        module = sys.modules.get(name)
        if module is None or name in found or package in sys.stdlib_module_names:
            continue
        if name == "mlcdr":  # has the names that anybody has asked of it; `_find_public` has those of a source
            continue
        if package != "mlcdr" and _is_installed(module):
            if name == cls.__module__:
                found[package] = f"{package} {_version(package)}".encode()
            continue
        try:
            source = inspect.getsource(module)
        except (OSError, TypeError):  # an interactive module has no source to look at
            source = ""
        found[name] = code_of_text(source) or name.encode()
        own = name if hasattr(module, "__path__") else name.rpartition(".")[0]
        pending += [*_find_imports(source, own), *_find_public(source)]
        for value in vars(module).values():
            if not inspect.ismodule(value):
                used = getattr(value, "__module__", None)
            elif value.__name__.startswith(f"{name}."):  # a package has what anybody has imported of it
                continue
            else:
                used = value.__name__
            if isinstance(used, str):
                pending.append(used)
    return [found[name] for name in sorted(found)]


@cache
def _parse(source: str) -> ast.Module:
    return ast.parse(source)


def _version(package: str) -> str:
    """The version of an installed package: its `__version__`, or else that of the distributions that provide it."""
    own = getattr(sys.modules[package], "__version__", None)
    distributions = () if own else packages_distributions().get(package, ())
    return str(own) if own else " ".join(f"{name} {version(name)}" for name in sorted(set(distributions)))


@cache  # most modules are those of every method
def _find_imports(source: str, package: str) -> list[str]:
    """The modules that a text of a package imports: `import a.b` only binds `a`, whose attributes tell nothing."""
    found: list[str] = []
    for statement in _parse(source).body:
        if isinstance(statement, ast.Import):
            found += [each.name for each in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            of = "." * statement.level + (statement.module or "")
            of = importlib.util.resolve_name(of, package) if statement.level else of
            found.append(of)  # a constant of it does not say where it is from
            found += [f"{of}.{each.name}" for each in statement.names]
    return found


def _find_public(source: str) -> Iterator[str]:
    """The modules of the public names that a text uses as `mlcdr.NAME`."""
    if not re.search(r"\bimport\b[\w\s.,\\]*\bmlcdr\b(?!\.)", source):  # as nearly everywhere; parsing takes long
        return
    tree = _parse(source)
    imports = [each for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names = {each.asname or each.name for each in imports if each.name == "mlcdr"}
    public = importlib.import_module("mlcdr")
    for node in ast.walk(tree) if names else ():
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of in names and name in public.__all__:
                yield getattr(public, name).__module__


def is_foreign(cls: type) -> bool:
    """Whether a class is from an installed package, which does not follow our conventions."""
    package = cls.__module__.partition(".")[0]
    module = sys.modules.get(cls.__module__)  # none of a class that misnames its module
    return package != "mlcdr" and (module is None or _is_installed(module))


def _is_installed(module: ModuleType) -> bool:
    """Whether a module belongs to an installed package, whose version stands for its source."""
    return is_installed(Path(getattr(module, "__file__", None) or "/"))


def is_installed(path: Path) -> bool:
    """Whether a module's file is one of an installed package, or of Python itself."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib", "platstdlib"))
