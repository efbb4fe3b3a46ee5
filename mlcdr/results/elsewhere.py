"""Results of other programs as results of mlcdr, so that they are compared like a further folder.

Names are matched without case and punctuation: data sets with those of our results, metrics by the table
`mlcdr/metrics/elsewhere.csv`. Only what both have is compared; the remarks name the rest. Where a file states the
numbers of our splits, its values are of these splits; else only means are compared, as its splits are others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.method import MethodSpec
from mlcdr.methods.component import Component
from mlcdr.metrics.elsewhere import Counterpart, counterparts, simplified
from mlcdr.metrics.names import METRICS, resolve
from mlcdr.results.elsewhere_files import READERS, Row, read_rows
from mlcdr.results.failures import join_some
from mlcdr.results.frame import SCORES, SUMMARY, drop_undefined, keys_of, order_columns, summarise
from mlcdr.results.joining import join_names, with_methods
from mlcdr.results.results import Results

_CONVENTIONS = ("zero_division", "ties")
"""Options of metrics that are conventions: where these differ, the numbers can still be compared."""
_NAMED = 6  # names that a remark lists


def read_results(path: Path, source: str, ours: Sequence[Results]) -> Results:
    """The results in a file, or folder, of another program, as far as they can be compared with ours.

    Parameters
    ----------
    path : Path
    source : str
        One of `mlcdr.results.elsewhere_files.READERS`.
    ours : sequence of Results
        The folders with which they are compared.

    Returns
    -------
    Results
        Its `remarks` name what was left out.

    Raises
    ------
    ResultsError
        When the file cannot be read, or has no data set or no metric of ours.
    """
    rows = read_rows(path, source)
    match = _Match(path, ours, READERS[source].column)
    kept = [row for row in map(match.translate, rows) if row is not None]
    if not kept:
        theirs = join_some((row.dataset for row in rows), _NAMED)
        raise ResultsError(
            f"{path}: nothing to compare: its data sets are {theirs}, its metrics "
            f"{join_some((row.metric for row in rows), _NAMED)}; here are {join_words(match.datasets_here)}, and "
            f"{join_words(match.metrics_here)}"
        )
    scores = _list_scores(kept, path)
    means = _list_means(kept)
    orders = {key: dict.fromkeys(means[key]) for key in ("dataset", "method")}
    orders["metric"] = dict.fromkeys(label for label in match.metrics_here if label in set(means["metric"]))
    methods = {name: MethodSpec(learner=Component("learner", f"{path.name}: {name}")) for name in orders["method"]}
    return Results(
        folder=path,
        experiment=with_methods(ours[0].experiment, path.stem or path.name, methods),
        summary=order_columns(means, orders),
        grids={},
        of_record=scores,
        remarks=tuple(match.remarks(rows, kept)),
        joined=True,
    )


def on_common_splits(ours: Sequence[Results], others: Sequence[Results]) -> list[Results]:
    """Our results and those of other programs, on the splits that all methods of the others have, by their numbers.

    Of a grid of which the best is shown, and of folders that have means only, all splits stay.
    """
    common: dict[str, set[int]] = {}
    for each in others:
        if each.of_record is not None:
            for (dataset, _), own in each.of_record.groupby(["dataset", "method"]):
                splits = set(own["split"].tolist())
                common[dataset] = common.get(dataset, splits) & splits
    found = []
    for each in [*ours, *others]:
        is_whole = not common or each.of_record is None or each.grids
        found.append(each if is_whole else _on_splits(each, common))
    return found


def _on_splits(results: Results, common: Mapping[str, set[int]]) -> Results:
    """The results with the means over some splits of each data set; those that are not in `common` keep theirs."""
    scores = results.of_record
    assert scores is not None
    kept = pd.Series(True, index=scores.index)
    reduced = {}
    for dataset, splits in common.items():
        own = scores["dataset"] == dataset
        lacking = own & ~scores["split"].isin(splits)
        if lacking.any() and (own & ~lacking).any():
            kept &= ~lacking
            reduced[dataset] = len(splits)
    apart = [dataset for dataset, splits in common.items() if not splits]
    if not reduced and not apart:
        return results
    remarks = [*results.remarks]
    if reduced:
        what = [f"{number} of {dataset}" for dataset, number in reduced.items()]
        remarks.append(f"Over the splits that all have: {join_words(what)}.")
    if apart:
        remarks.append(f"No split is one of all methods on {join_words(apart)}: these means are over different splits.")
    means = results.in_order(summarise(drop_undefined(scores[kept]), keys_of(scores)))
    return replace(results, of_record=scores[kept], summary=means, remarks=tuple(remarks))


@dataclass
class _Match:
    """From another program's names to ours.

    Parameters
    ----------
    path : Path
    ours : sequence of Results
    column : str
        The program's column in the table of metrics; empty where metrics have our names.
    """

    path: Path
    ours: Sequence[Results]
    column: str
    absent: dict[str, dict[str, None]] = field(default_factory=dict)  # kind of a name → names that were not found

    def __post_init__(self) -> None:
        self.datasets_here = join_names(each.datasets for each in self.ours)
        self.metrics_here = join_names(each.metrics for each in self.ours)
        self._datasets = {simplified(name): name for name in self.datasets_here}
        self._splits = {name: self._list_splits(name) for name in self.datasets_here}
        self._specs: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for each in self.ours:
            for spec in each.experiment.metrics:
                self._specs.setdefault(spec.label, (spec.name, spec.params))

    def _list_splits(self, dataset: str) -> set[int]:
        """The numbers of our splits of a data set; none where only means are known."""
        found: set[int] = set()
        for each in self.ours:
            if each.of_record is not None:
                own = each.of_record[each.of_record["dataset"] == dataset]
                found |= set(own["split"].tolist())
        return found

    def translate(self, row: Row) -> Row | None:
        """The row by our names; None if one of them is not ours."""
        dataset = self._datasets.get(simplified(row.dataset))
        if dataset is None:
            self._miss("data sets", row.dataset)
        label, is_complement = self._find_metric(row.metric)
        splits = self._splits.get(dataset or "", set())
        if row.split is not None and splits and row.split not in splits:
            self._miss("splits", f"{row.split} of {row.dataset}")
            return None
        if dataset is None or label is None or not math.isfinite(row.value):
            return None
        value = 1 - row.value if is_complement else row.value
        return Row(dataset, row.method, label, value, row.split, row.std, row.n)

    def _find_metric(self, theirs: str) -> tuple[str | None, bool]:
        """Our label of a metric, and whether its values are one less; None if there is none, which is noted."""
        found = self._counterpart(theirs)
        if found is None:
            self._miss("metrics that have no counterpart here", theirs)
            return None, False
        for label in self.metrics_here:
            name, params = self._specs.get(label) or resolve(label)
            if name == found.metric and _without_conventions(name, params) == dict(found.options):
                return label, found.is_complement
        options = "".join(f" with {key}: {value}" for key, value in found.options.items())
        self._miss("metrics that were not measured here", f"{theirs} ({found.metric}{options})")
        return None, False

    def _counterpart(self, theirs: str) -> Counterpart | None:
        if self.column:
            return counterparts(self.column).get(simplified(theirs))
        name, options = self._specs.get(theirs) or resolve(theirs)
        known = name in METRICS or theirs in self._specs
        return Counterpart(name, _without_conventions(name, options)) if known else None

    def _miss(self, kind: str, name: str) -> None:
        self.absent.setdefault(kind, {})[name] = None

    def remarks(self, rows: Sequence[Row], kept: Sequence[Row]) -> Iterable[str]:
        """What was left out, and what the numbers are."""
        left = dict.fromkeys(row.method for row in rows)
        for row in kept:
            left.pop(row.method, None)
        if left:
            self.absent["methods without a number to compare"] = left
        if self.absent:
            parts = [f"{kind}: {join_some(names, _NAMED)}" for kind, names in self.absent.items()]
            yield f"Left out of {self.path.name}: {'; '.join(parts)}."
        by_split = [row.split is not None for row in kept]
        if all(by_split):
            yield f"The splits of {self.path.name} are ours, by their numbers."
        else:
            yield f"The splits of {self.path.name} are its own: means are compared."
        compared = {row.metric for row in kept}
        found = map(self._counterpart, dict.fromkeys(row.metric for row in rows))
        differing = dict.fromkeys(each.metric for each in found if each is not None and each.convention)
        names = [name for name in differing if any(label.startswith(name) for label in compared)]
        if names:
            yield f"{self.column} may count 0/0 or ties in {join_words(names)} otherwise: docs/metrics.md."


def _without_conventions(metric: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a metric that change what it is: those that are neither conventions nor defaults."""
    defaults = METRICS[metric].parameters if metric in METRICS else {}
    kept = {}
    for key, value in params.items():
        if key not in _CONVENTIONS and not (key in defaults and defaults[key] == value):
            kept[key] = value
    return kept


