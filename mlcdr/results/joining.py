"""Several results folders as one, so that their methods can be compared with one another.

The result has the metrics that all folders have, and every data set, method and point of the sweep. A method that
several folders have under one name is one method if its config is the same and the numbers agree wherever two folders
have the same cell (but for times, of which the first folder's are taken); else each has its folder's name too:
`PLST (first)`, `PLST (second)`. The folders `TABLE` and `TABLE_large` are parts of one table: their methods of one name
are one method, whatever the settings, as long as they have no data set in common. A method from a folder that sweeps
nothing has one number, which stands at all points that another folder swept.

Means are rounded to six digits, as in the record (`mlcdr.papers.stored`): rounding errors win no comparison.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.results.frame import SUMMARY, order_columns, paths_of
from mlcdr.results.results import Results
from mlcdr.results.scores import are_same

LARGE = "large"
"""The ending of the name of an experiment that has the large data sets of a table."""

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
    _refuse_other_data(every)
    tables = _list_tables(every)
    wholes = [_stack([every[k] for k in table], metrics) for table in tables]
    called = _name_methods(wholes, _label([every[table[0]] for table in tables]))
    renamed = list(every)
    for table, names in zip(tables, called, strict=True):
        for k in table:
            renamed[k] = every[k].rename_methods(names)
    joined = _stack(renamed, metrics)
    means = [float(f"{mean:.6g}") for mean in joined.summary["mean"]]
    remarks = (*_remark_on_splits(every), *_remark_on_parts(every))
    return replace(joined, summary=joined.summary.assign(mean=means), remarks=remarks)


def _stack(every: Sequence[Results], metrics: Sequence[str]) -> Results:
    """The rows of all folders that are of some metrics; of two at one place the first."""
    swept = _join_names(each.swept for each in every)
    of_grids = _join_names(paths_of(each.summary) for each in every)
    paths = _join_names([swept, of_grids])
    whole = pd.concat([_align(each, paths, swept) for each in every])
    whole = whole[whole["metric"].isin(metrics)]
    summary = whole.drop_duplicates(["dataset", "method", *swept, "metric"], ignore_index=True)
    grids: dict[str, tuple[str, ...]] = {}
    for each in every:
        for method, grid in each.grids.items():
            grids.setdefault(method, tuple(path for path in grid if path not in swept))
    return Results(
        folder=Path(", ".join(str(each.folder) for each in every)),
        experiment=_join_experiments(every),
        summary=order_columns(summary, _join_orders(every, metrics)),
        grids=grids,
        joined=True,
    )


def _join_names(every: Iterable[Iterable[str]]) -> list[str]:
    """Each name once, in the order in which they appear."""
    return list(dict.fromkeys(itertools.chain.from_iterable(every)))


def _align(results: Results, paths: Sequence[str], swept: Sequence[str]) -> pd.DataFrame:
    """A folder's means with a column for each path, as texts.

    The best of a grid stands at all values that another folder sweeps.
    """
    absent = set(paths) - set(paths_of(results.summary))
    foreign = set(swept) - set(results.swept)
    summary = results.summary.assign(**dict.fromkeys(absent | foreign, ""))
    summary = summary[["dataset", "method", *paths, *SUMMARY]]
    return summary.astype(dict.fromkeys(["dataset", "method", *paths, "metric"], object))


def _join_orders(every: Sequence[Results], metrics: Sequence[str]) -> dict[str, list[str]]:
    """Column → its values, the first folder's first."""
    orders = {
        "dataset": _join_names(each.datasets for each in every),
        "method": _join_names(each.methods for each in every),
        "metric": list(metrics),
    }
    for each in every:
        for path in paths_of(each.summary):
            known = orders.get(path, [])
            orders[path] = _join_names([[""], known, each.values(path)])
    return orders


def _join_experiments(every: Sequence[Results]) -> Experiment:
    """The first folder's experiment with the methods of all; what only one folder has is left out."""
    methods: dict[str, MethodSpec] = {}
    for each in every:
        for method, spec in each.experiment.methods.items():
            methods.setdefault(method, spec)
    name = join_words(_join_names([each.name] for each in every))
    changed = {"name": name, "methods": methods, "sweep": {}, "tables": (), "figures": ()}
    return every[0].experiment.model_copy(update=changed)


def _common_metrics(every: Sequence[Results]) -> tuple[str, ...]:
    first, *others = every
    common = set(first.metrics).intersection(*(each.metrics for each in others))
    if not common:
        have = "; ".join(f"{each.folder}: {', '.join(each.metrics)}" for each in every)
        raise ResultsError(f"no metric is common to the folders ({have})")
    metrics = tuple(metric for metric in first.metrics if metric in common)
    for metric in metrics:
        for each in others:
            if each.metric_facts(metric) != first.metric_facts(metric):
                raise ResultsError(f"{each.folder}: {metric} is not computed as in {first.folder}: see `metrics:`")
    return metrics


def _refuse_other_data(every: Sequence[Results]) -> None:
    """Refuse folders whose manifests have another size of a data set of the same name."""
    for one, other in itertools.combinations(every, 2):
        for dataset in sorted({*one.datasets} & {*other.datasets}):
            sizes = [_sizes(each, dataset) for each in (one, other)]
            if all(sizes) and sizes[0] != sizes[1]:
                here, there = (", ".join(size) for size in sizes)
                raise ResultsError(f"{dataset} is not the same data: {here} in {one.folder}, {there} in {other.folder}")


