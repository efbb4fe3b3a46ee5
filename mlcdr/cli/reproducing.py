"""Commands on published tables: `reproduce` and `reproduction-status`."""

from __future__ import annotations

import itertools
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli import data_sets
from mlcdr.cli.arguments import Jobs, Out, Set, Trust, argument, option, switch
from mlcdr.cli.printing import format_size, print_columns, print_notice, print_published
from mlcdr.cli.running import conclude, load_to_run, refuse_same_name
from mlcdr.errors import ResultsError, UserError, escape_control_characters

if TYPE_CHECKING:
    from mlcdr.reproduce.making import Planned
    from mlcdr.reproduce.recipes import Step


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
    from mlcdr.reproduce import recipes

    if target is None:
        _list_recipes()
        return
    from mlcdr.api.running import compute

    if facts := recipes.data_table(target):
        data_sets.datasets_table(None, layout=facts, published=facts, out=None)
        return
    steps = recipes.steps(target, small, large)
    recipes.require_data([recipes.experiment_of(step, set_ or ()) for step in steps], target)
    experiments = [load_to_run(step.recipe.path, [*step.overrides, *(set_ or ())]) for step in steps]
    refuse_same_name([step.recipe.path for step in steps], experiments)
    if len(steps) > 1:
        print_notice(f"{target}: {len(steps)} experiments, one after another")
        for step, experiment in zip(steps, experiments, strict=True):
            print_notice(f"  {_format_step(step)}: {format_size(experiment)}")
    worst = 0
    folders: dict[tuple[str, str], list[Path]] = {}
    # the run of a figure is compared by itself, also where it is laid out as a table that other configs fill
    tables = [
        [(name, "" if step.recipe.table else step.recipe.of) for name in recipes.compared_tables(target, step, each)]
        for step, each in zip(steps, experiments, strict=True)
    ]
    for k, (step, experiment) in enumerate(zip(steps, experiments, strict=True)):
        alone = jobs == 0 and recipes.measures_times(target, step, experiment)
        print_notice(f"{_format_step(step)}{': it reports times, so one trial runs at a time' if alone else ''}")
        report = compute(experiment, out, 1 if alone else jobs)
        worst = max(worst, conclude(report, False))
        if report.interrupted:
            raise typer.Exit(worst)
        for key in tables[k]:
            if report.done:
                folders.setdefault(key, []).append(report.folder)
            if key in folders and all(key not in later for later in tables[k + 1 :]):
                worst = max(worst, _compare_with_printed(key[0], folders.pop(key)))
    raise typer.Exit(worst)


def _format_step(step: Step) -> str:
    return f"{step.recipe.name}{f' ({step.description})' if step.description else ''}"


def _compare_with_printed(table_name: str, folders: list[Path]) -> int:
    """Compare the results of some folders with the printed numbers of a table; returns the exit code."""
    if not table_name:
        print_notice(f"{', '.join(map(str, folders))}: the paper prints no numbers to compare with")
        return 0
    try:
        print_published(folders, table_name)
    except ResultsError as error:  # the remaining tables are run all the same
        print(f"error: {escape_control_characters(str(error))}", file=sys.stderr)
        return 2
    return 0


def _list_recipes() -> None:
    """List each table and figure that can be reproduced, its printed cells, data sets and options."""
    from mlcdr.data.sources import how_to_get
    from mlcdr.reproduce import published, recipes
    from mlcdr.results.joining import LARGE

    known = recipes.recipes().values()
    configs = {each.name for each in known}
    rows: list[tuple[str, ...]] = []
    lacking: dict[str, list[str]] = {}  # why → names
    for each in known:
        for why in each.lacks():
            lacking.setdefault(why, []).append(each.name)
        absent = recipes.missing([each.outline])
        at_hand = len(each.outline.datasets) - len(absent)
        also = ["--small"] if each.variant != recipes.SMALL else []
        also += ["--large"] if f"{each.name}_{LARGE}" in configs else []
        rows.append(
            (
                each.name,
                str(recipes.printed_cells(each) or "none"),
                f"{at_hand} of {len(each.outline.datasets)} available",
                "" if each.lacks() else " ".join(also),
            )
        )
    for table, by_these in recipes.filled_by_others().items():
        large = " --large" if any(f"{each.name}_{LARGE}" in configs for each in by_these) else ""
        by = f"by {', '.join(each.path.stem for each in by_these)}"
        rows.append((table, str(len(published.load(table))), by, f"--small{large}"))
    rows += [
        (name, "facts", "counted on the data", "") for name in published.data_set_names() if recipes.data_table(name)
    ]
    shown: list[tuple[str, ...]] = [("name", "printed cells", "data sets", "options")]
    for _, of_paper in itertools.groupby(sorted(rows), key=lambda row: row[0].partition("/")[0]):
        shown += [("",) * 4, *of_paper]
    print_columns(shown)
    for why, names in lacking.items():
        print_notice(f"cannot be run here: {', '.join(names)}: {why}")
    needed = recipes.missing([each.outline for each in known])
    if needed:
        print_notice(f"not available: {', '.join(needed)}; {how_to_get(needed)}")


