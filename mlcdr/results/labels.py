"""`labels.csv` of a results folder: metrics of each label by itself, and how frequent each label is.

Columns: dataset, method, one for each swept path, split, label, metric, value, frequency. A value that is not defined
has no row. The frequency is the share of all rows of the data set that have the label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mlcdr.errors import ResultsError
from mlcdr.metrics import BY_LABEL
from mlcdr.results.imports import read_frame
from mlcdr.whole_files import is_regular_file

NAME = "labels.csv"
COLUMNS: Mapping[str, type] = {"split": int, "label": str, "metric": str, "value": float, "frequency": float}
PARTS = ("head", "middle", "tail")
"""The labels of a data set in thirds, by frequency."""


@dataclass(frozen=True)
class LabelScores:
    """Means over splits of the metrics of each label.

    Attributes
    ----------
    means : dict
        (data set, metric) → method → label → mean over the splits in which it is defined. A method with swept
        parameters has an entry for each point (`CPLST, 20%`).
    frequencies : dict
        Data set → label → share of the rows, most frequent first.
    """

    means: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]
    frequencies: Mapping[str, Mapping[str, float]]

    @cached_property
    def parts(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Data set → part → its labels."""
        return {
            dataset: {
                part: tuple(some.tolist())
                for part, some in zip(PARTS, np.array_split(np.array(list(found), dtype=object), 3), strict=True)
            }
            for dataset, found in self.frequencies.items()
        }

    def mean(self, dataset: str, metric: str, method: str, part: str) -> float:
        """The mean over the labels of a part of which the metric is defined; NaN of none."""
        found = self.means[dataset, metric].get(method, {})
        values = [found[label] for label in self.parts[dataset][part] if label in found]
        return math.fsum(values) / len(values) if values else math.nan

    def winners(self, dataset: str, metric: str) -> dict[str, str]:
        """Label → the method that alone is best; labels of which several are best, or none, are left out."""
        sign = 1 if BY_LABEL[metric].higher_is_better else -1
        won = {}
        for label in self.frequencies[dataset]:
            values = {m: sign * v[label] for m, v in self.means[dataset, metric].items() if label in v}
            best = [m for m, value in values.items() if value >= max(values.values()) - 1e-12]
            if len(best) == 1 and len(values) > 1:
                won[label] = best[0]
        return won


def read_label_scores(folder: Path) -> LabelScores | None:
    """What the `labels.csv` of a results folder holds; None where there is none.

    Raises
    ------
    ResultsError
        When the file is broken, or has a metric that is none of each label.
    """
    path = folder / NAME
    if not is_regular_file(path):
        return None
    rows = read_frame(path, COLUMNS)
    for what, right in {
        "column metric: {metric!r} is no metric of single labels": rows["metric"].isin(BY_LABEL),
        "column frequency: '{frequency:g}' is no share": rows["frequency"].between(0, 1),
        "column value: '{value}' is not a number": rows["value"].abs() < math.inf,
    }.items():
        for line in rows.index[~right]:
            raise ResultsError(f"{path}:{line}: {what.format(**rows.loc[line])}")
    values: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    frequencies: dict[str, dict[str, float]] = {}
    for dataset, method, *point, _, label, metric, value, frequency in rows.itertuples(index=False, name=None):
        name = ", ".join([method, *filter(None, point)])
        values.setdefault((dataset, metric), {}).setdefault(name, {}).setdefault(label, []).append(value)
        frequencies.setdefault(dataset, {})[label] = frequency
    means = {
        key: {name: {label: math.fsum(v) / len(v) for label, v in of.items()} for name, of in by_method.items()}
        for key, by_method in values.items()
    }
    ordered = {d: dict(sorted(found.items(), key=lambda each: -each[1])) for d, found in frequencies.items()}
    return LabelScores(means, ordered)
