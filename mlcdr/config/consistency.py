"""Whether the parts of a config agree: what it sweeps, tunes and shows with its methods, metrics and splits."""

import contextlib
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from mlcdr.config.methods import UNREADABLE, find_problem
from mlcdr.config.problems import Problems, describe_finding, near
from mlcdr.config.yaml_reader import KeyPath
from mlcdr.data.files import Part
from mlcdr.data.sources import entry_names
from mlcdr.experiment.model import LABELLED, Experiment, LayoutSpec, MethodSpec, method_text
from mlcdr.experiment.splits import number_of_splits, read_labelled
from mlcdr.experiment.tune import TuneSpec, listed
from mlcdr.methods.component import Component
from mlcdr.methods.declarations import RENAMED

MAX_TRIALS = 10_000_000
"""The most trials of a plan, which is kept in memory."""


@dataclass(frozen=True)
class Asked:
    """The tables and figures that an experiment lists, and its metrics, methods and sweep, as far as they can be read.

    Attributes
    ----------
    tables, figures : tuple of LayoutSpec or None
        None for one that cannot be read.
    metrics, methods : tuple of str
        Their names in the results.
    sweep : dict
        Swept path → number of values.
    """

    tables: tuple[LayoutSpec | None, ...]
    figures: tuple[LayoutSpec | None, ...]
    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    sweep: dict[str, int]


Check = Callable[[Asked], Iterable[str]]
"""Finds what is wrong with tables and figures: lines `tables.0: what is wrong`."""


def check_names(data: Mapping[str, Any], problems: Problems) -> None:
    """No two metrics may share a name in the results, and a layout's metric must be measured."""
    labels: list[str] = []
    misspelt = any(path[:1] == ("metrics",) for path in problems.places())
    metrics_read = isinstance(data.get("metrics"), list)
    for i, spec in enumerate(data["metrics"] if metrics_read else []):
        if spec.label and spec.label in labels:
            problems.add(
                ("metrics", i), f"the metric {spec.label!r} is listed twice; give one another name by `as: name`"
            )
        labels.append(spec.label)
    for key in ("tables", "figures"):
        for i, spec in enumerate(data[key] if isinstance(data.get(key), list) else []):
            meant = misspelt and near(spec.metric, labels)  # a metric whose name is misspelt in `metrics:`
            if isinstance(spec.metric, str) and metrics_read and not meant and spec.metric not in labels:
                message = (
                    f"{spec.metric!r} is none of the metrics above{near(spec.metric, labels)} ({', '.join(labels)})"
                )
                problems.add((key, i, "metric"), message)


def check_layouts(data: Mapping[str, Any], sweep: Mapping[str, Any], also: Check, problems: Problems) -> None:
    """Add the findings of `also` to the problems, but for those that are reported already."""
    listed = {key: data[key] if isinstance(data.get(key), list) else [] for key in ("metrics", "tables", "figures")}
    methods = data.get("methods")

    def readable(key: str) -> tuple[LayoutSpec | None, ...]:
        return tuple(spec if isinstance(spec.layout, str) and spec.layout else None for spec in listed[key])

    asked = Asked(
        readable("tables"),
        readable("figures"),
        metrics=tuple(spec.label for spec in listed["metrics"] if spec.label),
        methods=tuple(methods) if isinstance(methods, dict) else (),
        sweep={path: len(values) for path, values in sweep.items() if isinstance(values, list)},
    )
    reported = problems.places()
    misspelt = any(path[:1] == ("metrics",) for path in reported)
    for line in also(asked):
        where, _, message = line.partition(": ")
        key, _, number = where.partition(".")
        path = (key, int(number))
        # Of a metric that is misspelt above, or in the entry itself, one line is enough.
        unclear = not asked.metrics or (misspelt and "did you mean" in message)
        known = unclear or (*path, "metric") in reported
        if not (known and message.startswith("needs the metric")):
            problems.add(path, message)


def check_tuning(data: Mapping[str, Any], part: Part, problems: Problems) -> None:
    """A method must be tuned by a known metric, and a grid of one data set must be of a known data set."""
    metrics = [spec for spec in data["metrics"] if spec.label] if isinstance(data.get("metrics"), list) else []
    listed = data["datasets"] if isinstance(data.get("datasets"), list) else []
    names = [spec.short_name(part) for spec in listed if spec.name and spec.name.isprintable()]
    for method, parts in data["methods"].items() if isinstance(data.get("methods"), dict) else ():
        try:
            tune = TuneSpec.model_validate(parts["tune"])
        except (ValidationError, KeyError, TypeError):  # not tuned, or reported already
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
        if tune.search == "optuna" and find_spec("optuna") is None:
            problems.add((*here, "search"), "optuna is not installed: pip install 'mlcdr[optuna]'")


