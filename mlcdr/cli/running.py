"""Commands that compute: `run` and `retry`; and how far they are: `status`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlcdr.cli.arguments import Configs, Folder, Jobs, Out, Quiet, Set
from mlcdr.cli.concluding import conclude
from mlcdr.cli.loading import all_different, load_to_run
from mlcdr.cli.printing import failure_line, print_columns, say
from mlcdr.errors import ResultsError, UserError, escape_control_characters
from mlcdr.whole_files import is_regular_file


def run(
    configs: Configs,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    set_: Set = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results and start over.")] = False,
    quiet: Quiet = False,
    backend: Annotated[str, typer.Option(help="loky (processes), or dask (a cluster).")] = "loky",
    scheduler: Annotated[
        str | None, typer.Option(help="Of --backend dask: tcp://host:port, or the path of a scheduler file.")
    ] = None,
) -> None:
    """Run experiments; what is already in the results folder is not computed again."""
    # before the runner is imported, which takes longer than to find a mistake
    experiments = [load_to_run(config, set_, quiet) for config in configs]
    all_different(configs, [experiment.name for experiment in experiments])
    from mlcdr.cli.progress import make_listener
    from mlcdr.run.runner import run as run_experiment

    worst = 0
    for experiment in experiments:
        with make_listener(quiet) as listener:
            report = run_experiment(experiment, out, jobs, backend, fresh, listener, scheduler=scheduler)
        worst = max(worst, conclude(experiment, report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


def retry(
    folder: Folder,
    failed: Annotated[bool, typer.Option("--failed", help="Compute the failed trials again, and no others.")] = False,
    jobs: Jobs = 0,
    quiet: Quiet = False,
) -> None:
    """Compute the failed trials of a results folder again; `run` would compute what is pending as well."""
    from mlcdr.cli.progress import make_listener
    from mlcdr.run.runner import run as run_experiment

    config = folder / "experiment.yaml"
    if not is_regular_file(config):
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    if not failed:
        raise UserError(f"say `--failed` to compute what failed; `mlcdr run {config}` computes what is pending, too")
    experiment = load_to_run(config, None, quiet)
    if experiment.name != folder.resolve().name:
        raise ResultsError(f"{config}: name: is {experiment.name!r}; give the folder that name, which a run writes to")
    with make_listener(quiet) as listener:
        # as it was given, where that says the name: `results/long` rather than the whole path
        out = folder.parent if folder.name == experiment.name else folder.resolve().parent
        report = run_experiment(experiment, out, jobs, listener=listener, failed_only=True)
    if not report.computed and not report.interrupted:
        say(f"{folder}: no trial failed")
        code = 0
    else:
        code = conclude(experiment, report, quiet)
    pending = report.planned - report.done - len(report.failures)
    if pending and not quiet:
        are, them = ("trial is", "it") if pending == 1 else ("trials are", "them")
        say(f"{pending} {are} pending still; `mlcdr run {config}` computes {them}")
    raise typer.Exit(code)


def status(folder: Folder) -> None:
    """How far a run is, or how it ended; may be asked while it is going on."""
    from mlcdr.results.failures import describe_error
    from mlcdr.results.record import duration, progress

    found = progress(folder)
    last = found.run
    told = {
        "starting": f"is just starting, since {last.started}; it has no plan yet",
        "running": f"running since {last.started}, workers: {last.jobs}",
        "finished": f"ended at {last.ended}, {found.total('pending')} trials pending"  # it was to compute others only
        if found.total("pending")
        else f"finished at {last.ended}",
        "interrupted": f"interrupted at {last.ended}; the same command goes on from there",
        "crashed": f"ended by an error at {last.ended}: {last.error}"
        if last.error
        else f"crashed: begun at {last.started}, its process is gone; the same command goes on from there",
        "unknown": f"begun at {last.started} on {last.host}, and not ended; only there one can see whether it runs",
    }
    print(escape_control_characters(f"{folder}: {told[last.state]}"))
    if last.state == "starting":
        return
    rows: list[tuple[str, ...]] = [("data set", "method", "planned", "done", "failed", "pending")]
    counted = [(e.dataset, e.method, e.planned, e.done, e.failed, e.pending) for e in found.counts]
    totals = (found.total("planned"), found.total("done"), found.total("failed"), found.total("pending"))
    rows += [tuple(map(str, row)) for row in [*counted, ("all", "", *totals)]]
    if found.total("crashed"):  # of those that failed
        crashed = ["crashed", *(str(each.crashed) for each in found.counts), str(found.total("crashed"))]
        rows = [(*row[:5], number, row[5]) for row, number in zip(rows, crashed, strict=True)]
    print_columns(rows)
    if found.total("pending"):
        timed = f"about {duration(found.seconds_left)}" if len(found.costs) else "an unknown time"
        untimed = f", without {', '.join(found.untimed)}, of which nothing is timed yet" if found.untimed else ""
        verb = "left" if last.state == "running" else "needed"
        print(f"{timed} {verb} with {last.jobs} worker{'s' * (last.jobs != 1)}{untimed}")
    for (dataset, method, error), number in list(found.errors.items())[:10]:
        reason = describe_error(error)
        print(failure_line(f"{dataset}, {method}: {reason} ({number} trial{'s' * (number != 1)})", reason))
