"""The command `compare`: methods with each other, with published tables and studies, with an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import mlcdr
from mlcdr.cli.arguments import Folders, Metric, number, option, switch
from mlcdr.cli.printing import print_published, print_table, print_written
from mlcdr.errors import ResultsError
from mlcdr.standard_streams import print_notice

_STUDY = "--published with the name of a study"

_TAKES: dict[str, tuple[str, ...]] = {
    "--baseline": ("--metric", "--fail-on", "--margin", "--time-margin"),
    _STUDY: ("--metric", "--agreement", "--out"),
    "--published": (),
    "--by-label": ("--metric",),
    "--bayes": ("--rope", "--record", "--from", "--metric", "--out", "--within", "--zeros", "--spread"),
    "": ("--record", "--from", "--metric", "--out", "--within", "--zeros", "--spread"),
}
"""What is compared, by the option that asks for it → the options that it takes."""

Published = Annotated[
    str | None,
    option(
        "PAPER/TABLE",
        "Compare with a published table, e.g. chen_lin_2012/table3; or by ranks with the 28 methods of "
        "the study bogatinovski_2022.",
    ),
]
Record = Annotated[
    list[str] | None,
    option("PAPER/CONFIG", "Compare also with the record of this table, on your data sets. Repeatable."),
]
From = Annotated[
    Literal["long", "meka", "mlrl", "tsml"] | None,
    option(
        "long|meka|mlrl|tsml",
        "Read the paths that are no results folders as results of this program; long: a CSV table of dataset, method, "
        "metric, value.",
        "--from",
    ),
]
Agreement = Annotated[
    bool, switch("With a study: how well its ranks are reproduced by methods of the same name.", "--agreement")
]
Within = Annotated[bool, switch("Show every pair of methods on each data set, tested over its splits.", "--within")]
Bayes = Annotated[bool, switch("Show every pair of methods, with Bayesian tests.", "--bayes")]
Zeros = Annotated[
    Literal["discard", "pratt"],
    option("discard|pratt", "Zero differences in Wilcoxon's test: discarded, or ranked first (Pratt 1959)."),
]
Spread = Annotated[
    Literal["se", "std"],
    option("se|std", "Behind each mean: its standard error, or the standard deviation over the splits."),
]
Rope = Annotated[
    float,
    number("NUMBER", "With --bayes: differences up to this count as none, in units of the metric.", least=0),
]
ByLabel = Annotated[bool, switch("Show which labels each method wins (of a run with `by_label`).", "--by-label")]
Written = Annotated[
    Path | None, option("DIR", "Write tables (md, tex, csv) and diagrams (SVG, PNG) of the comparison here.")
]
Baseline = Annotated[
    Path | None, option("RESULTS", "Compare with an earlier run of the same experiment, split by split.")
]
FailOn = Annotated[
    Literal["regression"] | None,
    option("regression", "With --baseline: exit code 1 if a metric, a time or memory got worse."),
]
Margin = Annotated[float, number("NUMBER", "With --baseline: a metric may lose this share of its old mean.", least=0)]
TimeMargin = Annotated[float, number("NUMBER", "With --baseline: a time, or memory, may grow by this factor.", least=1)]


def compare(
    context: typer.Context,
    folders: Folders,
    published: Published = None,
    record: Record = None,
    from_: From = None,
    agreement: Agreement = False,
    metric: Metric = None,
    within: Within = False,
    bayes: Bayes = False,
    rope: Rope = 0.01,
    zeros: Zeros = "discard",
    spread: Spread = "se",
    by_label: ByLabel = False,
    out: Written = None,
    baseline: Baseline = None,
    fail_on: FailOn = None,
    margin: Margin = 0.01,
    time_margin: TimeMargin = 1.5,
) -> None:
    """Compare methods, published tables, earlier runs.

    Methods of several folders are compared together. `--baseline OLD NEW` compares two runs split by split.
    """
    from mlcdr.data import sources

    of_study = published in sources.studies()
    _refuse_combinations(context, of_study)
    if baseline:
        worse = _compare_runs(folders, metric, baseline=baseline, margin=margin, time_margin=time_margin)
        raise typer.Exit(1 if fail_on and worse else 0)
    if published and of_study:
        _compare_with_study(folders, published, metric, agreement, out)
    elif published:
        print_published(folders, published)
    elif by_label:
        _compare_labels(folders, metric)
    else:
        _compare_methods(
            folders,
            from_,
            metric,
            within,
            out,
            record=record or (),
            rope=rope if bayes else None,
            zeros=zeros,
            spread=spread,
        )


def _refuse_combinations(context: typer.Context, of_study: bool) -> None:
    """Refuse options that are not of what is compared."""
    given = []
    for name in context.params:
        source = context.get_parameter_source(name)
        if name != "folders" and source is not None and source.name == "COMMANDLINE":
            given.append(f"--{name.rstrip('_').replace('_', '-')}")
    asked = [_STUDY if of_study and each == "--published" else each for each in given]
    mode = next((each for each in _TAKES if each in asked), "")
    for each in asked:
        if each in (mode, *_TAKES[mode]):
            continue
        takers = [other for other, options in _TAKES.items() if each in options]
        why = f"needs {takers[0]}" if len(takers) == 1 else f"cannot be combined with {mode}"
        raise typer.BadParameter(why, param_hint="--published" if each == _STUDY else each)


def _compare_runs(folders: list[Path], metric: str | None, **options: Any) -> bool:
    """Print what changed since an earlier run; returns whether something got worse."""
    if len(folders) != 1:
        raise typer.BadParameter("takes one other folder", param_hint="--baseline")
    found: Any = mlcdr.compare(*folders, metric=metric, **options)
    print_table(found)
    return len(found.regressions) > 0


def _compare_methods(
    folders: list[Path],
    source: str | None,
    metric: str | None,
    within: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Print how the methods of some folders, of the record and of other programs compare with each other."""
    others = {}
    if source is not None:
        foreign = [path for path in folders if not (path / "experiment.yaml").exists()]
        if not foreign:
            raise typer.BadParameter("needs the path of a file as well as results folders", param_hint="--from")
        folders = [path for path in folders if path not in foreign]
        others = {source: foreign}
    found: Any = mlcdr.compare(*folders, metric=metric, others=others, **options)
    compared = [found] if metric else found
    for each in compared:
        print_table(each)
        print()
        if within and not each.shows_within:
            _print_within(each)
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


