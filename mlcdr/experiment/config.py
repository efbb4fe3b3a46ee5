"""From an experiment's YAML to a validated, frozen `Experiment`, or to the list of all that is wrong with it.

`load_experiment` reads the file strictly (`yaml_reader`), puts `--set` options in (`overrides`) and checks everything
that can be known without reading the data: keys and types by pydantic (`model`), the names, parameters and values of
components, metrics and sweeps, and whether the files of data sets and folds are there, here. What the data must decide
(are there rows enough) is said when they are loaded.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mlcdr import registry
from mlcdr.data.files import Part, is_path, locate, short_name
from mlcdr.data.sources import entry_names
from mlcdr.data.synthetic import Synthetic
from mlcdr.errors import DataError, UserError
from mlcdr.experiment.components import build_problem, read_component
from mlcdr.experiment.model import (
    FAMILIES,
    LABELLED,
    DatasetSpec,
    Experiment,
    KeepSpec,
    LayoutSpec,
    LimitsSpec,
    MethodSpec,
    MetricSpec,
    method_text,
)
from mlcdr.experiment.overrides import apply_overrides
from mlcdr.experiment.problems import Problems, found, near, worded
from mlcdr.experiment.splits import FromFile, KFold, Predefined, Shuffle, find_fold_file, read_labelled
from mlcdr.experiment.tune import TuneSpec
from mlcdr.experiment.yaml_reader import Document, KeyPath, Place, read_yaml
from mlcdr.metrics import METRICS
from mlcdr.registry import Component

__all__ = [
    "DatasetSpec",
    "Experiment",
    "LayoutSpec",
    "MethodSpec",
    "MetricSpec",
    "experiment_from",
    "load_experiment",
    "method_text",
]

# The options of a data set that is read, and the values they may have; None: a whole number that is not 0.
DATASET_OPTIONS: dict[str, tuple[str, ...] | None] = {"missing": ("error", "mean", "zero"), "labels": None}

# In place of a data set's name, or as its one option: it is made, not read.
SYNTHETIC = "synthetic"

_SpecT = TypeVar("_SpecT", bound=BaseModel)

Check = Callable[[Mapping[str, Any]], Iterable[str]]
"""From an experiment as plain data to what is wrong with it, `tables.0: what is wrong`."""


def load_experiment(
    path: str | Path, overrides: Sequence[str] = (), look_up: bool = True, also: Check | None = None
) -> Experiment:
    """Read and check an experiment file.

    Relative paths of data sets and layouts that exist beside the file, or else in the working directory, are made
    absolute; those of fold files are looked up for each data set (`FromFile.folders`).

    Parameters
    ----------
    path : path
        The YAML file.
    overrides : sequence of str
        `key.path=value` texts, put in before anything is checked.
    look_up : bool
        Whether the data sets and fold files must be there, as a run needs them.
    also : callable, optional
        Finds problems of the tables and figures, of which nothing is known here: given what could be read as plain
        data, `tables.0: what is wrong` for each.

    Raises
    ------
    ConfigError
        With all problems, each `file:line: key.path: what is wrong`. A file that is not YAML reports just that. What
        only the class of a component can tell (one of your own, or of scikit-learn) is reported when nothing else is
        wrong: to import it takes a second, and the rest is told at once.
    """
    return _checked(read_yaml(path), overrides, Path(path).resolve().parent, look_up, also)


def experiment_from(
    data: Mapping[str, Any], overrides: Sequence[str] = (), source: str = "experiment", look_up: bool = True
) -> Experiment:
    """As `load_experiment`, from plain data such as `Experiment.resolved()` gives.

    Raises
    ------
    ConfigError
        With all problems, each `source: key.path: what is wrong`.
    """
    plain = json.loads(json.dumps(data))  # a copy of our own, which overrides may change
    return _checked(Document(plain, {(): Place(source)}), overrides, Path.cwd(), look_up)


def _checked(
    document: Document, overrides: Sequence[str], folder: Path, look_up: bool, also: Check | None = None
) -> Experiment:
    if not isinstance(document.data, dict):
        problems = Problems(document, importing=False)
        problems.add((), f"an experiment is a mapping (`name: ...`), found {found(document.data)}")
        problems.raise_any()
    misdirected = apply_overrides(document, overrides)
    # Twice: what is wrong without regard to any class is told before one is imported, which takes a second.
    _experiment(Problems(document, importing=False), misdirected, folder, look_up, also)
    experiment = _experiment(Problems(document, importing=True), misdirected, folder, look_up, also)
    return experiment.written_at(document.places)


def _experiment(
    problems: Problems, misdirected: Sequence[str], folder: Path, look_up: bool, also: Check | None
) -> Experiment:
    """The experiment in `problems.document`; whatever is wrong with it is raised."""
    document = problems.document
    # An optional part whose lines are all commented out is left empty, which is as good as left out.
    optional = [key for key, field in Experiment.model_fields.items() if not field.is_required()]
    data = {key: value for key, value in document.data.items() if value is not None or key not in optional}
    # Short forms become models here, with every problem told; what is no list or mapping is left for pydantic to say.
    sweep = data["sweep"] if isinstance(data.get("sweep"), dict) else {}
    readers: dict[str, Callable[[Any, KeyPath, Problems], Any]] = {
        "datasets": lambda item, path, problems: _dataset(item, path, problems, folder),
        "metrics": _metric,
        "tables": lambda item, path, problems: _layout(item, path, problems, folder),
        "figures": lambda item, path, problems: _layout(item, path, problems, folder),
        "methods": lambda item, path, problems: _method(item, path, problems, sweep),
    }
    for key, read in readers.items():
        if isinstance(data.get(key), list) and key != "methods":
            data[key] = [read(item, (key, i), problems) for i, item in enumerate(data[key])]
        elif isinstance(data.get(key), dict) and key == "methods":
            data[key] = {name: read(item, (key, name), problems) for name, item in data[key].items()}
    splits = data.get("splits")
    part: Part = "predefined" if isinstance(splits, dict) and splits.get("kind") == "predefined" else "full"
    if isinstance(data.get("datasets"), list):
        data["datasets"] = _data_sets(data["datasets"], part, look_up, problems)
        names = [short_name(spec.name, part) for spec in data["datasets"] if spec.name]
        with contextlib.suppress(ValidationError):
            folds = FromFile.model_validate(splits)
            data["splits"] = folds.settled(folder, names).model_dump()
            for name in names if look_up else ():
                try:
                    find_fold_file(folds.beside(folder), name)
                except DataError as error:
                    problems.add(("splits", "path"), str(error))
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        problems.add_validation(error, data, (), _known_keys)
    _check_names(data, problems)
    _check_tuning(data, part, problems)
    fixed = isinstance(splits, dict) and splits.get("labelled") is not None
    _check_sweep(sweep, data.get("methods"), fixed, problems)
    _check_scopes(data.get("methods"), fixed or LABELLED in sweep, problems)
    if also is not None:
        _check_layouts(data, sweep, also, problems)
    problems.raise_any(misdirected)
    return experiment


def _known_keys(location: KeyPath) -> Iterable[str]:
    """The keys allowed where pydantic found one too many."""
    kinds: dict[Any, type[BaseModel]] = {"shuffle": Shuffle, "kfold": KFold, "predefined": Predefined, "file": FromFile}
    if location[:1] == ("splits",):
        return kinds[location[1]].model_fields
    if location[:1] == ("keep",):
        return KeepSpec.model_fields
    if location[:1] == ("limits",):
        return LimitsSpec.model_fields
    if "tune" in location:
        return TuneSpec.model_fields
    return MethodSpec.model_fields if location else Experiment.model_fields


def _beside(path: str, folder: Path) -> str:
    """A relative path as an absolute one if it exists in `folder` or the working directory; else as it is."""
    if not Path(path).is_absolute() and not path.startswith("~"):
        for place in (folder, Path.cwd()):
            with contextlib.suppress(OSError, ValueError):  # a name that no file can have
                if (place / path).exists():
                    return str(place / path)
    return path


def _data_sets(specs: Sequence[DatasetSpec], part: Part, look_up: bool, problems: Problems) -> list[DatasetSpec]:
    """The specs with every name spelt in the one way that results know it by; what is not there, or twice, is told."""
    result: list[DatasetSpec] = []
    names: set[str] = set()
    listed: dict[tuple[Path, ...], str] = {}
    for i, spec in enumerate(specs):
        files = None
        name = short_name(spec.name, part) if spec.name.isprintable() else ""  # else it has been told
        if name and look_up and SYNTHETIC not in spec.params:
            try:
                files = locate(spec.name, part)
            except DataError as error:
                problems.add(("datasets", i), str(error))
        if name and name.casefold() in names:
            problems.add(("datasets", i), f"the data set {name!r} is listed twice; results are kept by its name")
        elif files is not None:
            name = files.name
            first = listed.setdefault(tuple(path.resolve() for path in files.arffs), spec.name)
            if first != spec.name:
                problems.add(("datasets", i), f"{spec.name!r} is the same data set as {first!r}; keep one")
            if files.xml is not None and "labels" in spec.params:
                problems.add(("datasets", i), f"{files.xml} names the labels; leave out the option `labels`")
        names.add(name.casefold())
        result.append(spec if is_path(spec.name) or not name else spec.model_copy(update={"name": name}))
    return result


def _name_and_options(written: Any, what: str, path: KeyPath, problems: Problems) -> tuple[str, Any] | None:
    if isinstance(written, str):
        return written, {}
    if isinstance(written, dict) and len(written) == 1:
        ((name, options),) = written.items()
        return name, {} if options is None else options
    keys = f" of {len(written)} keys" if isinstance(written, dict) else ""
    problems.add(path, f"must be the name of a {what}, or `{{name: {{option: value}}}}`, found {found(written)}{keys}")
    return None


def _dataset(written: Any, path: KeyPath, problems: Problems, folder: Path) -> DatasetSpec:
    pair = _name_and_options(written, "data set", path, problems)
    if pair is None:
        return DatasetSpec.model_construct(name="")
    name, options = pair
    inner = path if isinstance(written, str) else (*path, name)
    if name == SYNTHETIC or (isinstance(options, dict) and SYNTHETIC in options):
        return _synthetic(name, options, inner, problems)
    if not isinstance(options, dict):
        problems.add(inner, f"options must be a mapping ({', '.join(DATASET_OPTIONS)}), found {found(options)}")
        options = {}
    for key, value in options.items():
        if key not in DATASET_OPTIONS:
            known = ", ".join(DATASET_OPTIONS)
            problems.add((*inner, key), f"unknown option of a data set{near(key, DATASET_OPTIONS)} (known: {known})")
            continue
        allowed = DATASET_OPTIONS[key]
        if allowed is None:
            if isinstance(value, bool) or not isinstance(value, int) or value == 0:
                problems.add((*inner, key), f"must be a whole number other than 0, found {found(value)}")
        elif value not in allowed:
            problems.add(
                (*inner, key), f"must be one of {', '.join(allowed)}, found {found(value)}{near(value, allowed)}"
            )
    if is_path(name):
        name = _beside(name, folder)
    return _built(DatasetSpec, {"name": inner}, problems, name=name, params=options)


def _synthetic(name: str, options: Any, path: KeyPath, problems: Problems) -> DatasetSpec:
    """A data set that is made: `{synthetic: {…}}`, which names itself, or `{name: {synthetic: {…}}}`."""
    if name != SYNTHETIC:
        if len(options) > 1:
            others = ", ".join(key for key in options if key != SYNTHETIC)
            problems.add(path, f"a synthetic data set is not read, so it has no other option (found: {others})")
        options, path = options[SYNTHETIC], (*path, SYNTHETIC)
    try:
        if not isinstance(options, dict):
            raise DataError(f"the options of a synthetic data set are a mapping, found {found(options)}")
        made = Synthetic.parse(options)
    except DataError as error:
        problems.add(path, str(error))
        return DatasetSpec.model_construct(name="")
    own_name = made.name if name == SYNTHETIC else name
    return _built(DatasetSpec, {"name": path}, problems, name=own_name, params={SYNTHETIC: options})


def _metric(written: Any, path: KeyPath, problems: Problems) -> MetricSpec:
    pair = _name_and_options(written, "metric", path, problems)
    if pair is None:
        return MetricSpec.model_construct(name="", label="")
    name, options = pair
    inner = path if isinstance(written, str) else (*path, name)
    metric = METRICS.get(name)
    if metric is None:
        problems.add(inner, f"unknown metric {name!r}{near(name, METRICS)} (known: {', '.join(METRICS)})")
        return MetricSpec.model_construct(name=name, label=name)
    places = {}
    if not isinstance(options, dict):
        if not metric.parameters:
            problems.add(inner, f"{name} has no option (but `as: label`), found {found(options)}")
            return MetricSpec.model_construct(name=name, label=name)
        first = next(iter(metric.parameters))
        options, places = {first: options}, {first: inner}
    label = options.get("as", name)
    if not isinstance(label, str):
        problems.add((*inner, "as"), f"must be text, found {found(label)}")
        label = name
    options = {key: value for key, value in options.items() if key != "as"}
    for key, value in options.items():
        place = places.get(key, (*inner, key))
        if key not in metric.parameters:
            known = [*metric.parameters, "as"]
            problems.add(place, f"unknown option of {name}{near(key, known)} (known: {', '.join(known)})")
        elif key in metric.allowed and not any(type(v) is type(value) and v == value for v in metric.allowed[key]):
            right = ", ".join(map(str, metric.allowed[key]))
            problems.add(place, f"{key} must be one of {right}, found {found(value)}")
    return _built(MetricSpec, {"label": (*inner, "as")}, problems, name=name, params=options, label=label)


def _layout(written: Any, path: KeyPath, problems: Problems, folder: Path) -> LayoutSpec:
    places = {key: (*path, key) if isinstance(written, dict) else path for key in ("layout", "metric")}
    if isinstance(written, str):
        written = {"layout": written}
    if not isinstance(written, dict):
        problems.add(path, f"must be the name of a layout, or `{{layout: name, metric: name}}`, found {found(written)}")
        return LayoutSpec.model_construct(layout="")
    options = {key: value for key, value in written.items() if key not in ("layout", "metric")}
    layout, metric = written.get("layout"), written.get("metric")
    if layout is None:
        hints = [near("layout", [key]) and f"; is {key!r} meant?" for key in options]
        problems.add(path, f"the key `layout` is missing{''.join(hints)}")
        return LayoutSpec.model_construct(layout="", metric=metric if isinstance(metric, str) else None)
    if isinstance(layout, str) and layout.endswith((".yaml", ".yml")):
        layout = _beside(layout, folder)
    return _built(LayoutSpec, places, problems, layout=layout, metric=metric, options=options)


def _built(model: type[_SpecT], places: Mapping[str, KeyPath], problems: Problems, **fields: Any) -> _SpecT:
    """The model of `fields`; `places` tells where each of them was written."""
    try:
        return model(**fields)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            problems.add(places[str(item["loc"][0])], worded(item))
        return model.model_construct(**fields)


def _method(written: Any, path: KeyPath, problems: Problems, sweep: Mapping[str, Any]) -> Any:
    """The mapping that `MethodSpec` is made of, components read; an unreadable one is _UNREADABLE."""
    if not isinstance(written, dict):
        return written
    result = dict(written)
    tune = written.get("tune")
    grid = tune.get("grid") if isinstance(tune, dict) else None
    varied = [path for path in (*sweep, *(grid if isinstance(grid, dict) else ())) if isinstance(path, str)]

    def read(part: Any, family: str, place: KeyPath, prefix: str) -> Component:
        swept = [path.removeprefix(prefix).split(".")[0] for path in varied if path.startswith(prefix)]
        return read_component(part, family, place, problems, swept) or _UNREADABLE

    if written.get("dual_space") is not None and written.get("label_space") is not None:
        problems.add((*path, "label_space"), "a dual space reduces the labels itself; leave one of the two out")
    if tune is None:
        result.pop("tune", None)
    for family in FAMILIES:
        part = written.get(family)
        if part is None:
            # `learner:` with nothing after it is as much a missing learner as none.
            result.pop(family, None)
        elif family != "feature_space":
            result[family] = read(part, family, (*path, family), f"{family}.")
        elif isinstance(part, list):
            result[family] = tuple(
                read(step, family, (*path, family, i), f"{family}.{i}.") for i, step in enumerate(part)
            )
        else:
            result[family] = (read(part, family, (*path, family), f"{family}."),)
    _check_wrapper(result.get("instance_space"), (*path, "instance_space"), problems)
    if "instance_space" not in result:  # which makes binary relevance of such a classifier itself
        coded = "label_space" in result or "dual_space" in result
        _check_learner(result.get("learner"), coded, (*path, "learner"), problems)
    for family in ("label_space", "dual_space"):
        _check_codes(result.get(family), result.get("learner"), (*path, "learner"), problems)
    if not {"label_space.regression", "learner.learner"} & set(varied):
        _check_pair(result.get("label_space"), result.get("learner"), (*path, "label_space"), problems)
    return result


def _check_wrapper(space: Any, path: KeyPath, problems: Problems) -> None:
    """An instance space takes the classifier that the other keys make."""
    if not isinstance(space, Component) or space is _UNREADABLE:
        return
    if "classifier" not in registry.declared(space.family, space.name).parameters:
        problems.add(path, f"{space.name!r} is no instance space: it has no parameter `classifier` for what it wraps")
    elif "classifier" in space.params:
        problems.add((*path, space.name, "classifier"), "is what the method's other keys make; leave it out")


def _check_learner(learner: Any, coded: bool, path: KeyPath, problems: Problems) -> None:
    """A classifier of one label (`one_label`) is the base of what fits label sets, and not a method.

    `coded`: labels become codes before it, so that no classifier of any kind is right (see `_check_codes`).
    """
    if not isinstance(learner, Component) or learner is _UNREADABLE:
        return
    name = learner.name
    if problems.importing:
        cls = registry.resolve(learner.family, name)
        if not (hasattr(cls, "predict") or hasattr(cls, "__getattr__")):
            problems.add(path, f"{name!r} is no learner: it has no method `predict`")
    if not coded and _fits_one_label(learner, problems):
        problems.add(path, f"{name} fits one label: write {{binary_relevance: {name}}}, or take a chain of that base")


def _fits_one_label(learner: Component, problems: Problems) -> bool:
    """Whether a learner is a classifier that takes no label sets: as it says, or, of scikit-learn, by its tags."""
    if registry.declared(learner.family, learner.name).one_label:
        return True
    if not problems.importing or not registry.resolve(learner.family, learner.name).__module__.startswith("sklearn."):
        return False
    from sklearn.base import is_classifier
    from sklearn.dummy import DummyClassifier
    from sklearn.utils import get_tags

    try:
        built = learner.build(check=False)
        tags = get_tags(built).classifier_tags
    except (AttributeError, TypeError, UserError):  # made of an estimator that is not there yet
        return False
    # DummyClassifier takes label sets, whatever its tags say
    return is_classifier(built) and tags is not None and not tags.multi_label and not isinstance(built, DummyClassifier)


def _check_codes(space: Any, learner: Any, path: KeyPath, problems: Problems) -> None:
    """Behind a label space or a dual space stands a regressor: a classifier fits label sets, not codes."""
    if not (isinstance(space, Component) and isinstance(learner, Component)) or _UNREADABLE in (space, learner):
        return
    one_label = _fits_one_label(learner, problems)
    if one_label or (problems.importing and _is_classifier(learner)):
        what = f"fits {'one label' if one_label else 'label sets'}, not the codes of a {space.family}"
        problems.add(path, f"{learner.name!r} {what}; take a regressor, such as ridge")


def _is_classifier(learner: Component) -> bool:
    from sklearn.base import is_classifier

    try:
        return bool(is_classifier(learner.build(check=False)))
    except TypeError:  # a parameter that it needs is swept
        return False


def _check_pair(space: Any, learner: Any, path: KeyPath, problems: Problems) -> None:
    """A label space that takes its kernel from the learner says itself (`misfit`) whether the two go together."""
    if not (isinstance(space, Component) and isinstance(learner, Component)) or _UNREADABLE in (space, learner):
        return
    if not problems.importing:
        return
    misfit = getattr(registry.resolve(space.family, space.name), "misfit", None)
    if misfit is None:
        return
    try:
        built = learner.build(check=False)
    except TypeError:  # a parameter that it needs is swept
        return
    message = misfit(built, space.params.get("regression"))
    if message:
        problems.add(path, message)


# Stands in for a component whose problems have been told already.
_UNREADABLE = Component("learner", "")


def _check_names(data: Mapping[str, Any], problems: Problems) -> None:
    """No two metrics may share a name in the results, and a layout's metric must be measured."""
    labels: list[str] = []
    metrics_read = isinstance(data.get("metrics"), list)
    for i, spec in enumerate(data["metrics"] if metrics_read else []):
        if spec.label and spec.label in labels:
            problems.add(
                ("metrics", i), f"the metric {spec.label!r} is listed twice; give one another name by `as: name`"
            )
        labels.append(spec.label)
    for key in ("tables", "figures"):
        for i, spec in enumerate(data[key] if isinstance(data.get(key), list) else []):
            if isinstance(spec.metric, str) and metrics_read and spec.metric not in labels:
                message = (
                    f"{spec.metric!r} is none of the metrics above{near(spec.metric, labels)} ({', '.join(labels)})"
                )
                problems.add((key, i, "metric"), message)


