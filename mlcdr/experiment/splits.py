"""How rows are divided for training and testing: `splits:` of a config, each kind a small frozen pydantic model.

`mlcdr.experiment.division` makes row numbers of them.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, TypeAdapter, field_validator, model_serializer, model_validator

from mlcdr.data.files import Part, is_file
from mlcdr.errors import suggest_name
from mlcdr.experiment import fold_files
from mlcdr.experiment.problems import Problem, Strict, as_tuple, refusal

Seed = Annotated[int, Field(ge=0, description="Non-negative whole number that all randomness is derived from.")]


def _number_of_rows(value: object, right: str, all_rows: bool) -> float | int:
    """A share or a number of rows, as written (30%, 0.3, 12); `all_rows`: whether the share may be 100 %."""
    number = value
    if isinstance(value, str) and value.endswith("%"):
        with contextlib.suppress(ArithmeticError):
            number = float(Decimal(value[:-1]) / 100)
    if isinstance(number, float) and (0 < number < 1 or (all_rows and number == 1)):
        return number
    if isinstance(number, int) and not isinstance(number, bool) and number >= 1:
        return number
    raise ValueError(f"{right}, found {number!r}")


def _labelled(value: object) -> object:
    right = "must be a share of the training rows (30% or 0.3, 100% at most), or a whole number of rows (1 or more)"
    return value if value is None else _number_of_rows(value, right, all_rows=True)


def _describe_share(upper: str, text: str, *more: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a share below (or up to) 1, or a number of rows; `text`: the pattern of others."""
    share = {"type": "number", "exclusiveMinimum": 0, upper: 1}
    number = {"type": "integer", "minimum": 1}
    other = {"type": "string", "pattern": text}
    return {"anyOf": [share, number, other, *more]}


Labelled = Annotated[
    float | int | None,
    BeforeValidator(_labelled),
    Field(
        description="Training rows that keep their labels: a share (30% or 0.3; rounded half up) or a number of rows; "
        "all of them when left out. Those of a smaller share are among those of a larger.",
        json_schema_extra=_describe_share("maximum", r"^[0-9.]+%$", {"type": "null"}),
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


def _stratified(value: object) -> object:
    if isinstance(value, bool) or value == "pairs":
        return value
    raise ValueError(f"must be `true`, `false` or `pairs`, found {value!r}")


Stratified = Annotated[
    bool | Literal["pairs"],
    BeforeValidator(_stratified),
    Field(
        description="`true`: every part gets its share of each label (iterative stratification, Sechidis et al. 2011); "
        "`pairs`: of each pair of labels (second order, Szymański & Kajdanowicz 2017)."
    ),
]
Groups = Annotated[
    str | None,
    Field(
        min_length=1,
        description="A feature of the data set: rows with the same value of it stay together; the sizes of parts may "
        "then differ by a group.",
    ),
]
Repeats = Annotated[int, Field(ge=1, description="How often each split is run, for methods that draw at random.")]


class _SplitSpec(Strict):
    part: ClassVar[Part] = "full"
    """Which files of a data set are divided: all of it, or those of its own division."""

    @model_serializer
    def plain(self) -> dict[str, Any]:
        """As a config writes it, defaults written out but for options that are off."""
        found = {}
        for key, value in self:
            if value not in (None, ()) and value is not False:
                found[key] = list(value) if isinstance(value, tuple) else value
        return found


class Shuffle(_SplitSpec):
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
            json_schema_extra=_describe_share("exclusiveMaximum", r"^([0-9.]+%|predefined)$"),
        ),
    ]
    seed: Seed
    stratified: Stratified = False
    groups: Groups = None
    labelled: Labelled = None

    @field_validator("train_size", mode="before")
    @classmethod
    def _fraction_or_count(cls, value: object) -> object:
        right = "must be a fraction between 0 and 1 (0.9 or 90%), a whole number of rows (1 or more) or `predefined`"
        return value if value == "predefined" else _number_of_rows(value, right, all_rows=False)


class KFold(_SplitSpec):
    """Cross-validation: the rows are shuffled and dealt into `folds` parts of equal size (± 1 row), `repeats` times.

    Those of `shuffled_by: weka` are the folds of WEKA and MEKA for a data file with its rows in this order.
    """

    kind: Literal["kfold"]
    folds: Annotated[int, Field(ge=2, description="Number of folds; each tests once in a repeat.")]
    repeats: Annotated[int, Field(ge=1, description="How often the rows are shuffled and dealt again.")] = 1
    seed: Seed
    shuffled_by: Annotated[
        Literal["weka"] | None,
        Field(
            description="`weka`: by java.util.Random(seed), as WEKA and MEKA do with `-s SEED`; one repeat, neither "
            "stratified nor in groups."
        ),
    ] = None
    stratified: Stratified = False
    groups: Groups = None
    labelled: Labelled = None

    @model_validator(mode="after")
    def _as_weka_can(self) -> "KFold":
        if self.shuffled_by and (self.stratified or self.groups or self.repeats > 1):
            raise ValueError("`shuffled_by: weka` goes with neither `stratified` nor `groups`, and with one repeat")
        return self


