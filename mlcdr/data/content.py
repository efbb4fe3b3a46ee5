"""What a data set consists of, however it was read: X, Y and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mlcdr.data.table import Matrix


@dataclass(frozen=True)
class Facts:
    """The facts of a data set besides X and Y, as described in `mlcdr.data.dataset.Dataset`.

    The checksum is empty as long as X and Y may change.
    """

    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    xml_label_names: tuple[str, ...]
    declared_features: int
    declared_nominal: int
    declared_numeric: int
    checksum: str = ""
    notices: tuple[str, ...] = ()
    n_train: int | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    nominal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Content(NamedTuple):
    """X, Y and the facts of a data set."""

    X: Matrix
    Y: Matrix
    facts: Facts
