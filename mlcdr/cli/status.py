"""The command `status`: the progress of a run, or how it ended."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mlcdr.cli.arguments import Folder, switch
from mlcdr.cli.printing import describe_pending, format_cause, print_causes, print_columns
from mlcdr.errors import ResultsError, plural
from mlcdr.standard_streams import print_lines

if TYPE_CHECKING:
    from mlcdr.results.failures import Cause
    from mlcdr.results.record import Counts, Progress

_ROWS = 12  # the most rows of counts that are shown


def status(
    folder: Folder,
    details: Annotated[
        bool, switch("Show every method, and each cause of failures with its places and a traceback.", "--details")
    ] = False,
) -> None:
    """Show the progress of a run, or how it ended.

    It works during the run. Of a folder of results folders, it prints a line each.

    In a long table, what is finished, pending or failed throughout is counted together.
    """
    from mlcdr.results.failures import gather_causes
    from mlcdr.results.record import progress
    from mlcdr.results.record_file import list_records

    inner = [path for path in sorted(folder.glob("*")) if list_records(path)]
    if inner and not list_records(folder):
        _print_each(inner)
        return
    found = progress(folder)
    print_lines(f"{folder}: {_describe_state(folder, found)}")
    if not found.counts:  # no run has a plan yet
        return
    _print_counts(found, details)
    if found.total.pending:
        print(_describe_rest(found))
    causes = gather_causes(found.failures)
    if details:
        _print_details(causes)
    else:
        print_causes(causes, sys.stdout)


def _print_each(folders: Iterable[Path]) -> None:
    """Print a line for each results folder: its state and counts."""
    from mlcdr.results.record import progress

    rows: list[tuple[str, ...]] = [("results", "state", "planned", "done", "failed", "pending")]
    for folder in folders:
        try:
            found = progress(folder)
        except ResultsError as error:
            _, _, why = str(error).partition(": ")
            rows.append((str(folder), why, "–", "–", "–", "–"))
            continue
        total = found.total
        state: str = found.run.state
        if state == "finished" and total.pending:  # so `retry` ends
            state = "incomplete"
        numbers = (total.planned, total.done, total.failed, total.pending)
        rows.append((str(folder), state, *map(str, numbers)))
    print_columns(rows)


def _describe_state(folder: Path, found: Progress) -> str:
    """What the last run of a folder does, or how it ended."""
    last = found.run
    if found.parts:
        return _describe_parts(found)
    again = "run the same command again to continue"
    if last.state == "crashed" and last.error:
        return f"ended by an error at {last.ended}: {last.error}"
    pending = found.total.pending
    if last.state == "finished" and pending:  # so `retry` ends
        return f"ended at {last.ended}, {describe_pending(pending, folder)}"
    states = {
        "starting": f"starting since {last.started}; not planned yet",
        "running": f"running since {last.started}, workers: {last.jobs}",
        "interrupted": f"interrupted at {last.ended}; {again}",
        "crashed": f"crashed: started at {last.started}, its process has ended; {again}",
        "unknown": f"started at {last.started} on {last.host}, not ended; `mlcdr status` on that host shows more",
        "finished": f"finished at {last.ended}",
    }
    return states[last.state]


def _describe_parts(found: Progress) -> str:
    """`10 parts: 7 finished; 1 running (4); 2 not begun (9, 10)`."""
    from mlcdr.experiment.grouping import group_pairs

    states = group_pairs((run.state if run else "not begun", str(part.number)) for part, run in found.parts.items())
    listed = []
    for state, numbers in states.items():
        named = "" if state == "finished" else f" ({', '.join(numbers)})"
        listed.append(f"{len(numbers)} {state}{named}")
    return f"{plural(len(found.parts), 'part')}: {'; '.join(listed)}"


def _print_counts(found: Progress, details: bool) -> None:
    """Print how far each method is on each data set; crashed trials have a column where there are some."""
    from mlcdr.results.record import Counts

    counts = found.counts
    if len(counts) > _ROWS and not details:
        counts = _count_together(counts)
    total = found.total
    shown = [name for name in Counts._fields if name != "crashed" or total.crashed]
    rows = [[name.replace("dataset", "data set") for name in shown]]
    for each in (*counts, total._replace(dataset="all")):
        rows.append([str(getattr(each, name)) for name in shown])
    print_columns(rows)


def _count_together(counts: Sequence[Counts]) -> list[Counts]:
    """A row for all that is done, one for all that is pending, and one for each method that failed throughout."""
    from mlcdr.results.record import add_up

    groups: dict[tuple[str, ...], list[Counts]] = {}
    for each in counts:
        group: tuple[str, ...] = (each.dataset, each.method)  # a row of its own
        if each.done == each.planned:
            group = ("done",)
        elif each.pending == each.planned:
            group = ("pending",)
        elif each.failed == each.planned:
            group = ("failed", each.method)
        groups.setdefault(group, []).append(each)
    rows = []
    for of_group in groups.values():
        dataset = _join_names("data set", [each.dataset for each in of_group])
        method = _join_names("method", [each.method for each in of_group])
        rows.append(add_up(of_group, dataset, method))
    return rows


def _join_names(what: str, names: Sequence[str]) -> str:
    """The name that rows have in common, or how many there are."""
    number = len(set(names))
    return names[0] if number == 1 else plural(number, what)


def _describe_rest(found: Progress) -> str:
    """How long the pending trials will take."""
    from mlcdr.results.record import duration

    verb = "left" if found.run.state == "running" else "needed"
    untimed = f"no trial of {', '.join(found.untimed)} has finished"
    if not found.costs:
        return f"time {verb}: not known yet ({untimed})"
    timed = f"about {duration(found.seconds_left)} {verb} with {plural(found.workers, 'worker')}"
    return f"{timed}, and an unknown time: {untimed}" if found.untimed else timed


def _print_details(causes: Sequence[Cause]) -> None:
    """Print each cause with its places and the traceback of its first trial."""
    from mlcdr.experiment.grouping import group_pairs
    from mlcdr.results.failures import list_places

    for cause in causes:
        print()
        print_lines(format_cause(cause))
        places = group_pairs((f"{failure.dataset}, {failure.method}", failure) for failure in cause.failures)
        for place, failures in places.items():
            for point, splits in list_places(failures):
                at = f", {point}" if point else ""
                print_lines(f"  {place}{at}, {splits}")
        for line in cause.failures[0].error.splitlines():
            print_lines(f"    {line}")