def _check_layouts(data: Mapping[str, Any], sweep: Mapping[str, Any], also: Check, problems: Problems) -> None:
    """Put what `also` finds among the problems, but for what is told already."""
    listed = {key: data[key] if isinstance(data.get(key), list) else [] for key in ("metrics", "tables", "figures")}
    methods = data.get("methods")
    plain = {
        "metrics": [{spec.name: {"as": spec.label}} for spec in listed["metrics"] if spec.label],
        "sweep": {path: values for path, values in sweep.items() if isinstance(values, list)},
        "methods": methods if isinstance(methods, dict) else {},
        # an entry that is broken has been told; one that surely fits keeps its place
        **{
            key: [spec.plain() if isinstance(spec.layout, str) and spec.layout else None for spec in listed[key]]
            for key in ("tables", "figures")
        },
    }
    told = problems.places()
    misspelt = any(path[:1] == ("metrics",) for path in told)
    for line in also(plain):
        where, _, message = line.partition(": ")
        key, _, number = where.partition(".")
        path = (key, int(number))
        if message.startswith("needs the metric"):
            # Of a metric that is misspelt above, or in the entry itself, one line is enough.
            unclear = not plain["metrics"] or (misspelt and "did you mean" in message)
            if unclear or (*path, "metric") in told:
                continue
        problems.add(path, message)


