"""Which number of a results folder a printed cell is about.

A cell is matched by data set and method (case and hyphens do not matter), metric, and setting: `label_dim=20%` is the
number whose `label_space.n_components`, swept or fixed in the method, was written `20%` or `0.2`.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias

import pandas as pd

from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import LABELLED, Experiment, value_text
from mlcdr.methods.component import Component
from mlcdr.papers.judging import FEWEST, Rules
from mlcdr.papers.printed import read_settings
from mlcdr.results.results import Results
from mlcdr.tables.text_format import plain_word

_NO_ROW = -1
_Place: TypeAlias = tuple[str, str, str]
PATHS = {
    "label_dim": ("label_space.n_components", "dual_space.n_labels", "dual_space.n_components"),
    "feature_dim": ("feature_space.n_components", "feature_space.n_features", "dual_space.n_features"),
    "labeled": ("splits.labelled",),
}
"""Setting of a printed cell → the parameters of a config that it may be."""


def match_cells(results: Results, cells: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """For each printed cell our number, as `judging.judge` needs it.

    A cell for which there is no number, or to which several fit, has `n` 0: a table without settings,
    or a run with further swept parameters, does not say which of them is meant.
    """
    rows = match_rows(results, cells, rules)
    summary = results.summary[["mean", "se", "n"]].assign(at=_describe_grid_points(results))
    if rules.spread == "repetitions":
        summary["se"] = _deviations(results).fillna(summary["se"])
    ours = summary.reindex(rows).reset_index(drop=True)
    return ours.fillna({"n": 0, "at": ""}).astype({"n": int})


def match_rows(results: Results, cells: pd.DataFrame, rules: Rules) -> list[int]:
    """For each printed cell the label of its row in `results.summary`; −1 where there is none, or several fit."""
    return [rows[0] if len(rows) == 1 else _NO_ROW for rows in list_fitting(results, cells, rules)]


def list_fitting(results: Results, cells: pd.DataFrame, rules: Rules) -> list[list[int]]:
    """For each printed cell the labels of all rows in `results.summary` that fit it."""
    summary = results.summary
    places = zip(
        map(plain_word, summary["dataset"]), map(plain_word, summary["method"]), summary["metric"], strict=True
    )
    rows = group_pairs(zip(places, summary.index, strict=True))
    found = []
    for cell in cells.itertuples():
        fitting = rows.get(_place_of(cell, rules), [])
        if rules.settings == "conditions":
            settings = read_settings(cell.setting)
            fitting = [row for row in fitting if _has_settings(results, row, settings)]
        found.append(fitting)
    return found


def is_planned(results: Results, cell: Any, rules: Rules) -> bool:
    """Whether the experiment of some results would give a number for a printed cell, if all its trials had one."""
    experiment = results.experiment
    dataset, method, metric = _place_of(cell, rules)
    named = [name for name in experiment.methods if plain_word(name) == method]
    if not named or dataset not in map(plain_word, results.datasets):
        return False
    if metric not in [spec.label for spec in experiment.metrics]:
        return False
    settings = read_settings(cell.setting) if rules.settings == "conditions" else {}
    for key, wanted in settings.items():
        written: list[str] = []
        for path in PATHS.get(key, (key,)):
            written += map(value_text, experiment.sweep.get(path, ()))
            written.append(_fixed(experiment, named[0], path))
        if not any(are_same_amount(each, wanted) for each in written):
            return False
    return True


def _place_of(cell: Any, rules: Rules) -> _Place:
    """The data set, the method and the metric of a printed cell, as the results have them."""
    dataset = rules.datasets.get(cell.dataset, cell.dataset)
    method = rules.methods.get(cell.method, cell.method)
    return plain_word(dataset), plain_word(method), rules.metrics.get(cell.metric, cell.metric)


def _has_settings(results: Results, row: int, settings: dict[str, str]) -> bool:
    for key, wanted in settings.items():
        paths = PATHS.get(key, (key,))
        written = [_written(results, row, path) for path in paths]
        if not any(are_same_amount(each, wanted) for each in written):
            return False
    return True


def _written(results: Results, row: int, path: str) -> str:
    """The value of a parameter, swept or fixed by the method's own config; empty if the method has none."""
    if path in results.swept:
        return str(results.summary.at[row, path])
    return _fixed(results.experiment, results.summary.at[row, "method"], path)


def _fixed(experiment: Experiment, method: str, path: str) -> str:
    """The value of a parameter in the config of a method; empty if the method has none."""
    if path == LABELLED:
        return str(experiment.splits.labelled or "")
    spec = experiment.methods.get(method)
    found = spec.component_at(path) if spec else None
    if found is None:
        return ""
    component, parameter, *_ = found
    return str(_value(component, ".".join(parameter)))


def _value(component: Component, path: str) -> Any:
    """What is written of a parameter of a component, or of a component in it; empty if nothing is."""
    for name, part in component.parts().items():
        if path.startswith(f"{name}."):
            return _value(part, path.removeprefix(f"{name}."))
    return component.params.get(path, "")


def are_same_amount(ours: str, theirs: str) -> bool:
    """Whether two written amounts are the same: equal as text, or equal as shares (`20%`, `0.2`).

    A whole number is a count, never a share: `1` is one dimension, `1.0` and `100%` are all of them.

    Examples
    --------
    >>> are_same_amount("0.2", "20%"), are_same_amount("1.0", "100%"), are_same_amount("1", "100%")
    (True, True, False)
    """
    if ours == theirs:
        return ours != ""
    a, b = _read_share(ours), _read_share(theirs)
    return math.isclose(a, b, rel_tol=1e-9)  # NaN is close to nothing


def _read_share(written: str) -> float:
    """A share as a number; NaN of what is no share."""
    percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", written)
    if percent:
        return float(percent[1]) / 100
    share = math.nan
    if re.fullmatch(r"\d*\.\d+", written):
        share = float(written)
    return share if share <= 1 else math.nan


def _describe_grid_points(results: Results) -> list[str]:
    """For each row of the summary the values that were taken of its method's grid; empty without a grid."""
    points = []
    for taken in results.summary.to_dict("records"):
        paths = results.grids.get(taken["method"], ())
        points.append(",".join(taken[path] for path in paths))
    return points


def _deviations(results: Results) -> pd.Series:
    """For each row of the summary the standard deviation of its repetitions; NaN where they are too few."""
    keys = results.keys
    texts = dict.fromkeys(keys, str)
    repetitions = results.repetition_means.astype(texts)
    spread = repetitions.groupby(keys)["value"].agg(["std", "count"])
    own = results.summary[keys].astype(texts).join(spread, on=keys)
    return own["std"].where(own["count"] >= FEWEST)
