"""Data in memory that a call is given: `mlcdr.run(..., datasets={"mine": (X, Y)})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import DataError, describe

if TYPE_CHECKING:
    from mlcdr.data.dataset import Dataset


def as_datasets(given: Any) -> dict[str, Dataset]:
    """Name → the data set; none for None.

    Raises
    ------
    DataError
        When it does not map names to `(X, Y)` or data sets.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        raise DataError(f"datasets: must map names to (X, Y), as {{'mine': (X, Y)}}; found {describe(given)}")
    return {name: as_dataset(name, data) for name, data in given.items()}


def as_dataset(name: str, data: Any) -> Dataset:
    """The given data as a data set, with the digest of its content."""
    from mlcdr.data.dataset import Dataset
    from mlcdr.data.encoding import MissingValueError
    from mlcdr.data.synthetic import checksum

    if isinstance(data, Dataset):  # it may have another name, or be some rows of another data set
        return replace(data, name=name, checksum=checksum(data.X, data.Y))
    if isinstance(data, tuple | list) and len(data) == 2:
        try:
            return Dataset.of(*data, name=name)
        except MissingValueError as error:
            right = f"datasets={{{name!r}: mlcdr.Dataset.of(X, Y, missing='keep')}}"
            raise DataError(f"{error}; of data in memory: {right}") from None
    hint = "; mlcdr.load_dataset makes one of a file" if isinstance(data, str | Path) else ""
    found = f"found an object of type {type(data).__name__}{hint}"
    raise DataError(f"datasets: {name!r} must be (X, Y) or a Dataset, {found}")