def _list_scores(rows: Sequence[Row], path: Path) -> pd.DataFrame | None:
    """The scores of our splits, as the record has them; None where a row is of no split of ours.

    Raises
    ------
    ResultsError
        When two rows are of the same place.
    """
    if any(row.split is None for row in rows):
        return None
    found = [(row.dataset, row.method, row.split, row.metric, row.value) for row in rows]
    frame = pd.DataFrame(found, columns=["dataset", "method", *SCORES])
    twice = frame[frame.duplicated(["dataset", "method", "split", "metric"])]
    if len(twice):
        dataset, method, split, metric, _ = twice.iloc[0]
        raise ResultsError(f"{path}: {metric} of {method} on {dataset}, split {split}, stands there twice")
    return frame


def _list_means(rows: Sequence[Row]) -> pd.DataFrame:
    """The mean of each data set, method and metric, with its deviation; a mean of the file is taken as it is."""
    keys = ["dataset", "method", "metric"]
    single = pd.DataFrame([(*_key(row), row.value) for row in rows if row.n == 1], columns=[*keys, "value"])
    whole = [(*_key(row), row.value, row.std, row.std / math.sqrt(row.n), row.n) for row in rows if row.n > 1]
    means = pd.DataFrame(whole, columns=["dataset", "method", *SUMMARY])
    frames = [means] if whole else []
    if len(single):
        frames.append(summarise(single, keys))
    found = pd.concat(frames, ignore_index=True)
    return found.drop_duplicates(keys, ignore_index=True)[["dataset", "method", *SUMMARY]]


def _key(row: Row) -> tuple[str, str, str]:
    return row.dataset, row.method, row.metric
