"""The experiment that a results folder holds, read to interpret the results and not to be run.

Only its form is checked: its data sets need not be there, no class is imported, and its components, metrics and keys
may be those of another version of mlcdr or of another program (a key that is unknown is left out).
"""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from mlcdr.config.entries import name_and_options, read_layout
from mlcdr.config.problems import Problems
from mlcdr.config.yaml_reader import KeyPath, read_yaml
from mlcdr.errors import ConfigError, describe
from mlcdr.experiment.model import FAMILIES, DatasetSpec, Experiment, MethodSpec, MetricSpec
from mlcdr.methods.component import Component


class _Recorded(Experiment):
    """An experiment that may have any name, any number of data sets, metrics and methods, and missing keys."""

    model_config = ConfigDict(extra="ignore")

    name: str
    datasets: tuple[DatasetSpec, ...] = ()
    metrics: tuple[MetricSpec, ...] = ()
    methods: dict[str, MethodSpec] = Field(default_factory=dict)


def read_recorded(path: Path) -> Experiment:
    """The experiment in the `experiment.yaml` of a results folder.

    Raises
    ------
    ConfigError
        With all problems of its form, each `file:line: key.path: what is wrong`.
    """
    document = read_yaml(path)
    problems = Problems(document)
    if not isinstance(document.data, dict):
        raise ConfigError([f"{path}: holds no experiment (a mapping with `datasets:`, `methods:` …)"])
    data = {"name": path.parent.name} | {key: value for key, value in document.data.items() if value is not None}
    readers = {"datasets": _dataset, "metrics": _metric, "tables": read_layout, "figures": read_layout}
    for key, read in readers.items():
        if isinstance(data.get(key), list):
            data[key] = tuple(read(item, (key, i), problems) for i, item in enumerate(data[key]))
    if isinstance(data.get("methods"), dict):
        data["methods"] = {name: _method(item, ("methods", name), problems) for name, item in data["methods"].items()}
    problems.raise_any()
    try:
        return _Recorded.model_validate(data)
    except ValidationError as error:
        problems.add_validation(error, data, (), lambda _: ())
        raise ConfigError(problems.lines()) from None


def _dataset(written: Any, path: KeyPath, problems: Problems) -> DatasetSpec:
    name, options = _named(written, "data set", path, problems)
    return DatasetSpec.model_construct(name=name, params=options)


def _metric(written: Any, path: KeyPath, problems: Problems) -> MetricSpec:
    name, options = _named(written, "metric", path, problems)
    label = str(options.get("as", name))
    params = {key: value for key, value in options.items() if key != "as"}
    return MetricSpec.model_construct(name=name, params=params, label=label)


def _method(written: Any, path: KeyPath, problems: Problems) -> Any:
    if not isinstance(written, dict):
        return written
    method = {key: written[key] for key in MethodSpec.model_fields if written.get(key) is not None}
    for family in method.keys() & set(FAMILIES):
        steps = method[family] if family == "feature_space" and isinstance(method[family], list) else [method[family]]
        parts = tuple(Component(family, *_named(step, family, (*path, family), problems)) for step in steps)
        method[family] = parts if family == "feature_space" else parts[0]
    return method


def _named(written: Any, what: str, path: KeyPath, problems: Problems) -> tuple[str, dict[str, Any]]:
    """`name` or `{name: {option: value}}`, the form in which a run writes all that has options."""
    name, options = name_and_options(written, what, path, problems) or ("", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        problems.add(path, f"the options of a {what} are a mapping, found {describe(options)}")
        return "", {}
    return name, options
