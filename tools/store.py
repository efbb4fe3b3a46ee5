"""Writes results into the record."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.csv_files import format_csv
from mlcdr.data.files import checkout_folder
from mlcdr.data.sources import find
from mlcdr.errors import ResultsError, UserError
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import Experiment, folder_name
from mlcdr.experiment.shipped import record_folder, shipped_configs
from mlcdr.experiment.splits import FromFile
from mlcdr.papers import data_sets, recipes
from mlcdr.papers.board import is_of_board, list_departures
from mlcdr.papers.published import compare_with_published
from mlcdr.papers.recipes import SMALL, Recipe
from mlcdr.papers.stored import BOARD
from mlcdr.results.frame import group
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import Results, open_results, read_experiment
from mlcdr.whole_files import write_atomically
from tools.entries import COLUMNS, list_changes, methods_of_other_code

_KEPT = ("started", "seed", "code", "trials", "datasets", "computed_by")
"""What is kept of a manifest."""


def store_run(source: Path, commit: str, to: Path | None = None) -> Path:
    """Write a results folder into the record, in place of what it had of that config.

    Raises
    ------
    ResultsError
        When the folder cannot be read, its last run did not come to its end, methods have other code now, a data
        set has not the size of the catalogue's; or it is of no paper's config, and does not have the protocol of the
        board, or another experiment of its name is stored.
    """
    results, manifest = open_results(source), Manifest.read(source).plain()
    experiment = results.experiment
    _refuse_unfinished(results)
    _refuse_other_code(source, experiment, manifest.get("code"))
    _refuse_other_data(results)
    recipe, variant = _recipe_of(experiment)
    facts = {key: manifest[key] for key in _KEPT if key in manifest}
    facts |= {"experiment": experiment.name, "config": recipe.name if recipe else "", "variant": variant}
    if isinstance(experiment.splits, FromFile):  # the folders of the folds are specific to this machine
        splits = experiment.splits.model_copy(update={"folders": ()})
        experiment = experiment.model_copy(update={"splits": splits})
    cells: list[pd.DataFrame] = []
    if recipe:
        folder = (to or record_folder()) / f"{recipe.of}_{variant}".rstrip("_")
        # with what the config shows now, also of a run before it showed that
        experiment = experiment.model_copy(update={"tables": recipe.outline.tables})
        tables = [table for table in recipes.tables_of(recipe, experiment) if table]
        cells = [_printed_cells(results, table) for table in tables]
    else:
        folder = (to or record_folder()) / BOARD / _own_name(source, experiment)
        _refuse_other_protocol(source, experiment)
        _refuse_to_replace(folder, source, experiment)
        facts["config"] = experiment.name if experiment.name in shipped_configs() else ""
        _write_choices(folder, results)
    _write_summary(folder, results)
    write_atomically(folder / "experiment.yaml", experiment_yaml(experiment))
    _write_comparison(folder, cells, facts | {"commit": commit})
    return folder


def store_facts(table: str, commit: str, to: Path | None = None) -> Path:
    """Count a published table of data sets on those at hand, and write the comparison into the record.

    Raises
    ------
    DataError
        When not one of its data sets is at hand.
    """
    cells = data_sets.check_facts([], table).cells
    counted = cells[~cells["verdict"].isin(["n/a", "not run"])]
    folder = (to or record_folder()) / table
    _write_comparison(folder, [counted.assign(table=table)], {"commit": commit})
    return folder


# -------------------------------------------------------------------- what is not stored


def _refuse_unfinished(results: Results) -> None:
    trials = results.manifest.trials
    if trials.interrupted or trials.failed:
        what = "was interrupted" if trials.interrupted else f"has {trials.failed} failed trials"
        raise ResultsError(f"{results.folder}: the last run {what}; the record takes whole runs only")


def _refuse_other_code(source: Path, experiment: Experiment, code: dict[str, str] | None) -> None:
    if code is None:
        raise ResultsError(
            f"{source}: its manifest does not say what code gave it; run it again (nothing is computed twice)"
        )
    if others := methods_of_other_code(experiment, code):
        raise ResultsError(
            f"{source}: computed by code other than that of the commit: {', '.join(others)}; run it again"
        )


def _refuse_other_data(results: Results) -> None:
    for dataset, facts in results.manifest.datasets.items():
        entry = find(dataset)
        known = entry.statistics if entry else {}
        for what in ("instances", "labels"):
            ours, theirs = facts.get(f"n_{what}"), known.get(f"n_{what}")
            if ours is not None and theirs is not None and ours != theirs:
                raise ResultsError(
                    f"{results.folder}: its {dataset} has {ours} {what}, that of the catalogue {theirs}; "
                    f"rename the data set and run it again"
                )


def _refuse_other_protocol(source: Path, experiment: Experiment) -> None:
    """Refuse what is neither of a paper nor of the board."""
    if not is_of_board(experiment.name):
        raise ResultsError(
            f"{source}: {experiment.name!r} is no config of a paper, and no row of the board, whose names begin with "
            f"`{BOARD}_`: `mlcdr run {BOARD} --method my_methods.Mine` makes one"
        )
    if departures := list_departures(experiment):
        raise ResultsError(f"{source}: differs from the config {BOARD} in {', '.join(departures)}")


def _refuse_to_replace(folder: Path, source: Path, experiment: Experiment) -> None:
    """Refuse to store an experiment where another one of its name is stored."""
    if not (folder / "experiment.yaml").exists():
        return
    changes = list_changes(read_experiment(folder), experiment)
    differing = [change.partition(":")[0] for change in changes]
    if differing:
        raise ResultsError(
            f"{folder}: has another experiment of this name, which differs in {', '.join(differing)}; "
            f"give that of {source} another name, or remove {folder} first"
        )


# -------------------------------------------------------------------- where it is stored


def _recipe_of(experiment: Experiment) -> tuple[Recipe | None, str]:
    """The recipe that an experiment's name means, and the variant it is run as; none if it is of no paper."""
    for name, recipe in recipes.recipes().items():
        plain = name.replace("/", "_")
        if experiment.name == plain:
            return recipe, recipe.variant
        if experiment.name == f"{plain}_{SMALL}" and f"{name}_{SMALL}" not in recipes.recipes():
            return recipe, f"{recipe.variant}_{SMALL}".lstrip("_")
    return None, ""


