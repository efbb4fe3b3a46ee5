"""The exports of a record, which other programs read: `scores.csv`, `summary.csv` and `chosen.csv`, `labels.csv`.

Numbers have twelve significant digits: enough for any use, and short of where two orders of summation may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.frame import keys_of, paths_of, summarise
from mlcdr.results.labels import COLUMNS
from mlcdr.results.scores import LARGEST
from mlcdr.whole_files import write_atomically


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    text = frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
    write_atomically(path, text)


def write_summary(path: Path, scores: pd.DataFrame) -> None:
    """`summary.csv`: the mean over splits of every cell, with std (n − 1), se = std/√n and n; empty if not defined.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    found = summarise(scores, keys_of(scores))
    for name in ("mean", "std", "se"):
        found[name] = found[name].where(found[name].abs() <= LARGEST)
    write_frame(path, found)


def write_chosen(path: Path, chosen: pd.DataFrame) -> None:
    """`chosen.csv`: what trials tuned: dataset, method, a column for each swept path, split, parameter, value.

    A swept path that no tuned method has is left out, for its column would be empty.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    empty = [swept for swept in paths_of(chosen) if not any(chosen[swept])]
    write_frame(path, chosen.drop(columns=empty))


def write_labels(path: Path, found: pd.DataFrame, labels: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """`labels.csv` (`mlcdr.results.labels`).

    Parameters
    ----------
    path : path
    found : frame
        As `mlcdr.results.trials.read_by_label` gives it.
    labels : mapping
        Data set → (name, frequency) of each label.

    Raises
    ------
    ResultsError
        When a trial has not one score for each label, or the file cannot be written.
    """
    rows = []
    for *place, metric, values in found.itertuples(index=False, name=None):
        named = labels[place[0]]
        if len(values) != len(named):
            raise ResultsError(f"{path.parent}: damaged: not one {metric} for each label of {place[0]}")
        for (label, frequency), value in zip(named, values, strict=True):
            if value is not None:
                rows.append((*place, label, metric, value, frequency))
    places = found.columns[:-2]
    write_frame(path, pd.DataFrame(rows, columns=[*places, *list(COLUMNS)[1:]]))