class Predefined(_SplitSpec):
    """The one split that the data set's own train and test files make."""

    part: ClassVar[Part] = "predefined"
    kind: Literal["predefined"]
    repeats: Repeats = 1
    labelled: Labelled = None


class FromFile(_SplitSpec):
    """Folds read from a CSV file with a header: one row for each row of the data set, in its order.

    They are the same in every repeat; what a method draws at random is drawn again, and so are the rows that keep their
    labels (`labelled`).
    """

    kind: Literal["file"]
    path: Annotated[
        str,
        Field(
            min_length=1,
            description="CSV file; `{dataset}` stands for the data set's name. A relative path is looked up, for each "
            "data set, in the config's folder, in the working directory, in the folders of $MLCDR_FOLDS, then in the "
            "user's cache, where `mlcdr datasets fetch NAME --folds` puts the published NAME.5fold.csv.",
        ),
    ]
    column: Annotated[str, Field(min_length=1, description="The column that holds the fold numbers 0, 1, 2 ...")] = (
        "fold"
    )
    repeats: Repeats = 1
    folders: Annotated[
        tuple[str, ...],
        Field(
            description="Where a relative path is looked up first, in place of the config's folder; experiment.yaml "
            "of a results folder has it, so as to run from anywhere."
        ),
        BeforeValidator(as_tuple),
    ] = ()
    labelled: Labelled = None

    def file_for(self, dataset_name: str) -> Path:
        """The path with the data set's name put in, `~` expanded."""
        return Path(os.path.expanduser(self.path.replace("{dataset}", dataset_name)))  # noqa: PTH111 (never raises)

    def beside(self, folder: Path) -> "FromFile":
        """The same with `folders` made absolute, relative to `folder`, that of the config; without any, this folder."""
        absolute = [str(folder / each) for each in self.folders or (".",)]
        return self.model_copy(update={"folders": tuple(absolute)})

    def settled(self, folder: Path, dataset_names: Sequence[str]) -> "FromFile":
        """The same with the `folders` (of `beside`, and the working directory) that hold a file of some data set."""
        files = [self.file_for(name) for name in dataset_names]
        held = []
        for place in dict.fromkeys([*self.beside(folder).folders, str(Path.cwd())]):
            if any(is_file(Path(place) / file) for file in files if not file.is_absolute()):
                held.append(place)
        return self.model_copy(update={"folders": tuple(held)})

    def find(self, dataset_name: str) -> Path:
        """The file of folds for a data set: in `folders`, the working directory, $MLCDR_FOLDS, the user's cache.

        Raises
        ------
        DataError
            If there is none; names every place looked at (`NotFetchedError` for folds that can be downloaded).
        """
        return fold_files.find(self.file_for(dataset_name), self.folders, dataset_name)


_KINDS: dict[str, type[_SplitSpec]] = {
    "shuffle": Shuffle,
    "kfold": KFold,
    "predefined": Predefined,
    "file": FromFile,
}


def _of_its_kind(written: object) -> object:
    """The splits of the kind that is written."""
    if not isinstance(written, Mapping):
        return written
    kind = written.get("kind")
    if kind in list(_KINDS):
        return _KINDS[kind].model_validate(written)
    wrong = "this key is missing" if kind is None else f"unknown kind {kind!r}{suggest_name(str(kind), _KINDS)}"
    raise refusal(Problem(("kind",), f"{wrong} (one of: {', '.join(_KINDS)})"))


AnySplits: TypeAlias = Shuffle | KFold | Predefined | FromFile
SplitSpec = Annotated[AnySplits, Field(discriminator="kind"), BeforeValidator(_of_its_kind)]


def number_of_splits(spec: AnySplits) -> int:
    """How many splits of a data set there are; of folds in a file, how many of each."""
    if isinstance(spec, KFold):
        return spec.repeats * spec.folds
    return spec.repeats


def seed_of(spec: AnySplits) -> int:
    """The seed of all randomness; 0 where the splits have none."""
    return spec.seed if isinstance(spec, Shuffle | KFold) else 0
