"""`labels.csv` of a results folder: metrics of each label by itself, and how frequent each label is.

Columns: dataset, method, one for each swept path, split, label, metric, value, frequency. A value that is not defined
has no row. The frequency is the share of all rows of the data set that have the label.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from mlcdr.metrics import BY_LABEL
from mlcdr.results.exports import read_frame, refuse
from mlcdr.results.frame import LABELS, order_columns, paths_of, summarise
from mlcdr.whole_files import is_regular_file

NAME = "labels.csv"
PARTS = ("head", "middle", "tail")
"""The labels of a data set in thirds, by frequency."""


def read_label_scores(folder: Path) -> pd.DataFrame | None:
    """What the `labels.csv` of a results folder holds, in the mean over splits; None where there is none.

    Returns
    -------
    frame or None
        dataset, metric, method, label, value (the mean over the splits in which it is defined), frequency, part; of a
        data set, metric and method the most frequent label first. A method with swept parameters is one for each
        point (`CPLST, 20%`).

    Raises
    ------
    ResultsError
        When the file is broken, or has a metric that is none of each label.
    """
    path = folder / NAME
    if not is_regular_file(path):
        return None
    rows = read_frame(path, LABELS)
    refuse(path, rows, ~rows["metric"].isin(BY_LABEL), "column metric: {metric!r} is no metric of single labels")
    refuse(path, rows, ~rows["frequency"].between(0, 1), "column frequency: '{frequency:g}' is no share")
    refuse(path, rows, rows["value"].abs() == math.inf, "column value: '{value}' is not a number")
    for swept in paths_of(rows):
        rows["method"] += (", " + rows[swept]).where(rows[swept] != "", "")
    by = ["dataset", "metric", "method"]
    means = summarise(rows, [*by, "label"])
    means = means.rename(columns={"mean": "value"})
    means = means[[*by, "label", "value"]]
    found = means.merge(_list_labels(rows), on=["dataset", "label"])
    found = found.sort_values("frequency", ascending=False, kind="stable")
    orders = {name: rows[name].unique() for name in by}
    return order_columns(found, orders).sort_values(by, kind="stable", ignore_index=True)


def _list_labels(rows: pd.DataFrame) -> pd.DataFrame:
    """The labels of each data set, with their frequencies and parts."""
    labels = rows[["dataset", "label", "frequency"]]
    labels = labels.drop_duplicates(["dataset", "label"])
    labels = labels.sort_values("frequency", ascending=False, kind="stable")
    labels["part"] = ""
    for of_dataset in labels.groupby("dataset").groups.values():
        thirds = np.array_split(of_dataset, len(PARTS))
        for part, lines in zip(PARTS, thirds, strict=True):
            labels.loc[lines, "part"] = part
    return labels


def find_winners(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Those of the rows of one data set and metric whose method alone is best of the label."""
    value = cells["value"] if BY_LABEL[metric].higher_is_better else -cells["value"]
    of_label = value.groupby(cells["label"])
    best = value >= of_label.transform("max") - 1e-12
    alone = best.groupby(cells["label"]).transform("sum") == 1
    return cells[best & alone & (of_label.transform("size") > 1)]
