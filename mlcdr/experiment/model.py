"""An experiment as frozen data: what a validated config holds, how it is written back, and the points of its sweep.

Its parts are in `entries` (data sets, metrics, layouts), `splits`, `method` and `tune`; `loading` reads
them from YAML and checks how they fit together.
"""

import contextlib
import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationInfo,
    field_validator,
)

from mlcdr.errors import suggest_name
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.entries import Dataset, Layout, MeasuredMetric, check_label
from mlcdr.experiment.entries import DatasetSpec as DatasetSpec
from mlcdr.experiment.entries import LayoutSpec as LayoutSpec
from mlcdr.experiment.entries import MetricSpec as MetricSpec
from mlcdr.experiment.method import FAMILIES as FAMILIES
from mlcdr.experiment.method import Method
from mlcdr.experiment.method import MethodSpec as MethodSpec
from mlcdr.experiment.problems import Problem, Strict, as_tuple
from mlcdr.experiment.splits import SplitSpec, seed_of
from mlcdr.experiment.yaml_reader import Document
from mlcdr.metrics import BY_LABEL

LABELLED = "splits.labelled"
"""The one thing besides the parameters of methods that can be swept."""

_FOLDER_NAME = re.compile(r"[^\W_][\w.\-]{0,99}")
_LONGEST = 100  # bytes of a part of a file's name


def folder_name(name: str) -> str:
    """The name of an experiment, if a results folder can have it.

    Raises
    ------
    ValueError
    """
    if not _FOLDER_NAME.fullmatch(name) or name.endswith("."):
        right = "letters, digits, `_`, `-`, `.`, beginning with a letter or digit and ending with no dot"
        raise ValueError(f"{name!r} cannot name the results folder; use {right}")
    return name


def file_name(text: str) -> str:
    """`text` as part of a file's name: other than letters, digits, `.`, `-` and `_` becomes `_`; a long one is cut."""
    plain = re.sub(r"[^\w.-]", "_", text)
    if len(plain.encode()) <= _LONGEST:
        return plain
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST // 4]}-{digest}"  # a letter has four bytes at most


def _filled(value: object) -> object:
    if value in ([], ()):
        raise ValueError("must not be empty")
    return as_tuple(value)


_Item = TypeVar("_Item")
AnyNumber = Annotated[tuple[_Item, ...], BeforeValidator(as_tuple)]
_Several = Annotated[tuple[_Item, ...], BeforeValidator(_filled), Field(json_schema_extra={"minItems": 1})]

# What names columns, folders and files of the results.
_Label = Annotated[str, AfterValidator(check_label)]


def _label_metric(name: str) -> str:
    name = {"accuracy": "jaccard"}.get(name, name)
    if name not in BY_LABEL:
        raise ValueError(f"{name!r} is no metric of single labels{suggest_name(name, BY_LABEL)}; {', '.join(BY_LABEL)}")
    return name


class KeepSpec(Strict):
    """What is kept of each trial, in addition to its values of metrics."""

    scores: bool = False
    """The scores and label sets of the test rows, as npz files."""

    models: bool = False
    """The fitted models, which `mlcdr predict` puts to other data."""


_BYTES = TypeAdapter(ByteSize)


def _check_memory(text: str) -> str:
    number = 0
    with contextlib.suppress(ValueError, OverflowError):
        number = int(_BYTES.validate_python(text))
    if not 1 <= number < 2**63 or not text[-1].isalpha():
        raise ValueError(f"{text[:40]!r} is no amount of memory; write `2 GB` or `500 MiB`")
    return text


class LimitsSpec(Strict):
    """What a trial may take before it is ended: one fit, and the trials that it serves."""

    seconds: Annotated[float | None, Field(gt=0, le=1e9, allow_inf_nan=False)] = None
    """Of time, by the wall clock."""

    memory: Annotated[str, AfterValidator(_check_memory)] | None = None
    """Of memory that its process has in use (resident), with the data set: `2 GB`."""

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self.seconds is not None or self.memory is not None

    @property
    def bytes(self) -> int | None:
        """`memory` as a number."""
        return None if self.memory is None else int(_BYTES.validate_python(self.memory))


class Experiment(Strict):
    """A validated experiment, as `load_experiment` makes it: its fields are the keys of a config (docs/config.md)."""

    _document: Document = PrivateAttr(default_factory=Document)

    name: Annotated[str, AfterValidator(folder_name)]
    """Names the results folder."""

    description: str = ""
    """What the experiment shows; free text."""

    datasets: _Several[Dataset]
    """Names or paths of data sets, or {name: {missing: mean}}, or {synthetic: {…}}."""

    splits: SplitSpec
    """How rows are divided for training and testing."""

    metrics: _Several[MeasuredMetric]
    """Names of metrics, or {name: {option: value, as: label}}."""

    by_label: Annotated[
        tuple[Annotated[str, AfterValidator(_label_metric)], ...],
        BeforeValidator(as_tuple),
        Field(description=f"Metrics of each label by itself, for labels.csv: {', '.join(BY_LABEL)}."),
    ] = ()

    keep_top: Annotated[int | None, Field(ge=1)] = None
    """So many of the highest scores of each row are kept, for metrics and `keep: {scores: true}`: what needs the others
    (coverage, AUC …) is then not defined."""

    sweep: dict[str, _Several[Any]] = {}
    """Parameters to vary: key path (label_space.n_components) → list of values; and `splits.labelled`, the training
    rows that keep their labels."""

    methods: Annotated[dict[_Label, Method], Field(min_length=1)]
    """The methods to compare: a name of yours → its parts."""

    against: str | None = None
    """One of the methods: all others are compared with it on each data set, by a test over the splits."""

    share: bool = True
    """Whether the methods, points and outputs of a split share work. `false` times each of them as a program that fits
    every output by itself; the scores stay the same (where outputs are independent)."""

    keep: KeepSpec = KeepSpec()
    """What is kept of each trial, in addition to its values of metrics: `{scores: true, models: true}`."""

    limits: LimitsSpec = LimitsSpec()
    """What a trial may take before it is ended and recorded: `{seconds: 600, memory: 4 GB}`."""

    tables: AnyNumber[Layout] = ()
    """Tables to write when the run ends."""

    figures: AnyNumber[Layout] = ()
    """Figures to draw when the run ends."""

    @field_validator("*", mode="wrap")
    @classmethod
    def _collect(cls, written: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
        """Let the draft go on where something is wrong, if the experiment is read for one."""
        if isinstance(info.context, Draft):
            return info.context.read(str(info.field_name), written, validate)
        return validate(written)

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys of a config."""
        return [*cls.model_fields, "defaults"]

    def written_in(self, document: Document) -> "Experiment":
        """The same experiment with what it was read from."""
        copy = self.model_copy()
        copy._document = document
        return copy

    def placed(self, problem: Problem) -> str:
        """What was found later than by reading the file, as `file:line: key.path: what is wrong`."""
        return self._document.tell(problem)

    @property
    def seed(self) -> int:
        """The seed that the methods' own randomness is derived from: that of the splits (0 where these have none)."""
        return seed_of(self.splits)

    @property
    def varied(self) -> tuple[str, ...]:
        """The key paths in which a method's results may differ: the sweep's, then those of grids shown as a whole."""
        paths = [*self.sweep]
        for spec in self.methods.values():
            paths += spec.test_search.grid if spec.test_search is not None else ()
        return tuple(dict.fromkeys(paths))

    def points(self, method: str) -> tuple[dict[str, Any], ...]:
        """The sweep of one method: a dict of swept key path → value as written, for each combination, in config order.

        Only paths that are parameters of the method take part, and `splits.labelled`; `({},)` if none is. The
        points of a search with `tune: {scope: test}`, all of which are run, are part of the sweep.
        """
        swept = self._swept(method)
        points = [dict(zip(swept, values, strict=True)) for values in itertools.product(*swept.values())]
        search = self.methods[method].test_search
        if search is None:
            return tuple(points)
        candidates = search.candidates(self.seed)
        return tuple(point | chosen for point, chosen in itertools.product(points, candidates))

    def n_points(self, method: str) -> int:
        """How many points a method has, at most."""
        n = math.prod(map(len, self._swept(method).values()))
        search = self.methods[method].test_search
        return n if search is None else n * int(search.n_points())

    def _swept(self, method: str) -> dict[str, tuple[Any, ...]]:
        """The values of each swept path that is a parameter of the method."""
        spec = self.methods[method]
        swept = {}
        for path, values in self.sweep.items():
            if path == LABELLED or spec.part_with(path, values[0]) is not None:
                swept[path] = values
        return swept

    def method_at(self, method: str, point: Mapping[str, Any]) -> MethodSpec:
        """The method with the values of one of its `points` put in.

        Raises
        ------
        KeyError
            If `point` has a path that is no parameter of the method.
        """
        spec = self.methods[method]
        if LABELLED in point:
            spec = spec.model_copy()  # the same method on other rows is another one to fit
        spec = spec.at({path: value for path, value in point.items() if path != LABELLED})
        return spec.model_copy(update={"tune": None}) if spec.test_search else spec

    def resolved(self) -> dict[str, Any]:
        """The experiment as plain data in a config's own form, defaults of the splits written out; reads back equal."""
        return self.model_dump(mode="json", exclude_defaults=True)


def value_text(value: Any) -> str:
    """A swept value as the text that results show: `5`, `20%`, `0.001`, `true`, nothing for null; else JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def point_texts(point: Mapping[str, Any]) -> dict[str, str]:
    """Path → the text of its value (`value_text`)."""
    return {path: value_text(value) for path, value in point.items()}
