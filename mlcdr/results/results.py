"""A results folder, opened once: the experiment, the manifest, and the numbers of its trials.

`open_results` reads the folder's record of trials (`trials.sqlite`). A folder without one, which another program wrote
or of which only the exports were kept, is imported from `scores.csv` and `summary.csv` (`mlcdr.results.exports`).

A method with `tune: {scope: test}` has one number where it has a grid: the best on the test rows (see
`mlcdr.results.best`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from mlcdr.errors import ConfigError, ResultsError, report_memory
from mlcdr.experiment.loading import load_recorded
from mlcdr.experiment.model import Experiment, value_text
from mlcdr.results.best import average_repetitions, show_best, take_best, tuned_paths
from mlcdr.results.exports import NoResults, import_chosen, import_scores, import_summary, import_tried
from mlcdr.results.failures import describe_error
from mlcdr.results.frame import drop_undefined, keys_of, order_columns, paths_of, round_columns, summarise
from mlcdr.results.manifest import Manifest
from mlcdr.results.means import Means
from mlcdr.results.record import command_to_continue, read_failures
from mlcdr.results.stamp import Stamp
from mlcdr.results.trials import read_chosen, read_scores, read_tried
from mlcdr.whole_files import is_regular_file

_Read = TypeVar("_Read")


@dataclass(frozen=True, eq=False)
class Results(Means):
    """What one results folder holds: its means, and the scores of which they are the means.

    Attributes
    ----------
    of_record : frame or None
        The scores in the folder's record, in full; None where it has none, or the exports are to be read.
    stamp : Stamp or None
        Of the folder when it was opened: what is read later must be of the same run. None of folders that were joined.
    parts : tuple of (Results, mapping)
        The folders that were joined, and what each of their methods is called in the whole; empty otherwise.
    """

    of_record: pd.DataFrame | None = None
    stamp: Stamp | None = None
    parts: tuple[tuple[Results, Mapping[str, str]], ...] = ()

    def _late(self, found: _Read) -> _Read:
        """`found`, which is read later than the means, if the folder has not changed since."""
        return found if self.stamp is None else self.stamp.unchanged(found)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores of the single splits, at every point of the sweep and of grids.

        Raises
        ------
        ResultsError
            When they cannot be read; `NoResults` when there are none.
        """
        if self.of_record is None:
            return self.in_order(self._late(import_scores(self.folder / "scores.csv")))
        return self.in_order(round_columns(self.of_record, "value"))

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
            found = import_chosen(self.folder / "chosen.csv")
        else:
            found = read_chosen(self.folder, self.experiment)
        return self.in_order(self._late(found))

    @cached_property
    def tried(self) -> pd.DataFrame:
        """What trials tried as they tuned (`mlcdr.results.trials.read_tried`).

        Raises
        ------
        ResultsError
            When it cannot be read.
        """
        if self.of_record is None:
            found = import_tried(self.folder / "tried.csv")
        else:
            found = read_tried(self.folder, self.experiment)
        return self.in_order(self._late(found))

    @property
    def n_scored(self) -> int:
        """How many trials have a score.

        Raises
        ------
        ResultsError
            When the scores of single splits cannot be read.
        """
        scores = self.scores if self.of_record is None else self.of_record
        place = ["dataset", "method", *paths_of(scores), "split"]
        return len(scores[place].drop_duplicates())

    @cached_property
    def manifest(self) -> Manifest:
        """The folder's manifest.

        Raises
        ------
        ResultsError
            When there is none, or it is broken.
        """
        return self._late(Manifest.read(self.folder))

    def facts(self, dataset: str, *needed: str) -> Mapping[str, Any]:
        """The manifest's facts of a data set: `checksum`, `n_features` …; none where there is no manifest.

        Raises
        ------
        ResultsError
            When one that is needed is not there, or the manifest is broken.
        """
        path = self.folder / "manifest.json"
        found = self.manifest.facts(dataset) if is_regular_file(path) else {}
        if not found.keys() >= set(needed):
            raise ResultsError(f"{path}: has no facts of the data set {dataset}")
        return found


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
    stamp = Stamp.of(folder)
    experiment = read_experiment(folder)
    recorded = stamp.unchanged(read_scores(folder, experiment))
    if recorded is None:
        return import_results(folder)
    return results_of(stamp, experiment, recorded)


def results_of(stamp: Stamp, experiment: Experiment, recorded: pd.DataFrame) -> Results:
    """The results of an experiment, from the scores on record in its folder.

    Raises
    ------
    NoResults
        When there is no number.
    """
    folder = stamp.folder
    if recorded.empty:
        raise NoResults(f"{folder}: no trial has a result; {_explain_nothing(folder)}")
    scores = drop_undefined(recorded)
    if scores.empty:
        raise NoResults(f"{folder / 'trials.sqlite'}: no metric is defined for any trial")
    means = round_columns(summarise(scores, keys_of(scores)), "mean", "std", "se")
    return _assemble(stamp, experiment, means, scores)


def _explain_nothing(folder: Path) -> str:
    """What to do where no trial has a result."""
    failed = read_failures(folder)
    if not failed:
        return f"continue it with `{command_to_continue(folder)}`"
    listed = f"listed by `mlcdr status {folder}` (in Python, `.failures`)"
    return f"{len(failed)} failed, {listed}; the first: {describe_error(failed[0].error)}"


def import_results(folder: Path) -> Results:
    """The results in `experiment.yaml`, `summary.csv` and, where single splits matter, `scores.csv`.

    Raises
    ------
    ResultsError
        As `open_results`.
    """
    stamp = Stamp.of(folder)
    experiment = read_experiment(folder)
    return _assemble(stamp, experiment, stamp.unchanged(import_summary(folder / "summary.csv")))


def read_experiment(folder: Path) -> Experiment:
    """The experiment of a results folder.

    Raises
    ------
    ResultsError
        When there is no such folder, or its `experiment.yaml` is missing or broken.
    """
    if folder.is_file():
        raise ResultsError(
            f"{folder}: a file, not a results folder; `mlcdr compare RESULTS {folder} --from long` reads a table of "
            "results (or --from meka, mlrl, tsml those programs' files)"
        )
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
    stamp: Stamp,
    experiment: Experiment,
    means: pd.DataFrame,
    recorded: pd.DataFrame | None = None,
) -> Results:
    """The results of means at all points; of a grid only the best is kept."""
    folder = stamp.folder
    whole = Results(folder, experiment, _order(means, experiment), {}, of_record=recorded, stamp=stamp)
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
        orders[path] = ["", *map(value_text, written)]
    return order_columns(means, orders)


def _list_datasets(means: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The data sets of the config, in the spelling of those that have means."""
    called = {name.casefold(): name for name in means["dataset"].unique()}
    part = experiment.splits.part
    written = [spec.short_name(part) for spec in experiment.datasets]
    return [called.get(name.casefold(), name) for name in written]
