"""What is wrong with the tables and figures that an experiment asks for, told before it runs rather than after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlcdr.errors import ResultsError, did_you_mean
from mlcdr.results.metric_labels import metric_labels
from mlcdr.tables import layouts
from mlcdr.tables.layouts import TIMES, FigureLayout, TableLayout


def problems(experiment: Mapping[str, Any]) -> Iterator[str]:
    """A line for each thing that would keep a table or figure from being made, as it is found.

    Parameters
    ----------
    experiment : mapping
        The resolved config as plain data (`Experiment.resolved()`), or what could be read of it: an entry of tables or
        figures that could not is None.
    """
    for key, load in (("tables", layouts.load_table), ("figures", layouts.load_figure)):
        for k, entry in enumerate(experiment.get(key) or []):
            if entry is None:  # it could not be read, which has been told
                continue
            where = f"{key}.{k}"
            try:
                layout = load(entry if isinstance(entry, Mapping) else {"layout": entry})
            except ResultsError as error:
                yield from (f"{where}: {line}" for line in str(error).splitlines())
            else:
                yield from (f"{where}: {line}" for line in _unfit(layout, experiment))


def _unfit(layout: TableLayout | FigureLayout, experiment: Mapping[str, Any]) -> list[str]:
    """What the layout needs and the experiment lacks."""
    measured = metric_labels(experiment)
    sweep = {path: len(values) for path, values in (experiment.get("sweep") or {}).items()}
    swept = list(sweep)
    if isinstance(layout, FigureLayout):
        layout = layout.settled(sweep, measured)
        metrics, paths = list(layout.chosen_metrics or ()), list(layout.paths)
        metrics += [layout.x] if layout.draw == "scatter" and layout.x != "auto" else []
    else:
        metrics = [layout.metric] if layout.metric else list(layout.metrics or ())
        columns = (layout.columns,) if isinstance(layout.columns, str) else layout.columns
        paths = [p for p in (*layout.rows, *columns) if p not in ("dataset", "method", "metric")]
        paths = [p for p in paths if p != "auto"]
    lines = [
        f"needs the metric {name}{did_you_mean(name, measured)} (measured: {', '.join(measured)})"
        for name in metrics
        if name not in measured
    ]
    if isinstance(layout, TableLayout):
        lines += _without_place(layout)
    if isinstance(layout, FigureLayout):
        lines += _unfit_figure(layout, sweep)
    elif layout.relative_to is not None and layout.relative_to not in (experiment.get("methods") or {}):
        lines.append(f"needs the method {layout.relative_to}{did_you_mean(layout.relative_to, experiment['methods'])}")
    return lines + [
        ("needs a second sweep" if swept else "needs a sweep, and nothing is swept")
        if path == "auto"
        else f"needs a sweep of {path}{did_you_mean(path, swept)} (swept: {', '.join(swept) or 'nothing'})"
        for path in dict.fromkeys(paths)
        if path not in swept
    ]


def _unfit_figure(layout: FigureLayout, sweep: Mapping[str, int]) -> list[str]:
    """What a figure lacks beside metrics and paths."""
    if layout.draw == "scatter":
        return [] if layout.x != "auto" else [f"needs a time among the metrics: {' or '.join(TIMES[:2])}"]
    others = [path for path, n in sweep.items() if path not in layout.paths and n > 1]
    if layout.draw == "curves":
        return [f"{path} is swept too, so a method has several curves; a figure shows one sweep" for path in others]
    return [f"{path} is swept too; choose a value by `at:`" for path in others]


def _without_place(layout: TableLayout) -> list[str]:
    """What the layout leaves without a place, or gives two."""
    held = [*layout.rows, *((layout.columns,) if isinstance(layout.columns, str) else layout.columns)]
    if {"dataset", "method"} <= set(held) and len(set(held)) == len(held):
        return []
    return ["rows and columns together must hold dataset and method, each name once"]
