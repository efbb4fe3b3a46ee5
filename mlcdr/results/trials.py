"""The finished trials of the last run's plan, read from a record as frames (`mlcdr.results.frame`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.experiment.model import Experiment
from mlcdr.results.frame import CHOSEN, TRIED
from mlcdr.results.record import read_planned
from mlcdr.results.record_file import DONE, PLACE, NoRecord, read_plan, reading, rows


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
    trials: list[tuple[Any, ...]] = []
    try:
        with reading(folder) as records:
            planned = [key for key, _, _ in read_plan(records)]
            for path, db in records:
                trials += rows(db, path, "trials", "key", *PLACE, "scores", where=DONE)
    except NoRecord:
        return None
    if not planned:
        return None
    columns = zip(*trials, strict=True) if trials else [()] * 6
    keys, datasets, methods, points, splits, scores = columns
    varied = {}
    for name in experiment.varied:
        texts = {point: dict(point).get(name, "") for point in set(points)}
        varied[name] = _as_categories([texts[point] for point in points])
    places = {"dataset": _as_categories(datasets), "method": _as_categories(methods), **varied}
    of_trials = pd.DataFrame({**places, "split": np.array(splits, int)})
    labels = [metric.label for metric in experiment.metrics]
    values = []
    for label in labels:
        values.append([of_trial.get(label) for of_trial in scores])
    # in the order of the plan, of two records that have one trial the first; a row for each metric
    order = _order_by_plan(keys, planned)
    frame = of_trials.take(np.repeat(order, len(labels)))
    metrics = np.tile(np.arange(len(labels)), len(order))
    frame["metric"] = pd.Categorical.from_codes(metrics, categories=labels)
    frame["value"] = np.array(values, float).T[order].ravel()
    return frame.dropna(subset="value", ignore_index=True)  # where a metric is not defined


def _order_by_plan(keys: Sequence[str], planned: Sequence[str]) -> np.ndarray:
    """The numbers of the keys that are planned, each once, in the plan's order."""
    position = {key: i for i, key in enumerate(planned)}
    at = np.array([position.get(key, -1) for key in keys], int)
    positions, first = np.unique(at, return_index=True)
    return first[positions >= 0]


def _as_categories(texts: Sequence[str]) -> pd.Categorical:
    """A column in which the same few texts stand many times."""
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return pd.Categorical.from_codes([codes[text] for text in texts], categories=list(codes))


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
    found = []
    trials = _read_trials(folder, experiment, "chosen") if _tunes(experiment) else []
    for place, chosen in trials:
        for parameter, value in chosen.items():
            found.append((*place, parameter, value))
    return _make_frame(found, experiment, *CHOSEN)


def read_tried(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """What the plan's trials tried as they tuned.

    Returns
    -------
    frame
        dataset, method, the experiment's varied paths and the tuned ones (`""` where a method does not have one),
        split, metric (the criterion), value (its mean over the folds of the choice, NaN where a fit failed), and
        chosen: whether the trial took it. A choice that serves all splits stands at the first of them.

    Raises
    ------
    ResultsError
        As `read_chosen`.
    """
    metrics = {name: spec.tune.metric for name, spec in experiment.methods.items() if spec.tune is not None}
    tuned: dict[str, None] = {}
    found = []
    trials = _read_trials(folder, experiment, "tried", "chosen") if _tunes(experiment) else []
    for (dataset, method, *at, split), tried, chosen in trials:
        place = {"dataset": dataset, "method": method, **dict(zip(experiment.varied, at, strict=True))}
        for point, value in tried:
            tuned |= dict.fromkeys(point)
            known = math.nan if value is None else value
            found.append({**place, **point, "split": split, "value": known, "chosen": point == chosen})
    columns = dict.fromkeys(["dataset", "method", *experiment.varied, *tuned, *TRIED])
    frame = pd.DataFrame(found, columns=list(columns))
    paths = dict.fromkeys([*experiment.varied, *tuned], "")
    return frame.fillna(paths).assign(metric=frame["method"].map(metrics))


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
    found = []
    for place, by_label in _read_trials(folder, experiment, "by_label"):
        for metric in experiment.by_label:
            if metric in by_label:
                found.append((*place, metric, by_label[metric]))
    return _make_frame(found, experiment, "split", "metric", "values")


def _tunes(experiment: Experiment) -> bool:
    """Whether trials of an experiment choose parameters."""
    return any(spec.tune is not None for spec in experiment.methods.values())


def _read_trials(folder: Path, experiment: Experiment, column: str, *more: str) -> list[tuple[Any, ...]]:
    """The place of each finished trial (data set, method, value of each varied path, split) that has something in a
    column of JSON, and what; then what `more` columns of it have.
    """
    varied = experiment.varied
    trials = []
    is_filled = f"{column} NOT IN ('{{}}', '[]')"
    for dataset, method, point, split, *found in read_planned(folder, DONE, *PLACE, column, *more, where=is_filled):
        values = dict(point)
        at = [values.get(path, "") for path in varied]
        trials.append(((dataset, method, *at, split), *found))
    return trials


def _make_frame(rows: list[Any], experiment: Experiment, *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["dataset", "method", *experiment.varied, *columns])
