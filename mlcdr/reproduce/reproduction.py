"""How far the published tables are reproduced: a page made of the record, and a run's comparison with a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mlcdr.errors import escape_control_characters, join_words
from mlcdr.reproduce import published, recipes, record
from mlcdr.reproduce.published import ComparedCell, PublishedComparison, Verdict
from mlcdr.reproduce.record import Entry
from mlcdr.results.joining import LARGE, list_other_methods
from mlcdr.results.record import duration
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, Sheet, make_sheet

_WORST = 5  # cells shown of each table
_JUDGED: tuple[Verdict, ...] = ("agrees", "differs", "undecided")


@dataclass(frozen=True)
class Reproduction:
    """A published table and what the record has of it.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    variant : str
        Of the configs; `large` counts as a part of the table itself, which has none.
    comparison : PublishedComparison
    entries : tuple of Entry
    """

    table: str
    variant: str
    comparison: PublishedComparison
    entries: tuple[Entry, ...]

    @property
    def worst(self) -> list[ComparedCell]:
        """The judged cells with the largest |z|, or without a z the largest difference; those that differ first."""
        judged = [row for row in self.comparison.rows if row.verdict in _JUDGED]
        order = {"differs": 0, "undecided": 1, "agrees": 2}

        def badness(row: ComparedCell) -> tuple[int, float, float]:
            return order[row.verdict], -(0.0 if math.isnan(row.z) else abs(row.z)), -abs(row.difference)

        return sorted(judged, key=badness)[:_WORST]

    @property
    def cpu_time(self) -> str:
        """The CPU time of its runs."""
        seconds = math.fsum(each.manifest.cpu_seconds for each in self.entries)
        return duration(seconds) if seconds else DASH

    def notes(self) -> Iterator[str]:
        """How the runs differ from their configs: data sets that were not available, for example."""
        for each in self.entries:
            if changed := each.changes():
                yield f"{each.name} differs from its config: {'; '.join(changed)}."


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
        parts += [_section(each) for each in self.found]
        return "\n".join(map(escape_control_characters, "\n".join(parts).split("\n")))

    def overview(self) -> Sheet:
        """A row for each table."""
        header = ("Table", "Variant", "Cells", "Compared", "Agree", "Differ", "Undecided", "Not repr.", "Not run")
        rows = []
        for each in self.found:
            found = each.comparison
            counts = [len(found.rows), found.compared, *map(found.count, (*_JUDGED, "not reproducible", "not run"))]
            date = max(entry.date for entry in each.entries) or DASH
            rows.append([each.table, each.variant or DASH, *map(str, counts), each.cpu_time, date])
        return make_sheet("At a glance", [*header, "CPU time", "Date"], rows, stub=2, left=(10,))

    def multiplicity(self) -> str:
        """How many cells lie beyond 2 and 3 standard errors, and how many would by chance; of tables as configured."""
        judged = [row for each in self.found if not each.variant for row in each.comparison.rows]
        judged = judged or [row for each in self.found for row in each.comparison.rows]
        cells, beyond, expected = record.count_beyond(judged)
        far = (f"{beyond[z]} beyond {z} standard errors (by chance: {expected[z]:.0f})" for z in (2, 3))
        return (
            f"Of {cells} judged cells with a standard error, {' and '.join(far)}. The cells of a data set "
            "share their splits, so they are not independent, and the counts vary more than those of independent cells."
        )


_PROTOCOL = ("kind", "repeats", "folds", "train_size")
"""Of the splits' settings, those that make a protocol; the seed does not."""


def compare_protocols(results: Sequence[Results], table: str) -> list[PublishedComparison]:
    """`published.compare_all`, with a remark where the splits are not those that give the printed numbers.

    Raises
    ------
    ResultsError
        When there is no such table, or the folders have not one of its cells.
    """
    remarks = tuple(note for each in results for note in _differences(each, table))
    compared = published.compare_all(results, table)
    mine = [remarks] * len(compared)
    if len(compared) == len(results) > 1:
        mine = [tuple(_differences(each, table)) for each in results]
    return [replace(each, remarks=notes) for each, notes in zip(compared, mine, strict=True)]


