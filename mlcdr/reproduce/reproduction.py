"""How far the published tables are reproduced: a page made of what results folders hold, and of nothing else.

A results folder belongs to a published table if its experiment has the name of a config that comes with mlcdr (see
`mlcdr.reproduce.recipes`). The folders of TABLE.yaml and TABLE_large.yaml are compared together, those of any other
variant by themselves. How a folder's experiment differs from the config of its name is noted.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlcdr.errors import ConfigError, ResultsError, escape_control_characters, join_words
from mlcdr.experiment.model import Experiment
from mlcdr.reproduce import published, recipes
from mlcdr.reproduce.published import ComparedCell, PublishedComparison, Verdict
from mlcdr.reproduce.recipes import LARGE, Recipe
from mlcdr.results.manifest import RunFacts
from mlcdr.results.record import duration
from mlcdr.results.results import Results, open_results, read_experiment
from mlcdr.tables.sheet import DASH, Sheet, make_sheet

_WORST = 5  # cells shown of each table
_JUDGED: tuple[Verdict, ...] = ("agrees", "differs", "undecided")


@dataclass(frozen=True)
class Reproduction:
    """A published table and the results folders that reproduce it.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    variant : str
        Of the configs; `large` counts as a part of the table itself, which has none.
    comparison : PublishedComparison
    results : tuple of Results
        The folders.
    notes : tuple of str
        What must be known of the folders: changes to the config, trials that failed, runs that were broken off.
    """

    table: str
    variant: str
    comparison: PublishedComparison
    results: tuple[Results, ...]
    notes: tuple[str, ...]

    @property
    def worst(self) -> list[ComparedCell]:
        """The judged cells with the largest |z|, or without a z the largest difference; those that differ first."""
        judged = [row for row in self.comparison.rows if row.verdict in _JUDGED]
        order = {"differs": 0, "undecided": 1, "agrees": 2}

        def badness(row: ComparedCell) -> tuple[int, float, float]:
            return order[row.verdict], -(0.0 if math.isnan(row.z) else abs(row.z)), -abs(row.difference)

        return sorted(judged, key=badness)[:_WORST]


@dataclass(frozen=True)
class Status:
    """All that a folder of results folders shows of the published tables.

    `unread` are folders of a config's name that hold no results that can be compared, each with why.
    """

    folder: Path
    found: tuple[Reproduction, ...]
    absent: tuple[str, ...]
    unread: tuple[tuple[str, str], ...]

    def markdown(self) -> str:
        """The page."""
        parts = ["# Reproduction status\n"]
        parts.append(
            f"Written by `mlcdr reproduction-status` from the results stored in `{self.folder}`; not to be edited. "
            "A cell agrees within three standard errors of the difference, or within its table's tolerance.\n"
        )
        if self.found:
            parts.append(self._overview().markdown())
        if self.absent:
            parts.append(f"Published tables without results here: {', '.join(self.absent)}.\n")
        parts += [f"`{name}` cannot be compared: {why}\n" for name, why in self.unread]
        parts += [_section(each) for each in self.found]
        return "\n".join(map(escape_control_characters, "\n".join(parts).split("\n")))

    def _overview(self) -> Sheet:
        header = ("Table", "Variant", "Cells", "Compared", "Agree", "Differ", "Undecided", "Not repr.", "Not run")
        rows = []
        for each in self.found:
            found = each.comparison
            counts = [len(found.rows), found.compared, *map(found.count, (*_JUDGED, "not reproducible", "not run"))]
            cells = [each.table, each.variant or DASH, *map(str, counts)]
            rows.append([*cells, _seconds(each), _date(each)])
        return make_sheet("At a glance", [*header, "Wall time", "Date"], rows, stub=2, left=(10,))


_PROTOCOL = ("kind", "repeats", "folds", "train_size")
"""Of the splits' settings, those that make a protocol; the seed does not."""


def compare_protocols(results: Sequence[Results], table: str) -> list[PublishedComparison]:
    """`published.compare_all`, with a remark where the splits are not those that give the printed numbers.

    Raises
    ------
    ResultsError
        When there is no such table, or the folders have not one of its cells.
    """
    remarks = tuple(note for each in results if (note := _other_protocol(each, table)))
    compared = published.compare_all(results, table)
    mine = [remarks] * len(compared)
    if len(compared) == len(results) > 1:
        mine = [tuple(filter(None, [_other_protocol(each, table)])) for each in results]
    return [replace(each, remarks=notes) for each, notes in zip(compared, mine, strict=True)]


def _other_protocol(results: Results, table: str) -> str:
    """In which settings the splits differ from those of the config that is named after a table; empty if in none.

    The config of the table's large data sets (`TABLE_large`) may have splits of its own, which are as right.
    """
    known = recipes.recipes()
    named = [known[name] for name in (table, f"{table}_{LARGE}") if name in known]
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


