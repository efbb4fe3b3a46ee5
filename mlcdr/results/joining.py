"""Several results folders as one, so that their methods can be compared with one another.

The result has the metrics that all folders have, and every data set, method and point of the sweep. A method that
several folders have under one name is one method if its config is the same and the numbers agree wherever two folders
have the same cell (but for times, of which the first folder's are taken); else each has its folder's name too:
`PLST (first)`, `PLST (second)`. The folders `TABLE` and `TABLE_large` are parts of one table: their methods of one name
are one method, whatever the settings, as long as they have no data set in common. A method from a folder that sweeps
nothing has one number, which stands at all points that another folder swept.

Means are rounded to six digits, as in the record (`mlcdr.reproduce.record`): rounding errors win no comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.results.frame import SUMMARY, order_columns, paths_of
from mlcdr.results.results import Results
from mlcdr.results.scores import are_same

LARGE = "large"
"""The ending of the name of an experiment that has the large data sets of a table."""
_Table = dict[str, int]
"""The folders of a table by part: its own (empty), and that of its large data sets (`large`)."""
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
    swept = tuple(dict.fromkeys(path for each in every for path in each.swept))
    _refuse_other_data(every)
    names = _name_methods(every, swept, metrics)
    folder = Path(", ".join(str(each.folder) for each in every))
    renamed = [each.rename_methods(called) for each, called in zip(every, names, strict=True)]
    paths = list(dict.fromkeys([*swept, *(path for each in every for path in paths_of(each.summary))]))
    parts = [_align(each, swept, metrics) for each in renamed]
    whole = pd.concat(parts).fillna(dict.fromkeys(paths, ""))
    summary = whole.drop_duplicates(["dataset", "method", *swept, "metric"], ignore_index=True)
    summary["mean"] = [float(f"{mean:.6g}") for mean in summary["mean"]]
    summary = summary[["dataset", "method", *paths, *SUMMARY]]
    points = dict.fromkeys(point for each in every for point in _align_points(each, swept))
    grids: dict[str, tuple[str, ...]] = {}
    for each in renamed:
        for method, grid in each.grids.items():
            grids.setdefault(method, tuple(path for path in grid if path not in swept))
    return Results(
        folder=folder,
        experiment=_join_experiments(renamed),
        summary=order_columns(summary, _join_orders(renamed, metrics)),
        points=tuple(points),
        grids=grids,
        read_scores=partial(_refuse, folder),
        read_tuning=partial(_refuse, folder),
        remarks=(*_remark_on_splits(every), *_remark_on_parts(every)),
        joined=True,
    )


def _align(results: Results, swept: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """A folder's means of some metrics among all swept paths, as texts."""
    texts = ["dataset", "method", *paths_of(results.summary), "metric"]
    summary = results.summary.astype(dict.fromkeys(texts, object))
    # the best of a grid stands at all values that another folder sweeps
    foreign = dict.fromkeys(set(swept) - set(results.swept), "")
    return summary[summary["metric"].isin(metrics)].assign(**foreign)


def _align_points(results: Results, swept: Sequence[str]) -> list[tuple[str, ...]]:
    """The points of a folder's own sweep among all swept paths."""
    points = [dict(zip(results.swept, point, strict=True)) for point in results.points]
    return [tuple(point.get(path, "") for path in swept) for point in points]


def _join_orders(every: Sequence[Results], metrics: Sequence[str]) -> dict[str, list[str]]:
    """Column → its values, the first folder's first."""
    orders: dict[str, list[str]] = {"dataset": [], "method": [], "metric": list(metrics)}
    for each in every:
        orders["dataset"] += each.datasets
        orders["method"] += each.methods
        for path in paths_of(each.summary):
            orders[path] = ["", *orders.get(path, []), *each.summary[path].cat.categories]
    return orders


def _refuse(folder: Path) -> NoReturn:
    raise ResultsError(f"{folder}: only the means of several folders are joined")


def _common_metrics(every: Sequence[Results]) -> tuple[str, ...]:
    common = tuple(metric for metric in every[0].metrics if all(metric in each.metrics for each in every))
    if not common:
        have = "; ".join(f"{each.folder}: {', '.join(each.metrics)}" for each in every)
        raise ResultsError(f"no metric is common to the folders ({have})")
    for metric in common:
        for each in every[1:]:
            if each.metric_facts(metric) != every[0].metric_facts(metric):
                raise ResultsError(f"{each.folder}: {metric} is not computed as in {every[0].folder}: see `metrics:`")
    return common


def _refuse_other_data(every: Sequence[Results]) -> None:
    """Refuse folders whose manifests have another size of a data set of the same name."""
    for one, other in combinations(every, 2):
        for dataset in sorted({*one.datasets} & {*other.datasets}):
            sizes = [[each.recorded(dataset).get(f"n_{what}") for what in _SIZES] for each in (one, other)]
            if all(None not in size for size in sizes) and sizes[0] != sizes[1]:
                here, there = (", ".join(f"{n} {what}" for n, what in zip(size, _SIZES, strict=True)) for size in sizes)
                raise ResultsError(f"{dataset} is not the same data: {here} in {one.folder}, {there} in {other.folder}")


