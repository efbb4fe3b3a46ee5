"""Commands on results folders: `table`, `plot`, `report`, `compare`; and `predict` with a saved model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import DataOptions, Folder, Folders, argument, option, read_options, switch
from mlcdr.cli.printing import join_file_names, print_notice, print_published, print_table, print_tables, print_written
from mlcdr.errors import ResultsError, escape_control_characters


def table(
    folder: Folder,
    metric: Annotated[str | None, option("METRIC", "Print a table of this metric, and write none.")] = None,
) -> None:
    """Write the tables of results again and print them."""
    from mlcdr.experiment.model import LayoutSpec
    from mlcdr.results.results import open_results
    from mlcdr.tables import tables

    found = open_results(folder)
    if metric:
        options = {"metric": found.metric_named(metric)}
        print_table(tables.make_table(found, LayoutSpec(layout="generic", options=options)))
        return
    written = tables.write_all(found)
    print_tables(found)
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
    from mlcdr.tables import figures, label_figures

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
            written += label_figures.write_all(found, of_labels)
    for path in written:
        print(escape_control_characters(str(path)))


def report(folder: Folder) -> None:
    """Write one HTML page with all results.

    It is report.html in the results folder, and can be read offline.
    """
    from mlcdr.report import report as page
    from mlcdr.results.record import read_failures

    print(escape_control_characters(str(page.write(folder))))
    try:
        read_failures(folder)
    except ResultsError as error:  # the page shows this, too
        print_notice(str(error))


_Baseline = Annotated[
    Path | None, option("RESULTS", "Compare with an earlier run of the same experiment, split by split.")
]
_FailOn = Annotated[
    Literal["regression"] | None, option("regression", "With --baseline: exit code 1 if a metric or a time got worse.")
]
_Margin = Annotated[
    float | None, option("NUMBER", "With --baseline: a metric may lose this share of its old mean (0.01).", min=0)
]
_TimeMargin = Annotated[float | None, option("NUMBER", "With --baseline: a time may grow by this factor (1.5).", min=1)]


def compare(
    context: typer.Context,
    folders: Folders,
    published: Annotated[
        str | None,
        option(
            "PAPER/TABLE",
            "Compare with a published table, e.g. chen_lin_2012/table3; or by ranks with the 28 methods of "
            "the study bogatinovski_2022.",
        ),
    ] = None,
    record: Annotated[
        list[str] | None,
        option("PAPER/TABLE", "Compare also with the record of this table, on your data sets. Repeatable."),
    ] = None,
    agreement: Annotated[
        bool, switch("With a study: how well its ranks are reproduced by methods of the same name.", "--agreement")
    ] = False,
    metric: Annotated[str | None, option("METRIC", "Show this metric only.")] = None,
    bayes: Annotated[
        bool, switch("Show every pair of methods, with the Bayesian signed-rank test.", "--bayes")
    ] = False,
    rope: Annotated[
        float | None,
        option("NUMBER", "With --bayes: differences up to this count as none, in units of the metric (0.01).", min=0),
    ] = None,
    by_label: Annotated[
        bool, switch("Show which labels each method wins (of a run with `by_label`).", "--by-label")
    ] = False,
    out: Annotated[
        Path | None, option("DIR", "Write tables (md, tex, csv) and diagrams (SVG, PNG) of the comparison here.")
    ] = None,
    baseline: _Baseline = None,
    fail_on: _FailOn = None,
    margin: _Margin = None,
    time_margin: _TimeMargin = None,
) -> None:
    """Compare methods, published tables, earlier runs.

    Methods of several folders are compared together. `--baseline OLD NEW` compares two runs split by split.
    """
    from mlcdr.data import sources

    of_study = published in sources.studies()
    _refuse_combinations(of_study, context.params)
    if baseline:
        if len(folders) != 1:
            raise typer.BadParameter("takes one other folder", param_hint="--baseline")
        margins = {"margin": margin, "time_margin": time_margin}
        worse = _compare_with_baseline(baseline, folders[0], metric, margins)
        raise typer.Exit(1 if worse and fail_on else 0)
    if published and of_study:
        _compare_with_study(folders, published, metric, agreement, out)
    elif published:
        from mlcdr.reproduce.published import every_name, full_name

        print_published(folders, full_name(published, every_name()))
    elif by_label:
        _compare_labels(folders, metric)
    else:
        if bayes and rope is None:
            rope = 0.01
        _compare_methods(folders, record or (), metric, rope, out)


def _compare_methods(
    folders: list[Path], record: Sequence[str], metric: str | None, rope: float | None, out: Path | None
) -> None:
    """Print how the methods of some folders, and of the record, compare with each other."""
    from mlcdr.comparison import comparison
    from mlcdr.reproduce.record import find_rows
    from mlcdr.results import joining
    from mlcdr.results.results import open_results

    opened = [open_results(folder) for folder in folders]
    datasets = set(itertools.chain(*(each.datasets for each in opened)))
    found = joining.join([*opened, *find_rows(record, datasets)])
    compared = [comparison.compare(found, metric, rope)] if metric else comparison.compare_all(found, rope)
    for each in compared:
        print_table(each)
        print()
    if out is None:
        return
    from mlcdr.comparison import diagrams

    written: list[Path] = []
    for each in compared:
        written += each.write(out)
        written += diagrams.write_all(each, out, found.methods)
    print_written(written, out)
    untested = [each.metric for each in compared if each.significance is None]
    if untested:
        print_notice(f"no diagram of {', '.join(untested)}: {diagrams.WITHOUT_TESTS}")


def _compare_with_study(folders: list[Path], name: str, metric: str | None, agreement: bool, out: Path | None) -> None:
    """Print the places of the folders' methods among those of a published study."""
    from mlcdr.comparison import study
    from mlcdr.comparison.yardstick import Yardstick
    from mlcdr.data.studies import locate_study
    from mlcdr.results import joining
    from mlcdr.results.results import open_results

    path = locate_study(name)
    yardstick = Yardstick(joining.join([open_results(folder) for folder in folders]), study.read(path))
    measures = yardstick.measures(metric)
    if agreement:
        found = [yardstick.agree(measure) for measure in measures]
        print_table(yardstick.summarise_agreement(found))
        print()
        print_table(yardstick.tabulate_ranks(found))
        return
    standings = [yardstick.place(measure) for measure in measures]
    print_table(standings[0].sheet() if metric else yardstick.summarise(standings))
    if out:
        written: list[Path] = []
        for standing in standings:
            written += standing.write(out)
        print_written(written, out)