def _named(table: str) -> list[recipes.Recipe]:
    """The config that is named after a table, and that of its large data sets."""
    known = recipes.recipes()
    return [known[name] for name in (table, f"{table}_{LARGE}") if name in known]


def _differences(results: Results, table: str) -> Iterator[str]:
    """How a run differs from the configs of a table: in its splits, and in methods that bear the same names."""
    if note := _other_protocol(results, table):
        yield note
    theirs = [recipe.outline for recipe in _named(table)]
    found = [list_other_methods(results.experiment, each.methods, each.sweep) for each in theirs]
    for difference in min(found, key=len, default=[]):
        yield f"Not the methods that give the printed numbers: in {results.folder} {difference}."


def _other_protocol(results: Results, table: str) -> str:
    """In which settings the splits differ from those of the config that is named after a table; empty if in none.

    The config of the table's large data sets may have splits of its own, which are just as valid.
    """
    named = _named(table)
    ours = results.experiment.splits.model_dump()
    theirs = [recipe.outline.splits.model_dump() for recipe in named]
    for recipe, each in zip(named, theirs, strict=True):
        names = {spec.name for spec in recipe.outline.datasets}
        whole = recipe.variant != LARGE or names.issuperset(results.datasets)
        if whole and all(ours.get(key) == each.get(key) for key in _PROTOCOL):
            return ""
    if not named:
        return ""
    differing = [key for key in _PROTOCOL if ours.get(key) != theirs[0].get(key)]
    shown = [", ".join(f"{key} {each.get(key, DASH)}" for key in differing) for each in (ours, theirs[0])]
    return f"The splits of {results.folder} have {shown[0]}; those that give the printed numbers have {shown[1]}."


def status(entries: Sequence[Entry]) -> Status:
    """What entries of the record show of the published tables."""
    found = [
        Reproduction(table, variant, compared, tuple(members))
        for (table, variant), (compared, members) in record.comparisons(entries).items()
    ]
    there = {each.table for each in found}
    return Status(tuple(found), tuple(name for name in published.names() if name not in there))


# -------------------------------------------------------------------- a table's section


def _section(each: Reproduction) -> str:
    title = f"## {each.table}{f' ({each.variant})' if each.variant else ''}\n"
    lines = [f"- {describe(found)}" for found in each.entries if not found.counts_data]
    lines.append(f"- Result: {each.comparison.summary()}.")
    lines.append(f"- CPU time {each.cpu_time}.")
    lines += [f"- Note: {note}" for note in each.notes()]
    lines += [f"- Not reproducible ({n}), {join_words(cells)}: {why}." for why, n, cells in each.comparison.reasons()]
    return "\n".join([title, *lines, "", _worst_sheet(each.worst).markdown()])


def describe(entry: Entry) -> str:
    """An entry's experiment and splits, in a line."""
    splits = entry.experiment.resolved()["splits"]
    kind = splits.pop("kind")
    settings = ", ".join(f"{key} {value}" for key, value in splits.items() if key != "folders")
    description = (entry.experiment.description or entry.name).rstrip(".")
    return f"`{entry.name}`: {description}. Splits: {kind}{f', {settings}' if settings else ''}."


def _worst_sheet(rows: Sequence[ComparedCell]) -> Sheet:
    header = ("Dataset", "Method", "Setting", "Metric", "Ours", "Published", "Difference", "z", "Verdict")
    lines = []
    for row in rows:
        cell = row.published
        digits = cell.digits or 4
        z = DASH if math.isnan(row.z) else f"{row.z:+.1f}"
        numbers = (f"{row.ours:.{digits}f}", cell.mean, f"{row.difference:+.{digits}f}", z, row.verdict)
        lines.append((cell.dataset, cell.method, cell.setting or DASH, cell.metric, *numbers))
    return make_sheet("The cells that differ most", header, lines, stub=4, left=(8,))
