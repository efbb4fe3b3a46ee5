"""Where a worker gets a data set and its splits from: its name and options, or the data themselves, handed over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.errors import DataError
from mlcdr.experiment.digests import digest
from mlcdr.experiment.model import DatasetSpec
from mlcdr.experiment.splits import Split, Splits, SplitSpec, hide_labels, make_splits, seed_of


@dataclass(frozen=True)
class DataSource:
    """Where a worker gets the data set and its splits from.

    `stamp` says what was found there when the run was planned; a worker that finds something else refuses it.
    """

    name: str
    options: tuple[tuple[str, Any], ...]
    splits: SplitSpec
    stamp: str = ""

    @classmethod
    def of(cls, spec: DatasetSpec, splits: SplitSpec) -> DataSource:
        """The source of one data set of an experiment."""
        part = "predefined" if splits.kind == "predefined" else "full"
        options = {key: tuple(v.items()) if isinstance(v, dict) else v for key, v in spec.params.items()}
        return cls(spec.name, (*sorted(options.items()), ("part", part)), splits)

    def load(self) -> Dataset:
        """The data set.

        Raises
        ------
        DataError
            When it cannot be found or read.
        """
        return load_dataset(self.name, **dict(self.options))

    def divide(self, dataset: Dataset) -> Splits:
        """Its splits."""
        n_train = dataset.n_train
        if getattr(self.splits, "train_size", None) == "predefined":  # the rows are the full file's all the same
            n_train = load_dataset(self.name, **{**dict(self.options), "part": "predefined"}).n_train
        return make_splits(self.splits, dataset.name, dataset.n_instances, n_train)

    def hiding(self, split: Split, labelled: float | int | None, dataset: Dataset) -> Split:
        """One of its splits with labels hidden, where a sweep says how many are kept."""
        return split if labelled is None else hide_labels(split, labelled, seed_of(self.splits), dataset.name)

    def stamped(self, dataset: Dataset) -> DataSource:
        """The same source, with the data set and the splits that it gives now."""
        return replace(self, stamp=digest([dataset.checksum, self.divide(dataset)[0].identity]))


@dataclass(frozen=True)
class Handed:
    """A data set and its splits, for a worker that is handed them since it may not have the files.

    Two are equal if they are of the same source: the second that a worker gets is not computed with anew.
    """

    source: DataSource
    dataset: Dataset = field(compare=False, repr=False)
    splits: Splits = field(compare=False, repr=False)

    @classmethod
    def of(cls, source: DataSource) -> Handed:
        """What a source gives.

        Raises
        ------
        DataError
            When it cannot be had any more, or is not what it was when the source was stamped.
        """
        dataset = source.load()
        if source.stamped(dataset) != source:
            raise DataError(f"{source.name}: the data set or its folds changed while the run was going on; run again")
        return cls(source, dataset, source.divide(dataset))
