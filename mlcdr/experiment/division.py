"""The division of a data set's rows: which of them train, which test, and which training rows lose their labels.

`make_splits` makes it from the `splits` of a config (`mlcdr.experiment.splits`).

`labelled: 30%` hides the labels of all training rows but a random 30 %: methods that use rows without labels get them
as such, others do not see them. `Splits.hiding` does it, for a share that is swept too (`sweep: {splits.labelled: …}`).

Randomness. Every random split has a `SeedSequence` of its own, made of the seed, the data set's name and the number of
the repeat (see `seed_sequence`). Split 7 is therefore the same whether 10 or 100 splits are asked for, in whatever
order, and whatever other data sets the experiment has. The permutation is the stable argsort of raw 64-bit words of
PCG64: NumPy guarantees the words (NEP 19), but not the stream of `Generator.permutation`, so numbers cannot change with
a release of NumPy.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any, overload

import numpy as np

from mlcdr.errors import ConfigError, DataError, plural
from mlcdr.experiment import fold_files
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.splits import AnySplits, FromFile, KFold, Predefined, Shuffle, seed_of
from mlcdr.experiment.stratification import Integers, count_evidence, deal, exchange, part_sizes
from mlcdr.numerics.java_random import java_shuffle


@dataclass(frozen=True, eq=False)
class Split:
    """One division of a data set's rows.

    Attributes
    ----------
    index : int
        Number of the split, from 0.
    train, test : ndarray of int64
        Row numbers, ascending, disjoint (ascending, so that reading rows runs through memory once).
    identity : dict
        Plain data that determines this split of a given data set, and nothing else (not how many splits there are):
        made to be a part of a trial's key.
    unlabelled : ndarray of int64
        The training rows whose labels are hidden, ascending; `train`, `test` and these together are all rows.
    """

    index: int
    train: Integers
    test: Integers
    identity: dict[str, Any]
    unlabelled: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class Splits(Sequence[Split]):
    """All splits of one data set, each made when it is used: `len(splits)`, `splits[i]`, iteration.

    Attributes
    ----------
    identities : sequence of mapping
        The identity of each split, without `labelled`.
    tested : sequence of int
        The parts of a repeat that are test rows, one after another.
    parts : callable
        The part of each row in a repeat, by the repeat's number.
    hidden_by : (seed, data set's name)
        The source of randomness for the rows that keep their labels.
    labelled : float or int, optional
        How many training rows keep their labels, as a share or a number.
    """

    identities: Sequence[Mapping[str, Any]]
    tested: Sequence[int]
    parts: Callable[[int], Integers]
    hidden_by: tuple[int, str]
    labelled: float | int | None = None
    _latest: dict[int, Integers] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{plural(len(self), 'split')} of {self.hidden_by[1]!r}"

    def __len__(self) -> int:
        return len(self.identities)

    def hiding(self, labelled: float | int | None) -> "Splits":
        """The same splits with the labels of all training rows hidden but those of a random part, `labelled` of them.

        A share is rounded half up, to 1 row at least. The parts of one split are nested beginnings of a random order.
        """
        return self if labelled is None else replace(self, labelled=labelled)

    def identity(self, index: int) -> dict[str, Any]:
        """The identity of a split; its rows are not made."""
        identity = dict(self.identities[index])
        if self.labelled is not None:
            seed, name = self.hidden_by
            identity |= {"labelled": self.labelled, "labelled_seed": seed, "labelled_of": [name, index]}
        return identity

    @overload
    def __getitem__(self, index: int) -> Split: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Split]: ...
    def __getitem__(self, index: int | slice) -> Split | Sequence[Split]:
        """Split number `index` (negative counts from the end), or a list of them for a slice.

        Raises
        ------
        ConfigError
            When more rows are to keep their labels than there are.
        """
        numbers = range(len(self))[index]
        return self._make(numbers) if isinstance(numbers, int) else [self._make(i) for i in numbers]

    def _make(self, index: int) -> Split:
        repeat, turn = divmod(index, len(self.tested))
        part = self._latest.get(repeat)
        if part is None:
            part = self.parts(repeat)
            self._latest.clear()  # its other splits come next, if it has any
            self._latest[repeat] = part
        is_test = part == self.tested[turn]
        train = np.flatnonzero(~is_test)
        split = Split(index, train, np.flatnonzero(is_test), self.identity(index))
        if self.labelled is None:
            return split
        seed, name = self.hidden_by
        n = len(train)
        kept = max(1, n_training_rows(self.labelled, n))
        if kept > n:
            raise ConfigError([f"splits.labelled: {kept} rows of the {n} that train on {name}"])
        words = _words(n, seed, name, "labelled", index)
        order = np.argsort(words, kind="stable")
        labelled = np.sort(order[:kept])
        unlabelled = np.sort(order[kept:])
        return replace(split, train=train[labelled], unlabelled=train[unlabelled])


def make_splits(
    spec: AnySplits,
    dataset_name: str,
    n_instances: int,
    n_train: int | None = None,
    labels: Any = None,
    groups: Integers | None = None,
) -> Splits:
    """Row numbers of every split that `spec` asks for on one data set.

    Parameters
    ----------
    spec : Shuffle, KFold, Predefined or FromFile
        The validated `splits` of a config.
    dataset_name : str
        The data set's name: seeds the randomness and fills `{dataset}` in a file's path.
    n_instances : int
        Rows of the data set.
    n_train : int, optional
        For `predefined`, be it the kind or the train_size: how many rows, from the first, are the train file's
        (`Dataset.n_train`).
    labels : array (n×K of {0, 1}, dense or CSR), optional
        For `stratified`.
    groups : array (n), optional
        For `groups`: the number of each row's group, from 0.

    Raises
    ------
    ConfigError
        If the data set has too few rows, or groups, for what is asked.
    DataError
        If there is no predefined split, or the fold file is missing or wrong (message begins with `file:line`).
    """
    if isinstance(spec, Shuffle | KFold):
        splits = _draw(spec, dataset_name, n_instances, n_train, labels, groups)
    elif isinstance(spec, Predefined):
        size = _predefined_size(dataset_name, n_instances, n_train, "kind")
        part = np.repeat([1, 0], [size, n_instances - size])
        splits = _fixed(spec, dataset_name, [{"kind": "predefined", "train_size": size}], part)
    else:
        part = fold_files.read(spec.find(dataset_name), spec.column, dataset_name, n_instances)
        # The numbers and not the bytes: another line ending or column beside them is the same split.
        content = hashlib.sha256(part.astype("<i8").tobytes()).hexdigest()
        folds = range(int(part.max()) + 1)
        identities = [{"kind": "file", "sha256": content, "fold": fold} for fold in folds]
        splits = _fixed(spec, dataset_name, identities, part)
    return splits.hiding(spec.labelled)


def _fixed(spec: Predefined | FromFile, name: str, identities: Sequence[dict[str, Any]], part: Integers) -> Splits:
    """Splits that have the same rows in every repeat."""
    repeated = [*identities]
    for repeat in range(1, spec.repeats):
        repeated += [{**identity, "repeat": repeat} for identity in identities]
    return Splits(repeated, range(len(identities)), lambda repeat: part, (seed_of(spec), name))


def _draw(
    spec: Shuffle | KFold, name: str, n: int, n_train: int | None, labels: Any, groups: Integers | None
) -> Splits:
    """Splits drawn at random: the parts of a shuffle are its training and test rows, those of a k-fold its folds."""
    identity: dict[str, Any] = {"kind": spec.kind, "seed": spec.seed, "dataset": name}
    if spec.stratified:
        identity["stratified"] = spec.stratified
    if spec.groups:
        identity["groups"] = spec.groups
    if isinstance(spec, Shuffle):
        k = _training_rows(spec, name, n, n_train)
        shares = [k, n - k]
        tested = [1]
        identities = [{**identity, "train_size": k, "index": index} for index in range(spec.repeats)]
    else:
        shares = [1] * spec.folds
        tested = [*range(spec.folds)]
        identities = _identify_folds(spec, identity)
    if len(shares) > n:
        raise ConfigError([f"splits.folds: {len(shares)} folds of the {n} rows of {name}; at most {n} are possible"])
    if spec.stratified or spec.groups:
        parts = _stratified_parts(spec, name, n, shares, labels, groups)
    elif isinstance(spec, KFold) and spec.shuffled_by:
        parts = partial(_cut, java_shuffle(n, spec.seed).astype(np.int64), shares)
    else:
        parts = partial(_shuffle, spec.seed, name, shares, n)
    return Splits(identities, tested, parts, (spec.seed, name))


def _identify_folds(spec: KFold, identity: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The identity of each fold of each repeat."""
    whole = dict(identity)
    if spec.shuffled_by:
        whole["shuffled_by"] = spec.shuffled_by
    identities = []
    for repeat in range(spec.repeats):
        identities += [{**whole, "folds": spec.folds, "repeat": repeat, "fold": fold} for fold in range(spec.folds)]
    return identities


def _stratified_parts(
    spec: Shuffle | KFold, name: str, n: int, shares: Sequence[int], labels: Any, groups: Integers | None
) -> Callable[[int], Integers]:
    """The part of each row by the repeat's number, where labels are stratified or groups of rows stay together."""
    group_of_row = np.arange(n) if groups is None else groups
    evidence = labels if spec.stratified else None
    counts, sizes = count_evidence(evidence, spec.stratified == "pairs", group_of_row)
    if len(sizes) < len(shares):
        few = f"{len(sizes)} groups of {name}, too few for {len(shares)} parts"
        raise ConfigError([f"splits.groups: {spec.groups} makes {few}"])
    n_pairs = counts.shape[1] - labels.shape[1] if spec.stratified else 0
    return partial(_stratify, spec.seed, name, shares, counts, n_pairs, sizes, group_of_row)


def _shuffle(seed: int, name: str, shares: Sequence[int], n: int, repeat: int) -> Integers:
    """The part of each row, where rows are dealt in random order."""
    words = _words(n, seed, name, repeat)
    return _cut(np.argsort(words, kind="stable"), shares)


def _cut(order: Integers, shares: Sequence[int], repeat: int = 0) -> Integers:
    """The part of each row, where rows in this order are cut into parts."""
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.repeat(np.arange(len(shares)), part_sizes(shares, len(order)))
    return part


def _stratify(
    seed: int,
    name: str,
    shares: Sequence[int],
    counts: Any,
    n_pairs: int,
    sizes: Integers,
    group_of_row: Integers,
    repeat: int,
) -> Integers:
    """The part of each row, where each part gets its share of the labels, or whole groups of rows."""
    words = _words(len(sizes), seed, name, repeat)
    dealt = deal(counts, sizes, shares, words)
    return exchange(dealt, counts[:, n_pairs:], sizes, shares)[group_of_row]


def _words(n: int, seed: int, *names: str | int) -> np.ndarray:
    return np.random.PCG64(seed_sequence(seed, *names)).random_raw(n)


def n_training_rows(train_size: float, n_instances: int) -> int:
    """Training rows of `n_instances`: a fraction is taken of them and rounded half up, a whole number stays as it is.

    The fraction counts as the decimal that was written (0.145 of 100 rows are 14.5, hence 15, though the binary number
    0.145 is a little less).

    Examples
    --------
    >>> n_training_rows(0.9, 2417), n_training_rows(0.145, 100), n_training_rows(1500, 2417)
    (2175, 15, 1500)
    """
    if isinstance(train_size, int):
        return train_size
    return int(Decimal(repr(train_size)) * n_instances + Decimal("0.5"))


def _training_rows(spec: Shuffle, name: str, n: int, n_train: int | None) -> int:
    if spec.train_size == "predefined":
        return _predefined_size(name, n, n_train, "train_size")
    k = n_training_rows(spec.train_size, n)
    if not 0 < k < n:
        rest = f"{max(n - k, 0)} rows for testing and {k} for training; both need at least one"
        raise ConfigError([f"splits.train_size: {spec.train_size} of the {n} rows of {name} leaves {rest}"])
    return k


def _predefined_size(name: str, n: int, n_train: int | None, key: str) -> int:
    """How many rows are the train file's."""
    here = f"{name}: splits.{key}: predefined"
    if n_train is None:
        instead = "use shuffle, kfold or file" if key == "kind" else "give a number of rows or a fraction"
        raise DataError(f"{here} needs a train and a test file, and this data set has one file only; {instead}")
    if not 0 < n_train < n:
        raise DataError(f"{here}: {n_train} of {n} rows train; both files need at least one")
    return n_train
