"""Several results folders as one, so that their methods can be compared with one another.

The result has the metrics that all folders have, and every data set, method and point of the sweep. A method that
several folders have under one name is one method if its config is the same in all of them, and so are the numbers
wherever several have the same cell (but for times and memory, of which the first folder's are taken); else each of them
has its folder's name too: `PLST (first)`, `PLST (second)`. The folders `TABLE` and `TABLE_large` are parts of one
table: their methods of one name are one method, whatever the settings, as long as they have no data set in common. A
method from a folder that sweeps nothing has one number, which stands at all points that another folder swept.

Means are rounded to six digits, as in the record (`mlcdr.papers.stored`): rounding errors win no comparison.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.experiment.problems import dotted
from mlcdr.results.frame import SUMMARY, are_same, group, keys_of, list_keys, order_columns, paths_of, round_columns
from mlcdr.results.results import Results

LARGE = "large"
"""The ending of the name of an experiment that has the large data sets of a table."""

Table = list[Results]
"""The folders that are parts of one table: one, or `TABLE` and `TABLE_large`."""

_SIZES = ("instances", "features", "labels")


def join(every: Sequence[Results]) -> Results:
    """The folders as one.

    Raises
    ------
    ResultsError
        When no metric is common to all, one is not computed alike in all, or folders have other data of one name.
    """
    if len(every) == 1:
        return every[0]
    metrics = _common_metrics(every)
    refuse_other_data(every)
    tables = _list_tables(every)
    called = _name_methods(tables, metrics)
    renamed = [each.rename_methods(called[each]) for each in every]
    joined = _stack(renamed, metrics)
    summary = round_columns(joined.summary, "mean", digits=6)
    own = itertools.chain.from_iterable(each.remarks for each in every)
    remarks = tuple(dict.fromkeys([*_remark_on_splits(every), *_remark_on_parts(tables), *own]))  # several may say one
    return replace(joined, summary=summary, remarks=remarks, parts=tuple(called.items()))


def _stack(every: Sequence[Results], metrics: Sequence[str]) -> Results:
    """The rows of all folders that are of some metrics; of two at one place the first."""
    swept = join_names(each.swept for each in every)
    means = _list_means(every)
    means = means[means["metric"].isin(metrics)]
    means = means.drop_duplicates(list_keys(swept), ignore_index=True)
    grids: dict[str, tuple[str, ...]] = {}
    orders: dict[str, list[str]] = {}
    for each in every:
        for method, grid in each.grids.items():
            grids.setdefault(method, tuple(path for path in grid if path not in swept))
        for name in keys_of(each.summary):
            orders.setdefault(name, []).extend(each.summary[name].cat.categories)
    folders = [str(each.folder) for each in every]
    return Results(
        folder=Path(", ".join(folders)),
        experiment=_join_experiments(every),
        summary=order_columns(means, orders | {"metric": metrics}),
        grids=grids,
        joined=True,
    )


def _list_means(every: Sequence[Results]) -> pd.DataFrame:
    """The means of all folders, with a column for each path of any; `""` where a folder does not have it.

    The best of a grid stands at all values that another folder sweeps.
    """
    swept = join_names(each.swept for each in every)
    frames = []
    for each in every:
        as_texts = dict.fromkeys(keys_of(each.summary), object)
        texts = each.summary.astype(as_texts)
        foreign = set(swept) - set(each.swept)
        frames.append(texts.assign(**dict.fromkeys(foreign, "")))
    paths = join_names([swept, *map(paths_of, frames)])
    whole = pd.concat(frames, ignore_index=True)
    whole[paths] = whole[paths].fillna("")
    return whole[["dataset", "method", *paths, *SUMMARY]]


def join_names(every: Iterable[Iterable[str]]) -> list[str]:
    """Each name once, in the order in which they appear."""
    return list(dict.fromkeys(itertools.chain.from_iterable(every)))


def _join_experiments(every: Sequence[Results]) -> Experiment:
    """The first folder's experiment with the methods of all; what only one folder has is left out."""
    methods: dict[str, MethodSpec] = {}
    for each in every:
        for method, spec in each.experiment.methods.items():
            methods.setdefault(method, spec)
    names = dict.fromkeys(each.name for each in every)
    return with_methods(every[0].experiment, join_words(list(names)), methods)


def with_methods(experiment: Experiment, name: str, methods: Mapping[str, MethodSpec]) -> Experiment:
    """An experiment with other methods: its metrics are those under which results are compared."""
    changed = {"name": name, "methods": dict(methods), "sweep": {}, "tables": (), "figures": ()}
    return experiment.model_copy(update=changed)


def _common_metrics(every: Sequence[Results]) -> list[str]:
    first, *others = every
    common = set(first.metrics).intersection(*(each.metrics for each in others))
    metrics = [metric for metric in first.metrics if metric in common]
    if not metrics:
        have = "; ".join(f"{each.folder}: {', '.join(each.metrics)}" for each in every)
        raise ResultsError(f"no metric is common to the folders ({have})")
    for metric, each in itertools.product(metrics, others):
        if each.metric_facts(metric) != first.metric_facts(metric):
            raise ResultsError(f"{each.folder}: {metric} is not computed as in {first.folder}: see `metrics:`")
    return metrics


