"""The finished trials that a results folder has on record."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.results import record_file as kinds
from mlcdr.results.record import read_point
from mlcdr.results.record_file import NAME, NoRecord, reading, rows, shown
from mlcdr.results.scores import Choices, Key, Point, Setting, SplitScores

_TRIALS = """
    SELECT position, trials.dataset, trials.method, point, split FROM planned JOIN trials USING (key)
    WHERE status = 'done' ORDER BY position
"""
_SCORES = """
    SELECT position, metric, value FROM planned CROSS JOIN scores USING (key)
    WHERE value IS NOT NULL ORDER BY position
"""
_CHOICES = "SELECT position, path, value FROM planned CROSS JOIN choices USING (key) ORDER BY position"
_TRIED = """
    SELECT position, point, value FROM planned CROSS JOIN tried USING (key)
    WHERE value IS NOT NULL ORDER BY position, number
"""

_Place = tuple[str, str, Point]
_Places = dict[int, tuple[_Place, int]]
"""Position in the plan → where the trial stands, and its split."""


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
    found: dict[_Place, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    try:
        with reading(folder) as db:
            if db.execute("SELECT count(*) FROM planned").fetchone() == (0,):
                return None
            places = _read_places(db, path, experiment.varied)
            trials = {position: (found[place], split) for position, (place, split) in places.items()}
            for position, metric, value in db.execute(_SCORES):
                if position in trials:  # it is done
                    by_metric, split = trials[position]
                    by_metric[metric][split] = value
    except NoRecord:
        return None
    values: dict[Key, Mapping[int, float]] = {
        (*place, spec.label): by_metric[spec.label]
        for place, by_metric in found.items()
        for spec in experiment.metrics
        if spec.label in by_metric
    }
    for by_split in values.values():
        if set(map(type, by_split.values())) != {float}:
            damaged = next(value for value in by_split.values() if type(value) is not float)
            raise ResultsError(f"{path}: damaged: {shown(damaged)} in its table `scores`")
    return SplitScores(experiment.varied, values)


def read_planned_choices(folder: Path, experiment: Experiment) -> Choices:
    """What the trials of the last run's plan chose for the parameters they tuned, and what they tried.

    Raises
    ------
    ResultsError
        As `read_planned_trials`; also where there is no record.
    """
    path = folder / NAME
    with reading(folder) as db:
        found = rows(db, path, "choices", _CHOICES, kinds.Number, kinds.Text, kinds.Text)
        searched = rows(db, path, "tried", _TRIED, kinds.Number, kinds.Text, kinds.Score)
        places = _read_places(db, path, experiment.varied) if found or searched else {}
    counts: dict[Key, Counter[str]] = {}
    for position, parameter, value in found:
        if position in places:
            counts.setdefault((*places[position][0], parameter), Counter())[value] += 1
    settings = {text: read_point(path, text) for text in {text for _, text, _ in searched}}
    tried: dict[tuple[str, str], dict[Setting, list[float]]] = {}
    for position, text, value in searched:
        if position in places:
            of_method = tried.setdefault(places[position][0][:2], {})
            of_method.setdefault(settings[text], []).append(value)
    return Choices(experiment.varied, counts, tried)


def _read_places(db: sqlite3.Connection, path: Path, paths: tuple[str, ...]) -> _Places:
    """The places of the finished trials of the plan; their points are of `paths`."""
    trials = rows(db, path, "trials", _TRIALS, kinds.Number, *[kinds.Text] * 3, kinds.Number)
    points: dict[str, Point] = {}
    for text in {trial[3] for trial in trials}:
        point = dict(read_point(path, text))
        points[text] = tuple(point.get(each, "") for each in paths)
    return {position: ((dataset, method, points[text]), split) for position, dataset, method, text, split in trials}
