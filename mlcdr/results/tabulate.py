"""The exports of a record, which other programs read: `scores.csv`, `summary.csv` and `chosen.csv`, `labels.csv`.

Numbers have twelve significant digits: enough for any use, and short of where two orders of summation may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.frame import keys_of, paths_of, summarise
from mlcdr.results.labels import COLUMNS
from mlcdr.results.scores import LARGEST
from mlcdr.whole_files import write_atomically

if TYPE_CHECKING:  # planning trials imports what methods compute with
    from mlcdr.experiment.trials import Trial


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    write_atomically(path, frame.to_csv(index=False, float_format="%.12g", lineterminator="\n"))


def write_summary(path: Path, scores: pd.DataFrame) -> None:
    """`summary.csv`: the mean over splits of every cell, with std (n − 1), se = std/√n and n; empty if not defined.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    found = summarise(scores, keys_of(scores))
    numbers = found[["mean", "std", "se"]]
    write_frame(path, found.assign(**numbers.where(numbers.abs() <= LARGEST)))


def write_chosen(path: Path, chosen: pd.DataFrame) -> None:
    """`chosen.csv`: what trials tuned: dataset, method, a column for each swept path, split, parameter, value.

    A swept path that no tuned method has is left out, for its column would be empty.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    empty = [swept for swept in paths_of(chosen) if (chosen[swept] == "").all()]
    write_frame(path, chosen.drop(columns=empty))


def write_labels(
    path: Path,
    trials: Sequence[Trial],
    scores: Mapping[str, Mapping[str, Sequence[float | None]]],
    swept: Sequence[str],
    metrics: Sequence[str],
    labels: Mapping[str, Sequence[tuple[str, float]]],
) -> None:
    """`labels.csv` (`mlcdr.results.labels`); `labels`: data set → (name, frequency) of each label.

    Raises
    ------
    ResultsError
        When a trial has not one score for each label, or the file cannot be written.
    """
    rows: list[tuple[object, ...]] = []
    for trial in trials:
        point = dict(trial.point)
        start = (trial.dataset, trial.method, *(point.get(path, "") for path in swept), trial.split)
        found = scores.get(trial.key, {})
        for metric in (each for each in metrics if each in found):
            if len(found[metric]) != len(labels[trial.dataset]):
                raise ResultsError(f"{path.parent}: damaged: not one {metric} for each label of {trial.dataset}")
            for (label, frequency), value in zip(labels[trial.dataset], found[metric], strict=True):
                if value is not None:
                    rows.append((*start, label, metric, value, frequency))
    write_frame(path, pd.DataFrame(rows, columns=["dataset", "method", *swept, *COLUMNS]))