def _sizes(results: Results, dataset: str) -> list[str]:
    """`300 instances`, `5 features`, `3 labels`; nothing where one is not known."""
    facts = results.recorded(dataset)
    known = [f"{facts[f'n_{what}']} {what}" for what in _SIZES if facts.get(f"n_{what}") is not None]
    return known if len(known) == len(_SIZES) else []


# -------------------------------------------------------------------- what methods are called


def _list_tables(every: Sequence[Results]) -> list[list[int]]:
    """The folders by table: `TABLE` with `TABLE_large`, if there is one of each, and without a common data set."""
    names = [each.name for each in every]
    tables = {k: [k] for k in range(len(every))}
    for k, name in enumerate(names):
        if names.count(name) == names.count(f"{name}_{LARGE}") == 1:
            large = names.index(f"{name}_{LARGE}")
            if not set(every[k].datasets) & set(every[large].datasets):
                tables[k].append(large)
                del tables[large]
    return list(tables.values())


def _label(every: Sequence[Results]) -> list[str]:
    """The name of each experiment; of several with one name, the folder."""
    names = [each.name for each in every]
    return [each.name if names.count(each.name) == 1 else str(each.folder) for each in every]


def _name_methods(every: Sequence[Results], labels: Sequence[str]) -> list[dict[str, str]]:
    """For each of several results, what its methods are called in the whole."""
    called: list[dict[str, str]] = [{} for _ in every]
    for method in _join_names(each.methods for each in every):
        groups = _group_alike(every, method)
        for group in groups:
            name = method if len(groups) == 1 else f"{method} ({labels[group[0]]})"
            for k in group:
                called[k][method] = name
    return called


def _group_alike(every: Sequence[Results], method: str) -> list[list[int]]:
    """The positions of those that have a method of a name, by what they mean by it."""
    groups: list[list[int]] = []
    for k, each in enumerate(every):
        if method not in each.methods:
            continue
        for group in groups:
            if all(_agree(every[i], each, method) for i in group):
                group.append(k)
                break
        else:
            groups.append([k])
    return groups


def _agree(first: Results, second: Results, method: str) -> bool:
    """Whether two results mean the same by a method's name."""
    if first.experiment.methods.get(method) != second.experiment.methods.get(method):
        return False
    if _varied(first, method) != _varied(second, method):
        return False
    swept = _join_names([first.swept, second.swept])
    one = _align(first.select("method", [method]), swept, swept)
    other = _align(second.select("method", [method]), swept, swept)
    both = one.merge(other, on=["dataset", "method", *swept, "metric"])
    for metric, here, there in both[["metric", "mean_x", "mean_y"]].itertuples(index=False):
        if not (first.metric_facts(metric).is_time or are_same(here, there)):
            return False
    return True


def _varied(results: Results, method: str) -> set[str]:
    """The swept parameters of which a method has values."""
    own = results.summary[results.summary["method"] == method]
    return {path for path in results.swept if (own[path] != "").any()}


# -------------------------------------------------------------------- what a reader must know


def list_other_methods(
    ours: Experiment,
    theirs: Mapping[str, MethodSpec],
    swept: Iterable[str] = (),
) -> list[str]:
    """`A and B have the learner ridge, not m5p` for the methods that bear the same name and have other parts.

    How they are tuned is left out, and so are parameters that `theirs` sweep, and a part that only its class could read
    (a stand-in, which has no name).
    """
    swept = tuple(swept)
    found: dict[str, list[str]] = {}
    for name, spec in ours.methods.items():
        if name not in theirs:
            continue
        one = _without(spec.plain(), swept)
        other = _without(theirs[name].plain(), swept)
        for part in {**other, **one}:
            here, there = one.get(part), other.get(part)
            if part == "tune" or there in ("", here):
                continue
            what = part.replace("_", " ")
            found.setdefault(f"the {what} {_write_part(here)}, not {_write_part(there)}", []).append(name)
    lines = []
    for what, names in found.items():
        verb = "has" if len(names) == 1 else "have"
        lines.append(f"{join_words(names)} {verb} {what}")
    return lines


def _write_part(part: Any) -> str:
    """A part as a config has it, without quotes; `none` where a method has no such part."""
    text = json.dumps("none" if part is None else part, ensure_ascii=False)
    return text.replace('"', "")


def _without(method: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The parts of a method without the parameters at some paths."""
    for path in paths:
        part, _, parameter = path.partition(".")
        match method.get(part):
            case dict(component) if len(component) == 1:
                [(name, parameters)] = component.items()
                left = {key: value for key, value in parameters.items() if key != parameter}
                method = {**method, part: {name: left} if left else name}
    return method


def _remark_on_parts(every: Sequence[Results]) -> Iterator[str]:
    """What other settings the large data sets of a table have, and where their parameters are chosen."""
    for table in _list_tables(every):
        one, other = every[table[0]].experiment, every[table[-1]].experiment
        found = list_other_methods(other, one.methods)
        for name, spec in other.methods.items():
            here, there = _scope(spec), _scope(one.methods.get(name, spec))
            if here != there:
                found.append(f"{name} is tuned with the scope {here}, not {there}")
        if found:
            yield f"In {other.name}: {'; '.join(found)}."


def _scope(method: MethodSpec) -> str:
    """Where a method's parameters are chosen."""
    return method.tune.scope if method.tune else "none"


def _remark_on_splits(every: Sequence[Results]) -> Iterator[str]:
    first, *others = every
    names = [[each.name] for each in others if each.experiment.splits != first.experiment.splits]
    if names:
        yield f"The splits of {join_words(_join_names(names))} are not those of {first.name}."
