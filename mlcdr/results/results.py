"""A results folder, opened once: the experiment, the manifest, and the numbers of its trials.

`open_results` reads the folder's record of trials (`trials.sqlite`). A folder without one, which another program wrote
or of which only the exports were kept, is imported from `scores.csv` and `summary.csv` (`mlcdr.results.imports`).

A method with `tune: {scope: test}` has one number where it has a grid: the best on the test rows (see
`mlcdr.results.best`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.config.recorded import read_recorded
from mlcdr.data.files import Part
from mlcdr.errors import ConfigError, ResultsError, report_memory, suggest_name
from mlcdr.experiment.model import Experiment, method_text
from mlcdr.metrics import names
from mlcdr.results.best import Best, Repetitions, Setting, choose_best, tuned_paths
from mlcdr.results.failures import Place, describe_error
from mlcdr.results.frame import are_complete, order_column
from mlcdr.results.imports import import_cells, import_choices, import_splits
from mlcdr.results.manifest import Manifest
from mlcdr.results.metric_facts import MetricFacts, describe_metric
from mlcdr.results.record import read_failures
from mlcdr.results.scores import Cell, Choices, Key, NoResults, Point, SplitScores, over_all_splits
from mlcdr.results.trials import read_planned_choices, read_planned_trials
from mlcdr.whole_files import is_regular_file


@dataclass(frozen=True)
class Results:
    """What one results folder holds.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
    swept : tuple of str
        The swept config paths (`label_space.n_components`); not those of a grid of which only the best is shown.
    points : tuple of Point
        The points of the sweep in the config's order; methods without a swept parameter have `""` there. Values
        at which nothing has a result are included.
    datasets, methods, metrics : tuple of str
        In the config's order; data sets and methods of the config that never got a result are among them, metrics not.
    cells : dict
        (data set, method, point, metric) → the mean over splits; of a grid (`grids`) the best. Undefined means are
        left out.
    grids : dict
        Method → the paths of its grid, for methods of which only the best of a grid is shown.
    best : dict
        (data set, method, point, metric) → what was taken from a grid.
    remarks : tuple of str
        What a reader must know of several folders that were joined: which of them have other splits.
    joined : bool
        Whether these are of several folders, whose numbers of splits may differ by intent.
    read_splits, read_choices : callable
        Read `split_scores` and `choices`.
    """

    folder: Path
    experiment: Experiment
    swept: tuple[str, ...]
    points: tuple[Point, ...]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: dict[Key, Cell]
    grids: dict[str, tuple[str, ...]]
    best: dict[Key, Best]
    read_splits: Callable[[], SplitScores]
    read_choices: Callable[[], Choices]
    remarks: tuple[str, ...] = ()
    joined: bool = False

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @cached_property
    def manifest(self) -> Manifest:
        """The folder's manifest.

        Raises
        ------
        ResultsError
            When there is none, or it is broken.
        """
        return Manifest.read(self.folder)

    @cached_property
    def choices(self) -> Choices:
        """The values that trials chose for the parameters they tuned.

        Raises
        ------
        ResultsError
            When they cannot be read.
        """
        return self.read_choices()

    @cached_property
    def split_scores(self) -> SplitScores:
        """The scores of the single splits, at every point of the sweep and of grids.

        Raises
        ------
        ResultsError
            When they cannot be read.
        """
        return self.read_splits()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores of the single splits (`mlcdr.results.frame`).

        Raises
        ------
        ResultsError
            When they cannot be read; `NoResults` when there are none.
        """
        paths = self.split_scores.paths
        rows = [
            (*key[:2], *key[2], split, key[3], value)
            for key, by_split in self.split_scores.values.items()
            for split, value in by_split.items()
        ]
        return self._ordered(pd.DataFrame(rows, columns=["dataset", "method", *paths, "split", "metric", "value"]))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The means over the splits (`mlcdr.results.frame`)."""
        of_grids = tuple(dict.fromkeys(path for grid in self.grids.values() for path in grid))
        rows = []
        for (dataset, method, point, metric), cell in self.cells.items():
            taken = dict(cell.setting)
            setting = [taken.get(path, "") for path in of_grids]
            rows.append((dataset, method, *point, *setting, metric, cell.mean, cell.std, cell.se, cell.n))
        names = ["dataset", "method", *self.swept, *of_grids, "metric", "mean", "std", "se", "n"]
        return self._ordered(pd.DataFrame(rows, columns=names))

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What trials chose for the parameters they tuned: dataset, method, paths, split, parameter, value.

        Raises
        ------
        ResultsError
            When it cannot be read.
        """
        rows = []
        for (dataset, method, point, parameter), counts in self.choices.counts.items():
            rows += [(dataset, method, *point, parameter, value) for value in counts.elements()]
        return pd.DataFrame(rows, columns=["dataset", "method", *self.choices.paths, "parameter", "value"])

    @cached_property
    def tried(self) -> pd.DataFrame:
        """What trials tried as they tuned: dataset, method, one column for each tuned path, value (of the criterion).

        A path that a method does not tune is `""` there.

        Raises
        ------
        ResultsError
            When it cannot be read.
        """
        rows = [
            {"dataset": dataset, "method": method, **dict(setting), "value": value}
            for (dataset, method), tried in self.choices.tried.items()
            for setting, values in tried.items()
            for value in values
        ]
        tuned = dict.fromkeys(path for row in rows for path in row if path not in ("dataset", "method", "value"))
        names = ["dataset", "method", *tuned, "value"]
        return pd.DataFrame(rows, columns=names).fillna(dict.fromkeys(tuned, ""))

    def _ordered(self, frame: pd.DataFrame) -> pd.DataFrame:
        order: dict[str, Iterable[str]] = {"dataset": self.datasets, "method": self.methods, "metric": self.metrics}
        order |= {path: ["", *self.values(path)] for path in self.swept}
        paths = [name for name in frame if "." in name]
        return frame.assign(**{name: order_column(frame[name], order.get(name, [""])) for name in [*order, *paths]})

    @cached_property
    def repetition_means(self) -> pd.DataFrame:
        """The mean of each whole repetition of the protocol: dataset, method, swept paths, metric, value.

        A repetition is each repeat of a k-fold cross-validation, or else all splits.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        rows = [(*key[:2], *key[2], key[3], mean) for key in self.cells for mean in self.repetitions(*key)]
        return pd.DataFrame(rows, columns=["dataset", "method", *self.swept, "metric", "value"])

    def at(self, places: pd.DataFrame) -> pd.DataFrame:
        """The numbers that stand at some places: `places` with the columns mean, std, se, n and those of grids.

        Parameters
        ----------
        places : frame
            With the columns dataset, method, metric, and those of swept paths; a path that it has not means its first
            value. A method that does not have a parameter has the same number at all values of it.

        Returns
        -------
        frame
            Its rows are those of `places`, in their order, and its first columns, too. Where there is no number, mean,
            std and se are NaN and n is 0.
        """
        first = {path: (*self.values(path), "")[0] for path in self.swept if path not in places}
        whole = places.reset_index(drop=True).assign(**first)
        keys = ["dataset", "method", *self.swept, "metric"]
        own = whole[keys].astype(object)
        for path in self.swept:
            own.loc[own["method"].isin(self._lacking[path]), path] = ""
        found = own.merge(self.summary.astype(dict.fromkeys(keys, object)), how="left", on=keys).drop(columns=keys)
        return pd.concat([whole, found.assign(n=found["n"].fillna(0).astype(int))], axis=1)

    @cached_property
    def _lacking(self) -> dict[str, list[str]]:
        """Swept path → the methods that have results, but no such parameter."""
        return {path: [method for method in self.methods if self.lacks(method, path)] for path in self.swept}

    def are_comparable(self, cells: pd.DataFrame, by: Sequence[str]) -> pd.Series:
        """Which rows of a summary can be compared with their group: those over all splits; in joined folders all."""
        return are_complete(cells, by) if not self.joined else pd.Series(True, index=cells.index)

    def metric_named(self, written: str) -> str:
        """The label of a metric in these results, from the label itself or from another name of the metric (`lrap`).

        Raises
        ------
        ResultsError
            When it was not measured.
        """
        if written in self.metrics:
            return written
        label = names.label_of(written)
        if label not in self.metrics:
            hint = suggest_name(written, self.metrics)
            raise ResultsError(f"{self.folder}: no metric {written!r}{hint} (measured: {', '.join(self.metrics)})")
        return label

    def metric_facts(self, metric: str) -> MetricFacts:
        """The printed name and the direction of a metric."""
        return describe_metric(self.experiment, metric)

    def facts(self, dataset: str) -> Mapping[str, Any]:
        """The manifest's facts of a data set: `n_features`, `n_labels` …

        Raises
        ------
        ResultsError
            When it has none.
        """
        found = self.manifest.facts(dataset)
        if not {"n_features", "n_labels"} <= found.keys():
            raise ResultsError(f"{self.folder / 'manifest.json'}: has no facts of the data set {dataset}")
        return found

    def recorded(self, dataset: str) -> Mapping[str, Any]:
        """The manifest's facts of a data set, such as `checksum`; none where it has none, or there is no manifest.

        Raises
        ------
        ResultsError
            When the manifest is broken.
        """
        return self.manifest.facts(dataset) if is_regular_file(self.folder / "manifest.json") else {}

    @cached_property
    def scored(self) -> frozenset[Place]:
        """The trials that have a score: data set, method, (path, value) of each swept parameter by path, split.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        found: set[Place] = set()
        for (dataset, method, values, _), by_split in self.split_scores.values.items():
            at = zip(self.split_scores.paths, values, strict=True)
            point = tuple(sorted((path, value) for path, value in at if value))
            found |= {(dataset, method, point, split) for split in by_split}
        return frozenset(found)

    @cached_property
    def with_results(self) -> frozenset[str]:
        """The data sets and methods that have a cell."""
        return frozenset(name for key in self.cells for name in key[:2])

    def repetitions(self, dataset: str, method: str, point: Point, metric: str) -> tuple[float, ...]:
        """The mean of each whole repetition of the protocol: each repeat of a k-fold cross-validation, or all splits.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        key = (dataset, method, self._own_point(method, point), metric)
        if key in self.best:
            return self.best[key].repetitions
        return Repetitions.of(self.experiment).means(self.split_values(*key))

    def split_values(
        self, dataset: str, method: str, point: Point, metric: str, setting: Setting = ()
    ) -> Mapping[int, float]:
        """Split → value at a point of the sweep, and at a setting of the method's grid.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        at = dict(zip(self.swept, self._own_point(method, point), strict=True)) | dict(setting)
        whole = tuple(at.get(path, "") for path in self.split_scores.paths)
        return self.split_scores.values.get((dataset, method, whole, metric), {})

    @cached_property
    def _absent(self) -> dict[str, frozenset[int]]:
        """For each method with results, the swept parameters (by position) it does not have."""
        absent: dict[str, frozenset[int]] = {}
        for _, method, point, _ in self.cells:
            empty = frozenset(k for k, value in enumerate(point) if value == "")
            absent[method] = absent.get(method, empty) & empty
        return absent

    def comparable(self, cells: Iterable[Cell]) -> list[Cell]:
        """The means that can be compared: those over all splits of the plan; in joined folders all."""
        return list(cells) if self.joined else over_all_splits(cells)

    def lacks(self, method: str, path: str) -> bool:
        """Whether `method` has results but no swept parameter `path`."""
        return path in self.swept and self.swept.index(path) in self._absent.get(method, ())

    def cell(self, dataset: str, method: str, point: Point, metric: str) -> Cell | None:
        """The cell of a place, or None. A method without a swept parameter has the same cell at all values of it."""
        return self.cells.get(self.key(dataset, method, point, metric))

    def key(self, dataset: str, method: str, point: Point, metric: str) -> Key:
        """The key in `cells`; its point is without the parameters that the method does not have."""
        return dataset, method, self._own_point(method, point), metric

    def _own_point(self, method: str, point: Point) -> Point:
        """The point without the parameters that the method does not have."""
        absent = self._absent.get(method, ())
        return tuple("" if k in absent else value for k, value in enumerate(point))

    @cached_property
    def _points_of(self) -> dict[str, set[Point]]:
        found: dict[str, set[Point]] = {}
        for _, method, point, _ in self.cells:
            found.setdefault(method, set()).add(point)
        return found

    def points_of(self, method: str) -> tuple[Point, ...]:
        """The points of `method`, in the sweep's order."""
        own = self._points_of.get(method, set())
        return tuple(point for point in self.points if point in own)

    @cached_property
    def without_result(self) -> tuple[tuple[str, str], ...]:
        """The swept values, each with its path, at which nothing has a result."""
        measured = {point for points in self._points_of.values() for point in points}
        return tuple(
            (path, value)
            for k, path in enumerate(self.swept)
            for value in self.values(path)
            if value not in {point[k] for point in measured}
        )

    @cached_property
    def sweep(self) -> dict[str, int]:
        """Swept path → how many values it takes."""
        return {path: len(self.values(path)) for path in self.swept}

    def values(self, path: str) -> tuple[str, ...]:
        """The values a swept path takes, in order, as the config wrote them."""
        k = self.swept.index(path)
        return tuple(dict.fromkeys(point[k] for point in self.points if point[k] != ""))


