"""Layouts: how a paper's table or figure looks, as data.

A layout is a small YAML file. The packaged ones are named by their path below `mlcdr/tables/layouts`, without the
ending: `chen_lin_2012/table3`, `generic`. To write your own, copy one, change it, and name the file in the experiment
(relative to the experiment's file): `tables: [{layout: my_table.yaml, metric: hamming_loss}]`. Any key of a layout can
also stand in the experiment's entry and then takes precedence: `{layout: generic, metric: accuracy, digits: 3}`.

A table's keys, all but `kind` and `columns` with a default:

    kind: table
    caption: "Test {metric} of {methods}"  # {metric} {methods} {datasets} {experiment}; $…$ is mathematics in LaTeX
    metric: hamming_loss                   # when the entry names none
    rows: [dataset, method]                # dataset, method, metric or swept paths, outermost first
    columns: label_space.n_components      # a swept path, or dataset, method, metric; or `auto`, which is the last
                                           # swept path, or the metrics where nothing is swept; or a list of swept
                                           # paths that mean one thing, of which each method has its own
    methods: [PLST, CPLST]                 # only these, in this order; all of the experiment when left out
    metrics: [accuracy, f1]                # likewise, where `metric` is among the rows or columns
    headers: {dataset: Dataset, method: Algorithm, first: "$M$ = {value}", other: "{value}", percent_of: "$K$"}
    spread: standard_error                 # or std, none
    digits: 4                              # without: 4, and of times as many as show two of the shortest
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
    size: [170, 130]                       # millimetres; when left out, 170 wide and 58 for each row of panels
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
- `scatter`: means against the mean of the metric `x`, a time; a method's points along a sweep are joined.
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

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic

from mlcdr.config.yaml_reader import Document, read_yaml, read_yaml_text
from mlcdr.errors import ConfigError, ResultsError, suggest_name
from mlcdr.experiment.model import LayoutSpec, method_text
from mlcdr.experiment.problems import describe_finding

_FOLDER = Path(__file__).parent / "layouts"

Spread = Literal["standard_error", "std", "none"]
Scale = Literal["linear", "log"]
Dimension = Literal["dataset", "metric", "method"]

LINE_KINDS = {"methods": "method", "datasets": "dataset", "metrics": "metric"}
"""What a line may stand for, other than a swept path."""
TIMES = ("execution_seconds", "fit_seconds", "predict_seconds")
"""The metrics that are times, the most complete first."""


def _as_texts(written: object) -> object:
    """Values as results show them: a config may write `0.1` where a sweep has `"0.1"`."""
    return {key: method_text(value) for key, value in written.items()} if isinstance(written, dict) else written


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Headers(_Strict):
    """What stands above a table's columns."""

    dataset: str = "Dataset"
    method: str = "Method"
    metric: str = "Metric"
    first: str = "{path} = {value}"
    other: str = "{value}"
    percent_of: str = ""


class TableLayout(_Strict):
    """A table's layout; the module's text explains each key."""

    kind: Literal["table"]
    caption: str = "{metric}"
    metric: str | None = None
    rows: tuple[str, ...] = ("dataset", "method")
    columns: str | tuple[str, ...]
    methods: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    headers: Headers = Headers()
    spread: Spread = "standard_error"
    digits: int | None = pydantic.Field(default=None, ge=0, le=15)
    bold: Literal["one_standard_error", "best", "none"] = "one_standard_error"
    names: dict[str, str] = {}
    settings: dict[str, str] = {}
    lacking: Literal["repeat", "last"] = "repeat"
    row_labels: dict[str, str] = {}
    relative_to: str | None = None
    average_rank: bool = False
    notes: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _ratios_have_no_spread(self) -> TableLayout:
        if self.relative_to is not None and self.spread != "none":
            raise ValueError("relative_to: the spread of a ratio is not known; write `spread: none`")
        return self

    def settle(self, swept: Iterable[str], measured: Sequence[str] = ()) -> TableLayout:
        """The layout with its columns named, and with the swept paths that it does not name among the rows."""
        columns = (self.columns,) if isinstance(self.columns, str) else self.columns
        if self.columns == "auto":
            columns = tuple(swept)[-1:] or ("metric",)
        rest = (path for path in swept if path not in (*self.rows, *columns))
        return self.model_copy(update={"rows": (*self.rows, *rest), "columns": columns})


class Panel(_Strict):
    """One panel of a figure."""

    metric: str
    title: str = ""
    label: str = ""