def status(folder: Path) -> Status:
    """What the results folders in `folder` (or `folder` itself, if it is one) show of the published tables.

    Raises
    ------
    ResultsError
        When there is no such folder.
    """
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder; `mlcdr reproduce PAPER/TABLE` makes results")
    known = recipes.by_experiment_name()
    groups: dict[tuple[str, str], list[tuple[Recipe, Results]]] = {}
    unread: list[tuple[str, str]] = []
    for place in _results_folders(folder):
        try:
            recipe, variant = known.get(read_experiment(place).name, (None, ""))
            if recipe is None or not recipe.table:
                continue
            results = open_results(place)
            for table in recipes.tables_of(recipe, results.experiment):
                groups.setdefault((table, "" if variant == LARGE else variant), []).append((recipe, results))
        except (ResultsError, ConfigError) as error:
            unread.append((_name(place), " ".join(str(error).split())))
    found: list[Reproduction] = []
    for (table, variant), members in sorted(groups.items()):
        every = [each for _, each in members]
        try:
            compared = published.compare_all(every, table)
        except ResultsError as error:
            unread += [(_name(each.folder), " ".join(str(error).split())) for each in every]
            continue
        parts = [members] if len(compared) == 1 else [[member] for member in members]
        for one, part in zip(compared, parts, strict=True):
            notes = tuple(note for recipe, each in part for note in _notes(recipe, variant, each))
            found.append(Reproduction(table, variant, one, tuple(each for _, each in part), notes))
    there = {each.table for each in found}
    absent = tuple(name for name in published.names() if name not in there)
    return Status(folder, tuple(found), absent, tuple(unread))


def _name(folder: Path) -> str:
    return escape_control_characters(folder.name)


def _results_folders(folder: Path) -> list[Path]:
    if (folder / "experiment.yaml").is_file():
        return [folder]
    return sorted(child for child in folder.iterdir() if (child / "experiment.yaml").is_file())


def _notes(recipe: Recipe, variant: str, results: Results) -> list[str]:
    """What a reader of the numbers of one folder must know."""
    name = _name(results.folder)
    notes = []
    changed = list(_changes(_expected(recipe, variant), results.experiment))
    if changed:
        notes.append(f"`{name}` differs from the config {recipe.name}: {'; '.join(changed)}.")
    try:
        trials = results.manifest.trials
    except ResultsError as error:
        return [*notes, f"{' '.join(str(error).split())}: the last run was broken off, or never ended."]
    if trials.failed:
        notes.append(f"`{name}`: {trials.failed} of {trials.planned} trials failed.")
    if trials.interrupted:
        notes.append(f"`{name}`: the last run was interrupted; the means are of what was done.")
    return notes


def _expected(recipe: Recipe, variant: str) -> Experiment:
    """The experiment as the config, or its reduction, has it."""
    if variant.endswith(recipes.SMALL) and not recipe.variant.endswith(recipes.SMALL):
        (step,) = recipes.steps(recipe.name, small=True)
        return recipes.experiment_of(step)
    return recipe.experiment


def _changes(expected: Experiment, stored: Experiment) -> Iterator[str]:
    """`key.path: 4 (config: 100)` for what bears on the numbers; where the folds were found does not."""
    ours, theirs = (dict(_flat(_bearing(each))) for each in (stored, expected))
    for path in dict.fromkeys([*theirs, *ours]):
        if ours.get(path) != theirs.get(path):
            shown = [json.dumps(each[path], ensure_ascii=False) if path in each else "none" for each in (ours, theirs)]
            yield f"{path}: {shown[0]} (config: {shown[1]})"


def _bearing(experiment: Experiment) -> dict[str, Any]:
    """What bears on the numbers, as plain data; data sets by the names that the catalogue gives them."""
    datasets = tuple(spec.model_copy(update={"name": spec.short_name()}) for spec in experiment.datasets)
    whole = experiment.model_copy(update={"datasets": datasets}).resolved()
    whole["splits"].pop("folders", None)
    kept = {key: whole[key] for key in ("datasets", "metrics", "sweep", "methods", "splits") if key in whole}
    plain: dict[str, Any] = json.loads(json.dumps(kept))
    return plain


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


# -------------------------------------------------------------------- a table's section


def _section(each: Reproduction) -> str:
    title = f"## {each.table}{f' ({each.variant})' if each.variant else ''}\n"
    lines = [f"- {_protocol(found)}" for found in each.results]
    lines.append(f"- Result: {each.comparison.summary()}.")
    lines.append(f"- Wall time {_seconds(each)}, {_date(each)}.")
    lines += [f"- Note: {note}" for note in each.notes]
    lines += [f"- Not reproducible ({n}), {join_words(cells)}: {why}." for why, n, cells in each.comparison.reasons()]
    return "\n".join([title, *lines, "", _worst_sheet(each.worst).markdown()])


def _protocol(found: Results) -> str:
    splits = found.experiment.resolved()["splits"]
    kind = splits.pop("kind")
    settings = ", ".join(f"{key} {value}" for key, value in splits.items() if key != "folders")
    description = found.experiment.description or found.name
    return f"`{_name(found.folder)}`: {description}. Splits: {kind}{f', {settings}' if settings else ''}."


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


def _runs(each: Reproduction) -> Iterator[RunFacts]:
    """The runs that computed trials."""
    for found in each.results:
        with contextlib.suppress(ResultsError):  # a note reports it
            yield from found.manifest.computed_by


def _seconds(each: Reproduction) -> str:
    """The wall time of all runs that computed something, and how many workers they had."""
    runs = list(_runs(each))
    if not runs:
        return DASH
    workers = sorted({run.jobs or 1 for run in runs})
    several = f"{'–'.join(map(str, dict.fromkeys((workers[0], workers[-1]))))} worker{'s' * (workers[-1] > 1)}"
    return f"{duration(sum(run.seconds or 0.0 for run in runs))} ({several})"


def _date(each: Reproduction) -> str:
    return max((run.started[:10] for run in _runs(each)), default=DASH)
