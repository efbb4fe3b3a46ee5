"""The record: our results for the published tables, as small text files that are kept with the source code.

    record/PAPER/CONFIG/
      summary.csv       every cell: mean, std, se, n (of a grid on the test folds, the best)
      comparison.csv    the printed cells that the run has, each with ours, z and the verdict
      experiment.yaml   the experiment, all defaults written out
      manifest.json     commit, code of each method, versions, machine, data sets, wall and CPU seconds

CONFIG is the config's name, with `_small` for the small variant. `record/others/NAME/` has runs that are not of a
paper's config, which are rows of the leaderboard. A folder of the record is a results folder that has means only. For a
table of data sets there are only `comparison.csv` and `manifest.json`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import Field
from scipy import stats

from mlcdr.config.loading import experiment_yaml
from mlcdr.config.shipped import record_folder
from mlcdr.csv_files import format_csv, read_csv
from mlcdr.data.files import checkout_folder
from mlcdr.data.sources import find as find_data_set
from mlcdr.errors import ResultsError, UserError, list_known, suggest_name
from mlcdr.experiment.keys import codes
from mlcdr.experiment.model import Experiment, folder_name
from mlcdr.experiment.splits import FromFile
from mlcdr.reproduce import data_sets, published, recipes
from mlcdr.reproduce.judging import rules_for
from mlcdr.reproduce.published import ComparedCell, PublishedComparison, Verdict
from mlcdr.results.imports import read_number
from mlcdr.results.joining import LARGE
from mlcdr.results.manifest import Manifest, read_manifest
from mlcdr.results.results import Results, import_results, open_results, read_experiment
from mlcdr.whole_files import is_regular_file, write_atomically

OTHERS = "others"
_COLUMNS = [
    *("table", "dataset", "method", "setting", "metric", "published"),
    *("ours", "se", "n", "difference", "z", "verdict", "at"),
]
_KEPT = ("started", "seed", "code", "trials", "datasets", "computed_by")
_FILES = ("manifest.json", "comparison.csv")


class StoredManifest(Manifest):
    """The manifest in a folder of the record.

    Attributes
    ----------
    commit : str
        Of the source code.
    experiment : str
        The experiment's name; empty for a table of data sets, which no method computes.
    config, variant : str
        The config that comes with mlcdr, and which reading of its table it is; empty for a run of no such config.
    code : dict
        Method → the digest of its code.
    """

    commit: str
    experiment: str = ""
    config: str = ""
    variant: str = ""
    code: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One folder of the record.

    Attributes
    ----------
    name : str
        `PAPER/CONFIG`.
    folder : Path
    manifest : StoredManifest
    rows : dict
        Published table → its cells that the run has.
    """

    name: str
    folder: Path
    manifest: StoredManifest
    rows: dict[str, tuple[ComparedCell, ...]]

    @property
    def is_small(self) -> bool:
        """Whether it is the small variant of a table."""
        return self.name.endswith(f"_{recipes.SMALL}")

    @property
    def counts_data(self) -> bool:
        """Whether it is a table of data sets, which no method computes."""
        return not self.manifest.experiment

    @property
    def date(self) -> str:
        """The day of the last run."""
        return self.manifest.started[:10]

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment."""
        return read_experiment(self.folder)

    @cached_property
    def results(self) -> Results:
        """The means."""
        return import_results(self.folder)

    @property
    def variant(self) -> str:
        """The reading of the table: `as_stated`, `small`; empty for the table itself. Large data sets make no other."""
        return "_".join(part for part in self.manifest.variant.split("_") if part != LARGE)

    def changes(self) -> list[str]:
        """How the experiment differs from its present config."""
        recipe = recipes.recipes().get(self.manifest.config)
        if recipe is None:
            return [] if self.counts_data or self.name.startswith(f"{OTHERS}/") else ["no config of this name"]
        return list(recipes.changes(recipes.expected(recipe, self.manifest.variant), self.experiment))


def read(folder: Path | None = None) -> list[Entry]:
    """All of the record, by name; that of the source checkout, or the package's own copy, if no folder is given.

    Raises
    ------
    ResultsError
        When a file is missing, cannot be read, or is not what it should be.
    """
    folder = folder or record_folder()
    tables = published.every_name()
    entries = []
    for path in sorted({file.parent for name in _FILES for file in folder.glob(f"*/*/{name}")}):
        try:
            rows, manifest = _read_comparison(path, tables), StoredManifest.read(path)
            if is_regular_file(path / "experiment.yaml") and not manifest.experiment:
                raise ResultsError("manifest.json: experiment: Field required")
            entries.append(Entry(path.relative_to(folder).as_posix(), path, manifest, rows))
        except ResultsError as error:
            raise ResultsError(f"{path}: damaged: {str(error).removeprefix(f'{path}{os.sep}')}") from error
    return entries


def _read_comparison(path: Path, tables: Sequence[str]) -> dict[str, tuple[ComparedCell, ...]]:
    """The printed cells in the `comparison.csv` of a folder of the record, by table; `tables` are all there are."""
    source = path / "comparison.csv"
    if not is_regular_file(source):
        raise ResultsError(f"{source}: missing")
    lines = read_csv(source, ResultsError)
    if next(lines, (1, []))[1] != _COLUMNS:
        raise ResultsError(f"{source}:1: the columns should be {','.join(_COLUMNS)}")
    rows: dict[str, list[ComparedCell]] = {}
    known: dict[str, dict[tuple[str, ...], published.PublishedCell]] = {}
    for line, values in lines:
        row = dict(zip(_COLUMNS, values, strict=True))
        table, verdict = row["table"], row["verdict"]
        if table not in known:
            known[table] = {_place(cell): cell for cell in published.cells_of(table)} if table in tables else {}
        place = row["dataset"], row["method"], row["setting"], row["metric"]
        cell = known[table].pop(place, None)
        if cell is None or cell.mean != row["published"]:
            raise ResultsError(
                f"{source}:{line}: a row for {' '.join(filter(None, place))}, which {table} lacks, or a second one"
            )
        if verdict not in get_args(Verdict):
            raise ResultsError(f"{source}:{line}: the verdict {verdict!r} is not one of {', '.join(get_args(Verdict))}")
        may_lack = ("se", "z") if cell.mean else ("se", "z", "difference")
        ours, se, n, difference, z = (
            read_number(source, line, key, row[key], gaps=key in may_lack)
            for key in ("ours", "se", "n", "difference", "z")
        )
        if any(map(math.isinf, (ours, se, n, difference, z))) or se < 0 or n < 0 or n % 1:
            raise ResultsError(f"{source}:{line}: a number is infinite, se is negative, or n is no number of splits")
        theirs = cell.standard_error(n, rules_for(table)) if n else math.nan
        found = ComparedCell(cell, ours, se, theirs, difference, z, cast(Verdict, verdict), row["at"], int(n))
        rows.setdefault(table, []).append(found)
    return {table: tuple(each) for table, each in rows.items()}


def _place(cell: published.PublishedCell) -> tuple[str, ...]:
    return cell.dataset, cell.method, cell.setting, cell.metric


def find(table: str, folder: Path | None = None) -> list[Results]:
    """The stored results of `PAPER/TABLE` or `PAPER/CONFIG`, with those of its large data sets; or of `others/NAME`.

    Raises
    ------
    ResultsError
        When the record has none of that name, or it is a table of data sets.
    """
    entries = read(folder)
    names = dict.fromkeys(name for each in entries for name in (each.name, *each.rows))
    table = published.full_name(table, list(names))
    found = [each for each in entries if each.name in (table, f"{table}_{LARGE}")]
    found = found or [each for each in entries if table in each.rows and not each.variant]
    if any(each.counts_data for each in found):
        raise ResultsError(f"{table} is a table of data sets, which has no methods to compare with")
    if not found:
        known = f"({list_known(names, '`mlcdr reproduction-status`')})" if names else "(it is empty)"
        raise ResultsError(f"the record has no results of {table!r}{suggest_name(table, names)} {known}")
    return [each.results for each in found]


def find_rows(tables: Iterable[str], datasets: Iterable[str], folder: Path | None = None) -> list[Results]:
    """The stored results of some tables (as in `find`) on some data sets.

    Raises
    ------
    ResultsError
        When the record lacks one of the tables, or has none of the data sets for it.
    """
    datasets, rows = set(datasets), []
    for table in tables:
        stored = find(table, folder)
        common = [each.select("dataset", datasets) for each in stored if datasets & set(each.datasets)]
        if not common:
            has = ", ".join(name for each in stored for name in each.datasets)
            raise ResultsError(f"record {table}: has no data set of yours ({', '.join(sorted(datasets))}), only {has}")
        rows += common
    return rows


# -------------------------------------------------------------------- writing


def store(source: Path, commit: str, to: Path | None = None) -> Path:
    """Write a results folder into the record, in place of what it had of that config.

    Raises
    ------
    ResultsError
        When the folder cannot be read, its last run did not come to its end, methods have other code now, a data
        set has not the size of the catalogue's, or another experiment of this name, of no paper's config, is stored.
    """
    results, manifest = open_results(source), read_manifest(source)
    trials = results.manifest.trials
    code = manifest.get("code")
    if not (isinstance(code, dict) and all(isinstance(digest, str) for digest in code.values())):
        raise ResultsError(
            f"{source}: its manifest does not say what code gave it; run it again (nothing is computed twice)"
        )
    if trials.interrupted or trials.failed:
        what = "was interrupted" if trials.interrupted else f"has {trials.failed} failed trials"
        raise ResultsError(f"{source}: the last run {what}; the record takes whole runs only")
    experiment = results.experiment
    if others := _of_other_code(experiment, manifest["code"]):
        raise ResultsError(
            f"{source}: computed by code other than that of the commit: {', '.join(others)}; run it again"
        )
    for dataset, facts in results.manifest.datasets.items():
        known = entry.statistics if (entry := find_data_set(dataset)) else {}
        for what in ("instances", "labels"):
            sizes = facts.get(f"n_{what}"), known.get(f"n_{what}")
            if None not in sizes and sizes[0] != sizes[1]:
                raise ResultsError(
                    f"{source}: its {dataset} has {sizes[0]} {what}, that of the catalogue {sizes[1]}; "
                    f"rename the data set and run it again"
                )
    recipe, variant = recipes.by_experiment_name().get(experiment.name, (None, ""))
    if recipe:
        name = f"{recipe.of}_{variant}".rstrip("_")
    else:
        try:  # a recorded experiment may have any name, even a path that leads elsewhere
            name = f"{OTHERS}/{folder_name(experiment.name)}"
        except ValueError as error:
            raise ResultsError(f"{source}: {error}") from None
    if recipe:  # with what the config shows now, also of a run before it showed that
        experiment = experiment.model_copy(update={"tables": recipe.outline.tables})
    tables = [table for table in recipes.tables_of(recipe, experiment) if table] if recipe else []
    rows = [(table, row) for table in tables for row in published.compare(results, table).rows if row.n]
    facts = {key: manifest[key] for key in _KEPT if key in manifest}
    facts |= {"experiment": experiment.name, "config": recipe.name if recipe else "", "variant": variant}
    facts["commit"] = commit
    if isinstance(experiment.splits, FromFile):  # the folders of the folds are specific to this machine
        experiment = experiment.model_copy(update={"splits": experiment.splits.model_copy(update={"folders": ()})})
    folder = (to or record_folder()) / name
    if recipe is None and (folder / "experiment.yaml").exists():
        differing = [each.partition(":")[0] for each in recipes.changes(read_experiment(folder), experiment)]
        if differing:
            raise ResultsError(
                f"{folder}: has another experiment of this name, which differs in {', '.join(differing)}; "
                f"give that of {source} another name, or remove {folder} first"
            )
    header = ["dataset", "method", *results.swept, "metric", "mean", "std", "se", "n"]
    cells = [
        [dataset, method, *point, metric, *map(_short, (cell.mean, cell.std, cell.se)), cell.n]
        for (dataset, method, point, metric), cell in results.cells.items()
    ]
    write_atomically(folder / "summary.csv", format_csv(header, cells))
    write_atomically(folder / "experiment.yaml", experiment_yaml(experiment))
    _write(folder, rows, facts)
    return folder


def store_facts(table: str, commit: str, to: Path | None = None) -> Path:
    """Count a published table of data sets on those at hand, and write the comparison into the record.

    Raises
    ------
    DataError
        When not one of its data sets is at hand.
    """
    found = data_sets.compare([], table)
    rows = [(table, row) for row in found.rows if row.verdict not in ("n/a", "not run")]
    folder = (to or record_folder()) / table
    _write(folder, rows, {"commit": commit})
    return folder


def _write(folder: Path, rows: Sequence[tuple[str, ComparedCell]], facts: Mapping[str, Any]) -> None:
    compared = [
        [
            *(table, *_place(row.published), row.published.mean, _short(row.ours), _short(row.ours_se), row.n),
            *(_short(row.difference), _short(row.z), row.verdict, row.setting),
        ]
        for table, row in rows
    ]
    write_atomically(folder / "comparison.csv", format_csv(_COLUMNS, compared))
    write_atomically(folder / "manifest.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def commit_of_checkout(dirty: bool = False) -> str:
    """The commit of the source checkout that this package is of; `dirty` allows changes, and marks the commit if any.

    Raises
    ------
    UserError
        When there is no checkout, or a file differs from its commit (but for the record itself), or a Python file is
        in no commit.
    """
    checkout = checkout_folder()
    root = str(checkout.parent) if checkout else "."
    try:
        head, status = (
            subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (
                ("rev-parse", "HEAD"),
                ("status", "--porcelain", "--untracked-files=all", "--", ".", ":!results/record"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        checkout = None
    if checkout is None:
        raise UserError("the record is made in a checkout of the source code with git")
    lines = [each.replace('"', "") for each in status.splitlines()]  # a name with spaces is quoted
    changed = [each for each in lines if not each.startswith("??") or each.endswith(".py")]
    if changed and not dirty:
        state, first = changed[0].split(maxsplit=1)
        what = "is in no commit" if state == "??" else "differs from its commit"
        raise UserError(f"{first} {what}, and the record is of one commit: commit it, or use --dirty")
    return f"{head} with changes" if changed else head


# -------------------------------------------------------------------- whether it is up to date


def outdated(entry: Entry) -> list[str]:
    """How an entry differs from what its config gives now: methods with other code, settings that changed."""
    if entry.counts_data:
        return []
    reasons = [each for each in entry.changes() if not each.startswith("datasets: ")]  # those at hand then
    try:
        others = _of_other_code(entry.experiment, entry.manifest.code)
    except UserError as error:
        return [*reasons, str(error)]
    return [*reasons, *([f"computed by other code: {', '.join(others)}"] if others else [])]


def _of_other_code(experiment: Experiment, code: Mapping[str, str]) -> list[str]:
    """The methods whose code is not `code` now."""
    return [name for name, now in codes(experiment).items() if code.get(name) != now]


# -------------------------------------------------------------------- tables of the record


def comparisons(entries: Iterable[Entry]) -> dict[tuple[str, str], tuple[PublishedComparison, list[Entry]]]:
    """(table, variant) → all printed cells with what is stored of them, and the entries that have it; sorted."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        for table in entry.rows:
            groups.setdefault((table, entry.variant), []).append(entry)
    found = {}
    for (table, variant), members in sorted(groups.items()):
        rules = rules_for(table)
        stored = {row.published: row for entry in reversed(members) for row in entry.rows[table]}
        rows = tuple(stored.get(cell) or published.judge(cell, None, rules) for cell in published.cells_of(table))
        compared = PublishedComparison(table, "the record", rows, (), rules)
        found[table, variant] = (compared, members)
    return found


