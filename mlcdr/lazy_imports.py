"""Modules that libraries import and a run seldom uses: they are executed at their first use.

Half the time of a run's imports goes to what another library imports: `sklearn.base` alone brings all distributions of
`scipy.stats`, for the sake of one function. Our command line postpones them. A program of the user's, which imports
mlcdr, imports as usual.

A postponed module is in `sys.modules`, with its name, file and path, but its code is executed when something that this
code defines is asked for, or when one of its submodules is imported. The standard library's `LazyLoader` does
the same, but until Python 3.12 a second thread found the module half done, and a second `import` executed it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

SELDOM_USED = frozenset({"narwhals", "narwhals.stable", "narwhals.stable.v2", "numpy.f2py", "scipy.stats"})
"""What takes long to execute, by measurement, and is used by few runs."""

_loaders: dict[str, Loader] = {}  # of modules whose execution has not begun
_locks: dict[str, threading.RLock] = {}


def postpone() -> None:
    """Execute the modules of `SELDOM_USED` at their first use, if they are imported from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Postponed(ModuleType):
    """A module whose code is executed when a name is asked for that it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        _execute(self)
        return ModuleType.__getattribute__(self, name)


def _execute(module: ModuleType) -> None:
    """Execute a postponed module, or wait until another thread has; the thread that executes it sees what is there."""
    name = module.__name__
    if name in _loaders:
        _execute_parent(name)
    with _locks[name]:
        loader = _loaders.pop(name, None)
        if loader is None:
            return
        try:
            loader.exec_module(module)
        except BaseException:
            _loaders[name] = loader
            raise
        module.__class__ = ModuleType


def _execute_parent(name: str) -> None:
    """Execute the package that a module is in, if that is postponed: an import executes it before the module."""
    parent = name.rpartition(".")[0]
    if parent in _loaders:
        _execute(sys.modules[parent])


class _Loader(Loader):
    """Makes a module, and leaves it to its first use to execute it by its own loader."""

    def __init__(self, own: Loader):
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _locks[spec.name] = threading.RLock()
        return _Postponed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _loaders[module.__name__] = self._own
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own


class _Finder(MetaPathFinder):
    """Finds the modules that are postponed; to find a submodule of one executes it, as every import does."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in SELDOM_USED:
            _execute_parent(name)
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec
