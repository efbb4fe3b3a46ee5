"""Layouts: how a paper's table or figure looks, as data.

A layout is a small YAML file. The packaged ones are named by their path below `mlcdr/tables/layouts`, without the
ending: `chen_lin_2012/table3`, `generic`. To write your own, copy one, change it, and name the file in the experiment
(relative to the experiment's file): `tables: [{layout: my_table.yaml, metric: hamming_loss}]`. Any key of a layout can
also stand in the experiment's entry and then takes precedence: `{layout: generic, metric: accuracy, digits: 3}`. With
the key `kind`, an entry is a whole layout itself, and `layout` only its name; so a results folder holds your own ones.

A table's keys, all but `kind` and `columns` with a default:

    kind: table
    caption: "Test {metric} of {methods}"  # {metric} {methods} {datasets} {experiment} {reference}; $…$ is mathematics
    metric: hamming_loss                   # when the entry names none
    rows: [dataset, method]                # dataset, method, metric or swept paths, outermost first
    columns: label_space.n_components      # a swept path, or dataset, method, metric; or `auto`, which is the last
                                           # swept path, or the metrics where nothing is swept; or a list of swept
                                           # paths that mean one thing, of which each method has its own
    methods: [PLST, CPLST]                 # only these, in this order; all of the experiment when left out
    metrics: [accuracy, f1]                # likewise, where `metric` is among the rows or columns
    headers: {dataset: Dataset, method: Algorithm, first: "$M$ = {value}", other: "{value}", percent_of: "$K$"}
    spread: standard_error                 # or std, none
    digits: 4                              # without: 4, and of times and memory as many as show two of the smallest
    bold: one_standard_error               # or best, none
    names: {scene: "scene‡", hamming_loss: HL}   # how data sets, methods and metrics are called in it
    settings: {IDSR: "({dual_space.n_features},{dual_space.n_labels})"}   # set behind a number that is the best of a
                                           # grid (`tune: {scope: test}`), with the values taken (without percent signs)
    lacking: repeat                        # the number of a method without the columns' path stands in every column;
                                           # or last: in the last one only
    row_labels: {dual_space.n_features: "{method} ($D$ = {value})"}  # for a swept path among the rows: what stands in
                                           # the method's place; the path has no column of its own then
    relative_to: BR                        # each mean is divided by this method's of the same data set (spread: none)
    average_rank: true                     # where the columns are methods: below each group of rows, their average rank
    notes: ["…"]                           # set below the table, before those that the table adds itself

`rows` and `columns` together must hold dataset and method; swept paths that stand in neither are added to the rows.
`first` heads the first column and `other` the rest; `percent_of` stands behind a percentage in the first ("M = 20% K").
In `settings`, `{path:features}` is a share of the smaller of features and labels, in percent of the features.
Bold are, of each data set, metric and sweep value of the column, all cells within one standard error of the best
(`one_standard_error`: no worse than the best mean and its own standard error), or only the best ones (`best`).

A figure's keys, all but `kind` and `panels` with a default:

    kind: figure
    draw: curves                           # or boxes, bars, scatter, heatmap
    x: label_space.n_components            # what runs along the horizontal axis: see below
    y: learner.alpha                       # of a heat map: the swept path along the vertical axis
    x_scale: linear                        # or log
    y_scale: linear                        # or log
    x_label: "Number of dimensions $M$"
    x_label_percent: "… in percent of $K$" # instead of x_label where the values are percentages
    panels:                                # row by row
      - {metric: hamming_loss, title: "(a) Hamming loss", label: "Hamming loss"}
    columns: 2                             # panels side by side
    size: [170, 130]                       # millimetres (40 to 1,000); without: 170 wide, 58 for each row of panels
    band: standard_error                   # or std, none
    lines: methods                         # of curves: what a line stands for; or datasets, metrics, or a swept path
    normalise: none                        # or max, min: each line, or each group of bars, is divided by its own
    at: {learner.alpha: 0.1}               # the values of swept paths that no axis and no line stands for
    datasets: [emotions, medical]          # only these; all of the experiment when left out
    methods: [PBR, OCCA, PLST, CPLST]      # these first in the legend, then the others; a heat map shows these only

Instead of a list, `panels` may be `metrics`: one panel for each metric; `datasets`: one for each data set; or
`metrics_by_datasets` and `datasets_by_metrics`: one for each pair, the former down and the latter across.
`metrics: [accuracy, f1]` (or `metric: f1`) then chooses among the measured ones. There is one figure for each data
set, metric and method that is neither panel nor line nor place on an axis: with panels of metrics and lines of methods
one a data set, with panels of data sets one a metric.

What is drawn, and what `x` is for it (`auto`, the default: what comes first here and is there):

- `curves`: means along a swept path.
- `boxes`: the single splits of each method, grouped by a swept path, by `dataset`, or (`method`) side by side:
  quartiles, median, whiskers to the furthest split within 1.5 times the box, the others as dots.
- `bars`: means in the same groups.
- `scatter`: means against the mean of the metric `x`, a time or `fit_memory`; a method's points along a sweep are
  joined.
- `heatmap`: the means of one method over two swept paths, `x` (the last) and `y` (the one before); the brighter, the
  better; the best framed.

The keys of a table of data sets, all but `kind` and `columns` with a default:

    kind: datasets
    caption: "Data sets"
    columns:                               # facts: name, domain, and the statistics of `mlcdr datasets info`
      - {fact: name, header: Dataset}
      - {fact: cardinality, header: "Label cardinality"}
    digits: 3                              # of what is no whole number
    marks: true                            # a dagger behind the name of a data set with nominal features, a double one
                                           # behind that of one with numeric features
    notes: ["…"]
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import pydantic

from mlcdr.data.files import is_file
from mlcdr.errors import ConfigError, ResultsError, suggest_name
from mlcdr.experiment.model import Experiment, LayoutSpec, file_name, value_text
from mlcdr.experiment.problems import KeyPath, Strict, problems_of
from mlcdr.experiment.yaml_reader import Document, read_yaml, read_yaml_text
from mlcdr.tables.patterns import Formulas, naming

_FOLDER = Path(__file__).parent / "layouts"

Spread = Literal["standard_error", "std", "none"]
Scale = Literal["linear", "log"]

DIMENSIONS = ("dataset", "metric", "method")
LINE_KINDS = {"methods": "method", "datasets": "dataset", "metrics": "metric"}
"""What a line may stand for, other than a swept path."""
TIMES = ("execution_seconds", "fit_seconds", "predict_seconds")
"""The metrics that are times, the most complete first."""


def _as_texts(written: object) -> object:
    """Values as results show them: a config may write `0.1` where a sweep has `"0.1"`."""
    if not isinstance(written, dict):
        return written
    return {key: value_text(value) for key, value in written.items()}


class _Layout(Strict):
    model_config = pydantic.ConfigDict(strict=False)


Head = Annotated[str, naming("value", "path")]
Caption = Annotated[str, naming("metric", "methods", "datasets", "experiment", "reference")]
RowLabel = Annotated[str, naming("method", "value")]
Fixed = Annotated[str, naming()]
Note = Annotated[str, pydantic.AfterValidator(lambda text: " ".join(text.split()))]


class Headers(_Layout):
    """What stands above a table's columns."""

    dataset: str = "Dataset"
    method: str = "Method"
    metric: str = "Metric"
    first: Head = "{path} = {value}"
    other: Head = "{value}"
    percent_of: Head = ""


class TableLayout(_Layout):
    """A table's layout; the module's text explains each key."""

    kind: Literal["table"]
    caption: Caption = "{metric}"
    metric: str | None = None
    rows: tuple[str, ...] = ("dataset", "method")
    columns: str | tuple[str, ...]
    methods: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    headers: Headers = Headers()
    spread: Spread = "standard_error"
    digits: int | None = pydantic.Field(default=None, ge=0, le=15)
    bold: Literal["one_standard_error", "best", "none"] = "one_standard_error"
    names: dict[str, str] = pydantic.Field(default={})
    settings: dict[str, str] = pydantic.Field(default={})
    lacking: Literal["repeat", "last"] = "repeat"
    row_labels: dict[str, RowLabel] = pydantic.Field(default={})
    relative_to: str | None = None
    average_rank: bool = False
    notes: tuple[Note, ...] = ()

    @pydantic.model_validator(mode="after")
    def _ratios_have_no_spread(self) -> TableLayout:
        if self.relative_to is not None and self.spread != "none":
            raise ValueError("relative_to: the spread of a ratio is not known; write `spread: none`")
        return self

    @property
    def chosen_metrics(self) -> tuple[str, ...] | None:
        """The metrics that the layout names; None where it takes all that are measured."""
        return self.metrics if self.metric is None else (self.metric,)

    @property
    def paths(self) -> tuple[str, ...]:
        """The swept paths among rows and columns (of a settled layout)."""
        names = (*self.rows, *self.columns)
        return tuple(name for name in names if name not in DIMENSIONS)

    def settle(self, swept: Iterable[str], measured: Sequence[str] = ()) -> TableLayout:
        """The layout with its columns named, and with the swept paths that it does not name among the rows."""
        paths = list(swept)
        columns = (self.columns,) if isinstance(self.columns, str) else self.columns
        if columns == ("auto",):
            columns = tuple(paths[-1:]) or ("metric",)
        rest = [path for path in paths if path not in (*self.rows, *columns)]
        return self.model_copy(update={"rows": (*self.rows, *rest), "columns": columns})


Length = Annotated[float, pydantic.Field(ge=40, le=1000)]
"""Millimetres; matplotlib cannot draw axes and their labels in less."""


class Panel(_Layout):
    """One panel of a figure."""

    metric: str
    title: Formulas = ""
    label: Formulas = ""


class FigureLayout(_Layout):
    """A figure's layout; the module's text explains each key."""

    kind: Literal["figure"]
    draw: Literal["curves", "boxes", "bars", "scatter", "heatmap"] = "curves"
    x: str = "auto"
    y: str = "auto"
    x_label: Formulas = ""
    x_label_percent: Formulas = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    panels: (
        Literal["metrics", "datasets", "metrics_by_datasets", "datasets_by_metrics"]
        | Annotated[tuple[Panel, ...], pydantic.Field(min_length=1)]
    )
    metric: str | None = None
    metrics: tuple[str, ...] | None = None
    columns: int = pydantic.Field(default=2, ge=1)
    size: tuple[Length, Length] | None = None
    band: Spread = "standard_error"
    lines: str = "methods"
    normalise: Literal["none", "max", "min"] = "none"
    at: Annotated[dict[str, str], pydantic.BeforeValidator(_as_texts)] = pydantic.Field(default={})
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _keys_go_together(self) -> FigureLayout:
        draw = self.draw
        within = self.lines if draw == "curves" else f"{self.x}s"
        rules = {
            "metrics: the panels name their metrics themselves; leave one of the two out": (
                self.metrics is not None and not isinstance(self.panels, str)
            ),
            f"lines: only curves have lines, and `draw` is {draw}": self.lines != "methods" and draw != "curves",
            f"normalise: only curves and bars are normalised, and `draw` is {draw}": (
                self.normalise != "none" and draw not in ("curves", "bars")
            ),
            f"panels: there is one for each of the {within}, which stand within a panel, too": (
                within in self.panels_of.split("_by_")
            ),
            f"x: must be a swept path, and not {self.x}, where `draw` is {draw}": (
                draw in ("curves", "heatmap") and self.x in ("dataset", "method")
            ),
            f"y: only a heat map has a swept path there, and `draw` is {draw}": self.y != "auto" and draw != "heatmap",
        }
        for text, is_broken in rules.items():
            if is_broken:
                raise ValueError(text)
        return self

    @property
    def chosen_metrics(self) -> tuple[str, ...] | None:
        """The metrics that the layout names; None where it takes all that are measured."""
        if not isinstance(self.panels, str):
            return tuple(panel.metric for panel in self.panels)
        return self.metrics if self.metric is None else (self.metric,)

    def settle(self, swept: Mapping[str, int], measured: Sequence[str] = ()) -> FigureLayout:
        """The layout with its axes named, of `swept`, path → number of values, and the metrics that are measured.

        An axis for which there is nothing stays `auto`.
        """
        free = [path for path in swept if path not in self.at and path != self.lines]
        several = [path for path in free if swept[path] > 1]
        candidates = {
            "heatmap": (several if len(several) > 1 else free)[::-1],
            "scatter": [name for name in TIMES if name in measured],
            "curves": (several or free)[::-1],
        }.get(self.draw, [*several[::-1], "method"])
        x, y = self.x, self.y
        if x == "auto":
            x = next((each for each in candidates if each != y), "auto")
        if y == "auto" and self.draw == "heatmap":
            y = next((each for each in candidates if each != x), "auto")
        return self.model_copy(update={"x": x, "y": y})

    @property
    def paths(self) -> tuple[str, ...]:
        """The swept paths that axes, lines and `at` stand for (of a settled layout)."""
        axes = []
        if self.draw != "scatter" and self.x not in ("method", "dataset"):
            axes.append(self.x)
        if self.draw == "heatmap":
            axes.append(self.y)
        if self.lines not in LINE_KINDS:
            axes.append(self.lines)
        return (*axes, *self.at)

    @property
    def apart(self) -> tuple[str, ...]:
        """What each figure is of (of a settled layout): the dimensions that no panel, line or axis stands for."""
        shown = {self.x, *(kind.removesuffix("s") for kind in self.panels_of.split("_by_"))}
        if self.draw != "heatmap":
            shown.add(LINE_KINDS.get(self.lines, ""))
        return tuple(each for each in DIMENSIONS if each not in shown)

    @property
    def panels_of(self) -> str:
        """What there is a panel for: `metrics`, also where they are listed, `datasets`, or each pair of the two."""
        return self.panels if isinstance(self.panels, str) else "metrics"


class FactColumn(_Layout):
    """One column of a table of data sets."""

    fact: str
    header: Fixed = ""


class DatasetsLayout(_Layout):
    """The layout of a table of data sets; the module's text explains each key."""

    kind: Literal["datasets"]
    caption: Fixed = "Data sets"
    columns: tuple[FactColumn, ...] = pydantic.Field(min_length=1)
    digits: int = pydantic.Field(default=3, ge=0, le=15)
    marks: bool = False
    notes: tuple[Note, ...] = ()


_Model = TypeVar("_Model", bound=_Layout)


def names() -> list[str]:
    """The packaged layouts, sorted."""
    return sorted(path.relative_to(_FOLDER).with_suffix("").as_posix() for path in _FOLDER.rglob("*.yaml"))


def stem(name: str) -> str:
    """The file stem of what is made in a layout: its name with `_` for `/`, or a layout file's own stem."""
    return file_name(Path(name).stem if name.endswith((".yaml", ".yml")) else name)


def stems(asked: Sequence[LayoutSpec]) -> list[str]:
    """A file stem for each entry: the layout's, with the metric where the layout comes twice, then a number."""
    plain = [stem(entry.layout) for entry in asked]
    longer = []
    for name, entry in zip(plain, asked, strict=True):
        if entry.metric and plain.count(name) > 1:
            name += f"_{file_name(entry.metric)}"
        longer.append(name)
    return number_repeated(longer)


def number_repeated(names: Sequence[str]) -> list[str]:
    """The names, each of those that come twice with the next number that makes it differ from all others."""
    counts, taken = Counter(names), set(names)
    different = []
    for name in names:
        if counts[name] > 1:
            numbered = (f"{name}_{k}" for k in itertools.count(1))
            name = next(each for each in numbered if each not in taken)
            taken.add(name)
        different.append(name)
    return different


def load(model: type[_Model], entry: LayoutSpec) -> _Model:
    """The layout that an entry of `tables:` or `figures:` names, with the entry's own keys put over the file's.

    Parameters
    ----------
    model : TableLayout, FigureLayout or DatasetsLayout
    entry : LayoutSpec
        The layout's name, perhaps a metric, perhaps keys of the layout.

    Raises
    ------
    ResultsError
        When there is no such layout, or a key or value in it is wrong: the file and the key are named.
    """
    (kind,) = get_args(model.model_fields["kind"].annotation)
    own = dict(entry.options)
    if entry.metric is not None:
        own["metric"] = entry.metric
    document = Document({}, {}) if entry.is_whole else _read(entry.layout, kind)
    written = {**document.data, **own}

    def locate(path: KeyPath) -> str:
        in_entry = entry.is_whole or (bool(path) and path[0] in own)
        return f"the experiment's entry with layout {entry.layout}" if in_entry else str(document.place(path))

    if written.get("kind") != kind:
        raise ResultsError(f"{locate(('kind',))}: kind: is {written.get('kind')!r}; a {kind} was asked for")
    try:
        return model.model_validate(written)
    except pydantic.ValidationError as error:
        lines = [f"{locate(problem.path)}: {problem}" for problem in problems_of(error)]
        raise ResultsError("\n".join(lines)) from error


def write_out(experiment: Experiment) -> Experiment:
    """The experiment as a results folder holds it: layouts of the user's own files stand in their entries, whole.

    So a folder shows no other files, wherever it is.

    Raises
    ------
    ResultsError
        When a layout file is missing or cannot be read.
    """
    tables = tuple(_write_out(entry, "table") for entry in experiment.tables)
    figures = tuple(_write_out(entry, "figure") for entry in experiment.figures)
    return experiment.model_copy(update={"tables": tables, "figures": figures})


def _write_out(entry: LayoutSpec, kind: str) -> LayoutSpec:
    if not entry.is_file:
        return entry
    options = {**_read(entry.layout, kind).data, **entry.options}
    metric = options.pop("metric", None)
    return LayoutSpec(layout=stem(entry.layout), metric=entry.metric or metric, options=options)


def _read(name: str, kind: str) -> Document:
    """The layout file, found and read; where there is none, those of the kind that is wanted are listed."""
    own = name.endswith((".yaml", ".yml"))
    if own and not is_file(name):
        raise ResultsError(f"no layout file {name}")
    if not own and name not in names():
        raise ResultsError(f"unknown layout {name!r}{_suggest(name, kind)}")
    try:
        document = read_yaml(name) if own else read_yaml_text(_packaged_text(name), f"layout {name}")
    except ConfigError as error:
        raise ResultsError(str(error)) from error
    if not isinstance(document.data, dict):
        raise ResultsError(f"{name}: holds no layout (a mapping that begins with `kind: table` or `kind: figure`)")
    return document


def _packaged_text(name: str) -> str:
    return (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def _suggest(name: str, kind: str) -> str:
    """The end of a message: the packaged layouts of a kind, the nearest first."""
    known = [each for each in names() if f"kind: {kind}\n" in _packaged_text(each)]
    generic = ", ".join(each for each in known if "/" not in each)
    hint = suggest_name(name, known)
    return f"{hint} (known: {generic}, and those of the papers' tables; or your own file, NAME.yaml)"