def _name_methods(every: Sequence[Results], swept: tuple[str, ...], metrics: Sequence[str]) -> list[dict[str, str]]:
    """For each folder, what its methods are called in the whole."""
    labels = [each.name for each in every]
    labels = [
        label if labels.count(label) == 1 else str(each.folder) for label, each in zip(labels, every, strict=True)
    ]
    names: list[dict[str, str]] = [{} for _ in every]
    tables = _tables(every)
    for method in dict.fromkeys(method for each in every for method in each.methods):
        groups: list[list[_Table]] = []  # of tables that mean the same by the name
        for table in tables:
            if parts := {part: k for part, k in table.items() if method in every[k].methods}:
                same = (g for g in groups if all(_are_alike(every, one, parts, method, swept, metrics) for one in g))
                if (group := next(same, None)) is None:
                    groups.append(group := [])
                group.append(parts)
        for group in groups:
            folders = [k for table in group for k in table.values()]
            for k in folders:
                names[k][method] = method if len(groups) == 1 else f"{method} ({labels[folders[0]]})"
    return names


def _tables(every: Sequence[Results]) -> list[_Table]:
    """The folders by table: `TABLE` with `TABLE_large`, if there is one of each, and without a common data set."""
    places: dict[str, list[int]] = {}
    for k, each in enumerate(every):
        places.setdefault(each.name, []).append(k)
    large = {}
    for name, found in places.items():
        others = places.get(f"{name}_{LARGE}", [])
        if len(found) == len(others) == 1 and not _common(every[found[0]], every[others[0]]):
            large[found[0]] = others[0]
    return [{"": k, LARGE: large[k]} if k in large else {"": k} for k in range(len(every)) if k not in large.values()]


def _common(first: Results, second: Results) -> set[str]:
    """The data sets that both have."""
    return {*first.datasets} & {*second.datasets}


def _are_alike(
    every: Sequence[Results], one: _Table, other: _Table, method: str, swept: tuple[str, ...], metrics: Sequence[str]
) -> bool:
    """Whether two tables mean the same by a method's name.

    Their large data sets may have other settings than the rest, so folders are compared with one another only if both
    are of large data sets, neither is, or they have a data set in common.
    """
    pairs = [(part == another, every[i], every[k]) for part, i in one.items() for another, k in other.items()]
    compared = [(first, second) for same, first, second in pairs if same or _common(first, second)]
    return all(_agree(*pair, method, swept, metrics) for pair in compared or [pair[1:] for pair in pairs])


def _agree(first: Results, second: Results, method: str, swept: tuple[str, ...], metrics: Sequence[str]) -> bool:
    """Whether two folders mean the same by a method's name."""
    if first.experiment.methods.get(method) != second.experiment.methods.get(method):
        return False
    if _varied(first, method) != _varied(second, method):
        return False
    lasting = [metric for metric in metrics if not first.metric_facts(metric).is_time]
    one, other = (_align(each.select("method", [method]), swept, lasting) for each in (first, second))
    both = one.merge(other, on=["dataset", "method", *swept, "metric"])
    return all(are_same(*means) for means in zip(both["mean_x"], both["mean_y"], strict=True))


def _varied(results: Results, method: str) -> set[str]:
    """The swept parameters of which a method has values."""
    own = results.summary[results.summary["method"] == method]
    return {path for path in results.swept if (own[path] != "").any()}


def list_other_methods(ours: Experiment, theirs: Mapping[str, MethodSpec], swept: Iterable[str] = ()) -> list[str]:
    """`A and B have the learner ridge, not m5p` for the methods that bear the same name and have other parts.

    How they are tuned is left out, and so are parameters that `theirs` sweep, and a part that only its class could read
    (a stand-in, which has no name).
    """
    swept = tuple(swept)
    found: dict[str, list[str]] = {}
    for name in (name for name in ours.methods if name in theirs):
        one, other = _without(ours.methods[name].plain(), swept), _without(theirs[name].plain(), swept)
        for part in (
            part for part in {**other, **one} if part != "tune" and other.get(part) not in ("", one.get(part))
        ):
            shown = [json.dumps(each.get(part, "none"), ensure_ascii=False).replace('"', "") for each in (one, other)]
            found.setdefault(f"the {part.replace('_', ' ')} {shown[0]}, not {shown[1]}", []).append(name)
    return [f"{join_words(names)} {'has' if len(names) == 1 else 'have'} {what}" for what, names in found.items()]


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


def _join_experiments(every: Sequence[Results]) -> Experiment:
    """The first folder's experiment with the methods of all; what only one folder has is left out."""
    methods: dict[str, MethodSpec] = {}
    for each in every:
        for method, spec in each.experiment.methods.items():
            methods.setdefault(method, spec)
    name = join_words(list(dict.fromkeys(each.name for each in every)))
    changed = {"name": name, "methods": methods, "sweep": {}, "tables": (), "figures": ()}
    return every[0].experiment.model_copy(update=changed)


def _remark_on_parts(every: Sequence[Results]) -> Iterator[str]:
    """What other settings the large data sets of a table have, and where their parameters are chosen."""
    for table in _tables(every):
        one, other = (every[k].experiment for k in (table[""], table.get(LARGE, table[""])))
        found = list_other_methods(other, one.methods)
        for name, spec in other.methods.items():
            scopes = [each.tune.scope if each.tune else "none" for each in (spec, one.methods.get(name, spec))]
            if scopes[0] != scopes[1]:
                found.append(f"{name} is tuned with the scope {scopes[0]}, not {scopes[1]}")
        if found:
            yield f"In {other.name}: {'; '.join(found)}."


def _remark_on_splits(every: Sequence[Results]) -> tuple[str, ...]:
    first = every[0]
    others = [each.name for each in every[1:] if each.experiment.splits != first.experiment.splits]
    if not others:
        return ()
    return (f"The splits of {join_words(list(dict.fromkeys(others)))} are not those of {first.name}.",)
