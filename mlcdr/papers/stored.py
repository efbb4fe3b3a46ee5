"""The record: our results of the published tables, which come with mlcdr as small text files.

    record/PAPER/CONFIG/
      summary.csv       every cell: mean, std, se, n (of a grid on the test folds, the best)
      comparison.csv    the printed cells that the run has, each with ours, z and the verdict
      experiment.yaml   the experiment, all defaults written out
      manifest.json     commit, code of each method, versions, machine, data sets, wall and CPU seconds

CONFIG is the config's name, with `_small` for the small variant. A folder of the record is a results folder that has
means only. For a table of data sets there are only `comparison.csv` and `manifest.json`. `record/board/NAME/` has rows
of the board (`mlcdr.papers.board`), which are of no paper: its `comparison.csv` has no cells, and `chosen.csv` says how
often a search chose a value. `tools/record.py` makes the record.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mlcdr.csv_files import read_csv
from mlcdr.errors import ResultsError, list_known, suggest_name
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.shipped import record_folder
from mlcdr.papers.printed import full_name
from mlcdr.results.joining import LARGE
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import Results, import_results, read_experiment

BOARD = "board"
"""The folder of the board, and the name of its first config."""


class StoredManifest(Manifest):
    """The manifest in a folder of the record.

    Attributes
    ----------
    commit : str
        Of the source code.
    config, variant : str
        The config that comes with mlcdr, and which reading of its table it is; empty for a run of no such config.
    """

    commit: str
    config: str = ""
    variant: str = ""


@dataclass(frozen=True)
class StoredRun:
    """One folder of the record.

    Attributes
    ----------
    name : str
        `PAPER/CONFIG`.
    folder : Path
    manifest : StoredManifest
    tables : tuple of str
        The published tables of which it has cells.
    """

    name: str
    folder: Path
    manifest: StoredManifest
    tables: tuple[str, ...]

    @property
    def counts_data(self) -> bool:
        """Whether it is a table of data sets, which no method computes."""
        return not self.manifest.experiment

    @property
    def is_of_board(self) -> bool:
        """Whether it has rows of the board."""
        return self.name.startswith(f"{BOARD}/")

    @property
    def variant(self) -> str:
        """The reading of the table: `as_stated`, `small`; empty for the table itself. Large data sets make no other."""
        parts = self.manifest.variant.split("_")
        return "_".join(part for part in parts if part != LARGE)

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment."""
        return read_experiment(self.folder)

    @cached_property
    def results(self) -> Results:
        """The means."""
        return import_results(self.folder)


def read_record(folder: Path | None = None) -> list[StoredRun]:
    """All of the record, by name; that of the source checkout, or the package's own copy, if no folder is given.

    Raises
    ------
    ResultsError
        When a file is missing or cannot be read.
    """
    folder = folder or record_folder()
    found = []
    for path in sorted(each.parent for each in folder.glob("*/*/manifest.json")):
        rows = read_csv(path / "comparison.csv", ResultsError)
        next(rows, None)  # the header
        tables = dict.fromkeys(row[0] for _, row in rows)
        name = f"{path.parent.name}/{path.name}"
        found.append(StoredRun(name, path, StoredManifest.read(path), tuple(tables)))
    return found


def stored_results(table: str) -> list[Results]:
    """The stored results of `PAPER/TABLE` or `PAPER/CONFIG`, with those of its large data sets; or of `board/NAME`.

    Raises
    ------
    ResultsError
        When the record has none of that name, or it is a table of data sets.
    """
    runs = read_record()
    names: list[str] = []
    for run in runs:
        names += [run.name, *run.tables]
    table = full_name(table, names)
    found = [run for run in runs if run.name in (table, f"{table}_{LARGE}")]
    found = found or [run for run in runs if table in run.tables and not run.variant]
    if any(run.counts_data for run in found):
        raise ResultsError(f"{table} is a table of data sets, which has no methods to compare with")
    if not found:
        known = f"({list_known(dict.fromkeys(names), '`mlcdr reproduce`')})" if names else "(it is empty)"
        raise ResultsError(f"the record has no results of {table!r}{suggest_name(table, names)} {known}")
    return [run.results for run in found]


def stored_on(tables: Iterable[str], datasets: Iterable[str]) -> list[Results]:
    """The stored results of some tables (as in `stored_results`) on some data sets.

    Raises
    ------
    ResultsError
        When the record lacks one of the tables, or has none of the data sets for it.
    """
    wanted = set(datasets)
    found: list[Results] = []
    for table in tables:
        results = stored_results(table)
        having = [each for each in results if wanted.intersection(each.datasets)]
        common = [each.select("dataset", wanted) for each in having]
        if not common:
            has = ", ".join(itertools.chain(*(each.datasets for each in results)))
            raise ResultsError(f"record {table}: has no data set of yours ({', '.join(sorted(wanted))}), only {has}")
        found += common
    return found
