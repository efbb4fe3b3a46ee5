"""The finished trials that a results folder has on record."""

from __future__ import annotations

from pathlib import Path

from mlcdr.experiment.model import Experiment
from mlcdr.results import record_file as kinds
from mlcdr.results.record import read_point
from mlcdr.results.record_file import NAME, NoRecord, reading, rows
from mlcdr.results.scores import Key, SplitScores

_TRIALS = """
    SELECT key, trials.dataset, trials.method, point, split FROM planned JOIN trials USING (key)
    WHERE status = 'done' ORDER BY position
"""
_SCORES = "SELECT key, metric, value FROM scores WHERE value IS NOT NULL"


def read_planned_trials(folder: Path, experiment: Experiment) -> SplitScores | None:
    """The scores of the trials of the last run's plan; None where there is no record with a plan.

    They stand in the order of the plan and of the experiment's metrics. A metric that is not defined for a method has
    no score.

    Raises
    ------
    ResultsError
        When the record cannot be read, or holds what a run does not write.
    """
    path = folder / NAME
    try:
        with reading(folder) as db:
            if db.execute("SELECT count(*) FROM planned").fetchone() == (0,):
                return None
            trials = rows(db, path, "trials", _TRIALS, *[kinds.text] * 4, kinds.number)
            found = rows(db, path, "scores", _SCORES, kinds.text, kinds.text, kinds.score)
    except NoRecord:
        return None
    scores: dict[str, dict[str, float]] = {}
    for key, metric, value in found:
        scores.setdefault(key, {})[metric] = value
    paths, metrics = experiment.varied, [spec.label for spec in experiment.metrics]
    points = {text: dict(read_point(path, text)) for text in dict.fromkeys(trial[3] for trial in trials)}
    values: dict[Key, dict[int, float]] = {}
    for key, dataset, method, point, split in trials:
        at = tuple(points[point].get(each, "") for each in paths)
        for metric in metrics:
            if metric in scores.get(key, ()):
                values.setdefault((dataset, method, at, metric), {})[split] = scores[key][metric]
    return SplitScores(paths, values)
