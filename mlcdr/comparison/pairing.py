"""Which scores two runs of the same experiment have in common: the same split of the same data, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.splits import FromFile, KFold, Shuffle
from mlcdr.results.exports import NoResults
from mlcdr.results.frame import list_keys, paths_of, round_columns
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results


def pair_scores(old: Results, new: Results, metric: str | None) -> tuple[pd.DataFrame, bool]:
    """The scores of the old run, at all points of grids, each with that of the new one where it is `paired`.

    Where a folder has means only, as a stored one (`mlcdr.papers.stored`), each mean is taken as the score of a single
    split; the second value says whether it is so.

    Raises
    ------
    ResultsError
        When the splits or the data are not the same, or no score is in both.
    """
    _refuse_unlike(old, new)
    of_means = False
    try:
        before, after = old.scores, new.scores
    except NoResults:
        before, after = _means_as_scores(old), _means_as_scores(new)
        of_means = True
    if metric is not None:
        before = before[before["metric"] == old.metric_named(metric)]
    # a path that one of the runs does not vary is empty there
    paths = dict.fromkeys([*paths_of(before), *paths_of(after)])
    texts = dict.fromkeys(list_keys(paths), object)
    place = ["dataset", "method", *paths, "split", "metric"]
    columns = [*place, "value"]
    before = before.reindex(columns=columns, fill_value="").astype(texts)
    after = after.reindex(columns=columns, fill_value="").astype(texts)
    scores = before.merge(after, "left", place, suffixes=("_old", "_new"), indicator="paired")
    scores["paired"] = scores["paired"] == "both"
    if not scores["paired"].any():
        raise ResultsError(f"{new.folder} has nothing in common with {old.folder}: {_unlike(old, new)}")
    return scores, of_means


def _means_as_scores(results: Results) -> pd.DataFrame:
    """The mean of each cell, rounded as stored means are, as the score of a single split."""
    summary = round_columns(results.summary, "mean", digits=6)
    scores = summary[["dataset", "method", *results.swept]].assign(split=0)
    scores["metric"] = summary["metric"]
    scores["value"] = summary["mean"]
    return scores


def list_facts(old: Results, new: Results, metrics: np.ndarray) -> dict[str, MetricFacts]:
    """The facts of the metrics that both have.

    Raises
    ------
    ResultsError
        When one is not computed alike in both.
    """
    facts = {name: old.metric_facts(name) for name in metrics}
    for name, known in facts.items():
        if new.metric_facts(name) != known:
            raise ResultsError(f"{new.folder}: {name} is not computed as in {old.folder}: see `metrics:`")
    return facts


def compare_sizes(results: Results, dataset: str, scores: pd.DataFrame) -> float:
    """The test rows of a split of a data set over the training rows: n_test / n_train."""
    splits = results.experiment.splits
    if isinstance(splits, Shuffle):
        n_train: Any = splits.train_size
        if n_train == "predefined":
            n_train = results.facts(dataset).get("n_train")
        if n_train is not None:
            n = 1 if isinstance(n_train, float) else int(results.facts(dataset, "n_instances")["n_instances"])
            return (n - n_train) / n_train
    folds = 2  # earlier versions did not record how many rows a train file has
    if isinstance(splits, KFold):
        folds = splits.folds
    elif isinstance(splits, FromFile):
        of_dataset = scores[scores["dataset"] == dataset]
        n_splits = 1 + int(of_dataset["split"].max())
        is_whole = n_splits % splits.repeats == 0 and n_splits > splits.repeats  # else it was interrupted
        folds = n_splits // splits.repeats if is_whole else n_splits
    return 1 / max(1, folds - 1)


# -------------------------------------------------------------------- what cannot be paired


def _refuse_unlike(old: Results, new: Results) -> None:
    """Refuse runs whose splits are not the same rows: other settings (but the number of repeats), or other data."""
    before = old.experiment.splits.plain()
    after = new.experiment.splits.plain()
    for key in ("repeats", "folders"):
        before.pop(key, None)
        after.pop(key, None)
    if before != after:
        differing = [f"{key}: {value}" for key, value in before.items() if after.get(key) != value]
        specs = ", ".join(differing) or "see `splits:`"
        raise ResultsError(f"{new.folder}: its splits are not those of {old.folder} ({specs})")
    for dataset in old.datasets:
        there = old.facts(dataset).get("checksum")
        here = new.facts(dataset).get("checksum")
        if there and here and there != here:
            raise ResultsError(
                f"{new.folder}: {dataset} is not the data set it was in {old.folder} (its checksum differs)"
            )


def _unlike(old: Results, new: Results) -> str:
    """Why no cell is common, in a few words."""
    parts = {
        "data sets": (old.datasets, new.datasets),
        "methods": (old.methods, new.methods),
        "metrics": (old.metrics, new.metrics),
    }
    for name, (before, after) in parts.items():
        if not set(before) & set(after):
            return f"its {name} are {join_words(after)}, not {join_words(before)}"
    return "no data set, method, setting, metric and split is in both"