def reproduction_status(
    folder: Annotated[Path | None, argument("DIR", "A record; default: the one that comes with mlcdr.")] = None,
    check: Annotated[
        bool, switch("Exit code 1 if methods have other code, or configs changed, since.", "--check")
    ] = False,
    to: Annotated[Path | None, option("FILE", "Write the page to this file instead of printing it.")] = None,
    trust: Trust = False,
) -> None:
    """Show how well the record matches the papers.

    The page is Markdown.
    """
    from mlcdr.reproduce import record, reproduction
    from mlcdr.whole_files import write_atomically

    if folder is not None and not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder; `mlcdr record` makes one")
    if check and to is not None:
        raise typer.BadParameter("cannot be combined with --check", param_hint="--to")
    entries = record.read(folder)
    if not entries:
        raise ResultsError(f"{folder or 'the record'}: holds no record, which has a PAPER/CONFIG/manifest.json")
    if check:
        with _importing_methods(folder, trust):
            found = [(each.name, reason) for each in entries for reason in record.outdated(each)]
        for name, reason in found:
            print(escape_control_characters(f"{name}: {reason}"))
        print_notice(f"{len({name for name, _ in found})} of {len(entries)} folders of the record are out of date")
        raise typer.Exit(1 if found else 0)
    page = reproduction.status(entries).markdown()
    if to is None:
        print(page, end="")
    else:
        write_atomically(to, page)
        print_notice(f"written: {to}")


def _importing_methods(folder: Path | None = None, trust: bool = False) -> AbstractContextManager[None]:
    """A context that imports methods of one's own as `run` does: from the current folder too, and each printed.

    Of the record in `folder`, which may be a stranger's, they are imported only with `trust`, from the current folder;
    modules below `folder` are not its own, since a record has no code.
    """
    from mlcdr.config.imports import Imports
    from mlcdr.methods.registry import judging_imports

    if folder is None or trust:
        import_from_here()
    own = Path.cwd() if folder is None else None
    return judging_imports(Imports(own, trust or folder is None, announce=print_notice))


def make_record(
    folders: Annotated[
        list[Path] | None, argument("RESULTS", "Store these results folders; default: run and store all tables.")
    ] = None,
    small: Annotated[bool, switch("A small variant of each table, in minutes.", "--small")] = False,
    everything: Annotated[bool, switch("Also other readings of the tables, and what takes hours.", "--all")] = False,
    outdated: Annotated[bool, switch("Only what the record lacks, or has of other code.", "--outdated")] = False,
    plan: Annotated[bool, switch("Show what would run and how long it took, and stop.", "--plan")] = False,
    dirty: Annotated[bool, switch("Store results of code that differs from its commit.", "--dirty")] = False,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    to: Annotated[Path | None, option("DIR", "Write the record here; default: results/record of the checkout.")] = None,
) -> None:
    """Run all published tables and store their results.

    They are run from one commit, and become the record. The command continues where it ended.
    """
    from mlcdr.reproduce import making, record

    if small and everything:
        raise typer.BadParameter("cannot be combined with --small", param_hint="--all")
    of_tables = {"--small": small, "--all": everything, "--outdated": outdated, "--plan": plan, "--jobs": jobs}
    of_tables |= {"--out": out != Path("results")}
    if folders and (given := [name for name, value in of_tables.items() if value]):
        raise typer.BadParameter("cannot be combined with results folders", param_hint=", ".join(given))
    planned = [] if folders else making.plan(small, out, everything)
    if outdated:
        current = {each.name for each in record.read(to) if not record.outdated(each)}
        planned = [each for each in planned if each.name not in current]
    if plan:
        _print_plan(planned)
        if not (small or everything or outdated):
            others = {each.name for each in making.plan(False, out, True)} - {each.name for each in planned}
            if others:
                print_notice(f"with --all also {', '.join(sorted(others))}")
        return
    commit = record.commit_of_checkout(dirty)
    with _importing_methods():
        for folder in folders or ():
            print(record.store(folder, commit, to))
    if folders:
        return
    _print_plan(planned)
    failed = []

    def store(each: making.Planned, error: str) -> None:
        try:
            stored = "" if error else str(record.store(out / each.experiment, commit, to))
        except UserError as problem:
            error = str(problem)
        print_notice(f"{each.name}: {error or stored}")
        failed.extend([each.name] if error else [])

    making.run([each for each in planned if each.possible], out, jobs, store)
    for table in [] if small else making.facts_tables():
        print_notice(f"{table}: {record.store_facts(table, commit, to)}")
    if failed:
        print(f"error: not stored: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(1)


def _print_plan(planned: list[Planned]) -> None:
    """Print a row for each run: the CPU time it took, and what is left out and why."""
    from mlcdr.results.record import duration

    possible = [each.seconds for each in planned if each.possible]
    known = [seconds for seconds in possible if seconds == seconds]
    rows: list[tuple[str, ...]] = [("run", "CPU time", "left out")]
    for each in planned:
        about = "about " if each.estimated else ""
        time = f"{about}{duration(each.seconds)}" if each.seconds == each.seconds else "?"
        rows.append((each.name, time, "; ".join(each.lacks)))
    print_columns(rows)
    cannot = len(planned) - len(possible)
    print_notice(
        f"{len(possible)} runs, {duration(sum(known))} of CPU time, of earlier runs or estimated from small ones"
        f"{f'; {len(possible) - len(known)} are not known (?)' if len(known) < len(possible) else ''}"
        f"{f'; {cannot} more cannot run here' if cannot else ''}"
    )
