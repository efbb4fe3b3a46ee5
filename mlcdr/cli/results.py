"""Commands on results folders: `table`, `plot`, `report`."""

from __future__ import annotations

from typing import Annotated

import typer

from mlcdr.cli.arguments import Folder, option
from mlcdr.cli.printing import join_file_names, print_against, print_place, print_table, print_tables
from mlcdr.errors import ResultsError
from mlcdr.standard_streams import print_lines, print_notice


def table(
    folder: Folder,
    metric: Annotated[str | None, option("METRIC", "Print a table of this metric, and write none.")] = None,
) -> None:
    """Print the tables of results and write them again."""
    from mlcdr.experiment.model import LayoutSpec
    from mlcdr.results.results import open_results
    from mlcdr.tables import tables

    found = open_results(folder)
    if metric is not None:
        options = {"metric": found.metric_named(metric)}
        print_table(tables.make_table(found, LayoutSpec(layout="generic", options=options)))
        print_against(found, options["metric"])
        print_place(found)
        return
    print_tables(found)  # first: they may not be writable
    print_against(found)
    print_place(found)
    written = tables.write_all(found)
    print_notice(f"written: {join_file_names(written, folder)}")


def plot(
    folder: Folder,
    layout: Annotated[
        list[str] | None, option("LAYOUT", "Draw this layout (curves, boxes, time, heatmap …) instead. Repeatable.")
    ] = None,
    metric: Annotated[list[str] | None, option("METRIC", "With --layout: this metric only. Repeatable.")] = None,
) -> None:
    """Draw the figures of results again.

    They are standard ones if the experiment lists none. With `by_label`, each of its metrics is also drawn against how
    frequent the labels are.
    """
    from mlcdr.experiment.model import LayoutSpec
    from mlcdr.results.labels import read_label_scores
    from mlcdr.results.results import open_results
    from mlcdr.tables import figures, frequency_figures

    found = open_results(folder)
    if metric and not layout:
        raise typer.BadParameter("needs --layout NAME", param_hint="--metric")
    if layout:
        options = {"metrics": [found.metric_named(each) for each in metric]} if metric else {}
        written = figures.write_all(found, [LayoutSpec(layout=each, options=options) for each in layout])
    else:
        written = figures.write_all(found, found.experiment.figures or figures.choose_figures(found))
        of_labels = read_label_scores(folder)
        if of_labels is not None:
            written += frequency_figures.write_all(found, of_labels)
    for path in written:
        print_lines(path)


def report(folder: Folder) -> None:
    """Write one HTML page with all results.

    It is report.html in the results folder, and can be read offline.
    """
    from mlcdr.report import report as page
    from mlcdr.results.record import read_failures

    print_lines(page.write(folder))
    try:
        read_failures(folder)
    except ResultsError as error:  # the page shows this, too
        print_notice(error)