def _compare_labels(folders: list[Path], metric: str | None) -> None:
    """Print which labels each method of a folder wins."""
    from mlcdr.comparison.by_label import tabulate_wins
    from mlcdr.metrics.names import label_of
    from mlcdr.results.labels import read_label_scores

    for folder in folders:
        found = read_label_scores(folder)
        if found is None:
            raise ResultsError(f"{folder}: no labels.csv; add `by_label: [f1]` to the config and run again")
        label = label_of(metric) if metric else None
        wanted = [key for key in found.means if label in (None, key[1])]
        if not wanted:
            raise ResultsError(f"{folder}: no {metric} by label")
        for dataset, each in wanted:
            print_table(tabulate_wins(found, dataset, each))
            print()


_NEEDED = {"--rope": "--bayes", "--fail-on": "--baseline", "--margin": "--baseline", "--time-margin": "--baseline"}
_EXCLUDED = {
    "--published": ("--metric", "--baseline", "--bayes", "--out"),
    "--baseline": ("--bayes", "--out"),
    "--record": ("--published", "--baseline", "--by-label"),
}
_EXCLUDED_BY_STUDY = {"--published": ("--baseline", "--bayes"), "--agreement": ("--out",)}


def _refuse_combinations(of_study: bool, given: Mapping[str, object]) -> None:
    """Refuse options of `compare` that do not go together or are no numbers; `given`: parameter → value."""
    excluded = _EXCLUDED | (_EXCLUDED_BY_STUDY if of_study else {})
    options = {}
    for name, value in given.items():
        if value is not None and value is not False and value != ():
            options[f"--{name.replace('_', '-')}"] = value
    for name, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is not a finite number", param_hint=name)
        if name in _NEEDED and _NEEDED[name] not in options:
            raise typer.BadParameter(f"needs {_NEEDED[name]}", param_hint=name)
        both = [other for other in excluded.get(name, ()) if other in options]
        if both:
            raise typer.BadParameter(f"cannot be combined with {', '.join(both)}", param_hint=name)
    if "--agreement" in options and not of_study:
        raise typer.BadParameter("needs --published with the name of a study", param_hint="--agreement")


def _compare_with_baseline(old: Path, new: Path, metric: str | None, margins: Mapping[str, float | None]) -> bool:
    """Print the comparison of a run with an earlier one; returns whether something got worse."""
    from mlcdr.comparison import baseline
    from mlcdr.results.results import open_results

    given = {name: value for name, value in margins.items() if value is not None}
    found = baseline.compare(open_results(old), open_results(new), metric, **given)
    print_table(found)
    return bool(found.regressions)


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
    from mlcdr.execution.models import load_model, predictions
    from mlcdr.whole_files import write_atomically

    import_from_here()
    loaded = load_model(model, trust)
    X = loaded.read(data, **read_options(settings))
    text = predictions(loaded, X)
    if out is None:
        print(text, end="")
    else:
        write_atomically(out, text)
        print_notice(f"written: {out}, {X.shape[0]} rows, predicted by {loaded.about.get('method', 'the model')}")
