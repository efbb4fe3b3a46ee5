"""The finished trials of the last run's plan, read from a record as frames (`mlcdr.results.frame`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.results import record_file as kinds
from mlcdr.results.record import read_point
from mlcdr.results.record_file import NAME, NoRecord, reading, rows, shown

_TRIALS = """
    SELECT position, trials.dataset, trials.method, point, split FROM planned JOIN trials USING (key)
    WHERE status = 'done' ORDER BY position
"""
_SCORES = """
    SELECT position, metric, value FROM planned CROSS JOIN scores USING (key)
    WHERE value IS NOT NULL ORDER BY position
"""
_CHOICES = "SELECT position, path, value FROM planned CROSS JOIN choices USING (key) ORDER BY position, path"
_TRIED = """
    SELECT position, point, value FROM planned CROSS JOIN tried USING (key)
    WHERE value IS NOT NULL ORDER BY position, number
"""


def read_scores(folder: Path, experiment: Experiment) -> pd.DataFrame | None:
    """The scores of the plan's trials, in the order of the plan and of the experiment's metrics.

    Returns
    -------
    frame or None
        dataset, method, the experiment's varied paths, split, metric, value; a metric that is not defined for a method
        has no row. None where there is no record with a plan.

    Raises
    ------
    ResultsError
        When the record cannot be read, or holds what a run does not write.
    """
    try:
        with reading(folder) as db:
            if db.execute("SELECT count(*) FROM planned").fetchone() == (0,):
                return None
            trials = _read_trials(db, folder, experiment.varied)
            scores = pd.DataFrame(db.execute(_SCORES).fetchall(), columns=["position", "metric", "value"], dtype=object)
    except NoRecord:
        return None
    labels = [spec.label for spec in experiment.metrics]
    scores = scores[scores["position"].isin(trials.index) & scores["metric"].isin(labels)]
    _refuse_damage(folder, scores["value"])
    scores["metric"] = scores["metric"].astype(pd.CategoricalDtype(labels, ordered=True))
    scores = scores.astype({"position": int, "value": float}).sort_values(["position", "metric"], ignore_index=True)
    return scores.join(trials, on="position")[[*trials, "metric", "value"]]


def _refuse_damage(folder: Path, values: pd.Series) -> None:
    """Refuse scores that are no numbers: SQLite stores any type in any column."""
    if set(map(type, values)) <= {float}:
        return
    damaged = next(value for value in values if type(value) is not float)
    raise ResultsError(f"{folder / NAME}: damaged: {shown(damaged)} in its table `scores`")


def read_tuning(folder: Path, experiment: Experiment) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the plan's trials chose for the parameters they tuned, and what they tried.

    Returns
    -------
    chosen : frame
        dataset, method, the experiment's varied paths, split, parameter, value (as the config would have it).
    tried : frame
        dataset, method, split, one column for each tuned path (`""` where a method does not tune it), value: that of
        the criterion.

    Raises
    ------
    ResultsError
        As `read_scores`; also where there is no record.
    """
    path = folder / NAME
    with reading(folder) as db:
        choices = rows(db, path, "choices", _CHOICES, kinds.Number, kinds.Text, kinds.Text)
        searches = rows(db, path, "tried", _TRIED, kinds.Number, kinds.Text, kinds.Score)
        trials = _read_trials(db, folder, experiment.varied)
    chosen = pd.DataFrame(choices, columns=["position", "parameter", "value"]).astype({"position": int})
    chosen = chosen.join(trials, on="position", how="inner")[[*trials, "parameter", "value"]]
    tried = pd.DataFrame(searches, columns=["position", "point", "value"]).astype({"position": int})
    tried = tried.join(trials[["dataset", "method", "split"]], on="position", how="inner").reset_index(drop=True)
    points = _read_points(path, tried["point"])
    tried = pd.concat([tried[["dataset", "method", "split"]], points, tried["value"]], axis=1)
    return chosen.reset_index(drop=True), tried


def _read_trials(db: sqlite3.Connection, folder: Path, paths: Sequence[str]) -> pd.DataFrame:
    """The finished trials of the plan by position: dataset, method, paths, split."""
    found = rows(db, folder / NAME, "trials", _TRIALS, kinds.Number, *[kinds.Text] * 3, kinds.Number)
    trials = pd.DataFrame(found, columns=["position", "dataset", "method", "point", "split"]).set_index("position")
    points = _read_points(folder / NAME, trials.pop("point")).reindex(columns=list(paths), fill_value="")
    trials = pd.concat([trials[["dataset", "method"]], points, trials["split"]], axis=1)
    return trials.astype(dict.fromkeys(["dataset", "method", *paths], "category"))


def _read_points(path: Path, written: pd.Series) -> pd.DataFrame:
    """Points from their JSON: a column for each config path, `""` where a point does not have it."""
    points = {text: dict(read_point(path, text)) for text in written.unique()}
    names = dict.fromkeys(name for point in points.values() for name in point)
    columns = {name: written.map({text: point.get(name, "") for text, point in points.items()}) for name in names}
    return pd.DataFrame(columns, index=written.index)
