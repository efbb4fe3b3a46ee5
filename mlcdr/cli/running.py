"""Commands that compute, `run` and `retry`, and the command `status` on their progress."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcdr.cli.arguments import Configs, Folder, Jobs, Out, Quiet, Set
from mlcdr.cli.loading import all_different, load_to_run
from mlcdr.cli.printing import format_failure, join_file_names, print_columns, print_notice, print_tables
from mlcdr.errors import ResultsError, UserError, escape_control_characters
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from mlcdr.execution.runner import RunReport
    from mlcdr.experiment.model import Experiment
    from mlcdr.experiment.trials import Trial


def run(
    configs: Configs,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    set_: Set = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard earlier results and compute all trials.")] = False,
    quiet: Quiet = False,
    backend: Annotated[
        str, typer.Option(metavar="loky|dask", help="Processes of this machine, or a cluster.")
    ] = "loky",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="With --backend dask: tcp://host:port, or the path of a scheduler file."),
    ] = None,
) -> None:
    """Run experiments; trials that are finished in the results folder are not computed again."""
    # before the runner is imported, which takes longer than to find a mistake
    experiments = [load_to_run(config, set_, quiet) for config in configs]
    all_different(configs, [experiment.name for experiment in experiments])
    from mlcdr.api.running import compute

    worst = 0
    for experiment in experiments:
        report = compute(experiment, out, jobs, quiet, fresh, backend, scheduler)
        worst = max(worst, conclude(experiment, report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


def retry(
    folder: Folder,
    failed: Annotated[bool, typer.Option("--failed", help="Compute only the failed trials.")] = False,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Compute the failed trials of a results folder again; `run` also computes the pending ones."""
    from mlcdr.api.running import compute

    config = folder / "experiment.yaml"
    if not is_regular_file(config):
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` creates one")
    if not failed:
        raise UserError(
            f"give `--failed` to compute the failed trials; `mlcdr run {config}` also computes the pending ones"
        )
    experiment = load_to_run(config, None, quiet)
    if experiment.name != folder.resolve().name:
        raise ResultsError(f"{config}: name: is {experiment.name!r}; rename the folder to it")
    # prefer the relative path that was given, such as `results/long`, to the absolute one
    out = folder.parent if folder.name == experiment.name else folder.resolve().parent
    report = compute(experiment, out, jobs, quiet, failed_only=True)
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
    from mlcdr.results.failures import describe_error
    from mlcdr.results.results import open_results

    if report.done:
        found = open_results(report.folder)
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
    if not quiet:
        for line in warned.describe(report.warned):
            print_notice(line)
    kinds: dict[tuple[str, str, str], list[Trial]] = {}
    for trial, traceback in report.failures:
        kinds.setdefault((trial.dataset, trial.method, describe_error(traceback)), []).append(trial)
    for (dataset, method, reason), trials in list(kinds.items())[:10]:
        point = ", ".join(f"{path} {value}" for path, value in trials[0].point)
        first = f"{dataset}, {method}{f' ({point})' if point else ''}, split {trials[0].split}"
        more = f" (and {len(trials) - 1} more trials of {method})" if len(trials) > 1 else ""
        print(format_failure(f"{first}: {reason}{more}", reason), file=sys.stderr)
    if report.failures:
        ended = f" ({report.crashed} of them crashed)" if report.crashed else ""
        rest = f"; {len(kinds) - 10} more kinds of failure" if len(kinds) > 10 else ""
        print(
            f"error: {len(report.failures)} of {report.planned} trials failed{ended}{rest}; "
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


def status(folder: Folder) -> None:
    """Show the progress of a run, or how it ended; works during the run."""
    from mlcdr.results.failures import describe_error
    from mlcdr.results.record import duration, progress

    found = progress(folder)
    last = found.run
    states = {
        "starting": f"starting since {last.started}; not planned yet",
        "running": f"running since {last.started}, workers: {last.jobs}",
        # `retry` ends with pending trials
        "finished": f"ended at {last.ended}, {found.total('pending')} trials pending"
        if found.total("pending")
        else f"finished at {last.ended}",
        "interrupted": f"interrupted at {last.ended}; run the same command again to continue",
        "crashed": f"ended by an error at {last.ended}: {last.error}"
        if last.error
        else f"crashed: started at {last.started}, its process does not exist; run the same command again to continue",
        "unknown": f"started at {last.started} on {last.host}, not ended; `mlcdr status` on that host shows more",
    }
    print(escape_control_characters(f"{folder}: {states[last.state]}"))
    if last.state == "starting":
        return
    rows: list[tuple[str, ...]] = [("data set", "method", "planned", "done", "failed", "pending")]
    counted = [(e.dataset, e.method, e.planned, e.done, e.failed, e.pending) for e in found.counts]
    totals = (found.total("planned"), found.total("done"), found.total("failed"), found.total("pending"))
    rows += [tuple(map(str, row)) for row in [*counted, ("all", "", *totals)]]
    if found.total("crashed"):  # a column next to `failed`
        crashed = ["crashed", *(str(each.crashed) for each in found.counts), str(found.total("crashed"))]
        rows = [(*row[:5], number, row[5]) for row, number in zip(rows, crashed, strict=True)]
    print_columns(rows)
    if found.total("pending"):
        timed = f"about {duration(found.seconds_left)}" if len(found.costs) else "an unknown time"
        untimed = f", without {', '.join(found.untimed)}, not timed yet" if found.untimed else ""
        verb = "left" if last.state == "running" else "needed"
        print(f"{timed} {verb} with {last.jobs} worker{'s' * (last.jobs != 1)}{untimed}")
    for (dataset, method, error), number in list(found.errors.items())[:10]:
        reason = describe_error(error)
        print(format_failure(f"{dataset}, {method}: {reason} ({number} trial{'s' * (number != 1)})", reason))