def _check_tuning(data: Mapping[str, Any], part: Part, problems: Problems) -> None:
    """What a method is tuned by must be a metric, and what has a grid of its own a data set."""
    metrics = [spec for spec in data["metrics"] if spec.label] if isinstance(data.get("metrics"), list) else []
    listed = data["datasets"] if isinstance(data.get("datasets"), list) else []
    names = [short_name(spec.name, part) for spec in listed if spec.name and spec.name.isprintable()]
    for method, parts in data["methods"].items() if isinstance(data.get("methods"), dict) else ():
        try:
            tune = TuneSpec.model_validate(parts["tune"])
        except (ValidationError, KeyError, TypeError):  # not tuned, or told already
            continue
        here: KeyPath = ("methods", method, "tune")
        known = [*names, *entry_names()] if tune.grids else []
        for name in tune.grids:
            if name.casefold() not in {each.casefold() for each in known}:
                hint = near(name, known)
                problems.add((*here, "grids", name), f"{name!r} is no data set{hint}")
        if tune.scope != "test":
            try:
                tune.criterion((m.label, m.name, m.params) for m in metrics)
            except ValueError as error:
                problems.add((*here, "metric"), str(error))


def _check_sweep(sweep: Mapping[str, Any], methods: Any, fixed: bool, problems: Problems) -> None:
    """Every swept path must be a parameter of some method that does not set it itself, and every value possible; the
    same for each method's own grid. `fixed`: whether `splits` has a `labelled` of its own.
    """
    specs: dict[str, MethodSpec] = {}
    for name, parts in (methods if isinstance(methods, dict) else {}).items():
        with contextlib.suppress(ValidationError):
            spec = MethodSpec.model_validate(parts)
            if _UNREADABLE not in spec.components():
                specs[name] = spec
    all_read = isinstance(methods, dict) and len(specs) == len(methods)
    for path, values in sweep.items():
        here: KeyPath = ("sweep", path)
        if path == LABELLED:
            _check_labelled(values if isinstance(values, list) else [], here, fixed, problems)
            continue
        if path.partition(".")[0] == "splits":
            problems.add(here, f"of the splits only `{LABELLED}` can be swept")
            continue
        having = {name: spec for name, spec in specs.items() if spec.with_value(path, None) is not None}
        if not having and all_read:
            known = _sweepable(specs.values())
            problems.add(
                here, f"no method has this parameter{near(path, known)} (there are: {', '.join(known) or 'none'})"
            )
        _check_values(having, path, values if isinstance(values, list) else [], here, problems)
    for name, spec in specs.items():
        for path, values in (spec.tune.grid if spec.tune else {}).items():
            here = ("methods", name, "tune", "grid", path)
            if path in sweep:
                problems.add(here, "is swept, too; leave it out in one of the two places")
            elif spec.with_value(path, None) is None:
                known = _sweepable([spec])
                problems.add(here, f"the method has no such parameter{near(path, known)} (it has: {', '.join(known)})")
            else:
                _check_values({name: spec}, path, values, here, problems)
                for dataset, grid in (spec.tune.grids if spec.tune else {}).items():
                    there = ("methods", name, "tune", "grids", dataset, path)
                    _check_values({name: spec}, path, grid[path], there, problems)


