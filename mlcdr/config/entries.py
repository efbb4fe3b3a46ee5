"""Data sets, metrics, tables and figures as a config writes them: short forms become models."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mlcdr.config.problems import Problems, describe_finding, near
from mlcdr.config.yaml_reader import KeyPath
from mlcdr.data.files import NotFetchedError, Part, is_path, locate
from mlcdr.data.forms import OPTIONS, SOURCES, check_form_options, option_problems
from mlcdr.data.sources import how_to_get
from mlcdr.data.synthetic import Synthetic
from mlcdr.errors import DataError, UserError, describe, list_known
from mlcdr.experiment.model import DatasetSpec, LayoutSpec, MetricSpec
from mlcdr.methods.registry import import_target, judge_import
from mlcdr.metrics import METRICS, hint, of_function, resolve, target

# A data set with this name, or with this as its only option, is generated, not read.
SYNTHETIC = "synthetic"

_SpecT = TypeVar("_SpecT", bound=BaseModel)


def read_dataset(written: Any, path: KeyPath, problems: Problems, folder: Path) -> DatasetSpec:
    """A data set from `name` or `{name: {option: value}}`; its file may stand in `folder`."""
    pair = name_and_options(written, "data set", path, problems)
    if pair is None:
        return DatasetSpec.model_construct(name="")
    name, options = pair
    inner = path if isinstance(written, str) else (*path, name)
    if name == SYNTHETIC or (isinstance(options, dict) and SYNTHETIC in options):
        return _synthetic(name, options, inner, problems)
    if not isinstance(options, dict):
        problems.add(inner, f"options must be a mapping ({', '.join(OPTIONS)}), found {describe(options)}")
        options = {}
    wrong = dict(option_problems(options))
    for key, problem in wrong.items():
        problems.add((*inner, key), problem)
    options = {key: value for key, value in options.items() if key not in wrong}
    if "path" in options:
        options["path"] = beside(options["path"], folder)
    elif "function" in options:
        try:
            judge_import(f"function {options['function']!r}", options["function"].rpartition(".")[0])
        except UserError as error:
            problems.add((*inner, "function"), str(error))
    elif is_path(name) and not set(SOURCES) & set(options):
        name = beside(name, folder)
    return _built(DatasetSpec, {"name": inner}, problems, name=name, params=options)


def _synthetic(name: str, options: Any, path: KeyPath, problems: Problems) -> DatasetSpec:
    """A generated data set: `{synthetic: {…}}`, whose name is made of its options, or `{name: {synthetic: {…}}}`."""
    if name != SYNTHETIC:
        if len(options) > 1:
            others = ", ".join(key for key in options if key != SYNTHETIC)
            problems.add(path, f"a synthetic data set is not read, so it has no other option (found: {others})")
        options, path = options[SYNTHETIC], (*path, SYNTHETIC)
    try:
        if not isinstance(options, dict):
            raise DataError(f"the options of a synthetic data set are a mapping, found {describe(options)}")
        made = Synthetic.parse(options)
    except DataError as error:
        problems.add(path, str(error))
        return DatasetSpec.model_construct(name="")
    own_name = made.name if name == SYNTHETIC else name
    return _built(DatasetSpec, {"name": path}, problems, name=own_name, params={SYNTHETIC: options})


def unify_names(specs: Sequence[DatasetSpec], part: Part, look_up: bool, problems: Problems) -> list[DatasetSpec]:
    """The specs with each name spelt as in the results; a data set that is missing or listed twice is reported."""
    result: list[DatasetSpec] = []
    names: set[str] = set()
    listed: dict[Any, str] = {}
    absent: dict[KeyPath, NotFetchedError] = {}
    for i, spec in enumerate(specs):
        files = None
        name = spec.short_name(part) if spec.name.isprintable() else ""  # else it has been reported
        if name and look_up and spec.source is not None:
            try:
                files = locate(spec.source, part)
                check_form_options(files.paths[0], files.form, spec.params)
            except NotFetchedError as error:
                absent["datasets", i] = error
            except DataError as error:
                problems.add(("datasets", i), str(error))
        if name and name.casefold() in names:
            problems.add(("datasets", i), f"the data set {name!r} is listed twice; results are kept by its name")
        elif files is not None:
            name = name if "path" in spec.params else files.name
            own = sorted((key, str(value)) for key, value in spec.params.items() if key != "path")
            first = listed.setdefault((*(path.resolve() for path in files.paths), *own), spec.name)
            if first != spec.name:
                problems.add(("datasets", i), f"{spec.name!r} is the same data set as {first!r}; keep one")
            if files.xml is not None and "labels" in spec.params:
                problems.add(("datasets", i), f"{files.xml} names the labels; leave out the option `labels`")
        names.add(name.casefold())
        result.append(spec if is_path(spec.name) or not name else spec.model_copy(update={"name": name}))
    add_absent(problems, ("datasets",), absent)
    return result


def add_absent(
    problems: Problems, path: KeyPath, absent: Mapping[KeyPath, NotFetchedError], folds: bool = False
) -> None:
    """Report the data sets that can be downloaded in one line, with one command for all of them."""
    if len(absent) == 1:
        problems.add(*next((where, str(error)) for where, error in absent.items()))
    elif absent:
        names = [error.name for error in absent.values()]
        what = "the folds of " if folds else ""
        problems.add(path, f"{what}{', '.join(names)} are not in the data folders; {how_to_get(names, folds)}")


def read_metric(written: Any, path: KeyPath, problems: Problems) -> MetricSpec:
    """A metric from `name`, `{name: {option: value, as: label}}` or `{name: value}` (for its first option)."""
    pair = name_and_options(written, "metric", path, problems)
    if pair is None:
        return MetricSpec.model_construct(name="", label="")
    written_name, options = pair
    name, meant = resolve(written_name)
    inner = path if isinstance(written, str) else (*path, written_name)
    if target(name) is not None:
        return _own_metric(name, options, inner, problems)
    metric = METRICS.get(name)
    if metric is None:
        listing = list_known(METRICS, "`mlcdr metrics`")
        message = f"unknown metric {name!r}{hint(name)} ({listing}; or a dotted path to a function)"
        problems.add(inner, message)
        return MetricSpec.model_construct(name=name, label=name)
    places = {}
    if not isinstance(options, dict):
        if not metric.parameters:
            problems.add(inner, f"{name} has no option (but `as: label`), found {describe(options)}")
            return MetricSpec.model_construct(name=name, label=name)
        first = next(iter(metric.parameters))
        options, places = {first: options}, {first: inner}
    given = options.get("as")
    if given is not None and not isinstance(given, str):
        problems.add((*inner, "as"), f"must be text, found {describe(given)}")
    options = meant | {key: value for key, value in options.items() if key != "as"}
    for key, value in options.items():
        place = places.get(key, (*inner, key))
        if key not in metric.parameters:
            known = [*metric.parameters, "as"]
            problems.add(place, f"unknown option of {name}{near(key, known)} (known: {', '.join(known)})")
        elif not metric.allows(key, value):
            right = metric.list_allowed(key)
            what = f"one of {', '.join(right)}" if len(right) > 1 else right[0]
            problems.add(place, f"{key} must be {what}, found {describe(value)}")
    label = given if isinstance(given, str) else metric.label_of(options)
    return _built(MetricSpec, {"label": (*inner, "as")}, problems, name=name, params=options, label=label)


def _own_metric(name: str, options: Any, path: KeyPath, problems: Problems) -> MetricSpec:
    """A metric of one's own, which is imported when all else is right (`settle_metric`)."""
    if not isinstance(options, dict) or options.keys() - {"as", "higher_is_better"}:
        problems.add(path, f"the only option of a metric of your own is `as: label`, found {describe(options)}")
        options = {}
    params = {key: value for key, value in options.items() if key != "as"}
    label = options.get("as", name.rpartition(".")[2])
    return _built(MetricSpec, {"label": (*path, "as")}, problems, name=name, params=params, label=label)


