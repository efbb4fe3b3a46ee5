"""The order of the labels in a chain, as a parameter gives it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state


def order_of(order: Sequence[int] | str | None, n_labels: int, random_state: Any = None) -> list[int]:
    """The order of `n_labels` labels: as given, random (any text), or that of the data set (None).

    Raises
    ------
    ValueError
        When the given order is not a permutation of them.
    """
    if isinstance(order, str):
        return check_random_state(random_state).permutation(n_labels).tolist()
    given = list(range(n_labels)) if order is None else list(order)
    numbers = all(isinstance(label, Integral) and not isinstance(label, bool) for label in given)
    if not numbers or sorted(given) != list(range(n_labels)):
        raise ValueError(f"order must hold each of the {n_labels} labels 0, 1, … once, found {given}")
    return given