@report_memory
def open_results(folder: str | Path) -> Results:
    """Open a results folder.

    Raises
    ------
    ResultsError
        When the folder or one of its files is missing, or a file is not what it should be; `NoResults` when the
        folder is right, but has no numbers.
    """
    folder = Path(folder)
    experiment = read_experiment(folder)
    recorded = read_planned_trials(folder, experiment)
    if recorded is None:
        return import_results(folder)
    if not recorded.values:
        hint = f"continue it with `mlcdr run {folder / 'experiment.yaml'}`"
        if failed := read_failures(folder):
            hint = f"{len(failed)} failed, listed by `mlcdr status {folder}` (in Python, `.failures`); the first: "
            hint += describe_error(failed[0].error)
        raise NoResults(f"{folder}: no trial has a result; {hint}")
    read_choices = partial(read_planned_choices, folder, experiment)
    cells = recorded.cells()
    if not cells:
        raise NoResults(f"{folder / 'trials.sqlite'}: no metric is defined for any trial")
    return _assemble(folder, experiment, recorded.paths, cells, recorded.rounded, read_choices)


def import_results(folder: Path) -> Results:
    """The results in `experiment.yaml`, `summary.csv` and, where single splits matter, `scores.csv`.

    Raises
    ------
    ResultsError
        As `open_results`.
    """
    experiment = read_experiment(folder)
    paths, cells = import_cells(folder / "summary.csv")
    read_splits = partial(import_splits, folder / "scores.csv")
    read_choices = partial(import_choices, folder / "chosen.csv")
    return _assemble(folder, experiment, paths, cells, read_splits, read_choices)


