"""The origin of a class, and the code that decides what it computes: what a trial's key says of code.

That is the code of the class's own module and its bases', and of all modules that these import, as far as they are the
user's, or in the rooms of this package that compute. Of a class of an installed package it is the package's version.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from mlcdr.methods.deciding_code import DecidingCode, read_code

ROOMS = ("methods", "numerics", "metrics")
"""The rooms of this package that compute."""

_DESCRIBING = frozenset(
    {
        "mlcdr.errors",
        "mlcdr.lazy_numpy",
        "mlcdr.plug_ins",
        "mlcdr.methods.bases",
        "mlcdr.methods.component",
        "mlcdr.methods.component_changes",
        "mlcdr.methods.constraints",
        "mlcdr.methods.declarations",
        "mlcdr.methods.deciding_code",
        "mlcdr.methods.docstrings",
        "mlcdr.methods.foreign_values",
        "mlcdr.methods.nested",
        "mlcdr.methods.provenance",
        "mlcdr.methods.registry",
        "mlcdr.methods.values",
        "mlcdr.metrics.names",
    }
)
"""Modules that name, declare and check what others compute."""

OF_EVERY_METHOD = ("mlcdr.methods.composition", "mlcdr.methods.foreign")

FindCode = Callable[[str], DecidingCode | None]
"""From a module's name to its code; None for a module whose code does not count."""


@cache
def version_of(cls: Any) -> str:
    """A digest of all code that decides what a class (or a function) computes."""
    bases = cls.__mro__ if isinstance(cls, type) else (cls,)
    modules = {base.__module__ for base in bases}
    package = cls.__module__.partition(".")[0]
    installed = f"{package} {_version(package)}" if is_foreign(cls) else ""
    return digest_of_code([*OF_EVERY_METHOD, *modules], find_code, installed)


@cache
def version_of_ours(module: str) -> str:
    """As `version_of` a class of this package, from the name of its module, which is not imported.

    The modules of its bases are among those that it imports.
    """
    return digest_of_code([*OF_EVERY_METHOD, module], find_code)


def digest_of_code(modules: Iterable[str], find_code: FindCode, installed: str = "") -> str:
    """A digest of the code of some modules and all that they import; `installed`: the package's version, if it counts.

    The names of modules do not count, so that a file can be moved.
    """
    digests = sorted(code.digest for code in collect_code(modules, find_code).values())
    return hashlib.sha256("\n".join([installed, *digests]).encode()).hexdigest()[:16]


def collect_code(modules: Iterable[str], find_code: FindCode) -> dict[str, DecidingCode]:
    """The code of some modules and of all that they import, directly or not, as far as `find_code` finds it."""
    found: dict[str, DecidingCode] = {}
    seen: set[str] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        code = find_code(name)
        if code is None:
            continue
        found[name] = code
        pending += code.imports
        pending += _modules_of_public_names(code.public)
    return found


def _modules_of_public_names(names: Iterable[str]) -> list[str]:
    """The modules that define public names of `mlcdr`; other names, such as those of its folders, are left out."""
    if not names:
        return []
    public = importlib.import_module("mlcdr")
    return [getattr(public, name).__module__ for name in names if name in public.__all__]


def decides(module: str) -> bool:
    """Whether a module of this package decides what methods compute."""
    package, *rest = module.split(".")
    return package == "mlcdr" and rest[:1] != [] and rest[0] in ROOMS and module not in _DESCRIBING


def read_module(source: str, name: str, is_package: bool = False) -> DecidingCode:
    """The code of a module of that name; of a text that is no Python, such as an extension module, only the name."""
    package = name if is_package else name.rpartition(".")[0]
    try:
        return read_code(source, package, _DESCRIBING)
    except SyntaxError:
        return DecidingCode(name, (), ())


def find_code(name: str) -> DecidingCode | None:
    """The code of a module of this environment."""
    package = name.partition(".")[0]
    if package == "mlcdr":
        return _find_ours(name)
    return _read(name) if _is_users(package) else None


@cache
def _find_ours(name: str) -> DecidingCode | None:
    return _read(name) if decides(name) else None


def _read(name: str) -> DecidingCode | None:
    spec = _find_spec(name)
    if spec is None:
        return None
    path = Path(spec.origin or "")
    source = path.read_text("utf-8", errors="replace") if path.suffix == ".py" else name
    return read_module(source, name, spec.submodule_search_locations is not None)


@cache
def _is_users(package: str) -> bool:
    """Whether an outermost package or module is the user's own: neither Python's nor installed."""
    if package in sys.stdlib_module_names:
        return False
    spec = _find_spec(package)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return not any(is_installed(Path(each)) for each in places if each)


def _find_spec(name: str) -> ModuleSpec | None:
    """Where a module is; no module is imported for it, as `importlib.util.find_spec` does with the packages above."""
    parent, _, _ = name.rpartition(".")
    try:
        if not parent:
            return importlib.util.find_spec(name)
    except ValueError:  # it was made in memory
        return ModuleSpec(name, None)
    above = _find_spec(parent)
    if above is None or above.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, above.submodule_search_locations)


def _version(package: str) -> str:
    """The version of an installed package: its `__version__`, or else those of the distributions it is from."""
    own = getattr(sys.modules[package], "__version__", None)
    if own:
        return str(own)
    distributions = sorted(set(packages_distributions().get(package, ())))
    return " ".join(f"{name} {version(name)}" for name in distributions)


def is_foreign(cls: type) -> bool:
    """Whether a class is from an installed package, which does not follow our conventions."""
    if cls.__module__.partition(".")[0] == "mlcdr":
        return False
    module = sys.modules.get(cls.__module__)  # none of a class that misnames its module
    return module is None or is_installed(Path(getattr(module, "__file__", None) or "/"))


def is_installed(path: Path) -> bool:
    """Whether a module's file is one of an installed package, or of Python itself."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib", "platstdlib"))
