"""Layouts: how a paper's table or figure looks, as data.

A layout is a small YAML file. The packaged ones are named by their path below `mlcdr/reporting/layouts`, without the
ending: `chen_lin_2012/table3`, `generic`. To write your own, copy one, change it, and name the file in the experiment
(relative to the experiment's file): `tables: [{layout: my_table.yaml, metric: hamming_loss}]`. Any key of a layout can
also stand in the experiment's entry and then takes precedence: `{layout: generic, metric: accuracy, digits: 3}`.

A table's keys, all but `kind` and `columns` with a default:

    kind: table
    caption: "Test {metric} of {methods}"  # {metric} {methods} {datasets} {experiment}; $…$ is mathematics in LaTeX
    metric: hamming_loss                   # when the entry names none
    rows: [dataset, method]                # dataset, method, metric or swept paths, outermost first
    columns: label_space.n_components      # a swept path, or dataset, method, metric; or `auto`, which is the last
                                           # swept path, or the metrics where nothing is swept
    methods: [PLST, CPLST]                 # only these, in this order; all of the experiment when left out
    headers: {dataset: Dataset, method: Algorithm, first: "$M$ = {value}", other: "{value}", percent_of: "$K$"}
    spread: standard_error                 # or std, none
    digits: 4
    bold: one_standard_error               # or best, none
    names: {scene: "scene‡", hamming_loss: HL}   # how data sets, methods and metrics are called in it
    settings: {IDSR: "({dual_space.n_features},{dual_space.n_labels})"}   # set behind a number that is the best of a
                                           # grid (`tune: {scope: test}`), with the values taken (without percent signs)
    notes: ["…"]                           # set below the table, before those that the table adds itself

`rows` and `columns` together must hold dataset and method; swept paths that stand in neither are added to the rows.
`first` heads the first column and `other` the rest; `percent_of` stands behind a percentage in the first ("M = 20% K").
In `settings`, `{path:features}` is a share of the smaller of features and labels, in percent of the features.
Bold are, of each data set, metric and sweep value of the column, all cells within one standard error of the best
(`one_standard_error`: no worse than the best mean and its own standard error), or only the best ones (`best`).

A figure's keys, all but `kind`, `x` and `panels` with a default:

    kind: figure
    x: label_space.n_components            # the swept path along the horizontal axis
    x_label: "Number of dimensions $M$"
    x_label_percent: "… in percent of $K$" # instead of x_label where the values are percentages
    panels:                                # row by row
      - {metric: hamming_loss, title: "(a) Hamming loss", label: "Hamming loss"}
    columns: 2                             # panels side by side
    size: [170, 130]                       # millimetres
    band: standard_error                   # or std, none
    methods: [PBR, OCCA, PLST, CPLST]      # these first in the legend, then the others
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pydantic

from mlcdr.errors import ConfigError, ResultsError, did_you_mean
from mlcdr.experiment.yaml_reader import Document, read_yaml_text

if TYPE_CHECKING:  # its home moved in Python 3.11
    from importlib.resources.abc import Traversable

Spread = Literal["standard_error", "std", "none"]


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
    columns: str
    methods: tuple[str, ...] | None = None
    headers: Headers = Headers()
    spread: Spread = "standard_error"
    digits: int = pydantic.Field(default=4, ge=0, le=15)
    bold: Literal["one_standard_error", "best", "none"] = "one_standard_error"
    names: dict[str, str] = {}
    settings: dict[str, str] = {}
    notes: tuple[str, ...] = ()


class Panel(_Strict):
    """One panel of a figure."""

    metric: str
    title: str = ""
    label: str = ""


class FigureLayout(_Strict):
    """A figure's layout; the module's text explains each key."""

    kind: Literal["figure"]
    x: str
    x_label: str = ""
    x_label_percent: str = ""
    panels: tuple[Panel, ...] = pydantic.Field(min_length=1)
    columns: int = pydantic.Field(default=2, ge=1)
    size: tuple[pydantic.PositiveFloat, pydantic.PositiveFloat] = (170.0, 130.0)
    band: Spread = "standard_error"
    methods: tuple[str, ...] = ()


_Model = TypeVar("_Model", TableLayout, FigureLayout)


def names() -> list[str]:
    """The packaged layouts, sorted."""
    found: list[str] = []

    def visit(folder: Traversable, prefix: str) -> None:
        for child in folder.iterdir():
            if child.is_dir():
                visit(child, f"{prefix}{child.name}/")
            elif child.name.endswith(".yaml"):
                found.append(prefix + child.name.removesuffix(".yaml"))

    visit(_packaged(), "")
    return sorted(found)


def load_table(entry: Mapping[str, Any]) -> TableLayout:
    """The layout that an entry of `tables:` names, with the entry's own keys put over the file's.

    Parameters
    ----------
    entry : mapping
        `layout`, perhaps `metric`, perhaps keys of the layout.

    Raises
    ------
    ResultsError
        When there is no such layout, or a key or value in it is wrong: the file and the key are named.
    """
    return _load(TableLayout, entry)


def load_figure(entry: Mapping[str, Any]) -> FigureLayout:
    """The layout that an entry of `figures:` names; otherwise as `load_table`."""
    return _load(FigureLayout, entry)


def stem(entry: Mapping[str, Any]) -> str:
    """The file stem of an entry's output: the layout's name with `_` for `/`, or a layout file's own stem."""
    name = str(entry.get("layout"))
    return file_name(Path(name).stem if name.endswith((".yaml", ".yml")) else name)