class FigureLayout(_Strict):
    """A figure's layout; the module's text explains each key."""

    kind: Literal["figure"]
    draw: Literal["curves", "boxes", "bars", "scatter", "heatmap"] = "curves"
    x: str = "auto"
    y: str = "auto"
    x_label: str = ""
    x_label_percent: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    panels: (
        Literal["metrics", "datasets", "metrics_by_datasets", "datasets_by_metrics"]
        | Annotated[tuple[Panel, ...], pydantic.Field(min_length=1)]
    )
    metric: str | None = None
    metrics: tuple[str, ...] | None = None
    columns: int = pydantic.Field(default=2, ge=1)
    size: tuple[pydantic.PositiveFloat, pydantic.PositiveFloat] | None = None
    band: Spread = "standard_error"
    lines: str = "methods"
    normalise: Literal["none", "max", "min"] = "none"
    at: Annotated[dict[str, str], pydantic.BeforeValidator(_as_texts)] = {}
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _keys_go_together(self) -> FigureLayout:
        if self.metrics is not None and not isinstance(self.panels, str):
            raise ValueError("metrics: the panels name their metrics themselves; leave one of the two out")
        if self.lines != "methods" and self.draw != "curves":
            raise ValueError(f"lines: only curves have lines, and `draw` is {self.draw}")
        if self.normalise != "none" and self.draw not in ("curves", "bars"):
            raise ValueError(f"normalise: only curves and bars are normalised, and `draw` is {self.draw}")
        panels = self.panels if isinstance(self.panels, str) else "metrics"
        taken = self.lines if self.draw == "curves" else "datasets" if self.x == "dataset" else ""
        if taken and taken in panels:
            raise ValueError(f"panels: there is one for each of the {taken}, which stand within a panel, too")
        if self.draw in ("curves", "heatmap") and self.x in ("dataset", "method"):
            raise ValueError(f"x: must be a swept path, and not {self.x}, where `draw` is {self.draw}")
        if self.y != "auto" and self.draw != "heatmap":
            raise ValueError(f"y: only a heat map has a swept path there, and `draw` is {self.draw}")
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
        several = [path for path, n in swept.items() if n > 1 and path not in self.at and path != self.lines]
        free = [path for path in swept if path not in self.at and path != self.lines]
        found = several if len(several) > (self.draw == "heatmap") else free
        x, y = self.x, self.y
        if self.draw == "heatmap":
            x = next((path for path in found[::-1] if path != y), x) if x == "auto" else x
            y = next((path for path in found[::-1] if path != x), y) if y == "auto" else y
        elif x == "auto" and self.draw == "scatter":
            x = next((name for name in TIMES if name in measured), x)
        elif x == "auto" and self.draw == "curves":
            x = found[-1] if found else x
        elif x == "auto":
            x = several[-1] if several else "method"
        return self.model_copy(update={"x": x, "y": y})

    @property
    def paths(self) -> tuple[str, ...]:
        """The swept paths that axes, lines and `at` stand for (of a settled layout)."""
        axes = {"curves": (self.x,), "scatter": (), "heatmap": (self.x, self.y)}.get(
            self.draw, () if self.x in ("method", "dataset") else (self.x,)
        )
        lines = () if self.lines in LINE_KINDS else (self.lines,)
        return (*axes, *lines, *self.at)

    @property
    def apart(self) -> tuple[Dimension, ...]:
        """What each figure is of (of a settled layout): the dimensions that no panel, line or axis stands for."""
        panels = self.panels if isinstance(self.panels, str) else "metrics"
        gone = {
            "metrics": {"metric"}, "datasets": {"dataset"},
            "metrics_by_datasets": {"metric", "dataset"}, "datasets_by_metrics": {"metric", "dataset"},
        }[panels]  # fmt: skip
        if self.draw != "heatmap":
            gone |= {LINE_KINDS.get(self.lines, "")} | ({"dataset"} if self.x == "dataset" else set())
        every: tuple[Dimension, ...] = ("dataset", "metric", "method")
        return tuple(each for each in every if each not in gone)


class FactColumn(_Strict):
    """One column of a table of data sets."""

    fact: str
    header: str = ""


class DatasetsLayout(_Strict):
    """The layout of a table of data sets; the module's text explains each key."""

    kind: Literal["datasets"]
    caption: str = "Data sets"
    columns: tuple[FactColumn, ...] = pydantic.Field(min_length=1)
    digits: int = pydantic.Field(default=3, ge=0, le=15)
    marks: bool = False
    notes: tuple[str, ...] = ()


_LONGEST = 100  # bytes of a part of a file's name

_Model = TypeVar("_Model", TableLayout, FigureLayout, DatasetsLayout)
_KINDS: dict[type[_Strict], str] = {TableLayout: "table", FigureLayout: "figure", DatasetsLayout: "datasets"}


def names() -> list[str]:
    """The packaged layouts, sorted."""
    return sorted(path.relative_to(_FOLDER).with_suffix("").as_posix() for path in _FOLDER.rglob("*.yaml"))


