"""Whether the parts of a config agree: what it sweeps, tunes and shows with its methods, metrics and splits.

Each check is of what could be read (`Draft`); what is wrong by itself has been reported.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from mlcdr.config.problems import Problems
from mlcdr.data.sources import entry_names
from mlcdr.errors import suggest_name
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.entries import LayoutSpec
from mlcdr.experiment.method import MethodSpec, judge_component
from mlcdr.experiment.model import LABELLED, Experiment, method_text
from mlcdr.experiment.problems import KeyPath, Problem, dotted, problems_of
from mlcdr.experiment.splits import number_of_splits, read_labelled
from mlcdr.experiment.tune import listed
from mlcdr.methods.component import Component, read_component
from mlcdr.methods.declarations import RENAMED
from mlcdr.methods.registry import resolve

MAX_TRIALS = 10_000_000
"""The most trials of a plan, which is kept in memory."""

NO_METRIC, SIMILAR_METRIC = "no metric", "similar metric"
"""The codes of a layout's problem that it shows a metric that is not measured, and that one of a similar name is."""


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


Check = Callable[[Asked], Iterable[Problem]]
"""Finds what is wrong with tables and figures."""


def check_metrics(draft: Draft, written: Mapping[str, Any], problems: Problems) -> None:
    """No two metrics may share a name in the results, and a table's metric must be measured."""
    read = draft.entries("metrics")
    names = _names_of_metrics(draft, written)
    labels: list[str] = []
    for i, name in names.items():
        if name in labels:
            text = f"the metric {name!r} is listed twice; give one another name by `as: name`"
            problems.add(("metrics", i), text)
        labels.append(name)
    misspelt = [name for i, name in names.items() if i not in read]
    for key in ("tables", "figures") if isinstance(written.get("metrics"), list) else ():
        for i, layout in draft.entries(key).items():
            if layout.metric is None or layout.metric in labels or suggest_name(layout.metric, misspelt):
                continue
            hint = suggest_name(layout.metric, labels)
            text = f"{layout.metric!r} is none of the metrics above{hint} ({', '.join(labels)})"
            problems.add((key, i, "metric"), text)


def _names_of_metrics(draft: Draft, written: Mapping[str, Any]) -> dict[int, str]:
    """The names of the metrics in the results, by their numbers; a wrong one has what is written."""
    items = written.get("metrics")
    names = {}
    for i, item in enumerate(items if isinstance(items, list) else ()):
        name, options = next(iter(item.items()), ("", {})) if isinstance(item, dict) else (item, {})
        if isinstance(options, dict):
            name = options.get("as", name)
        if isinstance(name, str) and name:
            names[i] = name
    return names | {i: metric.label for i, metric in draft.entries("metrics").items()}


def check_layouts(draft: Draft, written: Mapping[str, Any], also: Check, problems: Problems) -> None:
    """Report what `also` finds wrong with tables and figures, but for what is reported already."""
    names = _names_of_metrics(draft, written)
    asked = Asked(
        draft.values.get("tables") or (),
        draft.values.get("figures") or (),
        metrics=tuple(names.values()),
        methods=tuple(draft.values.get("methods") or ()),
        sweep={path: len(values) for path, values in draft.sweep.items() if isinstance(values, list)},
    )
    reported = problems.paths()
    misspelt = any(path[:1] == ("metrics",) for path in reported)
    for problem in also(asked):
        # Of a metric that is misspelt above, or in the entry itself, one line is enough.
        is_said = not names or (*problem.path, "metric") in reported
        if problem.code == SIMILAR_METRIC and (is_said or misspelt):
            continue
        if problem.code == NO_METRIC and is_said:
            continue
        problems.report(problem)


def check_tuning(draft: Draft, names: Sequence[str], problems: Problems) -> None:
    """A method must be tuned by a known metric, and a grid of one data set must be of a known data set.

    Parameters
    ----------
    draft : Draft
    names : sequence of str
        Of the data sets in the results.
    problems : Problems
    """
    metrics = [(each.label, each.name, each.params) for each in draft.entries("metrics").values()]
    hides = draft.values.get("splits") is not None and draft.values["splits"].labelled is not None
    for method, spec in draft.methods().items():
        tune, here = spec.tune, ("methods", method, "tune")
        if tune is None:
            continue
        known = [*names, *entry_names()] if tune.grids else []
        folded = {each.casefold() for each in known}
        for name in tune.grids:
            if name.casefold() not in folded:
                problems.add((*here, "grids", name), f"{name!r} is no data set{suggest_name(name, known)}")
        if tune.scope != "test":
            try:
                tune.criterion(metrics)
            except ValueError as error:
                problems.add((*here, "metric"), str(error))
        if tune.search == "optuna" and find_spec("optuna") is None:
            problems.add((*here, "search"), "optuna is not installed: pip install 'mlcdr[optuna]'")
        if tune.scope == "dataset" and (hides or LABELLED in draft.sweep):
            text = "`dataset` chooses by the labels of all rows, and `splits.labelled` hides some; take `split`"
            problems.add((*here, "scope"), text)


