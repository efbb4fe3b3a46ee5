"""Compilation by numba, an optional dependency: without it the modules can be imported, but no model fitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcdr.errors import UserError

try:
    import numba
except ImportError:
    numba = None

WARM_UP = np.array([[0.0, -1.0], [1.0, 2.0], [1.0, 0.0], [3.0, 2.0], [4.0, 0.0]])
"""Rows that a tree is fitted to before anything is timed: with a negative value, a zero and ties, and a cut to find."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled when it is first called; unchanged where numba is missing (see `require_numba`).

    The machine code is kept on disk beside the source, or in the user's cache. numba recompiles a function when its own
    file changes, not when the files of the functions it calls do; so compiled functions call only functions of their
    own file. Division by zero gives inf or nan (IEEE), and nothing is reordered: sums are made in the order of the
    loops.
    """
    if numba is None:
        return function
    options = {"error_model": "numpy", "nogil": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place to write to
        return numba.njit(**options)(function)


def require_numba(what: str = "m5p") -> None:
    """Raise an error where numba, which `what` needs, is missing.

    Raises
    ------
    UserError
        When numba is not installed.
    """
    if numba is None:
        raise UserError(f"{what} needs numba, which is not installed: pip install 'mlcdr[trees]'")
