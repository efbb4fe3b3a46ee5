"""Our cells and published ones: a results folder against a paper's printed table.

The printed tables are the package's `published/PAPER/TABLE.csv`. A cell is found by data set and method (case and
hyphens do not matter), metric, and setting: `label_dim=20%` is the cell whose `label_space.n_components`, swept or
fixed in the method, was written `20%` or `0.2`.

How a cell is judged. `difference` is ours − published, `z` = difference / √(se² + published se²). It *agrees* if
|z| ≤ 3 or |difference| ≤ 0.0005, else it *differs*. A table may have rules of its own (`mlcdr.reproduce.judging`), and
cells that are known to be *not reproducible*: these are shown, not judged. Three things limit what this can show:

- A printed number is rounded: the mean is known to half a unit of its last place, and so is the difference. Nothing
  is shown to more places than the paper prints.
- A standard error printed as 0.0000 only says that it is below 0.00005. It is taken as half of that, 0.000025: the
  middle of what it can be.
- A printed standard deviation becomes a standard error by √n with *our* number of splits, since
  the papers' tables do not give theirs; this is right if the protocol is the same.

The cells of a data set come from the same splits, ours as theirs, so their z move together: ten cells at −2 are one
deviation, not ten.

Where a standard error is missing on either side there is no z: within the tolerance the cell agrees, beyond it it is
*undecided*. A cell that the folder lacks is *not run*; one that the paper does not give, or that cannot be read, is
*n/a*.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

from mlcdr.errors import ResultsError, join_words, list_known, suggest_name
from mlcdr.experiment.model import LABELLED, Experiment
from mlcdr.reproduce.judging import FEWEST, FOLDER, Rules, rules_for
from mlcdr.results.results import Results
from mlcdr.results.scores import Cell, Key, Point
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import format_mean, number

Verdict = Literal["agrees", "differs", "undecided", "not reproducible", "not run", "n/a"]

_ROUNDING = 1e-9  # so that a difference of exactly the tolerance is within it

_HEADER = ["dataset", "method", "setting", "metric", "mean", "spread", "spread_kind", "rank", "note"]
_PATHS = {
    "label_dim": ("label_space.n_components", "dual_space.n_labels", "dual_space.n_components"),
    "feature_dim": ("feature_space.n_components", "feature_space.n_features", "dual_space.n_features"),
    "labeled": ("splits.labelled",),
}
_SHORT = {"label_dim": "Dim.", "feature_dim": "Dim."}


@dataclass(frozen=True)
class PublishedCell:
    """One printed number. `mean` and `spread` are the text as printed, empty where there is none."""

    dataset: str
    method: str
    setting: str
    metric: str
    mean: str
    spread: str
    spread_kind: str
    note: str

    @property
    def digits(self) -> int:
        """How many decimal places are printed."""
        return len(self.mean.partition(".")[2])

    @property
    def settings(self) -> dict[str, str]:
        """`label_dim=20%;feature_dim=40%` as a mapping."""
        return dict(part.split("=", 1) for part in self.setting.split(";") if "=" in part)

    @property
    def deviation(self) -> float:
        """The printed spread, of which 0 stands for a quarter of its last digit; NaN where none is printed."""
        return float(self.spread or "nan") or 0.25 * 10.0 ** -len(self.spread.partition(".")[2])

    def standard_error(self, n: float, rules: Rules) -> float:
        """The printed spread as a standard error over `n` splits (NaN: unknown); NaN where none is printed."""
        if self.spread_kind not in ("standard_error", "std"):
            return float("nan")
        spread = self.deviation
        is_error = self.spread_kind == "standard_error" or rules.std == "standard_error"
        return spread if is_error else spread / math.sqrt(n)


@dataclass(frozen=True)
class ComparedCell:
    """One row of a comparison. Numbers are NaN where there are none; `setting` is the point of a grid that ours is of.

    `ours_se` is the standard error, or what the table's rules have in its place; `n` is how many splits ours is over.
    """

    published: PublishedCell
    ours: float
    ours_se: float
    published_se: float
    difference: float
    z: float
    verdict: Verdict
    setting: str = ""
    n: int = 0


@dataclass(frozen=True, repr=False)
class PublishedComparison(ShownSheet):
    """All cells of a published table, in its order, each with its verdict.

    Attributes
    ----------
    table : str
        `PAPER/TABLE`.
    folder : str
        The results folder.
    rows : tuple of ComparedCell
    only_ours : tuple of str
        Methods of the folder that the table does not have.
    rules : Rules
        By which the cells were judged.
    remarks : tuple of str
        What else a reader of the comparison must know.
    """

    table: str
    folder: str
    rows: tuple[ComparedCell, ...]
    only_ours: tuple[str, ...]
    rules: Rules
    remarks: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many cells have this verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def compared(self) -> int:
        """How many cells could be judged: neither not run nor n/a nor known to be not reproducible."""
        return len(self.rows) - self.count("not run") - self.count("n/a") - self.count("not reproducible")

    @property
    def worst(self) -> ComparedCell | None:
        """The cell with the largest |z|: of those that differ, or of all if none does."""
        judged = [row for row in self.rows if not math.isnan(row.z) and row.verdict != "not reproducible"]
        differing = [row for row in judged if row.verdict == "differs"]
        return max(differing or judged, key=lambda row: abs(row.z), default=None)

    def summary(self) -> str:
        """One line: how many cells agree, the worst, and what could not be compared."""
        agreeing = f"{self.count('agrees')} of {self.compared} cells within {self.rules.describe_limit()}"
        parts = [agreeing]
        if worst := self.worst:
            cell = worst.published
            setting = " ".join(cell.settings.values())
            where = " ".join(filter(None, (cell.dataset, cell.method, setting)))
            several = len({row.published.metric for row in self.rows}) > 1
            parts.append(f"worst: {where}{' ' + cell.metric if several else ''} z={worst.z:.1f}")
        others: tuple[Verdict, ...] = ("undecided", "not reproducible", "not run", "n/a")
        for verdict in others:
            if count := self.count(verdict):
                parts.append(f"{count} {verdict}")
        return "; ".join(parts)

    columns: ClassVar[tuple[str, ...]] = (
        *("dataset", "method", "setting", "metric", "verdict"),
        *("ours", "se", "n", "published", "published_se", "difference", "z"),
    )

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each cell of the published table, in its order."""
        return tuple(
            (
                *(cell.dataset, cell.method, cell.setting, cell.metric, row.verdict),
                *(number(row.ours), number(row.ours_se), str(row.n), cell.mean),
                *(number(row.published_se), number(row.difference), number(row.z)),
            )
            for row, cell in ((row, row.published) for row in self.rows)
        )

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:" + plain_name(self.table).replace("_", "-")

    @property
    def sheet(self) -> Sheet:
        """A row for each cell of the data sets that are compared, with the summary below."""
        absent = self._absent()
        shown = [row for row in self.rows if row.published.dataset not in absent]
        keys = {tuple(row.published.settings) for row in shown}
        single = next(iter(keys))[0] if len(keys) == 1 and len(next(iter(keys))) == 1 else ""
        metrics = list(dict.fromkeys(row.published.metric for row in shown))
        labels = ["Dataset", "Method"]
        labels += [_SHORT.get(single, "Setting")] if keys != {()} else []
        labels += ["Metric"] if len(metrics) > 1 else []
        any_at = any(row.setting for row in shown)
        stub = len(labels)
        labels += ["Ours at"] if any_at else []
        lines: list[tuple[str | Text, ...]] = []
        for row in shown:
            cell = row.published
            left = [cell.dataset, cell.method]
            left += [cell.settings[single] if single else cell.setting] if keys != {()} else []
            left += [cell.metric] if len(metrics) > 1 else []
            left += [row.setting or DASH] if any_at else []
            lines.append((*left, *_shown(row)))
        header = (*labels, "Ours", "Published", "Diff.", "z", "Verdict")
        of = f" ({metrics[0]})" if len(metrics) == 1 else ""
        caption = f"{self.folder} compared with {self.table}{of}"
        notes = [self.summary() + ".", "The cells of a data set share their splits, so their z move together."]
        notes += [f"Not reproducible, {join_words(cells)}: {why}." for why, _, cells in self.reasons()]
        notes += [f"No cell of {join_words(absent)} in the results."] if absent else []
        notes += [f"Not in the published table: {join_words(self.only_ours)}."] if self.only_ours else []
        notes += self.remarks
        return make_sheet(caption, header, lines, stub, notes, (len(header) - 1,), nested=2)

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        """Each reason why cells are not reproducible, how many cells it is for, and of which data sets and methods."""
        found: dict[str, list[str]] = {}
        for cell in (row.published for row in self.rows if row.verdict == "not reproducible"):
            why = self.rules.why_not(cell.dataset, cell.method, cell.metric)
            found.setdefault(why, []).append(f"{cell.dataset} {cell.method}".strip())
        return [(why, len(cells), list(dict.fromkeys(cells))) for why, cells in found.items()]

    def _absent(self) -> list[str]:
        """The data sets without a cell in the results: a note names them, in place of rows of dashes."""
        there = {row.published.dataset for row in self.rows if row.verdict not in ("not run", "n/a")}
        return [name for name in dict.fromkeys(row.published.dataset for row in self.rows) if name not in there]