def check_sweep(draft: Draft, problems: Problems) -> None:
    """Every swept path must be a parameter of some method that does not set it itself, and every value possible."""
    specs = draft.methods()
    all_read = bool(specs) and len(specs) == len(draft.values["methods"])
    for path, written in draft.sweep.items():
        here: KeyPath = ("sweep", path)
        values = written if isinstance(written, list) else []
        if path == LABELLED:
            _check_labelled(values, here, draft, problems)
            continue
        if path.partition(".")[0] == "splits":
            problems.add(here, f"of the splits only `{LABELLED}` can be swept")
            continue
        having = {name: spec for name, spec in specs.items() if spec.with_value(path, None) is not None}
        if all_read and not having:
            text = _describe_unknown(path, "no method has this parameter", "there are", [*specs.values()])
            problems.add(here, text)
        _check_values(Varied(here, path, values, having), problems)


def check_grids(draft: Draft, problems: Problems) -> None:
    """As `check_sweep`, for each method's own grid."""
    for name, spec in draft.methods().items():
        for path in spec.tune.grid if spec.tune is not None else ():
            here: KeyPath = ("methods", name, "tune", "grid", path)
            if path in draft.sweep:
                problems.add(here, "is swept, too; leave it out in one of the two places")
            elif spec.with_value(path, None) is None:
                text = _describe_unknown(path, f"the method {name} has no such parameter", "it has", [spec])
                problems.add(here, text)
        for varied in _varied_by_grids(name, spec):
            _check_values(varied, problems)


@dataclass(frozen=True)
class Varied:
    """The values of a parameter in a sweep or a grid: where they stand, and the methods that have the parameter."""

    here: KeyPath
    path: str
    values: Sequence[Any]
    having: Mapping[str, MethodSpec]

    def components(self, value: Any) -> Iterator[tuple[str, Component]]:
        """Each method's component with one of the values put in."""
        for name, spec in self.having.items():
            changed = spec.with_value(self.path, value)
            found = changed.component_at(self.path) if changed is not None else None
            if found is not None:
                yield name, found[0]


def _varied_by_grids(name: str, spec: MethodSpec) -> Iterator[Varied]:
    """The parameters in the grid of a method, and in its grids of single data sets."""
    if spec.tune is None:
        return
    grids = {("grid",): spec.tune.grid} | {("grids", name): grid for name, grid in spec.tune.grids.items()}
    for where, grid in grids.items():
        for path, values in grid.items():
            if spec.with_value(path, None) is not None:
                yield Varied(("methods", name, "tune", *where, path), path, listed(values), {name: spec})


def _check_values(varied: Varied, problems: Problems) -> None:
    """Each value must be listed once and be possible for the methods; none of these may set the parameter itself."""
    _check_repeated(varied.values, varied.here, problems)
    for name, spec in varied.having.items():
        at = spec.component_at(varied.path)
        if at is not None and len(at[1]) == 1 and at[1][0] in at[0].params:
            text = f"the method {name} sets {at[1][0]} itself; leave it out there, or do not vary it"
            problems.add(varied.here, text)
    for i, value in enumerate(varied.values):
        failing = {}
        for name, component in varied.components(value):
            why = find_problem(component)
            if why:
                failing[name] = why
        _report_impossible(failing, (*varied.here, i), problems)


def find_problem(component: Component) -> str:
    """The first thing that is wrong with a component, apart from parameters that are missing; empty if nothing is."""
    reading = judge_component(component.family, component.plain(), None)
    return next((text for _, text in reading.problems), "")


def _report_impossible(failing: Mapping[str, str], here: KeyPath, problems: Problems) -> None:
    """Report a value that is impossible for some methods, by name, each with its reason."""
    if failing:
        problems.add(here, f"impossible for {', '.join(failing)}: {next(iter(failing.values()))}")


def _check_labelled(values: Sequence[Any], here: KeyPath, draft: Draft, problems: Problems) -> None:
    """The values of a swept `splits.labelled`."""
    splits = draft.values.get("splits")
    if splits is not None and splits.labelled is not None:
        problems.add(here, "splits.labelled is set, too; leave it out in one of the two places")
    _check_repeated(values, here, problems)
    for i, value in enumerate(values):
        try:
            if read_labelled(value) is None:
                problems.add((*here, i), "must be a share or a number of rows, found nothing")
        except ValidationError as error:
            for problem in problems_of(error):
                problems.report(problem.below(*here, i))


