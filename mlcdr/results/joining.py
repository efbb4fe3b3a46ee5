"""Several results folders as one, so that their methods can be compared with one another.

Joined are the metrics that all folders have; data sets, methods and points of the sweep are those of any. A method that
several folders have under one name is one method if its config is the same and the numbers agree wherever two folders
have the same cell (but for times, of which the first folder's are taken); else each bears its folder's name too:
`PLST (first)`, `PLST (second)`. A method keeps what it is: in a folder that sweeps nothing it has one number, which
stands at all points that another folder swept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.errors import ResultsError, listing
from mlcdr.results.metric_facts import metric_facts
from mlcdr.results.ranking import same
from mlcdr.results.results import Cell, Key, Point, Results


def join(every: Sequence[Results]) -> Results:
    """The folders as one.

    Raises
    ------
    ResultsError
        When no metric is common to all, or one is not computed alike in all.
    """
    if len(every) == 1:
        return every[0]
    metrics = _common_metrics(every)
    swept = tuple(dict.fromkeys(path for each in every for path in each.swept))
    names = _names(every, swept, metrics)
    keys = ["dataset", "method", *swept, "metric"]
    tables = []
    for each, called in zip(every, names, strict=True):
        table = each.summary[each.summary["metric"].isin(metrics)].copy()
        table["method"] = table["method"].map(called)
        for path in swept:
            if path not in each.swept:
                table[path] = ""
        tables.append(table[[*keys, "mean", "std", "se", "n"]])
    joined = pd.concat(tables, ignore_index=True).drop_duplicates(keys, ignore_index=True)
    return Results(
        folder=Path(", ".join(str(each.folder) for each in every)),
        experiment=_experiment(every, names),
        swept=swept,
        points=tuple(dict.fromkeys(_aligned(point, each.swept, swept) for each in every for point in each.points)),
        datasets=tuple(dict.fromkeys(name for each in every for name in each.datasets)),
        methods=tuple(
            dict.fromkeys(n[method] for each, n in zip(every, names, strict=True) for method in each.methods)
        ),
        metrics=metrics,
        summary=joined,
        grids={called[m]: paths for each, called in zip(every, names, strict=True) for m, paths in each.grids.items()},
        best={
            (dataset, called[method], _aligned(point, each.swept, swept), metric): taken
            for each, called in zip(every, names, strict=True)
            for (dataset, method, point, metric), taken in each.best.items()
        },
        remarks=_remarks(every),
    )


def _common_metrics(every: Sequence[Results]) -> tuple[str, ...]:
    common = tuple(metric for metric in every[0].metrics if all(metric in each.metrics for each in every))
    if not common:
        have = "; ".join(f"{each.folder}: {', '.join(each.metrics)}" for each in every)
        raise ResultsError(f"no metric is common to the folders ({have})")
    for metric in common:
        for each in every[1:]:
            if metric_facts(each, metric) != metric_facts(every[0], metric):
                raise ResultsError(f"{each.folder}: {metric} is not computed as in {every[0].folder}: see `metrics:`")
    return common


def _names(every: Sequence[Results], swept: tuple[str, ...], metrics: Sequence[str]) -> list[dict[str, str]]:
    """For each folder, what its methods are called in the whole."""
    labels = [each.name for each in every]
    labels = [
        label if labels.count(label) == 1 else str(each.folder) for label, each in zip(labels, every, strict=True)
    ]
    names: list[dict[str, str]] = [{} for _ in every]
    for method in dict.fromkeys(method for each in every for method in each.methods):
        holders = [k for k, each in enumerate(every) if method in each.methods]
        one = all(_agree([every[i], every[k]], method, swept, metrics) for i in holders for k in holders if i < k)
        for k in holders:
            names[k][method] = method if one else f"{method} ({labels[k]})"
    return names


def _agree(pair: Sequence[Results], method: str, swept: tuple[str, ...], metrics: Sequence[str]) -> bool:
    """Whether two folders mean the same by a method's name."""
    configs = [
        methods.get(method) if isinstance(methods := each.experiment.get("methods"), dict) else None for each in pair
    ]
    if configs[0] != configs[1]:
        return False
    lasting = [metric for metric in metrics if not metric_facts(pair[0], metric).is_time]
    one, other = (_cells_of(each, method, swept, lasting) for each in pair)
    return all(same(one[key].mean, other[key].mean) for key in one.keys() & other.keys())


def _cells_of(results: Results, method: str, swept: tuple[str, ...], metrics: Sequence[str]) -> dict[Key, Cell]:
    return {
        (dataset, method, _aligned(point, results.swept, swept), metric): cell
        for (dataset, name, point, metric), cell in results.cells.items()
        if name == method and metric in metrics
    }


def _aligned(point: Point, own: tuple[str, ...], swept: tuple[str, ...]) -> Point:
    """A point of a folder's own sweep among all swept paths."""
    values = dict(zip(own, point, strict=True))
    return tuple(values.get(path, "") for path in swept)


def _experiment(every: Sequence[Results], names: Sequence[dict[str, str]]) -> dict[str, Any]:
    methods: dict[str, Any] = {}
    for each, called in zip(every, names, strict=True):
        configs = each.experiment.get("methods")
        methods |= {called.get(name, name): parts for name, parts in (configs or {}).items()}
    name = listing(list(dict.fromkeys(each.name for each in every)))
    return {"name": name, "metrics": every[0].experiment.get("metrics"), "methods": methods}


def _remarks(every: Sequence[Results]) -> tuple[str, ...]:
    first = every[0]
    others = [each.name for each in every[1:] if each.experiment.get("splits") != first.experiment.get("splits")]
    if not others:
        return ()
    return (f"The splits of {listing(list(dict.fromkeys(others)))} are not those of {first.name}.",)
