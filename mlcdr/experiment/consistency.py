"""Whether the parts of a config agree: what it sweeps, tunes and shows with its methods, metrics and splits.

`check` compares what could be read (`Draft`); what is wrong by itself has been reported. `check_builds` comes last.
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
from mlcdr.experiment.model import LABELLED, Experiment, value_text
from mlcdr.experiment.problems import KeyPath, Problem, dotted
from mlcdr.experiment.splits import number_of_splits, read_labelled
from mlcdr.experiment.tune import TuneSpec
from mlcdr.experiment.varied import Varied, list_varied
from mlcdr.methods.component import Component, find_failure, find_wrong_values
from mlcdr.methods.declarations import RENAMED
from mlcdr.methods.registry import resolve

MOST_LAYOUTS = 200
"""The most tables, and the most figures, of an experiment."""
MAX_TRIALS = 10_000_000
"""The most trials of a plan, which is kept in memory."""


@dataclass(frozen=True)
class Asked:
    """The tables and figures that an experiment lists, and its metrics, methods and sweep, as far as they can be read.

    Attributes
    ----------
    tables, figures : tuple of LayoutSpec or None
        None for one that cannot be read.
    metrics : tuple of str or None
        Their names in the results; None where one cannot be read, so that it is not known what is measured.
    methods : tuple of str
        Their names.
    n_datasets : int
    sweep : dict
        Swept path → number of values.
    """

    tables: tuple[LayoutSpec | None, ...]
    figures: tuple[LayoutSpec | None, ...]
    metrics: tuple[str, ...] | None
    methods: tuple[str, ...]
    n_datasets: int
    sweep: dict[str, int]


LayoutCheck = Callable[[Asked], Iterable[Problem]]
"""Finds what is wrong with tables and figures."""


def check(draft: Draft, datasets: Sequence[str], check_layouts: LayoutCheck | None) -> None:
    """Report all in which the parts of an experiment disagree.

    Parameters
    ----------
    draft : Draft
    datasets : sequence of str
        The names of the data sets in the results.
    check_layouts : callable or None
        Finds what is wrong with tables and figures.
    """
    _check_metrics(draft)
    _check_shown_metrics(draft)
    _check_against(draft)
    for method, spec in draft.methods().items():
        if spec.tune is not None:
            _check_tuning(spec.tune, ("methods", method, "tune"), draft, datasets)
    _check_labelled(draft)
    for varied in list_varied(draft.sweep, draft.methods()):
        _check_varied(varied, draft)
    _check_doubled(draft)
    if check_layouts is not None:
        _report_layouts(draft, len(datasets), check_layouts)


def _measured(draft: Draft) -> list[str] | None:
    """The names of the metrics in the results; None if one of them could not be read."""
    metrics = draft.values.get("metrics")
    if metrics is None or None in metrics:
        return None
    return [metric.label for metric in metrics]


def _check_metrics(draft: Draft) -> None:
    """No two metrics may share a name in the results."""
    labels: list[str] = []
    for i, metric in draft.entries("metrics").items():
        if metric.label in labels:
            text = f"the metric {metric.label!r} is listed twice; give one another name by `as: name`"
            draft.add(("metrics", i), text)
        labels.append(metric.label)


def _check_shown_metrics(draft: Draft) -> None:
    """The metric of a table or figure must be measured."""
    measured = _measured(draft)
    if measured is None:
        return
    for key in ("tables", "figures"):
        for i, layout in draft.entries(key).items():
            if layout.metric is not None and layout.metric not in measured:
                hint = suggest_name(layout.metric, measured)
                text = f"{layout.metric!r} is none of the metrics above{hint} ({', '.join(measured)})"
                draft.add((key, i, "metric"), text)


def _check_against(draft: Draft) -> None:
    """The method that all others are compared with must be one of the experiment's."""
    against = draft.values.get("against")
    methods = draft.values.get("methods")
    if against is None or methods is None or against in methods:
        return
    text = f"{against!r} is none of the methods{suggest_name(against, methods)} ({', '.join(methods)})"
    draft.add(("against",), text)


