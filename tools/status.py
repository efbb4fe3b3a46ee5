"""How far the published tables are reproduced: a page made of the record.

`python -m tools.status [DIR] [--check] [--to FILE]`. `--check` lists what is out of date instead.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from mlcdr.errors import ResultsError, escape_control_characters, join_words
from mlcdr.experiment.imports import Imports
from mlcdr.methods.registry import judging_imports
from mlcdr.papers.judging import Verdict
from mlcdr.papers.printed import list_tables, n_places
from mlcdr.papers.published import PublishedComparison
from mlcdr.papers.stored import StoredRun, read_record
from mlcdr.results.record import duration
from mlcdr.tables.sheet import DASH, Sheet, make_sheet
from mlcdr.whole_files import write_atomically
from tools.entries import changes_of, comparisons, outdated
from tools.shell import importing_own_methods, run_script

_WORST = 5  # cells shown of each table
_JUDGED: tuple[Verdict, ...] = ("differs", "undecided", "agrees")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A published table and what the record has of it.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    variant : str
        Of the configs; `large` counts as a part of the table itself, which has none.
    comparison : PublishedComparison
    runs : tuple of StoredRun
    """

    table: str
    variant: str
    comparison: PublishedComparison
    runs: tuple[StoredRun, ...]

    @property
    def worst(self) -> pd.DataFrame:
        """The judged cells with the largest |z|, or without a z the largest difference; those that differ first."""
        cells = self.comparison.cells
        judged = cells[cells["verdict"].isin(_JUDGED)]
        order = pd.DataFrame(
            {
                "verdict": judged["verdict"].map(_JUDGED.index),
                "z": -judged["z"].abs().fillna(0.0),
                "difference": -judged["difference"].abs(),
            }
        )
        return judged.loc[order.sort_values(list(order), kind="stable").index[:_WORST]]

    @property
    def cpu_time(self) -> str:
        """The CPU time of its runs."""
        seconds = math.fsum(run.manifest.total_cpu_seconds for run in self.runs)
        return duration(seconds) if seconds else DASH

    def notes(self) -> Iterator[str]:
        """How the runs differ from their configs: data sets that were not available, for example."""
        for run in self.runs:
            if changed := changes_of(run):
                yield f"{run.name} differs from its config: {'; '.join(changed)}."

    def section(self) -> str:
        """Its part of the page."""
        variant = f" ({self.variant})" if self.variant else ""
        lines = [f"## {self.table}{variant}\n"]
        lines += [f"- {_describe(run)}" for run in self.runs if not run.counts_data]
        lines += [f"- Result: {self.comparison.summary()}.", f"- CPU time {self.cpu_time}."]
        lines += [f"- Note: {note}" for note in self.notes()]
        for why, n, cells in self.comparison.reasons():
            lines.append(f"- Not reproducible ({n}), {join_words(cells)}: {why}.")
        return "\n".join([*lines, "", _tabulate(self.worst).markdown()])


@dataclass(frozen=True)
class Status:
    """What the record shows of the published tables: those found, and those that it does not have."""

    found: tuple[Reproduction, ...]
    absent: tuple[str, ...]

    def markdown(self) -> str:
        """The page."""
        parts = ["# Reproduction status\n", "A cell agrees by the rule of its table, given with each.\n"]
        if self.found:
            parts += [self.overview().markdown(), f"{self.multiplicity()}\n"]
        if self.absent:
            parts.append(f"Published tables that the record does not have: {', '.join(self.absent)}.\n")
        parts += [each.section() for each in self.found]
        lines = "\n".join(parts).split("\n")
        return "\n".join(map(escape_control_characters, lines))

    def overview(self) -> Sheet:
        """A row for each table."""
        header = ("Table", "Variant", "Cells", "Compared", "Agree", "Differ", "Undecided", "Not repr.", "Not run")
        verdicts: tuple[Verdict, ...] = ("agrees", "differs", "undecided", "not reproducible", "not run")
        rows = []
        for each in self.found:
            compared = each.comparison
            counts = [len(compared.cells), compared.compared, *map(compared.count, verdicts)]
            date = max(date_of(run) for run in each.runs) or DASH
            rows.append([each.table, each.variant or DASH, *map(str, counts), each.cpu_time, date])
        return make_sheet("At a glance", [*header, "CPU time", "Date"], rows, stub=2, left=(10,))

    def multiplicity(self) -> str:
        """How many cells lie beyond 2 and 3 standard errors, and how many would by chance; of tables as configured."""
        configured = [each for each in self.found if not each.variant] or self.found
        judged = pd.concat([each.comparison.cells for each in configured])
        n, beyond, expected = count_beyond(judged)
        far = (f"{beyond[z]} differ by over {z} standard errors (by chance: {expected[z]:.0f})" for z in (2, 3))
        return (
            f"Of {n} judged cells with a standard error, {' and '.join(far)}. The cells of a data set "
            "share their splits, so they are not independent, and the counts vary more than those of independent cells."
        )


