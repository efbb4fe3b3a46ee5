"""What is wrong with the tables and figures that an experiment asks for, found before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlcdr.config.consistency import Asked
from mlcdr.errors import ResultsError, suggest_name
from mlcdr.tables import layouts
from mlcdr.tables.layouts import TIMES, FigureLayout, TableLayout


def find_problems(asked: Asked) -> Iterator[str]:
    """A line for each thing that would keep a table or figure from being made, as it is found."""
    kinds = (("tables", layouts.load_table, asked.tables), ("figures", layouts.load_figure, asked.figures))
    for key, load, entries in kinds:
        for k, entry in enumerate(entries):
            if entry is None:  # its own problem is reported already
                continue
            try:
                lines = _unfit(load(entry), asked)
            except ResultsError as error:
                lines = str(error).splitlines()
            yield from (f"{key}.{k}: {line}" for line in lines)


def _unfit(layout: TableLayout | FigureLayout, asked: Asked) -> list[str]:
    """What the layout needs and the experiment lacks."""
    measured, sweep, swept = asked.metrics, asked.sweep, list(asked.sweep)
    if isinstance(layout, FigureLayout):
        layout = layout.settle(sweep, measured)
        metrics, paths = list(layout.chosen_metrics or ()), list(layout.paths)
        metrics += [layout.x] if layout.draw == "scatter" and layout.x != "auto" else []
    else:
        metrics = [layout.metric] if layout.metric else list(layout.metrics or ())
        columns = (layout.columns,) if isinstance(layout.columns, str) else layout.columns
        paths = [p for p in (*layout.rows, *columns) if p not in ("dataset", "method", "metric")]
        paths = [p for p in paths if p != "auto"]
    lines = [
        f"needs the metric {name}{suggest_name(name, measured)} (measured: {', '.join(measured)})"
        for name in metrics
        if name not in measured
    ]
    if isinstance(layout, TableLayout):
        lines += _without_place(layout)
    if isinstance(layout, FigureLayout):
        lines += _unfit_figure(layout, sweep)
    elif layout.relative_to is not None and layout.relative_to not in asked.methods:
        lines.append(f"needs the method {layout.relative_to}{suggest_name(layout.relative_to, asked.methods)}")
    return lines + [
        ("needs a second sweep" if swept else "needs a sweep, and nothing is swept")
        if path == "auto"
        else f"needs a sweep of {path}{suggest_name(path, swept)} (swept: {', '.join(swept) or 'nothing'})"
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
