"""Data sets, metrics, tables and figures of an experiment, and the short forms in which a config writes them.

An entry is a name, or a name with its options: `yeast`, `{yeast: {missing: mean}}`, `{f1: {as: mine}}`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, model_serializer

from mlcdr.data.files import Part, is_path, is_there, short_name
from mlcdr.data.forms import MEMORY, OPENML, SOURCES, WITHOUT_FILES, option_problems
from mlcdr.data.moved import find_again, is_results_folder
from mlcdr.data.synthetic import Synthetic
from mlcdr.errors import DataError, UserError, describe, list_known, suggest_name
from mlcdr.experiment.draft import draft_of
from mlcdr.experiment.problems import KeyPath, Problem, Strict, find_by, refusal
from mlcdr.methods.registry import import_target, judge_import
from mlcdr.metrics import METRICS, Metric, hint, of_function, resolve, target
from mlcdr.metrics.names import label_of

SYNTHETIC = "synthetic"
"""A data set with this name, or with this as its only option, is generated, not read."""

MAX_LABEL = 100
"""The most characters of a name that the user gives: of a method, or of a metric in the results."""


def check_line(text: str) -> str:
    """A text, if it is one line.

    Raises
    ------
    ValueError
    """
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise ValueError(f"{text!r} must be one line of text without spaces around it")
    return text


def check_label(text: str) -> str:
    """A text, if it can name columns, folders and files of the results.

    Raises
    ------
    ValueError
    """
    check_line(text)
    if len(text) > MAX_LABEL:
        raise ValueError(f"{text[:20] + '…'!r} has {len(text)} characters; {MAX_LABEL} at most, as it names files")
    return text


class DatasetSpec(Strict):
    """A data set to run on: its name (or path), and options for `load_dataset` (`missing`, `labels`, ...)."""

    name: str
    params: dict[str, Any] = {}

    @property
    def source(self) -> str | None:
        """The name or path by which its files are looked up; None where it has none."""
        has_no_files = not self.params.keys().isdisjoint(WITHOUT_FILES)
        if has_no_files or self.name.startswith(OPENML):
            return None
        return str(self.params.get("path", self.name))

    def short_name(self, part: Part = "full") -> str:
        """Its name in the results, as far as it is known without its files."""
        if self.source is None or "path" in self.params:
            return self.name
        return short_name(self.name, part)

    def with_path(self, change: Callable[[str], str]) -> "DatasetSpec":
        """The same with its path changed, if it is read from one."""
        if "path" in self.params:
            return self.model_copy(update={"params": {**self.params, "path": change(self.params["path"])}})
        if is_path(self.name) and self.params.keys().isdisjoint(SOURCES):
            return self.model_copy(update={"name": change(self.name)})
        return self

    @model_serializer
    def plain(self) -> Any:
        """As a config writes it."""
        return {self.name: self.params} if self.params else self.name


class MetricSpec(Strict):
    """A metric, its options, and the label it bears in the results."""

    name: str
    params: dict[str, Any] = {}
    label: str

    @model_serializer
    def plain(self) -> Any:
        """As a config writes it."""
        options = {**self.params}
        if self.label != self.name:
            options["as"] = self.label
        return {self.name: options} if options else self.name


class LayoutSpec(Strict):
    """A table or a figure: the name (or path) of its layout, the metric it shows, and the layout's own options."""

    layout: str
    metric: str | None = None
    options: dict[str, Any] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the options are a whole layout, and `layout` only its name."""
        return "kind" in self.options

    @property
    def is_file(self) -> bool:
        """Whether the layout is a file of the user's."""
        return self.layout.endswith((".yaml", ".yml")) and not self.is_whole

    def showing(self, labels: Sequence[str]) -> "LayoutSpec":
        """The layout with its metric's name as in the results, which are listed, if another name of it is written."""
        if self.metric is None or self.metric in labels:
            return self
        label = label_of(self.metric)
        return self.model_copy(update={"metric": label}) if label in labels else self

    @model_serializer
    def plain(self) -> dict[str, Any]:
        """As a config writes it."""
        if self.metric is None:
            return {"layout": self.layout, **self.options}
        return {"layout": self.layout, "metric": self.metric, **self.options}