def mark_cells(compared: PublishedComparison, results: Results) -> dict[Key, tuple[str, str]]:
    """Marks for `tables.make_table`: each judged cell of the results → its verdict, and what the paper prints."""
    finder = Finder(results, compared.rules)
    marks = {}
    for row in compared.rows:
        key = finder.locate(row.published)
        if key is not None and row.verdict not in ("not run", "n/a"):
            _, printed, difference, z, verdict = (each if isinstance(each, str) else each.plain for each in _shown(row))
            marks[key] = (verdict.replace(" ", "-"), f"published {printed}\ndiff. {difference}, z {z}: {verdict}")
    return marks


def plain_name(name: str) -> str:
    """A name with `_` for `/` and `-`, and with only the authors and the year of the paper's name."""
    return re.sub(r"^([a-z_]+_\d{4})_(?:thesis|mvmd)_", r"\1_", f"{re.sub('[-/]', '_', name.strip('/'))}_")[:-1]


def full_name(name: str, known: Sequence[str]) -> str:
    """The known name that a name is another spelling of (`chen-lin-2012-table3`); else the name as it is."""
    return {plain_name(each): each for each in known}.get(plain_name(name), name)


def names() -> list[str]:
    """The published tables of methods' results, `PAPER/TABLE`, sorted."""
    return [name for name in every_name() if any(cell.method and cell.metric for cell in cells_of(name))]