def file_name(text: str) -> str:
    """`text` as part of a file's name: whatever is no letter, digit, `.`, `-` or `_` becomes `_`."""
    return re.sub(r"[^\w.-]", "_", text)


def _packaged() -> Traversable:
    return files("mlcdr.reporting") / "layouts"


def _load(model: type[_Model], entry: Mapping[str, Any]) -> _Model:
    name = entry.get("layout")
    if not isinstance(name, str):
        raise ResultsError(f"an entry of tables or figures needs `layout: NAME`; known: {', '.join(names())}")
    document = _read(name)
    wanted = "table" if model is TableLayout else "figure"
    kind = document.data.get("kind")
    if kind != wanted:
        raise ResultsError(f"{document.place(('kind',))}: kind: is {kind!r}; a {wanted} was asked for")
    own = {key: value for key, value in entry.items() if key not in ("layout", "metric")}
    if model is TableLayout and entry.get("metric") is not None:
        own["metric"] = entry["metric"]
    try:
        return model.model_validate({**document.data, **own})
    except pydantic.ValidationError as error:
        problems = [_problem(document, name, model, own, one) for one in error.errors()]
        raise ResultsError("\n".join(problems)) from error


def _problem(document: Document, name: str, model: type[_Model], own: Mapping[str, Any], error: Any) -> str:
    """One line for one of pydantic's errors: where, the key, what is wrong."""
    location: tuple[str | int, ...] = error["loc"]
    where = (
        f"the experiment's entry with layout {name}" if location and location[0] in own else document.place(location)
    )
    key = ".".join(map(str, location))
    if error["type"] == "extra_forbidden":
        inner: dict[str, type[_Strict]] = {"headers": Headers, "panels": Panel}
        known = inner.get(str(location[0]), model) if len(location) > 1 else model
        return f"{where}: {key}: unknown key{did_you_mean(str(location[-1]), known.model_fields)}"
    return f"{where}: {key}: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _read(name: str) -> Document:
    """The layout file, found and read."""
    if name.endswith((".yaml", ".yml")):
        if not Path(name).is_file():
            raise ResultsError(f"no layout file {name}")
        source, content = name, Path(name).read_bytes()
    elif name not in names():
        known = names()
        hint = did_you_mean(name, known)
        raise ResultsError(f"unknown layout {name!r}{hint} (known: {', '.join(known)}; or your own file, NAME.yaml)")
    else:
        source, content = f"layout {name}", _packaged().joinpath(*f"{name}.yaml".split("/")).read_bytes()
    try:
        document = read_yaml_text(content.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        raise ResultsError(f"{source}: not UTF-8 text") from error
    except ConfigError as error:
        raise ResultsError(str(error)) from error
    if not isinstance(document.data, dict):
        raise ResultsError(f"{source}: holds no layout (a mapping that begins with `kind: table` or `kind: figure`)")
    return document
