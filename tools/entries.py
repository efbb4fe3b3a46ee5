"""The record as a maintainer sees it: its cells beside the printed ones, and whether they are of the present code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import pandas as pd

from mlcdr.csv_files import read_csv
from mlcdr.errors import ResultsError, UserError
from mlcdr.experiment.keys import codes
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.shipped import shipped_configs
from mlcdr.experiment.splits import KFold
from mlcdr.papers import recipes
from mlcdr.papers.board import list_departures
from mlcdr.papers.judging import FEWEST, Rules, Verdict, judge, published_errors, rules_for
from mlcdr.papers.printed import KEY, read_cells
from mlcdr.papers.published import PublishedComparison
from mlcdr.papers.recipes import SMALL, Recipe
from mlcdr.papers.stored import StoredRun
from mlcdr.results.exports import read_number

COLUMNS = ["table", *KEY, "published", "ours", "se", "n", "difference", "z", "verdict", "at"]
"""Of a `comparison.csv`."""

_MAY_LACK = ("se", "z", "difference")


def is_small(run: StoredRun) -> bool:
    """Whether it is the small variant of a table."""
    return run.name.endswith(f"_{SMALL}")


def stored_cells(run: StoredRun) -> dict[str, pd.DataFrame]:
    """Published table → its cells that a run has, in the columns of `mlcdr.papers.judging.judge`, and `df`.

    `df` is the degrees of freedom of the deviation that `se` is made of.

    Raises
    ------
    ResultsError
        When a row is not of the published table, is there twice, or is not what it should be; with file and line.
    """
    source = run.folder / "comparison.csv"
    lines = read_csv(source, ResultsError)
    if next(lines, (1, []))[1] != COLUMNS:
        raise ResultsError(f"{source}:1: the columns should be {','.join(COLUMNS)}")
    rows: list[dict[str, Any]] = []
    for line, values in lines:
        row: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
        if row["verdict"] not in get_args(Verdict):
            known = ", ".join(get_args(Verdict))
            raise ResultsError(f"{source}:{line}: the verdict {row['verdict']!r} is not one of {known}")
        for name in ("ours", "se", "n", "difference", "z"):
            row[name] = read_number(source, line, name, row[name], gaps=name in _MAY_LACK)
        rows.append(row | {"line": line})
    stored = pd.DataFrame(rows, columns=[*COLUMNS, "line"]).astype({"n": int})
    found = {}
    for table, cells in stored.groupby("table", sort=False):
        beside = _beside_printed(table, cells, str(source))
        found[table] = beside.assign(df=_count_values(run, beside["n"], rules_for(table)) - 1)
    return found


def _beside_printed(table: str, stored: pd.DataFrame, source: str) -> pd.DataFrame:
    """The stored cells of a table with the printed spreads."""
    places = [*KEY, "published"]
    printed = read_cells(table).rename(columns={"mean": "published"})
    cells = stored.drop(columns="table").merge(printed[[*places, "spread", "spread_kind"]], how="left", on=places)
    wrong = cells[cells["spread"].isna() | cells.duplicated(KEY)]
    if len(wrong):
        first = wrong.iloc[0]
        place = " ".join(filter(None, first[KEY]))
        raise ResultsError(f"{source}:{first['line']}: a row for {place}, which {table} lacks, or a second one")
    return cells.drop(columns="line").assign(published_se=published_errors(cells, rules_for(table)))


def _count_values(run: StoredRun, n_splits: pd.Series, rules: Rules) -> pd.Series:
    """How many numbers the deviation behind `se` is of: the repetitions where it is theirs, else the splits."""
    if rules.spread != "repetitions" or not isinstance(run.experiment.splits, KFold):
        return n_splits
    repetitions = n_splits // run.experiment.splits.folds
    return repetitions.where(repetitions >= FEWEST, n_splits)


def comparisons(runs: Iterable[StoredRun]) -> dict[tuple[str, str], tuple[PublishedComparison, list[StoredRun]]]:
    """(table, variant) → all printed cells with what is stored of them, and the runs that have it; sorted."""
    groups: dict[tuple[str, str], list[tuple[StoredRun, pd.DataFrame]]] = {}
    for run in runs:
        for table, cells in stored_cells(run).items():
            groups.setdefault((table, run.variant), []).append((run, cells))
    found = {}
    for (table, variant), members in sorted(groups.items(), key=lambda group: group[0]):
        rules = rules_for(table)
        printed = read_cells(table)
        nothing = pd.DataFrame({"mean": math.nan, "se": math.nan, "n": 0, "at": ""}, index=printed.index)
        without = judge(printed, nothing, rules)
        # of two runs that have a cell the first is taken; a cell that none has is not run
        every = pd.concat([*(cells for _, cells in members), without]).drop_duplicates(KEY)
        cells = printed[KEY].merge(every, how="left", on=KEY)
        found[table, variant] = (
            PublishedComparison(table, "the record", cells, (), rules),
            [run for run, _ in members],
        )
    return found


# -------------------------------------------------------------------- whether it is up to date


def outdated(run: StoredRun) -> list[str]:
    """How a run differs from what its config gives now: methods with other code, settings that changed."""
    if run.counts_data:
        return []
    reasons = [each for each in changes_of(run) if not each.startswith("datasets: ")]  # those at hand then
    try:
        others = methods_of_other_code(run.experiment, run.manifest.code)
    except UserError as error:
        return [*reasons, str(error)]
    if others:
        reasons.append(f"computed by other code: {', '.join(others)}")
    return reasons


def methods_of_other_code(experiment: Experiment, code: Mapping[str, str]) -> list[str]:
    """The methods whose code is not `code` now."""
    return [name for name, now in codes(experiment).items() if code.get(name) != now]


def changes_of(run: StoredRun) -> list[str]:
    """How the experiment of a run differs from its present config."""
    recipe = recipes.recipes().get(run.manifest.config)
    if recipe is not None:
        return list(list_changes(_expected(recipe, run.manifest.variant), run.experiment))
    if run.counts_data:
        return []
    if not run.is_of_board:
        return ["no config of this name"]
    config = shipped_configs().get(run.manifest.config)
    if config is None:  # a row of one's own
        return list_departures(run.experiment)
    return list(list_changes(load_experiment(config, look_up=False, instances=False), run.experiment))


def _expected(recipe: Recipe, variant: str) -> Experiment:
    """The experiment as the config, or its reduction, has it; its outline where an extra is not installed."""
    is_whole = not recipe.lacks()
    if variant.endswith(SMALL) and not recipe.variant.endswith(SMALL):
        (step,) = recipes.steps(recipe.name, small=True)
        return load_experiment(recipe.path, step.overrides, look_up=False, instances=is_whole)
    return recipe.experiment if is_whole else recipe.outline


def list_changes(expected: Experiment, stored: Experiment) -> Iterator[str]:
    """`key.path: 4 (config: 100)` for what affects the numbers; the folders of the folds do not."""
    ours, theirs = (dict(_flatten(_bearing(each))) for each in (stored, expected))
    for path in dict.fromkeys([*theirs, *ours]):
        if ours.get(path) != theirs.get(path):
            here, there = (json.dumps(each[path]) if path in each else "none" for each in (ours, theirs))
            yield f"{path}: {here} (config: {there})"


def _bearing(experiment: Experiment) -> dict[str, Any]:
    """What affects the numbers, as plain data; data sets by the names that the catalogue gives them."""
    datasets = tuple(spec.model_copy(update={"name": spec.short_name()}) for spec in experiment.datasets)
    whole = experiment.model_copy(update={"datasets": datasets}).resolved()
    whole["splits"].pop("folders", None)
    kept = {key: whole[key] for key in ("datasets", "metrics", "sweep", "methods", "splits") if key in whole}
    plain: dict[str, Any] = json.loads(json.dumps(kept))
    return plain


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield path, value
        return
    for key, inner in value.items():
        yield from _flatten(inner, f"{path}.{key}".lstrip("."))
