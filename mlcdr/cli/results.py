"""Commands on results folders: `table`, `plot`, `report`; and `predict` with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import DataOptions, Folder, argument, option, read_options, switch
from mlcdr.cli.printing import join_file_names, print_table, print_tables
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
    if metric:
        options = {"metric": found.metric_named(metric)}
        print_table(tables.make_table(found, LayoutSpec(layout="generic", options=options)))
        return
    print_tables(found)  # first: they may not be writable
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


def predict(
    model: Annotated[Path, argument("MODEL", "A model file, such as those below RESULTS/kept.")],
    data: Annotated[str, argument("DATASET", "A data set, or the path of its file; it needs no labels.")],
    out: Annotated[Path | None, option("FILE", "Write to this file (CSV) instead of printing.")] = None,
    trust: Annotated[
        bool, switch("Load the model, which can execute any code; only for models that you trust.", "--trust")
    ] = False,
    settings: DataOptions = None,
) -> None:
    """Predict with a saved model, as CSV.

    The models are those of `keep: {models: true}`; they predict label sets and scores. The column `score:LABEL` is how
    far a label's score lies above its threshold: a label above 0 is in the label set.

    Columns are found by their names, and words are coded as in the training data; other columns, such as labels, are
    not looked at.
    """
    from mlcdr.errors import DataError
    from mlcdr.execution.models import load_model, predictions
    from mlcdr.whole_files import write_atomically

    import_from_here()
    loaded = load_model(model, trust)
    X = loaded.read(data, **read_options(settings))
    try:
        text = predictions(loaded, X)
    except ValueError as error:  # such as numbers that are too large
        raise DataError(f"{data}: {error}") from None
    if out is None:
        print(text, end="")
    else:
        write_atomically(out, text)
        print_notice(f"written: {out}, {X.shape[0]} rows, predicted by {loaded.about.get('method', 'the model')}")