def load_table(entry: LayoutSpec) -> TableLayout:
    """The layout that an entry of `tables:` names, with the entry's own keys put over the file's.

    Parameters
    ----------
    entry : LayoutSpec
        The layout's name, perhaps a metric, perhaps keys of the layout.

    Raises
    ------
    ResultsError
        When there is no such layout, or a key or value in it is wrong: the file and the key are named.
    """
    return _load(TableLayout, entry)


def load_figure(entry: LayoutSpec) -> FigureLayout:
    """The layout that an entry of `figures:` names; otherwise as `load_table`."""
    return _load(FigureLayout, entry)


def load_datasets(entry: LayoutSpec) -> DatasetsLayout:
    """The layout of a table of data sets that an entry names; otherwise as `load_table`."""
    return _load(DatasetsLayout, entry)


def stem(name: str) -> str:
    """The file stem of what is made in a layout: its name with `_` for `/`, or a layout file's own stem."""
    return file_name(Path(name).stem if name.endswith((".yaml", ".yml")) else name)


def stems(asked: Sequence[LayoutSpec]) -> list[str]:
    """A file stem for each entry: the layout's, with the metric where the layout comes twice, then a number."""
    plain = [stem(entry.layout) for entry in asked]
    longer = [
        f"{stem}_{file_name(entry.metric)}" if plain.count(stem) > 1 and entry.metric else stem
        for stem, entry in zip(plain, asked, strict=True)
    ]
    return [f"{s}_{longer[: k + 1].count(s)}" if longer.count(s) > 1 else s for k, s in enumerate(longer)]


def file_name(text: str) -> str:
    """`text` as part of a file's name: other than letters, digits, `.`, `-` and `_` becomes `_`; a long one is cut."""
    plain = re.sub(r"[^\w.-]", "_", text)
    if len(plain.encode()) <= _LONGEST:
        return plain
    return (
        f"{plain[: _LONGEST // 4]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"  # a letter has four bytes at most
    )


def _load(model: type[_Model], entry: LayoutSpec) -> _Model:
    name, wanted = entry.layout, _KINDS[model]
    document = _read(name, wanted)
    own = entry.options if entry.metric is None else {**entry.options, "metric": entry.metric}
    try:
        return model.model_validate({**document.data, **own})
    except pydantic.ValidationError as error:
        errors = error.errors()
        of_kind = [each for each in errors if each["loc"] == ("kind",)]  # of another kind nothing else matters
        problems = [_problem(document, name, model, own, each) for each in of_kind or errors]
        raise ResultsError("\n".join(problems)) from error


def _problem(document: Document, name: str, model: type[_Model], own: Mapping[str, Any], error: Any) -> str:
    """One line for one of pydantic's errors: where, the key, what is wrong."""
    location: tuple[str | int, ...] = error["loc"]
    where = (
        f"the experiment's entry with layout {name}" if location and location[0] in own else document.place(location)
    )
    key = ".".join(map(str, location))
    if location == ("kind",):
        kind = None if error["type"] == "missing" else error["input"]
        return f"{where}: kind: is {kind!r}; a {_KINDS[model]} was asked for"
    if error["type"] == "extra_forbidden":
        inner: dict[str, type[_Strict]] = {"headers": Headers, "panels": Panel}
        known = inner.get(str(location[0]), model) if len(location) > 1 else model
        return f"{where}: {key}: {describe_finding(error, known.model_fields)}"
    if not location:  # of a model's own checks, which name the key
        return f"{where}: {error['msg'].removeprefix('Value error, ')}"
    return f"{where}: {key}: {describe_finding(error)}"


def _of_kind(name: str, kind: str) -> bool:
    content = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return re.search(rf"^kind: {kind}\b", content, re.MULTILINE) is not None


def _read(name: str, wanted: str | None = None) -> Document:
    """The layout file, found and read; where there is none, those of the kind that is wanted are listed."""
    own = name.endswith((".yaml", ".yml"))
    if own and not Path(name).is_file():
        raise ResultsError(f"no layout file {name}")
    if not own and name not in names():
        known = [each for each in names() if wanted is None or _of_kind(each, wanted)]
        hint = suggest_name(name, known)
        listing = f"known: {', '.join(each for each in known if '/' not in each)}, and those of the papers' tables"
        raise ResultsError(f"unknown layout {name!r}{hint} ({listing}; or your own file, NAME.yaml)")
    packaged = _FOLDER / f"{name}.yaml"
    try:
        document = read_yaml(name) if own else read_yaml_text(packaged.read_text(encoding="utf-8"), f"layout {name}")
    except ConfigError as error:
        raise ResultsError(str(error)) from error
    if not isinstance(document.data, dict):
        raise ResultsError(f"{name}: holds no layout (a mapping that begins with `kind: table` or `kind: figure`)")
    return document
