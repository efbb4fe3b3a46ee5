"""Data sets, metrics, tables and figures of an experiment, and the short forms in which a config writes them.

An entry is a name, or a name with its options: `yeast`, `{yeast: {missing: mean}}`, `{f1: {as: mine}}`.
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, model_serializer

from mlcdr.data.files import Part, is_path, short_name
from mlcdr.data.forms import MEMORY, OPENML, OPTIONS, SOURCES, WITHOUT_FILES, option_problems
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
        if self.name.startswith(OPENML) or not self.params.keys().isdisjoint(WITHOUT_FILES):
            return None
        return str(self.params.get("path", self.name))

    def short_name(self, part: Part = "full") -> str:
        """Its name in the results, as far as it is known without its files."""
        return self.name if self.source is None or "path" in self.params else short_name(self.name, part)

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
        options = self.params | ({} if self.label == self.name else {"as": self.label})
        return {self.name: options} if options else self.name


class LayoutSpec(Strict):
    """A table or a figure: the name (or path) of its layout, the metric it shows, and the layout's own options."""

    layout: str
    metric: str | None = None
    options: dict[str, Any] = {}

    def showing(self, labels: Sequence[str]) -> "LayoutSpec":
        """The layout with its metric's name as in the results, which are listed, if another name of it is written."""
        if self.metric is None or self.metric in labels or label_of(self.metric) not in labels:
            return self
        return self.model_copy(update={"metric": label_of(self.metric)})

    @model_serializer
    def plain(self) -> dict[str, Any]:
        """As a config writes it."""
        metric = {} if self.metric is None else {"metric": self.metric}
        return {"layout": self.layout, **metric, **self.options}


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


# -------------------------------------------------------------------- data sets


def _read_dataset(written: Any, info: ValidationInfo) -> DatasetSpec:
    """A data set from `name` or `{name: {option: value}}`."""
    if isinstance(written, DatasetSpec):
        return written
    draft = draft_of(info)
    name, options, at = name_and_options(written, "data set")
    if name in draft.held:
        _refuse_own_options(name, options, at)
        options = {MEMORY: draft.held[name]}
    if name == SYNTHETIC or (isinstance(options, dict) and SYNTHETIC in options):
        return _synthetic(name, options, at)
    if not isinstance(options, dict):
        raise refusal(Problem(at, f"options must be a mapping ({', '.join(OPTIONS)}), found {describe(options)}"))
    problems = [Problem((*at, key), text) for key, text in option_problems(options)]
    problems += find_by(check_line, name, at)
    wrong = {problem.path[-1] for problem in problems if problem.path}
    if "path" in options and "path" not in wrong:
        options = {**options, "path": beside(options["path"], draft.folder)}
    elif "function" in options and "function" not in wrong:
        problems += find_by(_judge_function, options["function"], (*at, "function"))
    elif is_path(name) and not set(SOURCES) & set(options):
        name = beside(name, draft.folder)
    if problems:
        raise refusal(*problems)
    return DatasetSpec(name=name, params=options)


def _refuse_own_options(name: str, options: Any, at: KeyPath) -> None:
    """Refuse options of a data set that is given in memory, but for where it would else be read from."""
    given = options if isinstance(options, dict) else {}
    own = [f"{key}={value!r}" for key, value in given.items() if key not in SOURCES]
    if own:
        right = f"datasets={{{name!r}: mlcdr.Dataset.of(X, Y, {', '.join(own)})}}"
        raise refusal(Problem(at, f"options cannot be set for data given in memory: {right}"))


def _judge_function(name: str) -> None:
    judge_import(f"function {name!r}", name.rpartition(".")[0])


def _synthetic(name: str, options: Any, at: KeyPath) -> DatasetSpec:
    """A generated data set: `{synthetic: {…}}`, whose name is made of its options, or `{name: {synthetic: {…}}}`."""
    if name != SYNTHETIC:
        if len(options) > 1:
            others = ", ".join(key for key in options if key != SYNTHETIC)
            raise refusal(Problem(at, f"a synthetic data set is not read, so it has no other option (found: {others})"))
        options, at = options[SYNTHETIC], (*at, SYNTHETIC)
    if not isinstance(options, dict):
        raise refusal(Problem(at, f"the options of a synthetic data set are a mapping, found {describe(options)}"))
    try:
        made = Synthetic.parse(options)
        check_line(name)
    except (DataError, ValueError) as error:
        raise refusal(Problem(at, str(error))) from None
    return DatasetSpec(name=made.name if name == SYNTHETIC else name, params={SYNTHETIC: options})


