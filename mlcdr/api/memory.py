"""Data in memory that a call is given: `mlcdr.run(..., datasets={"mine": (X, Y)})`, `results.splits(data=(X, Y))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import DataError, ResultsError, describe

if TYPE_CHECKING:
    from mlcdr.data.dataset import Dataset
    from mlcdr.experiment.division import Split
    from mlcdr.experiment.model import Experiment


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


def divide_again(experiment: Experiment, name: str | None, data: Any) -> Sequence[Split]:
    """The splits of a data set of an experiment, of the only one for None; `data` is what was given in memory."""
    from mlcdr.data import held
    from mlcdr.data.files import short_name
    from mlcdr.data.forms import MEMORY
    from mlcdr.experiment.data_source import DataSource

    specs = {short_name(spec.name): spec for spec in experiment.datasets}
    if name is None and len(specs) == 1:
        (name,) = specs
    if name not in specs:
        found = "which data set?" if name is None else f"no data set {name!r}"
        raise ResultsError(f"splits: {found} ({', '.join(specs)})")
    if data is None and MEMORY in specs[name].params:
        raise ResultsError(f"splits: {name} was given in memory; give it again: splits({name!r}, data=(X, Y))")
    given = [] if data is None else [as_dataset(name, data)]
    with held.holding(given):
        return DataSource.of(specs[name], experiment.splits).read().splits