def settle_metric(spec: MetricSpec, path: KeyPath, problems: Problems) -> MetricSpec:
    """A metric of one's own with its function's direction, which is recorded; any other metric as it is."""
    where = target(spec.name)
    if where is None or not problems.importing:
        problems.complete &= where is None
        return spec
    try:
        metric = of_function(spec.name, import_target(f"metric {spec.name!r}", where))
    except UserError as error:
        problems.add(path, str(error))
        return spec
    given = spec.params.get("higher_is_better", metric.higher_is_better)
    if given is not metric.higher_is_better:
        problems.add(path, f"higher_is_better is {describe(metric.higher_is_better)} of the function")
    return spec.model_copy(update={"params": dict(metric.parameters)})


def unify_metric(spec: LayoutSpec, metrics: Sequence[MetricSpec]) -> LayoutSpec:
    """The layout with its metric's name as in the results, if another name of this metric is written."""
    labels = [each.label for each in metrics]
    if not isinstance(spec.metric, str) or spec.metric in labels:
        return spec
    name, options = resolve(spec.metric)
    meant = METRICS[name].label_of(options) if name in METRICS else name
    return spec.model_copy(update={"metric": meant}) if meant in labels else spec


def read_layout(written: Any, path: KeyPath, problems: Problems, folder: Path | None = None) -> LayoutSpec:
    """A table or a figure from `name` or `{layout: name, metric: name}`; its file may stand in a `folder`."""
    places = {key: (*path, key) if isinstance(written, dict) else path for key in ("layout", "metric")}
    if isinstance(written, str):
        written = {"layout": written}
    if not isinstance(written, dict):
        problems.add(
            path, f"must be the name of a layout, or `{{layout: name, metric: name}}`, found {describe(written)}"
        )
        return LayoutSpec.model_construct(layout="")
    options = {key: value for key, value in written.items() if key not in ("layout", "metric")}
    layout, metric = written.get("layout"), written.get("metric")
    if layout is None:
        hints = [near("layout", [key]) and f"; is {key!r} meant?" for key in options]
        problems.add(path, f"the key `layout` is missing{''.join(hints)}")
        return LayoutSpec.model_construct(layout="", metric=metric if isinstance(metric, str) else None)
    if folder is not None and isinstance(layout, str) and layout.endswith((".yaml", ".yml")):
        layout = beside(layout, folder)
    return _built(LayoutSpec, places, problems, layout=layout, metric=metric, options=options)