def beside(path: str, folder: Path) -> str:
    """A relative path as an absolute one if it exists in `folder` or the working directory; else as it is."""
    if Path(path).is_absolute() or path.startswith("~"):
        return path
    for place in (folder, Path.cwd()):
        with contextlib.suppress(OSError, ValueError):  # a name that no file can have
            if (place / path).exists():
                return str(place / path)
    return path


# -------------------------------------------------------------------- metrics


def _read_metric(written: Any) -> MetricSpec:
    """A metric from `name`, `{name: {option: value, as: label}}` or `{name: value}` (for its first option)."""
    if isinstance(written, MetricSpec):
        return written
    written_name, options, at = name_and_options(written, "metric")
    name, meant = resolve(written_name)
    if target(name) is not None:
        return _own_metric(name, options, at)
    metric = METRICS.get(name)
    if metric is None:
        listing = list_known(METRICS, "`mlcdr metrics`")
        raise refusal(Problem(at, f"unknown metric {name!r}{hint(name)} ({listing}; or a dotted path to a function)"))
    is_short = not isinstance(options, dict)
    if is_short:
        if not metric.parameters:
            raise refusal(Problem(at, f"{name} has no option (but `as: label`), found {describe(options)}"))
        options = {next(iter(metric.parameters)): options}
    label, params = label_and_params(options)
    params = meant | params
    problems = find_by(_check_metric_label, label, (*at, "as"))
    for key, value in params.items():
        why = _find_wrong_option(metric, key, value)
        if why:
            problems.append(Problem(at if is_short else (*at, key), why))
    if problems:
        raise refusal(*problems)
    return MetricSpec(name=name, params=params, label=metric.label_of(params) if label is None else label)


def label_and_params(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is written as the label (`as`), and the other options."""
    return options.get("as"), {key: value for key, value in options.items() if key != "as"}


def _check_metric_label(label: Any) -> None:
    """Refuse a label that cannot name a metric in the results; None: the metric's own."""
    if label is not None and not isinstance(label, str):
        raise ValueError(f"must be text, found {describe(label)}")
    if label is not None:
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


def _own_metric(name: str, options: Any, at: KeyPath) -> MetricSpec:
    """A metric of one's own: the function is imported, and its direction is recorded."""
    if not isinstance(options, dict) or options.keys() - {"as", "higher_is_better"}:
        raise refusal(Problem(at, f"the only option of a metric of your own is `as: label`, found {describe(options)}"))
    label, params = label_and_params(options)
    problems = find_by(_check_metric_label, label, (*at, "as"))
    try:
        metric = of_function(name, import_target(f"metric {name!r}", str(target(name))))
    except UserError as error:
        raise refusal(*problems, Problem(at, str(error))) from None
    if params.get("higher_is_better", metric.higher_is_better) is not metric.higher_is_better:
        problems.append(Problem(at, f"higher_is_better is {describe(metric.higher_is_better)} of the function"))
    if problems:
        raise refusal(*problems)
    own_name = name.rpartition(".")[2] if label is None else label
    return MetricSpec(name=name, params=dict(metric.parameters), label=own_name)


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
        misspelt = [key for key in options if suggest_name("layout", [key])]
        raise ValueError("the key `layout` is missing" + "".join(f"; is {key!r} meant?" for key in misspelt))
    if isinstance(layout, str):
        problems = find_by(check_line, layout, at)
        if problems:
            raise refusal(*problems)
        if layout.endswith((".yaml", ".yml")):
            layout = beside(layout, draft_of(info).folder)
    return LayoutSpec(layout=layout, metric=written.get("metric"), options=options)


Dataset = Annotated[DatasetSpec, BeforeValidator(_read_dataset)]
MeasuredMetric = Annotated[MetricSpec, BeforeValidator(_read_metric)]
Layout = Annotated[LayoutSpec, BeforeValidator(_read_layout)]