def tables_behind(experiment: Experiment) -> list[str]:
    """The published tables that an experiment repeats, by its name (`PAPER_TABLE[_VARIANT]`) or its tables' layouts."""
    called = {name: f"{name.replace('/', '_')}_" for name in every_name()}
    named = [name for name, start in called.items() if f"{experiment.name}_".startswith(start)]
    longest = [max(named, key=len)] if named else []
    laid_out = [spec.layout for spec in experiment.tables if spec.layout in called]
    return [name for name in dict.fromkeys([*longest, *laid_out]) if name in names()]


def data_set_names() -> list[str]:
    """The published tables of facts about data sets, `PAPER/TABLE`, sorted."""
    return [name for name in every_name() if not any(cell.method for cell in cells_of(name))]


def load(table: str, of_data_sets: bool = False) -> tuple[PublishedCell, ...]:
    """The cells of a published table, `PAPER/TABLE`; or of one of data sets: facts of the data, of no method.

    Raises
    ------
    ResultsError
        When there is no such table.
    """
    known = [name for name in every_name() if any(not cell.method and cell.dataset for cell in cells_of(name))]
    known = known if of_data_sets else names()
    if table not in known:
        what = "published table of data sets" if of_data_sets else "published table"
        known = [each for each in known if each.partition("/")[0] == table.partition("/")[0]] or known
        raise ResultsError(
            f"no {what} {table!r}{suggest_name(table, known)} ({list_known(known, '`mlcdr reproduce`')})"
        )
    return cells_of(table)


