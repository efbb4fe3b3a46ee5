"""The command `compare`: methods with each other, with published tables and studies, with an earlier run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcdr.cli.arguments import Folders, option, switch
from mlcdr.cli.printing import print_notice, print_published, print_table, print_written
from mlcdr.errors import ResultsError

_STUDY = "--published with the name of a study"

_TAKES: dict[str, tuple[str, ...]] = {
    "--baseline": ("--metric", "--fail-on", "--margin", "--time-margin"),
    "--agreement": ("--published", "--metric"),
    _STUDY: ("--published", "--metric", "--agreement", "--out"),
    "--published": (),
    "--by-label": ("--metric",),
    "--bayes": ("--rope", "--record", "--metric", "--out"),
    "": ("--record", "--metric", "--out"),
}
"""What is compared, by the option that asks for it → the options that it takes."""


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
        float, option("NUMBER", "With --bayes: differences up to this count as none, in units of the metric.", min=0)
    ] = 0.01,
    by_label: Annotated[
        bool, switch("Show which labels each method wins (of a run with `by_label`).", "--by-label")
    ] = False,
    out: Annotated[
        Path | None, option("DIR", "Write tables (md, tex, csv) and diagrams (SVG, PNG) of the comparison here.")
    ] = None,
    baseline: Annotated[
        Path | None, option("RESULTS", "Compare with an earlier run of the same experiment, split by split.")
    ] = None,
    fail_on: Annotated[
        Literal["regression"] | None,
        option("regression", "With --baseline: exit code 1 if a metric or a time got worse."),
    ] = None,
    margin: Annotated[
        float, option("NUMBER", "With --baseline: a metric may lose this share of its old mean.", min=0)
    ] = 0.01,
    time_margin: Annotated[float, option("NUMBER", "With --baseline: a time may grow by this factor.", min=1)] = 1.5,
) -> None:
    """Compare methods, published tables, earlier runs.

    Methods of several folders are compared together. `--baseline OLD NEW` compares two runs split by split.
    """
    from mlcdr.comparison.baseline import compare_runs
    from mlcdr.data import sources
    from mlcdr.results.results import open_results

    of_study = published in sources.studies()
    asked = {
        "--baseline": baseline,
        "--agreement": of_study and agreement,
        _STUDY: of_study,
        "--published": published,
        "--by-label": by_label,
        "--bayes": bayes,
        "": True,
    }
    mode = next(option for option, given in asked.items() if given)
    _refuse_combinations(context, mode)
    if baseline:
        if len(folders) != 1:
            raise typer.BadParameter("takes one other folder", param_hint="--baseline")
        old, new = open_results(baseline), open_results(folders[0])
        found = compare_runs(old, new, metric, margin, time_margin)
        print_table(found)
        raise typer.Exit(1 if fail_on and len(found.regressions) else 0)
    if published and of_study:
        _compare_with_study(folders, published, metric, agreement, out)
    elif published:
        from mlcdr.papers.printed import full_name, list_files

        print_published(folders, full_name(published, list_files()))
    elif by_label:
        _compare_labels(folders, metric)
    else:
        _compare_methods(folders, record or (), metric, rope if bayes else None, out)


def _refuse_combinations(context: typer.Context, mode: str) -> None:
    """Refuse options that are not of this comparison, or that are no numbers."""
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        option = f"--{name.replace('_', '-')}"
        if name == "folders" or source is None or source.name != "COMMANDLINE":
            continue
        if isinstance(value, float) and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is not a finite number", param_hint=option)
        if option in (mode, *_TAKES[mode]):
            continue
        needed = [other for other, options in _TAKES.items() if option in options]
        why = f"needs {needed[0]}" if len(needed) == 1 else f"cannot be combined with {mode}"
        raise typer.BadParameter(why, param_hint=option)


def _compare_methods(
    folders: list[Path], record: Sequence[str], metric: str | None, rope: float | None, out: Path | None
) -> None:
    """Print how the methods of some folders, and of the record, compare with each other."""
    from mlcdr.api.results import compare_folders
    from mlcdr.results.results import open_results

    compared = compare_folders([open_results(folder) for folder in folders], metric, rope, record)
    for each in compared:
        print_table(each)
        print()
    if out is None:
        return
    from mlcdr.comparison import diagrams

    written: list[Path] = []
    for each in compared:
        written += each.write(out)
        written += diagrams.write_all(each, out, each.results.methods)
    print_written(written, out)
    untested = [each.metric for each in compared if each.significance is None]
    if untested:
        print_notice(f"no diagram of {', '.join(untested)}: {diagrams.WITHOUT_TESTS}")


def _compare_with_study(folders: list[Path], name: str, metric: str | None, agreement: bool, out: Path | None) -> None:
    """Print the places of the folders' methods among those of a published study."""
    from mlcdr.comparison import study
    from mlcdr.comparison.agreement import agree, summarise_agreement, tabulate_ranks
    from mlcdr.comparison.standing import place_methods, summarise_standings
    from mlcdr.comparison.yardstick import Yardstick
    from mlcdr.data.studies import locate_study
    from mlcdr.results import joining
    from mlcdr.results.results import open_results

    path = locate_study(name)
    yardstick = Yardstick(joining.join([open_results(folder) for folder in folders]), study.read(path))
    measures = yardstick.measures(metric)
    if agreement:
        found = [agree(yardstick, measure) for measure in measures]
        print_table(summarise_agreement(yardstick, found))
        print()
        print_table(tabulate_ranks(found))
        return
    standings = [place_methods(yardstick, measure) for measure in measures]
    print_table(standings[0].sheet() if metric else summarise_standings(yardstick, standings))
    if out is not None:
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
        wanted = found if label is None else found[found["metric"] == label]
        if wanted.empty:
            raise ResultsError(f"{folder}: no {metric} by label")
        for dataset, each in wanted[["dataset", "metric"]].drop_duplicates().itertuples(index=False):
            print_table(tabulate_wins(found, dataset, each))
            print()