def read_experiment(folder: Path) -> Experiment:
    """The experiment of a results folder.

    Raises
    ------
    ResultsError
        When there is no such folder, or its `experiment.yaml` is missing or broken.
    """
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    path = folder / "experiment.yaml"
    if not is_regular_file(path):
        raise ResultsError(f"{path}: missing; {folder} is not a results folder that `mlcdr run` has finished")
    try:
        return read_recorded(path)
    except ConfigError as error:
        raise ResultsError(str(error)) from error


def _assemble(
    folder: Path,
    experiment: Experiment,
    paths: tuple[str, ...],
    cells: dict[Key, Cell],
    read_splits: Callable[[], SplitScores],
    read_choices: Callable[[], Choices],
) -> Results:
    """The results with cells at all points of `paths`; of a grid only the best is kept."""
    grids = {name: grid for name, grid in tuned_paths(experiment, "test").items() if set(grid) <= set(paths)}
    swept, best = paths, {}
    if grids:
        of_grids = {path for grid in grids.values() for path in grid}
        swept = tuple(path for path in paths if path not in of_grids)
        splits = read_splits()
        read_splits = lambda: splits  # noqa: E731
        best = choose_best(splits, grids, swept, experiment, folder)
        cells = _replace_grids(cells, paths, grids, swept, best)
    measured = list(dict.fromkeys(key[3] for key in cells))
    return Results(
        folder=folder,
        experiment=experiment,
        swept=swept,
        points=_order_points(cells, swept, experiment),
        datasets=_order_datasets(cells, experiment),
        methods=_in_order(experiment.methods, (key[1] for key in cells)),
        metrics=_in_order((spec.label for spec in experiment.metrics if spec.label in measured), measured),
        cells=cells,
        grids=grids,
        best=best,
        read_splits=read_splits,
        read_choices=read_choices,
    )


