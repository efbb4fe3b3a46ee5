"""Runs all published tables from one commit, and stores their results as the record: `make record`.

`python -m tools.record [--small | --all] [--outdated] [--plan] [--jobs N] [--out DIR] [--to DIR]` continues where it
ended. `python -m tools.record RESULTS…` stores results folders of single runs.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from mlcdr.cli.printing import print_columns
from mlcdr.errors import UserError
from mlcdr.papers.stored import read_record
from mlcdr.results.record import duration
from mlcdr.standard_streams import print_notice
from tools.entries import outdated
from tools.plan import PlannedRun, facts_tables, plan_record
from tools.run import Runner
from tools.shell import importing_own_methods, run_script
from tools.store import commit_of_checkout, store_facts, store_run


def main() -> int:
    """Run and store what the options say."""
    given = _read_options()
    planned = [] if given.folders else plan_record(given.small, given.out, given.all)
    if given.outdated:
        with importing_own_methods():
            current = {run.name for run in read_record(given.to) if not outdated(run)}
        planned = [run for run in planned if run.name not in current]
    if given.plan:
        _print_plan(planned)
        return 0
    commit = commit_of_checkout(given.dirty)
    with importing_own_methods():
        if given.folders:
            for folder in given.folders:
                print(store_run(folder, commit, given.to))
            return 0
        _print_plan(planned)
        return _run_and_store(planned, given, commit)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.record", description="Run all published tables and store the results.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="RESULTS", help="store these results folders only")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--small", action="store_true", help="a small variant of each table, in minutes")
    which.add_argument(
        "--all", action="store_true", help="also other readings of the tables, figures, and what takes hours"
    )
    parser.add_argument("--outdated", action="store_true", help="only what the record lacks, or has of other code")
    parser.add_argument("--plan", action="store_true", help="show what would run and how long it took, and stop")
    parser.add_argument("--dirty", action="store_true", help="store results of code that differs from its commit")
    parser.add_argument("--jobs", type=int, default=0, help="number of workers; 0: one per core")
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results folders")
    parser.add_argument("--to", type=Path, help="write the record here; default: results/record of the checkout")
    given = parser.parse_args()
    if given.folders and (given.small or given.all or given.outdated or given.plan):
        parser.error("--small, --all, --outdated and --plan cannot be combined with results folders")
    return given


def _run_and_store(planned: list[PlannedRun], given: argparse.Namespace, commit: str) -> int:
    failed = []

    def store(run: PlannedRun, error: str) -> None:
        try:
            stored = "" if error else str(store_run(given.out / run.experiment, commit, given.to))
        except UserError as problem:
            error = str(problem)
        print_notice(f"{run.name}: {error or stored}")
        if error:
            failed.append(run.name)

    Runner(given.out, given.jobs, store).run_all([run for run in planned if run.possible])
    for table in [] if given.small else facts_tables():
        print_notice(f"{table}: {store_facts(table, commit, given.to)}")
    if failed:
        print_notice(f"error: not stored: {', '.join(failed)}")
    return 1 if failed else 0


def _print_plan(planned: list[PlannedRun]) -> None:
    """Print a row for each run: the CPU time it took, and what is left out and why."""
    rows = [("run", "CPU time", "left out")]
    rows += [(run.name, _describe_time(run), "; ".join(run.lacks)) for run in planned]
    print_columns(rows)
    possible = [run.seconds for run in planned if run.possible]
    known = [seconds for seconds in possible if not math.isnan(seconds)]
    counts = [f"{len(possible)} runs, {duration(sum(known))} of CPU time, of earlier runs or estimated from small ones"]
    if len(known) < len(possible):
        counts.append(f"{len(possible) - len(known)} are not known (?)")
    if len(possible) < len(planned):
        counts.append(f"{len(planned) - len(possible)} more cannot run here")
    print_notice("; ".join(counts))


def _describe_time(run: PlannedRun) -> str:
    if math.isnan(run.seconds):
        return "?"
    return f"about {duration(run.seconds)}" if run.estimated else duration(run.seconds)


if __name__ == "__main__":
    run_script(main)
