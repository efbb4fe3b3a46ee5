"""Whether tables and figures fit what an experiment sweeps and measures: before it runs, and again on its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mlcdr.errors import ResultsError, suggest_name
from mlcdr.experiment.consistency import Asked
from mlcdr.experiment.problems import Problem
from mlcdr.tables import layouts
from mlcdr.tables.layouts import TIMES, FigureLayout, TableLayout

MOST_PANELS = 100
"""Of a figure; more are too small to read, and hundreds too large a picture to draw."""

if TYPE_CHECKING:  # a config is checked without it
    from mlcdr.results.results import Results


def find_problems(asked: Asked) -> Iterator[Problem]:
    """Each thing that would keep a table or figure from being made, as it is found."""
    metrics = TIMES if asked.metrics is None else asked.metrics  # one of them may be the axis of a scatter plot
    models: dict[str, type[TableLayout | FigureLayout]] = {"tables": TableLayout, "figures": FigureLayout}
    for key, entries in (("tables", asked.tables), ("figures", asked.figures)):
        for k, entry in enumerate(entries):
            if entry is None:  # its own problem is reported already
                continue
            measured = asked.metrics
            if measured is not None and entry.metric is not None:
                measured = (*measured, entry.metric)  # whether it is has been checked
            try:
                layout = layouts.load(models[key], entry).settle(asked.sweep, metrics)
                found = find_misfits(layout, measured, asked.methods, asked.n_datasets, asked.sweep)
            except ResultsError as error:
                found = [Problem((), line) for line in str(error).splitlines()]
            for problem in found:
                yield problem.below(key, k)


def refuse_misfits(layout: TableLayout | FigureLayout, name: str, results: Results) -> None:
    """Raise a ResultsError if a settled layout of this name needs what the results lack."""
    if found := find_misfits(layout, results.metrics, results.methods, len(results.datasets), results.sweep):
        raise ResultsError(f"{results.folder}: layout {name}: {'; '.join(problem.text for problem in found)}")


def find_misfits(
    layout: TableLayout | FigureLayout,
    metrics: Sequence[str] | None,
    methods: Sequence[str],
    n_datasets: int,
    sweep: Mapping[str, int],
) -> list[Problem]:
    """Each thing that a settled layout needs and an experiment lacks.

    Parameters
    ----------
    layout : TableLayout or FigureLayout
    metrics : sequence of str or None
        The metrics that are measured; None: not known, so that none is missing.
    methods : sequence of str
    n_datasets : int
    sweep : mapping
        Swept path → number of values.
    """
    wanted = list(layout.chosen_metrics or ())
    if isinstance(layout, TableLayout):
        rules = _check_table(layout, methods, sweep)
    else:
        rules = _check_axes(layout, sweep)
        n_panels = _count_panels(layout, len(metrics or ()), n_datasets)
        rules[f"has {n_panels} panels; a figure may have {MOST_PANELS}"] = n_panels > MOST_PANELS
        if layout.draw == "scatter":
            wanted.append(layout.x)
    problems = []
    for name in wanted:
        if metrics is not None and name not in (*metrics, "auto"):
            hint = suggest_name(name, metrics)
            text = f"needs the metric {name}{hint} (measured: {', '.join(metrics)})"
            problems.append(Problem((), text))
    for path in dict.fromkeys(layout.paths):
        if path not in (*sweep, "auto"):
            text = f"needs a sweep of {path}{suggest_name(path, sweep)} (swept: {_join(sweep)})"
            problems.append(Problem((), text))
    return problems + [Problem((), text) for text, is_broken in rules.items() if is_broken]


def _count_panels(layout: FigureLayout, n_metrics: int, n_datasets: int) -> int:
    """How many panels a figure has, of the metrics and data sets that it does not choose among."""
    chosen = layout.chosen_metrics
    numbers = {
        "metrics": n_metrics if chosen is None else len(chosen),
        "datasets": n_datasets if layout.datasets is None else len(layout.datasets),
    }
    return math.prod(numbers[kind] for kind in layout.panels_of.split("_by_"))


def _join(sweep: Iterable[str]) -> str:
    return ", ".join(sweep) or "nothing"


def _check_axes(layout: FigureLayout, sweep: Mapping[str, int]) -> dict[str, bool]:
    """What may be wrong with axes, and whether it is: nothing is there for one, or swept parameters have none."""
    draw = layout.draw
    lacking = "auto" in layout.paths
    others = [path for path in sweep if path not in layout.paths and sweep[path] > 1]
    surplus = bool(others) and draw != "scatter" and not lacking
    several = f"{', '.join(others)} is swept too"
    return {
        f"needs a time among the metrics: {' or '.join(TIMES[:2])}": draw == "scatter" and layout.x == "auto",
        f"a heat map needs two swept parameters (swept: {_join(sweep)})": lacking and draw == "heatmap",
        "needs a sweep, and nothing is swept": lacking and draw != "heatmap",
        f"{several}, so a method has several curves; a figure shows one sweep "
        "(`at:` chooses a value, `lines:` draws a line for each, `draw: heatmap` shows two sweeps)": (
            surplus and draw == "curves"
        ),
        f"{several}; choose a value by `at:`": surplus and draw != "curves",
    }


def _check_table(layout: TableLayout, methods: Sequence[str], sweep: Mapping[str, int]) -> dict[str, bool]:
    """What may be wrong with names and options, and whether it is."""
    rows, columns = layout.rows, layout.columns
    names = [*rows, *columns]
    is_list = len(columns) != 1
    all_swept = bool(columns) and set(columns) <= set(sweep)
    is_whole = {"dataset", "method"} <= set(names) and len(set(names)) == len(names)
    strange = [path for path in layout.row_labels if path not in rows or path not in sweep]
    if layout.row_labels and "method" not in rows:
        strange = strange or ["method"]
    reference = layout.relative_to or ""
    return {
        "columns: a list must be one of swept paths": is_list and not all_swept,
        "rows and columns together must hold dataset and method, each name once": (
            not is_whole and (all_swept or not is_list)
        ),
        f"average_rank: needs methods as columns, not {', '.join(columns)}": (
            layout.average_rank and columns != ("method",)
        ),
        f"row_labels: {', '.join(strange)} is not among the rows": bool(strange),
        f"needs the method {reference}{suggest_name(reference, methods)}": (
            layout.relative_to is not None and reference not in methods
        ),
    }
