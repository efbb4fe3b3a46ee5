"""The source of a data set and its splits, and the data set and splits once they have been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.texts import is_texts
from mlcdr.errors import ConfigError, DataError, suggest_name
from mlcdr.experiment.division import Integers, Split, Splits, make_splits
from mlcdr.experiment.keys import digest
from mlcdr.experiment.model import DatasetSpec
from mlcdr.experiment.splits import KFold, Shuffle, SplitSpec, seed_of
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.entry import check_magnitude


@dataclass(frozen=True)
class DataSource:
    """The source from which any process can read a data set and its splits.

    `options` are those of `load_dataset`. `stamp` identifies the content when the run was planned; a process that reads
    other content raises an error.
    """

    name: str
    options: Mapping[str, Any] = field(hash=False)
    splits: SplitSpec
    stamp: str = ""

    @classmethod
    def of(cls, spec: DatasetSpec, splits: SplitSpec) -> DataSource:
        """The source of one data set of an experiment."""
        return cls(spec.name, {**spec.params, "part": splits.part}, splits)

    def load(self) -> Dataset:
        """Load the data set.

        Raises
        ------
        DataError
            When it cannot be found or read.
        """
        return load_dataset(self.name, **self.options)

    def divide(self, dataset: Dataset) -> DividedData:
        """Divide the loaded data set.

        Raises
        ------
        ConfigError
            When it has too few rows for what is asked.
        DataError
            When it or its folds are not what they were when the source was stamped; when its features are too large or
            too small to be multiplied.
        """
        if not is_texts(dataset.X):
            try:
                check_magnitude(dataset.X)
            except ValueError as error:
                raise DataError(f"{self.name}: {error}") from None
        spec = self.splits
        groups = None
        n_train = dataset.n_train
        if isinstance(spec, Shuffle) and spec.train_size == "predefined":  # of the full file's rows
            options = {**self.options, "part": "predefined"}
            n_train = load_dataset(self.name, **options).n_train
        if isinstance(spec, Shuffle | KFold) and spec.groups is not None:
            groups = number_groups(dataset, spec.groups)
        splits = make_splits(spec, dataset.name, dataset.n_instances, n_train, dataset.Y, groups)
        found = replace(self, stamp=digest([dataset.checksum, splits[0].identity]))
        if self.stamp and found != self:
            raise DataError(f"{self.name}: the data set or its folds changed while the run was going on; run again")
        return DividedData(found, dataset, splits)

    def read(self) -> DividedData:
        """Load and divide the data set.

        Raises
        ------
        UserError
            As `load` and `divide`.
        """
        return self.divide(self.load())


@dataclass(frozen=True)
class DividedData:
    """A data set and its splits; two are equal if they are of the same (stamped) source."""

    source: DataSource
    dataset: Dataset = field(compare=False, repr=False)
    splits: Splits = field(compare=False, repr=False)

    def split(self, index: int, labelled: float | int | None = None) -> Split:
        """One of the splits; with `labelled`, all labels hidden but those of so many training rows.

        Raises
        ------
        ConfigError
            When there are fewer training rows.
        """
        return self.splits.hiding(labelled)[index]

    def folds(self, n_folds: int, rows: Integers, name: str) -> Splits:
        """The folds of some rows by which a method is tuned: stratified, or of whole groups, where the splits are.

        They are drawn from the seed and `name`.

        Raises
        ------
        ConfigError
            When there are fewer rows, or groups, than folds.
        """
        spec = self.source.splits
        groups = None
        folds = KFold(kind="kfold", folds=n_folds, seed=seed_of(spec))
        if isinstance(spec, Shuffle | KFold):
            folds = folds.model_copy(update={"stratified": spec.stratified, "groups": spec.groups})
        if folds.groups is not None:
            of_all = number_groups(self.dataset, folds.groups)
            groups = np.unique(of_all[rows], return_inverse=True)[1]
        labels = self.dataset.Y[rows] if folds.stratified else None
        return make_splits(folds, name, len(rows), labels=labels, groups=groups)

    def identities(self, labelled: float | int | None) -> list[dict[str, Any]]:
        """The identity of each split; only the first split is made.

        Raises
        ------
        ConfigError
            As `split`.
        """
        splits = self.splits.hiding(labelled)
        others = range(1, len(splits))
        return [splits[0].identity, *map(splits.identity, others)]


def number_groups(dataset: Dataset, feature: str) -> Integers:
    """The number of each row's group (n), from 0: rows with the same value of a feature, numeric or nominal.

    Raises
    ------
    ConfigError
        When the data set has no such feature.
    """
    columns = []
    for j, name in enumerate(dataset.feature_names):
        if name == feature or name.startswith(f"{feature}="):
            columns.append(j)
    if not columns:
        names = [name.partition("=")[0] for name in dataset.feature_names]
        raise ConfigError([f"splits.groups: {dataset.name} has no feature {feature!r}{suggest_name(feature, names)}"])
    why = {"texts": "is a text", "gaps": "has missing values"}.get(dataset.kind_of_features)
    if why and (dataset.kind_of_features == "texts" or feature in dataset.missing):
        raise ConfigError([f"splits.groups: {feature!r} of {dataset.name} {why}, and so is no group"])
    values = as_dense(dataset.X[:, columns])
    return np.unique(values, axis=0, return_inverse=True)[1].ravel()
