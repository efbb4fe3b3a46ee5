"""A results folder, opened once: the experiment, the manifest, and the numbers of its trials.

`open_results` reads the folder's record of trials (`trials.sqlite`). A folder without one, which another program wrote
or of which only the exports were kept, is imported from `scores.csv` and `summary.csv` (`mlcdr.results.exports`).

A method with `tune: {scope: test}` has one number where it has a grid: the best on the test rows (see
`mlcdr.results.best`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.data.files import Part
from mlcdr.errors import ConfigError, ResultsError, report_memory, suggest_name
from mlcdr.experiment.loading import load_recorded
from mlcdr.experiment.model import Experiment, method_text
from mlcdr.metrics import names
from mlcdr.results.best import average_repetitions, show_best, swept_of, take_best, tuned_paths
from mlcdr.results.exports import NoResults, import_chosen, import_scores, import_summary
from mlcdr.results.failures import describe_error
from mlcdr.results.frame import (
    drop_undefined,
    group,
    keys_of,
    list_keys,
    order_columns,
    paths_of,
    round_columns,
    summarise,
)
from mlcdr.results.manifest import Manifest
from mlcdr.results.metric_facts import MetricFacts, describe_metric
from mlcdr.results.record import read_failures
from mlcdr.results.trials import read_chosen, read_scores, read_tried
from mlcdr.whole_files import is_regular_file


@dataclass(frozen=True, eq=False)
class Results:
    """What one results folder holds.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
    summary : frame
        The means over the splits; of a grid (`grids`) the best.
    grids : dict
        Method → the paths of its grid, for methods of which only the best of a grid is shown.
    of_record : frame or None
        The scores in the folder's record; None where it has none, or the exports are to be read.
    remarks : tuple of str
        What a reader must know of several folders that were joined: which of them have other splits.
    joined : bool
        Whether these are of several folders, whose numbers of splits may differ by intent, and which have only means.
    """

    folder: Path
    experiment: Experiment
    summary: pd.DataFrame
    grids: dict[str, tuple[str, ...]]
    of_record: pd.DataFrame | None = None
    remarks: tuple[str, ...] = ()
    joined: bool = False

    # ---------------------------------------------------------------- what there is, in the config's order

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept config paths (`label_space.n_components`); not those of a grid of which only the best is shown."""
        return tuple(swept_of(self.summary, self.grids))

    @property
    def keys(self) -> list[str]:
        """The columns that tell the rows of the summary apart: data set, method, swept paths and metric."""
        return list_keys(self.swept)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Those that never got a result are among them."""
        return tuple(self.summary["dataset"].cat.categories)

    @property
    def methods(self) -> tuple[str, ...]:
        """Those that never got a result are among them."""
        return tuple(self.summary["method"].cat.categories)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that never got a result are not among them."""
        return tuple(self.summary["metric"].cat.categories)

    def values(self, path: str) -> tuple[str, ...]:
        """The values a swept path takes, as the config wrote them."""
        return tuple(value for value in self.summary[path].cat.categories if value)

    @cached_property
    def sweep(self) -> dict[str, int]:
        """Swept path → how many values it takes."""
        return {path: len(self.values(path)) for path in self.swept}

    @cached_property
    def points(self) -> tuple[tuple[str, ...], ...]:
        """The points of the sweep, a value of each of `swept`.

        Methods without a swept parameter have `""` there. A value at which nothing has a result (all trials failed,
        say) has its points, too, so that a comparison keeps its column: those of the other values.
        """
        if not self.swept:
            return ((),)
        paths = list(self.swept)
        found = self.summary[paths].drop_duplicates().astype(object)
        points = [found]
        for path, value in self.without_result:
            others = found[found[path] != ""]
            if others.empty:
                others = pd.DataFrame([dict.fromkeys(paths, "")])
            points.append(others.assign(**{path: value}))
        every = self._in_order(pd.concat(points)).drop_duplicates().sort_values(paths)
        return tuple(every.itertuples(index=False, name=None))

    @cached_property
    def with_results(self) -> frozenset[str]:
        """The data sets and methods that have a number."""
        return frozenset([*self.summary["dataset"], *self.summary["method"]])

    @cached_property
    def without_result(self) -> tuple[tuple[str, str], ...]:
        """The swept values, each with its path, at which nothing has a result."""
        absent = []
        for path in self.swept:
            found = set(self.summary[path])
            absent += [(path, value) for value in self.values(path) if value not in found]
        return tuple(absent)

    # ---------------------------------------------------------------- single splits

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores of the single splits, at every point of the sweep and of grids.

        Raises
        ------
        ResultsError
            When they cannot be read; `NoResults` when there are none.
        """
        found = self.of_record
        return self._in_order(import_scores(self.folder / "scores.csv") if found is None else found)

    @cached_property
    def taken(self) -> pd.DataFrame:
        """Those of the scores of which the summary has the means: of a grid, the best of each repetition.

        Raises
        ------
        ResultsError
            When the scores cannot be read.
        """
        return take_best(self.scores, self.grids, self.experiment, self.folder)

    @cached_property
    def repetition_means(self) -> pd.DataFrame:
        """The mean of each whole repetition of the protocol: dataset, method, swept paths, metric, repetition, value.

        A repetition is each repeat of a k-fold cross-validation, or else all splits.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        return average_repetitions(self.taken, self.keys, self.experiment)

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What trials chose for the parameters they tuned: dataset, method, paths, split, parameter, value.

        Raises
        ------
        ResultsError
            When it cannot be read.
        """
        if self.of_record is None:
            return self._in_order(import_chosen(self.folder / "chosen.csv"))
        return self._in_order(read_chosen(self.folder, self.experiment))

    @cached_property
    def tried(self) -> pd.DataFrame:
        """What trials tried as they tuned: dataset, method, split, one column for each tuned path, value.

        The value is that of the criterion. A path that a method does not tune is `""`. Exports have nothing of it.

        Raises
        ------
        ResultsError
            When it cannot be read.
        """
        if self.of_record is None:
            return pd.DataFrame(columns=["dataset", "method", "split", "value"])
        return self._in_order(read_tried(self.folder, self.experiment))

    @property
    def n_scored(self) -> int:
        """How many trials have a score.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        place = ["dataset", "method", *paths_of(self.scores), "split"]
        return len(self.scores[place].drop_duplicates())

    def _in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with its columns as ordered categories, as the summary has them."""
        orders = {name: self.summary[name].cat.categories for name in keys_of(self.summary)}
        return order_columns(frame, orders)

    # ---------------------------------------------------------------- means

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
        whole = places.reset_index(drop=True)
        for path in self.swept:
            if path not in whole:
                whole[path] = (*self.values(path), "")[0]
        own = whole[self.keys].astype(object)
        for path in self.swept:
            without = own["method"].isin(self._lacking[path])
            own.loc[without, path] = ""
        summary = self.summary.astype(dict.fromkeys(self.keys, object))
        found = own.merge(summary, how="left", on=self.keys).drop(columns=self.keys)
        found["n"] = found["n"].fillna(0).astype(int)
        return pd.concat([whole, found], axis=1)

    @cached_property
    def _lacking(self) -> dict[str, set[str]]:
        """Swept path → the methods that have results, but no such parameter."""
        methods = self.summary["method"]
        return {path: set(methods) - set(methods[self.summary[path] != ""]) for path in self.swept}

    def lacks(self, method: str, path: str) -> bool:
        """Whether `method` has results but no swept parameter `path`."""
        return method in self._lacking.get(path, ())

    def are_comparable(self, cells: pd.DataFrame, by: Sequence[str]) -> pd.Series:
        """Which rows of a summary can be compared with their group: those over as many splits as any of it.

        A method may fail on the hard splits. In joined folders all can be compared.
        """
        most = group(cells, by)["n"].transform("max")
        return (cells["n"] == most) | self.joined

    def select(self, column: str, values: Collection[str]) -> Results:
        """These results with the rows of the summary that have some values of `dataset`, `method` or `metric`."""
        kept = [value for value in self.summary[column].cat.categories if value in values]
        summary = self.summary[self.summary[column].isin(kept)]
        return replace(self, summary=order_columns(summary, {column: kept}))

    def rename_methods(self, called: Mapping[str, str]) -> Results:
        """These results with other names for methods; a method for which there is none is left out."""
        kept = self.select("method", called)
        methods = kept.summary["method"].cat.rename_categories(called)
        experiment = self.experiment
        specs = {called[name]: spec for name, spec in experiment.methods.items() if name in called}
        return replace(
            kept,
            experiment=experiment.model_copy(update={"methods": specs}),
            summary=kept.summary.assign(method=methods),
            grids={called[name]: paths for name, paths in self.grids.items() if name in called},
        )

    # ---------------------------------------------------------------- facts

    def metric_named(self, written: str) -> str:
        """The label of a metric in these results, from the label itself or from another name of the metric (`lrap`).

        Raises
        ------
        ResultsError
            When it was not measured.
        """
        label = written if written in self.metrics else names.label_of(written)
        if label not in self.metrics:
            hint = suggest_name(written, self.metrics)
            raise ResultsError(f"{self.folder}: no metric {written!r}{hint} (measured: {', '.join(self.metrics)})")
        return label

    def metric_facts(self, metric: str) -> MetricFacts:
        """The printed name and the direction of a metric."""
        return describe_metric(self.experiment, metric)

    @cached_property
    def manifest(self) -> Manifest:
        """The folder's manifest.

        Raises
        ------
        ResultsError
            When there is none, or it is broken.
        """
        return Manifest.read(self.folder)

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
    recorded = read_scores(folder, experiment)
    if recorded is None:
        return import_results(folder)
    if recorded.empty:
        raise NoResults(f"{folder}: no trial has a result; {_explain_nothing(folder)}")
    scores = drop_undefined(recorded)
    if scores.empty:
        raise NoResults(f"{folder / 'trials.sqlite'}: no metric is defined for any trial")
    means = round_columns(summarise(scores, keys_of(scores)), "mean", "std", "se")
    return _assemble(folder, experiment, means, round_columns(scores, "value"))


def _explain_nothing(folder: Path) -> str:
    """What to do where no trial has a result."""
    failed = read_failures(folder)
    if not failed:
        return f"continue it with `mlcdr run {folder / 'experiment.yaml'}`"
    listed = f"listed by `mlcdr status {folder}` (in Python, `.failures`)"
    return f"{len(failed)} failed, {listed}; the first: {describe_error(failed[0].error)}"


def import_results(folder: Path) -> Results:
    """The results in `experiment.yaml`, `summary.csv` and, where single splits matter, `scores.csv`.

    Raises
    ------
    ResultsError
        As `open_results`.
    """
    experiment = read_experiment(folder)
    return _assemble(folder, experiment, import_summary(folder / "summary.csv"))


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
        return load_recorded(path)
    except ConfigError as error:
        raise ResultsError(str(error)) from error


def _assemble(
    folder: Path, experiment: Experiment, means: pd.DataFrame, recorded: pd.DataFrame | None = None
) -> Results:
    """The results of means at all points; of a grid only the best is kept."""
    whole = Results(folder, experiment, _order(means, experiment), {}, recorded)
    paths = set(paths_of(means))
    tuned = tuned_paths(experiment, "test")
    grids = {name: grid for name, grid in tuned.items() if paths.issuperset(grid)}
    if not grids:
        return whole
    best = show_best(whole.summary, whole.scores, grids, experiment, folder)
    return replace(whole, summary=_order(best, experiment), grids=grids)


def _order(means: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The means with their columns as categories in the config's order; what the config does not have comes last."""
    measured = set(means["metric"])
    labels = [spec.label for spec in experiment.metrics]
    orders = {
        "dataset": _list_datasets(means, experiment),
        "method": list(experiment.methods),
        "metric": [label for label in labels if label in measured],
    }
    for path in paths_of(means):
        written = experiment.sweep.get(path, ())
        orders[path] = ["", *map(method_text, written)]
    return order_columns(means, orders)


def _list_datasets(means: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The data sets of the config, in the spelling of those that have means."""
    called = {name.casefold(): name for name in means["dataset"].unique()}
    part: Part = "predefined" if experiment.splits.kind == "predefined" else "full"
    written = [spec.short_name(part) for spec in experiment.datasets]
    return [called.get(name.casefold(), name) for name in written]