def make_status(runs: Sequence[StoredRun]) -> Status:
    """What the record shows of the published tables."""
    found = [
        Reproduction(table, variant, compared, tuple(members))
        for (table, variant), (compared, members) in comparisons(runs).items()
    ]
    there = {each.table for each in found}
    return Status(tuple(found), tuple(name for name in list_tables() if name not in there))


def count_beyond(cells: pd.DataFrame) -> tuple[int, dict[int, int], dict[int, float]]:
    """The number of judged cells; how many differ by over 2 and over 3 standard errors, and how many would by chance.

    The standard error is that of the difference, including the rounding of the printed number.

    By chance: Student's t, with the degrees of freedom of Welch's test, in which a printed error has as many as ours.
    Where no spread is printed the printed number is one repetition, and z is over the standard deviation of ours, whose
    degrees of freedom count our repetitions (`entries.stored_cells`). Cells that are not judged do not count.
    """
    theirs = cells["published_se"].fillna(0.0)
    variance = cells["se"] ** 2 + theirs**2
    is_error = cells["spread_kind"].isin(["", "std", "standard_error"])  # not a deviation of something else
    counted = cells["verdict"].isin(["agrees", "differs"]) & is_error & (variance > 0) & (cells["n"] > 1)
    cells, theirs, variance = cells[counted], theirs[counted], variance[counted]
    rounding = cells["published"].map(lambda printed: 10.0 ** -n_places(printed) / math.sqrt(12))
    z = cells["difference"].abs() / (variance + rounding.astype(float) ** 2) ** 0.5
    degrees = cells["df"] * variance**2 / (cells["se"] ** 4 + theirs**4)
    beyond = {limit: int((z > limit).sum()) for limit in (2, 3)}
    expected = {limit: float(2 * stats.t.sf(limit, degrees).sum()) for limit in (2, 3)}
    return len(cells), beyond, expected


def date_of(run: StoredRun) -> str:
    """The day of the last run."""
    return run.manifest.started[:10]


def _describe(run: StoredRun) -> str:
    """An experiment and its splits, in a line."""
    splits = run.experiment.resolved()["splits"]
    kind = splits.pop("kind")
    settings = [f"{key} {value}" for key, value in splits.items() if key != "folders"]
    description = (run.experiment.description or run.name).rstrip(".")
    return f"`{run.name}`: {description}. Splits: {', '.join([kind, *settings])}."


def _tabulate(cells: pd.DataFrame) -> Sheet:
    header = ("Dataset", "Method", "Setting", "Metric", "Ours", "Published", "Difference", "z", "Verdict")
    lines = []
    for cell in cells.itertuples():
        place = (cell.dataset, cell.method, cell.setting or DASH, cell.metric)
        lines.append((*place, *_numbers(cell), cell.verdict))
    return make_sheet("The cells that differ most", header, lines, stub=4, left=(8,))


def _numbers(cell: Any) -> tuple[str, ...]:
    digits = n_places(cell.published) or 4
    z = DASH if math.isnan(cell.z) else f"{cell.z:+.1f}"
    return f"{cell.ours:.{digits}f}", cell.published, f"{cell.difference:+.{digits}f}", z


def main() -> int:
    """Print the page, write it, or list what is out of date."""
    parser = argparse.ArgumentParser(prog="tools.status", description="How well the record reproduces the tables.")
    parser.add_argument("folder", nargs="?", type=Path, help="a record; default: that of this checkout")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--check", action="store_true", help="list what is out of date; exit code 1 if anything is")
    does.add_argument("--to", type=Path, metavar="FILE", help="write the page to this file")
    given = parser.parse_args()
    runs = read_record(given.folder)
    if not runs:
        raise ResultsError(f"{given.folder or 'the record'}: holds no record, which has a PAPER/CONFIG/manifest.json")
    if given.check:
        # of the record in a folder that is named, which may be a stranger's, nothing is imported
        with judging_imports(Imports(None, False)) if given.folder else importing_own_methods():
            found: list[tuple[str, str]] = []
            for run in runs:
                found += [(run.name, reason) for reason in outdated(run)]
        for name, reason in found:
            print(escape_control_characters(f"{name}: {reason}"))
        print(f"{len({name for name, _ in found})} of {len(runs)} folders of the record are out of date")
        return 1 if found else 0
    page = make_status(runs).markdown()
    if given.to:
        write_atomically(given.to, page)
    else:
        print(page, end="")
    return 0


if __name__ == "__main__":
    run_script(main)
