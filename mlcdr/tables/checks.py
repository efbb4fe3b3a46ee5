"""Whether tables and figures fit what an experiment sweeps and measures: before it runs, and again on its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mlcdr.errors import ResultsError, suggest_name
from mlcdr.experiment.consistency import Asked
from mlcdr.experiment.problems import Problem
from mlcdr.tables import layouts
from mlcdr.tables.layouts import TIMES, FigureLayout, TableLayout

if TYPE_CHECKING:  # a config is checked without it
    from mlcdr.results.results import Results


def find_problems(asked: Asked) -> Iterator[Problem]:
    """Each thing that would keep a table or figure from being made, as it is found."""
    models: dict[str, type[TableLayout | FigureLayout]] = {"tables": TableLayout, "figures": FigureLayout}
    for key, entries in (("tables", asked.tables), ("figures", asked.figures)):
        for k, entry in enumerate(entries):
            if entry is None:  # its own problem is reported already
                continue
            try:
                layout = layouts.load(models[key], entry).settle(asked.sweep, asked.metrics)
                found = find_misfits(layout, asked.metrics, asked.methods, asked.sweep)
            except ResultsError as error:
                found = [Problem((), line) for line in str(error).splitlines()]
            for problem in found:
                yield problem.below(key, k)


def refuse_misfits(layout: TableLayout | FigureLayout, name: str, results: Results) -> None:
    """Raise a ResultsError if a settled layout of this name needs what the results lack."""
    if found := find_misfits(layout, results.metrics, results.methods, results.sweep):
        raise ResultsError(f"{results.folder}: layout {name}: {'; '.join(problem.text for problem in found)}")


def find_misfits(
    layout: TableLayout | FigureLayout,
    metrics: Sequence[str],
    methods: Sequence[str],
    sweep: Mapping[str, int],
) -> list[Problem]:
    """Each thing that a settled layout needs and an experiment lacks.

    Parameters
    ----------
    layout : TableLayout or FigureLayout
    metrics, methods : sequence of str
        The metrics that are measured, and the methods.
    sweep : mapping
        Swept path → number of values.
    """
    if isinstance(layout, FigureLayout):
        wanted = list(layout.chosen_metrics or ())
        if layout.draw == "scatter":
            wanted.append(layout.x)
        paths = list(layout.paths)
        lines = _check_axes(layout, sweep)
    else:
        wanted = [layout.metric] if layout.metric else list(layout.metrics or ())
        paths = [name for name in (*layout.rows, *layout.columns) if name not in ("dataset", "method", "metric")]
        lines = _check_table(layout, methods, sweep)
    problems = []
    for name in wanted:
        if name not in (*metrics, "auto"):
            hint = suggest_name(name, metrics)
            text = f"needs the metric {name}{hint} (measured: {', '.join(metrics)})"
            problems.append(Problem((), text))
    for path in dict.fromkeys(paths):
        if path not in (*sweep, "auto"):
            text = f"needs a sweep of {path}{suggest_name(path, sweep)} (swept: {', '.join(sweep) or 'nothing'})"
            problems.append(Problem((), text))
    return problems + [Problem((), line) for line in lines]


def _check_axes(layout: FigureLayout, sweep: Mapping[str, int]) -> list[str]:
    """A line for axes for which nothing is swept or measured, or for swept parameters that have no axis."""
    if layout.draw == "scatter":
        return [] if layout.x != "auto" else [f"needs a time among the metrics: {' or '.join(TIMES[:2])}"]
    if "auto" in layout.paths:
        if layout.draw == "heatmap":
            return [f"a heat map needs two swept parameters (swept: {', '.join(sweep) or 'nothing'})"]
        return ["needs a sweep, and nothing is swept"]
    free = [path for path in sweep if path not in layout.paths]
    others = ", ".join(path for path in free if sweep[path] > 1)
    if not others:
        return []
    if layout.draw == "curves":
        return [
            f"{others} is swept too, so a method has several curves; a figure shows one sweep "
            "(`at:` chooses a value, `lines:` draws a line for each, `draw: heatmap` shows two sweeps)"
        ]
    return [f"{others} is swept too; choose a value by `at:`"]


def _check_table(layout: TableLayout, methods: Sequence[str], sweep: Mapping[str, int]) -> list[str]:
    """Names without a place, or with two, and options that go with other tables."""
    rows, columns = layout.rows, layout.columns
    names = [*rows, *columns]
    all_swept = bool(columns) and set(columns) <= set(sweep)
    lines = []
    if len(columns) != 1 and not all_swept:
        lines.append("columns: a list must be one of swept paths")
    elif not {"dataset", "method"} <= set(names) or len(set(names)) < len(names):
        lines.append("rows and columns together must hold dataset and method, each name once")
    if layout.average_rank and columns != ("method",):
        lines.append(f"average_rank: needs methods as columns, not {', '.join(columns)}")
    strange = [path for path in layout.row_labels if path not in rows or path not in sweep]
    if strange or (layout.row_labels and "method" not in rows):
        lines.append(f"row_labels: {', '.join(strange) or 'method'} is not among the rows")
    if layout.relative_to is not None and layout.relative_to not in methods:
        lines.append(f"needs the method {layout.relative_to}{suggest_name(layout.relative_to, methods)}")
    return lines