def _check_repeated(values: Sequence[Any], here: KeyPath, problems: Problems) -> None:
    seen: set[str] = set()
    for i, text in enumerate(map(method_text, values)):
        if text in seen:
            problems.add((*here, i), f"the value {text} is listed twice")
        seen.add(text)


def _describe_unknown(path: str, what: str, having: str, specs: Sequence[MethodSpec]) -> str:
    """Why a path leads nowhere in some methods: its new name, or a similar path and all that there are."""
    family, *keys = path.split(".")
    renamed = ".".join([family, *(RENAMED.get(key, key) for key in keys)])
    if any(spec.with_value(renamed, None) is not None for spec in specs):
        return f"{path!r} is now called {renamed!r}"
    every: dict[str, bool] = {}
    for spec in specs:
        every |= _list_parameters(spec)
    names = difflib.get_close_matches(keys[-1] if keys else path, [each.rpartition(".")[2] for each in every], n=1)
    close = [each for each in every if each.rpartition(".")[2] in names]
    nearest = difflib.get_close_matches(path, close, n=1, cutoff=0)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    known = [each for each, is_inner in every.items() if not is_inner]
    return f"{what}{hint} ({having}: {', '.join(known) or 'none'})"


def _list_parameters(spec: MethodSpec) -> dict[str, bool]:
    """The path of each parameter of a method → whether it is of a component within a component."""
    paths: dict[str, bool] = {}
    pending = [(dotted(at), component, False) for at, component in spec.by_path().items()]
    while pending:
        path, component, is_inner = pending.pop(0)
        for key in component.declaration().parameters:
            paths[f"{path}.{key}"] = is_inner
        pending += [(f"{path}.{key}", part, True) for key, part in component.parts().items()]
    return paths


# -------------------------------------------------------------------- when nothing else is wrong


def check_size(experiment: Experiment, problems: Problems) -> None:
    """More trials than can be planned are refused before any of them is made."""
    splits = number_of_splits(experiment.splits)
    points = sum(map(experiment.n_points, experiment.methods))
    trials = len(experiment.datasets) * points * splits
    if trials > MAX_TRIALS:
        path: KeyPath = ("splits",) if splits > points else ("sweep",)
        problems.add(path, f"the plan would have {trials:,} trials; at most {MAX_TRIALS:,} are allowed")


def check_instances(experiment: Experiment, problems: Problems) -> None:
    """Report what only instances of classes can tell: parameters that must fit each other, a learner that must fit.

    Instances are made last, because importing their classes takes a second.
    """
    for name, spec in experiment.methods.items():
        varied = [*experiment.sweep, *(spec.tune.grid if spec.tune is not None else ())]
        for at, component in spec.by_path().items():
            prefix = f"{dotted(at)}."
            swept = [path.removeprefix(prefix) for path in varied if path.startswith(prefix)]
            for keys, text in _problems_of_instance(component, swept):
                problems.add(("methods", name, *at, *keys), text)
        _check_pair(spec, varied, ("methods", name, "label_space"), problems)
        for each in _varied_by_grids(name, spec):
            _check_instances_of_values(each, problems)
    for path, values in experiment.sweep.items():
        having = {name: spec for name, spec in experiment.methods.items() if spec.component_at(path) is not None}
        _check_instances_of_values(Varied(("sweep", path), path, values, having), problems)


def _check_instances_of_values(varied: Varied, problems: Problems) -> None:
    for i, value in enumerate(varied.values):
        failing: dict[str, str] = {}
        for name, component in varied.components(value):
            for _, text in _problems_of_instance(component, None):
                failing.setdefault(name, text)
        _report_impossible(failing, (*varied.here, i), problems)


def _problems_of_instance(component: Component, swept: Sequence[str] | None) -> Sequence[tuple[KeyPath, str]]:
    """What is wrong with a component by its instance; nothing where the index tells all."""
    written = component.plain()
    if read_component(component.family, written, importing=False, swept=swept).complete:
        return ()
    return read_component(component.family, written, importing=True, swept=swept).problems


def _check_pair(spec: MethodSpec, varied: Sequence[str], here: KeyPath, problems: Problems) -> None:
    """A label space that takes its kernel from the learner must go together with it, which its class judges."""
    space, learner = spec.label_space, spec.learner
    if space is None or not space.declaration().judges_learner:
        return
    parts = {"label_space.regression", *(f"learner.{key}" for key in learner.declaration().components)}
    if not parts.isdisjoint(varied):
        return
    try:
        built = learner.build(check=False)
    except TypeError:  # a parameter that it needs is swept
        return
    cls: Any = resolve(space.family, space.name)
    message = cls.misfit(built, space.params.get("regression"))
    if message:
        problems.add(here, message)