def name_and_options(written: Any, what: str) -> tuple[str, Any, KeyPath]:
    """The name and the options in `name` or `{name: options}`, and the key at which the options stand."""
    if isinstance(written, str):
        return written, {}, ()
    if isinstance(written, dict) and len(written) == 1:
        ((name, options),) = written.items()
        return name, {} if options is None else options, (name,)
    keys = f" of {len(written)} keys" if isinstance(written, dict) else ""
    right = f"must be the name of a {what}, or `{{name: {{option: value}}}}`"
    raise ValueError(f"{right}, found {describe(written)}{keys}")


def check_mapping(options: Any, what: str, at: KeyPath) -> None:
    """Refuse options, which stand at `at`, that are no mapping.

    Raises
    ------
    ValidationError
    """
    if not isinstance(options, dict):
        raise refusal(Problem(at, f"the options of a {what} are a mapping, found {describe(options)}"))


# -------------------------------------------------------------------- data sets


def _read_dataset(written: Any, info: ValidationInfo) -> DatasetSpec:
    """A data set from `name` or `{name: {option: value}}`."""
    if isinstance(written, DatasetSpec):
        return written
    draft = draft_of(info)
    name, options, at = name_and_options(written, "data set")
    if name == SYNTHETIC:
        return _synthetic(options, at)
    check_mapping(options, "data set", at)
    if name in draft.held:
        _refuse_own_options(name, options, at)
        options = {MEMORY: draft.held[name]}
    problems = [Problem((*at, key), text) for key, text in option_problems(options)]
    problems += find_by(check_line, name, at)
    if problems:
        raise refusal(*problems)
    if SYNTHETIC in options:
        others = ", ".join(key for key in options if key != SYNTHETIC)
        if others:
            text = f"a synthetic data set is not read, so it has no other option (found: {others})"
            raise refusal(Problem(at, text))
        made = _synthetic(options[SYNTHETIC], (*at, SYNTHETIC))
        return made.model_copy(update={"name": name})
    if "function" in options:
        problems = find_by(_judge_function, options["function"], (*at, "function"))
    if problems:
        raise refusal(*problems)
    return DatasetSpec(name=name, params=options).with_path(partial(_place_of_data, folder=draft.folder))


def _refuse_own_options(name: str, options: Mapping[str, Any], at: KeyPath) -> None:
    """Refuse options of a data set that is given in memory, but for where it would else be read from."""
    own = [f"{key}={value!r}" for key, value in options.items() if key not in SOURCES]
    if own:
        right = f"datasets={{{name!r}: mlcdr.Dataset.of(X, Y, {', '.join(own)})}}"
        raise refusal(Problem(at, f"options cannot be set for data given in memory: {right}"))


def _judge_function(name: str) -> None:
    judge_import(f"function {name!r}", name.rpartition(".")[0])


def _synthetic(options: Any, at: KeyPath) -> DatasetSpec:
    """A generated data set, named by its options."""
    check_mapping(options, "synthetic data set", at)
    try:
        made = Synthetic.parse(options)
    except DataError as error:
        raise refusal(Problem(at, str(error))) from None
    return DatasetSpec(name=made.name, params={SYNTHETIC: options})


def _place_of_data(path: str, folder: Path) -> str:
    """The path of a data set of the config in `folder`, which may be a results folder that was moved."""
    return find_again(path, folder) if is_results_folder(folder) else beside(path, folder)


def beside(path: str, folder: Path) -> str:
    """A relative path as an absolute one if it exists in `folder` or the working directory; else as it is."""
    if Path(path).is_absolute() or path.startswith("~"):
        return path
    for place in (folder, Path.cwd()):
        if is_there(place / path):
            return str(place / path)
    return path


# -------------------------------------------------------------------- metrics


