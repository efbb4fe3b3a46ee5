"""Which rows train and which rows test, and which of the former lose their labels: `splits:` of a config.

A kind of split is a small frozen pydantic model (`Shuffle`, `KFold`, `Predefined`, `FromFile`), validated where the
config is read; `make_splits` turns it into row numbers for one data set.

`labelled: 30%` hides the labels of all training rows but a random 30 %: methods that use rows without labels get them
as such, others do not see them. `hide_labels` does it, for a share that is swept too (`sweep: {splits.labelled: …}`).

Randomness. Every random split has a `SeedSequence` of its own, made of the seed, the data set's name and the split's
number (see `seed_sequence`). Split 7 is therefore the same whether 10 or 100 splits are asked for, in whatever order,
and whatever other data sets the experiment has. The permutation is the stable argsort of raw 64-bit words of PCG64:
NumPy guarantees the words (NEP 19), but not the stream of `Generator.permutation`, so numbers cannot change with a
release of NumPy.
"""

import contextlib
import csv
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, field_validator

from mlcdr.data.files import NotFetchedError, cache_folder
from mlcdr.data.sources import find, how_to_get
from mlcdr.errors import ConfigError, DataError, escape_control_characters

Seed = Annotated[int, Field(ge=0, description="Non-negative whole number that all randomness is derived from.")]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _number_of_rows(value: object, right: str, all_rows: bool) -> float | int:
    """A share or a number of rows, as written (30%, 0.3, 12); `all_rows`: whether the share may be 100 %."""
    number = value
    if isinstance(value, str) and value.endswith("%"):
        with contextlib.suppress(ArithmeticError):
            number = float(Decimal(value[:-1]) / 100)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError(f"{right}, found {value!r}")
    possible = 0 < number < 1 or (all_rows and number == 1) if isinstance(number, float) else number >= 1
    if not possible:
        raise ValueError(f"{right}, found {value}")
    return number


def _labelled(value: object) -> object:
    right = "must be a share of the training rows (30% or 0.3, 100% at most), or a whole number of rows (1 or more)"
    return value if value is None else _number_of_rows(value, right, all_rows=True)


Labelled = Annotated[
    float | int | None,
    BeforeValidator(_labelled),
    Field(
        description="Training rows that keep their labels: a share (30% or 0.3; rounded half up) or a number of rows; "
        "all of them when left out. Those of a smaller share are among those of a larger.",
        json_schema_extra={
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^[0-9.]+%$"},
                {"type": "null"},
            ]
        },
    ),
]
_LABELLED: TypeAdapter[float | int | None] = TypeAdapter(Labelled)


def read_labelled(written: object) -> float | int | None:
    """The value of `labelled`, as a config may write it.

    Raises
    ------
    ValueError
        When it is neither a share nor a number of rows.
    """
    return _LABELLED.validate_python(written)


class Shuffle(_Spec):
    """Independent random splits: `repeats` times, a random part of the rows trains and the rest tests.

    `train_size: predefined` means as many training rows as the data set's own train file has.
    """

    kind: Literal["shuffle"]
    repeats: Annotated[int, Field(ge=1, description="How many random splits.")]
    train_size: Annotated[
        float | int | Literal["predefined"],
        Field(
            description="Training rows: a fraction between 0 and 1 (0.9 or 90%; rounded half up), a number of rows, or "
            "`predefined`, as many as the data set's own train file has.",
            json_schema_extra={
                "anyOf": [
                    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                    {"type": "integer", "minimum": 1},
                    {"type": "string", "pattern": r"^([0-9.]+%|predefined)$"},
                ]
            },
        ),
    ]
    seed: Seed
    labelled: Labelled = None

    @field_validator("train_size", mode="before")
    @classmethod
    def _fraction_or_count(cls, value: object) -> object:
        right = "must be a fraction between 0 and 1 (0.9 or 90%), a whole number of rows (1 or more) or `predefined`"
        return value if value == "predefined" else _number_of_rows(value, right, all_rows=False)


class KFold(_Spec):
    """Cross-validation: the rows are shuffled and dealt into `folds` parts of equal size (± 1 row), `repeats` times."""

    kind: Literal["kfold"]
    folds: Annotated[int, Field(ge=2, description="Number of folds; each tests once in a repeat.")]
    repeats: Annotated[int, Field(ge=1, description="How often the rows are shuffled and dealt anew.")] = 1
    seed: Seed
    labelled: Labelled = None


class Predefined(_Spec):
    """The one split that the data set's own train and test files make."""

    kind: Literal["predefined"]
    labelled: Labelled = None