def name_and_options(written: Any, what: str, path: KeyPath, problems: Problems) -> tuple[str, Any] | None:
    """The name and the options in `name` or `{name: options}`; None, and a problem recorded, for any other form."""
    if isinstance(written, str):
        return written, {}
    if isinstance(written, dict) and len(written) == 1:
        ((name, options),) = written.items()
        return name, {} if options is None else options
    keys = f" of {len(written)} keys" if isinstance(written, dict) else ""
    problems.add(
        path, f"must be the name of a {what}, or `{{name: {{option: value}}}}`, found {describe(written)}{keys}"
    )
    return None


def _built(model: type[_SpecT], places: Mapping[str, KeyPath], problems: Problems, **fields: Any) -> _SpecT:
    """The model of `fields`; `places`: where each field was written."""
    try:
        return model(**fields)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            problems.add(places[str(item["loc"][0])], describe_finding(item))
        return model.model_construct(**fields)


def beside(path: str, folder: Path) -> str:
    """A relative path as an absolute one if it exists in `folder` or the working directory; else as it is."""
    if not Path(path).is_absolute() and not path.startswith("~"):
        for place in (folder, Path.cwd()):
            with contextlib.suppress(OSError, ValueError):  # a name that no file can have
                if (place / path).exists():
                    return str(place / path)
    return path