def _read_metric(written: Any) -> MetricSpec:
    """A metric from `name`, `{name: {option: value, as: label}}` or `{name: value}` (for its first option)."""
    if isinstance(written, MetricSpec):
        return written
    written_name, options, at = name_and_options(written, "metric")
    name, meant = resolve(written_name)
    own = target(name)
    if own is not None:
        metric = _import_metric(name, own, at)
        meant = {**metric.parameters}
        usual_label = name.rpartition(".")[2]
    elif name in METRICS:
        metric, usual_label = METRICS[name], ""
    else:
        listing = list_known(METRICS, "`mlcdr metrics`")
        raise refusal(Problem(at, f"unknown metric {name!r}{hint(name)} ({listing}; or a dotted path to a function)"))
    is_short = not isinstance(options, dict)
    if is_short:
        if not metric.parameters:
            raise refusal(Problem(at, f"{name} has no option (but `as: label`), found {describe(options)}"))
        options = {next(iter(metric.parameters)): options}
    label, params = label_and_params(options)
    params = {**meant, **params}
    problems = find_by(_check_metric_label, label, (*at, "as"))
    for key, value in params.items():
        why = _find_wrong_option(metric, key, value)
        if why:
            problems.append(Problem(at if is_short else (*at, key), why))
    if problems:
        raise refusal(*problems)
    label = label or usual_label or metric.label_of(params)
    return MetricSpec(name=name, params=params, label=label)


def _import_metric(name: str, path: str, at: KeyPath) -> Metric:
    """The metric that a function of one's own is; its direction is its only option, and is recorded."""
    try:
        return of_function(name, import_target(f"metric {name!r}", path))
    except UserError as error:
        raise refusal(Problem(at, str(error))) from None


def label_and_params(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is written as the label (`as`), and the other options."""
    return options.get("as"), {key: value for key, value in options.items() if key != "as"}


def _check_metric_label(label: Any) -> None:
    """Refuse a label that cannot name a metric in the results; None: the metric's own."""
    if label is None:
        return
    if not isinstance(label, str):
        raise ValueError(f"must be text, found {describe(label)}")
    check_label(label)


def _find_wrong_option(metric: Metric, key: str, value: Any) -> str:
    """What is wrong with an option of a metric; empty if nothing is."""
    if key not in metric.parameters:
        known = [*metric.parameters, "as"]
        return f"unknown option of {metric.name}{suggest_name(key, known)} (known: {', '.join(known)})"
    if metric.allows(key, value):
        return ""
    allowed = metric.list_allowed(key)
    right = f"one of {', '.join(allowed)}" if len(allowed) > 1 else allowed[0]
    return f"{key} must be {right}, found {describe(value)}"


# -------------------------------------------------------------------- tables and figures


def _read_layout(written: Any, info: ValidationInfo) -> Any:
    """A table or a figure from `name` or `{layout: name, metric: name}`."""
    if isinstance(written, LayoutSpec):
        return written
    at: KeyPath = ("layout",)
    if isinstance(written, str):
        written, at = {"layout": written}, ()
    if not isinstance(written, dict):
        right = "must be the name of a layout, or `{layout: name, metric: name}`"
        raise ValueError(f"{right}, found {describe(written)}")
    options = {key: value for key, value in written.items() if key not in ("layout", "metric")}
    layout = written.get("layout")
    if layout is None:
        raise ValueError(f"the key `layout` is missing (found: {', '.join(written)})")
    if isinstance(layout, str):
        problems = find_by(check_line, layout, at)
        if problems:
            raise refusal(*problems)
    entry = LayoutSpec(layout=layout, metric=written.get("metric"), options=options)
    if entry.is_file:
        return entry.model_copy(update={"layout": beside(entry.layout, draft_of(info).folder)})
    return entry


Dataset = Annotated[DatasetSpec, BeforeValidator(_read_dataset)]
MeasuredMetric = Annotated[MetricSpec, BeforeValidator(_read_metric)]
Layout = Annotated[LayoutSpec, BeforeValidator(_read_layout)]
