"""The end of a run: its tables and figures are written, and what came out and what failed is printed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.cli.printing import failure_line, listed, print_tables, say
from mlcdr.errors import ResultsError

if TYPE_CHECKING:
    from mlcdr.experiment.model import Experiment
    from mlcdr.experiment.trials import Trial
    from mlcdr.run.runner import RunReport


def conclude(experiment: Experiment, report: RunReport, quiet: bool) -> int:
    """Write tables and figures, print the tables and what went wrong; gives the exit code."""
    from mlcdr.results.failures import describe_error
    from mlcdr.results.results import open_results
    from mlcdr.tables import tables

    if report.done:
        found = open_results(report.folder)
        written: list[Path] = []
        try:
            written += tables.write_all(found)
            if not quiet:
                print_tables(found)
        except ResultsError as told:  # of what is not there a table cannot be made; the failures say why it is not
            if not report.failures:
                raise
            print(f"no table: {told}", file=sys.stderr)
        if experiment.figures and not report.interrupted and not report.failures:
            from mlcdr.tables import figures

            written += figures.write_all(found)
        if not quiet:
            new = "all" if report.computed == report.planned else report.computed or "none"
            say(f"{report.planned} trials, {new} newly computed, in {report.seconds:.1f} s")
            names = ", ".join(filter(None, ("scores.csv, summary.csv", listed(written, report.folder))))
            say(f"results in {report.folder}: {names}")
    kinds: dict[tuple[str, str, str], list[Trial]] = {}
    for trial, error in report.failures:
        kinds.setdefault((trial.dataset, trial.method, describe_error(error)), []).append(trial)
    for (dataset, method, reason), trials in list(kinds.items())[:10]:
        point = ", ".join(f"{path} {value}" for path, value in trials[0].point)
        first = f"{dataset}, {method}{f' ({point})' if point else ''}, split {trials[0].split}"
        more = f" (and {len(trials) - 1} more trials of {method})" if len(trials) > 1 else ""
        print(failure_line(f"{first}: {reason}{more}", reason), file=sys.stderr)
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
            f"{report.done} of {report.planned} trials are done and kept"
            if report.planned
            else "nothing was computed yet"
        )
        print(f"interrupted: {so_far}; the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if report.failures else 0
