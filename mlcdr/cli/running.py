"""Commands that compute, `run` and `retry`, and the command `status` on their progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from mlcdr.cli.arguments import Configs, Folder, Jobs, Out, Quiet, Set, option, switch
from mlcdr.cli.printing import format_failure, join_file_names, print_columns, print_notice, print_tables
from mlcdr.errors import ResultsError, UserError, escape_control_characters
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from mlcdr.execution.runner import RunReport
    from mlcdr.experiment.model import Experiment
    from mlcdr.results.failures import Cause
    from mlcdr.results.record import Count, Failed


_CAUSES, _ROWS = 10, 12  # the most causes of failures, and the most rows of counts, that are shown


def run(
    configs: Configs,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    set_: Set = None,
    fresh: Annotated[bool, switch("Discard earlier results and compute all trials.", "--fresh")] = False,
    quiet: Quiet = False,
    backend: Annotated[
        Literal["loky", "dask"], option("loky|dask", "Processes of this machine, or a cluster.")
    ] = "loky",
    scheduler: Annotated[
        str | None, option("ADDRESS", "With --backend dask: tcp://host:port, or the path of a scheduler file.")
    ] = None,
) -> None:
    """Run experiments; trials that are finished in the results folder are not computed again.

    A trial that fails is recorded with its traceback, and the others are computed; the exit code is then 1. `mlcdr
    check --try` finds a method that cannot work before anything is run.
    """
    # before the runner is imported: that takes longer than to find a mistake
    experiments = [load_to_run(config, set_, quiet) for config in configs]
    all_different(configs, [experiment.name for experiment in experiments])
    from mlcdr.api.running import compute

    worst = 0
    for experiment in experiments:
        report = compute(experiment, out, jobs, quiet, fresh=fresh, backend=backend, scheduler=scheduler)
        worst = max(worst, conclude(experiment, report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


def load_to_run(config: Path, overrides: list[str] | None, quiet: bool = False) -> Experiment:
    """The experiment of a file, to be run; modules from anywhere are trusted, and printed before they are imported."""
    from mlcdr.api.loading import load_experiment

    return load_experiment(config, overrides or (), announce=None if quiet else print_notice)


def all_different(configs: list[Path], names: list[str]) -> None:
    """Raise a UserError where two experiments would write into the same results folder."""
    for i, name in enumerate(names):
        if name in names[:i]:
            first = configs[names.index(name)]
            raise UserError(
                f"{configs[i]}: name: {name!r} is the name of {first} too; they would share a results folder"
            )


def size(experiment: Experiment) -> str:
    """`1 data set × 4 methods (20 points) × 100 splits`, or `× 1 split of each fold of the file`."""
    from mlcdr.experiment.splits import number_of_splits

    points = sum(map(experiment.n_points, experiment.methods))
    splits = number_of_splits(experiment.splits)
    several = "" if experiment.splits.kind != "file" else " of each fold of the file"
    counts = [(len(experiment.datasets), "data set"), (len(experiment.methods), "method"), (splits, "split")]
    sets, methods_, splits_ = (f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
    return f"{sets} × {methods_} ({points} {'point' if points == 1 else 'points'}) × {splits_}{several}"


def retry(
    folder: Folder,
    failed: Annotated[bool, switch("", "--failed", hidden=True)] = True,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Compute the failed trials of a results folder again; `run` also computes the pending ones."""
    from mlcdr.api.running import compute

    config = folder / "experiment.yaml"
    if not is_regular_file(config):
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` creates one")
    experiment = load_to_run(config, None, quiet)
    if experiment.name != folder.resolve().name:
        raise ResultsError(f"{config}: name: is {experiment.name!r}; rename the folder to this name")
    # prefer the relative path that was given, such as `results/long`, to the absolute one
    out = folder.parent if folder.name == experiment.name else folder.resolve().parent
    report = compute(experiment, out, jobs, quiet, failed_only=failed)
    if not report.computed and not report.interrupted:
        print_notice(f"{folder}: no failed trials")
        code = 0
    else:
        code = conclude(experiment, report, quiet)
    pending = report.planned - report.done - len(report.failures)
    if pending and not quiet:
        are, them = ("trial is", "it") if pending == 1 else ("trials are", "them")
        print_notice(f"{pending} {are} still pending; `mlcdr run {config}` computes {them}")
    raise typer.Exit(code)


def conclude(experiment: Experiment, report: RunReport, quiet: bool) -> int:
    """Write the tables and figures of a run, print its tables and failures; returns the exit code."""
    from mlcdr.api.running import write_outputs
    from mlcdr.execution import warned
    from mlcdr.results.failures import gather_causes
    from mlcdr.results.record import Failed
    from mlcdr.results.results import import_results, open_results
    from mlcdr.tables.tables import list_entries

    if report.done:
        # the exports have the same numbers as the record, and are read faster
        found = (import_results if report.unchanged else open_results)(report.folder)
        written, problem = write_outputs(found, report)
        if problem:  # the failures below show why
            print(f"no table: {problem}", file=sys.stderr)
        elif not quiet:
            print_tables(found)
        if not quiet:
            new = "all" if report.computed == report.planned else report.computed or "none"
            print_notice(f"{report.planned} trials, {new} newly computed, in {report.seconds:.1f} s")
            names = ", ".join(filter(None, ("scores.csv, summary.csv", join_file_names(written, report.folder))))
            print_notice(f"results in {report.folder}: {names}")
            if found.swept and len(found.metrics) > len(list_entries(found)):  # one metric a table
                print_notice(f"other metrics: `mlcdr table {report.folder} --metric NAME`")
    if not quiet:
        for line in warned.describe(report.warned):
            print_notice(line)
    failed = [Failed(t.dataset, t.method, t.point, t.split, error) for t, error in report.failures]
    causes = gather_causes(failed)
    _print_causes(causes, sys.stderr)
    if report.failures:
        ended = f" ({report.crashed} of them crashed)" if report.crashed else ""
        print(
            f"error: {len(report.failures)} of {report.planned} trials failed{ended}; "
            f"`mlcdr report {report.folder}` shows their tracebacks",
            file=sys.stderr,
        )
    if report.interrupted:
        so_far = (
            f"{report.done} of {report.planned} trials are finished and saved"
            if report.planned
            else "no trial has been computed"
        )
        print(f"interrupted: {so_far}; run the same command again to continue", file=sys.stderr)
        return 130
    return 1 if report.failures else 0


def _print_causes(causes: Sequence[Cause], file: TextIO) -> None:
    """Print a line for each of the first causes of failures."""
    for cause in causes[:_CAUSES]:
        print(format_failure(cause.describe(), cause.reason), file=file)
    if len(causes) > _CAUSES:
        print(f"{len(causes) - _CAUSES} more causes of failure; `mlcdr status --details` shows them", file=file)


def status(
    folder: Folder,
    details: Annotated[
        bool, switch("Show every method, and each cause of failures with its places and a traceback.", "--details")
    ] = False,
) -> None:
    """Show the progress of a run, or how it ended; works during the run. Of a folder of results folders: a line each.

    In a long table, what is finished, pending or failed throughout is counted together.
    """
    from mlcdr.results.failures import gather_causes
    from mlcdr.results.record import duration, progress

    if not (folder / "trials.sqlite").exists() and (inner := sorted(folder.glob("*/trials.sqlite"))):
        _print_each(each.parent for each in inner)
        return
    found = progress(folder)
    last, pending = found.run, found.total("pending")
    states = {
        "starting": f"starting since {last.started}; not planned yet",
        "running": f"running since {last.started}, workers: {last.jobs}",
        # `retry` ends with pending trials
        "finished": f"ended at {last.ended}, {pending} trial{'s' * (pending != 1)} pending; "
        f"`mlcdr run {folder / 'experiment.yaml'}` continues"
        if pending
        else f"finished at {last.ended}",
        "interrupted": f"interrupted at {last.ended}; run the same command again to continue",
        "crashed": f"ended by an error at {last.ended}: {last.error}"
        if last.error
        else f"crashed: started at {last.started}, its process has ended; run the same command again to continue",
        "unknown": f"started at {last.started} on {last.host}, not ended; `mlcdr status` on that host shows more",
    }
    print(escape_control_characters(f"{folder}: {states[last.state]}"))
    if last.state == "starting":
        return
    rows: list[tuple[str, ...]] = [("data set", "method", "planned", "done", "failed", "pending")]
    counts = found.counts if details or len(found.counts) <= _ROWS else _count_together(found.counts)
    counted = [(e.dataset, e.method, e.planned, e.done, e.failed, e.pending) for e in counts]
    totals = (found.total("planned"), found.total("done"), found.total("failed"), found.total("pending"))
    rows += [tuple(map(str, row)) for row in [*counted, ("all", "", *totals)]]
    if found.total("crashed"):  # a column next to `failed`
        crashed = ["crashed", *(str(each.crashed) for each in counts), str(found.total("crashed"))]
        rows = [(*row[:5], number, row[5]) for row, number in zip(rows, crashed, strict=True)]
    print_columns(rows)
    if pending:
        verb = "left" if last.state == "running" else "needed"
        untimed = f"no trial of {', '.join(found.untimed)} has finished"
        if found.costs:
            timed = f"about {duration(found.seconds_left)} {verb} with {last.jobs} worker{'s' * (last.jobs != 1)}"
            print(timed + (f", and an unknown time: {untimed}" if found.untimed else ""))
        else:
            print(f"time {verb}: not known yet ({untimed})")
    causes = gather_causes(found.failures)
    if details:
        _print_details(causes)
    else:
        _print_causes(causes, sys.stdout)


def _print_each(folders: Iterable[Path]) -> None:
    """Print a line for each results folder: its state and counts."""
    from mlcdr.results.record import progress

    rows: list[tuple[str, ...]] = [("results", "state", "planned", "done", "failed", "pending")]
    for folder in folders:
        try:
            found = progress(folder)
        except ResultsError as error:
            rows.append((str(folder), str(error).partition(": ")[2], *["–"] * 4))
        else:
            totals = (str(found.total(what)) for what in ("planned", "done", "failed", "pending"))
            # `retry` ends with pending trials
            ended = found.run.state == "finished" and found.total("pending")
            rows.append((str(folder), "incomplete" if ended else found.run.state, *totals))
    print_columns(rows)


def _count_together(counts: Sequence[Count]) -> list[Count]:
    """A row for all that is done, one for all that is pending, and one for each method that failed throughout."""
    from mlcdr.results.record import Count

    groups: dict[tuple[str, ...], list[Count]] = {}
    for each in counts:
        key: tuple[str, ...] = (each.dataset, each.method)  # of a row of its own
        if each.planned in (each.done, each.pending):
            key = ("done" if each.done else "pending",)
        elif each.planned == each.failed:
            key = ("failed", "", each.method)
        groups.setdefault(key, []).append(each)
    rows = []
    for same in groups.values():
        names = [list(dict.fromkeys(names)) for names in zip(*((e.dataset, e.method) for e in same), strict=True)]
        shown = [
            known[0] if len(known) == 1 else f"{len(known)} {what}s"
            for known, what in zip(names, ("data set", "method"), strict=True)
        ]
        sums = [sum(getattr(e, key) for e in same) for key in ("planned", "done", "failed", "crashed")]
        rows.append(Count(shown[0], shown[1], *sums))
    return rows


def _print_details(causes: Sequence[Cause]) -> None:
    """Print each cause with its places and the traceback of its first trial."""
    from mlcdr.results.failures import list_places

    for cause in causes:
        print()
        print(format_failure(cause.describe(), cause.reason))
        of: dict[tuple[str, str], list[Failed]] = {}
        for failure in cause.failures:
            of.setdefault((failure.dataset, failure.method), []).append(failure)
        for (dataset, method), failures in of.items():
            for point, splits in list_places(failures):
                where = f"{dataset}, {method}{f', {point}' if point else ''}, splits {splits}"
                print(escape_control_characters(f"  {where}"))
        for line in cause.failures[0].error.splitlines():
            print(escape_control_characters(f"    {line}"))