def compare(results: Results | Sequence[Results], table: str) -> PublishedComparison:
    """Every cell of a published table with ours, which is looked for in each of the `results` in turn.

    Raises
    ------
    ResultsError
        When there is no such table, or the folders have not one of its cells.
    """
    cells, rules = load(table), rules_for(table)
    every = (results,) if isinstance(results, Results) else results
    finders = [Finder(each, rules) for each in every]
    rows = tuple(judge(cell, next(filter(None, (f.find(cell) for f in finders)), None), rules) for cell in cells)
    if all(row.verdict in ("not run", "n/a") for row in rows):
        have = "; ".join(
            f"{each.folder}: data sets {_few(each.datasets)}; methods {_few(each.methods)}; swept "
            f"{'; '.join(f'{p} {_few(each.values(p))}' for p in each.swept)}; metrics {_few(each.metrics)}"
            for each in every
        )
        raise ResultsError(
            f"{join_words([str(each.folder) for each in every])} has no cell of {table}. The table: data sets "
            f"{_few(c.dataset for c in cells)}; methods {_few(c.method for c in cells)}; settings "
            f"{_few(c.setting for c in cells)}; metrics {_few(c.metric for c in cells)}. The folder {have}"
        )
    theirs = {_key(cell.method) for cell in cells}
    only_ours = tuple(dict.fromkeys(m for each in every for m in each.methods if _key(m) not in theirs))
    return PublishedComparison(table, join_words([str(each.folder) for each in every]), rows, only_ours, rules)


def compare_all(results: Sequence[Results], table: str) -> list[PublishedComparison]:
    """One comparison of all folders together if no cell of the table is in two of them; else one of each."""
    if len(results) > 1:
        cells, rules = load(table), rules_for(table)
        finders = [Finder(each, rules) for each in results]
        if all(sum(finder.find(cell) is not None for finder in finders) < 2 for cell in cells):
            return [compare(results, table)]
    return [compare(each, table) for each in results]


class Finder:
    """Finds the cell of a results folder that a published cell is about."""

    def __init__(self, results: Results, rules: Rules):
        self.results, self.rules = results, rules
        self.datasets = {_key(name): name for name in results.datasets}
        self.methods = {_key(name): name for name in results.methods}

    def find(self, cell: PublishedCell) -> Cell | None:
        """Our cell, with the spread that the table's rules prescribe as its `se`."""
        key = self.locate(cell)
        if key is None:
            return None
        ours = self.results.cells[key]
        if self.rules.spread == "repetitions":
            means = self.results.repetitions(*key)
            if len(means) >= FEWEST:
                ours = replace(ours, se=statistics.stdev(means))
        return ours

    def locate(self, cell: PublishedCell) -> Key | None:
        """Where our cell is; None if there is none, or several fit."""
        called = self.rules.datasets.get(cell.dataset, cell.dataset)
        dataset, method = self.datasets.get(_key(called)), self.methods.get(_key(cell.method))
        if dataset is None or method is None:
            return None
        metric = self.rules.metrics.get(cell.metric, cell.metric)
        points = self.results.points_of(method)
        if cell.settings and self.rules.settings == "conditions":
            points = tuple(p for p in points if self._fits(method, p, cell.settings))
        keys = [(dataset, method, point, metric) for point in points]
        found = [key for key in keys if key in self.results.cells]
        # Without a setting in the table, or with further swept parameters, several may fit: then none is taken.
        return found[0] if len(found) == 1 else None

    def _fits(self, method: str, point: Point, settings: Mapping[str, str]) -> bool:
        return all(
            any(same_amount(self._written(method, point, path), wanted) for path in _PATHS.get(key, (key,)))
            for key, wanted in settings.items()
        )

    def _written(self, method: str, point: Point, path: str) -> str:
        """The value of a parameter, swept or fixed by the method's own config; empty if the method has none."""
        swept, experiment = self.results.swept, self.results.experiment
        if path in swept:
            return point[swept.index(path)]
        if path == LABELLED:
            return str(experiment.splits.labelled or "")
        spec = experiment.methods.get(method)
        at = spec.component_at(path) if spec else None
        return str(at[0].params.get(".".join(at[1]), "")) if at else ""


