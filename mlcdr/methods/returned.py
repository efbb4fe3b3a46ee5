"""Checks of what parts of a method return: a user's own class may return anything.

Without this, a wrong shape comes to light in the arithmetic of another part, if at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


class ReturnedWrong(ValueError):
    """A part returned something that is not what its contract says."""


def hint(message: str) -> str:
    """The end of a message about an error that a user's method raised: its cause, if known.

    Examples
    --------
    >>> hint("output array is read-only")
    '; the data of a run are not to be changed: take a copy'
    """
    return "; the data of a run are not to be changed: take a copy" if "read-only" in message else ""


def check_shape(part: Any, method: str, value: Any, n: int, width: int | None, meaning: str) -> Any:
    """The value that a method of a part returned, if it is a matrix (n×width); None: of any width.

    Classes of this package are not checked.

    Raises
    ------
    ReturnedWrong
        When it is not; the message names class and method, and says what it must be.
    """
    if type(part).__module__.startswith("mlcdr."):
        return value
    name, expected = f"{type(part).__name__}.{method}", f"({n}, {'any' if width is None else width})"
    if value is None:
        raise ReturnedWrong(f"{name} returned nothing, expected {meaning} of shape {expected}")
    if not hasattr(value, "shape"):
        try:
            value = np.asarray(value)
        except ValueError:  # lists of different lengths
            value = np.empty(0, dtype=object)
    if len(value.shape) != 2 or value.shape[0] != n or width not in (None, value.shape[1]):
        raise ReturnedWrong(f"{name} returned shape {tuple(value.shape)}, expected {meaning} of shape {expected}")
    return value


def check_matrix(part: Any, method: str, value: Any, n: int, width: int | None, meaning: str) -> Any:
    """The same for matrices of numbers without NaN; errors as `check_shape`."""
    if type(part).__module__.startswith("mlcdr."):
        return value
    name, value = f"{type(part).__name__}.{method}", check_shape(part, method, value, n, width, meaning)
    found = np.asarray(value.data if sp.issparse(value) else value)
    if found.dtype.kind not in "biuf":
        raise ReturnedWrong(f"{name} returned values of type {found.dtype}, expected {meaning}, which are numbers")
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise ReturnedWrong(f"{name} returned NaN, expected {meaning}, which are numbers")
    return value


def check_label_sets(part: Any, method: str, value: Any, shape: tuple[int, ...]) -> Any:
    """The same for label sets (n×K of {0, 1}); errors as `check_matrix`."""
    if type(part).__module__.startswith("mlcdr."):
        return value
    value = check_matrix(part, method, value, shape[0], shape[1], "label sets")
    found = value.data if sp.issparse(value) else np.asarray(value)
    if not np.isin(found, (0, 1)).all():
        wrong = found[~np.isin(found, (0, 1))].flat[0]
        name = f"{type(part).__name__}.{method}"
        raise ReturnedWrong(f"{name} returned {wrong:g} (and more), expected label sets of 0 and 1")
    return value