class FromFile(_Spec):
    """Folds read from a CSV file with a header: one row for each row of the data set, in its order.

    They are the same in every repeat; what a method draws at random is drawn anew, and so are the rows that keep their
    labels (`labelled`).
    """

    kind: Literal["file"]
    path: Annotated[
        str,
        Field(
            min_length=1,
            description="CSV file; `{dataset}` stands for the data set's name. A relative path is looked up, for each "
            "data set, beside the config, in the working directory, in the folders of $MLCDR_FOLDS, then in the user's "
            "cache, where `mlcdr datasets fetch NAME --folds` puts the published NAME.5fold.csv.",
        ),
    ]
    column: Annotated[str, Field(min_length=1, description="The column that holds the fold numbers 0, 1, 2 ...")] = (
        "fold"
    )
    repeats: Annotated[
        int, Field(ge=1, description="How often each fold tests, for methods that draw something at random.")
    ] = 1
    folders: Annotated[
        tuple[str, ...],
        Field(
            description="Where a relative path is looked up first, in place of the config's folder; experiment.yaml "
            "of a results folder has it, so as to run from anywhere."
        ),
        BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
    ] = ()
    labelled: Labelled = None

    def file_for(self, dataset_name: str) -> Path:
        """The path with the data set's name put in, `~` expanded."""
        return Path(os.path.expanduser(self.path.replace("{dataset}", dataset_name)))  # noqa: PTH111 (never raises)

    def beside(self, folder: Path) -> "FromFile":
        """The same as a config in `folder` means it: its `folders` absolute, `folder` itself where it names none."""
        return self.model_copy(update={"folders": tuple(str(folder / each) for each in self.folders or (".",))})

    def settled(self, folder: Path, dataset_names: Sequence[str]) -> "FromFile":
        """The same with the `folders` (of `beside`, and the working directory) that hold a file of some data set."""
        places = dict.fromkeys([*self.beside(folder).folders, str(Path.cwd())])
        files = [self.file_for(name) for name in dataset_names]
        held = tuple(place for place in places if any(not f.is_absolute() and _is_file(Path(place) / f) for f in files))
        return self.model_copy(update={"folders": held})


SplitSpec = Annotated[Shuffle | KFold | Predefined | FromFile, Field(discriminator="kind")]


@dataclass(frozen=True, eq=False)
class Split:
    """One division of a data set's rows.

    Attributes
    ----------
    index : int
        Number of the split, from 0.
    train, test : ndarray of int64
        Row numbers, ascending, disjoint (ascending, so that reading rows runs through memory once).
    unlabelled : ndarray of int64
        The training rows whose labels are hidden, likewise; all three together are all rows.
    identity : dict
        Plain data that determines this split of a given data set, and nothing else (not how many splits there are):
        made to be a part of a trial's key.
    """

    index: int
    train: np.ndarray
    test: np.ndarray
    identity: dict[str, Any] = field(default_factory=dict)
    unlabelled: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class Splits(Sequence[Split]):
    """All splits of one data set, each made when asked for: `len(splits)`, `splits[i]`, iteration."""

    def __init__(self, length: int, make: Callable[[int], Split]):
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Split: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Split]: ...
    def __getitem__(self, index: int | slice) -> Split | Sequence[Split]:
        """Split number `index` (negative counts from the end), or a list of them for a slice."""
        numbers = range(self._length)[index]
        return self._make(numbers) if isinstance(numbers, int) else [self._make(i) for i in numbers]

    def __iter__(self) -> Iterator[Split]:
        """Make the splits one after another."""
        return (self._make(i) for i in range(self._length))


