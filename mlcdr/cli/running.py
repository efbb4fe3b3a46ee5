"""Commands that compute: `run` and `retry`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mlcdr.cli.arguments import Configs, Folder, Jobs, Labels, Out, Quiet, Set, TrustCommands, option, switch
from mlcdr.cli.printing import (
    describe_pending,
    join_file_names,
    print_against,
    print_causes,
    print_place,
    print_tables,
)
from mlcdr.errors import ResultsError, UserError, plural
from mlcdr.standard_streams import print_notice
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from mlcdr.execution.runner import RunReport
    from mlcdr.experiment.model import Experiment


Methods = Annotated[
    list[str] | None,
    option(
        "COMPONENT",
        "Only this method: one of the config's by its name, a component, or your own, such as my_methods.Mine, with "
        "the config's defaults. Repeatable.",
        "--method",
        "-m",
    ),
]


def run(
    configs: Configs,
    jobs: Jobs = 0,
    out: Out = Path("results"),
    set_: Set = None,
    methods: Methods = None,
    data: Annotated[
        list[str] | None, option("DATASET", "Run on this data set, or file, instead of the config's. Repeatable.")
    ] = None,
    labels: Labels = None,
    fresh: Annotated[bool, switch("Discard earlier results and compute all trials.", "--fresh")] = False,
    quiet: Quiet = False,
    backend: Annotated[
        Literal["loky", "dask"], option("loky|dask", "Processes of this machine, or a cluster.")
    ] = "loky",
    scheduler: Annotated[
        str | None, option("ADDRESS", "With --backend dask: tcp://host:port, or the path of a scheduler file.")
    ] = None,
    trust: TrustCommands = False,
    part: Annotated[
        str | None, option("I/N", "Compute part I of N, e.g. 3/10; other jobs compute the others in the same folder.")
    ] = None,
) -> None:
    """Run experiments; finished trials are not repeated.

    Finished are those that have scores in the results folder.

    A trial that fails is recorded with its traceback, and the others are computed; the exit code is then 1. To
    find a method that cannot work before you run it, use `mlcdr check --try`.
    """
    from mlcdr.results.part import RunPart

    of_run = None if part is None else RunPart.parse(part)
    changes = [*_replace_data(data, labels), *(set_ or ())]
    # before the runner is imported: that takes longer than to find a mistake
    runs = [(config, [*_choose_methods(config, methods), *changes]) for config in configs]
    experiments = load_to_run(runs, quiet, trust)
    from mlcdr.api.running import compute

    worst = 0
    for experiment in experiments:
        options: dict[str, Any] = {"backend": backend, "scheduler": scheduler, "trust": trust, "part": of_run}
        report = compute(experiment, out, jobs, quiet, fresh=fresh, **options)
        worst = max(worst, conclude(report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


def _replace_data(names: Sequence[str] | None, labels: Sequence[str] | None) -> list[str]:
    """The change `datasets=…` of a config for which `--data` and `--labels` stand; none without them.

    Raises
    ------
    UserError
        When a name is unknown, a table has missing values, or there are tables without labels or labels without one.
    """
    if not names:
        if labels:
            raise UserError("--labels: says what the labels of a file are; name the file by --data")
        return []
    from mlcdr.data.files import is_path
    from mlcdr.experiment import new_config
    from mlcdr.experiment.entries import beside
    from mlcdr.experiment.yaml_reader import dump_line

    # a file is looked for in the current folder, not in the config's
    found = [beside(name, Path.cwd()) if is_path(name) else name for name in names]
    entries = new_config.read_data_sets(found, new_config.read_labels(labels))
    gaps = [entry.name for entry in entries if entry.has_gaps]
    for entry in entries:
        if entry.has_gaps:
            entry.written[entry.name]["missing"] = "mean"
    change = f"datasets={dump_line([entry.written for entry in entries])}"
    if gaps:
        mean = f"`missing: keep` leaves them to it, and means of all rows fill them by --set {shlex.quote(change)}"
        raise UserError(f"{', '.join(gaps)}: {new_config.GAPS}; {mean}")
    return [change]


def retry(
    folder: Folder,
    failed: Annotated[bool, switch("", "--failed", hidden=True)] = True,
    jobs: Jobs = 0,
    quiet: Quiet = False,
    trust: TrustCommands = False,
) -> None:
    """Compute failed trials again.

    `run` also computes the pending ones.
    """
    config = folder / "experiment.yaml"
    if not is_regular_file(config):
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` creates one")
    (experiment,) = load_to_run([(config, ())], quiet, trust)
    if experiment.name != folder.resolve().name:
        raise ResultsError(f"{config}: name: is {experiment.name!r}; rename the folder to this name")
    from mlcdr.api.running import compute

    # prefer the relative path that was given, such as `results/long`, to the absolute one
    out = folder.parent if folder.name == experiment.name else folder.resolve().parent
    report = compute(experiment, out, jobs, quiet, failed_only=failed, trust=trust)
    code = 0
    if report.computed or report.interrupted:
        code = conclude(report, quiet)
    elif not quiet:
        print_notice(f"{folder}: no failed trials")
    pending = report.planned - report.done - len(report.failures)
    if pending and not quiet:
        print_notice(describe_pending(pending, folder))
    raise typer.Exit(code)


# -------------------------------------------------------------------- before and after a run


def _choose_methods(config: Path, methods: Sequence[str] | None) -> list[str]:
    """The changes that leave some methods of a config, or put one's own in their place; none without `--method`."""
    if not methods:
        return []
    from mlcdr.api.loading import import_from_here
    from mlcdr.experiment.method_choice import choose_methods

    import_from_here()
    return choose_methods(config, methods)