def _check_labelled(values: Sequence[Any], here: KeyPath, fixed: bool, problems: Problems) -> None:
    """The values of a swept `splits.labelled`."""
    if fixed:
        problems.add(here, "splits.labelled is set, too; leave it out in one of the two places")
    texts = [method_text(value) for value in values]
    for i, value in enumerate(values):
        if texts[i] in texts[:i]:
            problems.add((*here, i), f"the value {texts[i]} is listed twice")
        try:
            if read_labelled(value) is None:
                problems.add((*here, i), "must be a share or a number of rows, found nothing")
        except ValidationError as error:
            problems.add((*here, i), worded(error.errors(include_url=False)[0]))


def _check_scopes(methods: Any, hidden: bool, problems: Problems) -> None:
    """Where labels are hidden no choice may be made by all rows: it would see them."""
    for name, parts in methods.items() if hidden and isinstance(methods, dict) else ():
        tune = parts.get("tune") if isinstance(parts, dict) else None
        if isinstance(tune, dict) and tune.get("scope") == "dataset":
            message = "`dataset` chooses by the labels of all rows, and `splits.labelled` hides some; take `split`"
            problems.add(("methods", name, "tune", "scope"), message)


def _check_values(
    having: Mapping[str, MethodSpec], path: str, values: Sequence[Any], here: KeyPath, problems: Problems
) -> None:
    """Each value must be listed once and be possible for the methods `having` the parameter; none may set it itself."""
    texts = [method_text(value) for value in values]
    for i, text in enumerate(texts):
        if text in texts[:i]:
            problems.add((*here, i), f"the value {text} is listed twice")
    for name, spec in having.items():
        component, keys, _ = spec.component_at(path) or (_UNREADABLE, (), None)
        if keys[0] in component.params and len(keys) == 1:
            problems.add(here, f"the method {name} sets {keys[0]} itself; leave it out there, or do not vary it")
    for i, value in enumerate(values):
        failing = {}
        for name, spec in having.items():
            at = (spec.with_value(path, value) or spec).component_at(path)
            message = build_problem(at[0], problems.importing) if at else None
            if message:
                failing[name] = message
        if failing:
            problems.add((*here, i), f"impossible for {', '.join(failing)}: {next(iter(failing.values()))}")


def _sweepable(specs: Iterable[MethodSpec]) -> list[str]:
    """The paths of all parameters of some methods, each once."""
    paths: dict[str, None] = {}
    for spec in specs:
        for position, component in enumerate(spec.components()):
            step = f".{position}" if component.family == "feature_space" and len(spec.feature_space) > 1 else ""
            for key in registry.declared(component.family, component.name).parameters:
                paths[f"{component.family}{step}.{key}"] = None
    return list(paths)