def _print_within(compared: Any) -> None:
    """Print the tests within each data set, or why there are none."""
    try:
        print_table(compared.within())
        print()
    except ResultsError as error:
        print_notice(str(error))


def _compare_with_study(folders: list[Path], name: str, metric: str | None, agreement: bool, out: Path | None) -> None:
    """Print the places of the folders' methods among those of a published study."""
    from mlcdr.comparison import study
    from mlcdr.comparison.agreement import agree, summarise_agreement, tabulate_ranks
    from mlcdr.comparison.standing import place_methods, summarise_standings
    from mlcdr.comparison.yardstick import Yardstick
    from mlcdr.data.studies import locate_study
    from mlcdr.results import joining
    from mlcdr.results.results import open_results

    if agreement and out is not None:
        raise typer.BadParameter("cannot be combined with --agreement", param_hint="--out")
    published = study.read(locate_study(name))
    found = [open_results(folder) for folder in folders]
    yardstick = Yardstick(joining.join(found), published)
    measures = yardstick.measures(metric)
    if agreement:
        agreements = [agree(yardstick, measure) for measure in measures]
        print_table(summarise_agreement(yardstick, agreements))
        print()
        print_table(tabulate_ranks(agreements))
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
        wanted = found[found["metric"] == label_of(metric)] if metric else found
        if wanted.empty:
            raise ResultsError(f"{folder}: no {metric} by label")
        for dataset, each in wanted[["dataset", "metric"]].drop_duplicates().itertuples(index=False):
            print_table(tabulate_wins(found, dataset, each))
            print()
