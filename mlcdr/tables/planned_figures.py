"""Which figures an experiment asks for, and whether they are drawn: all that is known of them without drawing.

matplotlib is not imported here, so that a run with nothing to draw need not load it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import LayoutSpec, file_name
from mlcdr.results.results import Results
from mlcdr.tables import layouts
from mlcdr.tables.cells import lacks_any
from mlcdr.tables.layouts import FigureLayout
from mlcdr.tables.spot import Spot
from mlcdr.tables.text_format import shorten_name


@dataclass(frozen=True)
class PlannedFigure:
    """One figure of an entry.

    Attributes
    ----------
    entry : LayoutSpec
    subject : tuple of str
        What it is of, one of `list_subjects`.
    title : str
    stem : str
        The name of its files: the layout's, with `_` for `/`, and the data set's (metric's, method's) where there are
        several.
    """

    entry: LayoutSpec
    subject: tuple[str, ...]
    title: str
    stem: str


def plan_figures(results: Results, asked: Sequence[LayoutSpec]) -> list[PlannedFigure]:
    """Every figure of some entries; where files of two would have one name, it is numbered.

    Raises
    ------
    ResultsError
        When a layout cannot be read.
    """
    planned = list(_list_figures(results, asked))
    stems = layouts.number_repeated([each.stem for each in planned])
    return [replace(each, stem=stem) for each, stem in zip(planned, stems, strict=True)]


def _list_figures(results: Results, asked: Sequence[LayoutSpec]) -> Iterator[PlannedFigure]:
    for entry, stem in zip(asked, layouts.stems(asked), strict=True):
        layout = open_layout(results, entry).layout
        planned = {"dataset": layout.datasets, "metric": layout.chosen_metrics, "method": results.methods}
        for subject in list_subjects(results, entry):
            own_stem = stem
            for dimension, name in zip(layout.apart, subject, strict=True):
                if len(planned[dimension] or ()) > 1:
                    own_stem += f"_{file_name(name)}"
            title = results.name
            if subject:
                title += ": " + ", ".join(map(shorten_name, subject))
            yield PlannedFigure(entry, subject, title, own_stem)


def are_drawn(results: Results) -> bool:
    """Whether all figures of the experiment are there, drawn after its results, and itself, were written.

    Raises
    ------
    ResultsError
        When a layout cannot be read.
    """
    asked = results.experiment.figures
    made_of = [results.folder / "experiment.yaml", results.folder / "scores.csv"]
    newest = max(_written_at(path) for path in made_of)
    for planned in plan_figures(results, asked):
        for ending in ("svg", "png"):
            if _written_at(results.folder / "figures" / f"{planned.stem}.{ending}") <= newest:
                return False
    return True


def _written_at(path: Path) -> int:
    """When a file was written, in nanoseconds; 0 where there is none."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def list_subjects(results: Results, entry: LayoutSpec) -> list[tuple[str, ...]]:
    """What each of an entry's figures is of: a data set, a metric, a method, or several of them, in this order.

    Raises
    ------
    ResultsError
        When the layout cannot be read.
    """
    whole = open_layout(results, entry)
    layout, there = whole.layout, whole.there
    axes = [path for path in layout.paths if path not in layout.at]
    # A figure of one method needs a method that has what the axes show.
    there["method"] = [method for method in there["method"] if not lacks_any(results, method, axes)]
    return list(itertools.product(*(there[dimension] for dimension in layout.apart)))


def open_layout(results: Results, entry: LayoutSpec) -> Spot:
    """What all panels of an entry's figures show; its layout with axes, metrics and data sets named."""
    layout = layouts.load(FigureLayout, entry).settle(results.sweep, results.metrics)
    metrics = layout.chosen_metrics
    # times are the x axis of this figure, and are not drawn against themselves
    if layout.draw == "scatter" and metrics is None:
        metrics = tuple(list_judged(results))
    datasets = results.datasets if layout.datasets is None else layout.datasets
    for name in datasets:
        if name not in results.datasets:
            known = ", ".join(results.datasets)
            raise ResultsError(f"{locate_layout(results, entry)}: no data set {name!r} (there are: {known})")
    settled = {
        "metric": None,
        "metrics": metrics or results.metrics,
        "datasets": tuple(name for name in results.datasets if name in datasets),
    }
    # those first that the layout names
    methods = dict.fromkeys([*layout.methods, *results.methods])
    there = [method for method in methods if method in results.with_results]
    return Spot(results, layout.model_copy(update=settled), there)


def list_judged(results: Results) -> list[str]:
    """The metrics that are no times."""
    return [metric for metric in results.metrics if not results.metric_facts(metric).is_cost]


def locate_layout(results: Results, entry: LayoutSpec) -> str:
    """Where a layout is asked for, as a message begins."""
    return f"{results.folder}: layout {entry.layout}"
