"""Whether the parts of a config agree: what it sweeps, tunes and shows with its methods, metrics and splits.

Each check is of what could be read (`Draft`); what is wrong by itself has been reported.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from mlcdr.data.sources import entry_names
from mlcdr.errors import suggest_name
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.entries import LayoutSpec
from mlcdr.experiment.method import MethodSpec
from mlcdr.experiment.model import LABELLED, Experiment, method_text
from mlcdr.experiment.problems import KeyPath, Problem, dotted
from mlcdr.experiment.splits import number_of_splits, read_labelled
from mlcdr.experiment.varied import Varied, list_varied
from mlcdr.methods.component import Component, find_failure, find_wrong_values
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


def check_metrics(draft: Draft) -> None:
    """No two metrics may share a name in the results, and a table's metric must be measured."""
    read = draft.entries("metrics")
    names = _names_of_metrics(draft)
    labels: list[str] = []
    for i, name in names.items():
        if name in labels:
            text = f"the metric {name!r} is listed twice; give one another name by `as: name`"
            draft.add(("metrics", i), text)
        labels.append(name)
    misspelt = [name for i, name in names.items() if i not in read]
    for key in ("tables", "figures") if isinstance(draft.document.data.get("metrics"), list) else ():
        for i, layout in draft.entries(key).items():
            if layout.metric is None or layout.metric in labels or suggest_name(layout.metric, misspelt):
                continue
            hint = suggest_name(layout.metric, labels)
            text = f"{layout.metric!r} is none of the metrics above{hint} ({', '.join(labels)})"
            draft.add((key, i, "metric"), text)


def _names_of_metrics(draft: Draft) -> dict[int, str]:
    """The names of the metrics in the results, by their numbers; a wrong one has what is written."""
    items = draft.document.data.get("metrics")
    names = {}
    for i, item in enumerate(items if isinstance(items, list) else ()):
        name = item
        if isinstance(item, dict):
            name, options = next(iter(item.items()), ("", None))
            name = options.get("as", name) if isinstance(options, dict) else name
        if isinstance(name, str) and name:
            names[i] = name
    return names | {i: metric.label for i, metric in draft.entries("metrics").items()}


def check_layouts(draft: Draft, also: Check) -> None:
    """Report what `also` finds wrong with tables and figures, but for what is reported already."""
    names = _names_of_metrics(draft)
    asked = Asked(
        draft.values.get("tables") or (),
        draft.values.get("figures") or (),
        metrics=tuple(names.values()),
        methods=tuple(draft.values.get("methods") or ()),
        sweep={path: len(values) for path, values in draft.sweep.items() if isinstance(values, list)},
    )
    reported = {problem.path for problem in draft.found}
    misspelt = any(path[:1] == ("metrics",) for path in reported)
    for problem in also(asked):
        # Of a metric that is misspelt above, or in the entry itself, one line is enough.
        is_said = not names or (*problem.path, "metric") in reported
        if problem.code == SIMILAR_METRIC and (is_said or misspelt):
            continue
        if problem.code == NO_METRIC and is_said:
            continue
        draft.report(problem)