def _own_name(source: Path, experiment: Experiment) -> str:
    """The folder of an experiment of no paper: a recorded experiment may have any name, even a path elsewhere."""
    try:
        return folder_name(experiment.name)
    except ValueError as error:
        raise ResultsError(f"{source}: {error}") from None


# -------------------------------------------------------------------- the files


def _printed_cells(results: Results, table: str) -> pd.DataFrame:
    """The cells of a published table that results have."""
    (compared,) = compare_with_published([results], table)
    return compared.cells[compared.cells["n"] > 0].assign(table=table)


def _write_summary(folder: Path, results: Results) -> None:
    header = ["dataset", "method", *results.swept, "metric", "mean", "std", "se", "n"]
    cells = results.summary[header].astype(object)
    for name in ("mean", "std", "se"):
        cells[name] = cells[name].map(shorten)
    write_atomically(folder / "summary.csv", format_csv(header, cells.to_numpy().tolist()))


def _write_choices(folder: Path, results: Results) -> None:
    """How often each value of a tuned parameter was chosen, the most frequent first."""
    header = ["dataset", "method", "parameter", "value"]
    counts = group(results.chosen, header).size().reset_index(name="n")
    counts = counts.sort_values([*header[:3], "n"], ascending=[True, True, True, False], kind="stable").astype(object)
    write_atomically(folder / "chosen.csv", format_csv([*header, "n"], counts.to_numpy().tolist()))


def _write_comparison(folder: Path, cells: list[pd.DataFrame], facts: dict[str, Any]) -> None:
    compared = pd.concat([pd.DataFrame(columns=COLUMNS), *(each[COLUMNS] for each in cells)]).astype(object)
    for name in ("ours", "se", "difference", "z"):
        compared[name] = compared[name].map(shorten)
    write_atomically(folder / "comparison.csv", format_csv(COLUMNS, compared.to_numpy().tolist()))
    write_atomically(folder / "manifest.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def shorten(value: float) -> str:
    """A number as the record has it: six digits, nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"


# -------------------------------------------------------------------- the commit


def commit_of_checkout(dirty: bool = False) -> str:
    """The commit of the source checkout that this package is of; `dirty` allows changes, and marks the commit if any.

    Raises
    ------
    UserError
        When there is no checkout, or a file differs from its commit (but for the record itself), or a Python file is
        in no commit.
    """
    datasets = checkout_folder()
    root = datasets.parent if datasets else Path()
    try:
        head = _git(root, "rev-parse", "HEAD")
        status = _git(root, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!results/record")
    except (OSError, subprocess.CalledProcessError):
        datasets = None
    if datasets is None:
        raise UserError("the record is made in a checkout of the source code with git")
    lines = [line.replace('"', "") for line in status.splitlines()]  # a name with spaces is quoted
    changed = [line for line in lines if not line.startswith("??") or line.endswith(".py")]
    if not changed:
        return head
    if dirty:
        return f"{head} with changes"
    state, first = changed[0].split(maxsplit=1)
    what = "is in no commit" if state == "??" else "differs from its commit"
    raise UserError(f"{first} {what}, and the record is of one commit: commit it, or use --dirty")


def _git(root: Path, *words: str) -> str:
    line = ["git", "-C", str(root), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