def _replace_grids(
    cells: Mapping[Key, Cell],
    paths: tuple[str, ...],
    grids: Mapping[str, object],
    swept: tuple[str, ...],
    best: Mapping[Key, Best],
) -> dict[Key, Cell]:
    """The cells over the `swept` paths only: each grid has one cell, its best, or none if there is no best."""
    kept = [paths.index(path) for path in swept]
    result: dict[Key, Cell] = {}
    for (dataset, method, point, metric), cell in cells.items():
        key = (dataset, method, tuple(point[k] for k in kept), metric)
        if method not in grids:
            result[key] = cell
        elif key in best:
            result[key] = replace(best[key].cell, setting=best[key].setting)
    return result


def _in_order(first: Iterable[str], found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *found]))


def _order_datasets(cells: Iterable[Key], experiment: Experiment) -> tuple[str, ...]:
    """The data sets in the config's order, by the names that `locate` gives them."""
    found = {key[0].casefold(): key[0] for key in cells}
    part: Part = "predefined" if experiment.splits.kind == "predefined" else "full"
    written = [spec.short_name(part) for spec in experiment.datasets]
    return _in_order((found.get(name.casefold(), name) for name in written), found.values())


def _order_points(cells: Iterable[Key], swept: tuple[str, ...], experiment: Experiment) -> tuple[Point, ...]:
    """The points that occur, in the order of the config's sweep (a path's values as written), then of appearance.

    A value of the sweep at which nothing has a result (all trials failed, say) has its points, too, so that a table
    keeps its column.
    """
    found = dict.fromkeys(key[2] for key in cells)
    empty: set[Point] = set()
    order: list[dict[str, int]] = []
    for i, path in enumerate(swept):
        written = map(method_text, experiment.sweep.get(path, ()))
        texts = _in_order(["", *written], (point[i] for point in found))
        order.append({value: k for k, value in enumerate(texts)})
        others = [point for point in found if point[i] != ""] or [("",) * len(swept)]
        for value in set(texts) - {"", *(point[i] for point in found)}:
            empty |= {(*point[:i], value, *point[i + 1 :]) for point in others}
    points = found.keys() | empty
    return tuple(sorted(points, key=lambda point: [places[v] for places, v in zip(order, point, strict=True)]))