def load_to_run(
    runs: Iterable[tuple[Path, Sequence[str]]], quiet: bool = False, trust: bool = False
) -> list[Experiment]:
    """The experiments of some files with changes, to be run; their modules are trusted, and printed before the import.

    `trust`: whether they may have commands.

    Raises
    ------
    UserError
        When one is wrong or has a command and is not trusted, or two would write into the same results folder.
    """
    from mlcdr.api.loading import load_experiment
    from mlcdr.experiment.commands import refuse_commands

    announce = None if quiet else print_notice
    first: dict[str, Path] = {}
    found = []
    for config, changes in runs:
        experiment = load_experiment(config, changes, announce=announce)
        if not trust:
            refuse_commands(experiment)
        name = experiment.name
        if name in first:
            same = f"{name!r} is the name of {first[name]} too; they would share a results folder"
            raise UserError(f"{config}: name: {same}")
        first[name] = config
        found.append(experiment)
    return found


def conclude(report: RunReport, quiet: bool) -> int:
    """Write the tables and figures of a run, print its tables and failures; returns the exit code."""
    from mlcdr.execution import warned

    if report.stamp is not None and report.done:
        _conclude_results(report, quiet)
    elif report.part is not None and not quiet:
        _conclude_part(report)
    if not quiet:
        for line in warned.describe(report.warned):
            print_notice(line)
    if report.failures:
        _print_failures(report)
    if report.interrupted:
        so_far = "no trial has been computed"
        if report.planned:
            so_far = f"{report.done} of {report.planned} trials are finished and saved"
        print_notice(f"interrupted: {so_far}; run the same command again to continue")
        return 130
    return 1 if report.failures else 0


def _conclude_part(report: RunReport) -> None:
    """Print what a part of a run has computed, and what is left to others."""
    computed = f"{report.computed} newly computed, in {report.seconds:.1f} s"
    print_notice(f"part {report.part}: {plural(report.planned, 'trial')}, {computed}")
    if report.replaced:
        print_notice(
            f"{report.folder}: another part has another plan now (config, data or code); no tables of this one"
        )
    elif report.left:
        others = f"{plural(report.left, 'trial')} of other parts have no result yet"
        print_notice(f"{others}; the last part writes the tables, and `mlcdr status {report.folder}` shows the parts")


def _conclude_results(report: RunReport, quiet: bool) -> None:
    """Write the tables and figures, print the tables and what was computed."""
    from mlcdr.api.running import write_outputs
    from mlcdr.results.results import open_results
    from mlcdr.tables.tables import list_entries

    try:
        found, written, problem = write_outputs(report)
    except ResultsError:
        if not quiet:  # they may not be writable, but can be shown
            with contextlib.suppress(ResultsError):
                print_tables(open_results(report.folder))
        raise
    if problem:
        print_notice(f"no table: {problem}")  # the failures, which are printed next, show why
    if quiet:
        return
    if not problem:
        print_tables(found)
        print_against(found)
        print_place(found)
    new = "all" if report.computed == report.planned else report.computed or "none"
    print_notice(f"{plural(report.planned, 'trial')}, {new} newly computed, in {report.seconds:.1f} s")
    names = ["scores.csv, summary.csv"]
    if written:
        names.append(join_file_names(written, report.folder))
    print_notice(f"results in {report.folder}: {', '.join(names)}")
    if found.swept and len(found.metrics) > len(list_entries(found)):  # one metric a table
        print_notice(f"other metrics: `mlcdr table {report.folder} --metric NAME`")


def _print_failures(report: RunReport) -> None:
    """Print the causes of failures, and how many trials failed."""
    from mlcdr.results.failures import gather_causes
    from mlcdr.results.record import Failed

    failed = []
    for trial, error in report.failures:
        failed.append(Failed(trial.dataset, trial.method, trial.point, trial.split, error))
    print_causes(gather_causes(failed), sys.stderr)
    crashed = f" ({report.crashed} of them crashed)" if report.crashed else ""
    print_notice(
        f"error: {len(failed)} of {report.planned} trials failed{crashed}; "
        f"`mlcdr report {report.folder}` shows their tracebacks"
    )
