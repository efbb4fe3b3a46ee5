"""Results against printed tables: `reproduce` for the papers that come with mlcdr, `verify` for any other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcdr.cli import data_sets
from mlcdr.cli.arguments import Jobs, Out, Set, argument, option, switch
from mlcdr.cli.printing import format_size, print_columns, print_published, print_table
from mlcdr.cli.running import conclude, load_to_run
from mlcdr.errors import ResultsError, UserError
from mlcdr.standard_streams import print_lines, print_notice

if TYPE_CHECKING:
    from mlcdr.experiment.model import Experiment
    from mlcdr.papers.recipes import Recipe, Step


def reproduce(
    target: Annotated[str | None, argument("PAPER[/TABLE]", "What to reproduce; default: list what can be.")] = None,
    small: Annotated[bool, switch("A run of minutes: fewer repeats, small data sets.", "--small")] = False,
    large: Annotated[bool, switch("Include the large data sets.", "--large")] = False,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    set_: Set = None,
) -> None:
    """Run the experiments of a published table.

    The results are compared with the printed numbers.
    """
    from mlcdr.papers import recipes

    if target is None:
        _list_recipes()
        return
    facts = recipes.facts_table(target)
    if facts:
        if small or large or set_:
            raise UserError(f"{target}: is counted on the data, so --small, --large and --set are not for it")
        data_sets.table(None, layout=facts, published=facts, out=None)
        return
    changes = set_ or []
    steps = recipes.steps(target, small, large)
    recipes.require_data([recipes.experiment_of(step, changes) for step in steps], target)
    experiments = load_to_run([(step.recipe.path, [*step.overrides, *changes]) for step in steps])
    planned = list(zip(steps, experiments, strict=True))
    if len(planned) > 1:
        print_notice(f"{target}: {len(planned)} experiments, one after another")
        for step, experiment in planned:
            print_notice(f"  {_format_step(step)}: {format_size(experiment)}")
    raise typer.Exit(_run_steps(target, planned, jobs, out))


def _run_steps(target: str, planned: list[tuple[Step, Experiment]], jobs: int, out: Path) -> int:
    """Run some steps, and compare with each table after the last run that is for it; returns the worst exit code."""
    from mlcdr.api.running import compute
    from mlcdr.papers import recipes

    last: dict[str, Experiment] = {}  # published table → the last run for it
    for step, experiment in planned:
        last |= dict.fromkeys(recipes.compared_tables(target, step, experiment), experiment)
    folders: dict[str, list[Path]] = {table: [] for table in last}
    worst = 0
    for step, experiment in planned:
        print_notice(_format_step(step))
        workers = jobs
        if jobs == 0 and recipes.measures_times(target, step, experiment):
            workers = 1
            print_notice("it reports times, so one trial runs at a time")
        report = compute(experiment, out, workers)
        worst = max(worst, conclude(report, False))
        if report.interrupted:
            break
        for table in recipes.compared_tables(target, step, experiment):
            if report.done:
                folders[table].append(report.folder)
            if folders[table] and last[table] is experiment:
                worst = max(worst, _compare_with_printed(table, folders[table]))
    return worst


def _format_step(step: Step) -> str:
    return f"{step.recipe.name} ({step.description})" if step.description else step.recipe.name


def _compare_with_printed(table: str, folders: list[Path]) -> int:
    """Compare the results of some folders with the printed numbers of a table; returns the exit code."""
    if not table:
        print_notice(f"{', '.join(map(str, folders))}: the paper prints no numbers to compare with")
        return 0
    try:
        print_published(folders, table)
    except ResultsError as error:  # the remaining tables are run all the same
        print_notice(f"error: {error}")
        return 2
    return 0


def _list_recipes() -> None:
    """List each table and figure that can be reproduced, its printed cells, data sets and options."""
    from mlcdr.papers import recipes

    known = recipes.recipes()
    rows = sorted(_describe_targets(known))
    shown = [("name", "printed cells", "data sets", "options")]
    for _, of_paper in itertools.groupby(rows, lambda row: row[0].partition("/")[0]):
        shown += [("", "", "", ""), *of_paper]
    print_columns(shown)
    _print_missing(known)


def _describe_targets(known: Mapping[str, Recipe]) -> Iterator[tuple[str, str, str, str]]:
    """A row for each config; for each table that other configs fill; and for each table of facts about data sets."""
    from mlcdr.papers import printed, recipes

    for name, recipe in known.items():
        cells = str(len(printed.read_cells(recipe.table))) if recipe.table else "none"
        datasets = recipe.outline.datasets
        at_hand = len(datasets) - len(recipes.missing([recipe.outline]))
        options = "" if recipe.lacks() else _list_options([recipe], known)
        yield name, cells, f"{at_hand} of {len(datasets)} available", options
    for name, by_these in recipes.filled_by_others().items():
        cells = str(len(printed.read_cells(name)))
        by = ", ".join(recipe.path.stem for recipe in by_these)
        yield name, cells, f"by {by}", _list_options(by_these, known)
    for name in printed.list_facts_tables():
        if recipes.facts_table(name):
            yield name, "facts", "counted on the data", ""


def _list_options(run: list[Recipe], known: Mapping[str, Recipe]) -> str:
    """The options with which some configs can be run."""
    from mlcdr.papers.recipes import SMALL
    from mlcdr.results.joining import LARGE

    options = []
    if all(recipe.variant != SMALL for recipe in run):
        options.append("--small")
    if any(f"{recipe.name}_{LARGE}" in known for recipe in run):
        options.append("--large")
    return " ".join(options)


def _print_missing(known: Mapping[str, Recipe]) -> None:
    """Print which configs cannot be run here, and which data sets are not available."""
    from mlcdr.data.sources import how_to_get
    from mlcdr.papers import recipes

    lacking: dict[str, list[str]] = {}
    for name, recipe in known.items():
        for why in recipe.lacks():
            lacking.setdefault(why, []).append(name)
    for why, names in lacking.items():
        print_notice(f"cannot be run here: {', '.join(names)}: {why}")
    needed = recipes.missing(recipe.outline for recipe in known.values())
    if needed:
        print_notice(f"not available: {', '.join(needed)}; {how_to_get(needed)}")


# -------------------------------------------------------------------- any other paper


def _check_at_least(word: str) -> str:
    """A number of cells, `17`, or a share of them, `95%`."""
    is_number = re.fullmatch(r"[0-9]{1,9}", word)
    is_share = re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,6})?%|100%", word)
    if not (is_number or is_share):
        raise typer.BadParameter(f"{word!r} is neither a number of cells, such as 17, nor a share, such as 95%")
    return word


def verify(
    target: Annotated[Path, argument("RESULTS|FILE", "A paper (YAML), or a results folder.")],
    cells: Annotated[
        Path | None, option("FILE", "With a results folder: the printed cells (CSV), or the paper (YAML).")
    ] = None,
    at_least: Annotated[
        str,
        typer.Option(
            metavar="N|N%",
            help="How many cells must agree for exit code 0: a number, or a share such as 95%.",
            parser=_check_at_least,
        ),
    ] = "100%",
    jobs: Jobs = 0,
    out: Out = Path("results"),
    trust: Annotated[
        bool, switch("Import modules and run commands that the config names; only if you know what they do.", "--trust")
    ] = False,
) -> None:
    """Count the printed cells of a paper that agree.

    A paper is a YAML file that names an experiment and a CSV file of printed cells. The experiment is run, but for
    trials that are finished in its results folder. With a results folder nothing is run.
    """
    from mlcdr.papers import verifying
    from mlcdr.results.results import open_results

    folder = target
    if target.is_dir() and cells is None:
        raise typer.BadParameter("a results folder needs it: the file of the printed cells", param_hint="--cells")
    if not target.is_dir() and cells is not None:
        raise typer.BadParameter(f"needs a results folder, and {target} is none", param_hint="--cells")
    paper = verifying.read_paper(cells or target)
    if cells is None:
        if paper.config is None:
            raise UserError(f"{target}: names no config; for a results folder: `mlcdr verify RESULTS --cells {target}`")
        folder = _run_config(paper.config, jobs, out, trust)
    found = verifying.verify(open_results(folder), paper)
    if found.sheet is not None:
        print_table(found.sheet)
    print_lines(found.sentence())
    raise typer.Exit(0 if found.reaches(at_least) else 1)


def _run_config(config: Path, jobs: int, out: Path, trust: bool) -> Path:
    """Run a config that may be a stranger's; returns its results folder."""
    from mlcdr.api.loading import load_unknown
    from mlcdr.api.running import compute

    report = compute(load_unknown(config, trust, print_notice), out, jobs, trust=trust)
    code = conclude(report, True)
    if report.interrupted:
        raise typer.Exit(code)
    return report.folder