def make_splits(
    spec: Shuffle | KFold | Predefined | FromFile,
    dataset_name: str,
    n_instances: int,
    n_train: int | None = None,
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

    Raises
    ------
    ConfigError
        If the data set has too few rows for what is asked.
    DataError
        If there is no predefined split, or the fold file is missing or wrong (message begins with `file:line`).
    """
    if isinstance(spec, Shuffle):
        splits = _shuffle(spec, dataset_name, n_instances, n_train)
    elif isinstance(spec, KFold):
        splits = _kfold(spec, dataset_name, n_instances)
    elif isinstance(spec, Predefined):
        splits = _predefined(dataset_name, n_instances, n_train)
    else:
        splits = _from_file(spec, dataset_name, n_instances)
    labelled = spec.labelled
    if labelled is None:
        return splits
    seed = seed_of(spec)
    return Splits(len(splits), lambda index: hide_labels(splits[index], labelled, seed, dataset_name))


def seed_of(spec: Shuffle | KFold | Predefined | FromFile) -> int:
    """The seed of all randomness; 0 where the splits have none."""
    return spec.seed if isinstance(spec, Shuffle | KFold) else 0


def hide_labels(split: Split, labelled: float | int, seed: int, dataset_name: str) -> Split:
    """The split with the labels of all training rows hidden but those of a random part, `labelled` of them.

    A share is rounded half up, to 1 row at least. The parts of one split are nested: they begin one random order.

    Raises
    ------
    ConfigError
        When more rows are to keep their labels than there are.
    """
    n = len(split.train)
    kept = max(1, n_training_rows(labelled, n))
    if kept > n:
        raise ConfigError([f"splits.labelled: {kept} rows of the {n} that train on {dataset_name}"])
    order = _permutation(n, seed_sequence(seed, dataset_name, "labelled", split.index))
    identity = {**split.identity, "labelled": kept, "labelled_seed": seed, "labelled_of": [dataset_name, split.index]}
    train, hidden = split.train[np.sort(order[:kept])], split.train[np.sort(order[kept:])]
    return Split(split.index, train, split.test, identity, hidden)


def seed_sequence(seed: int, *names: str | int) -> np.random.SeedSequence:
    """The independent source of randomness that belongs to `names` (data set, split number, method ...).

    A text enters by its SHA-256, a number as itself, both as the spawn key of a `SeedSequence` with entropy `seed`; so
    no source depends on how many others there are, nor on the order in which they are asked for.

    Examples
    --------
    >>> first, again, other = (seed_sequence(2012, "yeast", split) for split in (0, 0, 1))
    >>> first.generate_state(2).tolist() == again.generate_state(2).tolist() != other.generate_state(2).tolist()
    True
    """
    key = tuple(
        name if isinstance(name, int) else int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")
        for name in names
    )
    return np.random.SeedSequence(seed, spawn_key=key)


def _permutation(n: int, seeds: np.random.SeedSequence) -> np.ndarray:
    return np.argsort(np.random.PCG64(seeds).random_raw(n), kind="stable")


def n_training_rows(train_size: float, n_instances: int) -> int:
    """Training rows of `n_instances`: a fraction is taken of them and rounded half up, a whole number is meant as such.

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


def _shuffle(spec: Shuffle, name: str, n: int, n_train: int | None) -> Splits:
    if spec.train_size == "predefined":
        k = _predefined_size(name, n, n_train, "train_size")
    else:
        k = n_training_rows(spec.train_size, n)
    if not 0 < k < n:
        raise ConfigError(
            [
                f"splits.train_size: {spec.train_size} of the {n} rows of {name} leaves "
                f"{max(n - k, 0)} rows for testing and {k} for training; both need at least one"
            ]
        )

    def make(index: int) -> Split:
        order = _permutation(n, seed_sequence(spec.seed, name, index))
        identity = {"kind": "shuffle", "seed": spec.seed, "dataset": name}
        return Split(index, np.sort(order[:k]), np.sort(order[k:]), {**identity, "train_size": k, "index": index})

    return Splits(spec.repeats, make)


def _kfold(spec: KFold, name: str, n: int) -> Splits:
    if spec.folds > n:
        raise ConfigError([f"splits.folds: {spec.folds} folds of the {n} rows of {name}; at most {n} are possible"])

    def make(index: int) -> Split:
        repeat, fold = divmod(index, spec.folds)
        order = _permutation(n, seed_sequence(spec.seed, name, repeat))
        # The first n mod folds folds get the odd rows.
        start, stop = (f * (n // spec.folds) + min(f, n % spec.folds) for f in (fold, fold + 1))
        train = np.sort(np.concatenate([order[:start], order[stop:]]))
        identity = {"kind": "kfold", "seed": spec.seed, "dataset": name}
        identity |= {"folds": spec.folds, "repeat": repeat, "fold": fold}
        return Split(index, train, np.sort(order[start:stop]), identity)

    return Splits(spec.folds * spec.repeats, make)


def _predefined_size(name: str, n: int, n_train: int | None, key: str) -> int:
    """How many rows are the train file's."""
    if n_train is None:
        instead = "use shuffle, kfold or file" if key == "kind" else "give a number of rows or a fraction"
        raise DataError(
            f"{name}: splits.{key}: predefined needs a train and a test file, and this data set has one file only; "
            f"{instead}"
        )
    if not 0 < n_train < n:
        raise DataError(f"{name}: splits.{key}: predefined: {n_train} of {n} rows train; both files need at least one")
    return n_train


def _predefined(name: str, n: int, n_train: int | None) -> Splits:
    n_train = _predefined_size(name, n, n_train, "kind")
    rows = np.arange(n)
    identity = {"kind": "predefined", "train_size": n_train}
    return Splits(1, lambda index: Split(index, rows[:n_train], rows[n_train:], dict(identity)))


def _from_file(spec: FromFile, name: str, n: int) -> Splits:
    path = find_fold_file(spec, name)
    folds = _read_folds(path, spec.column, name, n)
    # The numbers and not the bytes: another line ending or column beside them is the same split.
    content = hashlib.sha256(folds.astype("<i8").tobytes()).hexdigest()
    n_folds = int(folds.max()) + 1

    def make(index: int) -> Split:
        repeat, fold = divmod(index, n_folds)
        identity = {"kind": "file", "sha256": content, "fold": fold}
        identity |= {"repeat": repeat} if repeat else {}
        return Split(index, np.flatnonzero(folds != fold), np.flatnonzero(folds == fold), identity)

    return Splits(n_folds * spec.repeats, make)


def find_fold_file(spec: FromFile, dataset_name: str) -> Path:
    """The file of folds for a data set: in `spec.folders`, the working directory, $MLCDR_FOLDS, the user's cache.

    Raises
    ------
    DataError
        If there is none; names every place looked at (`NotFetchedError` for folds that can be downloaded).
    """
    wanted = spec.file_for(dataset_name)
    named = [folder for folder in os.environ.get("MLCDR_FOLDS", "").split(os.pathsep) if folder]
    folders = [*spec.folders, ".", *named, str(cache_folder() / "folds")]
    places = dict.fromkeys(Path(folder) / wanted for folder in folders)  # an absolute one is one
    for place in places:
        if _is_file(place):
            return place
    first, *others = places
    nor = f"; nor {', '.join(map(str, others))}" if others else ""
    message = f"{first}: no such file (the folds of {dataset_name}){nor}"
    known = find(dataset_name)
    if known is not None and wanted.name in {f"{known.name}.{k}fold.csv" for k in known.folds}:
        raise NotFetchedError(f"{message}; {how_to_get([known.name], folds=True)}", known.name)
    hint = "" if named or wanted.is_absolute() else "; $MLCDR_FOLDS may name folders to look in"
    raise DataError(f"{message}{hint}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a character that no file has
        return False


def _shown(header: list[str]) -> str:
    names = [name[:40] for name in header[:10]] + ["..."] * (len(header) > 10)
    return escape_control_characters(", ".join(names))


def _read_folds(path: Path, column: str, dataset_name: str, n: int) -> np.ndarray:
    """The fold number of each of `n` rows, checked: whole numbers 0 ... F−1, F ≥ 2, none without rows."""
    most = 2**20 + 1024 * n  # a row is a few numbers and names
    try:
        if path.stat().st_size > most:
            raise DataError(f"{path}: larger than {most // 1024} KiB; not the folds of {dataset_name}'s {n} rows")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{path}:{line}: not UTF-8 text") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    folds: list[int] = []
    try:
        header = [name.strip() for name in next(rows, [])]
        if header.count(column) != 1:
            many = "no" if column not in header else "more than one"
            raise DataError(f"{path}:1: {many} column {column!r} in the header; found: {_shown(header) or 'nothing'}")
        for cells in rows:
            if len(cells) != len(header):
                raise DataError(f"{path}:{rows.line_num}: expected {len(header)} columns, found {len(cells)}")
            cell = cells[header.index(column)].strip()
            if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
                raise DataError(f"{path}:{rows.line_num}: expected a fold number (0, 1, 2 ...), found {cell[:40]!r}")
            if len(folds) == n:
                raise DataError(f"{path}:{rows.line_num}: more rows than the {n} of the data set {dataset_name}")
            folds.append(int(cell))
    except csv.Error as error:
        raise DataError(f"{path}:{rows.line_num}: not a CSV file: {error}") from None
    if len(folds) < n:
        raise DataError(f"{path}:{rows.line_num}: the file ends after {len(folds)} folds; {dataset_name} has {n} rows")
    present = set(folds)
    if len(present) < 2:
        raise DataError(f"{path}:1: at least two folds are needed, found {len(present)}")
    if max(present) != len(present) - 1:
        absent = next(i for i in range(len(present)) if i not in present)
        raise DataError(f"{path}:1: fold {absent} has no rows although there is a fold {max(present)}; count from 0")
    return np.array(folds, dtype=np.int64)