def refuse_other_data(every: Sequence[Results]) -> None:
    """Refuse folders whose manifests have another size of a data set of the same name.

    Raises
    ------
    ResultsError
        When two have.
    """
    known: dict[str, tuple[str, Path]] = {}
    for each in every:
        for dataset in each.datasets:
            facts = each.facts(dataset)
            sizes = {what: facts.get(f"n_{what}") for what in _SIZES}
            if None in sizes.values():
                continue
            here = ", ".join(f"{size} {what}" for what, size in sizes.items())
            there, other = known.setdefault(dataset, (here, each.folder))
            if here != there:
                raise ResultsError(f"{dataset} is not the same data: {there} in {other}, {here} in {each.folder}")


# -------------------------------------------------------------------- what methods are called


def _list_tables(every: Sequence[Results]) -> list[Table]:
    """The folders by table: `TABLE` with `TABLE_large`, if there is one of each, and without a common data set."""
    names = [each.name for each in every]
    tables = {each: [each] for each in every}
    for each in every:
        if each.name.endswith(f"_{LARGE}"):  # which has no such part itself
            continue
        name = f"{each.name}_{LARGE}"
        if names.count(each.name) == names.count(name) == 1:
            large = every[names.index(name)]
            if set(each.datasets).isdisjoint(large.datasets):
                tables[each].append(large)
                del tables[large]
    return list(tables.values())


def _name_methods(tables: Sequence[Table], metrics: Sequence[str]) -> dict[Results, dict[str, str]]:
    """For each folder, what the methods of its table are called in the whole."""
    wholes = [_stack(table, metrics) for table in tables]
    agreed = set()
    for method in join_names(whole.methods for whole in wholes):
        having = [whole for whole in wholes if method in whole.methods]
        if _agree(having, method):
            agreed.add(method)
    names = [table[0].name for table in tables]
    called: dict[Results, dict[str, str]] = {}
    for table, whole in zip(tables, wholes, strict=True):
        first = table[0]
        label = first.name if names.count(first.name) == 1 else str(first.folder)
        own = {method: f"{method} ({label})" for method in whole.methods}
        own |= {method: method for method in agreed}
        called |= dict.fromkeys(table, own)
    return called


def _agree(every: Sequence[Results], method: str) -> bool:
    """Whether all mean the same by a method's name: config, swept parameters and, but for times and memory, numbers."""
    first = every[0]
    own = [each.select("method", [method]) for each in every]
    varied = _list_varied(own[0])
    for each in own:
        same_config = each.experiment.methods.get(method) == first.experiment.methods.get(method)
        if not same_config or _list_varied(each) != varied:
            return False
    means = _list_means(own)
    costs = [metric for metric in first.metrics if first.metric_facts(metric).is_cost]
    means = means[~means["metric"].isin(costs)]
    cells = group(means, ["dataset", *varied, "metric"])["mean"]
    is_same = are_same(cells.min(), cells.max())
    return bool(is_same.all())


def _list_varied(results: Results) -> list[str]:
    """The swept paths that any of the methods has."""
    varied = [path for path in results.swept if (results.summary[path] != "").any()]
    return sorted(varied)


# -------------------------------------------------------------------- what a reader must know


def list_other_methods(
    ours: Experiment,
    theirs: Mapping[str, MethodSpec],
    swept: Collection[str] = (),
) -> list[str]:
    """`A and B have learner ridge, not m5p` for the methods that bear the same name and have other settings.

    How they are tuned is left out, and so are parameters that `theirs` sweep.
    """
    found: dict[str, list[str]] = {}
    for name, spec in ours.methods.items():
        if name not in theirs:
            continue
        one, other = _list_settings(spec), _list_settings(theirs[name])
        for path in {**other, **one}:
            here = one.get(path, "unset")
            there = other.get(path, "unset")
            if here != there and path not in swept:
                found.setdefault(f"{path} {here}, not {there}", []).append(name)
    lines = []
    for what, names in found.items():
        verb = "has" if len(names) == 1 else "have"
        lines.append(f"{join_words(names)} {verb} {what}")
    return lines


def _list_settings(method: MethodSpec) -> dict[str, str]:
    """Config path → its value as text: the components by name, and each of their parameters."""
    settings = {}
    for path, part in method.by_path().items():
        settings[dotted(path)] = part.name
        for parameter, value in part.params.items():
            text = json.dumps(value, ensure_ascii=False)
            settings[dotted((*path, parameter))] = text.replace('"', "")
    return settings


def _remark_on_parts(tables: Sequence[Table]) -> Iterator[str]:
    """What other settings the large data sets of a table have, and where their parameters are chosen."""
    for first, *others in tables:
        for other in others:
            table = first.experiment.methods
            found = list_other_methods(other.experiment, table)
            for name, spec in other.experiment.methods.items():
                here = _scope(spec)
                there = _scope(table.get(name, spec))
                if here != there:
                    found.append(f"{name} is tuned with the scope {here}, not {there}")
            if found:
                yield f"In {other.name}: {'; '.join(found)}."


def _scope(method: MethodSpec) -> str:
    """Where a method's parameters are chosen."""
    return method.tune.scope if method.tune else "none"


def _remark_on_splits(every: Sequence[Results]) -> Iterator[str]:
    first, *others = every
    names = [each.name for each in others if each.experiment.splits != first.experiment.splits]
    if names:
        yield f"The splits of {join_words(list(dict.fromkeys(names)))} are not those of {first.name}."
