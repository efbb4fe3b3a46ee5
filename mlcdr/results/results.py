"""Reading a results folder.

A results folder is what `mlcdr run` leaves. Read are `experiment.yaml` (the resolved config), `summary.csv` (one row
for each data set, method, sweep point and metric) and, where single splits matter, `scores.csv`. Whatever is missing or
broken in them raises `ResultsError` with the file, the line and what is wrong.

A method with `tune: {scope: test}` shows one number where it has a grid: the best on the test rows (see
`mlcdr.results.best`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.config.yaml_reader import read_yaml
from mlcdr.data.files import Part, short_name
from mlcdr.errors import ConfigError, ResultsError
from mlcdr.experiment.model import method_text
from mlcdr.metrics import METRICS
from mlcdr.results.best import Best, Repetitions, Setting, best_of, grids, named
from mlcdr.results.manifest import read_manifest
from mlcdr.results.metric_labels import metric_labels
from mlcdr.whole_files import is_own_file


class NoResults(ResultsError):
    """A folder of an experiment that has no results yet: nothing was computed, or every trial failed."""


Point = tuple[str, ...]
"""A point of the sweep: one text for each swept path, `""` where a method has no such parameter."""

Key = tuple[str, str, Point, str]
"""Of a cell: data set, method, point, metric."""

_SUMMARY = ("metric", "mean", "std", "se", "n")
_SCORES = ("split", "metric", "value")
_SHAPES = {"datasets": list, "metrics": list, "tables": list, "figures": list, "methods": dict, "sweep": dict}


@dataclass(frozen=True)
class Cell:
    """One summarised number: the mean over `n` splits, their standard deviation (n−1) and the mean's standard error.

    `std` and `se` are NaN where there is one split only. `setting`: what was taken of a grid, if the method has one.
    """

    mean: float
    std: float
    se: float
    n: int
    setting: Setting = ()


@dataclass(frozen=True)
class Results:
    """What one results folder holds.

    Attributes
    ----------
    folder : Path
    experiment : dict
        The resolved config as plain data.
    swept : tuple of str
        The swept config paths, which are columns of `summary` (`label_space.n_components`).
    points : tuple of Point
        The points of the sweep in the config's order; methods without a swept parameter have `""` there. Those of a
        value at which nothing has a result are among them.
    datasets, methods, metrics : tuple of str
        In the config's order; data sets and methods of the config that never got a result are among them, metrics not.
    summary : DataFrame
        `dataset, method, *swept, metric, mean, std, se, n`; of a grid (`grids`) only the best.
    grids : dict
        Method → the paths of its grid, for methods of which only the best of a grid is shown.
    best : dict
        (data set, method, point, metric) → what was taken of a grid.
    remarks : tuple of str
        What a reader must know of several folders that were joined.
    """

    folder: Path
    experiment: dict[str, Any]
    swept: tuple[str, ...]
    points: tuple[Point, ...]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    summary: pd.DataFrame
    grids: dict[str, tuple[str, ...]]
    best: dict[Key, Best]
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The experiment's name."""
        return str(self.experiment.get("name", self.folder.name))

    @cached_property
    def cells(self) -> dict[Key, Cell]:
        """(data set, method, point, metric) → cell, exactly as summary.csv has them. Undefined means are left out."""
        keys = zip(
            self.summary["dataset"],
            self.summary["method"],
            # rows of no columns: none at all in pandas 2
            self.summary[list(self.swept)].itertuples(index=False, name=None)
            if self.swept
            else [()] * len(self.summary),
            self.summary["metric"],
            strict=True,
        )
        numbers = self.summary[["mean", "std", "se", "n"]].itertuples(index=False, name=None)
        return {
            key: Cell(mean, std, se, int(n), self.best[key].setting if key in self.best else ())
            for key, (mean, std, se, n) in zip(keys, numbers, strict=True)
            if not math.isnan(mean)
        }

    def facts(self, dataset: str) -> Mapping[str, Any]:
        """What manifest.json says of a data set: `n_features`, `n_labels` …

        Raises
        ------
        ResultsError
            When it says nothing.
        """
        found = self._manifest.get("datasets", {}).get(dataset)
        if not isinstance(found, Mapping) or not {"n_features", "n_labels"} <= found.keys():
            raise ResultsError(f"{self.folder / 'manifest.json'}: says nothing of the data set {dataset}")
        return found

    def checksum(self, dataset: str) -> str:
        """What manifest.json has as the checksum of a data set's content; empty where it has none."""
        try:
            found = self._manifest.get("datasets", {}).get(dataset)
        except ResultsError:
            return ""
        return str(found.get("checksum", "")) if isinstance(found, Mapping) else ""

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return read_manifest(self.folder)

    def repetitions(self, dataset: str, method: str, point: Point, metric: str) -> tuple[float, ...]:
        """The mean of each whole repetition of the protocol: each repeat of a k-fold cross-validation, or all splits.

        Raises
        ------
        ResultsError
            When scores.csv cannot be read.
        """
        key = (dataset, method, self._own(method, point), metric)
        return self.best[key].repetitions if key in self.best else self._repetitions.get(key, ())

    @cached_property
    def scores(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """The single splits' scores (`dataset, method, <swept> …, split, metric, value`) and the swept columns' names.

        Of a grid, each point.

        Raises
        ------
        ResultsError
            When scores.csv cannot be read.
        """
        return _read_scores(self.folder / "scores.csv")

    @cached_property
    def _repetitions(self) -> dict[Key, tuple[float, ...]]:
        """`repetitions` of all cells without a grid."""
        scores, _ = self.scores
        scores = scores[~scores["method"].isin(list(self.grids))]
        repetitions = Repetitions.of(self.experiment)
        repeat = scores["split"].map(repetitions.number)
        means: dict[Key, list[float]] = {}
        keys = ["dataset", "method", *self.swept, "metric"]
        for found, values in scores.groupby([*keys, repeat], sort=True)["value"]:
            dataset, method, *point, metric, _ = found
            if repetitions.is_whole(len(values)):
                means.setdefault((dataset, method, tuple(point), metric), []).append(float(values.mean()))
        return {key: tuple(values) for key, values in means.items()}

    @cached_property
    def _absent(self) -> dict[str, frozenset[int]]:
        """For each method, the swept parameters (by position) it does not have."""
        absent = {}
        for method, rows in self.summary.groupby("method", sort=False):
            absent[str(method)] = frozenset(k for k, path in enumerate(self.swept) if (rows[path] == "").all())
        return absent

    def lacks(self, method: str, path: str) -> bool:
        """Whether `method` has results but no swept parameter `path`."""
        return path in self.swept and self.swept.index(path) in self._absent.get(method, ())

    def cell(self, dataset: str, method: str, point: Point, metric: str) -> Cell | None:
        """The number there, or None. A method without a swept parameter has the same number at all its values."""
        return self.cells.get((dataset, method, self._own(method, point), metric))

    def _own(self, method: str, point: Point) -> Point:
        """The point without the parameters that the method does not have."""
        absent = self._absent.get(method, ())
        return tuple("" if k in absent else value for k, value in enumerate(point))

    def points_of(self, method: str) -> tuple[Point, ...]:
        """The points of `method`, in the sweep's order."""
        mine = {key[2] for key in self.cells if key[1] == method}
        return tuple(point for point in self.points if point in mine)

    @cached_property
    def without_result(self) -> tuple[tuple[str, str], ...]:
        """The swept values, each with its path, at which nothing has a result."""
        there = [{key[2][k] for key in self.cells} for k in range(len(self.swept))]
        return tuple(
            (path, value)
            for path, found in zip(self.swept, there, strict=True)
            for value in self.values(path)
            if value not in found
        )

    def values(self, path: str) -> tuple[str, ...]:
        """The values a swept path takes, in order, as the config wrote them."""
        k = self.swept.index(path)
        return tuple(dict.fromkeys(point[k] for point in self.points if point[k] != ""))


def load(folder: str | Path) -> Results:
    """Read a results folder.

    Raises
    ------
    ResultsError
        When the folder or one of its files is missing, or a file is not what it should be; `NoResults` when all that is
        wrong is that there is no number in it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    experiment = read_experiment(folder / "experiment.yaml")
    summary, swept = _read_summary(folder / "summary.csv")
    _refuse_uncounted(folder / "summary.csv", summary)
    _refuse_repeats(folder / "summary.csv", summary, ["dataset", "method", *swept, "metric"])
    best: dict[Key, Best] = {}
    shown_grids = {method: paths for method, paths in grids(experiment).items() if set(paths) <= set(swept)}
    if shown_grids:
        gone = {path for paths in shown_grids.values() for path in paths}
        swept, columns = tuple(path for path in swept if path not in gone), swept
        best = _best(folder / "scores.csv", shown_grids, swept, experiment)
        summary = _with_best(summary.drop(columns=[c for c in columns if c in gone]), shown_grids, swept, best)
    return Results(
        folder=folder,
        experiment=experiment,
        swept=swept,
        points=_points(summary, swept, experiment),
        datasets=_datasets(summary, experiment),
        methods=_ordered(summary["method"], _names(experiment.get("methods"))),
        metrics=_ordered(summary["metric"], (m for m in metric_labels(experiment) if (summary["metric"] == m).any())),
        summary=summary,
        grids=shown_grids,
        best=best,
    )


def _best(
    path: Path, shown: Mapping[str, tuple[str, ...]], swept: tuple[str, ...], experiment: Mapping[str, Any]
) -> dict[Key, Best]:
    """The best of each grid, from the scores of the single splits."""
    scores, columns = _read_scores(path)
    scores = scores[scores["method"].isin(list(shown))]
    directions = _directions(experiment)
    grid: dict[Key, dict[Setting, dict[int, float]]] = {}
    names = ["dataset", "method", *columns, *_SCORES]
    for dataset, method, *values, split, metric, value in scores[names].itertuples(index=False, name=None):
        if metric not in directions:
            raise ResultsError(
                f"{path}: {metric!r}: mlcdr does not know which way it is better, so nothing is the best"
            )
        point = tuple(values)
        own = tuple(point[columns.index(name)] for name in swept)
        of_grid = grid.setdefault((dataset, method, own, metric), {})
        of_grid.setdefault(named(shown[method], point, columns), {})[split] = value
    repetitions = Repetitions.of(experiment)
    found = {key: best_of(points, directions[key[3]], repetitions) for key, points in grid.items()}
    return {key: best for key, best in found.items() if best is not None}


def _with_best(
    summary: pd.DataFrame, shown: Mapping[str, tuple[str, ...]], swept: tuple[str, ...], best: Mapping[Key, Best]
) -> pd.DataFrame:
    """The summary with one row for each grid in place of all its points; none where nothing is the best."""
    keys = ["dataset", "method", *swept, "metric"]
    tuned = summary["method"].isin(list(shown))
    result = summary[~tuned | ~summary.duplicated(keys)].reset_index(drop=True)
    without = []
    for i in result.index[result["method"].isin(list(shown))]:
        dataset, method, *point, metric = result.loc[i, keys]
        found = best.get((dataset, method, tuple(point), metric))
        if found is None:
            without.append(i)
        else:
            result.loc[i, list(_SUMMARY[1:])] = found.summary
    return result.drop(index=without).reset_index(drop=True)


def _directions(experiment: Mapping[str, Any]) -> dict[str, bool]:
    """Metric label → whether higher is better, for the metrics that mlcdr knows and that judge."""
    entries = experiment.get("metrics") or []
    known = {}
    for label, entry in zip(metric_labels(experiment), entries, strict=True):
        name = next(iter(entry)) if isinstance(entry, Mapping) else str(entry)
        better = METRICS[name].higher_is_better if name in METRICS else None
        if better is not None:
            known[label] = better
    return known


def _ordered(found: Iterable[str], first: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *found]))


def _names(entries: Any) -> list[str]:
    """The names in a list of names and one-key mappings, or the keys of a mapping."""
    if isinstance(entries, Mapping):
        return [str(name) for name in entries]
    return [str(next(iter(e))) if isinstance(e, Mapping) and e else str(e) for e in entries or ()]


def _datasets(summary: pd.DataFrame, experiment: dict[str, Any]) -> tuple[str, ...]:
    """The data sets in the config's order, by the names that `locate` gives them."""
    found = {str(name).casefold(): str(name) for name in summary["dataset"]}
    splits = experiment.get("splits")
    part: Part = "predefined" if isinstance(splits, Mapping) and splits.get("kind") == "predefined" else "full"
    written = [short_name(name, part) for name in _names(experiment.get("datasets"))]
    return _ordered(summary["dataset"], (found.get(name.casefold(), name) for name in written))


def _points(summary: pd.DataFrame, swept: tuple[str, ...], experiment: dict[str, Any]) -> tuple[Point, ...]:
    """The points that occur, in the order of the config's sweep (a path's values as written), then of appearance.

    A value of the sweep at which nothing has a result (all trials failed, say) has its points, too, so that a table
    keeps its column.
    """
    sweep = experiment.get("sweep") or {}
    order: list[dict[str, int]] = []
    found = set(summary[list(swept)].itertuples(index=False, name=None)) if swept else {()}
    empty: set[Point] = set()
    for i, path in enumerate(swept):
        values = sweep.get(path) if isinstance(sweep, Mapping) else None
        written = [method_text(v) for v in values] if isinstance(values, list) else []
        texts = _ordered(summary[path], written)
        order.append({value: k for k, value in enumerate(["", *(t for t in texts if t != "")])})
        beside = [point for point in found if point[i] != ""] or [("",) * len(swept)]
        for value in {text for text in texts if text != ""} - {point[i] for point in found}:
            empty |= {(*point[:i], value, *point[i + 1 :]) for point in beside}
    found |= empty
    return tuple(sorted(found, key=lambda point: [places[value] for places, value in zip(order, point, strict=True)]))


def read_experiment(path: Path) -> dict[str, Any]:
    """The resolved config that `path` holds, as plain data.

    Raises
    ------
    ResultsError
        When it is missing or broken.
    """
    if not is_own_file(path):
        raise ResultsError(f"{path}: missing; {path.parent} is not a results folder that `mlcdr run` has finished")
    try:
        document = read_yaml(path)
    except ConfigError as error:
        raise ResultsError(str(error)) from error
    content = document.data
    if not isinstance(content, dict):
        raise ResultsError(f"{path}: holds no experiment (a mapping with `datasets:`, `methods:` …)")
    for key, kind in _SHAPES.items():
        if not isinstance(content.get(key) or kind(), kind):
            right = "list" if kind is list else "mapping"
            raise ResultsError(f"{document.place((key,))}: {key}: should be a {right}")
    return content


def _read_summary(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """summary.csv, whose columns are `dataset, method, <swept> …, *_SUMMARY`; and the swept columns' names."""
    if not is_own_file(path):
        raise NoResults(_missing(path))
    table, swept = _table(path, _SUMMARY)
    if not len(table):
        raise NoResults(f"{path}: holds no results, only a header")
    for name in _SUMMARY[1:]:
        table[name] = _numbers(path, table[name], gaps=True)
    return table, swept


def _read_scores(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """scores.csv, whose columns are `dataset, method, <swept> …, *_SCORES`; and the swept columns' names."""
    if not is_own_file(path):
        raise ResultsError(_missing(path))
    table, swept = _table(path, _SCORES)
    for name in ("split", "value"):
        table[name] = _numbers(path, table[name])
    return table, swept


def _missing(path: Path) -> str:
    return f"{path}: missing; run the experiment again (only what is not done yet will run)"


def _table(path: Path, last: tuple[str, ...]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A CSV file whose columns are `dataset, method, <swept> …`, and then those that are named; and the swept ones."""
    header, *rows = _rows(path)
    columns = tuple(header)
    if columns[:2] != ("dataset", "method") or columns[-len(last) :] != last:
        wanted = ",".join(("dataset", "method", "<swept …>", *last))
        raise ResultsError(f"{path}:1: the columns are {','.join(columns)}; they should be {wanted}")
    return pd.DataFrame(rows, columns=list(columns), dtype=object), columns[2 : -len(last)]


def _numbers(path: Path, written: pd.Series, gaps: bool = False) -> pd.Series:
    """A column's numbers; with `gaps`, NaN where there is nothing, or that."""
    values = pd.to_numeric(written.replace("", "nan") if gaps else written, errors="coerce")
    broken = values.isna() & ~written.str.lower().isin(["", "nan"]) if gaps else values.isna()
    if broken.any():
        line = _line(broken)
        raise ResultsError(f"{path}:{line}: column {written.name}: {written.iloc[line - 2]!r} is not a number")
    return values


def _rows(path: Path) -> list[list[str]]:
    """The rows of a CSV file, header first, all of one length."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ResultsError(f"{path}:{line}: not UTF-8 text") from error
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            rows.append(row)
            if len(row) != len(rows[0]):
                have, want = len(row), len(rows[0])
                raise ResultsError(f"{path}:{reader.line_num}: {have} values where the header has {want} columns")
    except csv.Error as error:
        raise ResultsError(f"{path}:{reader.line_num}: not readable as CSV: {error}") from error
    if not rows:
        raise ResultsError(f"{path}:1: empty; a header was expected")
    return rows


def _line(rows: pd.Series) -> int:
    """The file's line of the first True: the header is line 1."""
    return int(rows.to_numpy().argmax()) + 2


def _refuse_repeats(path: Path, table: pd.DataFrame, key: list[str]) -> None:
    repeated = table.duplicated(key)
    if repeated.any():
        line = _line(repeated)
        what = ", ".join(str(v) for v in table[key].iloc[line - 2] if v != "")
        raise ResultsError(f"{path}:{line}: a second row for {what}")


def _refuse_uncounted(path: Path, table: pd.DataFrame) -> None:
    bad = table["mean"].notna() & ~((table["n"] >= 1) & (table["n"] % 1 == 0))
    if bad.any():
        raise ResultsError(f"{path}:{_line(bad)}: column n: a mean needs the number of splits it is taken over")
