"""Imported for its effect, before anything of scikit-learn: the command and its workers start in half the time.

`sklearn.utils` imports `scipy.stats` and pandas, which take as long as all else together, for functions that a run
seldom calls. While it is imported here stand-ins take their places, which import the real ones when they are first
used; after that `import scipy.stats` and `import pandas` mean what they always do. (SciPy itself imports its
subpackages when they are first asked for.) Where scikit-learn is there already nothing happens.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    """A module that is imported when something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        _remove(self)
        return getattr(importlib.import_module(self.__name__), name)


def _remove(stand_in: _StandIn) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]


def _import_sklearn() -> None:
    stand_ins = [_StandIn(name) for name in ("scipy.stats", "pandas") if name not in sys.modules]
    sys.modules.update({each.__name__: each for each in stand_ins})
    try:
        importlib.import_module("sklearn.utils.extmath")  # and with it `sklearn.utils.fixes`
    finally:
        for each in stand_ins:
            _remove(each)


if "sklearn" not in sys.modules:
    _import_sklearn()
