"""Our cells and published ones: results against a paper's printed table.

`compare_with_published` gives every cell of a table its number here and a verdict (`mlcdr.papers.judging`), and says
in which settings the results are others than those that give the printed numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import Experiment
from mlcdr.papers import recipes
from mlcdr.papers.judging import Rules, Verdict, judge, rules_for
from mlcdr.papers.matching import PATHS, match_cells, match_rows
from mlcdr.papers.printed import KEY, load_table, n_places, plain_name, read_settings
from mlcdr.results.failures import join_some
from mlcdr.results.joining import LARGE, join_names, list_other_methods
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import as_texts, format_mean, plain_word

_NUMBERS = ("ours", "se", "n", "published", "published_se", "difference", "z")
_DIMENSIONS = ("label_dim", "feature_dim")
_FEW = 8  # names that a message has of each kind
_PROTOCOL = ("kind", "repeats", "folds", "train_size")
"""Of the splits' settings, those that make a protocol; the seed does not."""


@dataclass(frozen=True, repr=False, eq=False)
class PublishedComparison(ShownSheet):
    """All cells of a published table, in its order, each with its verdict.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    folder : str
        The results folder.
    cells : frame
        The cells, each with our number and its verdict (`mlcdr.papers.judging.judge`).
    only_ours : tuple of str
        Methods of the folder that the table does not have.
    rules : Rules
        By which the cells were judged.
    remarks : tuple of str
        What else a reader of the comparison must know.
    """

    table: str
    folder: str
    cells: pd.DataFrame
    only_ours: tuple[str, ...]
    rules: Rules
    remarks: tuple[str, ...] = ()

    columns = (*KEY, "verdict", *_NUMBERS)

    def count(self, verdict: Verdict) -> int:
        """How many cells have this verdict."""
        return int((self.cells["verdict"] == verdict).sum())

    @property
    def compared(self) -> int:
        """How many cells could be judged: neither not run nor n/a nor known to be not reproducible."""
        return self.count("agrees") + self.count("differs") + self.count("undecided")

    def summary(self) -> str:
        """One line: how many cells agree, the worst, and what could not be compared."""
        parts = [f"{self.count('agrees')} of {self.compared} cells within {self.rules.describe_limit()}"]
        parts += self._describe_worst()
        others: tuple[Verdict, ...] = ("undecided", "not reproducible", "not run", "n/a")
        parts += [f"{self.count(verdict)} {verdict}" for verdict in others if self.count(verdict)]
        return "; ".join(parts)

    def _describe_worst(self) -> Iterator[str]:
        """The cell with the largest |z|: of those that differ, or of all if none does."""
        is_judged = self.cells["verdict"].isin(["agrees", "differs"])
        judged = self.cells[is_judged].dropna(subset="z")
        differing = judged[judged["verdict"] == "differs"]
        worst = differing if len(differing) else judged
        if len(worst):
            cell = worst.loc[worst["z"].abs().idxmax()]
            where = [cell["dataset"], cell["method"], *read_settings(cell["setting"]).values()]
            if self.cells["metric"].nunique() > 1:
                where.append(cell["metric"])
            yield f"worst: {' '.join(filter(None, where))} z={cell['z']:.1f}"

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each cell of the published table, in its order."""
        return as_texts(self.cells[list(self.columns)])

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:" + plain_name(self.table).replace("_", "-")

    @property
    def sheet(self) -> Sheet:
        """A row for each cell of the data sets that are compared, with the summary below."""
        without = self.cells["verdict"].isin(["not run", "n/a"])
        there = self.cells["dataset"][~without].unique()
        cells = self.cells[self.cells["dataset"].isin(there)]
        metrics = cells["metric"].unique()
        of = f" ({metrics[0]})" if len(metrics) == 1 else ""
        return tabulate_cells(f"{self.folder} compared with {self.table}{of}", cells, list(self._list_notes(there)))

    def _list_notes(self, there: Sequence[str]) -> Iterator[str]:
        """The notes; data sets that are not `there` are named, in place of rows of dashes."""
        yield f"{self.summary()}."
        yield "The cells of a data set share their splits, so their z move together."
        for why, _, cells in self.reasons():
            yield f"Not reproducible, {join_words(cells)}: {why}."
        absent = [name for name in self.cells["dataset"].unique() if name not in there]
        if absent:
            yield f"No cell of {join_words(absent)} in the results."
        if self.only_ours:
            yield f"Not in the published table: {join_words(self.only_ours)}."
        yield from self.remarks

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        """Each reason why cells are not reproducible, how many cells it is for, and of which data sets and methods."""
        unjudged = self.cells[self.cells["verdict"] == "not reproducible"]
        names = (unjudged["dataset"] + " " + unjudged["method"]).str.strip()
        reasons = []
        for why, cells in names.groupby(self.rules.why_not(unjudged), sort=False):
            reasons.append((why, len(cells), cells.unique().tolist()))
        return reasons


def tabulate_cells(caption: str, cells: pd.DataFrame, notes: Sequence[str] = ()) -> Sheet:
    """A row for each judged cell; a column `table`, if there is one, says which of several tables it is of."""
    labels = _label_cells(cells)
    rows = []
    for left, cell in zip(labels.to_numpy(), cells.itertuples(), strict=True):
        rows.append((*left, *show_cell(cell)))
    header = (*labels, "Ours", "Published", "Diff.", "z", "Verdict")
    stub = len(labels.columns.drop("Ours at", errors="ignore"))
    return make_sheet(caption, header, rows, stub, notes, left=(len(header) - 1,), nested=2)


def _label_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """What tells the cells of a table apart, by the heads of its columns; and the points of grids that ours are of."""
    labels = pd.DataFrame({"Dataset": cells["dataset"], "Method": cells["method"]})
    if "table" in cells and (cells["table"] != "").any():
        labels.insert(0, "Table", cells["table"])
    settings = pd.DataFrame(list(map(read_settings, cells["setting"])), cells.index)
    if len(settings.columns) == 1 and settings.notna().all(axis=None):  # of a single one its values are enough
        (name,) = settings
        labels["Dim." if name in _DIMENSIONS else "Setting"] = settings[name]
    elif len(settings.columns):
        labels["Setting"] = cells["setting"]
    if cells["metric"].nunique() > 1:
        labels["Metric"] = cells["metric"]
    if (cells["at"] != "").any():
        labels["Ours at"] = cells["at"].replace("", DASH)
    return labels


def show_cell(cell: Any) -> tuple[str | Text, ...]:
    """Ours, published, difference, z, verdict of a row of `cells`; none to more places than the paper prints."""
    digits = n_places(cell.published)
    return (
        NOTHING if math.isnan(cell.ours) else format_mean(cell.ours, cell.se, digits or 4),
        show_printed(cell) or NOTHING,
        NOTHING if math.isnan(cell.difference) else signed(cell.difference, digits),
        NOTHING if math.isnan(cell.z) else signed(cell.z, 1),
        text(cell.verdict, bold=cell.verdict == "differs"),
    )


def show_printed(cell: Any) -> str:
    """What the paper prints, with its spread; empty where it prints nothing."""
    return f"{cell.published} ± {cell.spread}" if cell.published and cell.spread else cell.published


# -------------------------------------------------------------------- comparing


def compare_with_published(results: Sequence[Results], table: str) -> list[PublishedComparison]:
    """Results folders against a published table: all together if no cell is in two of them, else each by itself.

    Raises
    ------
    ResultsError
        When there is no such table, or the folders have not one of its cells.
    """
    cells, rules = load_table(table), rules_for(table)
    ours = [match_cells(each, cells, rules) for each in results]
    n_found = sum((each["n"] > 0).astype(int) for each in ours)
    if (n_found < 2).all():
        return [_compare(results, ours, cells, table, rules)]
    pairs = zip(results, ours, strict=True)
    return [_compare([each], [own], cells, table, rules) for each, own in pairs]


def _compare(
    results: Sequence[Results],
    ours: Sequence[pd.DataFrame],
    cells: pd.DataFrame,
    table: str,
    rules: Rules,
) -> PublishedComparison:
    """One comparison of all folders; each cell has the number of the folder that has one."""
    found = ours[0].copy()
    for other in ours[1:]:
        missing = found["n"] == 0
        found[missing] = other[missing]
    folder = join_words([str(each.folder) for each in results])
    judged = judge(cells, found, rules)
    if judged["verdict"].isin(["not run", "n/a"]).all():
        in_folders = "; ".join(f"{each.folder}: {_describe(_list_parts(each))}" for each in results)
        in_table = _describe({name: cells[key] for name, key in _PARTS.items()})
        raise ResultsError(
            f"{folder} has no cell of {table}. The table: {in_table}. The folder {in_folders}. "
            f"A run with cells of it has methods with the table's names on its data sets{_list_keys(cells)}"
        )
    theirs = {plain_word(method) for method in cells["method"]}
    methods = join_names(each.methods for each in results)
    remarks = chain.from_iterable(_remark_on_settings(each, table) for each in results)
    return PublishedComparison(
        table=table,
        folder=folder,
        cells=judged,
        only_ours=tuple(method for method in methods if plain_word(method) not in theirs),
        rules=rules,
        remarks=tuple(remarks),
    )


def _list_keys(cells: pd.DataFrame) -> str:
    """`, and sweeps label_space.n_components: [20%, 40%]`: what fills the settings of a table; empty without any."""
    values: dict[str, dict[str, None]] = {}
    for setting in cells["setting"]:
        for key, value in read_settings(setting).items():
            values.setdefault(PATHS.get(key, (key,))[0], {}).setdefault(value)
    swept = [f"{path}: [{', '.join(found)}]" for path, found in values.items()]
    return f", and sweeps {join_words(swept)}" if swept else ""


_PARTS = {"data sets": "dataset", "methods": "method", "settings": "setting", "metrics": "metric"}


def _list_parts(results: Results) -> dict[str, Iterable[str]]:
    """What results are of."""
    swept = {path: results.values(path) for path in results.swept}
    return {"data sets": results.datasets, "methods": results.methods, **swept, "metrics": results.metrics}


def _describe(parts: Mapping[str, Iterable[str]]) -> str:
    """`data sets yeast; methods PLST and CPLST; settings none`."""
    return "; ".join(f"{what} {join_some(filter(None, names), _FEW) or 'none'}" for what, names in parts.items())


def mark_verdict(cell: Any) -> tuple[str, str]:
    """The mark of a judged cell in a table: its verdict, and what the paper prints."""
    shown = make_sheet("", [], [show_cell(cell)], 0)
    _, printed, difference, z, verdict = (each.plain for each in shown.rows[0])
    return verdict.replace(" ", "-"), f"published {printed}\ndiff. {difference}, z {z}: {verdict}"


def mark_cells(
    compared: PublishedComparison,
    results: Results,
    mark: Callable[[Any], tuple[str, str]] = mark_verdict,
) -> dict[Any, tuple[str, str]]:
    """Marks for a table of the results: each cell that has a printed number → what `mark` makes of the judged cell."""
    rows = match_rows(results, compared.cells, compared.rules)
    keys = results.summary[results.keys]
    found = compared.cells.assign(row=rows)
    there = found[found["row"].isin(keys.index) & ~found["verdict"].isin(["not run", "n/a"])]
    marks = {}
    for cell in there.itertuples():
        dataset, method, *point, metric = keys.loc[cell.row]
        marks[dataset, method, tuple(point), metric] = mark(cell)
    return marks


# -------------------------------------------------------------------- whether the settings are those of the table


def _remark_on_settings(results: Results, table: str) -> Iterator[str]:
    """How a run differs from the configs of a table: in its splits, and in methods that bear the same names."""
    known = recipes.recipes()
    named = [known[name] for name in (table, f"{table}_{LARGE}") if name in known]
    if not named:
        return
    ours = _protocol_of(results.experiment)
    # the config of the table's large data sets may have splits of its own, which are just as valid for these
    protocols = [_protocol_of(recipe.outline) for recipe in named if _is_for(recipe, results)]
    if ours not in protocols:
        theirs = _protocol_of(named[0].outline)
        differing = [key for key in _PROTOCOL if ours.get(key) != theirs.get(key)]
        here = ", ".join(f"{key} {ours.get(key, DASH)}" for key in differing)
        there = ", ".join(f"{key} {theirs.get(key, DASH)}" for key in differing)
        yield f"The splits of {results.folder} have {here}; those that give the printed numbers have {there}."
    outlines = [recipe.outline for recipe in named]
    others = [list_other_methods(results.experiment, each.methods, each.sweep) for each in outlines]
    for difference in min(others, key=len):
        yield f"Not the methods that give the printed numbers: in {results.folder} {difference}."


def _protocol_of(experiment: Experiment) -> dict[str, Any]:
    """How the splits of an experiment are made."""
    return {key: value for key, value in experiment.splits if key in _PROTOCOL}


def _is_for(recipe: recipes.Recipe, results: Results) -> bool:
    """Whether the splits of a config count for results; those of one of large data sets do for these only."""
    names = {spec.name for spec in recipe.outline.datasets}
    return recipe.variant != LARGE or names.issuperset(results.datasets)
