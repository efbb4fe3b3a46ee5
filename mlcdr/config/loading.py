"""From an experiment's YAML to a validated, frozen `Experiment`, or to the list of all that is wrong with it.

`load_experiment` reads the file strictly (`yaml_reader`), puts `--set` options in (`overrides`) and checks everything
that can be known without reading the data: keys and types by pydantic (`model`); data sets, metrics and layouts one by
one (`entries`), and methods (`methods`); and whether all these agree (`consistency`) and the files of data sets and of
folds are there. What depends on the data (are there rows enough) is checked later, in `data_checks` and by the run.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from mlcdr.config import consistency, entries
from mlcdr.config.imports import IN_MAIN
from mlcdr.config.methods import read_method
from mlcdr.config.overrides import Overrides, apply_overrides
from mlcdr.config.problems import Problems, dotted
from mlcdr.config.shipped import find_config
from mlcdr.config.yaml_reader import MAX_BYTES, MAX_RESOLVED, Document, KeyPath, Place, dump_yaml, read_yaml
from mlcdr.data.files import NotFetchedError, Part
from mlcdr.data.forms import MEMORY, SOURCES
from mlcdr.errors import ConfigError, DataError, describe, report_memory
from mlcdr.experiment.model import LABELLED, Experiment, KeepSpec, LimitsSpec, MethodSpec
from mlcdr.experiment.splits import FromFile, KFold, Predefined, Shuffle
from mlcdr.experiment.tune import TuneSpec
from mlcdr.methods.declarations import parameters
from mlcdr.methods.registry import BUILT_IN


@report_memory
def load_experiment(
    path: str | Path,
    overrides: Overrides = (),
    look_up: bool = True,
    also: consistency.Check | None = None,
    import_classes: bool = True,
    held: Mapping[str, str] | None = None,
) -> Experiment:
    """Read and check an experiment file.

    Relative paths of data sets and layouts that exist beside the file, or else in the working directory, are made
    absolute; those of fold files are looked up for each data set (`FromFile.folders`).

    Parameters
    ----------
    path : path
        The YAML file, or the name of a config that comes with mlcdr (`yeast_cplst`).
    overrides : sequence of str, or mapping
        `key.path=value` texts, or key path → value, put in before anything is checked.
    look_up : bool
        Whether the data sets and fold files must be there, as a run needs them.
    import_classes : bool
        Whether classes of components may be imported. If not, what needs a class is not checked, and a component that
        only its class can read is replaced by a stand-in.
    also : callable, optional
        Finds problems of the tables and figures, which this module cannot check: `tables.0: what is wrong` for each.
    held : mapping, optional
        Data sets in memory, name → digest (`mlcdr.data.held`). They replace the config's data sets of these names; if
        it has none of these names, they replace all its data sets.

    Raises
    ------
    ConfigError
        With all problems, each `file:line: key.path: what is wrong`. A file that is not YAML reports just that. A
        problem that only the class of a component shows (one of your own, or of scikit-learn) is reported when nothing
        else is wrong: importing the class takes a second, and the other problems are reported at once.
    """
    given, path = path, find_config(Path(path))
    document = read_yaml(path)
    if path != Path(given):  # the name of a config says more than the folder where mlcdr is installed
        source = f"the config {given} of mlcdr"
        document.places = {key: place._replace(source=source) for key, place in document.places.items()}
    return _checked(document, overrides, path.resolve().parent, look_up, also, import_classes, held)


def experiment_from(
    data: Mapping[str, Any],
    overrides: Overrides = (),
    source: str = "experiment",
    look_up: bool = True,
    also: consistency.Check | None = None,
    held: Mapping[str, str] | None = None,
) -> Experiment:
    """As `load_experiment`, from plain data such as `Experiment.resolved()` gives.

    Numbers of NumPy, paths, tuples and arrays become what YAML has for them.

    Raises
    ------
    ConfigError
        With all problems, each `source: key.path: what is wrong`.
    """
    plain = copy_plain(data, source)  # a copy, which overrides may change
    return _checked(Document(plain, {(): Place(source)}), overrides, Path.cwd(), look_up, also, held=held)


def copy_plain(value: Any, source: str, path: KeyPath = ()) -> Any:
    """A copy of plain data, in the types that YAML has; an estimator becomes the component that a config would have.

    Raises
    ------
    ConfigError
        When something is of another type.
    """
    if isinstance(value, Mapping):
        return {str(key): copy_plain(each, source, (*path, str(key))) for key, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [copy_plain(each, source, (*path, i)) for i, each in enumerate(value)]
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return copy_plain(value.tolist(), source, path)
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "get_params") and not isinstance(value, type) and type(value).__module__ != "__main__":
        described = _describe_estimator(value, source, path)
        is_method = len(path) == 2 and path[0] == "methods" and "learner" not in described
        return {"learner": described} if is_method else described
    where = ": ".join(filter(None, [source, dotted(path)]))
    raise ConfigError([f"{where}: {_describe_foreign(value)}"])


def _describe_foreign(value: Any) -> str:
    """Why a value cannot stand in a config, and what can."""
    cls = value if isinstance(value, type) else type(value)
    name = f"{cls.__module__}.{cls.__qualname__}"
    named = f"{name!r}, or {{{name!r}: {{parameter: value}}}}"
    if cls.__module__ == "__main__":
        return f"{cls.__name__} is not taken: {IN_MAIN.format(name=cls.__qualname__)}"
    if isinstance(value, type):
        return f"is the class {cls.__name__}; write {named}, or an estimator, {cls.__name__}(...)"
    if hasattr(value, "fit"):
        why = "has no get_params, from which its parameters would be read"
        return f"{cls.__name__} {why}; derive the class from sklearn.base.BaseEstimator, or write {named}"
    return f"is of type {cls.__name__}; a config holds texts, numbers, lists, mappings and estimators"


def _describe_estimator(estimator: Any, source: str, path: KeyPath) -> dict[str, Any]:
    """The component of a config that an estimator is, or the line of a method if it is a `ComposedClassifier`."""
    cls: Any = type(estimator)
    defaults = parameters(cls)
    given = {key: v for key, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults.get(key))}
    plain: dict[str, Any] = copy_plain(given, source, path)
    if (cls.__module__, cls.__name__) == ("mlcdr.methods.composition", "ComposedClassifier"):
        return plain
    target = f"{cls.__module__}:{cls.__qualname__}"
    names = [name for known in BUILT_IN.values() for name in known if known[name] == target]
    if len(names) == 1 and sum(names[0] in known for known in BUILT_IN.values()) == 1:
        return {names[0]: plain}
    public = [part for part in cls.__module__.split(".") if not part.startswith("_")]  # sklearn.linear_model._ridge
    return {".".join([*public, cls.__qualname__]): plain}


def experiment_yaml(experiment: Experiment) -> str:
    """`Experiment.resolved()` as YAML text, which `load_experiment` reads back as an equal experiment.

    Raises
    ------
    ConfigError
        When it is longer than the longest file that is read of a results folder.
    """
    text = dump_yaml(experiment.resolved())
    size = len(text.encode())
    if size > MAX_RESOLVED:
        raise ConfigError(
            [
                f"{experiment.name}: with all defaults written out it takes {size // 1024} KiB, more than the "
                f"{MAX_RESOLVED // 1024} KiB of a results folder; divide its methods among several experiments"
            ]
        )
    return text


def _checked(
    document: Document,
    overrides: Overrides,
    folder: Path,
    look_up: bool,
    also: consistency.Check | None = None,
    import_classes: bool = True,
    held: Mapping[str, str] | None = None,
) -> Experiment:
    problems = Problems(document)
    if not isinstance(document.data, dict):
        problems.add((), f"an experiment is a mapping (`name: ...`), found {describe(document.data)}")
        problems.raise_any()
    misdirected = apply_overrides(document, overrides)
    if held:
        _put_held(document, held, problems)
    content = _read_entries(problems, folder, look_up)
    experiment = _judge(content, problems, misdirected, also)
    if not problems.complete and not import_classes:
        return experiment
    if not problems.complete:  # to import a class takes a second, so that is done if all else is right
        problems.importing = True
        experiment = _judge(content, problems, misdirected, also)
    consistency.check_size(experiment, problems)
    problems.raise_any()
    return experiment.written_at({dotted(path): str(place) for path, place in document.places.items()})


def _put_held(document: Document, held: Mapping[str, str], problems: Problems) -> None:
    """Replace the data sets of a config that have these names by those that are held in memory."""
    written = document.data.get("datasets")
    items = written if isinstance(written, list) else []
    listed = [str(next(iter(item), "") if isinstance(item, dict) else item) for item in items]
    if not set(held) & set(listed):
        document.data["datasets"] = [{name: {MEMORY: digest}} for name, digest in held.items()]
        return
    for name in held:
        if name not in listed:
            problems.add(("datasets",), f"{name!r} was given in memory and is not listed (listed: {', '.join(listed)})")
    for i, name in enumerate(listed):
        if name in held:
            options = items[i][name] if isinstance(items[i], dict) and isinstance(items[i][name], dict) else {}
            own = ", ".join(f"{key}={value!r}" for key, value in options.items() if key not in SOURCES)
            if own:
                right = f"datasets={{{name!r}: mlcdr.Dataset.of(X, Y, {own})}}"
                problems.add(("datasets", i, name), f"options cannot be set for data given in memory: {right}")
            items[i] = {name: {MEMORY: held[name]}}


def _read_entries(problems: Problems, folder: Path, look_up: bool) -> dict[str, Any]:
    """The document's data with the short forms of data sets, metrics and layouts made models, and splits settled.

    Every problem is recorded; what is no list or mapping is left for pydantic to report.
    """
    document = problems.document
    _write_out_defaults(problems)
    # An optional key whose lines below are all commented out is empty, and counts as left out.
    optional = [key for key, field in Experiment.model_fields.items() if not field.is_required()]
    data = {key: value for key, value in document.data.items() if value is not None or key not in optional}
    readers: dict[str, Callable[[Any, KeyPath], Any]] = {
        "datasets": lambda item, path: entries.read_dataset(item, path, problems, folder),
        "metrics": lambda item, path: entries.read_metric(item, path, problems),
        "tables": lambda item, path: entries.read_layout(item, path, problems, folder),
        "figures": lambda item, path: entries.read_layout(item, path, problems, folder),
    }
    for key, read in readers.items():
        if isinstance(data.get(key), list):
            data[key] = [read(item, (key, i)) for i, item in enumerate(data[key])]
    for key in ("tables", "figures"):
        if isinstance(data.get(key), list) and isinstance(data.get("metrics"), list):
            data[key] = [entries.unify_metric(spec, data["metrics"]) for spec in data[key]]
    if isinstance(data.get("datasets"), list):
        part = _part(data)
        data["datasets"] = entries.unify_names(data["datasets"], part, look_up, problems)
        names = [spec.short_name(part) for spec in data["datasets"] if spec.name]
        with contextlib.suppress(ValidationError):
            folds = FromFile.model_validate(data.get("splits"))
            data["splits"] = folds.settled(folder, names).model_dump()
            absent: dict[KeyPath, NotFetchedError] = {}
            for i, name in enumerate(names if look_up else ()):
                try:
                    folds.beside(folder).find(name)
                except NotFetchedError as error:
                    absent["splits", "path", i] = error
                except DataError as error:
                    problems.add(("splits", "path"), str(error))
            entries.add_absent(problems, ("splits", "path"), absent, folds=True)
    return data


def _write_out_defaults(problems: Problems) -> None:
    """Give each method the parts in `defaults`, and the keys of `tune`, that it does not have itself.

    `threshold: null` in a method means none.
    """
    data, places = problems.document.data, problems.document.places
    defaults, methods = data.pop("defaults", None), data.get("methods")
    if defaults is None or not isinstance(methods, dict):
        return
    if not isinstance(defaults, dict):
        problems.add(("defaults",), f"must be a mapping of a method's parts, found {describe(defaults)}")
    elif len(json.dumps(defaults)) * len(methods) > MAX_BYTES:
        most = f"{MAX_BYTES // 1024} KiB at most"
        problems.add(("defaults",), f"copied into {len(methods)} methods they are too large: {most}")
    problems.raise_any()
    below = {key: [path for path in places if path[:2] == ("defaults", key)] for key in defaults}
    for name, written in methods.items():
        own = {} if written is None else written
        if not isinstance(own, dict):
            continue
        tune, usual = own.get("tune"), defaults.get("tune")
        inherited: list[KeyPath] = [(key,) for key in defaults if key not in own]
        methods[name] = {**defaults, **own}
        if isinstance(tune, dict) and isinstance(usual, dict):
            inherited += [("tune", key) for key in usual if key not in tune]
            methods[name]["tune"] = {**usual, **tune}
        for part in inherited:
            problems.written[("methods", name, *part)] = ("defaults", *part)
            copied = [path for path in below[part[0]] if path[1 : 1 + len(part)] == part]
            places.update({("methods", name, *path[1:]): places[path] for path in copied})


def _part(data: Mapping[str, Any]) -> Part:
    """Which files of its data sets an experiment reads."""
    splits = data.get("splits")
    return "predefined" if isinstance(splits, dict) and splits.get("kind") == "predefined" else "full"


def _judge(
    content: Mapping[str, Any], problems: Problems, misdirected: Sequence[str], also: consistency.Check | None
) -> Experiment:
    """The experiment made of `content` and the methods, which are read here; raises all that is wrong."""
    sweep = content["sweep"] if isinstance(content.get("sweep"), dict) else {}
    methods = content.get("methods")
    if isinstance(methods, dict):
        methods = {name: read_method(item, ("methods", name), problems, sweep) for name, item in methods.items()}
    data = {**content, **({"methods": methods} if "methods" in content else {})}
    if isinstance(data.get("metrics"), list):
        data["metrics"] = [entries.settle_metric(m, ("metrics", i), problems) for i, m in enumerate(data["metrics"])]
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        problems.add_validation(error, data, (), _known_keys)
    consistency.check_names(data, problems)
    consistency.check_tuning(data, _part(data), problems)
    fixed = isinstance(data.get("splits"), dict) and data["splits"].get("labelled") is not None
    consistency.check_sweep(sweep, methods, fixed, problems)
    consistency.check_scopes(methods, fixed or LABELLED in sweep, problems)
    if also is not None:
        consistency.check_layouts(data, sweep, also, problems)
    problems.raise_any(misdirected)
    return experiment


def _known_keys(location: KeyPath) -> Iterable[str]:
    """The keys allowed where pydantic found one too many."""
    kinds: dict[Any, type[BaseModel]] = {"shuffle": Shuffle, "kfold": KFold, "predefined": Predefined, "file": FromFile}
    if location[:1] == ("splits",):
        return kinds[location[1]].model_fields
    if location in (("keep",), ("limits",)):
        return (KeepSpec if location == ("keep",) else LimitsSpec).model_fields
    if "tune" in location:
        return TuneSpec.model_fields
    return MethodSpec.model_fields if location else [*Experiment.model_fields, "defaults"]