def check_tuning(draft: Draft, names: Sequence[str]) -> None:
    """A method must be tuned by a known metric, and a grid of one data set must be of a known data set.

    Parameters
    ----------
    draft : Draft
    names : sequence of str
        Of the data sets in the results.
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
                draft.add((*here, "grids", name), f"{name!r} is no data set{suggest_name(name, known)}")
        if tune.scope != "test":
            try:
                tune.criterion(metrics)
            except ValueError as error:
                draft.add((*here, "metric"), str(error))
        if tune.search == "optuna" and find_spec("optuna") is None:
            draft.add((*here, "search"), "optuna is not installed: pip install 'mlcdr[optuna]'")
        if tune.scope == "dataset" and (hides or LABELLED in draft.sweep):
            text = "`dataset` chooses by the labels of all rows, and `splits.labelled` hides some; take `split`"
            draft.add((*here, "scope"), text)


def check_labelled(draft: Draft) -> None:
    """The values of a swept `splits.labelled`, which `splits` may not set, too."""
    written = draft.sweep.get(LABELLED)
    values = written if isinstance(written, list) else []
    here: KeyPath = ("sweep", LABELLED)
    splits = draft.values.get("splits")
    if LABELLED in draft.sweep and splits is not None and splits.labelled is not None:
        draft.add(here, "splits.labelled is set, too; leave it out in one of the two places")
    _check_repeated(values, here, draft)
    for i, value in enumerate(values):
        try:
            if read_labelled(value) is None:
                draft.add((*here, i), "must be a share or a number of rows, found nothing")
        except ValidationError as error:
            draft.report_error(error, *here, i)


def check_varied(draft: Draft) -> None:
    """What is varied must be a parameter of a method that does not set it itself, and every value possible."""
    for each in list_varied(draft.sweep, draft.methods()):
        if each.in_sweep and each.path.partition(".")[0] == "splits":
            draft.add(each.here, f"of the splits only `{LABELLED}` can be swept")
            continue
        if not each.in_sweep and each.path in draft.sweep:
            draft.add(each.here, "is swept, too; leave it out in one of the two places")
            continue
        # a method that could not be read may have the parameter
        all_read = bool(each.among) and (not each.in_sweep or len(each.among) == len(draft.values["methods"]))
        if all_read and not each.parts(None):
            draft.add(each.here, _describe_unknown(each))
        _check_repeated(each.values, each.here, draft)
        for name in each.methods_that_set_it():
            text = f"the method {name} sets {each.parameter} itself; leave it out there, or do not vary it"
            draft.add(each.here, text)
        _check_values(each, draft, find_wrong_value)


def _check_values(varied: Varied, draft: Draft, find: Callable[[Component], str]) -> None:
    """Each value must be possible for the methods; `find` says what is wrong with a component that has it."""
    for i, value in enumerate(varied.values):
        failing = {}
        for name, part in varied.parts(value).items():
            why = find(part)
            if why:
                failing[name] = why
        if failing:
            first = next(iter(failing.values()))
            draft.add((*varied.here, i), f"impossible for {', '.join(failing)}: {first}")


def find_wrong_value(component: Component) -> str:
    """The first wrong value in a component; empty if there is none."""
    return next((text for _, text in find_wrong_values(component)), "")


def _find_failure(component: Component) -> str:
    """Why a component cannot be built; empty if it can."""
    failure = find_failure(component)
    return "" if failure is None else failure[1]


def _check_repeated(values: Sequence[Any], here: KeyPath, draft: Draft) -> None:
    seen: set[str] = set()
    for i, text in enumerate(map(method_text, values)):
        if text in seen:
            draft.add((*here, i), f"the value {text} is listed twice")
        seen.add(text)


def _describe_unknown(varied: Varied) -> str:
    """Why a path leads nowhere in some methods: its new name, or a similar path and all that there are."""
    path, specs = varied.path, varied.among.values()
    family, *keys = path.split(".")
    renamed = ".".join([family, *(RENAMED.get(key, key) for key in keys)])
    if any(spec.part_with(renamed, None) is not None for spec in specs):
        return f"{path!r} is now called {renamed!r}"
    every: dict[str, bool] = {}
    for spec in specs:
        every |= _list_parameters(spec)
    hint = suggest_name(path, every)
    known = ", ".join(each for each, is_inner in every.items() if not is_inner) or "none"
    if varied.in_sweep:
        return f"no method has this parameter{hint} (there are: {known})"
    return f"the method {varied.here[1]} has no such parameter{hint} (it has: {known})"


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


def check_builds(draft: Draft) -> None:
    """Report what only building tells: parameters that do not fit each other, or a learner that does not."""
    for name, spec in draft.methods().items():
        for at, component in spec.by_path().items():
            failure = find_failure(component)
            if failure is not None:
                draft.add(("methods", name, *at, *failure[0]), failure[1])
        misfit = _find_misfit(spec, [*draft.sweep, *(spec.tune.grid if spec.tune is not None else ())])
        if misfit:
            draft.add(("methods", name, "label_space"), misfit)
    for each in list_varied(draft.sweep, draft.methods()):
        _check_values(each, draft, _find_failure)


def _find_misfit(spec: MethodSpec, varied: Sequence[str]) -> str:
    """Why a label space that takes its kernel from the learner does not go together with it; empty if it does."""
    space, learner = spec.label_space, spec.learner
    if space is None or not space.declaration().judges_learner:
        return ""
    parts = {"label_space.regression", *(f"learner.{key}" for key in learner.declaration().components)}
    if not parts.isdisjoint(varied):
        return ""
    if not learner.is_whole():  # a parameter that it needs is varied
        return ""
    cls: Any = resolve(space.family, space.name)
    return cls.misfit(learner.build(), space.params.get("regression")) or ""


def check_size(experiment: Experiment, draft: Draft) -> None:
    """More trials than can be planned are refused before any of them is made."""
    splits = number_of_splits(experiment.splits)
    points = sum(map(experiment.n_points, experiment.methods))
    trials = len(experiment.datasets) * points * splits
    if trials > MAX_TRIALS:
        path: KeyPath = ("splits",) if splits > points else ("sweep",)
        draft.add(path, f"the plan would have {trials:,} trials; at most {MAX_TRIALS:,} are allowed")