def check_sweep(sweep: Mapping[str, Any], methods: Any, fixed: bool, problems: Problems) -> None:
    """Every swept path must be a parameter of some method that does not set it itself, and every value possible; the
    same for each method's own grid. `fixed`: whether `splits` has a `labelled` of its own.
    """
    specs: dict[str, MethodSpec] = {}
    for name, parts in (methods if isinstance(methods, dict) else {}).items():
        with contextlib.suppress(ValidationError):
            spec = MethodSpec.model_validate(parts)
            if UNREADABLE not in spec.components():
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
            problems.add(here, _describe_unknown(path, "no method has this parameter", "there are", [*specs.values()]))
        _check_values(having, path, values if isinstance(values, list) else [], here, problems)
    for name, spec in specs.items():
        for path, values in (spec.tune.grid if spec.tune else {}).items():
            here = ("methods", name, "tune", "grid", path)
            if path in sweep:
                problems.add(here, "is swept, too; leave it out in one of the two places")
            elif spec.with_value(path, None) is None:
                problems.add(
                    here, _describe_unknown(path, f"the method {name} has no such parameter", "it has", [spec])
                )
            else:
                _check_values({name: spec}, path, listed(values), here, problems)
                for dataset, grid in (spec.tune.grids if spec.tune else {}).items():
                    there = ("methods", name, "tune", "grids", dataset, path)
                    _check_values({name: spec}, path, listed(grid[path]), there, problems)


def _check_labelled(values: Sequence[Any], here: KeyPath, fixed: bool, problems: Problems) -> None:
    """The values of a swept `splits.labelled`."""
    if fixed:
        problems.add(here, "splits.labelled is set, too; leave it out in one of the two places")
    _check_repeated(values, here, problems)
    for i, value in enumerate(values):
        try:
            if read_labelled(value) is None:
                problems.add((*here, i), "must be a share or a number of rows, found nothing")
        except ValidationError as error:
            problems.add((*here, i), describe_finding(error.errors(include_url=False)[0]))


def _check_repeated(values: Sequence[Any], here: KeyPath, problems: Problems) -> None:
    seen: set[str] = set()
    for i, text in enumerate(map(method_text, values)):
        if text in seen:
            problems.add((*here, i), f"the value {text} is listed twice")
        seen.add(text)


def check_size(experiment: Experiment, problems: Problems) -> None:
    """More trials than can be planned are refused before any of them is made."""
    splits = number_of_splits(experiment.splits)
    points = sum(map(experiment.n_points, experiment.methods))
    trials = len(experiment.datasets) * points * splits
    if trials > MAX_TRIALS:
        path: KeyPath = ("splits",) if splits > points else ("sweep",)
        problems.add(path, f"the plan would have {trials:,} trials; at most {MAX_TRIALS:,} are allowed")


def check_scopes(methods: Any, hidden: bool, problems: Problems) -> None:
    """Where labels are hidden, no parameter may be chosen on all rows: the choice would see the hidden labels."""
    for name, parts in methods.items() if hidden and isinstance(methods, dict) else ():
        tune = parts.get("tune") if isinstance(parts, dict) else None
        if isinstance(tune, dict) and tune.get("scope") == "dataset":
            message = "`dataset` chooses by the labels of all rows, and `splits.labelled` hides some; take `split`"
            problems.add(("methods", name, "tune", "scope"), message)


def _check_values(
    having: Mapping[str, MethodSpec], path: str, values: Sequence[Any], here: KeyPath, problems: Problems
) -> None:
    """Each value must be listed once and be possible for the methods `having` the parameter; none may set it itself."""
    _check_repeated(values, here, problems)
    for name, spec in having.items():
        component, keys, _ = spec.component_at(path) or (UNREADABLE, (), None)
        if keys[0] in component.params and len(keys) == 1:
            problems.add(here, f"the method {name} sets {keys[0]} itself; leave it out there, or do not vary it")
    for i, value in enumerate(values):
        failing = {}
        for name, spec in having.items():
            at = (spec.with_value(path, value) or spec).component_at(path)
            message = find_problem(at[0], problems) if at else None
            if message:
                failing[name] = message
        if failing:
            problems.add((*here, i), f"impossible for {', '.join(failing)}: {next(iter(failing.values()))}")


def _describe_unknown(path: str, what: str, having: str, specs: Sequence[MethodSpec]) -> str:
    """Why a path leads nowhere in some methods: its new name, or a similar path and all that there are."""
    family, *keys = path.split(".")
    renamed = ".".join([family, *(RENAMED.get(key, key) for key in keys)])
    if any(spec.with_value(renamed, None) is not None for spec in specs):
        return f"{path!r} is now called {renamed!r}"
    every = _list_parameters(specs)
    names = difflib.get_close_matches(keys[-1] if keys else path, [each.rpartition(".")[2] for each in every], n=1)
    close = [each for each in every if each.rpartition(".")[2] in names]
    hint = "".join(f"; did you mean {each!r}?" for each in difflib.get_close_matches(path, close, n=1, cutoff=0))
    known = [each for each, is_inner in every.items() if not is_inner]
    return f"{what}{hint} ({having}: {', '.join(known) or 'none'})"


def _list_parameters(specs: Iterable[MethodSpec]) -> dict[str, bool]:
    """The path of each parameter of some methods → whether it is of a component within a component."""
    paths: dict[str, bool] = {}

    def add(component: Component, path: str, is_inner: bool) -> None:
        paths.update(dict.fromkeys((f"{path}.{key}" for key in component.declaration().parameters), is_inner))
        for key, part in component.parts().items():
            add(part, f"{path}.{key}", True)

    for spec in specs:
        for position, component in enumerate(spec.components()):
            step = f".{position}" if component.family == "feature_space" and len(spec.feature_space) > 1 else ""
            add(component, f"{component.family}{step}", False)
    return paths