def _report_layouts(draft: Draft, n_datasets: int, check_layouts: LayoutCheck) -> None:
    """Report what `check_layouts` finds wrong with the tables and figures in which nothing is wrong by itself."""
    for key in ("tables", "figures"):
        number = len(draft.values.get(key) or ())
        if number > MOST_LAYOUTS:
            draft.add((key,), f"{number} {key}; an experiment may have {MOST_LAYOUTS}")
            return
    metrics = _measured(draft)
    asked = Asked(
        tuple(draft.values.get("tables") or ()),
        tuple(draft.values.get("figures") or ()),
        metrics=None if metrics is None else tuple(metrics),
        methods=tuple(draft.values.get("methods") or ()),
        n_datasets=n_datasets,
        sweep={path: len(values) for path, values in draft.sweep.items() if isinstance(values, list)},
    )
    # where only its metric is not measured, the entry is checked all the same
    reported = {problem.path[:2] for problem in draft.found if problem.path[2:] != ("metric",)}
    for problem in check_layouts(asked):
        if problem.path[:2] not in reported:
            draft.report(problem)


def _check_tuning(tune: TuneSpec, here: KeyPath, draft: Draft, datasets: Sequence[str]) -> None:
    """A method must be tuned by a known metric, and a grid of one data set must be of a known data set."""
    known = [*datasets, *entry_names()] if tune.grids else []
    folded = {each.casefold() for each in known}
    for name in tune.grids:
        if name.casefold() not in folded:
            draft.add((*here, "grids", name), f"{name!r} is no data set{suggest_name(name, known)}")
    if tune.scope != "test":
        try:
            tune.criterion(draft.entries("metrics").values())
        except ValueError as error:
            draft.add((*here, "metric"), str(error))
    if tune.search == "optuna" and find_spec("optuna") is None:
        draft.add((*here, "search"), "optuna is not installed: pip install 'mlcdr[optuna]'")
    if tune.scope == "dataset" and (LABELLED in draft.sweep or _hides_labels(draft)):
        text = "`dataset` chooses by the labels of all rows, and `splits.labelled` hides some; take `split`"
        draft.add((*here, "scope"), text)


def _hides_labels(draft: Draft) -> bool:
    """Whether `splits.labelled` is set."""
    splits = draft.values.get("splits")
    return splits is not None and splits.labelled is not None


def _check_labelled(draft: Draft) -> None:
    """The values of a swept `splits.labelled`, which `splits` may not set, too."""
    written = draft.sweep.get(LABELLED)
    values = written if isinstance(written, list) else []
    here: KeyPath = ("sweep", LABELLED)
    if LABELLED in draft.sweep and _hides_labels(draft):
        draft.add(here, "splits.labelled is set, too; leave it out in one of the two places")
    _check_repeated(values, here, draft)
    for i, value in enumerate(values):
        try:
            if read_labelled(value) is None:
                draft.add((*here, i), "must be a share or a number of rows, found nothing")
        except ValidationError as error:
            draft.report_error(error, *here, i)


def _check_varied(varied: Varied, draft: Draft) -> None:
    """What is varied must be a parameter of a method that does not set it itself, and every value possible."""
    if varied.in_sweep and varied.path.startswith("splits."):
        draft.add(varied.here, f"of the splits only `{LABELLED}` can be swept")
        return
    if not varied.in_sweep and varied.path in draft.sweep:
        draft.add(varied.here, "is swept, too; leave it out in one of the two places")
        return
    # a method that could not be read may have the parameter
    methods = draft.values.get("methods") or {}
    all_read = not varied.in_sweep or len(varied.among) == len(methods) > 0
    if all_read and not varied.parts(None):
        draft.add(varied.here, _describe_unknown(varied))
    _check_repeated(varied.values, varied.here, draft)
    for name in varied.methods_that_set_it():
        text = f"the method {name} sets {varied.parameter} itself; leave it out there, or do not vary it"
        draft.add(varied.here, text)
    _check_values(varied, draft, find_wrong_values)


