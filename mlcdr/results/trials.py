"""The finished trials of the last run's plan, read from a record as frames (`mlcdr.results.frame`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.experiment.model import Experiment
from mlcdr.results.frame import CHOSEN, SCORES, keys_of
from mlcdr.results.record import read_planned
from mlcdr.results.record_file import PLACE, NoRecord


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
        trials = _read_trials(folder, experiment, "scores")
    except NoRecord:
        return None
    rows = []
    for place, scores in trials:
        for metric in experiment.metrics:
            value = scores.get(metric.label)
            if value is not None:
                rows.append((*place, metric.label, value))
    frame = _make_frame(rows, experiment, *SCORES)
    texts = dict.fromkeys(keys_of(frame), "category")
    return frame.astype({**texts, "value": float})


def read_chosen(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """What the plan's trials chose for the parameters they tuned.

    Returns
    -------
    frame
        dataset, method, the experiment's varied paths, split, parameter, value (as the config would have it).

    Raises
    ------
    ResultsError
        As `read_scores`; also where there is no record with a plan.
    """
    rows = []
    for place, chosen in _read_trials(folder, experiment, "chosen"):
        for parameter, value in chosen.items():
            rows.append((*place, parameter, value))
    return _make_frame(rows, experiment, *CHOSEN)


def read_tried(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """What the plan's trials tried as they tuned.

    Returns
    -------
    frame
        dataset, method, split, one column for each tuned path (`""` where a method does not tune it), value: that of
        the criterion.

    Raises
    ------
    ResultsError
        As `read_chosen`.
    """
    points = []
    values = []
    for (dataset, method, *_, split), tried in _read_trials(folder, experiment, "tried"):
        for point, value in tried:
            if value is not None:
                points.append({"dataset": dataset, "method": method, "split": split, **point})
                values.append(value)
    if not points:
        return pd.DataFrame(columns=["dataset", "method", "split", "value"])
    found = pd.DataFrame(points).fillna("")
    return found.assign(value=values)


def read_by_label(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """The metrics of each label by itself, of the plan's trials.

    Returns
    -------
    frame
        dataset, method, the experiment's varied paths, split, metric, values: one for each label of the data set, None
        where it is not defined.

    Raises
    ------
    ResultsError
        As `read_scores`; also where there is no record with a plan.
    """
    rows = []
    for place, by_label in _read_trials(folder, experiment, "by_label"):
        for metric in experiment.by_label:
            if metric in by_label:
                rows.append((*place, metric, by_label[metric]))
    return _make_frame(rows, experiment, "split", "metric", "values")


def _read_trials(folder: Path, experiment: Experiment, *columns: str) -> list[tuple[Any, ...]]:
    """The place of each finished trial (data set, method, value of each varied path, split), and columns of it."""
    rows = []
    for dataset, method, point, split, *found in read_planned(folder, "done", *PLACE, *columns):
        values = dict(point)
        at = [values.get(path, "") for path in experiment.varied]
        rows.append(((dataset, method, *at, split), *found))
    return rows


def _make_frame(rows: list[Any], experiment: Experiment, *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["dataset", "method", *experiment.varied, *columns])