def same_amount(ours: str, theirs: str) -> bool:
    """Whether two written amounts are the same: equal as text, or equal as shares (`20%`, `0.2`).

    A whole number is a count, never a share: `1` is one dimension, `1.0` and `100%` are all of them.

    Examples
    --------
    >>> same_amount("0.2", "20%"), same_amount("1.0", "100%"), same_amount("1", "100%")
    (True, True, False)
    """
    if ours == theirs:
        return ours != ""
    a, b = _share(ours), _share(theirs)
    return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)


def _share(written: str) -> float | None:
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", written):
        return float(match[1]) / 100
    return float(written) if re.fullmatch(r"\d*\.\d+", written) and float(written) <= 1 else None


def judge(cell: PublishedCell, ours: Cell | None, rules: Rules) -> ComparedCell:
    """A printed cell with ours, or with none."""
    nan = float("nan")
    mean = float(cell.mean) if cell.mean else nan
    if ours is None:
        verdict: Verdict = "not run" if cell.mean else "n/a"
        return ComparedCell(cell, nan, nan, cell.standard_error(nan, rules), nan, nan, verdict)
    published_se = cell.standard_error(ours.n, rules)
    difference = ours.mean - mean
    if rules.spread == "printed":
        spread = cell.deviation
    else:
        spread = ours.se if rules.spread == "repetitions" else math.hypot(ours.se, published_se)
    z = difference / spread if spread > 0 else nan
    if math.isnan(difference):
        verdict = "n/a"
    elif rules.why_not(cell.dataset, cell.method, cell.metric):
        verdict = "not reproducible"
    elif abs(difference) <= rules.tolerance + _ROUNDING or abs(z) <= rules.max_z:
        verdict = "agrees"
    else:
        verdict = "undecided" if math.isnan(z) else "differs"
    setting = ",".join(value for _, value in ours.setting)
    return ComparedCell(cell, ours.mean, ours.se, published_se, difference, z, verdict, setting, ours.n)


def _shown(row: ComparedCell) -> tuple[str | Text, ...]:
    """Ours, published, difference, z, verdict; none to more places than the paper prints."""
    cell, digits = row.published, row.published.digits
    ours = NOTHING if math.isnan(row.ours) else format_mean(row.ours, row.ours_se, digits or 4)
    published = cell.mean + (f" ± {cell.spread}" if cell.spread else "") if cell.mean else NOTHING
    difference = NOTHING if math.isnan(row.difference) else signed(row.difference, digits)
    z = NOTHING if math.isnan(row.z) else signed(row.z, 1)
    return ours, published, difference, z, text(row.verdict, bold=row.verdict == "differs")


def _key(name: str) -> str:
    return re.sub(r"[^\w+]|_", "", name.casefold())  # BR+ is not BR


def _few(items: Any) -> str:
    unique = [item for item in dict.fromkeys(items) if item]
    return ", ".join(unique[:8]) + (" …" if len(unique) > 8 else "") if unique else "none"


def every_name() -> list[str]:
    """All files of printed numbers, `PAPER/TABLE`, sorted."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*.csv"))


@cache
def cells_of(table: str) -> tuple[PublishedCell, ...]:
    """The cells of a table, of methods or of data sets; none if the file is of another kind (ranks, complexities)."""
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames != _HEADER:
            return ()
        return tuple(PublishedCell(**{name: row[name] for name in _HEADER if name != "rank"}) for row in rows)