def _check_doubled(draft: Draft) -> None:
    """No two paths may lead to one parameter, as a path with the number of the only feature step and one without do."""
    paths: dict[Any, str] = {}
    for varied in list_varied(draft.sweep, draft.methods()):
        for name, spec in varied.among.items():
            found = spec.component_at(varied.path)
            if found is None:
                continue
            component, keys, number = found
            first = paths.setdefault((name, component.family, keys, number), varied.path)
            if first != varied.path:
                draft.add(varied.here, f"leads to the same parameter as {first}; leave one of the two out")


def _check_values(varied: Varied, draft: Draft, find: Callable[[Component], Iterable[tuple[Any, str]]]) -> None:
    """Each value must be possible for the methods; `find` says what is wrong with a component that has it."""
    for i, value in enumerate(varied.values):
        failing: dict[str, str] = {}
        for name, part in varied.parts(value).items():
            for _, why in find(part):
                failing.setdefault(name, why)
        if failing:
            first = next(iter(failing.values()))
            draft.add((*varied.here, i), f"impossible for {', '.join(failing)}: {first}")


def _find_failures(component: Component) -> list[tuple[Any, str]]:
    """Why a component cannot be built, if so."""
    failure = find_failure(component)
    return [] if failure is None else [failure]


def _check_repeated(values: Sequence[Any], here: KeyPath, draft: Draft) -> None:
    seen: set[str] = set()
    for i, text in enumerate(map(value_text, values)):
        if text in seen:
            draft.add((*here, i), f"the value {text} is listed twice")
        seen.add(text)


def _describe_unknown(varied: Varied) -> str:
    """Why a path leads nowhere: its new name, or a similar path and all that there are."""
    family, *keys = varied.path.split(".")
    new_keys = [RENAMED.get(key, key) for key in keys]
    renamed = ".".join([family, *new_keys])
    known: list[str] = []
    for spec in varied.among.values():
        if spec.part_with(renamed, None) is not None:
            return f"{varied.path!r} is now called {renamed!r}"
        known += _list_parameters(spec)
    hint = suggest_name(varied.path, known)
    listing = ", ".join(dict.fromkeys(known)) or "none"
    if varied.in_sweep:
        return f"no method has this parameter{hint} (there are: {listing})"
    return f"the method {varied.here[1]} has no such parameter{hint} (it has: {listing})"


def _list_parameters(spec: MethodSpec) -> list[str]:
    """The path of each parameter of a method, and of the components within its components."""
    paths = []
    pending = [(dotted(at), component) for at, component in spec.by_path().items()]
    for path, component in pending:
        paths += [f"{path}.{key}" for key in component.declaration().parameters]
        pending += [(f"{path}.{key}", part) for key, part in component.parts().items()]
    return paths


# -------------------------------------------------------------------- when nothing else is wrong


def check_builds(draft: Draft) -> None:
    """Report what only building tells: parameters that do not fit each other, or a learner that does not."""
    for name, spec in draft.methods().items():
        for at, component in spec.by_path().items():
            for inner, why in _find_failures(component):
                draft.add(("methods", name, *at, *inner), why)
        grid = {} if spec.tune is None else spec.tune.grid
        misfit = _find_misfit(spec, [*draft.sweep, *grid])
        if misfit:
            draft.add(("methods", name, "label_space"), misfit)
    for each in list_varied(draft.sweep, draft.methods()):
        _check_values(each, draft, _find_failures)


def _find_misfit(spec: MethodSpec, varied: Sequence[str]) -> str:
    """Why a label space that takes its kernel from the learner does not go together with it; empty if it does."""
    space, learner = spec.label_space, spec.learner
    if space is None or not space.declaration().judges_learner:
        return ""
    parts = {f"learner.{key}" for key in learner.declaration().components}
    parts.add("label_space.regression")
    if not parts.isdisjoint(varied) or not learner.is_whole():  # a parameter that it needs is varied
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