def count_beyond(rows: Iterable[ComparedCell]) -> tuple[int, dict[int, int], dict[int, float]]:
    """The number of judged cells; how many differ by over 2 and over 3 standard errors, and how many would by chance.

    The standard error is that of the difference, including the rounding of the printed number.

    By chance: Student's t, with the degrees of freedom of Welch's test. Where no spread is printed the printed number
    is one repetition, and z is over the standard deviation of ours. Cells that are not judged do not count.
    """
    beyond, expected, cells = dict.fromkeys((2, 3), 0), dict.fromkeys((2, 3), 0.0), 0
    for row in rows:
        theirs = 0.0 if math.isnan(row.published_se) else row.published_se
        rounding = 10.0**-row.published.digits / math.sqrt(12)
        variance = row.ours_se**2 + theirs**2
        is_error = row.published.spread_kind in ("", "std", "standard_error")  # not a deviation of something else
        if row.verdict not in ("agrees", "differs") or not is_error or not variance > 0 or row.n < 2:
            continue
        cells += 1
        z = abs(row.difference) / math.sqrt(variance + rounding**2)
        degrees = (row.n - 1) * variance**2 / (row.ours_se**4 + theirs**4)
        for limit in beyond:
            beyond[limit] += z > limit
            expected[limit] += 2 * float(stats.t.sf(limit, degrees))
    return cells, beyond, expected
